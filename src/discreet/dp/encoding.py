"""From the columns of a frame to places in the declared domains, and back: by whole columns, never row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TypeAlias, assert_never, cast

import numpy as np
from numpy.typing import NDArray

from discreet.dp.columns import Boolean, Category, Date, Integer, Listed
from discreet.dp.frames import Bits, Foreign, Keyed, Numbers, Objects, Part, Plain, columns_of
from discreet.dp.measured import Bins
from discreet.errors import InvalidParameter

Places: TypeAlias = NDArray[np.int64]

_HASHED = (str, int, float, date, Decimal, np.generic)  # kinds of objects that are looked up once for each value
_MOST = 2**63 - 1


def places(columns: Mapping[str, Listed], frame: object) -> Iterator[tuple[Listed, Places]]:
    """Yield every column with the place of each row in it, -1 where the row has none."""
    rows = None
    for (name, column), parts in zip(columns.items(), columns_of(frame, list(columns)), strict=True):
        found = [_of_part(column, part) for part in parts]
        together = found[0] if len(found) == 1 else np.concatenate([*found, np.zeros(0, np.int64)])
        if rows is not None and len(together) != rows:
            raise InvalidParameter(f"column {name!r} has another length than the columns before it.")
        rows = len(together)
        yield column, together


def _of_part(column: Listed, part: Part) -> Places:
    match part:
        case Objects(values):
            return _of_objects(column, values)
        case Keyed(numbers, keys):
            return np.append(_of_objects(column, keys), column.missing)[numbers]
        case Foreign(missing):
            return np.where(missing, column.missing, column.elsewhere)
        case Plain(array, missing):
            found = _of_array(column, array)
            if array.dtype.kind in "fM":
                nothing = np.isnan(array) if array.dtype.kind == "f" else np.isnat(array)
                missing = nothing if missing is None else missing | nothing
            if missing is not None:
                found[missing] = column.missing
            return found
        case _:
            assert_never(part)


class _Memory(dict[object, int]):
    """The place of every value seen, worked out once."""

    __slots__ = ("column", "typed")

    def __init__(self, column: Listed, *, typed: bool) -> None:
        self.column, self.typed = column, typed

    def __missing__(self, key: object) -> int:
        value = key[1] if self.typed and isinstance(key, tuple) else key
        place = self[key] = self.column.place(value)
        return place


def _of_objects(column: Listed, values: Sequence[object]) -> Places:
    """Return the place of every object. True equals 1, so where kinds are mixed a value is known with its kind."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {float}:
        part = Plain(np.array(values, np.float64))  # in which None is NaN, missing like it
        return _of_part(column, part)
    if all(issubclass(kind, _HASHED) for kind in kinds):
        memory = _Memory(column, typed=len(kinds) > 1)
        keys = zip(map(type, values), values, strict=True) if memory.typed else values
        try:
            return np.fromiter(map(memory.__getitem__, keys), np.int64, count=len(values))
        except TypeError:  # a number that has no hash: the signaling NaN of decimals
            pass
    return np.fromiter(map(column.place, values), np.int64, count=len(values))


def _of_array(column: Listed, array: Numbers) -> Places:
    """Return the place of every number, truth value or instant; what is missing falls anywhere."""
    kind = array.dtype.kind
    if kind in "iuf" and _needs_wide_integers(column, array):
        return _of_objects(column, array.tolist())
    found = np.full(len(array), -1, np.int64)
    if kind == "M" and isinstance(column, Date):
        found = _offsets(*_days(array), _number(column.first), column.declared)
    elif kind == "b" and isinstance(column, Boolean):
        found = array.astype(np.int64)
    elif kind == "f" and isinstance(column, Bins):
        with np.errstate(over="ignore"):  # an edge beyond half precision is infinite there
            found = _binned(array, column.floats.astype(array.dtype), np.isfinite(array))
    elif kind in "iu" and isinstance(column, Bins):
        edges = np.array([math.ceil(edge) for edge in column.edges], np.int64)
        found = _binned(array, edges, array <= math.floor(column.edges[-1]))
    elif kind in "iuf" and isinstance(column, Integer):
        found = _offsets(*_whole(array), column.lower, column.declared)
    elif kind in "iuf" and isinstance(column, Category) and isinstance(column.values[0], int):
        found = _looked_up(*_whole(array), np.array(column.values, np.int64))
    names = _named(column, array)
    return np.where(found >= 0, found, names)


def _needs_wide_integers(column: Listed, array: Numbers) -> bool:
    """Return whether 64-bit integers do not hold the array or what the column declares."""
    declared: Sequence[object] = ()
    if isinstance(column, Bins) and array.dtype.kind != "f":
        declared = (column.edges[0], column.edges[-1])
    elif isinstance(column, Category):
        declared = column.values
    wide = any(not isinstance(value, str) and abs(value) > _MOST for value in declared)  # type: ignore[arg-type]
    return wide or (array.dtype == np.uint64 and bool((array > _MOST).any()))


def _whole(array: Numbers) -> tuple[Places, Bits]:
    """Return numbers as 64-bit integers, and where that is exact."""
    if array.dtype.kind != "f":
        return array.astype(np.int64), np.ones(len(array), np.bool_)
    with np.errstate(over="ignore", invalid="ignore"):
        double = array.astype(np.float64)
        exact = (double == np.floor(double)) & (np.abs(double) < 2.0**63) & (double == array)
    return np.where(exact, double, 0).astype(np.int64), exact


def _days(array: Numbers) -> tuple[Places, Bits]:
    """Return instants as days from 1970, and where they are the midnight that begins one."""
    days = array.astype("M8[D]")
    return days.astype(np.int64), np.asarray(days == array)


def _number(day: date) -> int:
    return (day - date(1970, 1, 1)).days


def _offsets(whole: Places, exact: Bits, lower: int, size: int) -> Places:
    inside = exact & (whole >= lower) & (whole <= lower + size - 1)
    return np.where(inside, whole - lower, -1)


def _looked_up(whole: Places, exact: Bits, declared: Places) -> Places:
    order = np.argsort(declared)
    at = np.minimum(np.searchsorted(declared[order], whole), len(declared) - 1)
    return np.where(exact & (declared[order][at] == whole), order[at], -1)


def _binned(array: Numbers, edges: Numbers | Places, inside: Bits) -> Places:
    """Return the last edge at or below each number inside; the last bin includes its upper edge."""
    at = np.minimum(np.searchsorted(edges, array, side="right") - 1, len(edges) - 2)
    return np.where(inside & (array <= edges[-1]), at, -1)


def _named(column: Listed, array: Numbers) -> Places:
    """Return the extra cell that each value falls into: the one it names, or that of what is not declared."""
    found = np.full(len(array), column.elsewhere, np.int64)
    for at, name in enumerate(column.extra):
        if isinstance(name, int) and array.dtype.kind in "iuf" and abs(name) <= _MOST:
            whole, exact = _whole(array)
            found[exact & (whole == name)] = column.declared + at
        elif isinstance(name, date) and array.dtype.kind == "M":
            days, exact = _days(array)
            found[exact & (days == _number(name))] = column.declared + at
    return found


def values(column: Listed, at: Places) -> Numbers:
    """Return the declared values, or names of cells, at places."""
    declared = _declared(column, at)
    if not bool((at >= column.declared).any()):
        return cast(Numbers, declared)
    mixed = declared.astype(object)
    for place, name in enumerate(column.extra, start=column.declared):
        mixed[at == place] = name
    return cast(Numbers, mixed)


def _declared(column: Listed, at: Places) -> Places | Bits | Numbers | NDArray[np.datetime64] | NDArray[np.object_]:
    """Return the declared values at places, and anything at the places of extra cells."""
    match column:
        case Integer():
            return at + column.lower
        case Boolean():
            return at > 0
        case Date():
            return np.datetime64(column.first, "D") + at
        case Bins():
            return np.append(np.array(column.values), [0, 0])[at]
        case Category() if all(isinstance(value, int) and abs(value) <= _MOST for value in column.values):
            return np.append(np.array(column.values, np.int64), [0, 0])[at]
        case _:
            return np.array([column.value(place) for place in range(column.size)], object)[at]
