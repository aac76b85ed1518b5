"""Public facts about columns: what values they may hold, declared by someone who knows, never read from the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import SupportsIndex

from discreet.dp.rational import Number, positive, positive_integer, rational
from discreet.errors import InvalidParameter

Value = str | int | bool | date


@dataclass(frozen=True, slots=True)
class Category:
    """One of a list of known values, in this order.

    >>> Category(["north", "south"]).size
    2
    """

    values: tuple[str | int, ...]

    def __init__(self, values: Sequence[str | int]) -> None:
        kinds = {type(v) if isinstance(v, str | int) else None for v in values}
        if isinstance(values, str | Set) or kinds & {bool, None}:
            raise InvalidParameter("Category takes a list of strings or of whole numbers.")
        if not values or len(set(values)) < len(values) or len({type(v) for v in values}) > 1:
            raise InvalidParameter("Category takes at least one value, each once, all of one kind.")
        object.__setattr__(self, "values", tuple(values))

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number in [lower, upper]."""

    lower: int
    upper: int

    def __init__(self, lower: int, upper: int) -> None:
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low.denominator != 1 or high.denominator != 1 or low > high:
            raise InvalidParameter(f"Integer takes whole numbers lower <= upper; got {lower!r}, {upper!r}.")
        if not -(2**63) <= low <= high < 2**63:
            raise InvalidParameter("Integer bounds fit 64 bits.")
        object.__setattr__(self, "lower", int(low))
        object.__setattr__(self, "upper", int(high))

    @property
    def values(self) -> Sequence[int]:
        """Every value, in order."""
        return range(self.lower, self.upper + 1)

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.upper - self.lower + 1


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


def _power_of_two_above(value: Fraction) -> Fraction:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return min(Fraction(2) ** e for e in (exponent - 1, exponent, exponent + 1) if Fraction(2) ** e >= value)


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""

    @property
    def values(self) -> Sequence[bool]:
        """Every value, in order."""
        return (False, True)

    @property
    def size(self) -> int:
        """How many values there are."""
        return 2


@dataclass(frozen=True, slots=True)
class Date:
    """A day in [first, last]."""

    first: date
    last: date

    def __post_init__(self) -> None:
        for day in (self.first, self.last):
            if not isinstance(day, date) or isinstance(day, datetime):
                raise InvalidParameter("Date takes datetime.date values, for instance Date(date(2026, 1, 1), ...).")
        if self.first > self.last:
            raise InvalidParameter("Date takes first <= last.")

    @property
    def values(self) -> Sequence[date]:
        """Every day, in order."""
        return tuple(self.first + timedelta(days=i) for i in range(self.size))

    @property
    def size(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1


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
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            raise InvalidParameter(
                f"zone is the name of a time zone, for instance 'Europe/Zurich'; got {zone!r}."
            ) from None
        if step[-1:] not in _SECONDS or not step[:-1].isdecimal() or int(step[:-1]) < 1:
            raise InvalidParameter(f"step is a number and one of s, m, h, d, for instance '5m'; got {step!r}.")
        if (
            not (isinstance(first, datetime) and isinstance(last, datetime))
            or first.tzinfo
            or last.tzinfo
            or first > last
        ):
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


Column = Category | Integer | Real | Boolean | Date | Datetime | Text
Finite = Category | Integer | Boolean | Date
"""Columns whose values can be listed, and so can be public keys."""


@dataclass(frozen=True, slots=True)
class Universe:
    """The product of finite columns: every possible row, numbered in mixed radix with the last column fastest.

    >>> adults = Universe({"sex": Category(["Female", "Male"]), "age": 85})
    >>> adults.size, adults.cell(sex="Male", age=3)
    (170, 88)
    """

    columns: Mapping[str, Finite]

    def __init__(self, columns: Mapping[str, Finite | int]) -> None:
        """Take column types, or sizes: a size n stands for the whole numbers from 0 to n - 1."""
        if not columns:
            raise InvalidParameter("a Universe has at least one column.")
        kept: dict[str, Finite] = {}
        for name, column in columns.items():
            if isinstance(column, int) and not isinstance(column, bool):
                column = Integer(0, positive_integer(column, name) - 1)
            if not isinstance(column, Category | Integer | Boolean | Date):
                raise InvalidParameter(
                    f"column {name!r} has no list of values; declare a Category, an Integer or bins."
                )
            kept[name] = column
        object.__setattr__(self, "columns", MappingProxyType(kept))
        if self.size > 10**18:
            raise InvalidParameter("a Universe has at most 1e18 cells; leave out columns or use coarser bins.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each column."""
        return tuple(column.size for column in self.columns.values())

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def cell(self, **row: Value) -> int:
        """Return the number of the cell that a row falls into."""
        if set(row) != set(self.columns):
            raise InvalidParameter(f"a row names every column once: {', '.join(self.columns)}.")
        number = 0
        for name, column in self.columns.items():
            number = number * column.size + _place(column, name, row[name])
        return number

    def row(self, cell: int) -> dict[str, Value]:
        """Return the row that falls into a cell."""
        if not 0 <= cell < self.size:
            raise InvalidParameter(f"a cell is a number from 0 to {self.size - 1}.")
        row: dict[str, Value] = {}
        for name, column in reversed(list(self.columns.items())):
            cell, place = divmod(cell, column.size)
            row[name] = column.values[place]
        return {name: row[name] for name in self.columns}

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return (self.row(cell) for cell in range(self.size))

    def __eq__(self, other: object) -> bool:  # the order of the columns numbers the cells
        if not isinstance(other, Universe):
            return NotImplemented
        return tuple(self.columns.items()) == tuple(other.columns.items())

    def __hash__(self) -> int:
        return hash(tuple(self.columns.items()))


def _place(column: Finite, name: str, value: Value) -> int:
    try:
        if isinstance(value, bool) != isinstance(column, Boolean):
            raise ValueError
        if isinstance(column, Integer):
            if not isinstance(value, SupportsIndex):
                raise ValueError
            value = value.__index__()  # a range searches from end to end for anything but an int
        return column.values.index(value)
    except ValueError:
        raise InvalidParameter(f"{value!r} is not a declared value of column {name!r}.") from None
