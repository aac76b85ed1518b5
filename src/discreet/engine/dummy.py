"""Fake rows made from public facts alone: to try a question on, to write a notebook with, and to learn nothing from."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.domain import Column
from discreet.dp.randomness import Stream, system
from discreet.engine.declared import grid_of
from discreet.engine.table import Table
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 1_000_000  # rows; more of them teach nothing
_MICROSECONDS = 1_000_000


def dummy(table: Table, rows: int) -> pa.Table:
    """Return fake rows of a table, as many as asked for: every value uniform over its domain, units of 1 to R rows.

    Guarantee: they are a function of the declarations and of fresh randomness; no row of the table is read.
      A unit has at most `rows_per_unit` of them, unless it is a declared column with too few values for that.

    >>> from discreet import dp
    >>> table = Table("visits.parquet", columns={"sex": dp.Category(["Female", "Male"]), "age": dp.Integer(0, 110)})
    >>> dummy(table, 100).column_names
    ['sex', 'age']
    """
    import pyarrow as pa

    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MOST:
        raise InvalidParameter(f"rows is a whole number from 1 to {_MOST:,}; got {rows!r:.40}.")
    stream = system()
    arrays: dict[str, Any] = {}
    if table.unit is not None and table.rows_per_unit is not None:
        owners = _owners(stream, rows, table.rows_per_unit)
        arrays[table.unit] = _units(table.columns.get(table.unit), owners)
    for column, domain in table.columns.items():
        if column not in arrays:
            arrays[column] = _uniform(domain, stream, rows)
    return pa.table(arrays)


def _owners(stream: Stream, rows: int, most: int) -> NDArray[np.int64]:
    """Return the number of the unit of every row: units have 1 to `most` rows, except for the last."""
    ends = np.cumsum(1 + _below(stream, most, rows))  # of more units than are used
    return np.searchsorted(ends, np.arange(rows), side="right")


def _units(domain: Column | None, owners: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    if domain is None or isinstance(domain, dp.Text):
        return pa.array([f"unit-{owner}" for owner in owners.tolist()], pa.string())
    size = domain.declared if isinstance(domain, dp.Category | dp.Integer) else 1
    return _values(domain, owners % size)


def _uniform(domain: Column, stream: Stream, rows: int) -> Any:
    return _values(domain, _below(stream, _size(domain), rows))


def _size(domain: Column) -> int:
    match domain:
        case dp.Real():
            low, high = grid_of(domain)
            return high - low + 1
        case dp.Datetime():
            return (domain.last - domain.first) // timedelta(seconds=domain.seconds) + 1
        case dp.Text():
            return 1000
        case _:
            return domain.declared


def _values(domain: Column, places: NDArray[np.int64]) -> pa.Array:
    """Return the values at these places of a domain."""
    import pyarrow as pa

    match domain:
        case dp.Category():
            kind = pa.int64() if isinstance(domain.values[0], int) else pa.string()
            return pa.array(domain.values, kind).take(pa.array(places))
        case dp.Integer():
            return pa.array(places + domain.lower, pa.int64())
        case dp.Boolean():
            return pa.array(places == 1)
        case dp.Date():
            first = np.datetime64(domain.first, "D")
            return pa.array(first + places, pa.date32())
        case dp.Datetime():
            first = np.datetime64(domain.first, "us")
            return pa.array(first + places * (domain.seconds * _MICROSECONDS), pa.timestamp("us"))
        case dp.Real():
            low = grid_of(domain)[0]
            return pa.array([_inside(domain, low + place) for place in places.tolist()], pa.float64())
        case dp.Bins():
            return pa.array(np.array(domain.values, np.float64)[places], pa.float64())
        case dp.Text():
            return pa.array([f"text-{place}" for place in places.tolist()], pa.string())
        case _:
            assert_never(domain)


def _inside(domain: dp.Real, steps: int) -> float:
    """Return a multiple of the step as a float, or the bound that is rounded to it."""
    value: Fraction = steps * domain.step
    return min(max(float(value), float(domain.lower)), float(domain.upper))


def _below(stream: Stream, size: int, count: int) -> NDArray[np.int64]:
    """Return uniform whole numbers from 0 to size - 1: words of just enough bits, and only those that are below."""
    bits = (size - 1).bit_length()
    if bits == 0:
        return np.zeros(count, np.int64)
    found = np.zeros(0, np.uint64)
    while len(found) < count:
        words = stream.words(2 * (count - len(found)) + 64, 64) >> np.uint64(64 - bits)
        found = np.concatenate([found, words[words < size]])
    return found[:count].astype(np.int64)
