"""What an online mechanism knows: every released measurement, as effects, and the table of greatest entropy that fits.

A measurement of a marginal is one of the effects over all subsets of its columns, with noise that is independent from
effect to effect. So whatever is measured twice is averaged by inverse variance, and nothing is kept twice. All of this
is post-processing: it sees released numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.universe import Universe
from discreet.release.effects import Effects, coordinates, expanded, sums_of_squares
from discreet.release.marginals import Marginals, lift
from discreet.release.max_entropy import fit
from discreet.release.model import DenseModel
from discreet.release.online_state import Json, described, packed, read, unpacked
from discreet.release.query import LinearQuery, Product
from discreet.release.threads import one_thread

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

_ROUNDS = 10  # of the quasi-Newton method for one refit: it starts from the last one
_STEPS = 10.0  # `fit` scales its steps by a tenth of a curvature; here it is that of the model, and all of it counts
_CLOSE = 0.1  # of the noise: where it may stop sooner
_FLAT = 1e-3  # of the curvature of the uniform table: the least that is believed of a model that is nearly 0 there
_POOLED = 2.0  # coordinates of its order that an effect borrows from, to tell signal from noise
_DOUBT = 0.5  # standard errors of a signal that is never thought smaller


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedEffect:
    """The noisy effect over some columns, and the variance of each coordinate."""

    part: Axes
    values: Reals
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedAnswer:
    """The noisy answer of one query that was measured by itself."""

    query: LinearQuery
    value: float
    variance: float


Released: TypeAlias = ReleasedEffect | ReleasedAnswer


def subsets(axes: Axes) -> list[Axes]:
    """Return all subsets of some columns, the smallest first."""
    return [part for k in range(len(axes) + 1) for part in combinations(axes, k)]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The statistics that were measured: effects, and answers of single queries."""

    effects: Effects
    queries: tuple[LinearQuery, ...]

    def forward(self, cells: Reals) -> Reals:
        """Return the statistics of dense cells."""
        found = self.effects.forward(cells)
        if not self.queries:
            return found
        tables = Marginals(cells, self.effects.shape)
        return np.concatenate([found, [query.answer(tables(query.axes)) for query in self.queries]])

    def adjoint(self, vector: Reals) -> Reals:
        """Return the dense cells of a vector of multipliers."""
        count = len(self.effects.owner)
        cells = self.effects.adjoint(vector[:count])
        if not self.queries:
            return cells
        tables: dict[Axes, Reals] = {}
        for query, multiplier in zip(self.queries, vector[count:].tolist(), strict=True):
            weights = query.weights() * (multiplier / query.scale)
            tables[query.axes] = tables[query.axes] + weights if query.axes in tables else weights
        cells += lift(tables, self.effects.shape).reshape(-1).astype(cells.dtype)
        return cells


class Knowledge:
    """Measurements with their precision, the model that fits them, and what they say of a query directly.

    How far a measurement is believed follows from the measurements: what an effect says beyond the model that did not
    know it, less the noise in it, is how large such effects are; against noise as large it is believed half.
    """

    def __init__(self, universe: Universe) -> None:
        self.universe, self.shape = universe, universe.shape
        self.values: dict[Axes, Reals] = {}
        self.precisions: dict[Axes, float] = {}
        self.signals: dict[Axes, tuple[float, float]] = {}  # squares beyond noise, per coordinate; the variance
        self.multipliers: dict[Axes, Reals] = {}
        self.answers: list[ReleasedAnswer] = []
        self.exact: dict[bytes, ReleasedAnswer] = {}  # the last release of a query that was measured by itself
        self.strengths: list[float] = []  # the signal of each answer, and its multiplier
        self.of_answers: list[float] = []
        self._effects: Effects | None = None
        self._tables: dict[Axes, Reals] = {}
        self._coefficients: dict[Axes, Reals] = {}
        self.model = DenseModel(universe, np.zeros(universe.size))
        self.version = 0

    @property
    def rows(self) -> float:
        """The number of rows, as far as it is known; at least 1."""
        return max(1.0, float(self.values[()][0])) if () in self.values else 1.0

    @one_thread()
    def learn(self, released: Iterable[Released], *, rounds: int = _ROUNDS) -> None:
        """Keep what was released, and refit the model."""
        for one in released:
            match one:
                case ReleasedEffect():
                    self._keep(one)
                case ReleasedAnswer():
                    missed = (one.value - self.model.answer(one.query)) ** 2 - one.variance
                    self.strengths.append(max(missed, _DOUBT * math.sqrt(2) * one.variance))
                    self.of_answers.append(0.0)
                    self.exact[one.query.key] = one
                    self.answers.append(one)  # last: what is broken off here is as if it had not been released
        self.refit(rounds)

    def _keep(self, one: ReleasedEffect) -> None:
        part, precision = one.part, 1 / one.variance
        if part in self.values:
            total = self.precisions[part] + precision
            self.values[part] = (self.values[part] * self.precisions[part] + one.values * precision) / total
            self.precisions[part] = total
            return
        self._effects = None
        known = 0.0 if len(part) < 2 else coordinates(self.model.marginal(part), self._cells(part))
        beyond = float(np.mean((one.values - known) ** 2)) if one.values.size else 0.0
        self.signals[part] = (beyond - one.variance, one.variance)
        self.precisions[part], self.multipliers[part] = precision, np.zeros(one.values.size)
        self.values[part] = one.values  # last, as above

    def _cells(self, part: Axes) -> Axes:
        return tuple(self.shape[axis] for axis in part)

    def refit(self, rounds: int = _ROUNDS) -> None:
        """Fit the table of greatest entropy again, from where it was."""
        if self._effects is None:
            self._effects = Effects(self.shape, self.values, np.float32)
        effects, rows = self._effects, self.rows
        statistics = Measured(effects, tuple(one.query for one in self.answers))
        curvature = _STEPS * self._curvature(effects)
        variances = np.array([1 / self.precisions[part] for part in effects.sets])
        slack = (variances * self._disbelief(effects, rows))[effects.owner]
        measured = np.concatenate([self.values[part] for part in effects.sets])
        start = np.concatenate([self.multipliers[part] for part in effects.sets])
        if self.answers:
            squares = rows * np.array([_mean_square(one.query) for one in self.answers])
            own = np.array([one.variance for one in self.answers])
            curvature = np.concatenate([curvature, _STEPS * squares])
            slack = np.concatenate([slack, own * squares / np.array(self.strengths)])
            measured = np.concatenate([measured, [one.value for one in self.answers]])
            start = np.concatenate([start, self.of_answers])
        found = fit(
            statistics, measured, slack, rows=rows, curvature=curvature, centre=np.zeros(len(measured)), start=start,
            rounds=rounds, tolerance=_CLOSE,
        )  # fmt: skip
        places = np.cumsum(effects.sizes)
        parts = np.split(found.multipliers, places)
        self.multipliers = dict(zip(effects.sets, parts[:-1], strict=True))
        self.of_answers = parts[-1].tolist()
        self._show(found.cells)

    def _show(self, cells: Reals) -> None:
        self.model = DenseModel(self.universe, cells.astype(np.float64))
        self._tables, self._coefficients = {}, {}
        self.version += 1

    def _curvature(self, effects: Effects) -> Reals:
        """Return about the second derivative of n ln Z in each multiplier: mean squares over the rows of the model."""
        if not self.version:
            return self.rows * effects.uniform_variance()
        found = [sums_of_squares(self.model.marginal(part), self._cells(part)) for part in effects.sets]
        return np.maximum(np.concatenate(found), _FLAT * self.rows * effects.uniform_variance())

    def _disbelief(self, effects: Effects, rows: float) -> Reals:
        """Return for each effect how much larger its slack is than the variance of its noise.

        With curvature C, slack s moves a model C / (C + s) of the way to a measurement. The best way to combine an
        effect of mean square S with noise of variance v is S / (S + v) of it, so s = v C / S.
        """
        sizes = np.maximum(effects.sizes, 1)
        orders = np.array([len(part) for part in effects.sets])
        found = np.array([self.signals[part] for part in effects.sets])
        total = np.bincount(orders, found[:, 0] * sizes) / np.maximum(np.bincount(orders, sizes), 1)
        pooled = (found[:, 0] * sizes + _POOLED * total[orders]) / (sizes + _POOLED)
        least = _DOUBT * found[:, 1] * np.sqrt(2 / sizes)
        curvature = rows / np.array([math.prod(self._cells(part)) for part in effects.sets])
        return np.asarray(curvature / np.maximum(pooled, least))

    def content(self) -> Json:
        """Return everything that was learned as JSON can hold it; nothing before the first release."""
        if not self.values:
            return {}
        effects = [
            [list(part), packed(values), self.precisions[part], *self.signals[part], packed(self.multipliers[part])]
            for part, values in self.values.items()
        ]
        answers = [[described(one.query), one.value, one.variance] for one in self.answers]
        count = len(answers)
        return {
            "effects": effects, "answers": answers, "strengths": self.strengths[:count],
            "of_answers": self.of_answers[:count],
        }  # fmt: skip

    def restore(self, content: Json) -> None:
        """Take what `content` returned: the model is the same, to rounding."""
        for part, values, precision, signal, variance, multipliers in content["effects"]:
            axes = tuple(part)
            self.values[axes], self.precisions[axes] = unpacked(values), precision
            self.signals[axes], self.multipliers[axes] = (signal, variance), unpacked(multipliers)
        self.answers = [
            ReleasedAnswer(read(q, self.shape), value, variance) for q, value, variance in content["answers"]
        ]
        self.exact = {one.query.key: one for one in self.answers}
        self.strengths, self.of_answers = list(content["strengths"]), list(content["of_answers"])
        self.refit(rounds=0)

    def covers(self, axes: Axes) -> bool:
        """Whether all effects over these columns were measured."""
        return axes in self.values

    def variance(self, query: LinearQuery, precisions: Mapping[Axes, float] | None = None) -> float:
        """Return the variance of what the measurements say of a query, all effects of whose columns are covered."""
        if isinstance(query, Product) and not query.constant:
            return self._of_product(query, precisions)
        weights, total = query.weights() / query.scale, 0.0
        for part in subsets(query.axes):
            gone = tuple(place for place, axis in enumerate(query.axes) if axis not in part)
            rest = math.prod(query.cells[place] for place in gone)
            own = coordinates(weights.sum(axis=gone), self._cells(part)) / rest
            total += float(own @ own) / (precisions or self.precisions)[part]
        return total

    def _of_product(self, query: Product, precisions: Mapping[Axes, float] | None) -> float:
        """Return it for a product of vectors w: every effect has the product of the squares of their parts."""
        found = self._coefficients.get(query.axes) if precisions is None else None
        if found is None:
            listed = [1 / (precisions or self.precisions)[part] for part in _by_bits(query.axes)]
            found = np.array(listed).reshape((2,) * len(query.axes))
            if precisions is None:
                self._coefficients[query.axes] = found
        for vector in query.factors[::-1]:
            total, size = int(vector.sum()), vector.size
            found = found @ (float(total * total) / (size * size), float(vector @ vector) - total * total / size)
        return float(found) * (query.coefficient / query.scale) ** 2

    def direct(self, query: LinearQuery) -> float:
        """Return what the measurements alone say of a query whose columns are covered."""
        table = self._tables.get(query.axes)
        if table is None:
            table = self._tables[query.axes] = self._unbiased(query.axes)
        return query.answer(table)

    def _unbiased(self, axes: Axes) -> Reals:
        """Return the marginal over some columns that the measurements add up to."""
        cells = self._cells(axes)
        total = np.zeros(cells)
        for part in subsets(axes):
            sizes = [self.shape[axis] if axis in part else 1 for axis in axes]
            rest = math.prod(cells) // math.prod(sizes)
            total += expanded(self.values[part], self._cells(part)).reshape(sizes) / rest
        return total


def _by_bits(axes: Sequence[int]) -> list[Axes]:
    """Return the subsets in the order of the cells of a table of shape (2, ..., 2): 0 is outside, 1 inside."""
    return reduce(lambda kept, axis: [p + more for p in kept for more in ((), (axis,))], axes, [()])


def _mean_square(query: LinearQuery) -> float:
    """Return the mean square of the weights over the uniform table."""
    weights = query.weights() / query.scale
    return float(np.mean(weights.astype(np.float64) ** 2))
