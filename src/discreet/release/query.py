"""A linear query: every row of the universe has a weight in [0, 1], and the answer is the sum over the rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from hashlib import blake2b
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from discreet.dp.neighbours import Neighbours
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

Array: TypeAlias = NDArray[Any]
Integers: TypeAlias = NDArray[np.int64]

_SAFE = 1 << 62  # sums of two integers below it fit 64 bits
_CACHED = 1 << 22  # cells of a table whose weights are also kept as floats: 32 MB
_CHUNK = 1 << 18  # cells converted at a time where they are not


class LinearQuery(ABC):
    """A weight in [0, 1] for every cell of a universe, kept as integers over a power of two, `scale`.

    It depends on the columns at the positions `axes` only (sorted), so the marginal over them answers it. Two queries
    are equal when their weights are, however they were written: `key` is the same.

    Guarantee: Q(D) is a whole multiple of 1 / `scale`, and one row moves it by at most what `sensitivity` says. The
      caller must ensure that a unit has one row, or scale by the sensitivity of the histogram.
    Source: Roth, lecture 7, 2011 (queries of the iterative construction); Dwork, Roth, 2014, Section 4.
    """

    __slots__ = ()

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    scale: int
    key: bytes

    @property
    def cells(self) -> tuple[int, ...]:
        """The shape of the marginal that answers it."""
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    @abstractmethod
    def range(self) -> tuple[int, int]:
        """The least and the greatest of the weights, times `scale`."""

    @abstractmethod
    def answer(self, marginal: Array) -> float:
        """Return Q of a marginal over exactly `axes`, of integers or floats, as a float."""

    @abstractmethod
    def count(self, marginal: Array) -> int:
        """Return `scale` times Q of a marginal of integers over exactly `axes`: a whole number, exactly."""

    @abstractmethod
    def weights(self) -> Array:
        """Return `scale` times the weights, as integers over the marginal of `axes`."""

    @abstractmethod
    def complement(self) -> LinearQuery:
        """Return the query of weights 1 - w: its answer is the number of rows minus this one's."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Return how far one row moves the answer: the greatest weight, or the widest difference if it is replaced.

        A query that no row moves is given the least step, 1 / `scale`: a Sensitivity is above 0.
        """
        least, most = self.range
        moved = max(1, most if neighbours is Neighbours.ADD_REMOVE else most - least)
        return Sensitivity(l1=Fraction(moved, self.scale), neighbours=neighbours)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, LinearQuery) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(axes={self.axes}, cells={self.cells}, scale={self.scale})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Product(LinearQuery):
    """The query of weights (constant + coefficient * f_1[x_1] * ... * f_m[x_m]) / scale, one vector per axis.

    A cell, a conjunction of subsets, a range, a column of weights, and the complement of each is one. Make it with
    `Product.of`: fields here are in lowest terms.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    factors: tuple[Integers, ...]
    constant: int
    coefficient: int
    scale: int
    key: bytes = field(init=False)
    _where: tuple[int | slice, ...] = field(init=False)
    _vectors: tuple[Array, ...] = field(init=False)  # of the axes that are not one cell, last axis first
    _plain: bool = field(init=False)

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        factors: dict[int, Integers],
        scale: int = 1,
        *,
        constant: int = 0,
        coefficient: int = 1,
    ) -> Product:
        """Return the query in lowest terms: axes on which it depends, factors without common divisors."""
        kept: dict[int, Integers] = {}
        for axis in sorted(factors):
            vector = np.asarray(factors[axis], dtype=np.int64)
            divisor = int(np.gcd.reduce(vector))
            if divisor:
                divisor = -divisor if vector[np.flatnonzero(vector)[0]] < 0 else divisor
                vector = vector // divisor
            coefficient *= divisor
            if (vector != vector[0]).any():
                kept[axis] = vector
        if not coefficient:
            kept = {}
        if not kept:
            constant, coefficient = constant + coefficient, 0
        if len(kept) == 1 and constant:
            ((axis, vector),) = kept.items()
            return cls.of(shape, {axis: constant + coefficient * vector}, scale)
        common = math.gcd(constant, coefficient, scale)
        lowest = constant // common, coefficient // common, scale // common
        return cls(shape, tuple(kept), tuple(kept.values()), *lowest)

    def __post_init__(self) -> None:
        where: list[int | slice] = []
        vectors: list[Array] = []
        plain = True
        for vector in self.factors:
            vector.flags.writeable = False
            places = np.flatnonzero(vector)
            first, last = int(places[0]), int(places[-1])
            if first == last:  # in lowest terms its weight is 1
                where.append(first)
                continue
            hull = vector[first : last + 1]
            plain = plain and bool((hull == 1).all())
            where.append(slice(first, last + 1))
            vectors.append(hull.astype(np.float64))
        for name, value in (("_where", tuple(where)), ("_vectors", tuple(vectors[::-1])), ("_plain", plain)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "key", self._key())
        _check_weights(self)

    def _key(self) -> bytes:
        head = ("product", self.shape, self.axes, self.constant, self.coefficient, self.scale)
        digest = blake2b(repr(head).encode(), digest_size=16)
        for vector in self.factors:
            digest.update(vector.tobytes())
        return digest.digest()

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of the weights, times `scale`."""
        ends = [(int(vector.min()), int(vector.max())) for vector in self.factors]
        low, high = reduce(_times, ends, (1, 1))
        one, other = self.constant + self.coefficient * low, self.constant + self.coefficient * high
        return min(one, other), max(one, other)

    def answer(self, marginal: Array) -> float:
        """Return Q of a marginal over exactly `axes`, of integers or floats, as a float."""
        if marginal.shape != self.cells:
            raise _wrong_cells(self, marginal)
        part = marginal[self._where]
        if self._plain:
            value = float(part.sum())
        else:
            for vector in self._vectors:
                part = part.dot(vector)
            value = float(part)
        if self.constant:
            return (self.constant * float(marginal.sum()) + self.coefficient * value) / self.scale
        return self.coefficient * value / self.scale

    def count(self, marginal: Array) -> int:
        """Return `scale` times Q of a marginal of integers over exactly `axes`: a whole number, exactly."""
        marginal = _whole(self, marginal, math.prod(int(abs(vector).max()) for vector in self.factors))
        total = int(marginal.sum()) if self.constant else 0
        part = marginal[self._where]
        for vector in self._vectors:
            part = part.dot(vector.astype(np.int64).astype(part.dtype))
        return self.constant * total + self.coefficient * int(part)

    def weights(self) -> Array:
        """Return `scale` times the weights, as integers over the marginal of `axes`."""
        dtype = np.int64 if self.scale < _SAFE else object
        outer = reduce(np.multiply.outer, self.factors, np.ones((), dtype))
        return np.asarray(self.constant + self.coefficient * outer, dtype)

    def complement(self) -> Product:
        """Return the query of weights 1 - w: its answer is the number of rows minus this one's."""
        factors = dict(zip(self.axes, self.factors, strict=True))
        rest = self.scale - self.constant
        return Product.of(self.shape, factors, self.scale, constant=rest, coefficient=-self.coefficient)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(LinearQuery):
    """The query of arbitrary weights over the marginal of its axes; of the whole universe if all are named.

    Make it with `discreet.release.canonical.table`, which returns a `Product` where the weights factor.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    table: Array
    scale: int
    key: bytes = field(init=False)
    _floats: Array | None = field(init=False)

    def __post_init__(self) -> None:
        self.table.flags.writeable = False
        head = ("table", self.shape, self.axes, self.scale, self.table.dtype.str)
        digest = blake2b(repr(head).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.table).data)
        object.__setattr__(self, "key", digest.digest())
        small = self.table.size <= _CACHED
        object.__setattr__(self, "_floats", self.table.astype(np.float64).ravel() if small else None)
        _check_weights(self)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of the weights, times `scale`."""
        return int(self.table.min()), int(self.table.max())

    def answer(self, marginal: Array) -> float:
        """Return Q of a marginal over exactly `axes`, of integers or floats, as a float."""
        if marginal.shape != self.cells:
            raise _wrong_cells(self, marginal)
        values = marginal.ravel()
        if self._floats is not None:
            return float(values.dot(self._floats)) / self.scale
        weights = self.table.ravel()
        parts = (slice(start, start + _CHUNK) for start in range(0, weights.size, _CHUNK))
        return math.fsum(float(values[part].dot(weights[part].astype(np.float64))) for part in parts) / self.scale

    def count(self, marginal: Array) -> int:
        """Return `scale` times Q of a marginal of integers over exactly `axes`: a whole number, exactly."""
        values = _whole(self, marginal, self.range[1]).ravel()
        weights = self.table.ravel()
        parts = (slice(start, start + _CHUNK) for start in range(0, weights.size, _CHUNK))
        return sum(int(values[part].dot(weights[part].astype(values.dtype))) for part in parts)

    def weights(self) -> Array:
        """Return `scale` times the weights, as integers over the marginal of `axes`."""
        return self.table.astype(np.int64)

    def complement(self) -> Table:
        """Return the query of weights 1 - w: its answer is the number of rows minus this one's."""
        return Table(self.shape, self.axes, (self.scale - self.weights()).astype(self.table.dtype), self.scale)


def _times(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    ends = [x * y for x in one for y in other]
    return min(ends), max(ends)


def _check_weights(query: LinearQuery) -> None:
    """Refuse weights outside [0, 1], which one row would move further than any mechanism expects."""
    least, most = query.range
    if not 0 <= least <= most <= query.scale:
        raise InvalidParameter("a query has weights in [0, 1]; make it with release.where, weighted or predicate.")


def _wrong_cells(query: LinearQuery, marginal: Array) -> InvalidParameter:
    return InvalidParameter(
        f"this query is answered by the marginal over axes {query.axes}, of shape {query.cells}; got {marginal.shape}."
    )


def _whole(query: LinearQuery, marginal: Array, factor: int) -> Array:
    """Return a marginal of integers in a type in which its sum, times a factor, does not overflow."""
    if marginal.shape != query.cells:
        raise _wrong_cells(query, marginal)
    if marginal.dtype.kind not in "iuO":
        raise InvalidParameter(f"count takes integers, not {marginal.dtype}; answer takes floats.")
    most = max(abs(int(marginal.max())), abs(int(marginal.min()))) if marginal.size else 0
    return marginal.astype(np.int64 if most * factor * marginal.size < _SAFE else object, copy=False)
