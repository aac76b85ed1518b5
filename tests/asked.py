"""Tables to ask about, and questions about them as plans: nothing is read, and no file is there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import discreet as dc
from discreet import dp
from discreet.engine.expression import Expression
from discreet.engine.parser import parse
from discreet.engine.plan import Plan, Total
from discreet.engine.resolve import plan_of

VISITS = dc.Table(
    "visits.parquet",
    unit="patient_id",
    rows_per_unit=10,
    columns={
        "ward": dp.Category(["north", "south", "icu"]),
        "origin": dp.Category(["icu", "er", "north"]),
        "grade": dp.Category([3, 1, 7]),
        "age": dp.Integer(0, 110),
        "balance": dp.Integer(-700, 300),
        "cost": dp.Real(0, 500, step="0.01"),
        "rate": dp.Real(-1, 3),
        "old": dp.Boolean(),
        "day": dp.Date(date(2023, 11, 20), date(2026, 3, 9)),
        "born": dp.Date(date(1900, 1, 1), date(2026, 12, 31)),
        "moment": dp.Datetime(datetime(2023, 12, 30, 22, 15), datetime(2025, 6, 1), zone="Europe/Zurich"),
        "other": dp.Datetime(datetime(2024, 1, 1), datetime(2025, 6, 1), zone="UTC", step="1h"),
        "income": dp.Bins([0, 10, 50]),
        "code": dp.Text(),
        "id": dp.Integer(0, 10**9),
        "huge": dp.Integer(-(2**53), 2**53),
        "few": dp.Integer(0, 512),
    },
)
STAYS = dc.Table(
    "stays.parquet",
    unit="patient_id",
    rows_per_unit=3,
    columns={"ward": dp.Category(["north", "south"]), "nights": dp.Integer(0, 30)},
)
ROWS = dc.Table("rows.parquet", columns={"age": dp.Integer(0, 110), "ward": dp.Category(["a", "b"])})
WARDS = dc.Table(
    "wards.csv",
    public=True,
    columns={
        "ward": dp.Category(["south", "north", "er"]),
        "beds": dp.Integer(0, 1000),
        "half": dp.Real(0, 100, step="0.5"),
        "day": dp.Date(date(2020, 1, 1), date(2030, 1, 1)),
        "surgical": dp.Boolean(),
        "name": dp.Text(),
    },
)
REGIONS = dc.Table("regions.csv", public=True, columns={"beds": dp.Integer(0, 1000), "region": dp.Category(["w", "e"])})
TABLES = {table.name: table for table in (VISITS, STAYS, ROWS, WARDS, REGIONS)}


def fan_out(table: dc.Table, columns: tuple[str, ...]) -> int:
    """As many rows have one value as the columns have letters: a number that only this call gives."""
    assert table.public
    return sum(map(len, columns))


def plan(text: str, parameters: Mapping[str, Any] | None = None) -> Plan:
    """The plan of a question."""
    return plan_of(parse(text), TABLES, parameters=parameters, fan_out=fan_out)


def number(text: str, parameters: Mapping[str, Any] | None = None) -> Expression:
    """What a number of SQL means."""
    [measure] = plan(f"SELECT SUM({text}) AS s FROM visits", parameters).measures
    assert isinstance(measure, Total)
    return measure.expression


def condition(text: str, parameters: Mapping[str, Any] | None = None) -> Expression | None:
    """What a condition of SQL means."""
    return plan(f"SELECT COUNT(*) AS n FROM visits WHERE {text}", parameters).where


def key(text: str) -> Expression:
    """What a key of SQL means."""
    [found] = plan(f"SELECT {text} AS k, COUNT(*) AS n FROM visits GROUP BY {text}").keys
    return found.expression
