"""The iterative construction: choose a query that the model answers badly, measure it, update the model, again.

The loop sees the private table through two functions, one that chooses a query and one that measures it; both are
private mechanisms, paid for before they run. The model is a function of what they returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

from discreet.dp.loss import Approximate, Loss, Pure, Zcdp
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, probability
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.release import transcript
from discreet.release.construction_plan import Calibration, Plan, Planner
from discreet.release.database_update import DatabaseUpdate, Structure, Tolerates, dense
from discreet.release.distinguisher import Distinguisher
from discreet.release.families import Family
from discreet.release.marginals import Marginals
from discreet.release.model import Model
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import moved, whole_histogram
from discreet.release.transcript import Round
from discreet.release.workload import Workload

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Select: TypeAlias = Callable[[Structure], int]
Measure: TypeAlias = Callable[[LinearQuery], Fraction]
Sight: TypeAlias = Callable[[], tuple[Select, Measure]]
"""Reads the table, and returns the two functions through which alone the loop sees it."""

Progress: TypeAlias = Callable[["Run"], None]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A construction after some rounds, or all of them: what it learned, and the transcript that this is made of."""

    construction: IterativeConstruction
    structure: Structure
    transcript: tuple[Round, ...]

    @property
    def model(self) -> Model | Structure:
        """What was learned: a `Model` for updates that keep a distribution; others answer queries and have no rows."""
        return self.structure.model

    @property
    def finished(self) -> bool:
        """Whether it stopped, or made all updates that there can be."""
        stopped = bool(self.transcript) and not self.transcript[-1].updated
        return stopped or len(self.transcript) >= self.construction.plan.updates

    @property
    def certified_error(self) -> Fraction | None:
        """The greatest error of any query of the workload, in counts, but for the failure probability.

        None until it is finished: half a run certifies nothing.
        """
        return self.construction.certified_error if self.finished else None

    def state(self) -> bytes:
        """Return everything that `resume` needs, as versioned bytes. All of it is public."""
        return transcript.to_bytes(self.transcript, self.construction._fingerprint)


@final
@dataclass(frozen=True, slots=True, eq=False)
class IterativeConstruction:
    """Learn a model that answers every query of a workload, from the queries on which it was most wrong.

    Guarantee: `loss`, at most the loss that was asked for: `updates` choices and `updates` measurements, fixed before
      it runs. With probability 1 - failure_probability every query of the workload is answered within
      `certified_error` counts. The caller must ensure that a histogram moves by at most the sensitivity of the
      distinguisher, and that the number of rows, a prior and the bounds of the update are public or released.
    Source: Gupta, Roth, Ullman, 2012, Algorithm 1; Roth, lecture 7, 2011, Theorems 4 to 8, with the corrected stopping
      rule (E2.3): update only if |v - Q(S)| >= level + noise.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "age": 40})
    >>> workload = release.all_marginals(universe, order=1) + release.ranges(universe, "age")
    >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
    >>> construction = IterativeConstruction(
    ...     universe, workload, update=release.MultiplicativeWeights(universe, rows=100_000),
    ...     distinguisher=release.ExponentialDistinguisher(workload, sensitivity=s),
    ...     loss=dp.Loss.approximate(epsilon=1, delta=1e-9), failure_probability=0.05)
    >>> construction.plan.updates, int(construction.certified_error)
    (656, 10941)
    """

    universe: Universe
    workload: Workload | Family
    update: DatabaseUpdate[Any]
    distinguisher: Distinguisher
    plan: Plan
    failure_probability: Fraction
    _fingerprint: str = field(repr=False)

    def __init__(
        self,
        universe: Universe,
        workload: Workload | Family,
        *,
        update: DatabaseUpdate[Any],
        distinguisher: Distinguisher,
        loss: Loss,
        failure_probability: Number,
        calibration: Calibration = Calibration.BEST,
    ) -> None:
        _check(dense(universe), workload, update, distinguisher, loss)
        if not isinstance(calibration, Calibration):
            raise InvalidParameter("calibration is release.Calibration.BEST or release.Calibration.NOTES.")
        chance = probability(failure_probability, "failure_probability")
        left = chance - (update.known_rows.failure_probability if update.known_rows is not None else 0)
        if left <= 0:
            raise InvalidParameter("failure_probability is that of the whole, so it is above that of the row count.")
        plan = Planner(update, distinguisher, loss, left, calibration).plan()
        facts = (universe, workload, update, type(distinguisher).__name__, plan)
        for name, value in (
            ("universe", universe),
            ("workload", workload),
            ("update", update),
            ("distinguisher", distinguisher),
            ("plan", plan),
            ("failure_probability", chance),
            ("_fingerprint", transcript.digest(facts).hex()),
        ):
            object.__setattr__(self, name, value)

    @property
    def loss(self) -> Loss:
        """The loss of a whole run. A `RowCount` that went before is not in it."""
        return self.plan.loss

    @property
    def certified_error(self) -> Fraction:
        """The greatest error of any query at the end, in counts, but for the failure probability."""
        return self.plan.certified_error

    def run(self, histogram: Array, *, sensitivity: Sensitivity, progress: Progress | None = None) -> Run:
        """Return the finished run. Whoever calls this has the histogram, and accounts for `loss`.

        `progress` is called with the run so far after each round; what it shows is public, and `run.state()` of it can
        be kept, so that nothing that was paid for is lost.
        """
        return self._with(Run(self, self.update.start(), ()), histogram, sensitivity, progress)

    def resume(
        self, state: bytes, histogram: Array, *, sensitivity: Sensitivity, progress: Progress | None = None
    ) -> Run:
        """Return the finished run that goes on from a state.

        Rounds that are not in the state are run, again if they had been: then they cost again. Resume the last one.
        """
        return self._with(self.restored(state), histogram, sensitivity, progress)

    def _with(self, run: Run, histogram: Array, sensitivity: Sensitivity, progress: Progress | None) -> Run:
        self._check_sensitivity(sensitivity)
        cells = whole_histogram(histogram, self.universe.size)
        return self._go(run, lambda: self._private(cells), None, progress)

    def open(
        self, exact: Exact, permit: Permit, *, state: bytes | None = None, progress: Progress | None = None
    ) -> Run:
        """Run on a private histogram: the loss of each round is taken from the permit before it reads the table.

        Guarantee: what is taken is the loss of the rounds that were begun, those after a `state` only; a histogram more
          sensitive than was planned for, or under another relation, is refused before anything is taken. A permit that
          does not cover one round is refused; where it covers some, the run comes back unfinished, so that what was
          paid for is kept, and another permit goes on from its `state()`.
        """
        if not isinstance(exact, Exact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes an Exact and a Permit; for a plain histogram use run(histogram, ...).")
        self._check_sensitivity(exact.sensitivity)
        cells = whole_histogram(exact._value, self.universe.size)
        begun = Run(self, self.update.start(), ()) if state is None else self.restored(state)
        return self._go(begun, lambda: self._private(cells), permit, progress)

    def restored(self, state: bytes) -> Run:
        """Return the run that a state describes: its updates are made again, from what was released."""
        run = Run(self, self.update.start(), ())
        for number, key, value, updated in transcript.from_bytes(state, self._fingerprint):
            if run.finished or not 0 <= number < len(self.workload):
                raise transcript.refused()
            query = self.distinguisher.query(number)
            run = self._after(run, number, query, value)
            if query.key.hex() != key or run.transcript[-1].updated is not updated:
                raise transcript.refused()
        return run

    def _private(self, cells: Array) -> tuple[Select, Measure]:
        """Return the two functions through which the loop sees a table."""
        from discreet.dp import randomness

        stream, plan = randomness.system(), self.plan
        truth, marginals = self.distinguisher.truth(cells), Marginals(cells, self.universe.shape)

        def select(learned: Structure) -> int:
            assert plan.epsilon_of_choice is not None  # a plan without one has no rounds
            return self.distinguisher._choose(truth, learned, plan.epsilon_of_choice, stream)

        def measure(query: LinearQuery) -> Fraction:
            return self._measured(query.count(marginals(query.axes)), query.scale, stream)

        return select, measure

    def _measured(self, count: int, scale: int, stream: Stream) -> Fraction:
        step = self.distinguisher.workload.scale
        assert self.plan.measurement is not None
        noisy = self.plan.measurement._release(count * (step // scale), stream)
        assert isinstance(noisy, int)
        return Fraction(noisy, step)

    def _go(self, run: Run, sight: Sight, permit: Permit | None, progress: Progress | None) -> Run:
        """Return the run after the rounds that are left, or as many of them as the permit covers."""
        seen: tuple[Select, Measure] | None = None
        while not run.finished:
            if permit is not None:
                try:
                    permit.take(self.plan.loss_of_round)
                except BudgetExceeded:
                    if seen is None:
                        raise
                    return run
            select, measure = seen = sight() if seen is None else seen
            number = select(run.structure)
            query = self.distinguisher.query(number)
            run = self._after(run, number, query, measure(query))
            if progress is not None:
                progress(run)
        return run

    def _after(self, run: Run, number: int, query: LinearQuery, value: Fraction) -> Run:
        """Return the run after one more round, from what the round released and from nothing else."""
        plan, learned, estimate = self.plan, run.structure, run.structure.answer(query)
        wrong = abs(value - Fraction(estimate)) >= plan.stop
        if wrong:
            learned = self.update.updated(learned, query, value, level=plan.level, noise=plan.noise)
        return Run(self, learned, (*run.transcript, Round(number, query, value, estimate, wrong)))

    def _check_sensitivity(self, sensitivity: Sensitivity) -> None:
        ours = self.distinguisher.sensitivity
        if moved(sensitivity) > moved(ours) or sensitivity.neighbours is not ours.neighbours:
            raise InvalidParameter(
                "the histogram is more sensitive than the distinguisher was made for, or under another relation: give "
                "the distinguisher the sensitivity of the histogram."
            )


def _check(
    universe: Universe,
    workload: Workload | Family,
    update: DatabaseUpdate[Any],
    distinguisher: Distinguisher,
    loss: Loss,
) -> None:
    if not isinstance(update, DatabaseUpdate) or not isinstance(distinguisher, Distinguisher):
        raise InvalidParameter("update is a release.DatabaseUpdate, and distinguisher a release.Distinguisher.")
    made_for = [distinguisher.workload] + ([update.known_workload] if update.known_workload is not None else [])
    same = all(theirs is workload or theirs == workload for theirs in made_for)
    if update.universe != universe or workload.shape != universe.shape or not same:
        raise InvalidParameter("universe and workload are those that update and distinguisher were made for.")
    if update.tolerates is Tolerates.NOTHING:
        raise InvalidParameter(
            f"{type(update).__name__} has a bound for exact values only, and none under noise: it certifies nothing. "
            "Use release.ShortenedProjection or release.MultiplicativeWeights."
        )
    if not isinstance(loss, Pure | Approximate | Zcdp):
        raise InvalidParameter(
            "loss is dp.Loss.pure(epsilon=...), dp.Loss.approximate(epsilon=..., delta=...) or dp.Loss.zcdp(rho=...)."
        )
    exact = update.known_rows is not None and update.known_rows.error == 0
    if exact and distinguisher.sensitivity.neighbours is Neighbours.ADD_REMOVE:
        raise InvalidParameter(
            "where rows are added and removed their number is private: write rows=release.Rows(estimate, error=...) "
            "from public facts, or measure it with release.RowCount."
        )
