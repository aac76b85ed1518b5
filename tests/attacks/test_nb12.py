"""NB-12: amplification by a sample that the analyst wrote: never granted. A filter costs what no filter costs."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from discreet import dp
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.errors import Refused
from tests.broken.engines import Declared, scaled
from tests.recorder import declared, first_violation, oracle
from tests.sql_questions import case_of, plain

ADD = dp.Neighbours.ADD_REMOVE
ROWS = [plain(Random(n), n) | {"n": n % 10, "k": float(n % 4)} for n in range(40)]
HALVES = ["n % 2 = 0", "n < 5", "k = 1 OR k = 2", "month(d) = 1", "n BETWEEN 0 AND 4 AND b IS NOT NULL"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS c FROM visits TABLESAMPLE 10%",
        "SELECT COUNT(*) AS c FROM visits USING SAMPLE 10",
        "SELECT COUNT(*) AS c FROM visits WHERE random() < 0.5",
        "SELECT COUNT(*) AS c FROM visits WHERE hash(n) % 2 = 0",
        "SELECT COUNT(*) AS c FROM (SELECT n FROM visits LIMIT 10)",
        "SELECT COUNT(*) AS c FROM (SELECT DISTINCT n FROM visits)",
        "SELECT COUNT(*) AS c FROM visits WHERE rowid < 10",
        "SELECT COUNT(*) AS c FROM visits QUALIFY row_number() OVER (ORDER BY n) < 3",
    ],
)
def test_no_sample_is_taken(text: str) -> None:
    with pytest.raises(Refused):
        case_of(text, [])


@pytest.mark.parametrize("half", HALVES)
def test_a_filter_is_no_sample(half: str) -> None:
    """Half of the rows pass, and what one unit moves is what it moves without the filter."""
    case = case_of(f"SELECT COUNT(*) AS c FROM visits WHERE {half}", ROWS, rows_per_unit=1)
    query, whole = case.query(ADD), case_of("SELECT COUNT(*) AS c FROM visits", ROWS, rows_per_unit=1).query(ADD)
    assert query is not None
    assert whole is not None
    assert query.measures[0].sensitivity == whole.measures[0].sensitivity


def test_the_twin_is_rejected() -> None:
    """Half of the sensitivity for half of the rows."""

    def halved(_: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
        return scaled(measure, Fraction(1, 2))

    for half in HALVES[:3]:
        case = case_of(f"SELECT COUNT(*) AS c FROM visits WHERE {half}", ROWS, rows_per_unit=1)
        others = [case.without(unit) for unit in case.units()]
        assert all(first_violation(case, other, ADD, oracle, declared) is None for other in others)
        assert any(first_violation(case, other, ADD, oracle, Declared(halved)) is not None for other in others)
