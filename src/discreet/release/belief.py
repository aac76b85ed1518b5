"""How far noisy effects are believed, found from themselves: by thinning, without asking the data again.

A table of greatest entropy is fitted in steps. Each starts from the one before and moves its multipliers against a
slack that shrinks from step to step (iterated Tikhonov regularisation): what the measurements say clearly is reached
first, and without bias; what is nearly noise comes last. The question is when to stop.

Measured effects y with normal noise of variance v split into two independent measurements of the same table, y + a z
and y - z / a with z of variance v: variances (1 + a^2) v and (1 + 1/a^2) v. The steps are walked on the first, and the
second says which of them predicts best. That is done two or three times, with new z: one time in ten or so a single one
stops at another step. Then y is walked as far as the middle one. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.release.effects import Effects
from discreet.release.max_entropy import Fit, fit

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

_FINE = 1 << 20  # steps of a standard normal number
THINNED = 0.5  # a: a quarter more variance to fit on, five times the variance to compare with
_FIRST, _STEP = 10.0, 0.5  # the slack of the first step in units of the variance, and its factor from step to step
_STEPS = 24
_ROUNDS = 100  # of the quasi-Newton method, in one step
_CLOSE = 0.3  # of the noise: a step ends when no coordinate is further from where it should end
_PATIENCE = 3  # steps in a row that predict worse
_SPLITS = 3  # a single one stops too early now and then: the middle one counts, and two that agree are enough
_WALKED = (_SPLITS + 1) * _STEPS  # at most
_COMMON = 20.0  # coordinates' worth of what a whole order says of its errors
_LEAST = 0.01  # of the variance of the noise: no error is claimed to be less


def normal(shape: tuple[int, ...]) -> Reals:
    """Return standard normal numbers, on a grid of 2^-20."""
    drawn = gaussian_sampler(Fraction(_FINE), "rounded").draw(randomness.system(), math.prod(shape))
    return np.asarray(drawn, np.float64).reshape(shape) / _FINE


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """A fitted table, and for each set of columns the mean square error of a coordinate of its effect."""

    fit: Fit
    missed: dict[Axes, float]
    interrupted: bool


@dataclass(frozen=True, slots=True, eq=False)
class Believer:
    """Fits tables to measured effects, walking from disbelief to belief."""

    effects: Effects
    variances: Reals
    pace: Reals  # how fast each coordinate is believed: its slack is divided by it
    rows: float
    progress: Callable[[int, int], None]

    def walk(self, measured: Reals) -> Iterator[Fit]:
        """Yield the table of each step."""
        curvature = self.rows * self.effects.uniform_variance()
        multipliers = np.zeros(len(measured))
        for step in range(_STEPS):
            slack = _FIRST * _STEP**step * self.variances / self.pace
            found = fit(
                self.effects, measured, slack, rows=self.rows, curvature=curvature, centre=multipliers, rounds=_ROUNDS,
                tolerance=_CLOSE,
            )  # fmt: skip
            multipliers = found.multipliers
            yield found

    def predicting(self, one: Reals, other: Reals, *, walked: int = 0) -> tuple[int, Fit]:
        """Return how many steps on one measurement predict another one best, and their table."""
        weights = (self.effects.spread() / np.maximum(self.effects.sizes, 1))[self.effects.owner]
        best, steps, table = math.inf, 0, None
        for step, found in enumerate(self.walk(one), start=1):
            missed = float(weights @ (found.statistics - other) ** 2)
            self.progress(walked + step, _WALKED)
            if missed < best:
                best, steps, table = missed, step, found
            elif step - steps >= _PATIENCE:
                break
        assert table is not None  # the first step is better than none
        return steps, table

    def believe(self, measured: Reals, normal: Callable[[], Reals]) -> Believed:
        """Return the table, given what draws a normal number for each measured one; interrupted, the latest table."""
        nothing, cells = np.zeros(len(measured)), math.prod(self.effects.shape)
        latest = Fit(nothing, nothing, math.inf, lambda: np.full(cells, self.rows / cells))
        tried: list[Split] = []
        try:
            while (chosen := agreed(tried)) is None:
                spread = np.sqrt(self.variances) * normal()
                one, other = measured + THINNED * spread, measured - spread / THINNED
                steps, latest = self.predicting(one, other, walked=len(tried) * _STEPS)
                tried.append(Split(steps, spread, latest.statistics))
            for step, found in enumerate(islice(self.walk(measured), chosen.steps), start=1):
                latest = found
                self.progress(_WALKED - chosen.steps + step, _WALKED)
        except KeyboardInterrupt:  # what was paid for is kept
            return Believed(latest, {}, True)
        return Believed(latest, self._missed(measured, latest.statistics, chosen.moved, chosen.spread), False)

    def _missed(self, measured: Reals, fitted: Reals, moved: Reals, spread: Reals) -> dict[Axes, float]:
        """Return for each set the mean square error of a coordinate of its effect: Stein's unbiased estimate.

        A fit misses the truth by what it misses the measurement by, less the noise, plus twice what of the noise it
        follows; the last is seen from how it moved with a part of new noise. What few coordinates say of the ratio of
        error to noise is put together with what all of their order say, which counts as `_COMMON` coordinates, and one
        standard error of the latter is added. The number of rows is believed as it was measured.
        """
        effects, followed = self.effects, (moved - fitted) * spread / THINNED
        order = np.array([len(part) for part in effects.sets])
        squares = np.bincount(effects.owner, (fitted - measured) ** 2 - self.variances + 2 * followed, len(order))
        noise = np.bincount(effects.owner, self.variances, len(order))
        fourth = np.bincount(effects.owner, 2 * self.variances**2, len(order))
        total = np.asarray(np.bincount(order, squares) + np.sqrt(np.bincount(order, fourth)), np.float64)
        common, own = (
            _ratio(total, np.bincount(order, noise).astype(np.float64))[order],
            _ratio(squares.astype(np.float64), noise.astype(np.float64)),
        )
        ratios = (effects.sizes * own + _COMMON * common) / (effects.sizes + _COMMON)
        ratios[0] = 1
        each = np.maximum(ratios, _LEAST) * noise / np.maximum(effects.sizes, 1)
        return dict(zip(effects.sets, each.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One way to split the noise: the steps that predict best, the noise that was moved, and the statistics then."""

    steps: int
    spread: Reals
    moved: Reals


def agreed(tried: list[Split]) -> Split | None:
    """Return the split in the middle of `_SPLITS`, or None while it is open: two of three that agree are it."""
    numbers = [split.steps for split in tried]
    found = next((split for split in tried if numbers.count(split.steps) > _SPLITS // 2), None)
    if found is None and len(tried) == _SPLITS:
        return sorted(tried, key=lambda split: split.steps)[_SPLITS // 2]
    return found


def _ratio(one: Reals, other: Reals) -> Reals:
    """Return the ratio, 0 where there is nothing: what has no coordinates has no error."""
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)
