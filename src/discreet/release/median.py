"""The median mechanism's update: keep the small databases that agree with what was released. Toy sizes only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from discreet.dp.rational import Number, non_negative, positive
from discreet.dp.reals import ball, upper
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.database_update import DatabaseUpdate, Structure, Tolerates, dense, spread
from discreet.release.families import Family
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import Rows, public_rows
from discreet.release.workload import Workload

MOST_DATABASES = 10**6
"""The most databases that are held."""
_MOST_COUNTS = 2**24  # of all of them together: 128 MB


@final
@dataclass(frozen=True, slots=True, eq=False)
class Survivors(Structure):
    """Databases of m rows, a row of counts for each; a query is answered by the median of their answers, times N / m.

    Of an even number it is the lower of the two in the middle, so that it is the answer of one of them.
    """

    databases: Array
    rows: float
    shape: tuple[int, ...]

    def each(self, query: LinearQuery) -> Array:
        """Return the answer of every database, in counts."""
        weights = np.broadcast_to(spread(query), self.shape).ravel()
        size = float(self.databases[0].sum())
        return np.asarray(self.databases @ weights * (self.rows / size))

    def answer(self, query: LinearQuery) -> float:
        """Return the median answer."""
        found = np.sort(self.each(query))
        return float(found[(found.size - 1) // 2])

    def answers(self, workload: Workload | Family) -> Array:
        """Return the median answers to all queries of a workload."""
        return np.array([self.answer(query) for query in workload])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Median(DatabaseUpdate[Survivors]):
    """Start from all databases of m rows; an update drops those that do not lie on the value's side of the median.

    Guarantee: B(u) = log2 of the number of databases of m = `rows_kept(u)` rows, at most m log2|X|, for every value
      that is off by less than the level: only its sign is used. One of them is within u/2 of the table on every
      query, so it is never dropped, and each update drops half of the others at least. The caller must ensure that the
      rule is used at the level that it was made for.
    Source: Roth, Roughgarden, 2010; Gupta, Roth, Ullman, 2012, Section 5.1. m = 2 ln(2|C|) / u^2 by Hoeffding's
      inequality, u as a share of the rows.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 4})
    >>> workload = release.Workload([release.marginal(universe, "cell")])
    >>> update = Median(universe, workload, rows=100, level=80)
    >>> update.rows_kept(Fraction(80)), update.bound(80)
    (7, 7)
    """

    universe: Universe
    workload: Workload | Family
    rows: Rows
    made_for: Fraction
    _all: Array = field(repr=False)

    def __init__(self, universe: Universe, workload: Workload | Family, *, rows: Rows | int, level: Number) -> None:
        if not isinstance(workload, Workload | Family) or workload.shape != dense(universe).shape:
            raise InvalidParameter("workload is one over this universe: how many queries it has is part of the bound.")
        known, wanted = public_rows(rows), positive(level, "level")
        named = (("universe", universe), ("workload", workload), ("rows", known), ("made_for", wanted))
        for name, value in named:
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_all", all_databases(universe.size, self.rows_kept(wanted)))

    def rows_kept(self, level: Fraction) -> int:
        """Return m, the rows of each database."""
        if self.settled:
            return 1
        gap = self.rows.normalised(level)
        return math.ceil(upper(lambda: 2 * ball(2 * len(self.workload)).log()) / gap**2)

    @property
    def tolerates(self) -> Tolerates:
        """Any noise below the level."""
        return Tolerates.LEVEL

    @property
    def known_workload(self) -> Workload | Family:
        """The queries whose number is part of the bound."""
        return self.workload

    @property
    def known_rows(self) -> Rows:
        """The public number of rows."""
        return self.rows

    @property
    def settled(self) -> bool:
        """Whether there is one cell only, or no row."""
        return self.universe.size == 1 or self.rows.estimate == 0

    @property
    def first_error(self) -> Fraction:
        """The number of rows, at most; its own error where there is nothing to learn."""
        return self.rows.error if self.settled else self.rows.most

    def start(self) -> Survivors:
        """Return all databases."""
        return Survivors(self._all, float(self.rows.estimate), self.universe.shape)

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha), the logarithm of the number of databases, rounded up."""
        level = positive(alpha, "alpha")
        if non_negative(noise, "noise") >= level:
            raise InvalidParameter("noise is below alpha: a value that is off by more says nothing of the sign.")
        return (databases(self.universe.size, self.rows_kept(level)) - 1).bit_length()

    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        """Return the level that it was made for; the error of the first model where that takes more updates."""
        return self.made_for if updates >= self.bound(self.made_for) else self.first_error

    def updated(
        self, state: Survivors, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction
    ) -> Survivors:
        """Return the databases on the value's side of the median; all of them, if none is."""
        each, middle = state.each(query), state.answer(query)
        kept = each > middle if value > middle else each < middle
        return Survivors(state.databases[kept], state.rows, state.shape) if kept.any() else state


def databases(cells: int, rows: int) -> int:
    """Return the number of databases of so many rows: multisets of cells."""
    return math.comb(cells + rows - 1, rows)


def are_few(cells: int, rows: int) -> bool:
    """Return whether all databases of so many rows can be held."""
    return rows <= MOST_DATABASES and databases(cells, rows) <= min(MOST_DATABASES, _MOST_COUNTS // cells)


def all_databases(cells: int, rows: int) -> Array:
    """Return every database of so many rows, a row of counts for each, or refuse too many."""
    if not are_few(cells, rows):
        raise NotSupported(
            f"there are too many databases of {rows} rows over {cells} cells, more than {MOST_DATABASES} or 128 MB of "
            "them: the median and the net mechanism are for toy sizes. Use release.MultiplicativeWeights, or ask for a "
            "larger error."
        )
    ways = [np.ones(rows + 1, np.int64)]  # to put 0, 1, ... rows into one cell, into two, and so on
    for _ in range(cells - 2):
        ways.append(np.cumsum(ways[-1]))
    found = np.empty((databases(cells, rows), cells), np.int64)
    left = np.array([rows])  # rows that have no cell yet, for every choice of the cells before
    for cell in range(cells - 1):
        choices = left + 1
        starts = np.cumsum(choices) - choices
        here = np.arange(int(choices.sum())) - np.repeat(starts, choices)
        left = np.repeat(left, choices) - here
        found[:, cell] = np.repeat(here, ways[cells - 2 - cell][left])
    found[:, -1] = left
    return found
