"""Questions and tables that are written by hand, as cases of the recorder: one table of visits, and what joins it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.plan import Join, Key, Measure, Plan, Relation, Rows
from tests.plan_schemas import Field, Row, Schema, kind_of
from tests.plans import Case, Rows_

WARDS = dp.Category(["a", "b", "c"])


def nothing(_: object) -> None:
    """Rows here are written, not made."""


def schema(age: dp.domain.Column, name: str = "visits", stored: pa.DataType | None = None, **bounds: int) -> Schema:
    """visits(ward, age, note) with a unit if it has bounds; R is rows_per_unit."""
    kind = stored or (pa.float64() if isinstance(age, dp.Real) else pa.int64())
    fields = (
        Field("ward", WARDS, pa.string(), nothing),
        Field("age", age, kind, nothing),
        Field("note", dp.Text(), pa.string(), nothing),
    )
    return Schema(name, fields, pa.int64() if bounds else None, **bounds)


def row(unit: object = None, ward: str | None = "a", age: object = 1, note: str | None = "x") -> Row:
    return {"u": unit, "ward": ward, "age": age, "note": note}


def age_of(age: dp.domain.Column) -> ex.Column:
    return ex.Column(0, "age", age, kind_of(age))


def by_ward() -> Key:
    return Key(ex.Column(0, "ward", WARDS, ex.Coded(WARDS)), WARDS.values, range(3))


def by_note() -> Key:
    return Key(ex.Column(0, "note", dp.Text(), ex.FREE), None, None)


def case(
    rows: list[Row],
    *measures: Measure,
    age: dp.domain.Column | None = None,
    keys: tuple[Key, ...] = (),
    where: ex.Expression | None = None,
    schemas: tuple[Schema, ...] = (),
    joins: tuple[Join, ...] = (),
    more: Rows_ = (),
    **bounds: int,
) -> Case:
    """A case over one table, or over several where `schemas` follow it with their rows, `more`."""
    every = (schema(age or dp.Integer(-10, 40), **bounds), *schemas)
    kept = [{name: value for name, value in one.items() if bounds or name != "u"} for one in rows]
    scans = tuple(one.table(one.arrow([])) for one in every)
    plan = Plan(Relation(scans, joins), where, keys, measures or (Rows(),), ())
    return Case(0, every, (kept, *more), plan)


def half(value: int) -> ex.Constant:
    """A number of halves."""
    return ex.Constant(value, ex.Number(Fraction(1, 2), value, value))
