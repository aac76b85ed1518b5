"""Random questions in SQL over one table with every column type: each function and operator of the language.

`question(rng)` is a text, `case_of(text, rows)` the case that it asks about, and `hostile(rng, unit)` a row that would
trip an engine that is not total.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from random import Random

import pyarrow as pa

from discreet import dp
from discreet.engine.parser import parse
from discreet.engine.resolve import plan_of
from tests.plan_schemas import Field, Row, Schema
from tests.plans import Case

COLUMNS: dict[str, dp.domain.Column] = {
    "n": dp.Integer(-5, 9),
    "k": dp.Integer(0, 3),
    "x": dp.Real(-2, 10, step="0.25"),
    "y": dp.Real(0, 1, step="0.1"),
    "b": dp.Boolean(),
    "w": dp.Category(["north", "south", "icu"]),
    "c": dp.Category([1, 2, 5]),
    "d": dp.Date(date(2023, 12, 25), date(2024, 3, 5)),
    "t": dp.Datetime(datetime(2024, 3, 30, 22), datetime(2024, 4, 2), zone="Europe/Zurich", step="5m"),
    "s": dp.Text(),
    "g": dp.Bins([0, 1, 2.5, 10]),
}
STORED = {
    "u": pa.int64(),
    "n": pa.int64(),
    "k": pa.float64(),
    "x": pa.float64(),
    "y": pa.float64(),
    "b": pa.bool_(),
    "w": pa.string(),
    "c": pa.int64(),
    "d": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
    "s": pa.string(),
    "g": pa.float64(),
}
FLOATS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e308, -1e308, 2.0**63, 1e19, 0.5, 1.0, 9.999999)
WHOLES = (0, 1, -1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 9, -5, 10)
TEXTS = ("", "a", "north", "North", "north ", "%", "_", "\\", "'; DROP TABLE visits; --", "NaN", "9" * 400, "é", "x0")
DAYS = (date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(2023, 12, 25), date(1970, 1, 1))
INSTANTS = (
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 30, tzinfo=UTC),  # an hour that the clock skips
    datetime(2024, 3, 31, 0, 59, 59, 999_999, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
)


def schema_of(*, unit: bool = True, **bounds: int) -> Schema:
    """The table `visits`, with at most four rows of a unit unless other bounds are given."""
    fields = tuple(Field(name, domain, STORED[name], lambda _: None) for name, domain in COLUMNS.items())
    return Schema("visits", fields, pa.int64(), **({"rows_per_unit": 4} | bounds)) if unit else Schema("visits", fields)


def case_of(text: str, rows: list[Row], *, unit: bool = True, **bounds: int) -> Case:
    """A question in SQL over rows, as a case of the recorder; a refusal of the question is raised."""
    schema = schema_of(unit=unit, **bounds)
    kept = rows if unit else [{name: value for name, value in row.items() if name != "u"} for row in rows]
    plan = plan_of(parse(text), {"visits": schema.table(schema.arrow([]))})
    return Case(0, (schema,), (kept,), plan)


def plain(rng: Random, unit: int) -> Row:
    """A row inside all domains, with a NULL here and there."""
    made: Row = {
        "n": rng.randint(-5, 9),
        "k": float(rng.randint(0, 3)),
        "x": rng.uniform(-2, 10),
        "y": rng.choice((0.0, 0.05, 0.15, 0.25, 0.35, 1.0, rng.random())),
        "b": rng.random() < 0.5,
        "w": rng.choice(("north", "south", "icu")),
        "c": rng.choice((1, 2, 5)),
        "d": date(2023, 12, 25) + timedelta(days=rng.randint(0, 71)),
        "t": datetime(2024, 3, 30, 21, tzinfo=UTC) + timedelta(seconds=rng.randint(0, 180_000)),
        "s": rng.choice(TEXTS),
        "g": rng.choice((0.0, 1.0, 2.5, 10.0, rng.uniform(0, 10))),
    }
    return {name: None if rng.random() < 0.08 else value for name, value in made.items()} | {"u": unit}


def hostile(rng: Random, unit: int) -> Row:
    """A row of what engines raise on: overflow, casts, division by zero, far dates, and texts of all kinds."""
    return {
        "u": unit,
        "n": rng.choice(WHOLES),
        "k": rng.choice(FLOATS),
        "x": rng.choice(FLOATS),
        "y": rng.choice(FLOATS),
        "b": rng.choice((True, False, None)),
        "w": rng.choice(TEXTS),
        "c": rng.choice(WHOLES),
        "d": rng.choice(DAYS),
        "t": rng.choice(INSTANTS),
        "s": rng.choice(TEXTS),
        "g": rng.choice(FLOATS),
    }


class Texts:
    """Random texts of expressions, by kind."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def any(self, depth: int = 2) -> str:
        return self.rng.choice((self.number, self.number, self.truth, self.day, self.word))(depth)

    def number(self, depth: int) -> str:
        pick, again = self.rng.choice, self.number
        if depth <= 0:
            return pick(("n", "k", "x", "y", "n", "x", str(self.rng.randint(-3, 7)), "0", "0.5", "2.25"))
        one = lambda: again(depth - 1)  # noqa: E731  each call is another text
        match self.rng.randint(0, 13):
            case 0 | 1:
                return f"({one()} {pick('+-*')} {one()})"
            case 2:
                return f"({one()} / {pick(('2', '4', '10', '0.5', 'k', '0'))})"
            case 3:
                return f"({one()} {pick(('//', '%'))} {pick(('2', '3', 'k', 'n', '0', '0.5'))})"
            case 4:
                return f"{pick(('ABS', '-', 'SIGN', 'FLOOR', 'CEIL', 'ROUND', 'TRUNC'))}({one()})"
            case 5:
                return f"CASE WHEN {self.truth(depth - 1)} THEN {one()} ELSE {pick(('NULL', one()))} END"
            case 6:
                return f"{pick(('LEAST', 'GREATEST', 'COALESCE'))}({one()}, {one()})"
            case 7:
                return f"NULLIF({one()}, {one()})"
            case 8:
                return (
                    f"{pick(('year', 'month', 'day', 'week', 'quarter', 'dayofweek', 'dayofyear'))}({pick(('d', 't'))})"
                )
            case 9:
                return f"{pick(('hour', 'minute', 'second'))}(t)"
            case 10:
                return f"CAST({pick(('b', 'n', 'k', f'FLOOR({one()})'))} AS INTEGER)"
            case 11:
                return f"({self.day(0)} - {self.day(0)})"
            case 12:
                return f"ROUND({one()}, {pick(('0', '1', '2'))})"
            case _:
                return one()

    def truth(self, depth: int) -> str:
        pick = self.rng.choice
        if depth <= 0:
            return pick(("b", "n > 0", "x <= 2.5", "w = 'north'", "s LIKE 'n%'", "d >= DATE '2024-01-31'", "TRUE"))
        less = depth - 1
        match self.rng.randint(0, 11):
            case 0 | 1:
                return f"({self.number(less)} {pick(('=', '<>', '<', '<=', '>', '>='))} {self.number(less)})"
            case 2:
                return f"({self.truth(less)} {pick(('AND', 'OR'))} {self.truth(less)})"
            case 3:
                return f"(NOT {self.truth(less)})"
            case 4:
                return f"({self.any(less)} IS {pick(('', 'NOT '))}NULL)"
            case 5:
                return f"({self.number(less)} {pick(('', 'NOT '))}BETWEEN {self.number(0)} AND {self.number(0)})"
            case 6:
                return f"({self.number(less)} {pick(('', 'NOT '))}IN (0, 1, 2.5, -3))"
            case 7:
                return f"(w {pick(('', 'NOT '))}IN ('north', 'nowhere'{pick(('', ', NULL'))}))"
            case 8:
                return f"({pick(('s', 'w'))} {pick(('=', '<>', '<', '>='))} {pick(TEXTS_IN_SQL)})"
            case 9:
                return f"({pick(('s', 'w'))} {pick(('', 'NOT '))}LIKE {pick(PATTERNS)})"
            case 10:
                return f"({self.truth(less)} IS {pick(('TRUE', 'FALSE', 'NOT TRUE'))})"
            case _:
                return f"({self.day(less)} {pick(('<', '>=', '='))} DATE '2024-02-01')"

    def day(self, depth: int) -> str:
        pick = self.rng.choice
        if depth <= 0:
            return pick(("d", "d", "CAST(t AS DATE)"))
        parts = ("year", "quarter", "month", "week", "day")
        match self.rng.randint(0, 3):
            case 0:
                return f"date_trunc('{pick(parts)}', {self.day(0)})"
            case 1:
                return f"({self.day(0)} + {pick(('1', 'k', '30', '-7'))})"
            case 2:
                return f"COALESCE({self.day(0)}, DATE '2024-01-01')"
            case _:
                return f"CASE WHEN {self.truth(depth - 1)} THEN {self.day(0)} END"

    def word(self, depth: int) -> str:
        return self.rng.choice(("w", "s", "CASE WHEN n > 2 THEN 'low' ELSE 'high' END", "COALESCE(w, 'north')"))

    def key(self) -> str:
        """Something with few values."""
        return self.rng.choice((*KEYS, self.truth(1)))

    def aggregate(self, *, unit: bool = True) -> str:
        pick = self.rng.choice
        number, anything = self.number(2), self.any(2)
        return pick(
            ("COUNT(*)", f"COUNT({anything})", f"SUM({number})", f"AVG({number})", f"VARIANCE({self.number(1)})")
            + (f"COUNT(DISTINCT {pick(('n', 'w', 's', 'x', 'd'))})", f"COUNT(*) FILTER (WHERE {self.truth(1)})")
            + (f"MEDIAN({pick(('n', 'x', 'k'))})", f"SUM(n) FILTER (WHERE {self.truth(1)})", "STDDEV_POP(x)")
            + (("COUNT(DISTINCT u)",) if unit else ())
        )


KEYS = (
    "w",
    "b",
    "c",
    "k",
    "n",
    "g",
    "month(d)",
    "bin(n, 5)",
    "bin(x, 3)",
    "date_trunc('month', d)",
    "hour(t)",
    "n // 4",
)
KEYS += ("CASE WHEN n > 2 THEN 'low' ELSE 'high' END", "COALESCE(w, 'none')")
TEXTS_IN_SQL = tuple("'" + text.replace("'", "''") + "'" for text in TEXTS)
PATTERNS = ("'n%'", "'%'", "''", "'north'", "'x0%'", "'9%'", "'é%'")


def question(rng: Random, *, unit: bool = True) -> str:
    """A whole question; some are refused, in words."""
    made = Texts(rng)
    keys = [made.key() for _ in range(rng.choice((0, 1, 1, 2)))]
    outputs = [made.aggregate(unit=unit) for _ in range(rng.randint(1, 3))]
    listed = [f"{key} AS key{place}" for place, key in enumerate(keys)]
    listed += [f"{output} AS out{place}" for place, output in enumerate(outputs)]
    where = f" WHERE {made.truth(2)}" if rng.random() < 0.5 else ""
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(listed)} FROM visits{where}{by}"
