"""Odd rows of every column type, for every engine; and one question that shows what each row is read into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import bound
from discreet.engine.plan import Key, Measure, Plan, Present, Relation, Total
from tests.conformance import Place
from tests.plan_schemas import Field, Row, Schema
from tests.reference import Record, evaluate

FLOATS = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 1e-160, -1e-160, 1e308, -1e308]
FLOATS += [
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    -2.5,
    -3.0,
    0.15,
    0.45,
    7.0,
    math.nextafter(7, 8),
    math.nextafter(-3, -4),
    2.0**53,
]
WHOLE = [0, 1, -1, -3, -4, 7, 8, 127, -128, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
DECIMALS = [Decimal(text) for text in ("0.00", "1.00", "1.50", "-3.00", "-3.01", "7.00", "7.01", "99999999.99")]
TEXTS = ["", " ", "a", "A", "a ", " a", "ä", "a\u0308", "ß", "NULL", "%s", "%(p0)s", ":p0", "$1", "${x}", "\\", "'; --"]
TEXTS += ['"', "`", "\N{GRINNING FACE}", "line\nbreak", "tab\t", "z" * 5000]
DAYS = [date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10), date(1900, 2, 28), date(1969, 12, 31), date(1970, 1, 1)]
DAYS += [date(2019, 12, 29) + timedelta(days=n) for n in range(10)] + [date(2024, 2, 29), date(2021, 1, 3)]
ZONES = ["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
MOMENTS = [datetime(2024, 3, 31, 0, 59, 59, 999_999), datetime(2024, 10, 27, 0, 30), datetime(2024, 10, 27, 1, 30)]
MOMENTS += [datetime(2024, 3, 10, 6, 59, 59), datetime(2024, 3, 10, 7), datetime(2024, 11, 3, 5, 30)]
MOMENTS += [datetime(2024, 11, 3, 6, 30), datetime(2024, 4, 6, 15, 15), datetime(2024, 10, 5, 15, 45)]
MOMENTS += [datetime(1969, 12, 31, 23, 59, 59, 500_000), datetime(1, 1, 3), datetime(9999, 12, 29, 23, 59, 59)]
MOMENTS += [datetime(2024, 1, 1), datetime(2024, 12, 31, 23, 59, 59, 999_999), datetime(2025, 1, 1)]
LONG = (datetime(2, 1, 1), datetime(9998, 12, 31))
YEAR = (datetime(2024, 1, 1), datetime(2024, 12, 31, 23, 59, 59))

Column = tuple[dp.domain.Column, pa.DataType, list[object]]


def columns() -> list[Column]:
    """Every declared type over every type that it is stored as."""
    found: list[Column] = []
    small = dp.Integer(-3, 7)
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        held = [value for value in WHOLE if -(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1)]
        found += [
            (domain, kind, held) for domain in (small, dp.Real(-3, 7, step=Fraction(1, 4)), dp.Category([8, -1, 0]))
        ]
    found += [(dp.Integer(-(2**53), 2**53), pa.int64(), WHOLE), (dp.Bins([-1, 0, 7, 2**40]), pa.int64(), WHOLE)]
    singles = [float(np.float32(value)) for value in FLOATS if abs(value) < 1e38 or math.isnan(value)]
    for kind, held in ((pa.float64(), FLOATS), (pa.float32(), singles)):
        found += [(small, kind, held), (dp.Category([0, 7, -3]), kind, held), (dp.Bins([-3, 0, "0.15", 7]), kind, held)]
        found += [(dp.Real(-3, 7, step=step), kind, held) for step in ("0.1", 3, Fraction(1, 3), Fraction(1, 1 << 20))]
    decimal = pa.decimal128(10, 2)
    found += [(domain, decimal, DECIMALS) for domain in (small, dp.Real(-3, 7, step="0.01"), dp.Bins([-3, 1, 7]))]
    found += [(dp.Boolean(), pa.bool_(), [True, False])]
    found += [(dp.Category(TEXTS[:-1]), pa.string(), TEXTS), (dp.Category(["a ", "ä", ""]), pa.string(), TEXTS)]
    found += [(dp.Text(), pa.string(), TEXTS)]
    dates = [dp.Date(date(1, 1, 1), date(9999, 12, 31)), dp.Date(date(1969, 12, 31), date(2020, 1, 2))]
    midnights = [datetime(day.year, day.month, day.day) + timedelta(seconds=n % 2) for n, day in enumerate(DAYS * 2)]
    found += [(domain, pa.date32(), DAYS) for domain in dates]
    found += [(dates[1], pa.timestamp("us"), midnights)]
    for zone in ZONES:
        for (first, last), step in ((LONG, "1s"), (YEAR, "5m"), (YEAR, "7d")):
            domain = dp.Datetime(first, last, zone=zone, step=step)
            found.append((domain, pa.timestamp("us", "UTC"), [moment.replace(tzinfo=UTC) for moment in MOMENTS]))
    found.append((dp.Datetime(*LONG, zone="Europe/Zurich"), pa.timestamp("us"), MOMENTS))
    return found


def schema(made: Sequence[Column]) -> tuple[Schema, list[Row]]:
    """A table with a column for each, its values one after another, NULL in the last row, and the number of the row."""
    length = max(len(values) for _, _, values in made) + 1
    fields = [Field("n", dp.Integer(0, length - 1), pa.int64(), lambda _: 0)]
    fields += [Field(f"v{n}", domain, kind, lambda _: None) for n, (domain, kind, _) in enumerate(made)]
    rows: list[Row] = []
    for number in range(length):
        row: Row = {"n": number}
        for place, (_, _, values) in enumerate(made):
            row[f"v{place}"] = values[number] if number < len(values) else None
        rows.append(row)
    return Schema("odd", tuple(fields)), rows


def integer_of(expression: ex.Expression) -> ex.Expression:
    """The integer of any expression, as a number that can be summed."""
    match expression.kind:
        case ex.Number():
            return expression
        case ex.Truth():
            one, zero = (ex.Constant(value, ex.Number(Fraction(1), 0, 1)) for value in (1, 0))
            branches = ((expression, one), (ex.Not(expression), zero))
            return ex.Case(branches, ex.Constant(None, one.kind), one.kind)
        case ex.Coded(domain):
            return ex.Lookup(expression, tuple(range(domain.declared)), ex.Number(Fraction(1), 0, domain.declared - 1))
        case ex.Day(low, high) | ex.Instant(low, high, _):
            return ex.Arithmetic("+", expression, ex.Constant(0, expression.kind), ex.Number(Fraction(1), low, high))
        case ex.Free():
            return integer_of(ex.Member(expression, tuple(TEXTS[:5])))
    raise AssertionError(expression)


def check_read(place: Place, made: Schema, rows: list[Row], expressions: Sequence[ex.Expression]) -> int:
    """Every expression has, in every row, the value that the oracle gives it; returns how many were compared."""
    table = place.table(made, rows)
    row = made.fields[0].at(0)
    codes = range(len(rows))
    numbers = [integer_of(expression) for expression in expressions]
    measures: list[Measure] = [each for number in numbers for each in (Present(number), Total(number))]
    plan = Plan(Relation((table,)), None, (Key(row, codes, codes),), tuple(measures), ())
    groups = place.run(bound(plan, neighbours=dp.Neighbours.ADD_REMOVE))
    assert isinstance(groups, PublicGroups)
    found = [np.asarray(exact._value).tolist() for exact in groups.measures]
    for n, (number, expression) in enumerate(zip(numbers, expressions, strict=True)):
        expected = [evaluate(number, [Record(raw, None)]) for raw in rows]
        here = [total if present else None for present, total in zip(found[2 * n], found[2 * n + 1], strict=True)]
        odd = [(raw, e, h) for raw, e, h in zip(rows, expected, here, strict=True) if e != h]
        shown = [(raw.get(getattr(expression, "name", "")), e, h) for raw, e, h in odd[:5]]
        assert not odd, (place.name, expression, shown)
    return len(rows) * len(expressions)
