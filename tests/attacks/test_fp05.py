"""FP-05: variances near 2^50, where the mean is rounded (OpenDP #2923: claimed 40.6, realised 63.9)."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.parser import parse
from discreet.engine.plan import SpreadOf, Total
from discreet.engine.resolve import plan_of
from tests.plan_schemas import Field, Schema
from tests.plans import Case, Rows_
from tests.recorder import declared, first_violation, oracle
from tests.reference import Found
from tests.running import Running
from tests.sizes import sized

NEAR = dp.Integer(2**50, 2**50 + 7)
SCHEMA = Schema("visits", (Field("x", NEAR, pa.int64(), lambda _: None),))
VALUES = [2**50 + i * i % 8 for i in range(1_024)]


def question(aggregate: str = "VARIANCE") -> Case:
    plan = plan_of(parse(f"SELECT {aggregate}(x) AS v FROM visits"), {"visits": SCHEMA.table(SCHEMA.arrow([]))})
    return Case(0, (SCHEMA,), ([{"x": value} for value in VALUES],), plan)


@pytest.mark.parametrize("neighbours", dp.Neighbours)
def test_one_row_is_changed(running: Running, neighbours: dp.Neighbours) -> None:
    """The sums of (x - c) and (x - c)^2 are of whole numbers, and move by what one row can."""
    asked = question()
    for gone in (1, 1_023)[: sized(1, 2)]:
        other = asked.without(gone, ([{"x": 2**50 + 7}],) if neighbours is dp.Neighbours.REPLACE else None)
        assert first_violation(asked, other, neighbours, running, declared) is None


def test_the_bounds_are_those_of_the_width() -> None:
    """(hi - lo) / 2 for x - c and its square for the other, not those of numbers near 2^50."""
    query = question().query(dp.Neighbours.ADD_REMOVE)
    assert query is not None
    norms = sorted(
        one.sensitivity.l1 * one.step
        for one in query.measures
        if isinstance(one.measure, Total) and one.sensitivity.l1 is not None
    )
    assert norms == [4, 16] or norms == [Fraction(7, 2), Fraction(49, 4)]
    assert any(isinstance(output.formula, SpreadOf) for output in query.plan.outputs)


def test_the_variance_is_exact() -> None:
    """From the three sums, for any centre: that of the values by their definition."""
    asked = question("VAR_POP")
    query = asked.query(dp.Neighbours.ADD_REMOVE)
    assert query is not None
    sums = [
        measure.step * found[()]
        for measure, found in zip(query.measures, oracle(query, asked.rows).measures, strict=True)
    ]
    spread = query.plan.outputs[0].formula
    assert isinstance(spread, SpreadOf)
    total, squares, n = sums[spread.total], sums[spread.squares], sums[spread.present]
    mean = Fraction(sum(VALUES), len(VALUES))
    assert squares / n - (total / n) ** 2 == sum((value - mean) ** 2 for value in VALUES) / len(VALUES)


def test_the_twin_moves_further() -> None:
    """The squares of floats about a mean of floats, with what a row moves in exact arithmetic declared."""

    def of_floats(query: BoundedQuery, rows: Rows_) -> Found:
        values = [float(row["x"]) for row in rows[0]]
        whole = sum(value * value for value in values) - len(values) * (sum(values) / len(values)) ** 2
        assert math.isfinite(whole)
        return Found(tuple({(): round(whole / measure.step)} for measure in query.measures), {})

    asked = question()
    found = [
        first_violation(asked, asked.without(gone), dp.Neighbours.ADD_REMOVE, of_floats, declared) for gone in range(5)
    ]
    assert any(one is not None for one in found)
