"""The exact marginals of a private table, behind one door: what the gate and the instruments of a mechanism see."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from discreet.release.marginals import Marginals
from discreet.release.query import Array, LinearQuery

_FLOATS = 1 << 50  # rows up to which sums of whole counts, in any order, are exact in floats
_KEPT = 1 << 24  # cells of exact marginals that are kept at a time
_COPIED = 1 << 22  # cells of a table that is kept as floats too


def single(self: object, *_: object, **__: object) -> NoReturn:
    """Refuse to copy or to store."""
    raise TypeError("an online mechanism is not copied: both would spend one budget. Store state() and resume it once.")


class Truth:
    """The exact marginals of the table: private, and shown to the gate and to the instruments alone."""

    __slots__ = ("_exact", "_kept", "_tables", "cells", "shape")

    def __init__(self, cells: Array, shape: tuple[int, ...]) -> None:
        self.cells, self.shape, self._kept = cells, shape, 0
        most = max(abs(int(cells.max())), abs(int(cells.min())))
        self._exact = most * cells.size < _FLOATS  # then sums of whole numbers, in any order, are exact in floats
        self._tables = self._fresh()

    def _fresh(self) -> Marginals:
        small = self._exact and self.cells.size <= _COPIED  # floats are summed faster than integers
        return Marginals(self.cells.astype(np.float64) if small else self.cells, self.shape)

    def __call__(self, axes: tuple[int, ...]) -> Array:
        """Return the marginal over some columns, in integers."""
        return self._tables(axes).astype(np.int64, copy=False)

    def prepare(self, cliques: Iterable[tuple[int, ...]]) -> None:
        """Make the marginals of many cliques at once."""
        self._tables.prepare(cliques)

    def count(self, query: LinearQuery) -> int:
        """Return `scale` times the exact answer of a query."""
        return query.count(self(query.axes))

    def distance(self, query: LinearQuery, estimate: float) -> int:
        """Return |Q(D) - estimate| in whole counts, rounded down; the estimate is rounded to steps of the query first.

        It moves by at most the next whole number to what the query moves by.
        """
        if query.axes not in self._tables._tables:
            self._room(query)
        table, scale = self._tables(query.axes), query.scale
        if scale == 1 and self._exact:
            return abs(int(query.answer(table)) - round(estimate))
        return abs(query.count(table.astype(np.int64, copy=False)) - round(estimate * scale)) // scale

    def _room(self, query: LinearQuery) -> None:
        """Forget all marginals once they take too much room; which ones are kept follows from the questions."""
        self._kept += math.prod(query.cells)
        if self._kept > _KEPT:
            self._tables, self._kept = self._fresh(), 0

    def __repr__(self) -> str:
        return "<private>"

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = single
