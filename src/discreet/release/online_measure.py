"""The measurements of an online mechanism: before the first question, and around a question that is answered badly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast, final

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import Gaussian
from discreet.dp.laplace import Laplace
from discreet.dp.rational import sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import BudgetExceeded
from discreet.release.effects import Effects, MeasuredEffects, coordinates, square_moved
from discreet.release.online_fit import Knowledge, Released, ReleasedAnswer, ReleasedEffect, subsets
from discreet.release.online_plan import OnlinePlan
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import moved

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

_MOST_CELLS = 1 << 14  # of a marginal that is measured around a question
_MOST_COLUMNS = 8
_LEAST = 1e-4  # of a measurement, for an effect that would get nothing and was never measured
_FINE = 8  # shares to a factor of 2, rounded down: then the same noise is drawn again and again, from kept tables
_ROWS = 0.1  # of what singles get, for the number of rows


class Exactly(Protocol):
    """The exact counts of a table, and its exact marginals."""

    cells: Array
    shape: Axes

    def __call__(self, axes: Axes) -> Array:
        """Return the marginal over some columns, in integers."""


@dataclass(frozen=True, slots=True)
class Instrument(ABC):
    """Measures at a price that was fixed when it was made; what it releases is all that is learned."""

    plan: OnlinePlan

    @classmethod
    def of(cls, plan: OnlinePlan) -> Instrument:
        """Return the instrument for the currency of a plan."""
        return LaplaceInstrument(plan) if plan.purse.budget.is_pure else GaussianInstrument(plan)

    @abstractmethod
    def prior(self, truth: Exactly, stream: Stream) -> list[list[Released]]:
        """Return what is released before the first question, in the order in which it is learned."""

    @abstractmethod
    def _around(self, axes: Axes, truth: Exactly, knowledge: Knowledge, stream: Stream) -> list[Released]:
        """Return the noisy effects of the marginal over some columns."""

    @abstractmethod
    def _deviation_around(self, query: LinearQuery, knowledge: Knowledge) -> float:
        """Return the standard deviation of a query once the marginal over its columns has been measured."""

    @abstractmethod
    def _noise_for(self, sensitivity: Sensitivity) -> Gaussian | Laplace:
        """Return the noise of one number of this sensitivity."""

    def measure(self, query: LinearQuery, truth: Exactly, knowledge: Knowledge, stream: Stream) -> list[Released]:
        """Return what is released around a query: its whole marginal, or the query where that would drown it."""
        if self.measures_marginal(query, knowledge):
            return self._around(query.axes, truth, knowledge, stream)
        return [self._itself(query, truth, stream)]

    def measures_marginal(self, query: LinearQuery, knowledge: Knowledge) -> bool:
        """Whether the marginal is measured: if what it says of the query is finer than what the test would see.

        A query over very many cells, such as a long range, sums the noise of all of them; measured by itself it has
        the noise of one, and ranges that were measured add up to others.
        """
        if not query.axes or len(query.axes) > _MOST_COLUMNS or math.prod(query.cells) > _MOST_CELLS:
            return False
        return self._deviation_around(query, knowledge) <= self.plan.threshold

    def _itself(self, query: LinearQuery, truth: Exactly, stream: Stream) -> ReleasedAnswer:
        far = Sensitivity(l1=moved(self.plan.sensitivity) * query.scale, neighbours=self.plan.sensitivity.neighbours)
        noise = self._noise_for(far)
        value = cast(int, noise._release(query.count(truth(query.axes)), stream))
        return ReleasedAnswer(query, value / query.scale, deviation(noise) ** 2 / query.scale**2)


@final
@dataclass(frozen=True, slots=True)
class GaussianInstrument(Instrument):
    """Measures effects with normal noise, the best known of them with the least of the price.

    Guarantee: the prior is Gaussian with mu^2 = `noise_of_singles` + `noise_of_pairs`, every later measurement with
      mu^2 = `noise`, at most. The division among effects follows from what was released before.
    Source: as `MeasuredEffects`; the division is by water-filling, for the variance of all cells of a marginal.
    """

    def prior(self, truth: Exactly, stream: Stream) -> list[list[Released]]:
        """Measure the number of rows, single columns and pairs at once."""
        plan, shape = self.plan, truth.shape
        effects = Effects(shape, [*((axis,) for axis in range(len(shape))), *plan.pairs])
        singles, pairs = float(plan.noise_of_singles), float(plan.noise_of_pairs)
        lengths = np.array([len(part) for part in effects.sets])
        weights = np.sqrt(effects.leverage() * effects.sizes)
        some = np.where(effects.sizes > 0, 1.0, 0.0)
        shares = np.where(lengths == 0, _ROWS * singles, 0.0)
        shares += _shared((1 - _ROWS) * singles, np.where(lengths == 1, some, 0.0))
        shares += _shared(pairs, np.where(lengths == 2, weights, 0.0))
        total = plan.noise_of_singles + plan.noise_of_pairs
        found = _released(effects, plan.sensitivity, total, shares / shares.sum(), truth.cells, stream)
        return [[one for one in found if len(one.part) < 2], [one for one in found if len(one.part) == 2]]

    def _around(self, axes: Axes, truth: Exactly, knowledge: Knowledge, stream: Stream) -> list[Released]:
        table = truth(axes)
        effects = Effects(table.shape, [tuple(range(len(axes)))])
        shares = self._shares(axes, effects, knowledge)
        found = _released(effects, self.plan.sensitivity, self.plan.noise, shares, table.reshape(-1), stream)
        return [ReleasedEffect(tuple(axes[i] for i in one.part), one.values, one.variance) for one in found]

    def _shares(self, axes: Axes, effects: Effects, knowledge: Knowledge) -> Reals:
        """Return the share of mu^2 of every effect of a marginal, so that the variance of all its cells is least.

        The sum of w / (p + x mu^2 / l) over effects, with w their weight in the cells, p their precision so far and l
        the square of how far they move, is least where p + x mu^2 / l = level sqrt(w / l), or x = 0. An effect that was
        never measured gets a little in any case, so that the marginal is covered.
        """
        parts = [tuple(axes[i] for i in part) for part in effects.sets]
        known = np.array([knowledge.precisions.get(part, 0.0) for part in parts])
        leverage, weight = self._moved(effects), effects.spread()
        wanted = np.sqrt(np.divide(weight, leverage, out=np.zeros(len(parts)), where=leverage > 0))
        budget = float(self.plan.noise)
        low, high = 0.0, float(np.sum(known * leverage) + budget) / max(float(np.max(wanted * leverage)), 1e-300)
        for _ in range(100):
            level = (low + high) / 2
            spent = float(np.maximum(0.0, (level * wanted - known) * leverage).sum())
            low, high = (level, high) if spent < budget else (low, level)
        shares = np.maximum(0.0, (low * wanted - known) * leverage) / budget
        shares = np.where((known == 0) & (effects.sizes > 0), np.maximum(shares, _LEAST), shares)
        shares /= max(1.0, float(shares.sum()))
        some = shares > 0
        return np.where(some, 2.0 ** (np.floor(_FINE * np.log2(np.where(some, shares, 1.0))) / _FINE), 0.0)

    def _moved(self, effects: Effects) -> Reals:
        """Return the square of how far each effect moves."""
        return np.array([float(square_moved(effects, part, self.plan.sensitivity)) for part in effects.sets])

    def _deviation_around(self, query: LinearQuery, knowledge: Knowledge) -> float:
        effects = Effects(query.cells, [tuple(range(len(query.axes)))])
        shares, after = self._shares(query.axes, effects, knowledge), {}
        for part, share, moving in zip(effects.sets, shares.tolist(), self._moved(effects).tolist(), strict=True):
            named = tuple(query.axes[i] for i in part)
            gained = share * float(self.plan.noise) / moving if moving else 1.0
            after[named] = knowledge.precisions.get(named, 0.0) + gained
        return math.sqrt(knowledge.variance(query, after))

    def _noise_for(self, sensitivity: Sensitivity) -> Gaussian:
        return Gaussian(sensitivity=sensitivity, sigma=sqrt_up(sensitivity.l2**2 / self.plan.noise))


@final
@dataclass(frozen=True, slots=True)
class LaplaceInstrument(Instrument):
    """Measures whole marginals with Laplace noise, for budgets in epsilon alone.

    Guarantee: the prior is `noise_of_singles`-DP, every later measurement `noise`-DP.
    Source: Dwork, McSherry, Nissim, Smith, 2006.
    """

    def prior(self, truth: Exactly, stream: Stream) -> list[list[Released]]:
        """Measure the marginals of single columns; together they move once for each column."""
        count = len(truth.shape)
        one_way = [truth((axis,)) for axis in range(count)]
        noise = self._laplace(count, self.plan.noise_of_singles)
        noisy = cast("NDArray[np.int64]", noise._release(np.concatenate(one_way), stream))
        parts = np.split(noisy, np.cumsum(truth.shape)[:-1])
        return [[one for axis in range(count) for one in _effects_of(parts[axis], (axis,), deviation(noise) ** 2)]]

    def _around(self, axes: Axes, truth: Exactly, knowledge: Knowledge, stream: Stream) -> list[Released]:
        noise = self._laplace(1, self.plan.noise)
        noisy = cast("NDArray[np.int64]", noise._release(truth(axes), stream))
        return list(_effects_of(noisy, axes, deviation(noise) ** 2))

    def _laplace(self, marginals: int, epsilon: Fraction) -> Laplace:
        s = self.plan.sensitivity
        assert s.l1 is not None  # a histogram without one is refused
        return Laplace(sensitivity=Sensitivity(l1=s.l1 * marginals, neighbours=s.neighbours), epsilon=epsilon)

    def _deviation_around(self, query: LinearQuery, knowledge: Knowledge) -> float:
        squares = float(np.sum((query.weights() / query.scale).astype(np.float64) ** 2))
        return deviation(self._laplace(1, self.plan.noise)) * math.sqrt(squares)

    def _noise_for(self, sensitivity: Sensitivity) -> Laplace:
        return Laplace(sensitivity=sensitivity, epsilon=self.plan.noise)


def deviation(noise: Gaussian | Laplace) -> float:
    """Return the standard deviation of noise on whole numbers, or a little more: rounding adds 1 / 12 to a variance."""
    if isinstance(noise, Gaussian):
        return math.sqrt(float(noise.sigma) ** 2 + 1 / 12)
    return math.sqrt(2) * float(noise.scale)


def deviation_of_one(plan: OnlinePlan) -> float:
    """Return the standard deviation of one query that is measured by itself."""
    far = Sensitivity(l1=moved(plan.sensitivity), neighbours=plan.sensitivity.neighbours)
    return deviation(Instrument.of(plan)._noise_for(far))


def _shared(amount: float, weights: Reals) -> Reals:
    total = float(weights.sum())
    return np.asarray(amount * weights / total) if total else np.zeros(len(weights))


def _released(
    effects: Effects, sensitivity: Sensitivity, mu_squared: Fraction, shares: Reals, cells: Reals, stream: Stream
) -> list[ReleasedEffect]:
    measurement = MeasuredEffects.sharing(effects, sensitivity, mu_squared=mu_squared, shares=shares)
    if measurement.loss.rho_bound() > mu_squared / 2:  # what was paid; sigmas are rounded up, so never
        raise BudgetExceeded("the noise of this measurement is below what was paid for.")
    noisy = measurement._release(cells, stream)
    parts = np.split(noisy, np.cumsum(effects.sizes)[:-1])
    return [
        ReleasedEffect(part, values, float(sigma) ** 2)
        for part, values, sigma in zip(effects.sets, parts, measurement.sigmas, strict=True)
        if sigma and values.size
    ]


def _effects_of(table: NDArray[np.int64], axes: Axes, variance: float) -> list[ReleasedEffect]:
    """Return the effects of a marginal whose cells have independent noise of one variance."""
    found = []
    for part in subsets(axes):
        gone = tuple(place for place, axis in enumerate(axes) if axis not in part)
        summed = table.sum(axis=gone)
        rest = table.size // max(1, summed.size)
        found.append(ReleasedEffect(part, coordinates(summed, summed.shape), variance * rest))
    return found
