"""Wrong logistic threshold tests that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from discreet import dp
from discreet.dp.randomness import Stream
from discreet.dp.reals import ball
from tests.closed_forms import laplace_tail, mp, mpf
from tests.noise_laws import real
from tests.threshold_truth import HitChance, chance

_SOURCE = np.random.default_rng(7)

# Coins and margins.


def coins_of_sixteen_bits(stream: Stream, steps: np.ndarray, slope: Fraction) -> np.ndarray:
    """Stops after 16 bits."""
    chances = 1 / (1 + np.exp(np.abs(steps) * float(slope)))
    against = stream.words(steps.size, 16) < np.rint(chances * 2**16)
    return against != (steps >= 0)


def coins_of_floats_in_single_precision(stream: Stream, steps: np.ndarray, slope: Fraction) -> np.ndarray:
    """Compares all 64 bits with a chance that is right to 24."""
    chances = 1 / (1 + np.exp(np.abs(steps).astype(np.float32) * np.float32(float(slope))))
    words = stream.words(steps.size, 16).astype(np.uint64) << np.uint64(48)
    words |= stream.words(steps.size, 64) >> np.uint64(16)
    return (words * 2.0**-64 < chances.astype(np.float64)) != (steps >= 0)


def laplace_coins(n: int, k: int, slope: float) -> np.ndarray:
    """Adds Laplace noise of the same scale."""
    return (k + _SOURCE.laplace(scale=1 / slope, size=n) >= 0).astype(np.int64)


def margins_of_all(n: int, d: int, slope: float) -> np.ndarray:
    """Noise of a hit that forgets that there was one: what is below the threshold is shown as the threshold."""
    return np.maximum(np.floor(d + _SOURCE.logistic(scale=1 / slope, size=n)).astype(np.int64), 0)


def margins_without_coins(n: int, d: int, slope: float) -> np.ndarray:
    """Takes the geometric variable as it is proposed, and for values above the threshold on both sides."""
    drawn = _SOURCE.geometric(-math.expm1(-slope), size=8 * n) - 1
    if d <= 0:
        return drawn[:n]
    moved = d + np.where(_SOURCE.random(drawn.size) < 0.5, drawn, -1 - drawn)
    return moved[moved >= 0][:n]


def two_values_of_one_noise(one: int, two: int, slope: Fraction) -> dict[tuple[int, int], float]:
    """Uses the noise of a value again for the next question: -1 is a miss."""
    rate, found = float(slope), dict[tuple[int, int], float]()
    for noise in range(-200, 200):
        weight = 1 / (1 + math.exp(-rate * (noise + 1))) - 1 / (1 + math.exp(-rate * noise))
        both = max(one + noise, -1), max(two + noise, -1)
        found[both] = found.get(both, 0.0) + weight
    return found


# Prices.


def gaussian_charge(order: Fraction, slope: Fraction) -> arb:
    """Charges a hit as Gaussian noise of scale 1 / slope: a (a - 1) e^2 / 2 for eta."""
    return ball(order * (order - 1) * slope * slope / 2)


def limit_ignored(order: mpf, slope: Fraction) -> mpf:
    """Goes on beyond the order limit with what the formula gives there, without its sign."""
    inside = 1 - order * (1 - mp.exp(-real(slope)))
    return (-order * real(slope) - mp.log(abs(inside))) / (order - 1)


# Noise with the price of logistic noise.


def laplace_hit(slope: Fraction) -> HitChance:
    return lambda excess: 1 - laplace_tail(1 / real(slope), mpf(excess))


def gaussian_hit(slope: Fraction) -> HitChance:
    """Of the deviation that would cost as much for a value: 1 / slope."""
    return lambda excess: mp.ncdf(real(slope) * excess)


def slope_not_divided(test: dp.ThresholdTest) -> HitChance:
    """Takes the slope for one unit of the value, whatever its sensitivity."""
    return lambda excess: chance(excess, test.slope)


def unlimited_hits(epsilon: Fraction) -> HitChance:
    """V6 of Lyu, Su and Li (Chen et al. 2015): noise of scale 2 D / epsilon on each value, and no cut-off."""
    return lambda excess: 1 - laplace_tail(2 / real(epsilon), mpf(excess))


# What is given back.


class RefundsHits(dp.ThresholdTest):
    """Gives the price back whatever the answer was."""

    def _counted(self, excess: int, margin: int, stream: Stream) -> bool:
        self._missed()
        self._account, account = None, self._account
        try:
            return super()._counted(excess, margin, stream)
        finally:
            self._account = account


class PaysAfterwards(dp.ThresholdTest):
    """Takes the price of a hit once the answer is known, if there is anything left."""

    def _before(self) -> None:
        pass

    def _missed(self) -> None:
        pass

    def _counted(self, excess: int, margin: int, stream: Stream) -> bool:
        assert self._account is not None
        self._account.admit(self.hit_loss)
        self._account, account = None, self._account
        try:
            return super()._counted(excess, margin, stream)
        finally:
            self._account = account


# Thresholds.


class KnownThreshold(dp.LogisticSparseVector):
    """Draws no noise for the threshold."""

    def _begin(self, permit: dp.Permit | None) -> None:
        super()._begin(permit)
        self._rho = 0


class RedrawnThreshold(dp.LogisticSparseVector):
    """Draws the noise of the threshold for every question again."""

    def _before(self) -> None:
        self._begin(None)


# Choices.


def chosen_by_name(found: dp.SparseChoice) -> str:
    """Takes what the notes call the standard, whatever it is for."""
    return "SparseVector"


def chosen_for_many(found: dp.SparseChoice) -> str:
    """Takes what is best for many hits, whatever it is for."""
    return "ThresholdTest"
