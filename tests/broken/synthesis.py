"""Wrong ways to measure effects and to learn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.randomness import Stream
from discreet.release.distinguisher import FINE
from discreet.release.effects import MeasuredEffects, coordinates
from discreet.release.marginals import Marginals
from discreet.release.measure_adaptively import MeasureAdaptively, _Known
from discreet.release.measure_once import MeasureOnce, mu_squared
from discreet.release.progress import Progress
from discreet.release.synthesized import SynthesizedModel
from discreet.release.worst_marginal import WorstMarginal


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


def reach_without_weights(choice: WorstMarginal) -> Fraction:
    """Claims that a unit moves a score by l1, whatever the weight in front of it."""
    assert choice.sensitivity.l1 is not None
    return choice.sensitivity.l1 * FINE


def choice_without_weights(choice: WorstMarginal, epsilon: Fraction) -> dp.Exponential:
    """The choice of a marginal with scores that are drawn for that reach."""
    s = dp.Sensitivity(l1=reach_without_weights(choice), neighbours=choice.sensitivity.neighbours)
    return dp.Exponential(sensitivity=s, epsilon=epsilon)


def digits_of_all(table: NDArray[np.int64], cells: tuple[int, ...]) -> NDArray[np.float64]:
    """Projects in doubles: what is thrown away is still seen in the last digits."""
    return coordinates(table.astype(float), cells)


def square_alike(weights: NDArray[np.float64], table: NDArray[np.float64], missed: float) -> float:
    """Takes large cells and small ones to be as far off."""
    along = coordinates(weights, weights.shape)
    return missed * float(along @ along)


class SharesByLook(MeasureOnce):
    """Looks how strong the effects are, and measures the strong ones better."""

    def learn(self, histogram: NDArray[np.int64], progress: Progress, stream: Stream) -> SynthesizedModel:
        effects, measured = self.measurement.effects, self.measurement
        strength = np.bincount(effects.owner, np.abs(effects.forward(histogram.astype(float))), len(effects.sets)) + 1
        looked = MeasuredEffects.sharing(
            effects, measured.sensitivity, mu_squared=mu_squared(self.loss), shares=strength / strength.sum()
        )
        return MeasureOnce(self.universe, looked, None, self.reason).fit(looked._release(histogram, stream), progress)


class RoundsByLook(MeasureAdaptively):
    """Makes the rounds of a size that suits the private number of rows."""

    def _measure(self, table: Marginals, known: _Known, stream: Stream) -> Iterator[Fraction]:
        suited = Fraction(1, 2) if int(table(())) < 1000 else Fraction(1)
        smaller = MeasureAdaptively(
            self.universe, self.cliques, self.sensitivity, self.rho * suited, self.remeasured, self.reason
        )
        yield from MeasureAdaptively._measure(smaller, table, known, stream)


class ErrorsByLook(MeasureAdaptively):
    """Tells the errors of what was not chosen from the true effects."""

    def _measure(self, table: Marginals, known: _Known, stream: Stream) -> Iterator[Fraction]:
        for spent in super()._measure(table, known, stream):
            yield spent
            true = [coordinates(table(axes), table(axes).shape) for axes in self.cliques]
            known.times_chance = max(float(np.mean(effect**2)) * 4 / known.rows for effect in true)


class NoErrorsOfTheRest(MeasureAdaptively):
    """Takes what was not chosen as known: what was not looked at is not wrong."""

    def _measure(self, table: Marginals, known: _Known, stream: Stream) -> Iterator[Fraction]:
        for spent in super()._measure(table, known, stream):
            known.times_chance = 0.0
            yield spent


class ErrorsOfTheFirst(MeasureAdaptively):
    """Takes what was not chosen to be as far off as what was chosen first, and that was the worst."""

    def _measure(self, table: Marginals, known: _Known, stream: Stream) -> Iterator[Fraction]:
        most = 0.0
        for spent in super()._measure(table, known, stream):
            known.times_chance = most = max(most, known.times_chance or 0.0)
            yield spent
