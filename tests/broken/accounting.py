"""Wrong accounting that one would really write. Every one of these must fail the check that ours passes."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from discreet import dp
from discreet.dp.renyi import allowed_renyi

# Curves of the wrong law.


def continuous_laplace_delta(epsilon: Fraction) -> float:
    """The curve of continuous Laplace noise of loss 1, claimed for integers."""
    return max(0.0, 1 - math.exp((float(epsilon) - 1) / 2))


def continuous_laplace_renyi(order: Fraction) -> float:
    """The Renyi curve of continuous Laplace noise of loss 1, claimed for integers (Mironov 2017)."""
    a = float(order)
    return math.log(a / (2 * a - 1) * math.exp(a - 1) + (a - 1) / (2 * a - 1) * math.exp(-a)) / (a - 1)


def gaussian_delta_for_any_law(epsilon: Fraction, sigma: str) -> float:
    """The exact curve of the normal law, claimed for the discrete Gaussian."""
    return dp.Loss.gaussian(mu=1 / Fraction(sigma)).delta(epsilon=epsilon)


# Rules that do not exist.


def square_rule_group(points: dict[Fraction, Fraction], k: int, order: Fraction) -> Fraction:
    """zCDP's k^2 for a general Renyi curve."""
    return k * k * points[order]


def advanced_composition_of_any_epsilon(epsilon: float, delta: float, count: int) -> tuple[float, float]:
    """What each of `count` releases may have so that all have (epsilon, delta), without the condition on epsilon."""
    return epsilon / math.sqrt(8 * count * math.log(1 / delta)), delta


def composition_without_deltas(losses: list[dp.Loss], epsilon: Fraction) -> float:
    """The least of the deltas, where they add up."""
    return min(loss.delta(epsilon=epsilon) for loss in losses)


# Rounding to nearest, and sums in floats.


def nearest(truth: Fraction) -> float:
    """The nearest float, which is below the truth every second time."""
    return truth.numerator / truth.denominator


def rounded_half_to_even(value: Fraction) -> Fraction:
    return Fraction(round(value * 10**40), 10**40)


def sqrt_nearest(value: Fraction) -> Fraction:
    return Fraction(math.sqrt(value))


# Calibrations of Gaussian noise of sensitivity 1.

_NORMAL = NormalDist()


def classical_sigma(epsilon: float, delta: float) -> float:
    """The classical formula, at every epsilon."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def variance_for_deviation(epsilon: float, delta: float) -> float:
    """Returns the square of what was asked for: too little wherever sigma is below 1."""
    return float(dp.Gaussian(sensitivity=_ONE, epsilon=epsilon, delta=delta).sigma) ** 2


def deviation_for_variance(epsilon: float, delta: float) -> float:
    """Takes the deviation for a variance and its root for the deviation: too little wherever sigma is above 1."""
    return math.sqrt(dp.Gaussian(sensitivity=_ONE, epsilon=epsilon, delta=delta).sigma)


def wrong_sign_sigma(epsilon: float, delta: float) -> float:
    """The analytic calibration with a minus for the plus of the shift: delta = Phi(-mu/2 - epsilon/mu) - ..."""

    def wrong_delta(mu: float) -> float:
        return _NORMAL.cdf(-mu / 2 - epsilon / mu) - math.exp(-epsilon) * _NORMAL.cdf(-1.5 * mu - epsilon / mu)

    low, high = 1e-6, 1e3
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if wrong_delta(middle) <= delta else (low, middle)
    return 1 / low


_ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)


# Sensitivities of sums.


@dataclass(frozen=True)
class Norms:
    l1: Fraction
    l2: Fraction
    linf: Fraction


def sums_with_one_bound(*, lower: Fraction, upper: Fraction, groups: int, neighbours: dp.Neighbours) -> Norms:
    """Clips with |lower| twice."""
    most = max(abs(lower), abs(lower))
    whole = most * (1 if neighbours is dp.Neighbours.ADD_REMOVE else 2)
    return Norms(whole, whole, whole)


def sums_of_truncated_width(*, lower: Fraction, upper: Fraction, groups: int, neighbours: dp.Neighbours) -> Norms:
    """Rounds the sensitivity to an integer towards zero."""
    right = dp.Sensitivity.sums(lower=lower, upper=upper, groups=groups, neighbours=neighbours)
    assert right.l1 is not None
    return Norms(Fraction(int(right.l1)), Fraction(int(right.l2)), Fraction(int(right.linf)))


def sums_as_if_units_only_came_and_went(
    *, lower: Fraction, upper: Fraction, groups: int, neighbours: dp.Neighbours
) -> dp.Sensitivity:
    return dp.Sensitivity.sums(lower=lower, upper=upper, groups=groups, neighbours=dp.Neighbours.ADD_REMOVE)


def marginals_as_if_units_only_came_and_went(*, count: int, neighbours: dp.Neighbours) -> dp.Sensitivity:
    return dp.Sensitivity.marginals(count=count, neighbours=dp.Neighbours.ADD_REMOVE)


# Filters.


@dataclass
class FloatFilter:
    """Adds up floats."""

    spent: float = 0.0

    def spend(self, epsilon: object) -> bool:
        amount = float(epsilon)  # type: ignore[arg-type]
        if amount < 0 or not math.isfinite(amount) or self.spent + amount > 1.0:
            return False
        self.spent += amount
        return True


@dataclass
class TrustingFilter:
    """Exact, and takes any number for a spend."""

    spent: Fraction = Fraction(0)

    def spend(self, epsilon: object) -> bool:
        amount = Fraction(str(epsilon))
        if self.spent + amount > 1:
            return False
        self.spent += amount
        return True


@dataclass
class NanFilter:
    """Asks whether a spend is too much, which NaN never is."""

    spent: float = 0.0

    def spend(self, epsilon: object) -> bool:
        amount = float(str(epsilon))
        if amount < 0 or self.spent + amount > 1:
            return False
        self.spent += amount
        return True


@dataclass
class BestOrderFilter:
    """Charges every loss at the order that is kindest to it, and adds the shares up."""

    budget: dp.Budget
    orders: tuple[Fraction, ...] = (Fraction(10), Fraction(30), Fraction(100), Fraction(10**6))
    spent: float = 0.0

    def admit(self, loss: dp.Loss) -> bool:
        assert self.budget.epsilon is not None
        caps = {a: allowed_renyi(self.budget.epsilon, self.budget.delta, a) for a in self.orders}
        share = min(float(loss.renyi(a)) / float(cap) for a, cap in caps.items() if cap > 0)
        if self.spent + share > 1:
            return False
        self.spent += share
        return True


@dataclass
class DeltaBlindFilter:
    """Charges an (epsilon, delta) loss for its epsilon alone."""

    budget: dp.Budget
    _inner: dp.PrivacyFilter = field(init=False)

    def __post_init__(self) -> None:
        self._inner = dp.PrivacyFilter(self.budget)

    def admit(self, loss: dp.Loss) -> bool:
        return self._inner.admit(dp.Loss.pure(epsilon=getattr(loss, "base_epsilon", 0)))


@dataclass
class RacingFilter:
    """Looks, lets every other thread look, then writes."""

    together: threading.Barrier
    spent: Fraction = Fraction(0)

    def admit(self, loss: dp.Loss) -> bool:
        total = self.spent + Fraction(repr(loss.epsilon(delta=0)))
        self.together.wait(timeout=30)
        if total > 1:
            return False
        self.spent = total
        return True


@dataclass
class RefundingFilter:
    """Gives back what a permit did not take, whatever the mechanism was."""

    inner: dp.PrivacyFilter

    def reserve(self, loss: dp.Loss) -> dp.Permit:
        return self.inner.reserve(loss, settlement=dp.Settlement.ON_HITS)

    def settle(self, permit: dp.Permit) -> None:
        self.inner.settle(permit)


# Private values.


class LeakyExact:
    """Cannot be printed, and can be used as a number."""

    def __init__(self, value: int, *, sensitivity: dp.Sensitivity, unit: str) -> None:
        self._value, self.sensitivity, self.unit = value, sensitivity, unit

    def __repr__(self) -> str:
        return "LeakyExact"

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.asarray(self._value)

    def __add__(self, other: int) -> int:
        return self._value + other


class ComparableExact(dp.Exact):
    """A comparison is an answer, too."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return bool(self._value < other)  # type: ignore[operator]

    __hash__: Callable[[object], int] = lambda self: hash(self._value)  # type: ignore[assignment]
