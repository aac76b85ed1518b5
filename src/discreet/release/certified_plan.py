"""The numbers of a certified online mechanism: hits, threshold and noise, and the error that they certify."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.dp.gaussian import Gaussian
from discreet.dp.laplace import Laplace
from discreet.dp.loss import Loss, Pure
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.threshold_calibration import greatest
from discreet.dp.threshold_loss import ThresholdHit
from discreet.errors import InvalidParameter
from discreet.release.database_update import DatabaseUpdate, Tolerates
from discreet.release.online_gate import Gate, LogisticGate, SparseGate
from discreet.release.online_plan import Purse, apart, root_down

Rule: TypeAlias = DatabaseUpdate[Any]

_GROWTH = Fraction(3, 2)  # of the number of hits from one candidate to the next
_MOST_HITS = 10**7
_SHARES = [1 - Fraction(1, 2**k) for k in range(1, 6)]  # of the price of a hit, for the test
_ROUNDING = Fraction(3, 2)  # counts: the estimate is rounded by up to a half, the distance down by less than one
_FINEST = Fraction(1, 1024)  # counts between levels
_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class CertifiedPlan:
    """At most `hits` tests that find the model off by `level` or more, values within `noise`, and a threshold.

    Guarantee: but for the failure probability, no answer to one of the `questions` is off by more than
      `certified_error`, and no more than `hits` are measured. On the event that all tests are within `width` of what
      they compare and all values within `noise`, which it leaves out, a hit has an error of at least T - width -
      rounding >= level, which with values off by at most noise < level is an update sequence, so there are at most
      B(level) of them, and never more than questions: one of the two is at most `hits`. A miss has an error below
      T + width + rounding; and what was measured is off by noise.
    Source: Hardt, Rothblum, 2010; Gupta, Roth, Ullman, 2012, Section 4, with the logistic test.
    """

    purse: Purse
    questions: int
    failure_probability: Fraction
    hits: int
    level: Fraction
    width: Fraction
    noise: Fraction
    threshold: int
    tests: Fraction
    measurement: Gaussian | Laplace
    sensitivity: Sensitivity

    @property
    def certified_error(self) -> Fraction:
        """The greatest error of any answer, but for the failure probability."""
        return max(self.threshold + self.width + _ROUNDING, self.noise)

    @property
    def loss_of_opening(self) -> Loss:
        """What is owed before the first question: a hidden threshold, where there is one."""
        return Pure(Fraction(0)) if self.purse.is_renyi else Pure(self.tests)

    def gate(self) -> Gate:
        """Return the test."""
        return _gate(self.purse, self.threshold, self.tests, self.hits, self.sensitivity)


def _gate(purse: Purse, threshold: int, tests: Fraction, hits: int, sensitivity: Sensitivity) -> Gate:
    if purse.is_renyi:
        return LogisticGate(threshold=threshold, slope=tests, apart=apart(sensitivity))
    far = Sensitivity(l1=apart(sensitivity), neighbours=sensitivity.neighbours)
    return SparseGate(threshold=threshold, epsilon=tests, hits=hits, sensitivity=far)


@dataclass(frozen=True, slots=True)
class CertifiedPlanner:
    """Everything public that such a plan depends on; `amount` is what the purse has left for it."""

    purse: Purse
    amount: Fraction
    questions: int
    failure_probability: Fraction
    update: Rule
    sensitivity: Sensitivity

    def plan(self, larger: Callable[[int], tuple[CertifiedPlanner, str] | None]) -> CertifiedPlan:
        """Return the plan with the least certified error; refuse a budget that certifies nothing.

        `larger(times)` is the planner of a budget so many times as large, and the line that asks for it.
        """
        if self.update.tolerates is Tolerates.NOTHING:
            raise InvalidParameter(
                f"{type(self.update).__name__} has a bound for exact values only: use release.MultiplicativeWeights or "
                "release.ShortenedProjection."
            )
        found = self.best()
        if found is not None and found.certified_error < self.update.first_error:
            return found
        least = "none" if found is None else f"{float(found.certified_error):.4g} counts"
        start = (
            f"this budget certifies nothing for {self.questions} questions: the least error is {least}, and a model "
            f"that has learned nothing is off by at most {float(self.update.first_error):.4g}."
        )
        for doublings in range(1, _DOUBLINGS):
            more = larger(2**doublings)
            if more is None:
                break
            better = more[0].best()
            if better is not None and better.certified_error < self.update.first_error:
                raise InvalidParameter(f"{start} Write for instance {more[1]}.")
        raise InvalidParameter(
            f"{start} Ask for more, or use release.Interactive, which certifies less and answers better."
        )

    def best(self) -> CertifiedPlan | None:
        """Return the best plan over the number of hits, which may be that of the questions; None if there is none."""
        plans = [self._learning(), self._with(self.questions) if self.questions <= _MOST_HITS else None]
        return min((plan for plan in plans if plan), key=lambda plan: plan.certified_error, default=None)

    def _learning(self) -> CertifiedPlan | None:
        """Return the best plan whose hits end because the model has learned enough."""
        best: CertifiedPlan | None = None
        hits, worse = 1, 0
        while hits <= _MOST_HITS and worse < 5:
            plan = self._with(hits)
            if plan is not None and (best is None or plan.certified_error < best.certified_error):
                best, worse = plan, 0
            elif best is not None:
                worse += 1
            hits = max(hits + 1, math.ceil(hits * _GROWTH))
        return best

    def _with(self, hits: int) -> CertifiedPlan | None:
        plans = [plan for share in _SHARES if (plan := self._shared(hits, share)) is not None]
        return min(plans, key=lambda plan: plan.certified_error, default=None)

    def _shared(self, hits: int, share: Fraction) -> CertifiedPlan | None:
        try:
            tests = self._tests(hits, self.amount * share)
            measurement = self._measurement(self.amount * (1 - share) / hits)
            beta, far = self.failure_probability, self.sensitivity
            gate = _gate(self.purse, 0, tests, hits, far)
            width = gate.accuracy(failure_probability=beta / 2, questions=self.questions)
            noise = measurement.accuracy(failure_probability=beta / 2, answers=hits) + Fraction(1, 2)  # and rounding
            level = self._level(hits, noise)
        except InvalidParameter:  # noise of that scale cannot be drawn, or the rule has no level for it
            return None
        threshold = math.ceil(level + width + _ROUNDING)
        return CertifiedPlan(
            self.purse, self.questions, beta, hits, level, width, noise, threshold, tests, measurement, far
        )

    def _tests(self, hits: int, amount: Fraction) -> Fraction:
        if self.purse.is_renyi:
            order, each = self.purse.budget.order, amount / hits
            return greatest(lambda slope: ThresholdHit(slope).renyi(order) <= each, bits=16)
        return amount if self.purse.budget.is_pure else root_down(2 * amount)

    def _measurement(self, amount: Fraction) -> Gaussian | Laplace:
        one = Sensitivity(l1=apart(self.sensitivity), neighbours=self.sensitivity.neighbours)
        if self.purse.budget.is_pure:
            return Laplace(sensitivity=one, epsilon=amount)
        return Gaussian(sensitivity=one, rho=self.purse.noise(amount) / 2)

    def _level(self, hits: int, noise: Fraction) -> Fraction:
        """Return a level, about the least, with B(level) <= hits for values off by at most `noise`, which is below it.

        That of the rule for noise that it does not feel, or else with what shortening takes. If all questions may be
        hits, any level will do that an update can be made with.
        """
        if hits >= self.questions:
            rows = self.update.known_rows
            least = max(noise, rows.error) if rows is not None else noise
            return Fraction(math.floor(least / _FINEST) + 1) * _FINEST
        level = self.update.level(hits, noise=noise)
        for candidate in (max(level, noise) + _FINEST, level + 2 * noise + _FINEST):
            if self._bounded(candidate, noise, hits):
                return Fraction(math.ceil(candidate / _FINEST)) * _FINEST
        raise InvalidParameter("this rule has no level for so few updates")

    def _bounded(self, level: Fraction, noise: Fraction, hits: int) -> bool:
        try:
            return level > noise and self.update.bound(level, noise=noise) <= hits
        except InvalidParameter:  # the level is below what noise or the number of rows allow
            return False
