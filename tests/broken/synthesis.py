"""Wrong ways to measure effects and to learn from them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.randomness import Stream
from discreet.release.effects import Effects, MeasuredEffects, coordinates
from discreet.release.marginals import Marginals


def loss_without_units(measured: MeasuredEffects) -> Fraction:
    """Claims mu^2 as if a unit had one row, whatever the histogram says."""
    leverages = (math.prod(1 - Fraction(1, n) for n in measured.effects.cells(part)) for part in measured.effects.sets)
    return sum((one / s**2 for one, s in zip(leverages, measured.sigmas, strict=True)), start=Fraction(0))


def loss_of_replaced_as_added(measured: MeasuredEffects) -> Fraction:
    """Claims mu^2 for a row that comes or goes where rows are replaced."""
    return loss_without_units(measured)


class NoiseOnWholeCounts(MeasuredEffects):
    """Adds whole noise to whole counts and keeps the effect: what is thrown away is on another lattice."""

    def _release(self, values: object, stream: Stream) -> NDArray[np.float64]:
        assert isinstance(values, np.ndarray)
        marginals = Marginals(values, self.effects.shape)
        found = []
        for part, sigma in zip(self.effects.sets, self.sigmas, strict=True):
            table = marginals(part).reshape(-1)
            noisy = table + gaussian_sampler(sigma, "rounded").draw(stream, table.size)
            found.append(coordinates(noisy.astype(float), self.effects.cells(part)))
        return np.concatenate(found)


def same_noise_twice(
    measured: NDArray[np.float64], spread: NDArray[np.float64], part: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thinning with both signs alike: the second measurement knows the noise of the first."""
    return measured + part * spread, measured + spread / part


def effects_of_cells(shape: tuple[int, ...], clique: tuple[int, ...]) -> float:
    """The squared length of a row's marginal, taken for that of its effect."""
    return 1.0


def risk_without_what_is_followed(
    fitted: NDArray[np.float64], measured: NDArray[np.float64], variances: NDArray[np.float64]
) -> float:
    """What a fit misses, less the noise: a fit that follows the noise looks perfect."""
    return float(np.sum((fitted - measured) ** 2 - variances))


ONE = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
__all__ = ["Effects"]
