"""FP-01 (Mironov, "On significance of the least significant bits for differential privacy", 2012).

Every output is on a public grid, and none can be reached from one of two neighbours only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import dp
from tests.broken import mechanisms as broken
from tests.sizes import sized

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
N = sized(20_000, 1_000_000)
LAPLACE = dp.Laplace(sensitivity=ONE, epsilon=1)
GAUSSIAN = dp.Gaussian(sensitivity=ONE, mu=1)

Release = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def finest(outputs: NDArray[np.float64]) -> Fraction:
    """The greatest power of two of which every output near 0 is a multiple: how fine the doubles there are."""
    denominators = [Fraction(y).denominator for y in outputs[np.abs(outputs) < 0.25].tolist()]
    assert len(denominators) > N // 50
    return Fraction(1, max(denominators))


def check_same_doubles(release: Release, n: int) -> Fraction:
    """Near 0 the same doubles are reached from 0 as from 1."""
    from_zero, from_one = (finest(release(np.full(n, x))) for x in (0.0, 1.0))
    assert from_zero == from_one
    return from_zero


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_the_same_doubles_are_reached_from_both_neighbours(mechanism: dp.Laplace | dp.Gaussian) -> None:
    assert check_same_doubles(mechanism.release, N) == mechanism.grid(N)


@pytest.mark.parametrize("twin", [broken.float_laplace(1.0), broken.float_gaussian(1.0)], ids=["laplace", "gaussian"])
def test_sums_of_floats_are_rejected(twin: Release) -> None:
    with pytest.raises(AssertionError):
        check_same_doubles(twin, N)


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, dp.DiscreteGaussian(sensitivity=ONE, sigma=1)])
def test_every_step_is_reached_from_both_neighbours(mechanism: dp.Laplace | dp.Gaussian | dp.DiscreteGaussian) -> None:
    """The law on steps gives no integer the probability 0: neither near the value nor far from it."""
    for step in (*range(-40, 41), 1000):
        assert all(mechanism.law(value).bounds(step)[0] > 0 for value in (0, 1))
