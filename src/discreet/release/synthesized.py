"""A model of a table made from what one plan released, with the errors that can be told from the same releases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.loss import Loss
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.effects import coordinates, expanded
from discreet.release.model import DenseModel
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

_LITTLE = 1e-9  # of a row
_TWO_SIDED = 1.96  # standard deviations within which 19 of 20 normal numbers fall
_UNKNOWN = (
    "nothing was measured of the columns of this query together, so its error cannot be told: put it into the workload."
)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the marginal of a model is from the table's, in l1, as it was measured, and the noise of that number."""

    value: float
    sigma: float


class SynthesizedModel(DenseModel):
    """A dense model with what it was learned from: the loss, why it was learned so, and the errors it admits to.

    `missed` is for each set of columns the mean square error of the coordinates of its effect, estimated; `distances`
    is for each clique what `remeasure=` bought.
    """

    __slots__ = ("distances", "interrupted", "loss", "missed", "reason")

    def __init__(
        self, universe: Universe, cells: Reals, *, loss: Loss, reason: str, missed: Mapping[Axes, float],
        interrupted: bool = False, distances: Mapping[Axes, Distance] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(universe, cells)
        self.loss, self.reason, self.interrupted = loss, reason, interrupted
        self.missed, self.distances = dict(missed), dict(distances or {})

    def with_distances(self, distances: Mapping[Axes, Distance]) -> SynthesizedModel:
        """Return the same model with distances that were measured."""
        return SynthesizedModel(
            self.universe, self.cells, loss=self.loss, reason=self.reason, missed=self.missed,
            interrupted=self.interrupted, distances=distances,
        )  # fmt: skip

    def estimated_error(self, query: LinearQuery) -> float:
        """Return about how far off the answer of a query may be, 19 times in 20.

        An answer is a sum over effects, and so is the square of its error: each effect with its own mean square error,
        which Stein's unbiased estimate of risk makes from releases already paid for, together with effects of as many
        columns. Cells with many rows have more of it than cells with few, which the model knows to be few. It is an
        average over queries like this one, and promises nothing for a single one. What could be chosen and never was is
        taken to be as far off as what was chosen last. Where `remeasure=` bought the distance of a clique that holds
        the query, that bounds it: half of the distance moves from some cells to others, and the number of rows is off
        as well.
        """
        if query.shape != self.universe.shape:
            raise InvalidParameter("the query is about another universe than the model.")
        found = [self._by_effects(query)] if self._knows(query.axes) else []
        if self.distances:
            found += [self._by_distance(axes) for axes in self.distances if set(query.axes) <= set(axes)]
        if not found:
            raise NotSupported(
                "the fit was interrupted, so its errors were not estimated." if self.interrupted else _UNKNOWN
            )
        return min(found)

    def estimated_errors(self, workload: Workload) -> Reals:
        """Return the estimated error of every query of a workload, in order."""
        return np.array([self.estimated_error(query) for query in workload])

    def _knows(self, axes: Axes) -> bool:
        moving = [axis for axis in axes if self.universe.shape[axis] > 1]  # a column of one value has no effect
        return all(part in self.missed for k in range(len(moving) + 1) for part in combinations(moving, k))

    def _by_effects(self, query: LinearQuery) -> float:
        sizes = tuple(self.universe.shape[axis] for axis in query.axes)
        weights = np.asarray(query.weights(), np.float64).reshape(sizes) / query.scale
        table = np.asarray(self.marginal(query.axes), np.float64)
        moving = [place for place, size in enumerate(sizes) if size > 1]
        total = 0.0
        for k in range(len(moving) + 1):
            for places in combinations(moving, k):
                others = tuple(place for place in range(len(sizes)) if place not in places)
                missed = self.missed[tuple(query.axes[place] for place in places)]
                total += square_in(weights.mean(axis=others), table.sum(axis=others), missed)
        return _TWO_SIDED * math.sqrt(total)

    def _by_distance(self, axes: Axes) -> float:
        """Return half the distance of a clique and what its rows may be off, both at their upper ends."""
        distance, rows = self.distances[axes], self.missed.get((), math.inf)
        return (max(distance.value, 0.0) + _TWO_SIDED * distance.sigma + _TWO_SIDED * math.sqrt(rows)) / 2

    def save(self, path: str | Path) -> None:
        """Write the model to a file, with what it was learned from; `Model.load` of it reads it back."""
        from discreet.release.files import write
        from discreet.release.learned import of_synthesized

        write(path, self.universe, {"cells": self.cells}, of_synthesized(self))

    def __repr__(self) -> str:
        return f"SynthesizedModel({self.universe.size} cells, {self.rows:.0f} rows, {self.reason!r})"


def square_in(weights: Reals, table: Reals, missed: float) -> float:
    """Return the mean square error of weights along the effect in a marginal, if it is `missed` for a coordinate.

    Of the cells of the marginal, one with m rows has a part of it in proportion to m v / (m + v), with v what is
    missed: all of it where that is little beside m, and m where m is little beside it, as greatest entropy has it.
    """
    along = expanded(coordinates(weights, weights.shape), weights.shape)
    each = (table + _LITTLE) / (table + missed + _LITTLE)
    return missed * float(np.sum(along**2 * each)) / float(np.mean(each))
