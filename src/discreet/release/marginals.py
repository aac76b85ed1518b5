"""Marginals of a dense array, many at once through the sums they share, and the way back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

import numpy as np

from discreet.errors import InvalidParameter
from discreet.release.query import Array

Axes: TypeAlias = tuple[int, ...]

_FEW = 16  # columns side by side up to which another way than a loop over rows is faster
_PART = 1 << 20  # numbers that are repeated at a time
_SEARCHED = 64  # tables that are looked through for one that holds another: beyond, summing anew is as fast
_SINGLE = 4096  # numbers that are added in single precision before the sum goes on in double


def marginal(array: Array, shape: Axes, axes: Axes) -> Array:
    """Return the sums of a dense array over all columns but `axes`, which are sorted positions.

    >>> marginal(np.arange(6), (2, 3), (1,))
    array([3, 5, 7])
    """
    _check(shape, axes)
    blocks = _blocks([(size, axis in axes) for axis, size in enumerate(shape)])
    while not all(kept for _, kept in blocks):
        at = max((i for i, (_, kept) in enumerate(blocks) if not kept), key=lambda i: blocks[i][0])
        before, after = (math.prod(size for size, _ in part) for part in (blocks[:at], blocks[at + 1 :]))
        array = _summed(array.reshape(before, blocks[at][0], after))
        blocks = _blocks(blocks[:at] + blocks[at + 1 :])
    return array.reshape([shape[axis] for axis in axes]).astype(_wide(array), copy=False)


def lift(tables: Mapping[Axes, Array], shape: Axes) -> Array:
    """Return the dense array whose cell x holds the sum, over all tables, of their cell of x, in the shape given.

    It is the adjoint of taking marginals: sum_x p[x] lift(y)[x] is the sum over the tables of <marginal of p, y>.

    >>> lift({(0,): np.array([10, 20]), (1,): np.array([1, 2, 3])}, (2, 3))
    array([[11, 12, 13],
           [21, 22, 23]])
    """
    return shared_sums(tuple(shape), tuple(tables)).lift(tables)


class Marginals:
    """The marginals of one dense array, each computed once, from the smallest one at hand that holds it.

    A call is what `Workload.answers` takes: `marginals(axes)` is the marginal over the sorted positions `axes`. The
    array must not change.

    >>> table = Marginals(np.arange(6), (2, 3))
    >>> table((1,)), table(())
    (array([3, 5, 7]), array(15))
    """

    __slots__ = ("_tables", "array", "shape")

    def __init__(self, array: Array, shape: Axes) -> None:
        self.array, self.shape = array.reshape(shape), tuple(shape)
        self._tables: dict[Axes, Array] = {}

    def __call__(self, axes: Axes) -> Array:
        """Return the marginal over sorted axes."""
        found = self._tables.get(axes)
        if found is None:
            found = self._tables[axes] = self._computed(axes)
        return found

    def _computed(self, axes: Axes) -> Array:
        wanted = set(axes)
        holders = [held for held in islice(self._tables, _SEARCHED) if wanted <= set(held)]
        if not holders:
            return marginal(self.array, self.shape, axes)
        held = min(holders, key=lambda one: self._tables[one].size)
        places = tuple(held.index(axis) for axis in axes)
        return marginal(self._tables[held], self._tables[held].shape, places)

    def prepare(self, cliques: Iterable[Axes]) -> None:
        """Compute the marginals over all cliques at once, through the sums they share."""
        missing = tuple(dict.fromkeys(axes for axes in cliques if axes not in self._tables))
        if missing:
            self._tables |= shared_sums(self.shape, missing).tables(self.array)


@lru_cache(maxsize=256)
def shared_sums(shape: Axes, cliques: tuple[Axes, ...]) -> SharedSums:
    """Return the order in which to sum for these cliques; it is made once."""
    return SharedSums(shape, cliques)


@dataclass(frozen=True, slots=True)
class _Step:
    """Sum array `source`, seen as (before, size, after), over its middle: that is array `result`."""

    source: int
    view: tuple[int, int, int]
    result: int


@dataclass(frozen=True, slots=True, eq=False)
class SharedSums:
    """The sums that lead from a dense array to its marginals over some cliques, each done once.

    Columns are taken in order. Cliques that have the column keep it; the others share the array without it.
    """

    shape: Axes
    cliques: tuple[Axes, ...]
    _steps: list[_Step] = field(init=False, default_factory=list)
    _places: dict[Axes, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for axes in self.cliques:
            _check(self.shape, axes)
        self._plan(0, tuple(range(len(self.shape))), 0, set(self.cliques))

    def _plan(self, array: int, axes: Axes, kept: int, wanted: set[Axes]) -> None:
        """Lead from an array over `axes` to the cliques wanted, all of which have the first `kept` of them."""
        needed = set().union(*wanted)
        array, axes = self._without(array, axes, [axis for axis in axes if axis not in needed])
        if len(wanted) == 1:
            self._places[wanted.pop()] = array
            return
        while all(axes[kept] in clique for clique in wanted):
            kept += 1
        axis = axes[kept]
        having = {clique for clique in wanted if axis in clique}
        rest, others = self._without(array, axes, [axis])
        self._plan(rest, others, kept, wanted - having)
        self._plan(array, axes, kept + 1, having)

    def _without(self, array: int, axes: Axes, dropped: list[int]) -> tuple[int, Axes]:
        """Sum out some axes: neighbours together, the largest block first."""
        blocks: list[list[int]] = []
        for axis in dropped:
            if blocks and axes.index(axis) == axes.index(blocks[-1][-1]) + 1:
                blocks[-1].append(axis)
            else:
                blocks.append([axis])
        for block in sorted(blocks, key=lambda one: -math.prod(self.shape[axis] for axis in one)):
            at = axes.index(block[0])
            parts = (axes[:at], tuple(block), axes[at + len(block) :])
            before, size, after = (math.prod(self.shape[axis] for axis in part) for part in parts)
            self._steps.append(_Step(array, (before, size, after), len(self._steps) + 1))
            array, axes = len(self._steps), parts[0] + parts[2]
        return array, axes

    def tables(self, array: Array) -> dict[Axes, Array]:
        """Return the marginals over all cliques of an array of finite numbers."""
        found: dict[int, Array] = {0: array}
        last = {step.source: number for number, step in enumerate(self._steps)}
        kept = set(self._places.values())
        for number, step in enumerate(self._steps):
            found[step.result] = _summed(found[step.source].reshape(step.view))
            if last[step.source] == number and step.source not in kept:  # a large one is not held longer than needed
                del found[step.source]
        dtype = _wide(array)
        return {
            axes: found[self._places[axes]].reshape([self.shape[axis] for axis in axes]).astype(dtype, copy=False)
            for axes in self.cliques
        }

    def lift(self, tables: Mapping[Axes, Array]) -> Array:
        """Return the dense array that holds in each cell the sum of the cells of the tables that it adds to."""
        dtype = np.result_type(*(table.dtype for table in tables.values())) if tables else np.dtype(np.float64)
        found: list[Array | None] = [None] * (len(self._steps) + 1)
        ours = [False] * len(found)
        for axes, place in self._places.items():
            table = tables[axes]
            if table.shape != tuple(self.shape[axis] for axis in axes):
                raise InvalidParameter(f"the table over axes {axes} has another shape: {table.shape}.")
            found[place] = table.astype(dtype, copy=False)
        for step in reversed(self._steps):
            part, held = found[step.result], found[step.source]
            assert part is not None  # every array leads to a clique
            found[step.result] = None
            rows = part.reshape(step.view[0], step.view[2])
            if held is None:
                held, ours[step.source] = np.repeat(rows[:, None, :], step.view[1], axis=1), True
            else:
                held, ours[step.source] = held if ours[step.source] else held.copy(), True
                _add(held.reshape(step.view), rows)
            found[step.source] = held
        dense = found[0] if found[0] is not None else np.zeros(self.shape, dtype)
        return dense.reshape(self.shape) if ours[0] else np.array(dense, order="C").reshape(self.shape)


def _check(shape: Axes, axes: Axes) -> None:
    if list(axes) != sorted(set(axes)) or not all(0 <= axis < len(shape) for axis in axes):
        raise InvalidParameter(f"axes are different positions from 0 to {len(shape) - 1}, sorted; got {axes}.")


def _blocks(parts: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """Merge neighbours that are both kept or both summed out."""
    merged: list[tuple[int, bool]] = []
    for size, kept in parts:
        if merged and merged[-1][1] == kept:
            merged[-1] = merged[-1][0] * size, kept
        else:
            merged.append((size, kept))
    return merged


def _wide(array: Array) -> np.dtype[np.generic]:
    """Return the type of sums: 64-bit integers, or floats as wide as they came."""
    return array.dtype if array.dtype.kind in "fO" else np.dtype(np.int64)


def _summed(array: Array) -> Array:
    """Return the sums over the middle of three axes, by the fastest way that there is for its shape."""
    before, size, after = array.shape
    if array.dtype.kind != "f":
        return np.asarray(array.sum(axis=1, dtype=_wide(array)))
    if array.dtype.itemsize < 8 and size > _SINGLE:
        starts = range(0, size, _SINGLE)
        total = np.zeros((before, after))
        for start in starts:
            total += _summed(array[:, start : start + _SINGLE])
        return total.astype(array.dtype)
    if after == 1:
        return np.asarray(array.reshape(before, size) @ np.ones((size, 1), array.dtype))
    if before > 1 and after <= _FEW and size * after**2 <= 2**12:
        return np.asarray(array.reshape(before, size * after) @ _stacked(size, after, array.dtype.char).T)
    return np.asarray(np.matmul(np.ones((1, size), array.dtype), array)).reshape(before, after)


def _add(total: Array, rows: Array) -> None:
    """Add (before, after) to every one of the `size` rows of (before, size, after); short rows are repeated first."""
    before, size, after = total.shape
    if size == 1 or after > _FEW:
        total += rows[:, None, :]
        return
    for start in range(0, before, some := max(1, _PART // (size * after))):
        total[start : start + some] += np.repeat(rows[start : start + some, None, :], size, axis=1)


@lru_cache(maxsize=1024)
def _stacked(size: int, after: int, kind: str) -> Array:
    return np.tile(np.eye(after, dtype=kind), (1, size))
