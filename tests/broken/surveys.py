"""Wrong ways to survey a table."""

from __future__ import annotations

import numpy as np

from discreet import dp
from discreet.dp.randomness import Stream
from discreet.release.survey import Grouping, Integers, Level, Survey, grouped


class GroupedByTheTable(Survey):
    """Groups the values of columns by how many rows truly have them: the grid says something that nobody paid for."""

    def _level(self, order: int, grid: tuple[Grouping, ...], shares: object, table: Integers, stream: Stream) -> Level:
        if order > 1:
            exact = [
                np.bincount(column, minlength=n) + 1e-9 for column, n in zip(table.T, self.universe.shape, strict=True)
            ]
            grid = tuple(
                grouped(counts / counts.sum(), int(g.max()) + 1) for counts, g in zip(exact, grid, strict=True)
            )
        return super()._level(order, grid, shares, table, stream)  # type: ignore[arg-type]


def of_marginals(sensitivity: dp.Sensitivity) -> dp.Sensitivity:
    """Takes l2 of a histogram for that of its marginals, in which what moved apart moves together."""
    return sensitivity
