"""Columns of measured values: real numbers, as they are or in bins; instants; free text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.dp.columns import Listed, Span
from discreet.dp.rational import Number, positive, positive_integer, rational
from discreet.dp.values import MOST_DIGITS, Value, in_order
from discreet.errors import InvalidParameter

Compared = TypeVar("Compared", float, Fraction)


@dataclass(frozen=True, slots=True)
class Real:
    """A real number in [lower, upper], kept as a multiple of `step`.

    The step is the integer unit of sums and noise; left out, it is the range divided by 2^20, rounded up to a power of
    two.

    >>> Real(0, 5_000).step
    Fraction(1, 128)
    """

    lower: Fraction
    upper: Fraction
    step: Fraction

    def __init__(self, lower: Number, upper: Number, *, step: Number | None = None) -> None:
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low >= high:
            raise InvalidParameter(f"Real takes lower < upper; got {lower!r}, {upper!r}.")
        unit = positive(step, "step") if step is not None else _power_of_two_above((high - low) / 2**20)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        object.__setattr__(self, "step", unit)

    def bins(self, count: int, *, other: Value | None = None, null: Value | None = None) -> Bins:
        """Return `count` bins of equal width between the bounds.

        >>> Real(0, 100).bins(4).edges[1]
        Fraction(25, 1)
        """
        parts = positive_integer(count, "count")
        width = (self.upper - self.lower) / parts
        return Bins([self.lower + i * width for i in range(parts + 1)], other=other, null=null)


def _power_of_two_above(value: Fraction) -> Fraction:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return min(Fraction(2) ** e for e in (exponent - 1, exponent, exponent + 1) if Fraction(2) ** e >= value)


@dataclass(frozen=True, slots=True, repr=False)
class Bins(Listed):
    """A real number, known by the bin it falls into: from one public edge up to but not including the next.

    The last bin includes its upper edge. A number is compared with the edges as numbers of its own kind: an edge 0.1 is
    the float 0.1 for floats, and one tenth for decimals. A bin is shown as the number in its middle.

    >>> income = Bins([0, 10_000, 50_000])
    >>> income.place(10_000.0), income.value(1), income.place(-1)
    (1, 30000.0, -1)
    """

    edges: tuple[Fraction, ...]
    floats: NDArray[np.float64] = field(init=False, compare=False, repr=False)

    def __init__(self, edges: Sequence[Number], *, other: Value | None = None, null: Value | None = None) -> None:
        listed = in_order(edges)
        if listed is None:
            raise InvalidParameter(
                "Bins takes a list of numbers, for instance Bins([0, 10, 50]); write list(...) around anything else."
            )
        exact = tuple(rational(edge, "an edge") for edge in listed)
        if any(abs(edge) >= 2**1023 for edge in exact):
            raise InvalidParameter("Bins takes edges that are floats; bins without an end have a large number there.")
        floats = np.array([float(edge) for edge in exact], np.float64)
        if len(exact) < 2 or not bool((np.diff(floats) > 0).all()):
            raise InvalidParameter("Bins takes at least two edges, each above the one before.")
        floats.flags.writeable = False
        object.__setattr__(self, "edges", exact)
        object.__setattr__(self, "floats", floats)
        self._name_cells(other, null)

    @property
    def values(self) -> Sequence[float]:
        """A number for every bin, in order: its middle."""
        return tuple(self._value(place) for place in range(self.declared))

    @property
    def declared(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    def _value(self, place: int) -> float:
        low, high = float(self.floats[place]), float(self.floats[place + 1])
        middle = low / 2 + high / 2
        return middle if low < middle < high else low

    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""
        if isinstance(value, bool | np.bool_ | np.timedelta64):
            return -1
        if isinstance(value, float | np.floating):
            return self._bin(float(value), [float(edge) for edge in self.floats.astype(type(value))])
        if isinstance(value, np.integer):
            value = int(value)
        if isinstance(value, Decimal):
            if not value.is_finite() or abs(value.adjusted()) > MOST_DIGITS:
                return -1
            value = Fraction(value)
        return self._bin(Fraction(value), self.edges) if isinstance(value, int | Fraction) else -1

    def _bin(self, value: Compared, edges: Sequence[Compared]) -> int:
        if not edges[0] <= value <= edges[-1]:
            return -1
        return min(bisect_right(edges, value) - 1, self.declared - 1)

    def between(self, low: Value | None, high: Value | None) -> Span:
        """Return the bins between two edges; None leaves an end open."""
        places = []
        for given, default in ((low, 0), (high, self.declared)):
            edge = None if given is None else rational(given, "an end of the slice")  # type: ignore[arg-type]  # which refuses the rest
            if edge is not None and edge not in self.edges:
                raise InvalidParameter(f"a slice of bins has edges as ends, for instance {float(self.edges[0])}.")
            places.append(default if edge is None else self.edges.index(edge))
        return slice(places[0], max(places))


_STEP = re.compile(r"\d{1,12}[smhd]")  # a second in more digits is longer than all dates
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Datetime:
    """An instant in [first, last], kept as a multiple of `step` ("1s", "5m", "1h", "1d") in a time zone."""

    first: datetime
    last: datetime
    zone: str
    step: str

    def __init__(self, first: datetime, last: datetime, *, zone: str, step: str = "1s") -> None:
        from zoneinfo import ZoneInfo

        try:
            known = isinstance(zone, str) and ZoneInfo(zone) is not None
        except (KeyError, ValueError, OSError):
            known = False
        if not known:
            raise InvalidParameter(f"zone is the name of a time zone, for instance 'Europe/Zurich'; got {zone!r:.60}.")
        if not isinstance(step, str) or not _STEP.fullmatch(step) or int(step[:-1]) < 1:
            raise InvalidParameter(f"step is a number and one of s, m, h, d, for instance '5m'; got {step!r:.60}.")
        instants = isinstance(first, datetime) and isinstance(last, datetime)
        if not instants or first.tzinfo or last.tzinfo or not first <= last:  # the NaT of pandas is in no order
            raise InvalidParameter("Datetime takes naive datetimes first <= last; they are read in zone.")
        for name, value in (("first", first), ("last", last), ("zone", zone), ("step", step)):
            object.__setattr__(self, name, value)

    @property
    def seconds(self) -> int:
        """The step in seconds."""
        return int(self.step[:-1]) * _SECONDS[self.step[-1]]


@dataclass(frozen=True, slots=True)
class Text:
    """Any text: its values are not public, so they can be grouped only where private keys are supported."""
