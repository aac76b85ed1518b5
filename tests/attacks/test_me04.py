"""ME-04: Lee and Clifton 2014, variant 4: the noise of the values does not grow with the number of hits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.closed_forms import mp
from tests.noise_laws import real
from tests.streams import Scales, check_pure, extreme_cases, worst_ratio

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


@pytest.mark.parametrize("cutoff", [1, 2, 5])
def test_it_costs_a_quarter_and_three_halves_for_each_hit(cutoff: int) -> None:
    """(1 + 6 c) / 4 epsilon, and not epsilon."""
    cases = list(extreme_cases(cutoff, misses=(60,), thresholds=(0,), low=100))
    with pytest.raises(AssertionError):
        check_pure(broken.v4(EPSILON, cutoff).chance, EPSILON, cases, tight=False)
    found = worst_ratio(broken.v4(EPSILON, cutoff).chance, cases)[0]
    assert mp.almosteq(found, real(Fraction(1 + 6 * cutoff, 4)), 1e-6)
    ours = dp.SparseVector(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON)
    check_pure(Scales.of(ours).chance, EPSILON, cases, tight=False)
