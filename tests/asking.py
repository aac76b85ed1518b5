"""Questions to an engine put together by hand, and what it returned, looked into as only a test may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import discreet as dc
from discreet import dp
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.expression import Coded, Column, Day, Expression, Instant, Number, Truth
from discreet.engine.kinds import kind_of
from discreet.engine.plan import Histogram, Key, Measure, Plan, Present, Relation, Rows, Total

ADD = dp.Neighbours.ADD_REMOVE
Counts = np.ndarray[Any, np.dtype[np.int64]]


def column(table: dc.Table, name: str) -> Column:
    return Column(0, name, table.columns[name], kind_of(table.columns[name]))


def key(expression: Expression) -> Key:
    """Every integer of its kind is a key; a free text is a private one."""
    match expression.kind:
        case Coded(domain):
            codes = range(domain.declared)
        case Truth():
            codes = range(2)
        case Number(_, low, high) | Day(low, high) | Instant(low, high, _):
            codes = range(low, high + 1)
        case _:
            return Key(expression, None, None)
    return Key(expression, codes, codes)


def plan(
    table: dc.Table, keys: Sequence[str] = (), measures: Sequence[Measure] = (Rows(),), where: Expression | None = None
) -> Plan:
    return Plan(Relation((table,)), where, tuple(key(column(table, name)) for name in keys), tuple(measures), ())


def bounded(table: dc.Table, *keys: str, measures: Sequence[Measure] = (Rows(),)) -> BoundedQuery:
    return bound(plan(table, keys, measures), neighbours=ADD)


def asked(query: BoundedQuery, engine: DuckDB | None = None) -> list[Counts]:
    """The exact arrays of a question; of a new engine unless one is given."""
    made = engine or DuckDB(query.plan.relation.scans)
    try:
        made.schema(query.plan.relation)
        groups = made.run(query)
    finally:
        if engine is None:
            made.close()
    assert isinstance(groups, PublicGroups)
    return [np.asarray(exact._value) for exact in groups.measures]


def counts(table: dc.Table, *keys: str) -> Counts:
    return asked(bounded(table, *keys))[0]


def sums(table: dc.Table, name: str) -> tuple[int, int]:
    """How many values of a column are there, and their sum in its own integers."""
    present, total = asked(bounded(table, measures=(Present(column(table, name)), Total(column(table, name)))))
    return int(present), int(total)


def spread(table: dc.Table, name: str, bins: int) -> list[int]:
    """A column as a histogram."""
    return asked(bounded(table, measures=(Histogram(column(table, name), dp.Integer(0, bins - 1)),)))[0].tolist()  # type: ignore[no-any-return]
