"""A model of a table: a public table of counts, learned from releases, that answers any linear query.

Whatever learned it has paid; what is asked of it costs nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.rational import positive_integer
from discreet.dp.samplers import uniform_below
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.marginals import Marginals
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload

if TYPE_CHECKING:
    from discreet.dp.frames import Rows

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]


class Model(ABC):
    """What has been learned so far. It is public: its answers, rows and files are post-processing.

    `rows` is how many rows the table is believed to have, as far as has been paid for.
    """

    universe: Universe
    rows: float

    @abstractmethod
    def marginal(self, axes: Axes) -> Reals:
        """Return the counts over the columns at some sorted positions; the caller does not change them."""

    @abstractmethod
    def _codes(self, n: int) -> NDArray[np.int64]:
        """Return the cells of n rows, in random order."""

    def answer(self, query: LinearQuery) -> float:
        """Return the answer of one query."""
        if query.shape != self.universe.shape:
            raise InvalidParameter("the query is about another universe than the model.")
        return query.answer(self.marginal(query.axes))

    def answer_many(self, workload: Workload) -> Reals:
        """Return the answers of all queries of a workload, in order."""
        return self.answers(workload)

    def answers(self, workload: Workload) -> Reals:
        """Return the answers of all queries of a workload, in order."""
        if workload.shape != self.universe.shape:
            raise InvalidParameter("the workload is about another universe than the model.")
        return np.asarray(workload.answers(self.marginal), np.float64)

    @staticmethod
    def load(path: str | Path) -> Model:
        """Return the model that `save` wrote to a file."""
        from discreet.release.files import load

        return load(path)

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write the model to a file, which is as public as the model."""

    def sample(self, n: int) -> Rows:
        """Return n rows, an array of declared values for each column: pandas, polars and Arrow make tables of it.

        Whoever sees the rows can count them: where the number of rows is private, n is not it, but round(model.rows).
        Counts of cells are those of the model, rounded at random so that none is off by 1 or more; the order is random.
        """
        return self.universe.decode(self._codes(positive_integer(n, "n")))


class DenseModel(Model):
    """A model that holds every cell, and keeps the marginals that it was asked for.

    >>> from discreet import dp
    >>> model = DenseModel(dp.Universe({"sex": 2, "smokes": 2}), np.array([30.0, 10, 40, 20]))
    >>> model.marginal((0,)), model.rows
    (array([40., 60.]), 100.0)
    """

    __slots__ = ("_marginals", "cells", "rows", "universe")

    def __init__(self, universe: Universe, cells: Reals) -> None:
        whole = cells.size == universe.size and cells.dtype in (np.float64, np.float32)
        with np.errstate(over="ignore"):
            finite = whole and np.isfinite(cells.sum(dtype=np.float64))
        if not finite or cells.min() < 0:
            raise InvalidParameter("a dense model has one finite count of at least 0 for each cell of its universe.")
        self.universe, self.cells = universe, cells.reshape(-1)
        self.cells.flags.writeable = False
        self.rows = float(cells.sum(dtype=np.float64))
        self._marginals = Marginals(self.cells, universe.shape)

    def marginal(self, axes: Axes) -> Reals:
        """Return the counts over some columns, from the smallest marginal at hand."""
        return self._marginals(axes)

    def answers(self, workload: Workload) -> Reals:
        """Return the answers of all queries of a workload; its marginals are computed through the sums they share."""
        self._marginals.prepare(workload.cliques)
        return super().answers(workload)

    def _codes(self, n: int) -> NDArray[np.int64]:
        cells = self.cells.astype(np.float64) if self.rows else np.ones(self.cells.size)
        return shuffled(np.repeat(np.arange(cells.size), rounded(cells * (n / cells.sum()))))

    def save(self, path: str | Path) -> None:
        """Write the model to a file; `Model.load` of it reads it back."""
        from discreet.release.files import write

        write(path, self.universe, {"cells": self.cells})

    def __repr__(self) -> str:
        return f"DenseModel({self.universe.size} cells, {self.rows:.0f} rows)"


def rounded(counts: Reals) -> NDArray[np.int64]:
    """Return whole counts with the same total, to the nearest one: systematic sampling of what is left over.

    Cells are passed in order with one uniform start, so that each is rounded down or up, and up with the chance of what
    is left over; so is every sum of neighbours in that order.
    """
    total = round(float(counts.sum()))
    if total == 0:
        return np.zeros(counts.size, np.int64)
    start = int(uniform_below(randomness.system(), 1 << 53, 1)[0]) / 2**53
    ends = np.cumsum(counts)
    marks = np.floor(ends * (total / float(ends[-1])) + start).astype(np.int64)
    marks[-1] = total
    return np.diff(np.minimum(marks, total), prepend=0)


def shuffled(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values in random order."""
    return values[np.argsort(randomness.system().words(values.size, 64), kind="stable")]
