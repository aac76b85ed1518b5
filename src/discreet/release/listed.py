"""A list of queries on one marginal, answered together by matrix products."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from discreet.dp.neighbours import Neighbours
from discreet.errors import InvalidParameter
from discreet.release.families import Family, Norms, checked, numbered, whole
from discreet.release.query import Array, LinearQuery, Product, Table

_CHUNK = 2**22  # numbers held at a time
_PAIRS = 2**27  # products of weights that are enumerated for an exact sensitivity


@final
@dataclass(frozen=True, slots=True, repr=False)
class Listed(Family):
    """Queries that have the same axes, in the order given; the same one may be there twice."""

    queries: tuple[LinearQuery, ...]
    shape: tuple[int, ...] = field(init=False)
    axes: tuple[int, ...] = field(init=False)
    scale: int = field(init=False)
    _products: Array = field(init=False, compare=False)  # the numbers of the queries that are products
    _factors: tuple[Array, ...] = field(init=False, compare=False)  # for each axis, a column for each of them
    _constants: Array = field(init=False, compare=False)
    _coefficients: Array = field(init=False, compare=False)

    def __post_init__(self) -> None:
        first = self.queries[0] if self.queries else None
        if first is None or any((q.axes, q.shape) != (first.axes, first.shape) for q in self.queries):
            raise InvalidParameter("a list of queries for one marginal has at least one, all with the same axes.")
        scale = max(query.scale for query in self.queries)
        products = [(i, query) for i, query in enumerate(self.queries) if isinstance(query, Product)]
        ups = [scale // query.scale for _, query in products]
        factors = [np.array(vectors).T for vectors in zip(*(query.factors for _, query in products), strict=True)]
        values: dict[str, object] = {
            "shape": first.shape,
            "axes": first.axes,
            "scale": scale,
            "_products": np.array([i for i, _ in products], np.int64),
            "_factors": tuple(factors),
            "_constants": np.array([query.constant * up for (_, query), up in zip(products, ups, strict=True)], object),
            "_coefficients": np.array(
                [query.coefficient * up for (_, query), up in zip(products, ups, strict=True)], object
            ),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self.queries)

    def answers(self, marginal: Array) -> Array:
        """Return all answers; as integers if the marginal is of integers and every weight is 0 or 1."""
        if marginal.dtype.kind in "iubO":
            counts = self.counts(marginal)
            return counts if self.scale == 1 else counts.astype(np.float64) / self.scale
        return self._sums(checked(self, marginal).astype(np.float64, copy=False)) / self.scale

    def counts(self, marginal: Array) -> Array:
        """Return `scale` times all answers from a marginal of integers, exactly."""
        values = checked(self, whole(marginal))
        most = sum(abs(int(end)) for end in (values.max(), values.min())) * values.size
        largest = math.prod(int(abs(factor).max()) for factor in self._factors)
        constants, coefficients = (int(abs(c).max()) if c.size else 0 for c in (self._constants, self._coefficients))
        if most * max(self.scale, constants + coefficients * largest, largest) < 2**53:
            return np.rint(self._sums(values.astype(np.float64))).astype(np.int64)  # no sum was rounded
        return self._sums(values.astype(object))

    def query(self, number: int) -> LinearQuery:
        """Return one of the queries."""
        return self.queries[numbered(self, number)]

    def _sums(self, values: Array) -> Array:
        """Return `scale` times all answers, computed in the type of the values: floats or Python integers."""
        found = np.empty(self.size, values.dtype)
        if self._products.size:
            products = self._contracted(values) * self._coefficients.astype(values.dtype)
            found[self._products] = products + self._constants.astype(values.dtype) * values.sum()
        for number, query in enumerate(self.queries):
            if isinstance(query, Table):
                up = self.scale // query.scale
                exact = values.dtype == object
                found[number] = up * (query.count(values) if exact else query.answer(values) * query.scale)
        return found

    def _contracted(self, values: Array) -> Array:
        """Return the sum of the marginal times the factors of every product, one axis after the other, last first."""
        count = self._products.size
        if not self._factors:
            return np.full(count, values[()])
        found = np.empty(count, values.dtype)
        step = max(1, _CHUNK * self.cells[-1] // values.size)
        for start in range(0, count, step):
            columns = [factor[:, start : start + step].astype(values.dtype) for factor in self._factors]
            part = values.reshape(-1, self.cells[-1]) @ columns[-1]
            for n, factor in zip(self.cells[-2::-1], columns[-2::-1], strict=True):
                part = (part.reshape(-1, n, part.shape[-1]) * factor).sum(axis=1)
            found[start : start + step] = part.reshape(-1)
        return found

    def norms(self, neighbours: Neighbours) -> Norms:
        """Enumerate the cells, and their pairs if rows are replaced; bound by the queries one by one if too many."""
        cells = math.prod(self.cells)
        ends = [(q.range, self.scale // q.scale) for q in self.queries]
        replaced = neighbours is Neighbours.REPLACE
        each = [up * (high - low if replaced else high) for (low, high), up in ends]
        most, squares = max(each), sum(one * one for one in each)
        pairs = cells if replaced else 1
        if self.size * cells * pairs > _PAIRS or most**2 * self.size >= 2**62:
            return sum(each), squares, most
        weights = self.weights()
        columns = range(cells) if replaced else [None]
        moved = [abs(weights - (0 if at is None else weights[:, [at]])) for at in columns]
        return (
            max(int(one.sum(axis=0).max()) for one in moved),
            max(int((one * one).sum(axis=0).max()) for one in moved),
            most,
        )

    def __repr__(self) -> str:
        return f"Listed({self.size} queries, axes={self.axes}, scale={self.scale})"
