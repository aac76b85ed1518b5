"""One form for every query: a table of weights that factors is a product, whatever way it was written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce

import numpy as np

from discreet.release.query import Array, Integers, LinearQuery, Product, Table

_CHUNK = 1 << 20  # cells looked at together
_SAFE = 1 << 62


def table(shape: tuple[int, ...], axes: tuple[int, ...], weights: Array, scale: int) -> LinearQuery:
    """Return the query of integer weights over the marginal of sorted axes, in its one form."""
    names = list(axes)
    for position in reversed(range(weights.ndim)):
        first = weights.take([0], axis=position)
        if bool((weights == first).all()):
            weights = first.squeeze(position)
            del names[position]
    if weights.ndim == 0:
        return Product.of(shape, {}, scale, constant=int(weights), coefficient=0)
    if weights.ndim == 1:
        return Product.of(shape, {names[0]: weights}, scale)
    return _product(shape, names, weights, scale) or _lowest_terms(shape, names, weights, scale)


def _lowest_terms(shape: tuple[int, ...], axes: list[int], weights: Array, scale: int) -> Table:
    common = math.gcd(int(np.gcd.reduce(weights, axis=None)), scale)
    dtype = np.min_scalar_type(scale // common)
    return Table(shape, tuple(axes), np.ascontiguousarray(weights // common, dtype=dtype), scale // common)


def _product(shape: tuple[int, ...], axes: list[int], weights: Array, scale: int) -> Product | None:
    """Return the product that the weights are, up to a constant, or None.

    It is unique. If w = c + k f_1 ... f_m with m >= 2 and no f constant, then on two cells of each of two axes, the
    other axes fixed, (a - c)(d - c) = (b - c)(e - c), so that c = (ad - be) / (a + d - b - e).
    """
    corner = _interaction(weights)
    if corner is None:
        return None
    x, u, rest = corner
    places = [(0, 0, *rest), (x, u, *rest), (0, u, *rest), (x, 0, *rest)]
    a, d, b, e = (int(weights[place]) for place in places)
    constant = Fraction(a * d - b * e, a + d - b - e)
    top, bottom = constant.numerator, constant.denominator
    ends = [int(end) * bottom - top for end in (weights.min(), weights.max())]
    if max(abs(end) for end in ends) >= _SAFE:
        weights = weights.astype(object)
    pivot = next(place for place in places if int(weights[place]) * bottom != top)
    factors: list[Integers] = []
    for axis in range(weights.ndim):
        line = np.moveaxis(weights, axis, -1)[(*pivot[:axis], *pivot[axis + 1 :])].astype(object) * bottom - top
        divisor = math.gcd(*line)
        divisor = -divisor if next(int(v) for v in line if v) < 0 else divisor
        factors.append((line // divisor).astype(np.int64))
    at_pivot = math.prod(int(factor[place]) for factor, place in zip(factors, pivot, strict=True))
    coefficient, remainder = divmod(int(weights[pivot]) * bottom - top, at_pivot)
    most = abs(coefficient) * math.prod(int(abs(factor).max()) for factor in factors)
    if remainder or most != max(abs(end) for end in ends) or not _equal(weights, factors, coefficient, bottom, top):
        return None
    lowest = scale // math.gcd(int(np.gcd.reduce(weights, axis=None)), scale)
    if bottom * scale // math.gcd(top, coefficient, bottom * scale) != lowest:  # as in (1 + (-1)^a (-1)^b) / 2
        return None
    named = dict(zip(axes, factors, strict=True))
    return Product.of(shape, named, bottom * scale, constant=top, coefficient=coefficient)


def _slabs(weights: Array, start: int) -> Iterator[slice]:
    step = max(1, _CHUNK * len(weights) // weights.size)
    return (slice(at, min(at + step, len(weights))) for at in range(start, len(weights), step))


def _interaction(weights: Array) -> tuple[int, int, tuple[int, ...]] | None:
    """Return x, u and the other places of a cell where the first two axes do not just add up, or None."""
    first = weights[:1].astype(np.int64)
    for slab in _slabs(weights, 1):
        part = weights[slab].astype(np.int64) - first
        part -= part[:, :1].copy()
        found = np.flatnonzero(part)
        if found.size:
            place = [int(i) for i in np.unravel_index(found[0], part.shape)]
            return slab.start + place[0], place[1], tuple(place[2:])
    return None


def _equal(weights: Array, factors: list[Integers], coefficient: int, bottom: int, top: int) -> bool:
    """Return whether weights * bottom - top = coefficient * the product of the factors, everywhere."""
    dtype = object if weights.dtype == object else np.int64
    others = reduce(np.multiply.outer, [factor.astype(dtype) for factor in factors[1:]])
    for slab in _slabs(weights, 0):
        product = np.multiply.outer(factors[0][slab].astype(dtype) * coefficient, others)
        if not bool((weights[slab].astype(dtype) * bottom - top == product).all()):
            return False
    return True
