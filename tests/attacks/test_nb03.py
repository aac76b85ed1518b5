"""NB-03: a unit or a key that is redefined after the bound (OpenDP #2949: rho 0.5 claimed, 5,000 true).

A name can be given to another column, and that is then another column: units are those of the table, whatever is called
like them. What a row is grouped by is computed before anything is bounded.
"""

from __future__ import annotations

from random import Random

import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.parser import parse
from discreet.engine.plan import Distinct, Units
from discreet.engine.resolve import plan_of
from discreet.errors import Refused
from tests.plans import Case, Rows_
from tests.recorder import declared, first_violation, oracle
from tests.reference import Found, Oracle
from tests.running import Running
from tests.sql_questions import Row, case_of, plain, schema_of

ADD = dp.Neighbours.ADD_REMOVE
ROWS: list[Row] = [plain(Random(n), 1) | {"n": n % 15 - 5, "w": "north"} for n in range(60)]  # of one unit
REDEFINED = [
    "SELECT COUNT(*) AS c FROM (SELECT n AS u, w FROM visits)",
    "SELECT COUNT(DISTINCT u) AS c FROM (SELECT n AS u, w FROM visits)",
    "SELECT u, COUNT(*) AS c FROM (SELECT n AS u, w FROM visits) GROUP BY u",
    "SELECT w, COUNT(*) AS c FROM (SELECT CASE WHEN n > 0 THEN 'north' ELSE 'south' END AS w FROM visits) GROUP BY w",
    "WITH other AS (SELECT n % 7 AS u, n * x AS v FROM visits) SELECT COUNT(DISTINCT u) AS c, SUM(v) AS s FROM other",
    "SELECT k, SUM(v) AS s FROM (SELECT n + 1 AS k, x * 2 AS v FROM visits) GROUP BY k",
]


@pytest.mark.parametrize("text", REDEFINED)
def test_the_unit_stays_what_it_is(duckdb: Running, text: str) -> None:
    """60 rows of one unit, of which 4 count, and with it all goes that it moved: on the oracle and on DuckDB."""
    case = case_of(text, ROWS, rows_per_unit=4)
    query = case.query(ADD)
    assert query is not None
    assert query.bounds.greatest()[0] <= 4 * 4
    assert not any(isinstance(measure.measure, Units) for measure in query.measures)
    for engine in (oracle, duckdb):
        assert first_violation(case, case.without(1), ADD, engine, declared) is None


def test_a_name_of_the_unit_is_the_unit() -> None:
    """Renamed it is still the unit, and the other column of its old name is not."""
    (units,) = case_of("SELECT COUNT(DISTINCT p) AS c FROM (SELECT u AS p FROM visits)", ROWS).plan.measures
    assert isinstance(units, Units)
    (values,) = case_of("SELECT COUNT(DISTINCT u) AS c FROM (SELECT u AS p, n AS u FROM visits)", ROWS).plan.measures
    assert isinstance(values, Distinct)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS c FROM (SELECT n AS u, w FROM visits) AS v JOIN drugs ON v.u = drugs.u",
        "SELECT COUNT(*) AS c FROM visits JOIN (SELECT n AS u FROM drugs) AS d ON visits.u = d.u",
        "SELECT COUNT(*) AS c FROM visits JOIN drugs ON visits.n = drugs.n",
        "SELECT COUNT(*) AS c FROM visits JOIN drugs ON visits.u = drugs.n",
        "SELECT COUNT(DISTINCT u + 1) AS c FROM visits",
        "SELECT COUNT(*) AS c FROM (SELECT u + 1 AS u FROM visits)",
    ],
)
def test_a_join_on_a_redefined_unit_is_refused(text: str) -> None:
    visits = schema_of(rows_per_unit=4)
    table = visits.table(visits.arrow([]))
    drugs = type(visits)("drugs", visits.fields, visits.unit, 4)
    with pytest.raises(Refused):
        plan_of(parse(text), {"visits": table, "drugs": drugs.table(drugs.arrow([]))})


class ByAnotherColumn(Oracle):
    """The twin: rows are bounded by the column that a question called like the unit."""

    def run(self, tables: Rows_) -> Found:  # type: ignore[override]
        renamed = tuple([{**row, "u": (row["n"], place)} for place, row in enumerate(part)] for part in tables)
        return super().run(renamed)


def test_the_twin_is_rejected() -> None:
    def engine(query: BoundedQuery, rows: Rows_) -> Found:
        return ByAnotherColumn(query).run(rows)

    case: Case = case_of(REDEFINED[0], ROWS, rows_per_unit=4)
    assert first_violation(case, case.without(1), ADD, engine, declared) is not None
