"""The online mechanism with a certificate: each of K answers is within an error that is stated before the first."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast, final

from discreet.dp import randomness
from discreet.dp.loss import Loss, Pure
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, float_up, positive_integer, probability, rational, written
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.threshold_calibration import greatest
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release import online_state
from discreet.release.certified_plan import CertifiedPlan, CertifiedPlanner
from discreet.release.construction_plan import larger
from discreet.release.entropy_projection import ShortenedProjection
from discreet.release.model import DenseModel
from discreet.release.multiplicative_weights import Distribution, MultiplicativeWeights
from discreet.release.online import Online
from discreet.release.online_plan import Purse
from discreet.release.online_state import Journal, Json, Save
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import RowCount, Rows

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

_COUNTING = Fraction(1, 50)  # of the budget, for the number of rows
_BLOCK = 1000  # questions that are written down as asked before they are

Rule = type[MultiplicativeWeights] | type[ShortenedProjection]


@final
class CertifiedInteractive(Online):
    """Answer `questions` adaptively chosen linear queries, each within `certified_error`.

    Every question is tested against the model; one that the test finds off by about `plan.level` is measured, and the
    model updated by a rule whose bound covers the noise. Where rows come and go their number is private: `rows` is a
    public estimate, or it is measured first, at a part of the price.

    Guarantee: everything that is ever shown has the loss that was asked for, as of `Interactive`, and so has the number
      of rows where it is measured. With probability 1 - failure_probability each of the first `questions` answers,
      however chosen, is within `certified_error`, which is stated before the first of them; later answers, and those
      after the budget, claim nothing. The caller must ensure that `rows`, if given, is public and holds.
    Source: Hardt, Rothblum, 2010, Theorem 1; Gupta, Roth, Ullman, 2012; the levels are those of `CertifiedPlan`.

    >>> import numpy as np
    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "age": 8})
    >>> online = CertifiedInteractive(
    ...     universe, np.full(16, 10_000), sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ...     loss=dp.Loss.approximate(epsilon=1, delta=1e-9), questions=100, failure_probability=0.05,
    ...     rows=release.Rows(160_000, error=100),
    ... )
    >>> reply = online.ask(release.where(universe, age=range(4)))
    >>> abs(reply.value - 80_000) <= reply.error <= 10_000
    True
    """

    plan: CertifiedPlan

    def __init__(
        self,
        universe: Universe,
        histogram: Array | Exact,
        *,
        questions: int,
        failure_probability: Number,
        sensitivity: Sensitivity | None = None,
        loss: Loss | None = None,
        rows: Rows | int | None = None,
        rule: Rule = MultiplicativeWeights,
        permit: Permit | None = None,
        journal: str | Path | None = None,
        save: Save | None = None,
    ) -> None:
        """Fix all numbers, and hold the price of the first hit; a budget that certifies nothing is refused.

        `journal` is a file that holds the state at all times, and is resumed if it exists.
        """
        self._beta = probability(failure_probability, "failure_probability")
        self._questions = positive_integer(questions, "questions")
        self._facts = (rule.__name__, self._questions, self._beta, None if rows is None else repr(rows))
        with Journal.opened(journal) as file:
            stored = None if file is None else file.read()
            before = None if stored is None else online_state.from_bytes(stored)
            self._open(universe, histogram, sensitivity, loss, permit, 1 - self._beta, file, save, before)
            self._make(universe, loss, rows, rule, before)

    def _make(
        self, universe: Universe, loss: Loss | None, rows: Rows | int | None, rule: Rule, before: Json | None
    ) -> None:
        if before is not None:
            online_state.check(before, self._fingerprint)
        self.rows = self._known_rows(rows, before)
        self.update = rule(universe, rows=self.rows)
        self.plan = self._planned(loss)
        self._structure: Distribution = self.update.start()
        self._learned_from: list[tuple[LinearQuery, Fraction]] = []
        self._coins = self._allowed = 0
        if before is None:
            self._permit.take(self.plan.loss_of_opening)
            self._gate = self.plan.gate()
        else:
            self._restore(before)
        self._hold()
        self._write()

    def _known_rows(self, rows: Rows | int | None, before: Json | None) -> Rows:
        """Return the public number of rows; or measure it, after its price was written down."""
        if before is not None:
            estimate, error, chance = (rational(part, "state") for part in before["knowledge"]["rows"])
            return Rows(estimate, error=error, failure_probability=chance)
        if isinstance(rows, Rows):
            return rows
        if self.sensitivity.neighbours is Neighbours.REPLACE:
            if rows is None:
                raise InvalidParameter("where rows are replaced their number is public: write rows=...")
            return Rows(rows)
        if rows is not None:
            raise InvalidParameter(
                "where rows are added and removed their number is private: write rows=release.Rows(estimate, "
                "error=...) from public facts, or leave it out and it is measured."
            )
        share = self.purse.amount * _COUNTING
        epsilon = greatest(lambda e: self.purse.charge(Pure(e)) <= share)
        count = RowCount(sensitivity=self.sensitivity, epsilon=epsilon, failure_probability=self._beta / 4)
        self._permit.take(count.loss)
        self._write()
        return count._release(self._truth.cells, randomness.system())

    def _planned(self, loss: Loss | None) -> CertifiedPlan:
        left = self._beta - self.rows.failure_probability
        if left <= 0:
            raise InvalidParameter("failure_probability is that of the whole, so it is above that of the rows.")
        share = self._amount()

        def planner(purse: Purse) -> CertifiedPlanner:
            amount = purse.amount * share / self.purse.amount
            return CertifiedPlanner(purse, amount, self._questions, left, self.update, self.sensitivity)

        def with_more(times: int) -> tuple[CertifiedPlanner, str] | None:
            if loss is None:
                return None
            more, line = larger(loss, times)
            return planner(Purse.of(more)), f"loss={line}"

        try:
            return planner(self.purse).plan(with_more)
        except InvalidParameter as refusal:
            if self._permit.left == self._left_at_start:
                raise
            rows = self.rows
            estimate, error, chance = (written(x) for x in (rows.estimate, rows.error, rows.failure_probability))
            raise InvalidParameter(
                f"{refusal} The number of rows was measured for this, and {float(_COUNTING):.0%} of the loss is spent "
                f"on it; to use it again write rows=release.Rows({estimate}, error={error}, "
                f"failure_probability={chance})."
            ) from None

    def _amount(self) -> Fraction:
        """Return what is left for hits once the rows were counted."""
        return self.purse.amount * (1 - _COUNTING) if self.rows.failure_probability else self.purse.amount

    @property
    def certified_error(self) -> Fraction:
        """The greatest error of any of the answers, but for the failure probability."""
        return self.plan.certified_error

    @property
    def model(self) -> DenseModel:  # type: ignore[override]
        """What has been learned so far."""
        return self._structure.model

    def _known(self, query: LinearQuery) -> tuple[float, float] | None:
        return None

    def _bypassed(self, query: LinearQuery) -> bool:
        return False

    @property
    def _prices(self) -> tuple[Loss, Loss]:
        assert self._gate is not None
        return self._gate.loss_of_hit, self.plan.measurement.loss

    def _measured(self, query: LinearQuery, stream: Stream) -> tuple[float, float | None]:
        """Release the query's value, update the model with what was released, and answer with it."""
        error = self._claimed()  # first: a coin that fell is counted, whatever breaks after it
        scaled = self._truth.count(query)
        value = Fraction(self._noisy(scaled, query.scale, stream))
        self._structure = self._updated(query, value)
        self._learned_from.append((query, value))
        return float(value), error

    def _noisy(self, count: int, scale: int, stream: Stream) -> Fraction:
        """Return a count with noise on whole counts: one of steps finer than 1 is rounded to them first."""
        whole = (2 * count + scale) // (2 * scale)
        return Fraction(cast(int, self.plan.measurement._release(whole, stream)))

    def _updated(self, query: LinearQuery, value: Fraction) -> Distribution:
        return self.update.updated(self._structure, query, value, level=self.plan.level, noise=self.plan.noise)

    def _error(self, query: LinearQuery, estimate: float, *, tested: bool) -> float | None:
        return self._claimed() if tested else None

    def _claimed(self) -> float | None:
        """Return the certified error, for as many coins as it was planned for; they are written down in blocks."""
        self._coins += 1
        if self._coins > self._allowed:
            self._allowed += _BLOCK
            self._write()
        return float_up(self.certified_error) if self._coins <= self._questions else None

    @property
    def _fingerprint(self) -> str:
        columns = tuple((name, column.size) for name, column in self.universe.columns.items())
        facts = (columns, self._facts, self.sensitivity, self.purse.budget, self.purse.amount)
        return sha256(repr(facts).encode()).hexdigest()

    def _content(self) -> Json:
        rows = getattr(self, "rows", None)
        if rows is None:
            return {"knowledge": {}}
        learned = [[online_state.described(query), str(value)] for query, value in self._learned_from]
        parts = [str(rows.estimate), str(rows.error), str(rows.failure_probability)]
        return {
            "coins": self._coins if self._closed else self._allowed,
            "knowledge": {"rows": parts, "learned": learned},
        }

    def _restore(self, before: Json) -> None:
        """Make the updates again, from what was released; questions of an unfinished block count as asked."""
        with online_state.refusing():
            self._coins = self._allowed = int(before["coins"])
            for described, value in before["knowledge"]["learned"]:
                query, released = online_state.read(described, self.universe.shape), rational(value, "state")
                self._structure = self._updated(query, released)
                self._learned_from.append((query, released))
        gate = self.plan.gate()
        self._gate = gate if gate.stored else None
