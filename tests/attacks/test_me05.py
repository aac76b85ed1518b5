"""ME-05: Stoddard, Chen and Machanavajjhala 2014, variant 5: no noise on the values."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.closed_forms import mp
from tests.streams import Scales, check_pure, worst_ratio

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


def test_one_order_of_two_answers_is_impossible() -> None:
    """(0, 1) can be answered (miss, hit); (1, 0) never can: where 1 is below the threshold, 0 is."""
    law = broken.v5(EPSILON, 1).chance
    (one, other, answers, threshold) = next(broken.one_below_another())
    assert law(one, answers, threshold)[0] > 0
    assert law(other, answers, threshold) == (0, 0)
    assert worst_ratio(law, broken.one_below_another())[0] == mp.inf
    with pytest.raises(AssertionError):
        check_pure(law, EPSILON, broken.one_below_another(), tight=False)


def test_with_noise_it_is_possible() -> None:
    for ours in (
        dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=EPSILON),
        dp.SparseVector(threshold=0, cutoff=1, sensitivity=ONE, epsilon=EPSILON),
    ):
        check_pure(Scales.of(ours).chance, EPSILON, broken.one_below_another(), tight=False)
