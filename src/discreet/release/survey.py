"""Measuring a table of many columns: columns one by one, then pairs and triples of them on grids that suit.

A pair of columns with a hundred values each has more cells than the table has people, and at a small epsilon nothing
of it is left under the noise. The columns measured first say where the rows are. So their values are put into groups
of about as many rows, and pairs and triples of columns are measured as effects on the groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Loss
from discreet.dp.mechanism import Mechanism
from discreet.dp.private import Exact
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.effects import Effects, MeasuredEffects
from discreet.release.rows import moved
from discreet.release.separable import contrasts

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer]
Grouping: TypeAlias = NDArray[np.int64]
"""For each value of a column the number of its group."""

# Chosen on tables made by drawing from random networks of columns of mixed sizes, and on NLTCS; and kept.
_SHARES = (Fraction(1, 100), Fraction(19, 100), Fraction(70, 100), Fraction(10, 100))  # of mu^2: rows, ones, pairs, ...
_GROUPS = (16, 4)  # of a column, in pairs and in triples
_FLOOR = 0.02  # of a row: what every value has, at the least
_MOST_SETS = 1 << 12  # triples beyond which only pairs are measured


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Effects of sets of `order` columns on a grid, as they were released (order 1 has the number of rows too)."""

    order: int
    grid: tuple[Grouping, ...]
    measurement: MeasuredEffects
    values: Reals

    @property
    def measured(self) -> dict[Axes, tuple[Reals, float]]:
        """For every set that was measured its coordinates, one axis a column, and the deviation of their noise."""
        effects = self.measurement.effects
        parts = np.split(self.values, np.cumsum(effects.sizes)[:-1])
        return {
            axes: (part.reshape([n - 1 for n in effects.cells(axes)]), float(sigma))
            for axes, part, sigma in zip(effects.sets, parts, self.measurement.sigmas, strict=True)
            if sigma
        }

    def bases(self) -> list[Reals]:
        """Return for each column the matrix that leads from shares of its values to coordinates of its groups."""
        return [contrasts(int(groups.max()) + 1)[1:][:, groups] for groups in self.grid]


@dataclass(frozen=True, slots=True, eq=False)
class Survey(Mechanism):
    """Measure the number of rows, every column, and pairs and triples of them that some cliques hold.

    Guarantee: the loss is Gaussian with mu^2 = `mu_squared`. The caller must ensure that the histogram of the rows
      moves by at most `sensitivity`.
      Proof. Each level is a `MeasuredEffects` of the histogram of groups, which moves by no more than that of values
      does. The share of mu^2 that a level has is fixed before it is measured; its groups depend on the level before
      only, as released. So the levels compose adaptively: their mu^2 add up.
    Source: Dong, Roth, Su, "Gaussian differential privacy", 2022, Theorem 4 and Corollary 3.3 (composition, where each
      mechanism may depend on the outputs before it).
    """

    universe: Universe
    cliques: tuple[Axes, ...]
    sensitivity: Sensitivity
    mu_squared: Fraction

    @property
    def loss(self) -> Loss:
        """The loss of all levels together."""
        return GaussianLoss(self.mu_squared)

    def sets(self, order: int) -> list[Axes]:
        """Return the sets of so many columns that are measured."""
        shape = self.universe.shape
        found = {part for clique in self.cliques for part in combinations(clique, order)}
        kept = sorted(part for part in found if all(shape[axis] > 1 for axis in part))
        return kept if order < 3 or len(kept) <= _MOST_SETS else []

    def shares(self) -> list[Fraction]:
        """Return the shares of mu^2 of the number of rows, of columns, of pairs and of triples; they add up to 1."""
        own = [part if not order or self.sets(order) else Fraction(0) for order, part in enumerate(_SHARES)]
        return [share / sum(own) for share in own]

    def release(self, rows: Integers) -> list[Level]:
        """Return the noisy levels of a table of rows. Whoever calls this has it, and accounts for `loss`."""
        from discreet.dp import randomness

        if isinstance(rows, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(rows, randomness.system())

    def _release(self, values: object, stream: Stream) -> list[Level]:  # type: ignore[override]
        table = self._table(values)
        grid: tuple[Grouping, ...] = tuple(np.arange(size) for size in self.universe.shape)
        shares = self.shares()
        levels = [self._level(1, grid, {0: shares[0], 1: shares[1]}, table, stream)]
        for order, most in enumerate(_GROUPS, start=2):
            if shares[order]:
                coarse = tuple(grouped(column, most) for column in columns(levels[0]))
                levels.append(self._level(order, coarse, {order: shares[order]}, table, stream))
        return levels

    def _table(self, values: object) -> Integers:
        """Return the rows whose places are all in the universe."""
        table = values
        shape = np.array(self.universe.shape)
        if not isinstance(table, np.ndarray) or table.dtype.kind not in "iu" or table.shape[1:] != shape.shape:
            raise InvalidParameter(
                "rows are an array of whole numbers with a row for each row and the place of its value in each column, "
                "as places(universe, frame) returns it."
            )
        return np.asarray(table[((table >= 0) & (table < shape)).all(axis=1)])

    def _level(
        self, order: int, grid: tuple[Grouping, ...], shares: dict[int, Fraction], table: Integers, stream: Stream
    ) -> Level:
        """Measure the sets of one order on a grid, each with the same part of the share; and no set, the total."""
        cells = tuple(int(groups.max()) + 1 for groups in grid)
        sets = self.sets(order)
        effects = Effects(cells, sets or [()])
        parts = {0: 1, order: max(1, len(sets))}
        own = np.array([float(shares.get(len(axes), 0)) / parts.get(len(axes), 1) for axes in effects.sets])
        measurement = MeasuredEffects.sharing(
            effects, self.sensitivity, mu_squared=self.mu_squared * sum(shares.values(), Fraction(0)),
            shares=own / own.sum(),
        )  # fmt: skip
        coarse = [groups[table[:, axis]] for axis, groups in enumerate(grid)]

        def marginal(axes: Axes) -> NDArray[np.int64]:
            return counted([coarse[axis] for axis in axes], effects.cells(axes), len(table))

        values = measurement._measure(marginal, stream)
        return Level(order, grid, measurement, values)

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l1 is not None and moved(sensitivity) <= moved(self.sensitivity)


def columns(level: Level) -> list[Reals]:
    """Return the shares of the values of every column, as released: nearest in the plane of shares, and above 0."""
    measured, sizes = level.measured, [len(groups) for groups in level.grid]
    rows = total(level)
    found = []
    for axis, size in enumerate(sizes):
        counts = np.full(size, rows / size)
        if (axis,) in measured:
            counts += measured[axis,][0] @ contrasts(size)[1:]
        shares = nearest_shares(counts / rows) + _FLOOR / rows
        found.append(shares / shares.sum())
    return found


def total(level: Level) -> float:
    """Return the number of rows as released, or 1 if it is less."""
    return max(1.0, float(level.measured[()][0]))


def nearest_shares(values: Reals) -> Reals:
    """Return the shares, at least 0 and adding up to 1, that are nearest to some numbers.

    >>> nearest_shares(np.array([0.9, 0.3, -0.2]))
    array([0.8, 0.2, 0. ])
    """
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - above[np.flatnonzero(falling > above)[-1]], 0))


def grouped(shares: Reals, most: int) -> Grouping:
    """Return groups of neighbouring values, at most so many (two at the least), with about as many rows in each.

    >>> grouped(np.array([0.1, 0.1, 0.6, 0.1, 0.1]), 3)
    array([0, 0, 1, 2, 2])
    """
    size = len(shares)
    if size <= most:
        return np.arange(size)
    found = np.zeros(size, np.int64)
    group, held, left = 0, 0.0, float(shares.sum())
    for value, share in enumerate(shares.tolist()):
        if held and held + share / 2 > left / (most - group) and group < most - 1:
            group, left, held = group + 1, left - held, 0.0
        found[value] = group
        held += share
    if not group:
        found[-1] = 1  # nearly all rows have the last value
    return found


def counted(places: Sequence[Integers], cells: Axes, rows: int) -> NDArray[np.int64]:
    """Return how many rows fall into each cell of a marginal, given their places in its columns.

    >>> counted([np.array([0, 1, 1]), np.array([2, 0, 0])], (2, 3), 3)
    array([[0, 0, 1],
           [2, 0, 0]])
    """
    numbers = np.zeros(rows, np.int64)
    for column, size in zip(places, cells, strict=True):
        numbers = numbers * size + column
    return np.bincount(numbers, minlength=math.prod(cells)).astype(np.int64, copy=False).reshape(cells)


def places(universe: Universe, frame: object) -> NDArray[np.int64]:
    """Return the rows of a frame that have a cell, as the place of their value in each column.

    >>> places(Universe({"sex": 2, "age": 85}), {"sex": [1, 0, 1], "age": [30, 99, 2]})
    array([[ 1, 30],
           [ 1,  2]])
    """
    numbers = universe.codes(frame)
    return np.stack(np.unravel_index(numbers[numbers >= 0], universe.shape), axis=1).astype(np.int64)
