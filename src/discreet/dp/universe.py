"""A universe: the product of finite columns, its cells numbered, and tables encoded as counts of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import encoding
from discreet.dp.columns import Boolean, Category, Date, Integer, Listed
from discreet.dp.frames import Rows
from discreet.dp.measured import Bins
from discreet.dp.rational import positive_integer
from discreet.dp.values import Value, whole
from discreet.errors import InvalidParameter, NotSupported

Finite: TypeAlias = Category | Integer | Boolean | Date | Bins
"""Columns whose values can be listed, and so can be public keys."""


MOST_CELLS = 10**9
"""Cells of a dense histogram: 4 GB as 32-bit counts."""
_WIDE = 2**24  # cells up to which counts are 64-bit whatever they are


@dataclass(frozen=True, slots=True)
class Universe:
    """The product of finite columns: every possible row, numbered in mixed radix with the last column fastest.

    >>> adults = Universe({"sex": Category(["Female", "Male"]), "age": 85})
    >>> adults.size, adults.cell(sex="Male", age=3)
    (170, 88)
    """

    columns: Mapping[str, Finite]
    shape: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __init__(self, columns: Mapping[str, Finite | int]) -> None:
        """Take column types, or sizes: a size n stands for the whole numbers from 0 to n - 1."""
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidParameter(
                'a Universe has at least one column: write {"sex": Category(["F", "M"]), "age": 85}, names with types '
                "or sizes."
            )
        kept: dict[str, Finite] = {}
        for name, column in columns.items():
            if isinstance(column, int) and not isinstance(column, bool):
                column = Integer(0, positive_integer(column, name) - 1)
            if not isinstance(column, Listed):
                raise InvalidParameter(
                    f"column {name!r} has no list of values; declare a Category, an Integer or Bins."
                )
            kept[name] = column
        object.__setattr__(self, "columns", MappingProxyType(kept))
        object.__setattr__(self, "shape", tuple(column.size for column in kept.values()))
        if self.size > 10**18:
            raise InvalidParameter("a Universe has at most 1e18 cells; leave out columns or use coarser bins.")

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def cell(self, **row: Value) -> int:
        """Return the number of the cell that a row falls into."""
        if set(row) != set(self.columns):
            raise InvalidParameter(f"a row names every column once: {', '.join(self.columns)}.")
        number = 0
        for name, column in self.columns.items():
            place = column.place(row[name])
            if place < 0:
                raise InvalidParameter(f"{row[name]!r} is not a declared value of column {name!r}.")
            number = number * column.size + place
        return number

    def row(self, cell: int) -> dict[str, Value]:
        """Return the row that falls into a cell."""
        number = whole(cell)
        if number is None or not 0 <= number < self.size:
            raise InvalidParameter(f"a cell is a number from 0 to {self.size - 1}.")
        row: dict[str, Value] = {}
        for name, column in reversed(list(self.columns.items())):
            number, place = divmod(number, column.size)
            row[name] = column.value(place)
        return {name: row[name] for name in self.columns}

    def codes(self, frame: object) -> NDArray[np.int64]:
        """Return the number of the cell that each row falls into, or -1 for a row that is dropped.

        `frame` is a pandas, polars or Arrow table, or a mapping of column names to arrays. Columns of it that are not
        declared are invisible; no value of a declared one raises.
        """
        numbers: NDArray[np.int64] | None = None
        dropped: NDArray[np.bool_] | None = None
        for column, places in encoding.places(self.columns, frame):
            numbers = places.copy() if numbers is None else numbers * column.size + places
            dropped = places < 0 if dropped is None else dropped | (places < 0)
        assert numbers is not None
        assert dropped is not None
        numbers[dropped] = -1
        return numbers

    def encode(self, frame: object) -> NDArray[np.int64] | NDArray[np.int32]:
        """Return how many rows fall into each cell, as a flat array; rows that fall into none are left out.

        Counts are 64-bit, or 32-bit in a universe of more than 2^24 cells where the number of rows fits.

        >>> Universe({"sex": Category(["F", "M"]), "age": 3}).encode({"sex": ["M", "F", "M", "?"], "age": [2, 0, 2, 1]})
        array([1, 0, 0, 0, 0, 2])
        """
        if self.size > MOST_CELLS:
            raise NotSupported(
                f"a dense histogram of {self.size} cells is too large, {MOST_CELLS} is the most: leave out columns, "
                "use coarser bins, or count marginals of universe.codes(frame)."
            )
        numbers = self.codes(frame)
        kept = numbers[numbers >= 0]
        if self.size <= _WIDE:
            return np.bincount(kept, minlength=self.size).astype(np.int64, copy=False)
        histogram = np.zeros(self.size, np.int32) if len(kept) < 2**31 else np.zeros(self.size, np.int64)
        found, counts = np.unique(kept, return_counts=True)
        histogram[found] = counts
        return histogram

    def decode(self, codes: NDArray[np.int64]) -> Rows:
        """Return the rows that fall into these cells: for each column an array of declared values."""
        numbers = np.asarray(codes)
        if numbers.dtype.kind not in "iu" or (
            numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.size
        ):
            raise InvalidParameter(f"a cell is a number from 0 to {self.size - 1}.")
        columns = {}
        for name, column in reversed(list(self.columns.items())):
            numbers, places = np.divmod(numbers, column.size)
            columns[name] = encoding.values(column, places)
        return Rows({name: columns[name] for name in self.columns})

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return (self.row(cell) for cell in range(self.size))

    def __eq__(self, other: object) -> bool:  # the order of the columns numbers the cells
        if not isinstance(other, Universe):
            return NotImplemented
        return self is other or tuple(self.columns.items()) == tuple(other.columns.items())

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))

    def __reduce__(self) -> tuple[type[Universe], tuple[dict[str, Finite]]]:
        return Universe, (dict(self.columns),)
