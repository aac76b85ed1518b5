"""NB-10: one bound used for both: bounds (0, 10), (-10, 5) and (5, 5), where max(|lo|, |hi|) is on either side."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from discreet import dp
from discreet.engine.plan import Total
from tests.broken import engines as broken
from tests.recorder import declared, first_violation, oracle
from tests.small_cases import age_of, by_ward, case, row

BOUNDS = [(0, 10), (-10, 5), (5, 5), (-10, -5), (-7, 0), (0, 0), (3, 10)]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_all_pairs_of_extreme_rows(low: int, high: int) -> None:
    """Every unit of up to 2 rows at an end, in a group or another, or NULL: none is further than declared, and one is
    as far as that."""
    age = dp.Integer(low, high)
    rows = [row(1, ward, value) for ward in "ab" for value in (low, high, None)]
    units = [list(part) for n in range(3) for part in itertools.combinations_with_replacement(rows, n)]
    for neighbours in dp.Neighbours:
        reached = Fraction(0)
        for one, other in itertools.product(units, units if neighbours is dp.Neighbours.REPLACE else [[]]):
            made = case(one, Total(age_of(age)), age=age, keys=(by_ward(),), rows_per_unit=2, groups_per_unit=1)
            assert first_violation(made, (other,), neighbours, oracle, declared) is None
            query = made.query(neighbours)
            assert query is not None
            here, there = oracle(query, (one,)).measures[0], oracle(query, (other,)).measures[0]
            far = max((abs(here.get(cell, 0) - there.get(cell, 0)) for cell in {*here, *there}), default=0)
            reached = max(reached, far / query.measures[0].sensitivity.linf)
        assert reached == (0 if low == high == 0 else 1)


def test_the_twin_is_rejected() -> None:
    """abs(hi) for both: 5 of (-10, 5)."""
    age = dp.Integer(-10, 5)
    made = case([row(1, "a", -10)], Total(age_of(age)), age=age, rows_per_unit=1)
    wrong = broken.Declared(broken.of_high)
    assert first_violation(made, ([],), dp.Neighbours.ADD_REMOVE, oracle, declared) is None
    assert first_violation(made, ([],), dp.Neighbours.ADD_REMOVE, oracle, wrong) is not None
