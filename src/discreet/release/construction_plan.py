"""The numbers of an iterative construction, all fixed before it runs: rounds, levels, noise, and what they certify."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.dp.budget import Budget
from discreet.dp.composition import advanced_share
from discreet.dp.gaussian import Gaussian
from discreet.dp.laplace import Laplace
from discreet.dp.loss import Approximate, Loss, Pure, Zcdp
from discreet.dp.rational import float_up, sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.database_update import DatabaseUpdate
from discreet.release.distinguisher import Distinguisher
from discreet.release.rows import moved

_GROWTH = Fraction(5, 4)  # of the number of updates from one candidate to the next
_PARTS = 256  # a share of the budget is a multiple of 1 / 256
_DOUBLINGS = 24  # of a budget that is too small, to find one that is not
_MOST_UPDATES = 10**12


class Calibration(Enum):
    """How a budget is divided among the 2 B releases.

    BEST: pure budgets by basic composition, others in zCDP with Gaussian noise; between selection and measurement so
      that the certified error is least.
    NOTES: as the notes do, with the corrected Theorem 5: epsilon / (2 B) for each release, or epsilon / (4 sqrt(B ln
      1/delta)) where advanced composition allows it; Laplace noise; noise alpha / 8, stop below 5 alpha / 8, slack
      alpha / 4, updates at alpha / 2.
    """

    BEST = "least certified error"
    NOTES = "the notes' constants, corrected"


@dataclass(frozen=True, slots=True)
class Plan:
    """The rounds of a construction and the four numbers of its rule, in counts.

    Guarantee: where stop - noise >= level and noise < level, and B(level) is at most `updates`, the error of every
      query at the end is at most max(stop + noise + slack, level), as long as values are within `noise` of the truth
      and choices within `slack` of the worst. Other numbers are refused.
    Source: Roth, lecture 7, 2011, Theorem 5, whose stopping rule gives 3 alpha / 2 where alpha is promised (E2.3).

    >>> quarter, half = Fraction(1, 4), Fraction(1, 2)
    >>> Plan(8, half, quarter / 2, half + quarter / 2, quarter, None, None, None).certified_error
    Fraction(1, 1)
    """

    updates: int
    level: Fraction
    noise: Fraction
    stop: Fraction
    slack: Fraction
    epsilon_of_choice: Fraction | None
    measurement: Laplace | Gaussian | None
    loss_of_choice: Loss | None

    def __post_init__(self) -> None:
        if self.updates and not (self.stop - self.noise >= self.level > self.noise):
            raise InvalidParameter(
                "a construction that stops below `stop` needs stop - noise >= level and noise < level: otherwise it "
                "may update where no update is due."
            )

    @property
    def certified_error(self) -> Fraction:
        """The greatest error of any query at the end."""
        return max(self.stop + self.noise + self.slack, self.level)

    @property
    def loss_of_round(self) -> Loss:
        """The loss of one choice and one measurement."""
        if self.measurement is None or self.loss_of_choice is None:
            return Pure(Fraction(0))
        return self.loss_of_choice + self.measurement.loss

    @property
    def loss(self) -> Loss:
        """The loss of all rounds."""
        return self.updates * self.loss_of_round if self.updates else Pure(Fraction(0))


@dataclass(frozen=True, slots=True)
class Planner:
    """Everything public that a plan depends on."""

    update: DatabaseUpdate[Any]
    distinguisher: Distinguisher
    loss: Loss
    failure_probability: Fraction
    calibration: Calibration

    def plan(self) -> Plan:
        """Return the plan with the least certified error, or refuse a budget that certifies nothing."""
        if self.update.settled:
            first = self.update.first_error
            return Plan(0, first, Fraction(0), first, Fraction(0), None, None, None)
        found = self._search()
        if found is None or found.certified_error >= self.update.first_error:
            raise InvalidParameter(self._refusal(found))
        return found

    def _search(self) -> Plan | None:
        """Return the best plan over the number of updates: more of them need a lower level and leave less for each."""
        best: Plan | None = None
        place, tried = 1, list[int]()
        while place <= _MOST_UPDATES:
            plan = self._try(place)
            tried.append(place)
            if plan is not None and (best is None or plan.certified_error < best.certified_error):
                best = plan
            if best is not None and plan is not None and plan.noise + plan.slack > best.certified_error:
                break  # what more rounds cost alone is above it
            place = max(place + 1, math.ceil(place * _GROWTH))
        if best is None:
            return None
        at = tried.index(best.updates)
        low, high = tried[max(0, at - 1)], tried[min(len(tried) - 1, at + 1)]
        while high - low > 2:  # the error falls, then rises
            third = max(1, (high - low) // 3)
            one, two = self._try(low + third), self._try(high - third)
            best = min((p for p in (best, one, two) if p is not None), key=lambda p: p.certified_error)
            if two is None or (one is not None and one.certified_error <= two.certified_error):
                high -= third
            else:
                low += third
        last = [plan for plan in map(self._try, range(low, high + 1)) if plan is not None]
        return min([best, *last], key=lambda plan: plan.certified_error)

    def _try(self, updates: int) -> Plan | None:
        """Return the plan for so many updates; None where noise of that scale cannot be drawn."""
        try:
            return self._notes(updates) if self.calibration is Calibration.NOTES else self._best(updates)
        except InvalidParameter:
            return None

    @property
    def _step(self) -> int:
        return self.distinguisher.workload.scale

    @property
    def _of_answer(self) -> Sensitivity:
        """How far one unit moves an answer in steps."""
        s = self.distinguisher.sensitivity
        return Sensitivity(l1=moved(s) * self._step, neighbours=s.neighbours)

    def _noise(self, measurement: Laplace | Gaussian, updates: int) -> Fraction:
        half = self.failure_probability / 2
        return measurement.accuracy(failure_probability=half, answers=updates) / self._step

    def _best(self, updates: int) -> Plan:
        chance = self.failure_probability / 2 / updates
        epsilon, measurement = _divided(self.loss, updates, self._share(updates), self.distinguisher, self._of_answer)
        noise, slack = self._noise(measurement, updates), self.distinguisher.slack(epsilon, chance)
        level = max(self.update.level(updates, noise=noise), noise + Fraction(1, self._step))
        loss = self.distinguisher.loss(epsilon)
        return Plan(updates, level, noise, level + noise, slack, epsilon, measurement, loss)

    def _share(self, updates: int) -> Fraction:
        """Return the share of the budget for selection that about minimises 2 noise + slack."""
        chance = float(self.failure_probability) / 2
        choices = math.log(len(self.distinguisher.workload) * updates / chance)
        values = math.log(2 * updates / chance)
        if isinstance(self.loss, Pure):  # choices / r + values / (1 - r)
            one, two = math.sqrt(choices), math.sqrt(values)
        else:  # choices sqrt(rate / r) + sqrt(values / (1 - r))
            one = (choices * math.sqrt(self.distinguisher.rate_of_rho)) ** (2 / 3)
            two = values ** (1 / 3)
        return Fraction(min(_PARTS - 1, max(1, round(_PARTS * one / (one + two)))), _PARTS)

    def _notes(self, updates: int) -> Plan:
        """Return the least alpha with alpha >= max(8 noise, 4 F) and B(alpha / 2) at most so many updates."""
        match self.loss:
            case Pure(epsilon):
                each = epsilon / (2 * updates)
            case Approximate(epsilon, delta):
                each = advanced_share(epsilon=epsilon, delta=delta, count=2 * updates)
            case _:
                raise NotSupported("the notes divide a pure or an (epsilon, delta) loss; use Calibration.BEST for rho.")
        measurement = Laplace(sensitivity=self._of_answer, epsilon=each)
        chance = self.failure_probability / (2 * updates)
        alpha = max(8 * self._noise(measurement, updates), 4 * self.distinguisher.slack(each, chance))
        alpha = max(alpha, 2 * self.update.level(updates, noise=alpha / 8))
        while self.update.level(updates, noise=alpha / 8) > alpha / 2:  # where the level depends on the noise
            alpha *= 1 + Fraction(1, 64)
        loss = self.distinguisher.loss(each)
        return Plan(updates, alpha / 2, alpha / 8, 5 * alpha / 8, alpha / 4, each, measurement, loss)

    def _refusal(self, found: Plan | None) -> str:
        nothing = float(self.update.first_error)
        least = "none" if found is None else f"{float(found.certified_error):.4g} counts"
        start = (
            f"this loss buys no round that is worth it: the least error it certifies is {least}, and a model that has "
            f"learned nothing is off by at most {nothing:.4g}."
        )
        for doublings in range(1, _DOUBLINGS):
            loss, line = larger(self.loss, 2**doublings)
            more = Planner(self.update, self.distinguisher, loss, self.failure_probability, self.calibration)._search()
            if more is not None and more.certified_error < self.update.first_error:
                return f"{start} Write for instance loss={line}."
        return f"{start} No larger loss does better: the table is too small for this many cells and queries."


def _divided(
    loss: Loss, updates: int, share: Fraction, distinguisher: Distinguisher, answer: Sensitivity
) -> tuple[Fraction, Laplace | Gaussian]:
    """Return the epsilon of one choice, and the measurement of one round."""
    match loss:
        case Pure(epsilon):
            each = epsilon / updates
            return each * share, Laplace(sensitivity=answer, epsilon=each * (1 - share))
        case Approximate(epsilon, delta):
            rho = _rho(epsilon, delta)
        case Zcdp(rho):
            pass
        case _:
            raise NotSupported("loss is dp.Loss.pure(...), dp.Loss.approximate(...) or dp.Loss.zcdp(...).")
    each = rho / updates
    inverse = sqrt_up(distinguisher.rate_of_rho / (each * share))  # rounded up, so epsilon is rounded down
    epsilon = Fraction(int(2**60 / inverse), 2**60)
    return epsilon, Gaussian(sensitivity=answer, rho=each * (1 - share))


def _rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the rho of which this (epsilon, delta) can be proved, by the best order."""
    loss = Budget(epsilon=epsilon, delta=delta).price(epsilon=epsilon)
    assert isinstance(loss, Zcdp)
    return loss.rho


def larger(loss: Loss, times: int) -> tuple[Loss, str]:
    """Return a loss so many times as large, and how it is written."""
    match loss:
        case Pure(epsilon):
            more = float_up(epsilon * times)
            return Loss.pure(epsilon=more), f"dp.Loss.pure(epsilon={more:g})"
        case Approximate(epsilon, delta):
            more = float_up(epsilon * times)
            line = f"dp.Loss.approximate(epsilon={more:g}, delta={float(delta):g})"
            return Loss.approximate(epsilon=more, delta=delta), line
        case Zcdp(rho):
            more = float_up(rho * times)
            return Loss.zcdp(rho=more), f"dp.Loss.zcdp(rho={more:g})"
        case _:
            raise NotSupported("loss is dp.Loss.pure(...), dp.Loss.approximate(...) or dp.Loss.zcdp(...).")
