"""Wrong ways to name private keys that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.randomness import system
from discreet.dp.samplers import discrete_laplace
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_below, real
from tests.partitions import NOT_LISTED, NOT_TOLD, Counts, KeyLaw, LawOf, laplace_told, named

FAR = 12


def least(scale: Fraction, chance: mpf) -> int:
    """The least threshold that a single unit reaches with at most this probability."""
    threshold = 0
    while 1 - laplace_below(scale, threshold - 1) > chance:
        threshold += 1
    return threshold


def with_threshold(scale: Fraction, threshold: int) -> LawOf:
    return lambda counts: [laplace_told(count, scale, threshold, FAR) for count in counts]


def for_one_group(scale: Fraction, delta: Fraction) -> LawOf:
    """The noise is that of m groups, the threshold that of one: a unit has m chances to reach it."""
    return with_threshold(scale, least(scale, real(delta)))


def strictly_above(scale: Fraction, delta: Fraction) -> LawOf:
    """The tail is computed strictly above the threshold, and a count at the threshold is told (OpenDP #2922)."""
    return with_threshold(scale, least(scale, real(delta)) - 1)


def of_the_table(scale: Fraction, delta: Fraction) -> LawOf:
    """The threshold is lower where groups are small, so that something is told: it depends on the table."""

    def law_of(counts: Counts) -> list[KeyLaw]:
        listed = [count for count in counts if count != NOT_LISTED]
        usual = round(statistics.mean(listed)) if listed else 0
        return [laplace_told(count, scale, least(scale, real(delta)) + 4 * usual - 4, FAR) for count in counts]

    return law_of


def empty_too(scale: Fraction, threshold: int) -> LawOf:
    """A key whose units were all cut off by the bound is listed with 0, and may be told: nobody else has it."""

    def law_of(counts: Counts) -> list[KeyLaw]:
        return [
            {NOT_TOLD: mpf(1)} if count == NOT_LISTED else {**laplace_told(count + 1, scale, threshold + 1, FAR)}
            for count in counts
        ]

    return law_of


def cut_off(threshold: int) -> LawOf:
    """A key with at least so many units is named, surely: k-anonymity."""
    return lambda counts: [named(mpf(count >= threshold)) for count in counts]


def without_the_delta(mechanism: dp.NoisyKeys) -> dp.Loss:
    """The noise has the right scale, and that some keys are there on one table only is forgotten."""
    return mechanism.mechanism.loss


def as_if_added(mechanism: dp.NoisyKeys) -> dp.Loss:
    """The loss of units that come or go, claimed for units that are replaced."""
    assert isinstance(mechanism.mechanism, dp.Laplace)
    each = dp.Loss.pure(epsilon=1 / mechanism.mechanism.scale)
    return dp.Loss.approximate(epsilon=0, delta=mechanism.delta) + mechanism.groups * each


def delta_for_every_key(each: Fraction, delta: Fraction) -> LawOf:
    """The optimal probabilities with all of delta for each of the keys of one unit."""

    def chance(count: int) -> mpf:
        found, grow = mpf(0), mp.exp(real(each))
        for _ in range(max(count, 0)):
            found = min(grow * found + real(delta), 1 - (1 - found - real(delta)) / grow, mpf(1))
        return found

    return lambda counts: [named(chance(count)) for count in counts]


class StrictlyAbove:
    """`strictly_above`, as a mechanism that is run."""

    def __init__(self, scale: Fraction, delta: Fraction) -> None:
        self.scale, self.threshold = scale, least(scale, real(delta)) - 1

    def release(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        noisy = counts + discrete_laplace(self.scale).draw(system(), counts.size)
        return keys[noisy >= self.threshold]


class Everything:
    """All keys with at least one unit, with noise on the numbers only."""

    def release(self, keys: Sequence[int], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(keys)[counts > 0]
