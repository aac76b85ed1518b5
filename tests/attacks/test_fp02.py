"""FP-02 (Haney, Desfontaines, Hartman, Shrestha, Hay, "Precision-based attacks and interval refining", 2022).

Outputs near 0 are finer than others in floating point, so how fine they are tells fl(0 + noise) from fl(1 + noise).
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
from tests.statistics import ratio_is_at_most

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
N = sized(20_000, 1_000_000)
EPSILON = 1.0
CONFIDENCE = 0.999

Outputs = NDArray[np.float64]
Release = Callable[[Outputs], Outputs]
Event = Callable[[Outputs], NDArray[np.bool_]]


def finer_than(unit: float) -> Event:
    """Outputs near 0 that are no multiple of this power of two."""
    return lambda y: (np.abs(y) < 0.25) & (np.rint(y / unit) * unit != y)


def check_precision(release: Release, n: int, *, epsilon: float, events: list[Event]) -> None:
    """No event is more than exp(epsilon) times as likely from one neighbour as from the other, in either order."""
    outputs = [release(np.full(n, x)) for x in (0.0, 1.0)]
    for event in events:
        one, other = (int(event(y).sum()) for y in outputs)
        assert ratio_is_at_most(one, other, n, epsilon=epsilon, confidence=CONFIDENCE)
        assert ratio_is_at_most(other, one, n, epsilon=epsilon, confidence=CONFIDENCE)


def events(step: Fraction) -> list[Event]:
    """As fine as a double below 1/4 can be, and as fine as the grid."""
    return [finer_than(2.0**-53), finer_than(2.0**-40), finer_than(float(step)), finer_than(2 * float(step))]


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_how_fine_an_output_is_tells_no_more_than_it_may(epsilon: Fraction) -> None:
    mechanism = dp.Laplace(sensitivity=ONE, epsilon=epsilon)
    step = mechanism.grid(N)
    check_precision(mechanism.release, N, epsilon=float(epsilon), events=events(step))
    outputs = mechanism.release(np.zeros(N))
    assert not finer_than(float(step))(outputs).any()
    assert finer_than(2 * float(step))(outputs).any()


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_sums_of_floats_are_rejected(scale: float) -> None:
    step = dp.Laplace(sensitivity=ONE, epsilon=1).grid(N)
    with pytest.raises(AssertionError):
        check_precision(broken.float_laplace(scale), N, epsilon=1 / scale, events=events(step))


def test_less_noise_than_was_stated_is_rejected() -> None:
    loud, step = dp.Laplace(sensitivity=ONE, epsilon=3), dp.Laplace(sensitivity=ONE, epsilon=1).grid(N)
    with pytest.raises(AssertionError):
        check_precision(loud.release, N, epsilon=EPSILON, events=events(step))
