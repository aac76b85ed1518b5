"""QE-04 (Jin et al., 2022; Ben Dov, David, Naor, Tzalik, 2023): the time of a draw must not tell its size.

A correlation is measured on one machine at one time: it is a figure, not a proof. The least of several repeats is
taken, because interruptions of the machine make correlations larger and not smaller; a sampler whose work grows with
its noise stays far above the bar in every repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import noise
from tests.sizes import sized
from tests.statistics import time_and_size

DRAWS = 6_000
REPEATS = sized(5, 15)
BAR = 0.05
LEAKS = 0.2

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
MECHANISMS = {
    "laplace-100": dp.Laplace(sensitivity=ONE, scale=100),
    "laplace-1e6": dp.Laplace(sensitivity=ONE, scale=10**6),
    "gaussian-100": dp.Gaussian(sensitivity=ONE, sigma=100),
    "gaussian-1e6": dp.Gaussian(sensitivity=ONE, sigma=10**6),
    "discrete-100": dp.DiscreteGaussian(sensitivity=ONE, sigma=Fraction(100)),
}


def least_correlation(draw_one: Callable[[], int]) -> float:
    """The least correlation of time and size in absolute value, of several repeats."""
    return min(abs(time_and_size(draw_one, DRAWS)) for _ in range(REPEATS))


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_time_of_a_release_does_not_tell_its_noise(name: str) -> None:
    assert least_correlation(lambda: MECHANISMS[name].release(0)) < BAR


def test_a_sampler_whose_work_is_its_size_is_rejected() -> None:
    assert least_correlation(noise.slow_geometric(20)) > LEAKS
