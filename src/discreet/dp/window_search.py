"""The greatest of exp(-beta k) times the width, over all windows of order statistics.

A window (v, u) costs k = p(u) + s(v) changes and is worth (x_u - x_v) e^(-beta p(u)) e^(-beta s(v)). In a rectangle of
rows u and columns v none is worth more than the widest would be at the least cost: most rectangles are thrown away by
that, while they are halved. For a fixed v the worth is a line in x_u whose slope grows with v, so the best v never
falls as u grows (Nissim, Raskhodnikova, Smith, 2007, Section 3.1): where many rectangles are left, the best v of the
middle row splits the others, all rectangles of a depth at once, in O(n log n) whatever the data.

Weights are made by additions, multiplications and divisions, and are within a relative 2^-42; a comparison that goes
wrong by as much loses as much, once at each of at most 60 depths. So what is found is within a relative 2^-35.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.weights import exp_minus

if TYPE_CHECKING:
    from discreet.dp.order_statistics import Ranked, Ranks, Steps

Costs = Callable[["Ranks"], "Ranks"]
Window = tuple[int, int, int]
"""A cost k, and the ranks v and u."""

_SIXTEENTH = 16  # exp_minus reaches to 90: its 16th power to beyond the range of a float
_MANY = 2048  # rectangles beyond which they are no longer halved
_SMALL = 32  # rows or columns of a rectangle that is not halved


@dataclass(frozen=True, slots=True)
class Tasks:
    """Rectangles of rows and columns, ends included, one at each place of the arrays."""

    first_row: Ranks
    last_row: Ranks
    first_column: Ranks
    last_column: Ranks

    @classmethod
    def of(cls, *rectangles: tuple[int, int, int, int]) -> Tasks:
        """Return those of some rectangles that are not empty."""
        ends = np.array(rectangles, dtype=np.int64).reshape(-1, 4).T
        return cls(*ends).not_empty()

    @classmethod
    def together(cls, *tasks: Tasks) -> Tasks:
        """Return the rectangles of all, without the empty ones."""
        return cls(
            np.concatenate([t.first_row for t in tasks]),
            np.concatenate([t.last_row for t in tasks]),
            np.concatenate([t.first_column for t in tasks]),
            np.concatenate([t.last_column for t in tasks]),
        ).not_empty()

    def where(self, kept: NDArray[np.bool_]) -> Tasks:
        """Return some of the rectangles."""
        return Tasks(self.first_row[kept], self.last_row[kept], self.first_column[kept], self.last_column[kept])

    def not_empty(self) -> Tasks:
        """Return those that have a row and a column."""
        return self.where((self.first_row <= self.last_row) & (self.first_column <= self.last_column))

    def quarters(self) -> Tasks:
        """Return every rectangle as four, or fewer."""
        row, column = (self.first_row + self.last_row) // 2, (self.first_column + self.last_column) // 2
        upper = [Tasks(self.first_row, row, a, b) for a, b in self._columns(column)]
        lower = [Tasks(row + 1, self.last_row, a, b) for a, b in self._columns(column)]
        return Tasks.together(*upper, *lower)

    def _columns(self, column: Ranks) -> list[tuple[Ranks, Ranks]]:
        return [(self.first_column, column), (column + 1, self.last_column)]

    @property
    def largest(self) -> int:
        """The most rows or columns of one."""
        rows, columns = self.last_row - self.first_row, self.last_column - self.first_column
        return int(max(rows.max(initial=0), columns.max(initial=0))) + 1


def powers(beta: float, counts: NDArray[np.int64]) -> Steps:
    """Return exp(-beta k) for whole numbers k of either sign, within a relative 2^-43."""
    power = exp_minus(np.abs(counts) * (beta / _SIXTEENTH))
    for _ in range(4):
        power = power * power
    return np.where(counts >= 0, power, 1 / power)


@dataclass(slots=True)
class Search:
    """A search for the window that is worth most, among those of one table, and what it has found."""

    ranked: Ranked
    beta: float
    mirrored: bool  # ranks are counted from above, and values from the upper bound
    worth: float = 0.0
    best: Window = (0, 0, 0)

    def steps(self, ends: Ranks) -> Steps:
        """Return order statistics."""
        if not self.mirrored:
            return self.ranked.take(ends)
        return self.ranked.grid.top - self.ranked.take(self.ranked.count + 1 - ends)

    def offer(self, worth: Steps, costs: Ranks, left: Ranks, right: Ranks) -> None:
        """Take the best of some windows, if it is better."""
        place = int(np.argmax(worth))
        if worth[place] > self.worth:
            self.worth, self.best = float(worth[place]), (int(costs[place]), int(left[place]), int(right[place]))

    def along(self, windows: Callable[[Ranks], tuple[Ranks, Ranks]], last: int) -> None:
        """Search one window for each k = 0 ... last, each inside the next."""
        if last < 0:
            return
        low, high = np.array([0]), np.array([last])
        self._try(windows, np.unique(np.geomspace(1, last + 1, 64).astype(np.int64) - 1))
        while low.size:
            left, right = windows(high)
            kept = (self.steps(right) - self.steps(left)) * powers(self.beta, low) > self.worth
            low, high = low[kept], high[kept]
            middle = (low + high) // 2
            if middle.size:
                self._try(windows, middle)
            low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
            low, high = low[low < high], high[low < high]

    def _try(self, windows: Callable[[Ranks], tuple[Ranks, Ranks]], costs: Ranks) -> None:
        left, right = windows(costs)
        self.offer((self.steps(right) - self.steps(left)) * powers(self.beta, costs), costs, left, right)

    def inside(self, tasks: Tasks, row_costs: Costs, column_costs: Costs) -> None:
        """Search rectangles whose costs p(u) never fall with u and s(v) never grow with v."""
        tasks = self.promising(tasks, row_costs, column_costs)
        while 0 < tasks.first_row.size <= _MANY and tasks.largest > _SMALL:
            tasks = self.promising(tasks.quarters(), row_costs, column_costs)
        if tasks.first_row.size:
            rows = np.arange(int(tasks.first_row.min()), int(tasks.last_row.max()) + 1)
            columns = np.arange(int(tasks.first_column.min()), int(tasks.last_column.max()) + 1)
            _Table(self, rows, columns, row_costs(rows), column_costs(columns)).search(tasks)

    def promising(self, tasks: Tasks, row_costs: Costs, column_costs: Costs) -> Tasks:
        """Return the rectangles that may hold something better, after a look at one window of each."""
        if not tasks.first_row.size:
            return tasks
        cheap, dear = row_costs(tasks.first_row), column_costs(tasks.last_column)
        weights = powers(self.beta, cheap) * powers(self.beta, dear)
        inner = self.steps(tasks.first_row) - self.steps(tasks.last_column)
        self.offer(inner * weights, cheap + dear, tasks.last_column, tasks.first_row)
        return tasks.where((self.steps(tasks.last_row) - self.steps(tasks.first_column)) * weights > self.worth)


def staircase(search: Search, first: int, last: int, column: int, most: Costs, costs: tuple[Costs, Costs]) -> Tasks:
    """Return rectangles that cover columns `column` ... most(u) of the rows `first` ... `last`; `most` never grows.

    The rows of the first half of a block reach at least as far as its last row does; what all of that half have beyond
    the last row of the block is one rectangle. Blocks without promise are not looked into.
    """
    found = [Tasks.of((first, last, column, int(most(np.array([last]))[0])))]
    low, high = np.array([first]), np.array([last])
    while low.size:
        beyond = np.maximum(most(high) + 1, column)
        block = search.promising(Tasks(low, high, beyond, most(low)).not_empty(), *costs)
        low, high = block.first_row, block.last_row
        middle = (low + high + 1) // 2
        half = Tasks(low, middle - 1, block.first_column, most(middle - 1)).not_empty()
        found.append(search.promising(half, *costs))
        low, high = np.concatenate([low, middle]), np.concatenate([middle - 1, high])
        low, high = low[low < high], high[low < high]
    return Tasks.together(*found)


class _Table:
    """Rows and columns as arrays, to be searched by divide and conquer."""

    def __init__(self, search: Search, rows: Ranks, columns: Ranks, row_costs: Ranks, column_costs: Ranks) -> None:
        self.to, self.rows, self.columns = search, rows, columns
        self.row_costs, self.column_costs = row_costs, column_costs
        self.high, self.low = search.steps(rows), search.steps(columns)
        self.row_weights, self.column_weights = powers(search.beta, row_costs), powers(search.beta, column_costs)

    def search(self, tasks: Tasks) -> None:
        """Offer the best windows of all rectangles, which are given by ranks."""
        row, column = self.rows[0], self.columns[0]
        tasks = Tasks(
            tasks.first_row - row, tasks.last_row - row, tasks.first_column - column, tasks.last_column - column
        )
        while tasks.first_row.size:
            widest = self.high[tasks.last_row] - self.low[tasks.first_column]
            most = widest * self.row_weights[tasks.first_row] * self.column_weights[tasks.last_column]
            tasks = tasks.where(most > self.to.worth)
            if not tasks.first_row.size:
                return
            middle = (tasks.first_row + tasks.last_row) // 2
            worth, best = self._best_columns(middle, tasks)
            costs = self.row_costs[middle] + self.column_costs[best]
            self.to.offer(worth, costs, self.columns[best], self.rows[middle])
            tasks = Tasks.together(
                Tasks(tasks.first_row, middle - 1, tasks.first_column, best),
                Tasks(middle + 1, tasks.last_row, best, tasks.last_column),
            )

    def _best_columns(self, middle: Ranks, tasks: Tasks) -> tuple[Steps, Ranks]:
        """Return the worth and the column of the best window in the middle row of each rectangle."""
        sizes = tasks.last_column - tasks.first_column + 1
        starts = np.cumsum(sizes) - sizes
        columns = np.arange(int(sizes.sum())) - np.repeat(starts - tasks.first_column, sizes)
        worth = (np.repeat(self.high[middle], sizes) - self.low[columns]) * self.column_weights[columns]
        most = np.maximum.reduceat(worth, starts)
        hits = np.flatnonzero(worth == np.repeat(most, sizes))
        return most * self.row_weights[middle], columns[hits[np.searchsorted(hits, starts)]]
