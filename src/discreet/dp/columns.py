"""Columns whose values can be listed: the public facts that a universe is a product of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, timedelta
from typing import TypeAlias

import numpy as np

from discreet.dp.rational import rational
from discreet.dp.values import Value, day_of, in_order, is_missing, whole
from discreet.errors import InvalidParameter, NotSupported

Span: TypeAlias = "slice[int, int, None]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Listed(ABC):
    """A column with cells: one for each declared value, in order, and up to two more at the end.

    `other` names a cell that counts what is not declared, `null` one that counts what is missing and, where there is
    no `other`, what is not declared too. A value without a cell is dropped. None of this ever raises on a value.
    """

    other: Value | None = None
    null: Value | None = None

    @property
    @abstractmethod
    def declared(self) -> int:
        """How many values are declared."""

    @abstractmethod
    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""

    @abstractmethod
    def _value(self, place: int) -> Value:
        """Return the declared value at a place."""

    @property
    def extra(self) -> tuple[Value, ...]:
        """The names of the cells after the declared ones."""
        return tuple(name for name in (self.other, self.null) if name is not None)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.declared + len(self.extra)

    @property
    def elsewhere(self) -> int:
        """The cell of what is neither declared nor missing, or -1 if that is dropped."""
        return self.declared if self.extra else -1

    @property
    def missing(self) -> int:
        """The cell of what is missing, or -1 if that is dropped."""
        return self.size - 1 if self.null is not None else -1

    def place(self, value: object) -> int:
        """Return the cell that a value falls into, or -1 if it falls into none."""
        if is_missing(value):
            return self.missing
        found = self.find(value)
        return found if found >= 0 else self.elsewhere

    def find(self, value: object) -> int:
        """Return the cell of a declared value, or the one that it names, or -1."""
        found = self.index(value)
        if found >= 0:
            return found
        named = (at for at, name in enumerate(self.extra, start=self.declared) if _is(value, name))
        return next(named, -1)

    def value(self, place: int) -> Value:
        """Return the declared value, or the name, of a cell."""
        return self._value(place) if place < self.declared else self.extra[place - self.declared]

    def between(self, low: Value | None, high: Value | None) -> Span:
        """Return the cells of the declared values from low up to but not including high; None leaves an end open."""
        raise NotSupported(f"a slice needs a column in order, and a {type(self).__name__} is not: list its values.")

    def _name_cells(self, other: Value | None, null: Value | None) -> None:
        for name, given in (("other", other), ("null", null)):
            if given is not None and (isinstance(given, bool) or not isinstance(given, str | int | date)):
                raise InvalidParameter(f'{name}= names a cell, for instance {name}="{name}"; got {given!r}.')
            if given is not None and self.index(given) >= 0:
                raise InvalidParameter(f"{name}={given!r} is a declared value already; give the cell another name.")
            object.__setattr__(self, name, given)
        if other is not None and other == null:
            raise InvalidParameter(f"other= and null= name two cells; both are {other!r}.")

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.repr and f.name not in ("other", "null")]
        shown += [name for name in ("other", "null") if getattr(self, name) is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _is(value: object, name: Value) -> bool:
    """Return whether a value is the name of a cell."""
    if isinstance(name, str):
        return isinstance(value, str) and value == name
    return day_of(value) == name if isinstance(name, date) else whole(value) == name


@dataclass(frozen=True, slots=True, repr=False)
class Category(Listed):
    """One of a list of known values, in this order.

    >>> Category(["north", "south"]).size
    2
    >>> Category(["north", "south"], other="elsewhere", null="unknown").place("west")
    2
    """

    values: tuple[str | int, ...]
    _places: dict[str | int, int] = field(init=False, compare=False, repr=False)

    def __init__(self, values: Sequence[str | int], *, other: Value | None = None, null: Value | None = None) -> None:
        listed = in_order(values)
        kinds = {None} if listed is None else {type(v) if isinstance(v, str | int) else None for v in listed}
        if listed is None or kinds & {bool, None}:
            raise InvalidParameter(
                'Category takes a list of strings or of whole numbers, for instance Category(["north", "south"]); '
                "where its order is meant, write list(...) around anything else."
            )
        if not listed or len(set(listed)) < len(listed) or len(kinds) > 1:
            raise InvalidParameter("Category takes at least one value, each once, all of one kind.")
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "_places", {value: place for place, value in enumerate(listed)})
        self._name_cells(other, null)

    @property
    def declared(self) -> int:
        """How many values are declared."""
        return len(self.values)

    def _value(self, place: int) -> str | int:
        return self.values[place]

    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""
        if isinstance(self.values[0], str):
            return self._places.get(value, -1) if isinstance(value, str) else -1
        number = whole(value)
        return -1 if number is None else self._places.get(number, -1)


@dataclass(frozen=True, slots=True, repr=False)
class Integer(Listed):
    """A whole number in [lower, upper]."""

    lower: int
    upper: int

    def __init__(self, lower: int, upper: int, *, other: Value | None = None, null: Value | None = None) -> None:
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low.denominator != 1 or high.denominator != 1 or low > high:
            raise InvalidParameter(f"Integer takes whole numbers lower <= upper; got {lower!r}, {upper!r}.")
        if not -(2**63) <= low <= high < 2**63:
            raise InvalidParameter("Integer bounds fit 64 bits.")
        object.__setattr__(self, "lower", int(low))
        object.__setattr__(self, "upper", int(high))
        self._name_cells(other, null)

    @property
    def values(self) -> Sequence[int]:
        """Every declared value, in order."""
        return range(self.lower, self.upper + 1)

    @property
    def declared(self) -> int:
        """How many values are declared."""
        return self.upper - self.lower + 1

    def _value(self, place: int) -> int:
        return self.lower + place

    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""
        number = whole(value)
        return number - self.lower if number is not None and self.lower <= number <= self.upper else -1

    def between(self, low: Value | None, high: Value | None) -> Span:
        """Return the cells of the numbers from low up to but not including high; None leaves an end open."""
        ends = [
            end if given is None else math.ceil(rational(given, "an end of the slice"))  # type: ignore[arg-type]
            for given, end in ((low, self.lower), (high, self.upper + 1))
        ]
        return _cut(ends[0] - self.lower, ends[1] - self.lower, self.declared)


@dataclass(frozen=True, slots=True, repr=False)
class Boolean(Listed):
    """True or false."""

    def __init__(self, *, other: Value | None = None, null: Value | None = None) -> None:
        self._name_cells(other, null)

    @property
    def values(self) -> Sequence[bool]:
        """Every declared value, in order."""
        return (False, True)

    @property
    def declared(self) -> int:
        """How many values are declared."""
        return 2

    def _value(self, place: int) -> bool:
        return bool(place)

    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""
        return int(value) if isinstance(value, bool | np.bool_) else -1


@dataclass(frozen=True, slots=True, repr=False)
class Date(Listed):
    """A day in [first, last]. An instant counts as the day if it is the midnight that begins it, in no time zone."""

    first: date
    last: date

    def __init__(self, first: date, last: date, *, other: Value | None = None, null: Value | None = None) -> None:
        for day in (first, last):
            if not isinstance(day, date) or isinstance(day, datetime):
                raise InvalidParameter("Date takes datetime.date values, for instance Date(date(2026, 1, 1), ...).")
        if first > last:
            raise InvalidParameter("Date takes first <= last.")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", last)
        self._name_cells(other, null)

    @property
    def values(self) -> Sequence[date]:
        """Every declared day, in order."""
        return tuple(self.first + timedelta(days=i) for i in range(self.declared))

    @property
    def declared(self) -> int:
        """How many days are declared."""
        return (self.last - self.first).days + 1

    def _value(self, place: int) -> date:
        return self.first + timedelta(days=place)

    def index(self, value: object) -> int:
        """Return the place of a declared value, or -1."""
        day = day_of(value)
        return -1 if day is None or not self.first <= day <= self.last else (day - self.first).days

    def between(self, low: Value | None, high: Value | None) -> Span:
        """Return the cells of the days from low up to but not including high; None leaves an end open."""
        ends = [
            default if given is None else _days_from(self.first, given)
            for given, default in ((low, 0), (high, self.declared))
        ]
        return _cut(ends[0], ends[1], self.declared)


def _days_from(first: date, given: object) -> int:
    if not isinstance(given, date) or isinstance(given, datetime):
        raise InvalidParameter(f"a slice of days has dates as ends; got {given!r}.")
    return (given - first).days


def _cut(start: int, stop: int, size: int) -> Span:
    low = min(max(start, 0), size)
    return slice(low, max(low, min(stop, size)))
