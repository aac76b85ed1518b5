"""A model that factors: a mixture of products, small however many cells there are.

Every row belongs to one of K components, and within a component its columns are independent. A marginal over any
columns is a sum of K products of vectors, so a universe of 1e18 cells is answered without being written down.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.model import Model, rounded, shuffled
from discreet.release.query import LinearQuery, Product

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]

MOST_CELLS = 10**8
"""Cells of a marginal that is written down."""
_KEPT = 1 << 24  # cells of marginals that are kept for the next question: 128 MB


class MixtureModel(Model):
    """A model of weights, one for each component, and for each column a table of shares: a row for each component.

    >>> from discreet import dp
    >>> universe = dp.Universe({"sex": 2, "smokes": 2})
    >>> model = MixtureModel(universe, 100.0, np.array([0.4, 0.6]), [np.eye(2), np.array([[0.75, 0.25], [0.5, 0.5]])])
    >>> model.marginal((0, 1))
    array([[30., 10.],
           [30., 30.]])
    """

    __slots__ = ("_kept", "rows", "shares", "universe", "weights")

    def __init__(self, universe: Universe, rows: float, weights: Reals, shares: list[Reals]) -> None:
        shapes = [table.shape for table in shares]
        if weights.ndim != 1 or not weights.size or shapes != [(weights.size, size) for size in universe.shape]:
            raise InvalidParameter("a mixture has for each column a table of shares, with a row for each component.")
        if not (math.isfinite(rows) and rows >= 0 and all(_are_shares(table) for table in (weights, *shares))):
            raise InvalidParameter("a mixture has rows, and shares of at least 0 that add up to 1.")
        self.universe, self.rows, self.weights, self.shares = universe, float(rows), weights, list(shares)
        self._kept: dict[Axes, Reals] = {}

    def marginal(self, axes: Axes) -> Reals:
        """Return the counts over the columns at some sorted positions; the caller does not change them."""
        found = self._kept.get(axes)
        if found is None:
            found = self._computed(axes)
            if sum(table.size for table in self._kept.values()) + found.size > _KEPT:
                self._kept.clear()
            self._kept[axes] = found
        return found

    def _computed(self, axes: Axes) -> Reals:
        shape = tuple(self.universe.shape[axis] for axis in axes)
        if list(axes) != sorted(set(axes)) or not all(0 <= axis < len(self.shares) for axis in axes):
            raise InvalidParameter(f"axes are different positions of columns, sorted; got {axes}.")
        if math.prod(shape) > MOST_CELLS:
            raise NotSupported(
                f"a marginal of {math.prod(shape)} cells is not written down, {MOST_CELLS} is the most: ask about "
                "fewer columns, or draw rows."
            )
        cut = min(range(len(axes) + 1), key=lambda at: math.prod(shape[:at]) + math.prod(shape[at:]))
        one, other = (self._products(part) for part in (axes[:cut], axes[cut:]))
        return np.asarray(((self.rows * self.weights[:, None] * one).T @ other).reshape(shape))

    def _products(self, axes: Axes) -> Reals:
        """Return for each component the shares of the cells over some columns."""
        found = np.ones((self.weights.size, 1))
        for axis in axes:
            found = (found[:, :, None] * self.shares[axis][:, None, :]).reshape(self.weights.size, -1)
        return found

    def answer(self, query: LinearQuery) -> float:
        """Return the answer of one query; a product of columns is answered however many columns it has."""
        if not isinstance(query, Product) or query.shape != self.universe.shape:
            return super().answer(query)
        each = self.weights.copy()
        for axis, factor in zip(query.axes, query.factors, strict=True):
            each *= self.shares[axis] @ factor
        return self.rows * (query.constant + query.coefficient * float(each.sum())) / query.scale

    def _codes(self, n: int) -> NDArray[np.int64]:
        """Return the cells of n rows: as many in each component, and there of each value of a column, as are due.

        Either is rounded at random, so that none is off by 1 or more; within a component, the values of each column
        are in an order of their own.
        """
        members = rounded(self.weights * n)
        component = np.repeat(np.arange(members.size), members)
        codes = np.zeros(n, np.int64)
        for size, table in zip(self.universe.shape, self.shares, strict=True):
            counts = rounded((members[:, None] * table).reshape(-1))
            values = np.repeat(np.tile(np.arange(size), members.size), counts)
            order = np.lexsort((randomness.system().words(n, 64), component))
            codes = codes * size + values[order]
        return shuffled(codes)

    def save(self, path: str | Path) -> None:
        """Write the model to a file; `Model.load` of it reads it back."""
        from discreet.release.files import write

        write(path, self.universe, self._arrays())

    def _arrays(self) -> dict[str, Reals]:
        return {"weights": self.weights, "shares": np.concatenate(self.shares, axis=1), "rows": np.array(self.rows)}

    @classmethod
    def of_arrays(cls, universe: Universe, rows: Reals, weights: Reals, shares: Reals) -> MixtureModel:
        """Return the model of the arrays that `save` wrote."""
        return cls(universe, float(rows), weights, np.split(shares, np.cumsum(universe.shape)[:-1], axis=1))

    def __repr__(self) -> str:
        return f"MixtureModel({self.weights.size} products, {self.universe.size} cells, {self.rows:.0f} rows)"


def _are_shares(table: Reals) -> bool:
    return bool(np.isfinite(table).all() and table.min() >= 0 and np.allclose(table.sum(axis=-1), 1, atol=1e-9))
