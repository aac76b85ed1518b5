"""Wrong compositions that one would really write. Every one must fail the check that ours passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr

from discreet import dp
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Pure
from discreet.dp.numeric_composition import LossLaw

CELLS = 1 << 12


@dataclass(frozen=True)
class Fourier:
    """A law of the sum on a grid of 2^12 cells, by one discrete Fourier transform, as most accountants do it."""

    losses: tuple[dp.Loss, ...]
    grid: str = "split"  # or "nearest": where an atom between two places goes
    deviations: float = 40.0  # what lies farther from the mean is dropped

    def delta(self, *, epsilon: Fraction) -> float:
        places, masses, mu, lost = self._law()
        gap = float(epsilon) - places
        with np.errstate(all="ignore"):
            if mu:
                each = np.exp(log_ndtr(mu / 2 - gap / mu)) - np.exp(gap + log_ndtr(-mu / 2 - gap / mu))
            else:
                each = np.maximum(0.0, -np.expm1(gap))
        kept = max(0.0, float(np.nansum(masses * np.maximum(each, 0.0))))
        return float(lost + (1 - lost) * kept) * (1 + 1e-9)  # so that the last digits are not what is at fault

    def epsilon(self, *, delta: Fraction) -> float:
        low, high = 0.0, 1e6
        if self.delta(epsilon=Fraction(high)) > delta:
            return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(epsilon=Fraction(middle)) <= delta else (middle, high)
        return high

    def _law(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        epsilons = np.array([float(loss.pure_epsilon) for loss in self.losses if isinstance(loss, Pure)])
        mu = math.sqrt(sum(float(loss.mu_squared) for loss in self.losses if isinstance(loss, GaussianLoss)))
        lost = sum(float(loss.base_delta) for loss in self.losses if isinstance(loss, Approximate))
        if not epsilons.size:
            return np.zeros(1), np.ones(1), mu, lost
        deviation = math.sqrt(float(epsilons @ epsilons))
        step = 2 * min(self.deviations, math.sqrt(epsilons.size) + 1) * deviation / CELLS
        characteristic = np.ones(CELLS, dtype=np.complex128)
        waves = np.exp(-2j * np.pi * np.arange(CELLS) / CELLS)
        for e, count in zip(*np.unique(epsilons, return_counts=True), strict=True):
            characteristic *= sum(mass * waves ** (place % CELLS) for place, mass in self._atoms(e, step)) ** count
        masses = np.fft.ifft(characteristic).real
        mean = round(float(np.sum(epsilons * np.tanh(epsilons / 2))) / step)
        places = (np.arange(CELLS) - mean + CELLS // 2) % CELLS + mean - CELLS // 2
        kept = np.abs(places - mean) * step <= self.deviations * deviation
        return places[kept] * step, masses[kept], mu, lost

    def _atoms(self, e: float, step: float) -> list[tuple[int, float]]:
        truth = 1 / (1 + math.exp(-e))
        if self.grid == "nearest":
            return [(round(e / step), truth), (-round(e / step), 1 - truth)]
        place, gap = divmod(e, step)
        up, down = math.expm1(-gap) / math.expm1(-step), math.expm1(gap) / math.expm1(step)
        g = int(place)
        split = [(g, truth * (1 - up)), (g + 1, truth * up)]
        return [*split, (-g, (1 - truth) * (1 - down)), (-g - 1, (1 - truth) * down)]


def nearest_grid(losses: Sequence[dp.Loss]) -> Fourier:
    """Every loss goes to the nearest place on the grid, as often down as up."""
    return Fourier(tuple(losses), grid="nearest")


def cut_tails(losses: Sequence[dp.Loss]) -> Fourier:
    """What is more than six standard deviations from the mean never happens."""
    return Fourier(tuple(losses), deviations=6)


def unbounded_rounding(losses: Sequence[dp.Loss]) -> Fourier:
    """A right grid and window; what the transform rounds away is gone."""
    return Fourier(tuple(losses))


class OnTheGrid(LossLaw):
    """However few the values are, they are moved to a grid: never too low, and far too high beyond the last of them."""

    _enumerated = None


def on_the_grid(losses: Sequence[dp.Loss]) -> LossLaw:
    law = dp.composition.numeric(losses)
    return OnTheGrid(law.epsilons, law.mu_squared, law.lost) if law.epsilons else law


def without_error(law: LossLaw, tilt: float, epsilon: float) -> float:
    """Ours at one tilt, without what rounding, aliasing and dropped frequencies may add."""
    return replace(law._tilted(tilt), error=0.0).delta(epsilon)


# Theorems as they were once coded. Each returns the (epsilon, delta) that it claims for `count` releases.

Claim = tuple[float, float]


def advanced_without_second_term(epsilon: float, delta: float, count: int, slack: float) -> Claim:
    return epsilon * math.sqrt(2 * count * math.log(1 / slack)), count * delta + slack


def advanced_without_logarithm(epsilon: float, delta: float, count: int, slack: float) -> Claim:
    return epsilon * math.sqrt(2 * count) + count * epsilon * math.expm1(epsilon), count * delta + slack


def advanced_without_deltas(epsilon: float, delta: float, count: int, slack: float) -> Claim:
    """Forgets that every release may fail."""
    return epsilon * math.sqrt(2 * count * math.log(1 / slack)) + count * epsilon * math.expm1(epsilon), slack


def range_of_a_selection(epsilon: float, delta: float, count: int, slack: float) -> Claim:
    """rho = epsilon^2 / 8, the bounded range of a selection, claimed for any pure release."""
    rho = count * epsilon**2 / 8
    return rho + 2 * math.sqrt(rho * math.log(1 / slack)), count * delta + slack


# Sessions.


@dataclass
class Odometer:
    """Says after every answer what has been spent, by a theorem for losses fixed in advance, and stops above a budget.

    It is asked before each answer whether the losses so far and the next one, taken as if they had been fixed, fit.
    """

    epsilon: Fraction
    delta: Fraction
    spent: tuple[dp.Loss, ...] = ()

    def admit(self, loss: dp.Loss) -> bool:
        if dp.compose([*self.spent, loss]).delta(epsilon=self.epsilon) > self.delta:
            return False
        self.spent = (*self.spent, loss)
        return True


@dataclass
class SnapshotSession:
    """Every stream keeps a copy of what was spent when it last looked, and writes its own total back."""

    budget: dp.Budget
    spent: dp.Charge = field(default_factory=dp.Charge)

    def reserve(self, loss: dp.Loss, *, settlement: dp.Settlement = dp.Settlement.FULL) -> "SnapshotPermit":
        return SnapshotPermit(self, loss, self.spent)

    def settle(self, permit: "SnapshotPermit") -> None:
        permit.write_back()


@dataclass
class SnapshotPermit:
    session: SnapshotSession
    loss: dp.Loss
    seen: dp.Charge
    taken: dp.Charge = field(default_factory=dp.Charge)

    def take(self, loss: dp.Loss) -> None:
        charge = self.session.budget.charge(loss)
        assert charge is not None
        self.taken = self.taken + charge
        self.write_back()

    def write_back(self) -> None:
        self.session.spent = self.seen + self.taken


# Accountants, as `epsilon of these losses at this delta`.


def forgotten_counts(losses: Sequence[dp.Loss]) -> dp.Loss:
    """Equal events are grouped, and every group is counted once."""
    return dp.compose(list(dict.fromkeys(losses)))


def forgotten_deltas(losses: Sequence[dp.Loss]) -> dp.Loss:
    """The delta of each release is small, and so left out."""
    return dp.compose([loss for loss in losses if not isinstance(loss, Approximate)])


def rho_of_a_selection(losses: Sequence[dp.Loss]) -> dp.Loss:
    """epsilon^2 / 8 for every pure release, which is the rho of a bounded range."""
    parts = [loss.pure_epsilon**2 / 8 if isinstance(loss, Pure) else loss.rho_bound() for loss in losses]
    if not all(isinstance(rho, Fraction) for rho in parts):
        return dp.Loss.nonprivate()
    return dp.Loss.zcdp(rho=sum(parts, start=Fraction(0)))


def largest_only(losses: Sequence[dp.Loss]) -> dp.Loss:
    """Parallel composition, where the parts are not disjoint."""
    return max(losses, key=lambda loss: loss.epsilon(delta=Fraction(1, 10**6)))
