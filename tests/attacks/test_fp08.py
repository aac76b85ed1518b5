"""FP-08: NaN, infinities, -0.0 and subnormals, in the data and from expressions: answers are finite, and known."""

from __future__ import annotations

import math
from random import Random

import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from tests.differences import check_engine, check_same
from tests.plans import Rows_
from tests.recorder import Engine, declared, engine_of, first_violation
from tests.reference import Found
from tests.running import Running
from tests.sql_questions import FLOATS, Row, case_of, plain

ADD = dp.Neighbours.ADD_REMOVE
QUESTIONS = [
    "SELECT COUNT(x) AS a, SUM(x) AS b, AVG(x) AS c, VARIANCE(y) AS d, COUNT(*) AS e FROM visits",
    "SELECT g, COUNT(DISTINCT u) AS a, MEDIAN(x) AS b, SUM(x * y) AS c FROM visits GROUP BY g",
    "SELECT SUM(x / k) AS a, SUM(k / x) AS b, SUM(0 / k) AS c, SUM(x * 1000000) AS d FROM visits WHERE x < 9 OR y > 0",
    "SELECT k, SUM(GREATEST(x, y)) AS a, SUM(COALESCE(x, 5)) AS b, COUNT(NULLIF(x, 0)) AS c FROM visits GROUP BY k",
]


def rows() -> list[Row]:
    found = [plain(Random(seed), seed % 4) for seed in range(8)]
    return found + [{**plain(Random(9), 5), "x": x, "y": x, "k": x, "g": x} for x in FLOATS]


def test_every_aggregate_of_every_poison(running: Running) -> None:
    """The numbers of the oracle, which reads what is not finite as NULL before anything is clamped."""
    cases = [case_of(text, rows(), rows_per_unit=3) for text in QUESTIONS]
    if running.place.name == "spark":
        cases = cases[:2]
    assert check_engine(running, cases) == len(cases)


def test_one_poisoned_row_moves_no_more_than_another(duckdb: Running) -> None:
    for text in QUESTIONS:
        for poison in (math.nan, math.inf, -0.0):
            case = case_of(text, [*rows()[:8], {**rows()[0], "u": 77, "x": poison, "y": poison}], rows_per_unit=2)
            assert first_violation(case, case.without(77), ADD, duckdb, declared) is None


class Floats:
    """The twin: DuckDB's own sum of the column, clamped as it comes."""

    def __call__(self, query: BoundedQuery, tables: Rows_) -> Found:
        import duckdb

        from tests.sql_questions import schema_of

        connection = duckdb.connect()
        connection.register("visits", schema_of().arrow(tables[0]))
        (value,) = connection.execute("SELECT SUM(LEAST(GREATEST(x, -2), 10)) FROM visits").fetchone() or (0.0,)
        return Found(({(): round(value / float(query.measures[0].step)) if math.isfinite(value) else 2**62},), {})


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_sum_of_floats_is_seen(poison: float) -> None:
    """NaN is above 10 and counts as 10, and so does an infinity: where 9 was the most that was there."""
    engine: Engine = Floats()
    case = case_of("SELECT SUM(x) AS s FROM visits", [{**plain(Random(1), 1), "x": poison}], rows_per_unit=1)
    query = case.query(ADD)
    assert query is not None
    with pytest.raises(AssertionError):
        check_same(query, case.rows, engine_of(engine, case)(query, case.rows))
