"""ME-01: Lyu, Su and Li's own sparse vector, their variant 1, which is right; so is ours, which splits better."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.streams import Scales, check_pure, extreme_cases, outcomes, small_cases

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


@pytest.mark.parametrize("cutoff", [1, 3])
def test_it_is_accepted_and_costs_epsilon(cutoff: int) -> None:
    worst = {"misses": (300,), "thresholds": (0, 7), "low": 150 * cutoff}
    for law in (broken.v1(EPSILON, cutoff), ours(cutoff)):
        check_pure(law.chance, EPSILON, extreme_cases(cutoff, **worst), tight=True)


def test_no_small_case_costs_more() -> None:
    for law in (broken.v1(EPSILON, 1), ours(1)):
        check_pure(law.chance, EPSILON, small_cases(2, 1), tight=False)


def test_what_can_be_answered_adds_up_to_one() -> None:
    """The sums are over everything: nothing that could tell the tables apart is left out."""
    values = (1, -2, 0)
    for law in (broken.v1(EPSILON, 2), ours(2)):
        found = [law.chance(values[: len(answers)], answers, 0) for answers in (*outcomes(3, 2), (True, True))]
        assert sum(low for low, _ in found) <= 1 <= sum(high for _, high in found) * (1 + Fraction(1, 10**9))


def ours(cutoff: int) -> Scales:
    return Scales.of(dp.SparseVector(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON))
