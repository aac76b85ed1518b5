"""ME-02: Dwork and Roth's Sparse of 2014, variant 2: a threshold for every hit. It is right, and what `Sparse` is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.streams import Scales, check_pure, extreme_runs, small_cases

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


@pytest.mark.parametrize("cutoff", [1, 3])
def test_it_is_accepted_costs_epsilon_and_is_ours(cutoff: int) -> None:
    variant = broken.v2(EPSILON, cutoff)
    assert variant == Scales.of(dp.Sparse(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON, delta=0))
    check_pure(variant.chance, EPSILON, extreme_runs(cutoff, misses=30, low=220), tight=True)


def test_no_small_case_costs_more() -> None:
    check_pure(broken.v2(EPSILON, 2).chance, EPSILON, small_cases(2, 2), tight=False)


def test_a_loss_that_is_claimed_too_small_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_pure(
            broken.v2(EPSILON, 3).chance, EPSILON * Fraction(9, 10), extreme_runs(3, misses=30, low=220), tight=False
        )
