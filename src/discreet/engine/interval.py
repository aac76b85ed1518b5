"""Columns of numbers that each lie in an interval, and what functions make of them.

The interval of a result holds the result of every choice of operands from theirs: so if all released numbers of a
formula are within their errors at once, its true value is in its interval. That is exact for a formula in which every
number occurs once, and safe for every other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.grid import Reals

Truths: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Numeric:
    """Numbers with the ends of their intervals; what is `null` has none of them. `whole` ones are shown as integers."""

    value: Reals
    low: Reals
    high: Reals
    null: Truths
    whole: bool = False

    @property
    def error(self) -> Reals:
        """How far off each number may be: to the farther end of its interval."""
        return np.fmax(self.high - self.value, self.value - self.low)


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """Truth values, texts or days; `noisy` if another draw of the noise could have made them others."""

    value: NDArray[Any]
    null: Truths
    noisy: bool = False


def exact(value: Reals, *, whole: bool, null: Truths | None = None) -> Numeric:
    """Return numbers that are known."""
    return Numeric(value, value, value, np.zeros(value.shape, dtype=bool) if null is None else null, whole)


def corners(function: Callable[[Reals, Reals], Reals], a: Numeric, b: Numeric) -> tuple[Reals, Reals]:
    """Return the least and greatest of a function at the four corners: its ends, where it is monotone in each."""
    four = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return np.fmin.reduce(four), np.fmax.reduce(four)


def _made(value: Reals, ends: tuple[Reals, Reals], null: Truths, *, whole: bool) -> Numeric:
    """Return a result; what is not finite is NULL, as it is in a division by 0."""
    lost = null | ~np.isfinite(value)
    low, high = (np.where(np.isnan(end), side, end) for end, side in zip(ends, (-np.inf, np.inf), strict=True))
    return Numeric(np.where(lost, 0.0, value), np.minimum(low, value), np.maximum(high, value), lost, whole)


def add(a: Numeric, b: Numeric) -> Numeric:
    """a + b."""
    return _made(a.value + b.value, (a.low + b.low, a.high + b.high), a.null | b.null, whole=a.whole and b.whole)


def negative(a: Numeric) -> Numeric:
    """-a."""
    return Numeric(-a.value, -a.high, -a.low, a.null, a.whole)


def subtract(a: Numeric, b: Numeric) -> Numeric:
    """a - b."""
    return add(a, negative(b))


def multiply(a: Numeric, b: Numeric) -> Numeric:
    """a * b; 0 times an end that is not known is 0."""

    def product(x: Reals, y: Reals) -> Reals:
        return np.where((x == 0) | (y == 0), 0.0, x * y)

    return _made(a.value * b.value, corners(product, a, b), a.null | b.null, whole=a.whole and b.whole)


def divide(a: Numeric, b: Numeric) -> Numeric:
    """a / b, NULL where b is 0; without ends where b may be 0."""
    low, high = corners(np.divide, a, b)
    open_ended = (b.low <= 0) & (b.high >= 0)
    ends = np.where(open_ended, -np.inf, low), np.where(open_ended, np.inf, high)
    return _made(a.value / b.value, ends, a.null | b.null, whole=False)


def monotone(function: Callable[[Reals], Reals], a: Numeric, *, whole: bool = False) -> Numeric:
    """Return an increasing function of a; NULL where it has no value."""
    low = function(a.low)
    return _made(function(a.value), (low, function(a.high)), a.null, whole=whole)


def absolute(a: Numeric) -> Numeric:
    """|a|."""
    ends = abs(a.low), abs(a.high)
    low = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.minimum(*ends))
    return Numeric(abs(a.value), low, np.maximum(*ends), a.null, a.whole)


def remainder(a: Numeric, b: Numeric) -> Numeric:
    """a % b with the sign of a, NULL where b is 0. It lies within |b| of 0, and is known where both are."""
    known = (a.low == a.high) & (b.low == b.high)
    value = np.fmod(a.value, b.value)
    most = np.maximum(abs(b.low), abs(b.high))
    ends = np.where(known, value, -most), np.where(known, value, most)
    return _made(value, ends, a.null | b.null, whole=a.whole and b.whole)


def power(a: Numeric, b: Numeric) -> Numeric:
    """a to the b, NULL where it is no number; with ends where a is above 0 for sure, and else where both are known."""
    low, high = corners(np.power, a, b)
    known = (a.low == a.high) & (b.low == b.high)
    open_ended = (a.low <= 0) & ~known
    ends = np.where(open_ended, -np.inf, low), np.where(open_ended, np.inf, high)
    return _made(np.power(a.value, b.value), ends, a.null | b.null, whole=False)


def extreme(pick: Callable[..., Any], parts: list[Numeric]) -> Numeric:
    """Return the least or greatest of those that are not NULL, by np.fmin or np.fmax; NULL if all are.

    The ends are those of all: what is NULL by its noise, as a mean is of too few, has a true value all the same.
    """

    def picked(of: list[Reals]) -> Reals:
        return np.asarray(pick.reduce(of))  # type: ignore[attr-defined]

    null = np.logical_and.reduce([part.null for part in parts])
    ends = picked([part.low for part in parts]), picked([part.high for part in parts])
    value = picked([np.where(part.null, np.nan, part.value) for part in parts])
    return _made(value, ends, null, whole=all(part.whole for part in parts))


def rounded(a: Numeric, digits: int) -> Numeric:
    """Round half away from zero to so many decimal digits."""
    unit = float(Fraction(10) ** digits)

    def nearest(x: Reals) -> Reals:
        return np.trunc(x * unit + np.copysign(0.5, x)) / unit

    return monotone(nearest, a, whole=a.whole or digits <= 0)


def chosen(first: Truths, a: Numeric, b: Numeric, *, sure: bool) -> Numeric:
    """Return a where `first` and b elsewhere; unless that is sure, the interval holds those of both."""
    low, high = np.where(first, a.low, b.low), np.where(first, a.high, b.high)
    if not sure:
        low, high = np.fmin(a.low, b.low), np.fmax(a.high, b.high)  # of a NULL, too: its noise may have made it one
    null = np.where(first, a.null, b.null)
    return _made(np.where(first, a.value, b.value), (low, high), null, whole=a.whole and b.whole)
