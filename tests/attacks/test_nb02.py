"""NB-02: a group in which at most k rows count can change by 2k (OpenDP #2945): k leave and k others arrive."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet import dp
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.plan import Distinct, Histogram, Rows, Total
from tests.broken.engines import Declared, scaled
from tests.recorder import declared, first_violation, moved, oracle
from tests.small_cases import age_of, by_note, case, row

REPLACE = dp.Neighbours.REPLACE
AGE = dp.Integer(-10, 10)


def of_k(_: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
    """The twin: at most k rows count, so at most k change."""
    return scaled(measure, Fraction(1, 2))


def test_k_rows_leave_and_k_arrive() -> None:
    """k = 4 rows of -10 become 4 rows of 10, in one private group: a sum moves by 80, 8 bins and values change."""
    measures = (Total(age_of(AGE)), Histogram(age_of(AGE), AGE), Distinct(age_of(AGE)))
    bounds = {"rows_per_unit": 4, "groups_per_unit": 1, "rows_per_group": 4}
    for measure, here, there, far in zip(
        measures, ([-10] * 4, [0] * 4, [1, 2, 3, 4]), ([10] * 4, [9] * 4, [5, 6, 7, 8]), (80, 8, 0), strict=True
    ):
        question = case([row(1, age=a) for a in here], measure, age=AGE, keys=(by_note(),), **bounds)
        other = ([row(1, age=a) for a in there],)
        query = question.query(REPLACE)
        assert query is not None
        assert first_violation(question, other, REPLACE, oracle, declared) is None
        apart = moved(oracle(query, question.rows).measures[0], oracle(query, other).measures[0])
        assert sum(apart) == far * query.measures[0].scale
        twin = first_violation(question, other, REPLACE, oracle, Declared(of_k))
        assert (twin is not None) == (far > 0)


def test_a_group_to_another() -> None:
    """k rows of one group move to another: both change by k, and l1 is 2k."""
    question = case([row(1, note="x")] * 3, Rows(), keys=(by_note(),), rows_per_unit=3, groups_per_unit=1)
    other = ([row(1, note="y")] * 3,)
    assert first_violation(question, other, REPLACE, oracle, declared) is None
    assert first_violation(question, other, REPLACE, oracle, Declared(of_k)) is not None
    fewer = replace(question, rows=([],))
    assert first_violation(fewer, question.rows, dp.Neighbours.ADD_REMOVE, oracle, declared) is None
