"""NB-01: a unit that comes or goes, or one that is replaced: a factor of 2 in l1, and of its root in l2."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from discreet.engine.plan import Rows
from tests.broken import engines as broken
from tests.plans import Rows_
from tests.recorder import declared, first_violation, moved, oracle, pairs, record
from tests.small_cases import by_ward, case, row

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
FULL = case([row(1, "a")] * 3, Rows(), keys=(by_ward(),), rows_per_unit=3, groups_per_unit=1)
ELSEWHERE: Rows_ = ([row(1, "b")] * 3,)


def test_each_relation_has_its_own_norms_and_both_are_reached() -> None:
    """3 rows in one group: gone, l1 = l2 = 3; in another group, l1 = 6 and l2 = 3 sqrt(2); no cell by more than 3."""
    for neighbours, other, l1, squares in ((ADD, ([],), 3, 9), (REPLACE, ELSEWHERE, 6, 18)):
        query = FULL.query(neighbours)
        assert query is not None
        bounded, scale = query.measures[0], query.measures[0].scale
        apart = moved(oracle(query, FULL.rows).measures[0], oracle(query, other).measures[0])
        assert sum(apart) == l1 * scale == bounded.sensitivity.l1
        assert sum(x * x for x in apart) == squares * scale**2
        assert 0 <= bounded.sensitivity.l2**2 / (squares * scale**2) - 1 < Fraction(1, 2**70)
        assert max(apart) == 3 * scale == bounded.sensitivity.linf
        assert bounded.sensitivity.neighbours is neighbours


def test_there_is_no_default() -> None:
    from discreet.engine.bound import bound

    with pytest.raises(TypeError):
        bound(FULL.plan)  # type: ignore[call-arg]


def test_the_twin_is_rejected() -> None:
    """One relation taken for the other."""
    assert first_violation(FULL, ELSEWHERE, REPLACE, oracle, declared) is None
    assert first_violation(FULL, ELSEWHERE, REPLACE, oracle, broken.as_added) is not None
    with pytest.raises(AssertionError):
        record(pairs(range(200), REPLACE, each=3), REPLACE, declare=broken.as_added)
