"""Questions about a table, asked one after the other and answered from one budget, however many they are.

A model answers. A private test finds the questions that it answers badly, and those alone are measured: the marginal
around them, once, after which the model is fitted again to everything that was ever released.
"""

from __future__ import annotations

import math
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from statistics import NormalDist
from typing import Self, TypeAlias, final

from discreet.dp import randomness
from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.randomness import Stream
from discreet.dp.rational import Number, positive_integer
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.release import online_state
from discreet.release.laplace_sums import deviations
from discreet.release.model import DenseModel
from discreet.release.online import Online
from discreet.release.online_fit import Knowledge
from discreet.release.online_gate import LogisticGate
from discreet.release.online_measure import Instrument, deviation_of_one
from discreet.release.online_plan import OnlinePlan, check_plan
from discreet.release.online_state import Journal, Json, Save
from discreet.release.query import Array, LinearQuery

Axes: TypeAlias = tuple[int, ...]

_FINE = 0.8  # of the scale of the test's noise: a query known this well is not tested
_APART = 3.0  # standard deviations between the model and what was measured, from which the measurement is told
_FIRST_ROUNDS = 300  # of the first fits, which start from nothing
_WARMED = 64  # sets of columns whose marginals of the model are made before they are asked for again


@final
class Interactive(Online):
    """Answer an adaptively chosen stream of linear queries, of any length, from one budget.

    Before the first question single columns and pairs of columns are measured. The first few questions about sets of
    columns that were never measured are measured at once; later ones are tested, and measured if the test finds the
    model off. A miss is free. When the budget is gone, the model goes on answering.

    Guarantee: everything that is ever shown has the loss that was asked for, for any stream of questions, however they
      depend on earlier answers, and through crashes, as long as a state is resumed at most once. The caller must ensure
      that a plain histogram moves by at most `sensitivity`; an `Exact` carries its own and is opened with `permit`.
      `Reply.error` holds with probability `confidence` for a question that was not chosen by looking at the noise of
      the measurements that answer it; where the bar is that of the test, because they say less, for every question.
      Proof. All that depends on the table is the prior, the coins and the measurements; models, routes, divisions and
      error bars are functions of them. At the order a of the budget, let N be (a - 1) times what was charged. The
      likelihood ratio of a measurement has E'[L^a] <= exp((a - 1) R), R its charge, and that of one coin
      E'[L^a exp(-eta 1{hit})] <= 1, whatever came before. So L^a exp(-N) is a supermartingale, and as every charge is
      taken from what is left before anything is drawn, N never exceeds (a - 1) times the budget. In other currencies
      the gate is pure and paid when it is opened, and the sum is that of a filter. A price that is held and lost in a
      crash counts as charged.
    Source: Hardt, Rothblum, 2010 (the online mechanism); Kostopoulou et al., "Turbo", 2023 (measuring without a test
      what the model cannot know); the logistic test and its proof, `docs/proofs/threshold-test.md`.

    >>> import numpy as np
    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "smokes": 2, "region": 5})
    >>> histogram = np.arange(20) * 100
    >>> online = Interactive(
    ...     universe, histogram, sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ...     loss=dp.Loss.approximate(epsilon=1, delta=1e-9), questions=10_000,
    ... )
    >>> reply = online.ask(release.where(universe, sex=1, region=[3, 4]))
    >>> abs(reply.value - 6200) < 500, reply.route
    (True, <Route.SPAN: 'span'>)
    """

    plan: OnlinePlan

    def __init__(
        self,
        universe: Universe,
        histogram: Array | Exact,
        *,
        sensitivity: Sensitivity | None = None,
        loss: Loss | None = None,
        questions: int,
        permit: Permit | None = None,
        confidence: Number = Fraction(19, 20),
        journal: str | Path | None = None,
        save: Save | None = None,
    ) -> None:
        """Measure the prior, and hold the price of the first hit.

        `questions` is how many are expected: accuracy is planned for it, and nothing happens when there are more.
        `journal` is a file that holds the state at all times, and is resumed if it exists; `save` is called with the
        state instead, and has to make it durable before it returns.
        """
        with Journal.opened(journal) as file:
            stored = None if file is None else file.read()
            self._make(universe, histogram, sensitivity, loss, questions, permit, confidence, file, save, stored)

    @classmethod
    def resume(
        cls,
        state: bytes,
        universe: Universe,
        histogram: Array | Exact,
        *,
        sensitivity: Sensitivity | None = None,
        loss: Loss | None = None,
        questions: int,
        permit: Permit | None = None,
        confidence: Number = Fraction(19, 20),
        save: Save | None = None,
    ) -> Self:
        """Return the mechanism that a state describes, which goes on with what is left.

        The public parameters are those it was made with; a permit is one for what is left. Resume the latest state,
        and only once.
        """
        self = object.__new__(cls)
        self._make(universe, histogram, sensitivity, loss, questions, permit, confidence, None, save, state)
        return self

    def _make(
        self, universe: Universe, histogram: Array | Exact, sensitivity: Sensitivity | None, loss: Loss | None,
        questions: int, permit: Permit | None, confidence: Number, journal: Journal | None, save: Save | None,
        state: bytes | None,
    ) -> None:  # fmt: skip
        count = positive_integer(questions, "questions")
        before = None if state is None else online_state.from_bytes(state)
        self._open(universe, histogram, sensitivity, loss, permit, confidence, journal, save, before)
        self.plan = OnlinePlan.of(self.purse, universe.shape, self.sensitivity, questions=count)
        check_plan(self.plan, universe.shape)
        self._instrument, self.knowledge = Instrument.of(self.plan), Knowledge(universe)
        self._bypasses, self._touched, self._warm = self.plan.bypasses, set[str](), list[Axes]()
        self._sigmas = self._reach(float(1 - self.confidence))
        if before is None:
            self._begin(randomness.system())
        else:
            self._restore(before)
        self._bar = None if self._gate is None else self._gate.bar(1 - self.confidence)
        slope = float(self.plan.tests) if isinstance(self._gate, LogisticGate) else 8 / max(1, self.plan.threshold)
        self._fine = 1.1 * deviation_of_one(self.plan) if self._gate is None else _FINE / slope

    def _reach(self, chance: float) -> float:
        """Return how many standard deviations what the measurements say is off by, but for this chance."""
        return deviations(chance) if self.purse.budget.is_pure else -NormalDist().inv_cdf(chance / 2)

    def _begin(self, stream: Stream) -> None:
        """Pay, write down that it was paid, and then measure."""
        self._permit.take(self.plan.loss_of_prior)
        self._permit.take(self.plan.loss_of_opening)
        self._gate = self.plan.gate()
        self._hold()
        self._write()
        for part in self._instrument.prior(self._truth, stream):
            self.knowledge.learn(part, rounds=_FIRST_ROUNDS)
        self._write()

    def _restore(self, before: Json) -> None:
        """Go on from a state; a hidden threshold was never written down, so what has one tests no more."""
        online_state.check(before, self._fingerprint)
        with online_state.refusing():
            self._bypasses, self._touched = int(before["bypasses"]), set(before["touched"])
            self.knowledge.restore(before["knowledge"])
        gate = self.plan.gate()
        self._gate = gate if gate is not None and gate.stored else None
        self._hold()
        self._write()

    @property
    def model(self) -> DenseModel:  # type: ignore[override]
        """What has been learned so far. It is public, and answers for nothing."""
        return self.knowledge.model

    @property
    def _prices(self) -> tuple[Loss, Loss]:
        hit = self.plan.purse.costing(Fraction(0)) if self._gate is None else self._gate.loss_of_hit
        return hit, self.plan.loss_of_measurement

    @property
    def _fingerprint(self) -> str:
        facts = (
            tuple((name, column.size) for name, column in self.universe.columns.items()), self.plan.questions,
            self.sensitivity, self.purse.budget, self.purse.amount,
        )  # fmt: skip
        return sha256(repr(facts).encode()).hexdigest()

    def _content(self) -> Json:
        return {
            "bypasses": self._bypasses,
            "touched": sorted(self._touched),
            "knowledge": self.knowledge.content(),
        }

    def _deviation(self, query: LinearQuery) -> float | None:
        """Return the standard deviation of what the measurements say of a query; None if they do not cover it."""
        if query.key in self.knowledge.exact:
            return math.sqrt(self.knowledge.exact[query.key].variance)
        if not self.knowledge.covers(query.axes):
            return None
        return math.sqrt(self.knowledge.variance(query))

    def _known(self, query: LinearQuery) -> tuple[float, float] | None:
        self._last = self._deviation(query)
        if self._last is None or self._last > self._fine:
            return None
        return self._told(self._direct(query), self._last, self.model.answer(query))

    def _direct(self, query: LinearQuery) -> float:
        """Return what the measurements alone say of a query that they cover."""
        one = self.knowledge.exact.get(query.key)
        return self.knowledge.direct(query) if one is None else one.value

    def _told(self, direct: float, deviation: float, estimate: float) -> tuple[float, float]:
        """Return the model's answer, or the measured one where they are too far apart; and its error."""
        value = estimate if abs(direct - estimate) <= _APART * deviation else direct
        return value, abs(value - direct) + self._sigmas * deviation

    def _bypassed(self, query: LinearQuery) -> bool:
        if not self._bypasses or self._name(query) in self._touched:
            return False
        if self.plan.tests and self.knowledge.covers(query.axes):
            return False
        self._bypasses -= 1
        return True

    def _name(self, query: LinearQuery) -> str:
        """Return what a query is touched by: its columns, or itself where few questions are expected."""
        return repr(query.axes) if self.plan.tests else query.key.hex()

    def _measured(self, query: LinearQuery, stream: Stream) -> tuple[float, float | None]:
        self._touched.add(self._name(query))
        released = self._instrument.measure(query, self._truth, self.knowledge, stream)
        self.knowledge.learn(released)
        if query.axes not in self._warm and len(self._warm) < _WARMED:
            self._warm.append(query.axes)
        for axes in self._warm:
            self.model.marginal(axes)
        deviation = self._deviation(query)
        assert deviation is not None  # it has just been measured
        return self._told(self._direct(query), deviation, self.model.answer(query))

    def _error(self, query: LinearQuery, estimate: float, *, tested: bool) -> float | None:
        """Return the bar of the test, or that of the measurements: whichever is the finer by public facts."""
        bar = self._bar if tested else None
        if self._last is None or (bar is not None and 2 * self._sigmas * self._last >= bar):
            return bar
        return abs(estimate - self._direct(query)) + self._sigmas * self._last
