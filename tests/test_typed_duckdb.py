"""Where SQL has one meaning, ours is that of DuckDB: each expression over rows of edges, NULL among them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from discreet.engine import expression as ex
from tests.asked import condition, key, number
from tests.reference_expressions import Record, evaluate

DAYS = (
    date(2023, 11, 20),
    date(2023, 12, 31),
    date(2024, 1, 1),
    date(2024, 2, 29),
    date(2024, 12, 30),
    date(2026, 3, 9),
)
INSTANTS = (datetime(2023, 12, 30, 22, 15), datetime(2024, 12, 31, 23, 59, 59), datetime(2025, 6, 1))
AGES, BALANCES, COSTS = (0, 1, 7, 44, 110), (-700, -7, -1, 0, 5, 300), (0.0, 0.25, 99.5, 100.5, 500.0)
ROWS: list[dict[str, Any]] = [
    {
        "age": AGES[i % 5],
        "balance": BALANCES[i % 6],
        "cost": COSTS[i // 2 % 5],
        "day": DAYS[i % 6],
        "moment": INSTANTS[i % 3],
        "old": i % 2 == 0,
        "ward": ("north", "south", "icu")[i // 3 % 3],
        "code": ("J06", "J%", "", "j06")[i % 4],
    }
    for i in range(30)
]
ROWS += [{**ROWS[i], name: None} for i, name in enumerate(ROWS[0])] + [dict.fromkeys(ROWS[0])]
TYPES = {"age": "BIGINT", "balance": "BIGINT", "cost": "DOUBLE", "day": "DATE", "moment": "TIMESTAMP", "old": "BOOLEAN"}

NUMBERS = [
    *("age + balance", "age - balance", "age * balance", "cost * age", "balance / 4", "age % 7", "balance % 7"),
    *("balance % -7", "-balance", "ABS(balance)", "SIGN(balance)", "FLOOR(cost)", "CEIL(cost)", "ROUND(cost)"),
    *("FLOOR(balance / 4)", "CEIL(balance / 4)", "ROUND(balance / 4)", "TRUNC(balance / 4)", "ROUND(balance / 2)"),
    *("LEAST(age, balance)", "GREATEST(age, balance, 3)", "COALESCE(age, balance)", "NULLIF(balance, -7)"),
    *("CASE WHEN age > 7 THEN age WHEN old THEN balance END", "CASE WHEN old THEN 1 ELSE cost END"),
    *(f"{part}(day)" for part in ("year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear")),
    *(f"{part}(moment)" for part in ("year", "month", "week", "dayofyear", "hour", "minute", "second")),
    *("day - DATE '2024-02-28'", "CAST(moment AS DATE) - day", "EXTRACT(month FROM day)", "CAST(old AS INTEGER)"),
]
CONDITIONS = [
    *("age > balance", "age >= 7 AND NOT old", "age < 7 OR old", "NOT (age < 7 OR old)", "age BETWEEN 1 AND 44"),
    *("age NOT BETWEEN 1 AND 44", "cost = 99.5", "cost <> 99.5", "cost > 0.1", "balance IN (-7, 5, 1000)"),
    *("balance NOT IN (-7, 5)", "balance IN (-7, NULL)", "balance NOT IN (-7, NULL)", "ward IN ('north', 'x')"),
    *("ward = 'nowhere'", "NOT ward = 'nowhere'", "ward <> 'nowhere'", "ward LIKE '%o%th'", "ward NOT LIKE 'i_u'"),
    *("ward LIKE 'x%'", "NOT ward LIKE 'x%'", "ward NOT IN ('x')", "code = 'J06'", "code LIKE 'J%'", "code <> ''"),
    *("code IN ('J06', '')", "age IS NULL", "age IS NOT NULL", "old IS TRUE", "old IS NOT TRUE", "old IS FALSE"),
    *("(age > 7) IS NULL", "age IS NOT DISTINCT FROM balance", "age IS DISTINCT FROM balance", "old = (age > 7)"),
    *(
        "day >= '2024-01-01'",
        "day = DATE '2024-02-29'",
        "moment < TIMESTAMP '2024-12-31 23:59:59'",
        "moment >= '2025-06-01'",
    ),
    *("day IN ('2024-02-29', '2023-12-31')", "COALESCE(ward, 'none') = 'none'", "NULLIF(ward, 'icu') IS NULL"),
    *("CASE WHEN age > 7 THEN 'a' ELSE ward END IN ('a', 'icu')", "COALESCE(old, age > 7)", "age > NULL"),
]
KEYS = [
    *(f"date_trunc('{unit}', day)" for unit in ("year", "quarter", "month", "week", "day")),
    *(f"date_trunc('{unit}', moment)" for unit in ("year", "quarter", "month", "week", "day", "hour", "minute")),
    *("day + 30", "day - 1", "CAST(moment AS DATE)", "COALESCE(day, DATE '2024-01-01')", "COALESCE(ward, 'unknown')"),
    *(
        "LEAST(day, CAST(moment AS DATE))",
        "CASE WHEN old THEN 'a' WHEN age > 7 THEN 'b' END",
        "CASE WHEN old THEN ward END",
    ),
]


@cache
def rows() -> Any:
    import duckdb

    connection = duckdb.connect()
    columns = ", ".join(f"{name} {TYPES.get(name, 'VARCHAR')}" for name in ROWS[0])
    connection.execute(f"CREATE TABLE visits ({columns})")
    for row in ROWS:
        connection.execute(f"INSERT INTO visits VALUES ({', '.join('?' * len(row))})", list(row.values()))
    return connection


def theirs(text: str) -> Sequence[Any]:
    return [value for (value,) in rows().execute(f"SELECT {text} FROM visits").fetchall()]


def ours(expression: ex.Expression) -> list[Any]:
    return [evaluate(expression, [Record(row, 1)]) for row in ROWS]


def shown(value: Any, kind: ex.Kind) -> Any:
    match kind:
        case _ if value is None:
            return None
        case ex.Number(step):
            return float(value * step)
        case ex.Coded(domain):
            return domain.values[value]
        case ex.Day():
            return date(1970, 1, 1) + timedelta(days=value)
        case ex.Instant():
            return datetime(1970, 1, 1) + timedelta(seconds=value)
    return value


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text: str) -> None:
    expression = number(text)
    wanted = [None if value is None else float(value) for value in theirs(text)]
    assert [shown(value, expression.kind) for value in ours(expression)] == pytest.approx(wanted)


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions(text: str) -> None:
    expression = condition(text)
    assert expression is not None
    assert ours(expression) == list(theirs(text))


@pytest.mark.parametrize("text", KEYS)
def test_keys(text: str) -> None:
    expression = key(text)
    wanted = list(theirs(text))
    if isinstance(expression.kind, ex.Day):  # DuckDB cuts a day to a timestamp
        wanted = [value.date() if isinstance(value, datetime) else value for value in wanted]
    assert [shown(value, expression.kind) for value in ours(expression)] == wanted


@pytest.mark.parametrize(("top", "bottom"), [("cost", "age"), ("balance", "age"), ("age", "balance"), ("cost", "cost")])
def test_a_quotient_is_cut_to_its_grid(top: str, bottom: str) -> None:
    expression = number(f"{top} / {bottom}")
    assert isinstance(expression.kind, ex.Number)
    step = expression.kind.step
    for row, found in zip(ROWS, ours(expression), strict=True):
        if row[top] is None or not row[bottom]:
            assert found is None
        else:
            exact = Fraction(row[top]) / Fraction(row[bottom])
            assert abs(exact) - step < abs(found * step) <= abs(exact)
            assert found * exact >= 0


@pytest.mark.parametrize("divisor", ["7", "-7", "balance"])
def test_whole_division_is_cut_toward_zero(divisor: str) -> None:
    found = ours(number(f"balance // {divisor}"))
    wanted = [None if value is None else int(value) for value in theirs(f"TRUNC(balance / NULLIF({divisor}, 0))")]
    assert found == wanted
