"""NB-11: a sensitivity that is rounded down (OpenDP #314: d_in (U - L) / 2, cut): odd widths."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.plan import Total
from tests.broken.engines import Declared, scaled
from tests.plan_expressions import arithmetic, on_grid
from tests.recorder import declared, first_violation, oracle
from tests.small_cases import age_of, by_ward, case, half, row


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-3, 4), (0, 1), (7, 8), (-1, 0)])
def test_half_of_an_odd_width(low: int, high: int) -> None:
    """The sum of x - (lo + hi) / 2 is one of halves, and its sensitivity is (hi - lo) / 2, not a whole number."""
    age = dp.Integer(low, high)
    centred = arithmetic("-", on_grid(age_of(age), Fraction(1, 2)), half(low + high))

    def cut(_: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
        l1 = measure.sensitivity.l1
        assert l1 is not None
        return scaled(measure, Fraction(int(l1 * measure.step), 1) / (l1 * measure.step) or Fraction(1, 2))

    for value in (low, high):
        question = case([row(1, age=value)], Total(centred), age=age, rows_per_unit=1, keys=(by_ward(),))
        query = question.query(dp.Neighbours.ADD_REMOVE)
        assert query is not None
        moved, step = query.measures[0].sensitivity.l1, query.measures[0].step
        assert moved is not None
        assert moved * step == Fraction(high - low, 2)
        assert abs(oracle(query, question.rows).measures[0][0,]) == moved
        assert first_violation(question, ([],), dp.Neighbours.ADD_REMOVE, oracle, declared) is None
        assert first_violation(question, ([],), dp.Neighbours.ADD_REMOVE, oracle, Declared(cut)) is not None


def test_roots_are_rounded_up() -> None:
    """l2 is never below the root that it stands for, and l2^2 above the square by less than 2^-70 of it."""
    for groups in range(2, 40):
        question = case([], keys=(by_ward(),) * 3, rows_per_unit=40, groups_per_unit=groups, rows_per_group=1)
        query = question.query(dp.Neighbours.ADD_REMOVE)
        assert query is not None
        norm, scale = query.measures[0].sensitivity.l2, query.measures[0].scale
        most = min(groups, 27) * scale**2
        assert most <= norm**2 < most * (1 + Fraction(1, 2**70))
