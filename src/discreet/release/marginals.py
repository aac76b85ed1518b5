"""Marginals of a dense array, many at once through the sums they share, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from discreet.release.query import Array


def marginal(array: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    """Return the sums of a dense array over all columns but `axes` (sorted positions)."""
    full = array.reshape(shape)
    return np.asarray(full.sum(axis=tuple(axis for axis in range(len(shape)) if axis not in axes)))


class Marginals:
    """The marginals of one dense array, each computed once, from the smallest table that has it.

    A call is what `Workload.answers` takes: `marginals(axes)` is the marginal over the sorted positions `axes`.
    """

    __slots__ = ("_tables", "array", "shape")

    def __init__(self, array: Array, shape: tuple[int, ...]) -> None:
        self.array, self.shape = array.reshape(shape), shape
        self._tables: dict[tuple[int, ...], Array] = {}

    def __call__(self, axes: tuple[int, ...]) -> Array:
        """Return the marginal over sorted axes."""
        if axes not in self._tables:
            self._tables[axes] = marginal(self.array, self.shape, axes)
        return self._tables[axes]

    def prepare(self, cliques: Iterable[tuple[int, ...]]) -> None:
        """Compute the marginals of all cliques at once."""
        for axes in cliques:
            self(axes)


def lift(tables: Mapping[tuple[int, ...], Array], shape: tuple[int, ...]) -> Array:
    """Return the dense array whose cell x holds the sum over all tables of their cell of x: the adjoint of marginals.

    sum_x p[x] lift(y)[x] is the sum over the tables of <marginal of p, y>.
    """
    total = np.zeros(shape)
    for axes, table in tables.items():
        total += table.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])
    return total
