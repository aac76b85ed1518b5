"""Estimates and intervals from the gap of a hit, and from a gap together with a fresh measurement.

An interval is made of the true values that a test does not reject. The test of a value x adds the gap and the
measurement with weights that depend on x alone, and its tail is summed over the law of the gap given a hit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import Gaussian
from discreet.dp.grid import Steps
from discreet.dp.laplace import Laplace
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.gap import Gap, GapLaw

Reals = NDArray[np.float64]

_SCANNED = 2001  # values tried at once in a search
_FAR = 50  # scales of noise that a search goes beyond what was observed
_TINY = 1e-9  # by which a comparison of floats errs on the side of a wider interval


@dataclass(frozen=True, slots=True)
class GapEstimate:
    """An estimate from a gap and a measurement, and the interval that holds the true value."""

    value: int | float
    lower: float
    upper: float


def by_gap(gap: Gap, share: float) -> tuple[float, float]:
    """Return the interval of a gap alone."""
    law, half = gap.law, math.log(share / 2)

    def could_be_as_high(excess: int) -> bool:
        return float(law.log_at_least(np.array(gap.margin), np.array(excess))) > half

    def could_be_as_low(excess: int) -> bool:
        above = float(law.log_at_least(np.array(gap.margin + 1), np.array(excess)))
        return above < math.log1p(-share / 2)

    far = gap.margin - int(_FAR * law.query_scale) - _FAR
    least = -math.inf if could_be_as_high(far) else float(_edge(could_be_as_high, far, gap.margin + 1))
    most = -_edge(lambda x: could_be_as_low(-x), -(gap.margin + int(_FAR * law.query_scale) + _FAR), -far)
    return _in_units(gap, least, -0.5), _in_units(gap, max(most, 0), 0.5)


def _edge(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least x above low at which a property that stays true becomes true; high if it is true there only."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _in_units(gap: Gap, excess: float, rounding: float) -> float:
    """Return a place in steps in units of the values; real values lie up to half a step from theirs."""
    moved = 0.0 if gap.step == 1 else rounding
    return (gap.level + excess + moved) * float(gap.step)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement in steps above the threshold, and the law of its noise."""

    excess: float
    noise_step: float  # of the grid of the noise, in steps of the gap
    scale: float  # of the noise, in its own steps
    slack: float  # by which rounding to two grids may move the difference of measurement and value
    normal: bool

    @classmethod
    def of(cls, gap: Gap, measured: float, mechanism: Laplace | Gaussian) -> Measurement:
        """Return what was measured, or refuse it."""
        if not isinstance(mechanism, Laplace | Gaussian):
            raise InvalidParameter("a gap is combined with a value released by dp.Laplace or dp.Gaussian.")
        if not isinstance(measured, int | float) or isinstance(measured, bool) or not math.isfinite(measured):
            raise InvalidParameter("measured is the number that the mechanism released for the same value.")
        if gap.step == 1:
            scale, step, slack = mechanism._noise_scale, 1.0, 0.0
        else:
            grid = mechanism.grid(1)
            scale, step = mechanism._scale_in_steps(grid, 1), float(grid / gap.step)
            slack = 0.5 + step / 2
        return cls(measured / float(gap.step) - gap.level, step, float(scale), slack, isinstance(mechanism, Gaussian))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, in steps of the gap."""
        return self.scale * self.noise_step * (1.0 if self.normal else math.sqrt(2))

    def log_density(self, excess: Reals) -> Reals:
        """Return the log likelihood of values, but for a constant."""
        z = np.abs(self.excess - excess) / (self.noise_step * self.scale)
        return np.asarray(-z * z / 2 if self.normal else -z)

    def at_least(self, distance: Reals) -> Reals:
        """Return P(noise >= distance), or a little more: rounding errs on that side."""
        k = np.ceil((distance - self.slack) / self.noise_step - _TINY)
        if self.normal:
            from scipy.special import ndtr

            normal: Reals = ndtr((0.5 - k) / self.scale)
            return normal
        tail: Reals = np.exp(-np.maximum(k, 1 - k) / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.asarray(np.where(k > 0, tail, 1 - tail))


def not_rejected(law: GapLaw, margin: int, found: Measurement, excess: int) -> tuple[float, float]:
    """Return the chances, if this were the true value, of evidence as high and as low as was found, or a little more.

    The evidence is weight * G + M. The weight depends on the value that is tested: it is that of the best linear test
    there, the slope of the gap's mean over its variance, in units of the measurement's. Gaps are put together in cells,
    each at the end that makes the chance larger.
    """
    edges, chances = law.cells(excess)
    middles = edges + (edges[1] - edges[0] - 1) / 2
    mean = float((middles * chances).sum())
    variance = float(((middles - mean) ** 2 * chances).sum())
    move = max(1, int(law.query_scale) // 8)
    weight = max(0.0, (law.moments(excess + move)[0] - mean) / move) * found.deviation**2 / max(variance, _TINY)
    apart = found.excess - excess
    starts, ends = edges.astype(np.float64), np.append(edges[1:] - 1.0, np.inf)
    highest = weight * (margin - ends) if weight else np.zeros(ends.size)
    lowest = weight * (margin - starts)
    high = float((chances * found.at_least(apart + highest)).sum())
    low = float((chances * found.at_least(-apart - lowest)).sum())
    return high, low


def combined(gap: Gap, measured: float, mechanism: Laplace | Gaussian, share: float) -> GapEstimate:
    """Return the estimate and the interval from a gap and a measurement."""
    found = Measurement.of(gap, measured, mechanism)
    best = _likeliest(gap, found)
    half = share / 2 * (1 - _TINY)
    width = max(1, int(found.deviation))
    low = _end(lambda x: not_rejected(gap.law, gap.margin, found, x)[0] > half, best, -width)
    high = _end(lambda x: not_rejected(gap.law, gap.margin, found, x)[1] > half, best, width)
    value = Steps(gap.step).value(gap.level + best)
    return GapEstimate(value, _in_units(gap, low, -0.5), _in_units(gap, high, 0.5))


def _end(holds: Callable[[int], bool], start: int, width: int) -> int:
    """Return the last place on one side of the start that is not rejected."""
    while not holds(start):  # the start is rejected for the other reason: go back
        start -= width
    far = width
    while holds(start + far):
        far *= 2
    sign = 1 if width > 0 else -1
    return start + sign * (_edge(lambda x: not holds(start + sign * x), 0, abs(far)) - 1)


def _likeliest(gap: Gap, found: Measurement) -> int:
    """Return the value at which the joint likelihood is greatest: never above both, never far below all."""
    far = _FAR * max(float(gap.law.query_scale), found.deviation)
    low, high = math.floor(min(found.excess, 0.0) - far), math.ceil(max(found.excess, gap.margin)) + 1
    while True:
        tried = np.unique(np.linspace(low, high, _SCANNED).round().astype(np.int64))
        joint = gap.law.log_mass(np.array(gap.margin), tried) + found.log_density(tried.astype(np.float64))
        place = int(joint.argmax())
        if tried.size < _SCANNED or high - low < _SCANNED:
            return int(tried[place])
        low, high = int(tried[max(0, place - 1)]), int(tried[min(tried.size - 1, place + 1)])
