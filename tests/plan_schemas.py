"""Random schemas and rows: every column type, read from every type that an engine may store it as, and nasty values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.table import Table

Row = dict[str, Any]
Maker = Callable[[Random], object]

ZONES = ("UTC", "Europe/Zurich", "America/New_York")
TEXTS = ("", "a", "A", "a ", "ä", "NULL", "0", "aa", "z" * 40, "'; --", 'q"')
NASTY = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 0.5, 2.5)


@dataclass(frozen=True, slots=True)
class Field:
    """A column: what is declared, how it is stored, and how to make a value of it."""

    name: str
    domain: dp.domain.Column
    stored: pa.DataType
    make: Maker

    @property
    def kind(self) -> ex.Kind:
        return kind_of(self.domain)

    def at(self, scan: int) -> ex.Column:
        return ex.Column(scan, self.name, self.domain, self.kind)


@dataclass(frozen=True, slots=True)
class Schema:
    """A declared table without its rows."""

    name: str
    fields: tuple[Field, ...]
    unit: pa.DataType | None = None
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    rows_per_group: int | None = None
    public: bool = False

    def arrow(self, rows: list[Row]) -> pa.Table:
        stored = {field.name: field.stored for field in self.fields} | ({"u": self.unit} if self.unit else {})
        return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in stored.items()})

    def table(self, source: object) -> Table:
        """The declaration over a frame, or over what an engine reads."""
        return Table(
            source,
            columns={field.name: field.domain for field in self.fields},
            unit="u" if self.unit else None,
            rows_per_unit=self.rows_per_unit,
            groups_per_unit=self.groups_per_unit,
            rows_per_group=self.rows_per_group,
            public=self.public,
            name=self.name,
        )

    def row(self, rng: Random, unit: object = None) -> Row:
        made = {field.name: None if rng.random() < 0.1 else field.make(rng) for field in self.fields}
        return made | ({"u": unit} if self.unit else {})


def kind_of(domain: dp.domain.Column) -> ex.Kind:
    """What a column is read into."""
    half = Fraction(1, 2)
    match domain:
        case dp.Integer():
            return ex.Number(Fraction(1), domain.lower, domain.upper)
        case dp.Real():
            low, high = math.ceil(domain.lower / domain.step - half), math.floor(domain.upper / domain.step + half)
            return ex.Number(domain.step, low, high)
        case dp.Boolean():
            return ex.TRUTH
        case dp.Category() | dp.Bins():
            return ex.Coded(domain)
        case dp.Date():
            return ex.Day(ex.day_number(domain.first), ex.day_number(domain.last))
        case dp.Datetime():
            low, high = (
                (at - datetime(1970, 1, 1)) // timedelta(seconds=domain.seconds) * domain.seconds
                for at in (domain.first, domain.last)
            )
            return ex.Instant(low, high, domain.zone)
        case dp.Text():
            return ex.FREE
    raise AssertionError(domain)


def integer(rng: Random, name: str) -> Field:
    low, width = rng.choice((0, 0, 1, -3, -10, 5)), rng.choice((0, 1, 3, 12, 100))
    high = low + width
    ends = (low, high, low - 1, high + 1, 0, rng.randint(low, high))
    stored = rng.choice((pa.int64(), pa.int64(), pa.int16(), pa.float64(), pa.decimal128(20, 2)))

    def make(rng: Random) -> object:
        value = rng.choice(ends)
        if stored == pa.float64():
            return rng.choice((float(value), float(value), float(value), *NASTY))
        return Decimal(rng.choice((value * 100, value * 100 + 50))) / 100 if pa.types.is_decimal(stored) else value

    return Field(name, dp.Integer(low, high), stored, make)


def single(value: float) -> float:
    """The nearest float of 32 bits, which is what its column holds."""
    return float(pa.scalar(value, pa.float64()).cast(pa.float32(), safe=False).as_py())


def real(rng: Random, name: str) -> Field:
    low = rng.choice((Fraction(0), Fraction(-5), Fraction("0.3"), Fraction(-1000), Fraction(2)))
    high = low + rng.choice((Fraction(1), Fraction("7.7"), Fraction(2000)))
    step = rng.choice((Fraction(1, 4), Fraction("0.1"), Fraction(3), Fraction(1, 3), Fraction("0.01")))
    stored = rng.choice((pa.float64(), pa.float64(), pa.float32(), pa.int32(), pa.decimal128(12, 3)))

    def make(rng: Random) -> object:
        value = rng.choice((float(low), float(high), rng.uniform(float(low), float(high)), float(high) + 1))
        value = rng.choice((value, round(value / float(step)) * float(step) + float(step) / 2))  # half way
        if pa.types.is_floating(stored):
            found = rng.choice((value, value, value, *NASTY))
            return found if stored == pa.float64() else single(found)
        return Decimal(round(value * 1000)) / 1000 if pa.types.is_decimal(stored) else round(value)

    return Field(name, dp.Real(low, high, step=step), stored, make)


def category(rng: Random, name: str) -> Field:
    if rng.random() < 0.5:
        values = rng.sample(TEXTS, rng.randint(1, 5))
        return Field(name, dp.Category(values), pa.string(), lambda rng: rng.choice(rng.choice((values, TEXTS))))
    numbers = rng.sample(range(-2, 9), rng.randint(1, 5))
    stored = rng.choice((pa.int64(), pa.int8(), pa.float64()))
    made = (*NASTY, *map(float, range(-3, 10))) if stored == pa.float64() else tuple(range(-3, 10))
    inside = [float(value) for value in numbers] if stored == pa.float64() else numbers
    return Field(name, dp.Category(numbers), stored, lambda rng: rng.choice(rng.choice((inside, made))))  # type: ignore[arg-type]


def boolean(rng: Random, name: str) -> Field:
    return Field(name, dp.Boolean(), pa.bool_(), lambda rng: rng.random() < 0.5)


def day(rng: Random, name: str) -> Field:
    first = date(rng.choice((1899, 1969, 1970, 2000, 2024)), rng.randint(1, 12), rng.randint(1, 28))
    last = first + timedelta(days=rng.choice((0, 3, 40, 500)))
    stored = rng.choice((pa.date32(), pa.timestamp("us")))
    span = (last - first).days

    def make(rng: Random) -> object:
        found = first + timedelta(days=rng.choice((-1, 0, span, span + 1, rng.randint(0, span))))
        if stored == pa.date32():
            return found
        return datetime(found.year, found.month, found.day) + timedelta(seconds=rng.choice((0, 0, 0, 1)))

    return Field(name, dp.Date(first, last), stored, make)


def instant(rng: Random, name: str) -> Field:
    first = datetime(rng.choice((1969, 1999, 2024)), rng.choice((3, 10, 12)), rng.randint(1, 28), 22, 30, 15)
    last = first + timedelta(seconds=rng.choice((59, 7200, 90_000, 86_400 * 40)))
    zone, step = rng.choice(ZONES), rng.choice(("1s", "5m", "1h", "1d"))
    aware = rng.random() < 0.4
    span = int((last - first).total_seconds())

    def make(rng: Random) -> object:
        at = first + timedelta(seconds=rng.choice((-1, 0, span, span + 1, rng.randint(0, span))))
        at += timedelta(microseconds=rng.choice((0, 0, 999_999)))
        return at.replace(tzinfo=UTC) if aware else at

    stored = pa.timestamp("us", "UTC") if aware else pa.timestamp("us")
    return Field(name, dp.Datetime(first, last, zone=zone, step=step), stored, make)


def bins(rng: Random, name: str) -> Field:
    edges = sorted(rng.sample((-5, 0, Fraction("0.1"), 1, Fraction(5, 2), 7, 100), rng.randint(2, 5)))
    stored = rng.choice((pa.float64(), pa.int64()))
    near = [float(edge) for edge in edges]
    made = (*near, *(math.nextafter(edge, -math.inf) for edge in near), *(edge + 0.25 for edge in near), *NASTY)
    whole = (*map(round, near), 0, 1, 101)
    return Field(name, dp.Bins(edges), stored, lambda rng: rng.choice(made if stored == pa.float64() else whole))


def text(rng: Random, name: str) -> Field:
    return Field(name, dp.Text(), pa.string(), lambda rng: rng.choice(TEXTS[: rng.choice((2, 5, 11))]))


MAKERS = (integer, integer, real, category, category, boolean, day, instant, bins, text)


def fields(rng: Random, prefix: str, *, private_keys: bool) -> tuple[Field, ...]:
    """Two to five columns, the first of them a category or a small integer."""
    makers = [category, *rng.choices(MAKERS, k=rng.randint(1, 4))] + [text] * private_keys
    return tuple(maker(rng, f"{prefix}{number}") for number, maker in enumerate(makers))
