"""Order statistics of clamped data on a public grid: what medians, quantiles and trimmed means are made of.

A value is clamped to public bounds and snapped to lower + step * i; from there on it is the whole number i, and what
is computed from it is exact. Snapping looks at one row and at public facts only, so neighbours stay neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp.grid import numbers
from discreet.dp.rational import Number, positive, rational
from discreet.errors import InvalidParameter

Ranks = NDArray[np.int64]
Steps = NDArray[np.float64]
"""Whole numbers of steps; as floats, which hold them exactly."""

_FINENESS = 40  # 2^-40 of the range, where no step is given
_MOST_STEPS = 2**42  # a window times a weight must be far from the ends of a float


@dataclass(frozen=True, slots=True)
class PublicGrid:
    """The points lower + step * i for i = 0 ... top, none above the upper bound: public facts."""

    lower: Fraction
    step: Fraction
    top: int

    @classmethod
    def of(cls, *, lower: Number, upper: Number, step: Number | None) -> PublicGrid:
        """Return the grid between two bounds; the step is a power of two near 2^-40 of the range, if left out."""
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low >= high:
            raise InvalidParameter(f"lower is below upper, both public; got lower={lower!r}, upper={upper!r}.")
        wanted = (high - low) / 2**_FINENESS
        unit = positive(step, "step") if step is not None else _power_of_two_above(wanted)
        top = int((high - low) / unit)
        if not 1 <= top <= _MOST_STEPS:
            raise InvalidParameter("step divides the range into 1 to 2^42 parts; it is public, like the bounds.")
        if not all(abs(part) < 2**1000 for part in (low, high, 1 / unit)):
            raise InvalidParameter("lower, upper and step are within the range of a float.")
        return cls(low, unit, top)

    @property
    def width(self) -> Fraction:
        """The distance between the ends of the grid."""
        return self.top * self.step

    def positions(self, values: NDArray[np.float64] | NDArray[np.int64]) -> Steps:
        """Return values as whole numbers of steps above the lower bound, clamped; the map never decreases."""
        if values.dtype.kind == "O":
            low, high = math.floor(self.lower), math.ceil(self.lower + self.width)
            values = np.array([float(min(max(value, low), high)) for value in values.tolist()])
        with np.errstate(over="ignore"):
            steps = np.rint((values.astype(np.float64) - float(self.lower)) / float(self.step))
        return np.asarray(np.clip(steps, 0.0, float(self.top)))

    def value(self, position: Fraction | int) -> Fraction:
        """Return the value at a number of steps."""
        return self.lower + position * self.step


def _power_of_two_above(value: Fraction) -> Fraction:
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    while power < value:
        power *= 2
    while power / 2 >= value:
        power /= 2
    return power


class Ranked:
    """Sorted data x_1 <= ... <= x_n in steps of a grid; x_j is 0 for j < 1 and the top for j > n.

    It prints nothing: what it holds is private.
    """

    __slots__ = ("_first", "_values", "count", "grid")

    def __init__(self, data: ArrayLike, grid: PublicGrid) -> None:
        array = numbers(data).ravel()
        self.count, self.grid, self._first = int(array.size), grid, 1
        self._values: NDArray[np.float64] | NDArray[np.int64] = array

    def keep(self, first: int, last: int) -> Ranked:
        """Sort, at least from rank `first` to rank `last`; only these may be looked at afterwards."""
        low, high = max(first, 1) - 1, min(last, self.count)
        if (high - low) * 8 > self.count or self._values.dtype.kind == "O":
            everything = self._values.copy()
            everything.sort()
            self._first, self._values = 1, everything
        elif low >= high:
            self._first, self._values = low + 1, self._values[:0]
        else:
            part = self._values.copy()
            part.partition(high - 1)
            part = part[:high]
            part.partition(low)
            part = part[low:]
            part.sort()
            self._first, self._values = low + 1, part
        return self

    def copy(self) -> Ranked:
        """Return the same rows, to be kept elsewhere."""
        twin = object.__new__(Ranked)
        twin.count, twin.grid, twin._first, twin._values = self.count, self.grid, self._first, self._values
        return twin

    def take(self, ranks: Ranks) -> Steps:
        """Return the order statistics of these ranks, in steps."""
        inside = np.minimum(np.maximum(ranks - self._first, 0), max(self._values.size - 1, 0))
        steps = self.grid.positions(self._values[inside]) if self._values.size else np.zeros(ranks.size)
        return np.where(ranks < 1, 0.0, np.where(ranks > self.count, float(self.grid.top), steps))

    def one(self, rank: int) -> int:
        """Return one order statistic, in steps."""
        return int(self.take(np.array([rank]))[0])

    def total(self, first: int, last: int) -> int:
        """Return the sum of the order statistics from one rank to another, in steps."""
        steps = self.take(np.arange(first, last + 1)).astype(np.int64)
        return (int((steps >> 21).sum()) << 21) + int((steps & (2**21 - 1)).sum())

    def __repr__(self) -> str:
        return "Ranked()"
