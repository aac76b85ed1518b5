"""From the rows of an engine to exact values: every declared cell, zeros included, or closed groups of private keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.exact_keys import Key as PrivateKey
from discreet.dp.private import Closed
from discreet.engine.backend import Groups, PublicGroups
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.expression import MOST
from discreet.engine.plan import Key
from discreet.engine.relation import Statement

Column: TypeAlias = "NDArray[np.generic]"
Table: TypeAlias = Mapping[str, Column]
"""What a statement returned, by column: integers, which may be masked, Decimals or Python integers, and texts."""

DENSE = "dense"  # the one column of a histogram that was counted by codes: every cell and bin, in order
_LOW = 31  # bits of the low part of a sum in two parts


def assembled(query: BoundedQuery, returned: Sequence[tuple[Statement, Table]]) -> Groups:
    """Return the groups of a query from what its statements returned.

    Guarantee: which cells there are is known before any row is read, or closed; a total beyond +-2^62 counts as that.
    """
    if query.is_private:
        return _private(query, returned)
    measures: dict[int, dp.Exact] = {}
    for statement, table in returned:
        if DENSE in table:
            (place,) = statement.measures
            shape = (*query.shape, statement.bins or 1)
            measures[place] = _exact(
                np.asarray(table[DENSE], dtype=np.int64).reshape(shape), query.measures[place], query
            )
            continue
        cells, known = _cells(query, table)
        bins = statement.bins or 1
        if statement.bins is not None:
            cells = cells * bins + whole(table["bin"])[known]
        for place in statement.measures:
            dense = np.zeros(query.cells * bins, dtype=np.int64)
            dense[cells] = total(table, f"m{place}")[known]
            shape = query.shape if statement.bins is None else (*query.shape, bins)
            measures[place] = _exact(dense.reshape(shape), query.measures[place], query)
    return PublicGroups(tuple(measures[place] for place in range(len(query.measures))))


class KeyedGroups(Closed):
    """Groups of private keys: a key is a text or, beside others, a tuple in which a public key is its place.

    Guarantee: nothing but `open` of a mechanism lets a key or a value out: a key that was not released can be selected
      like any other text, and its values are as closed as those of the others.
    """

    __slots__ = ("_measures", "_places", "_query", "keys")

    keys: dp.ExactKeys
    _places: dict[PrivateKey, int]
    _measures: tuple[NDArray[np.int64] | _Sparse, ...]
    _query: BoundedQuery

    def __init__(
        self,
        keys: dp.ExactKeys,
        places: dict[PrivateKey, int],
        measures: tuple[NDArray[np.int64] | _Sparse, ...],
        query: BoundedQuery,
    ) -> None:
        for name, part in (("keys", keys), ("_places", places), ("_measures", measures), ("_query", query)):
            object.__setattr__(self, name, part)

    def select(self, keys: Sequence[PrivateKey]) -> tuple[dp.Exact, ...]:
        """Return the exact values of each measure for these keys, in this order; 0 where one has none."""
        places = np.array([self._places.get(key, -1) for key in keys], dtype=np.int64)
        made = []
        for found, bounded in zip(self._measures, self._query.measures, strict=True):
            if isinstance(found, _Sparse):
                chosen = found.select(places)
            else:
                chosen = np.where(places >= 0, found[places] if found.size else 0, 0)
            made.append(_exact(chosen, bounded, self._query))
        return tuple(made)

    def __repr__(self) -> str:
        return f"KeyedGroups(unit={self.keys.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:  # what browses an object by its names does not come upon the keys
        return ["keys", "select"]


class _Sparse:
    """Numbers of rows in bins for groups that are not all asked for: a dense table of all could be too large."""

    __slots__ = ("bins", "groups", "places", "values")

    def __init__(
        self, groups: NDArray[np.int64], places: NDArray[np.int64], values: NDArray[np.int64], bins: int
    ) -> None:
        order = np.argsort(groups, kind="stable")
        self.groups, self.places, self.values, self.bins = groups[order], places[order], values[order], bins

    def select(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a row of bins for each group; -1 has none."""
        dense = np.zeros((len(groups), self.bins), dtype=np.int64)
        for row, group in enumerate(groups):
            if group >= 0:
                first, last = np.searchsorted(self.groups, [group, group + 1])
                dense[row, self.places[first:last]] = self.values[first:last]
        return dense


def _private(query: BoundedQuery, returned: Sequence[tuple[Statement, Table]]) -> KeyedGroups:
    first = returned[0][1]
    names, known = _names(query, first)
    places = {name: place for place, name in enumerate(names)}
    keys = dp.ExactKeys(
        names,
        whole(first["units"])[known],
        groups=query.bounds.groups,
        neighbours=query.neighbours,
        unit=query.unit,
    )
    measures: dict[int, NDArray[np.int64] | _Sparse] = {}
    for statement, table in returned:
        here, known = _names(query, table)
        where = np.array([places.get(name, -1) for name in here], dtype=np.int64)
        kept = where >= 0
        for place in statement.measures:
            values = total(table, f"m{place}")[known][kept]
            if statement.bins is not None:
                measures[place] = _Sparse(where[kept], whole(table["bin"])[known][kept], values, statement.bins)
            else:
                dense = np.zeros(len(names), dtype=np.int64)
                dense[where[kept]] = values
                measures[place] = dense
    return KeyedGroups(keys, places, tuple(measures[place] for place in range(len(query.measures))), query)


def _names(query: BoundedQuery, table: Table) -> tuple[list[PrivateKey], NDArray[np.bool_]]:
    """Return the keys that are groups, and which rows have them."""
    known = np.ones(_length(table), dtype=np.bool_)
    parts: list[list[str | int]] = []
    for place, key in enumerate(query.plan.keys):
        column = table[f"g{place}"]
        if key.is_private:
            listed = np.ma.filled(column.astype(object), None).tolist()
            known &= np.array([isinstance(name, str) for name in listed], dtype=np.bool_)
            parts.append(listed)
        else:
            codes = _place_of(key, column)
            known &= codes >= 0
            parts.append(codes.tolist())
    chosen = np.flatnonzero(known).tolist()
    if len(parts) == 1:
        return [parts[0][row] for row in chosen], known
    return [tuple(part[row] for part in parts) for row in chosen], known


def _cells(query: BoundedQuery, table: Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the numbers of the cells of the rows that are in one, the last key fastest, and which rows these are."""
    length = _length(table)
    cells, known = np.zeros(length, dtype=np.int64), np.ones(length, dtype=np.bool_)
    for place, (key, size) in enumerate(zip(query.plan.keys, query.shape, strict=True)):
        codes = _place_of(key, table[f"g{place}"])
        known &= codes >= 0
        cells = cells * size + codes
    return cells[known], known


def _place_of(key: Key, column: Column) -> NDArray[np.int64]:
    """Return the place of each integer in the codes of a key, or -1."""
    assert key.codes is not None
    codes = np.asarray(key.codes, dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    numbers, missing = whole(column), np.ma.getmaskarray(column)
    found = np.minimum(np.searchsorted(codes, numbers, sorter=order), len(codes) - 1)
    places: NDArray[np.int64] = order[found]
    return np.where((codes[places] == numbers) & ~missing, places, -1)


def total(table: Table, name: str) -> NDArray[np.int64]:
    """Return the totals of a measure, cut to +-2^62: one column, or a high part and a low one of 31 bits."""
    if name in table:
        return whole(table[name])
    parts = [np.ma.filled(np.ma.asarray(table[f"{name}_{part}"]), 0).tolist() for part in ("high", "low")]
    sums = [((int(high or 0)) << _LOW) + int(low or 0) for high, low in zip(*parts, strict=True)]
    return np.array([max(-MOST, min(one, MOST)) for one in sums], dtype=np.int64)


def whole(column: Column) -> NDArray[np.int64]:
    """Return a column of whole numbers of any type as int64, cut to +-2^62; NULL as 0."""
    filled = np.ma.filled(np.ma.asarray(column), 0)
    if filled.dtype.kind in "iu" and filled.dtype.itemsize <= 8 and filled.dtype != np.uint64:
        return np.clip(filled.astype(np.int64), -MOST, MOST)
    return np.array([max(-MOST, min(int(one or 0), MOST)) for one in filled.tolist()], dtype=np.int64)


def _length(table: Table) -> int:
    return len(next(iter(table.values())))


def _exact(values: NDArray[np.int64], bounded: BoundedMeasure, query: BoundedQuery) -> dp.Exact:
    return dp.Exact(values, sensitivity=bounded.sensitivity, unit=query.unit)
