"""From the columns of a frame to places in the declared domains, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.columns import Listed

Cells: TypeAlias = (
    NDArray[np.int64] | NDArray[np.float64] | NDArray[np.bool_] | NDArray[np.datetime64] | NDArray[np.object_]
)


class Rows(dict[str, Cells]):
    """Rows as an array for each column."""


def places(columns: Mapping[str, Listed], frame: object) -> Iterator[tuple[Listed, NDArray[np.int64]]]:
    """Yield every column with the place of each row in it, -1 where the row has none."""
    for name, column in columns.items():
        values = frame[name]  # type: ignore[index]
        yield column, np.array([column.place(value) for value in values], np.int64)


def values(column: Listed, at: NDArray[np.int64]) -> Cells:
    """Return the declared values at places."""
    listed = np.array([column.value(place) for place in range(column.size)])
    return np.asarray(listed[at])
