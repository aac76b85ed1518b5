"""ME-06: Chen, Xiao, Zhang and Xu 2015, variant 6: no cut-off, so that every hit is paid for by nobody."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import NotSupported
from tests.broken import sparse_vectors as broken
from tests.streams import check_pure, worst_ratio

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


def test_its_loss_grows_with_the_number_of_hits() -> None:
    law = broken.v6(EPSILON, 1).chance
    found = [worst_ratio(law, broken.misses_then_hits(count))[0] for count in (2, 8, 32)]
    with pytest.raises(AssertionError):
        check_pure(law, EPSILON, broken.misses_then_hits(8), tight=False)
    assert all(later > 3 * before for before, later in itertools.pairwise(found))
    assert found[-1] > 8


@pytest.mark.parametrize("cutoff", [1, 4])
def test_ours_halts(cutoff: int) -> None:
    sure = 10**6
    for watch in (
        dp.Sparse(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON, delta=0),
        dp.NumericSparse(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON, delta=0),
        dp.SparseVector(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=EPSILON),
    ):
        told = [watch.ask(sure) for _ in range(cutoff)]
        assert None not in told
        assert False not in told
        with pytest.raises(NotSupported):
            watch.ask(sure)
    with pytest.raises(TypeError):
        dp.SparseVector(threshold=0, sensitivity=ONE, epsilon=EPSILON)  # type: ignore[call-arg]
