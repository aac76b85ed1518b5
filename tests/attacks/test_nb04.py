"""NB-04: a bound after the aggregation, after a filter that needs other rows, or for each group alone (Google #84)."""

from __future__ import annotations

import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Distinct, Rows, Total, Units
from tests.broken import engines as broken
from tests.plans import Case, Rows_
from tests.recorder import Engine, Violation, declared, first_violation, oracle
from tests.reference import Found
from tests.running import Running
from tests.sizes import sized
from tests.small_cases import age_of, by_note, by_ward, case, row

ADD = dp.Neighbours.ADD_REMOVE
AGE = dp.Integer(-10, 40)
MANY = sized(1_000, 10_000)
MEASURES = (Rows(), Units(), Total(age_of(AGE)), Distinct(age_of(AGE)))


def cases() -> list[Case]:
    """One unit with 1, k and very many rows, in 1 and in many groups, beside others with the same rows."""
    found = []
    for count in (1, 2, 7, MANY):
        for private in (False, True):
            several = [row(1, "abc"[i % 3], i % 40 - 5, f"n{i % 50}") for i in range(count)]
            alike = [row(1)] * count
            for mine in (several, alike):
                others = [{**one, "u": unit} for unit in (2, 3) for one in mine[:60]]
                keys = (by_note(),) if private else (by_ward(),)
                bounds = {"rows_per_unit": 5, "groups_per_unit": 2, "rows_per_group": 2}
                found.append(case([*others, *mine], *MEASURES, keys=keys, **bounds))
                found.append(case([*mine, *others], *MEASURES, keys=keys, **bounds))
    return found


def worst(engine: Engine) -> Violation | None:
    tried = (first_violation(one, one.without(1), ADD, engine, declared) for one in cases())
    return next((found for found in tried if found is not None), None)


def test_a_unit_of_any_size(duckdb: Running) -> None:
    """By the definition of the bounds, and on DuckDB."""
    assert worst(oracle) is None
    assert worst(duckdb) is None


@pytest.mark.parametrize("twin", [broken.PerGroup, broken.DistinctUncapped, broken.DistinctPerKey, broken.BoundedFirst])
def test_a_twin_is_rejected(twin: type[broken.Oracle]) -> None:
    def engine(query: BoundedQuery, rows: Rows_) -> Found:
        return twin(query).run(rows)

    if twin is broken.BoundedFirst:  # what others have, decides: a group of which only one other unit has rows
        mine = [row(1, "a", note=f"n{i}") for i in range(2)]
        others = [row(2, "a", note=f"n{i}") for i in range(2)] + [row(3, "b", note="n9"), row(2, "b", note="n9")]
        question = case([*mine, *others], Rows(), keys=(by_note(),), rows_per_unit=9, groups_per_unit=2)
        assert first_violation(question, question.without(1), ADD, engine, declared) is not None
    else:
        assert worst(engine) is not None
