"""Wrong mechanisms that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.discrete_gaussian import DiscreteGaussian
from discreet.dp.gaussian import Gaussian
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.laplace import Laplace
from discreet.dp.randomness import system
from discreet.dp.samplers import discrete_laplace

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Claimed:
    """A curve, right or wrong."""

    curve: Callable[[Fraction], float]

    def delta(self, *, epsilon: Fraction) -> float:
        return self.curve(epsilon)


# Claims that belong to another law.


def continuous_laplace(epsilon: float) -> Claimed:
    """The curve of continuous Laplace noise, claimed for noise on the integers."""
    return Claimed(lambda e: max(0.0, 1 - math.exp((float(e) - epsilon) / 2)))


def exact_gaussian(mechanism: DiscreteGaussian) -> GaussianLoss:
    """The exact curve of the normal law, claimed for the discrete Gaussian."""
    return GaussianLoss((mechanism.sensitivity.l2 / mechanism.sigma) ** 2)


def replaced_as_added(mechanism: Laplace) -> dp.Loss:
    """The loss for values that move by 1, claimed for values that move by 2."""
    return dp.Loss.pure(epsilon=1 / mechanism.scale)


def wrong_response_epsilon(truth: Fraction) -> float:
    """ln(p / (1 - p)): as if the answer were p true, and not p told and otherwise a coin."""
    return math.log(truth / (1 - truth))


def continuous_accuracy(scale: Fraction) -> Callable[..., Fraction]:
    """The error of continuous Laplace noise, rounded down."""
    return lambda *, failure_probability, answers: Fraction(
        math.floor(float(scale) * math.log(answers / failure_probability))
    )


def union_accuracy(accuracy: Callable[..., Fraction]) -> Callable[..., Fraction]:
    """A union bound over the answers: holds, and is not the least."""
    return lambda *, failure_probability, answers: accuracy(
        failure_probability=failure_probability / answers, answers=1
    )


# Releases.


def float_laplace(scale: float) -> Callable[[Reals], Reals]:
    """fl(x + noise), with noise in floating point."""
    return lambda values: values + np.random.default_rng().laplace(0, scale, values.shape)


def float_gaussian(sigma: float) -> Callable[[Reals], Reals]:
    return lambda values: values + np.random.default_rng().normal(0, sigma, values.shape)


def snapped_after(scale: float, step: float) -> Callable[[Reals], Reals]:
    """The sum is snapped, in floating point, to a grid that depends on its size."""

    def release(values: Reals) -> Reals:
        noisy = float_laplace(scale)(values)
        grid = step * np.exp2(np.ceil(np.log2(np.abs(noisy) + 1)))
        return np.rint(noisy / grid) * grid

    return release


class NoGrowth(Laplace):
    """Snapping to the grid is forgotten when the noise is scaled."""

    __slots__ = ()

    def _scale_in_steps(self, step: Fraction, count: int) -> Fraction:
        return self._noise_scale / step


class NoGrowthGaussian(Gaussian):
    """Snapping to the grid is forgotten when the noise is scaled."""

    __slots__ = ()

    def _scale_in_steps(self, step: Fraction, count: int) -> Fraction:
        return self._noise_scale / step


class OneSnap(Laplace):
    """One value in the vector is taken to move by a step, instead of every one."""

    __slots__ = ()

    def _scale_in_steps(self, step: Fraction, count: int) -> Fraction:
        return Laplace._scale_in_steps(self, step, 1)


def grid_of_the_data(scale: float) -> Callable[[Reals], Reals]:
    """The step is a share of the largest value."""

    def release(values: Reals) -> Reals:
        step = 2.0 ** np.floor(np.log2(np.abs(values).max() + 2.0**-30) - 20)
        noise = discrete_laplace(Fraction(scale) / Fraction(float(step))).draw(system(), values.size)
        return np.asarray((np.rint(values / step) + noise) * step)

    return release


def one_noise_for_all(scale: Fraction) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Every value of a vector gets the same noise."""
    return lambda values: values + discrete_laplace(scale).draw(system(), 1)


def wrapping(scale: Fraction) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """64 bits wrap around."""
    return lambda values: values.astype(np.int64) + discrete_laplace(scale).draw(system(), values.size)


# Constructors.


class Silent:
    """Whatever cannot be drawn becomes no noise at all."""

    def __init__(self, *, sensitivity: dp.Sensitivity, epsilon: object = None, scale: object = None) -> None:
        try:
            self.scale = float(scale if scale is not None else 1 / float(epsilon))  # type: ignore[arg-type]
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            self.scale = 0.0
        if not math.isfinite(self.scale):
            self.scale = 0.0

    def law(self, value: int) -> dp.Law:
        from flint import arb

        scale = max(self.scale, 1e-9)
        return dp.Law(value, lambda k: (1 - arb(-1 / scale).exp()) / (1 + arb(-1 / scale).exp()), lambda a: arb(0))


class Untyped(Laplace):
    """Parameters are not looked at: errors are those of whatever Python does with them."""

    __slots__ = ()

    def __init__(
        self, *, sensitivity: dp.Sensitivity, epsilon: float | None = None, scale: float | None = None
    ) -> None:
        wanted = Fraction(scale if scale is not None else 1 / epsilon)  # type: ignore[operator]
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "scale", wanted)


# What a private value may move.


class PaysForOne(dp.RandomizedResponse):
    """Takes two bits that change for one answer: as in a histogram, one cell is left and another is entered."""

    def _covers(self, sensitivity: dp.Sensitivity) -> bool:
        return sensitivity.l1 is not None and sensitivity.l1 <= 2 * self.answers


# Estimates.


def raw_share(reports: NDArray[np.int64]) -> float:
    """The share of reports, with nothing taken out for the coins."""
    return float(reports.mean())


def normal_interval(
    response: dp.RandomizedResponse, reports: NDArray[np.int64], confidence: float
) -> tuple[float, float]:
    """Wald's interval: the normal approximation, which has no width when all reports agree."""
    from scipy.stats import norm

    gap, other = response._gap_and_other()
    share, n = reports.mean(), reports.size
    half = norm.isf((1 - confidence) / 2) * math.sqrt(share * (1 - share) / n)
    return (share - half - other) / gap, (share + half - other) / gap
