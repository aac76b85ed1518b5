"""ME-03: Roth's notes of 2011, variant 3: a hit is answered by the very value that was compared with the threshold."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.streams import Scales, check_pure, worst_ratio

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


def test_its_loss_grows_with_the_misses_before_the_hit() -> None:
    """A value of 0 says that the noisy threshold is at most 0; then every miss of a higher value is news."""
    law = broken.v3(EPSILON, 1).chance
    found = [worst_ratio(law, broken.misses_then_value(count))[0] for count in (4, 16, 64)]
    with pytest.raises(AssertionError):
        check_pure(law, EPSILON, broken.misses_then_value(16), tight=False)
    assert all(later > 3 * before for before, later in itertools.pairwise(found))
    assert found[-1] > 8


@pytest.mark.parametrize("count", [4, 16, 64])
def test_with_fresh_noise_the_value_may_be_told(count: int) -> None:
    ours = Scales.of(dp.NumericSparse(threshold=0, cutoff=1, sensitivity=ONE, epsilon=EPSILON, delta=0))
    check_pure(ours.chance, EPSILON, broken.misses_then_value(count), tight=False)
