"""FP-07: sums that wrap: 255 rows of 2^55, or 256. Nothing wraps, and what is above 2^62 counts as that."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.parser import parse
from discreet.engine.resolve import plan_of
from discreet.engine.table import Table
from discreet.errors import InvalidParameter, NotSupported
from tests.differences import check_engine
from tests.plan_schemas import Field, Row, Schema
from tests.plans import Case, Rows_
from tests.recorder import Engine, declared, engine_of, first_violation
from tests.reference import Found, Oracle
from tests.running import Running

ADD = dp.Neighbours.ADD_REMOVE
MOST = 2**62


def schema_of(high: int, **bounds: int) -> Schema:
    field = Field("x", dp.Integer(-high, high), pa.int64(), lambda _: None)
    ward = Field("w", dp.Category(["a", "b"]), pa.string(), lambda _: None)
    return Schema("visits", (field, ward), pa.int64() if bounds else None, **bounds)


def question(text: str, high: int, rows: list[Row], **bounds: int) -> Case:
    schema = schema_of(high, **bounds)
    plan = plan_of(parse(text), {"visits": schema.table(schema.arrow([]))})
    return Case(0, (schema,), (rows,), plan)


def far(count: int, value: int = 2**53) -> Case:
    return question("SELECT SUM(x * 3 + x) AS s FROM visits", 2**53, [{"x": value, "w": "a"}] * count)


def total(engine: Engine, case: Case) -> int:
    query = case.query(ADD)
    assert query is not None
    return engine_of(engine, case)(query, case.rows).measures[0].get((), 0) * int(query.measures[0].step)


def check(engine: Engine) -> None:
    """Around 2^62 and 2^63, above and below 0: one row more or less moves no more than one row can."""
    for count, value in ((128, 2**53), (256, 2**53), (257, -(2**53))):
        assert (
            first_violation(far(count, value), ([{"x": value, "w": "a"}] * (count - 1),), ADD, engine, declared) is None
        )


def test_one_row_more(running: Running) -> None:
    check(running)
    assert total(running, far(127)) == 127 * 2**55
    assert [total(running, far(count)) for count in (255, 256)] == [MOST, MOST]
    assert total(running, far(300, -(2**53))) == -MOST


class Wraps(Oracle):
    """The twin: 64 bits, and then from the other end."""

    def run(self, tables: Rows_) -> Found:  # type: ignore[override]
        found = super().run(tables)
        wrapped = tuple({cell: (v + 2**63) % 2**64 - 2**63 for cell, v in part.items()} for part in found.measures)
        return Found(wrapped, found.units)


def test_a_sum_that_wraps_is_seen() -> None:
    def engine(query: BoundedQuery, rows: Rows_) -> Found:
        return Wraps(query).run(rows)

    with pytest.raises(AssertionError):
        check(engine)


WIDE = [
    "SELECT w, SUM(x) AS s, COUNT(x) AS n FROM visits GROUP BY w",
    "SELECT SUM(x // 3) AS s, AVG(x) AS m FROM visits WHERE x <> 5",
    "SELECT w, SUM(x * 2 - 7) AS s, COUNT(DISTINCT u) AS n FROM visits GROUP BY w",
]


@pytest.mark.parametrize("high", [2**30, 2**31, 2**33, 2**45])
def test_one_unit_of_many_large_rows(running: Running, high: int) -> None:
    """1,000 rows of one unit at the ends of the range, so that its own sum and the products with weights are wide."""
    rng = Random(high)
    rows: list[Row] = [{"u": 1, "w": "a", "x": rng.choice((high, high, -high, high - 1))} for _ in range(1_000)]
    rows += [
        {"u": unit, "w": rng.choice("ab"), "x": rng.randint(-high, high)} for unit in range(2, 9) for _ in range(9)
    ]
    cases = [question(text, high, rows, **bounds) for text in WIDE for bounds in BOUNDS]
    if running.place.name == "spark":
        cases = [cases[high.bit_length() % len(cases)]]
    assert check_engine(running, cases) == len(cases)


BOUNDS = ({"rows_per_unit": 3}, {"rows_per_unit": 20, "groups_per_unit": 1, "rows_per_group": 7})


def test_what_might_overflow_is_refused_when_it_is_planned() -> None:
    """By declarations alone: numbers beyond 2^53, products beyond 2^62, and what one unit may add beyond it."""
    frame = pa.table({"x": pa.array([], pa.int64())})
    with pytest.raises(InvalidParameter, match="2\\^53"):
        Table(frame, columns={"x": dp.Integer(0, 2**54)}, name="visits")
    with pytest.raises(NotSupported):
        question("SELECT SUM(x * x) AS s FROM visits", 2**40, [])
    wide = question("SELECT SUM(x) AS s FROM visits", 2**53, [], rows_per_unit=1_000)
    assert wide.query(ADD) is None
