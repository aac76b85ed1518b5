"""NB-09: means, variances and ratios with the number of rows that the table happens to have: one row, or two."""

from __future__ import annotations

import pytest

from discreet import dp
from discreet.engine.plan import Present, Total
from tests.broken import engines as broken
from tests.plan_expressions import arithmetic
from tests.recorder import declared, first_violation, oracle, pairs, record
from tests.small_cases import age_of, case, row

ADD = dp.Neighbours.ADD_REMOVE
AGE = dp.Integer(0, 40)
SQUARES = arithmetic("*", age_of(AGE), age_of(AGE))
MEASURES = (Total(age_of(AGE)), Total(SQUARES), Present(age_of(AGE)))
ONE, TWO = [row(1, age=40)], [row(1, age=40), row(2, age=0)]


def test_a_mean_is_made_of_numbers_that_are_paid() -> None:
    """The sum, the sum of squares and the count have a sensitivity each, and none of them knows the number of rows."""
    question = case(TWO, *MEASURES, age=AGE, rows_per_unit=1)
    query = question.query(ADD)
    assert query is not None
    assert [measure.sensitivity.l1 for measure in query.measures] == [
        40 * query.measures[0].scale,
        1600 * query.measures[1].scale,
        query.measures[2].scale,
    ]
    assert first_violation(question, (ONE,), ADD, oracle, declared) is None
    assert first_violation(question, ([],), ADD, oracle, declared) is not None  # two units are gone, not one


def test_the_twin_is_rejected() -> None:
    """(hi - lo) / n with the n of the table."""
    question = case(TWO, Total(age_of(AGE)), age=AGE, rows_per_unit=1)
    assert first_violation(question, (ONE,), ADD, broken.private_mean, broken.of_a_mean(ADD)) is not None
    with pytest.raises(AssertionError):
        record(pairs(range(500), ADD, each=3), ADD, broken.private_mean, broken.of_a_mean(ADD))


def test_squares_have_squared_bounds() -> None:
    """SmartNoise #203: the sum of squares declared with the bounds of x."""
    question = case([row(1, age=40)], Total(SQUARES), age=AGE, rows_per_unit=1)
    assert first_violation(question, ([],), ADD, oracle, declared) is None
    assert first_violation(question, ([],), ADD, oracle, broken.Declared(broken.of_leaf)) is not None
