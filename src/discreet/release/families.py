"""Families of queries on one marginal, each answered in one pass: its cells, prefixes, ranges, a list."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from discreet.dp.neighbours import Neighbours
from discreet.errors import InvalidParameter
from discreet.release.query import Array, Integers, LinearQuery, Product

if TYPE_CHECKING:
    from discreet.release.workload import Workload


Norms: TypeAlias = tuple[int, int, int]
"""The l1 norm, the square of the l2 norm and the greatest entry of how far one row moves all answers."""

_PAIRS = 2**24  # pairs of cells that are compared one by one


class Family(ABC):
    """Queries that one marginal answers. `axes` are the sorted positions of its columns, `size` how many they are."""

    __slots__ = ()

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    scale: int

    @property
    def cells(self) -> tuple[int, ...]:
        """The shape of the marginal that answers them."""
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of queries."""

    @abstractmethod
    def answers(self, marginal: Array) -> Array:
        """Return all answers from the marginal over `axes`, in order; integers stay integers where `scale` is 1."""

    @abstractmethod
    def counts(self, marginal: Array) -> Array:
        """Return `scale` times all answers from a marginal of integers, exactly."""

    @abstractmethod
    def query(self, number: int) -> LinearQuery:
        """Return one of the queries. Its axes may be fewer: those on which it depends."""

    @abstractmethod
    def norms(self, neighbours: Neighbours) -> Norms:
        """Return bounds on how far one row moves `scale` times all answers; attained, unless there are very many."""

    def weights(self) -> Integers:
        """Return `scale` times the weights, a row for each query and a column for each cell of the marginal."""
        rows = [self.scale // query.scale * over(query, self.axes) for query in self]
        return np.array(rows, np.int64).reshape(self.size, -1)

    def __iter__(self) -> Iterator[LinearQuery]:
        return (self.query(number) for number in range(self.size))

    def __len__(self) -> int:
        return self.size

    def __add__(self, other: Family | LinearQuery | Workload) -> Workload:
        from discreet.release.workload import Workload

        return Workload([self, other])

    def __radd__(self, other: LinearQuery) -> Workload:
        from discreet.release.workload import Workload

        return Workload([other, self])


@final
@dataclass(frozen=True, slots=True)
class Marginal(Family):
    """All cells of the marginal over some columns."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def scale(self) -> int:  # type: ignore[override]
        """The weights are 0 and 1."""
        return 1

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.cells)

    def answers(self, marginal: Array) -> Array:
        """Return the marginal, flat."""
        return checked(self, marginal).ravel()

    def counts(self, marginal: Array) -> Array:
        """Return the marginal of integers, flat."""
        return self.answers(whole(marginal))

    def query(self, number: int) -> Product:
        """Return the query that counts one cell."""
        places = np.unravel_index(numbered(self, number), self.cells)
        factors = {a: _one(n, int(p), int(p) + 1) for a, n, p in zip(self.axes, self.cells, places, strict=True)}
        return Product.of(self.shape, factors)

    def norms(self, neighbours: Neighbours) -> Norms:
        """Return 1, 1, 1: a row is in one cell; 2, 2, 1 if it moves to another."""
        if neighbours is Neighbours.ADD_REMOVE:
            return 1, 1, 1
        return (2, 2, 1) if self.size > 1 else (0, 0, 0)


@final
@dataclass(frozen=True, slots=True)
class Prefixes(Family):
    """The rows whose value in one column is at most the i-th, for every i; the last holds them all."""

    shape: tuple[int, ...]
    axes: tuple[int]

    @property
    def scale(self) -> int:  # type: ignore[override]
        """The weights are 0 and 1."""
        return 1

    @property
    def size(self) -> int:
        """One query for every cell of the column."""
        return self.shape[self.axes[0]]

    def answers(self, marginal: Array) -> Array:
        """Return the running sums."""
        return np.cumsum(checked(self, marginal), dtype=_sums(marginal))

    def counts(self, marginal: Array) -> Array:
        """Return the running sums of integers."""
        return self.answers(whole(marginal))

    def query(self, number: int) -> Product:
        """Return the query that counts up to one value."""
        return Product.of(self.shape, {self.axes[0]: _one(self.size, 0, numbered(self, number) + 1)})

    def norms(self, neighbours: Neighbours) -> Norms:
        """A row at the first value is in every prefix; one that moves from there to the last leaves all but one."""
        moved = self.size if neighbours is Neighbours.ADD_REMOVE else self.size - 1
        return moved, moved, min(moved, 1)


@final
@dataclass(frozen=True, slots=True)
class Ranges(Family):
    """The rows whose value lies between the i-th and the j-th, for all i <= j; in one column, or in each of two."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def scale(self) -> int:  # type: ignore[override]
        """The weights are 0 and 1."""
        return 1

    @property
    def size(self) -> int:
        """n (n + 1) / 2 for a column of n cells; the product for two."""
        return math.prod(n * (n + 1) // 2 for n in self.cells)

    def answers(self, marginal: Array) -> Array:
        """Return differences of running sums: by first cell, then last cell; the last column fastest."""
        values = checked(self, marginal).astype(_sums(marginal), copy=False)
        for position, n in enumerate(self.cells):
            first, last = _ends(n)
            sums = np.cumsum(values, axis=position)
            sums = np.concatenate([np.zeros_like(sums.take([0], axis=position)), sums], axis=position)
            values = sums.take(last + 1, axis=position) - sums.take(first, axis=position)
        return values.ravel()

    def counts(self, marginal: Array) -> Array:
        """Return differences of running sums of integers."""
        return self.answers(whole(marginal))

    def query(self, number: int) -> Product:
        """Return the query that counts one range."""
        pairs = [_ends(n) for n in self.cells]
        at = np.unravel_index(numbered(self, number), [len(first) for first, _ in pairs])
        spans = [(int(first[i]), int(last[i]) + 1) for (first, last), i in zip(pairs, at, strict=True)]
        named = zip(self.axes, self.cells, spans, strict=True)
        return Product.of(self.shape, {axis: _one(n, *span) for axis, n, span in named})

    def norms(self, neighbours: Neighbours) -> Norms:
        """A row at x is in (x + 1)(n - x) ranges of a column; rows at x and y share those that hold both."""
        both = [np.multiply.outer(np.arange(1, n + 1), np.arange(n, 0, -1)) for n in self.cells]
        each = reduce(np.multiply.outer, [np.diagonal(one) for one in both]).ravel()
        most = int(each.max())
        if neighbours is Neighbours.ADD_REMOVE:
            return most, most, 1
        if each.size**2 > _PAIRS:
            return 2 * most, 2 * most, 1
        shared = reduce(np.kron, [np.triu(one) + np.triu(one, 1).T for one in both])
        moved = int((each[:, None] + each - 2 * shared).max())
        return moved, moved, min(moved, 1)


@lru_cache(maxsize=64)
def _ends(n: int) -> tuple[Integers, Integers]:
    first, last = np.triu_indices(n)
    return first, last


def _one(size: int, start: int, stop: int) -> Integers:
    vector = np.zeros(size, np.int64)
    vector[start:stop] = 1
    return vector


def numbered(family: Family, number: int) -> int:
    """Return the number of a query of a family, or refuse it."""
    if not 0 <= number < family.size:
        raise InvalidParameter(f"a query of this family has a number from 0 to {family.size - 1}.")
    return number


def checked(family: Family, marginal: Array) -> Array:
    """Return the marginal of a family, or refuse one of another shape."""
    if marginal.shape != family.cells:
        raise InvalidParameter(
            f"these queries are answered by the marginal over axes {family.axes}, of shape {family.cells}; got "
            f"{marginal.shape}."
        )
    return marginal


def _sums(marginal: Array) -> type[np.generic]:
    return {"i": np.int64, "u": np.int64, "b": np.int64, "O": np.object_}.get(marginal.dtype.kind, np.float64)


def whole(marginal: Array) -> Array:
    """Return a marginal of integers, or refuse one of floats."""
    if marginal.dtype.kind not in "iuO":
        raise InvalidParameter(f"counts takes integers, not {marginal.dtype}; answers takes floats.")
    return marginal


def over(query: LinearQuery, axes: tuple[int, ...]) -> Array:
    """Return `scale` times the weights of a query over a marginal that has its axes and perhaps more."""
    sizes = [query.shape[axis] if axis in query.axes else 1 for axis in axes]
    return np.broadcast_to(query.weights().reshape(sizes), [query.shape[axis] for axis in axes])
