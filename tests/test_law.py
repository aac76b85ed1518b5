"""A law gives certified probabilities, and its outcomes miss no more than they may."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from discreet.dp import Gaussian, Laplace, Law, Neighbours, Sensitivity
from discreet.dp.law import smallest
from discreet.dp.reals import ball
from discreet.errors import InvalidParameter

F = Fraction


def geometric() -> Law:
    """P(Z = k) = (1 / 3) 2^-abs(k), around 10; P(abs(Z) > a) = (2 / 3) 2^-a."""

    def mass(k: int) -> arb:
        return ball(F(1, 3) / 2 ** abs(k - 10))

    return Law(10, mass, lambda a: ball(F(2, 3) / 2**a))


def test_bounds_are_close_and_hold_the_probability() -> None:
    law = geometric()
    for k in (-1000, 0, 9, 10, 11, 300):
        low, high = law.bounds(k)
        exact = F(1, 3) / 2 ** abs(k - 10)
        assert low <= exact <= high
        assert (high - low) * 2**64 <= high
        assert law.probability(k) == float(exact)


@pytest.mark.parametrize(("miss", "radius"), [(F(1), 0), (F(2, 3), 0), (F(1, 3), 1), (F(1, 4), 2), (F(1, 10**6), 20)])
def test_outcomes_miss_no_more_than_they_may_and_are_the_fewest(miss: Fraction, radius: int) -> None:
    outcomes = geometric().outcomes(failure_probability=miss + F(1, 2**60))  # the bounds are of 2^-64
    assert outcomes == tuple(range(10 - radius, 10 + radius + 1))
    assert F(2, 3) / 2**radius <= miss + F(1, 2**60)
    assert radius == 0 or F(2, 3) / 2 ** (radius - 1) > miss + F(1, 2**60)


def test_a_finite_support_is_listed_and_nothing_else_happens() -> None:
    law = Law(1, lambda k: ball(F(1, 3)), lambda a: ball(0), support=range(3))
    assert law.outcomes(failure_probability=F(1, 2)) == (0, 1, 2)
    assert [law.bounds(k)[1] > 0 for k in (-1, 0, 2, 3)] == [False, True, True, False]


@pytest.mark.parametrize("threshold", [0, 1, 2, 3, 4, 7, 8, 9, 1000, 2**40 + 1])
def test_the_smallest_integer_with_a_property(threshold: int) -> None:
    asked: list[int] = []

    def holds(k: int) -> bool:
        asked.append(k)
        return k >= threshold

    assert smallest(holds) == threshold
    assert min(asked) >= 0
    assert len(asked) <= 2 * threshold.bit_length() + 4


@pytest.mark.parametrize("value", [0.5, F(1), "1", None, [1]])
def test_the_law_of_what_is_no_whole_number_is_refused(value: object) -> None:
    one = Sensitivity.counting(neighbours=Neighbours.ADD_REMOVE)
    for mechanism in (Laplace(sensitivity=one, epsilon=1), Gaussian(sensitivity=one, sigma=2)):
        with pytest.raises(InvalidParameter, match="whole number"):
            mechanism.law(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [0, 1, 2, 7, 1000, 2**40 + 1])
@pytest.mark.parametrize("near", [-5, 0, 1, 6, 7, 8, 999, 2**20, 2**40, 2**40 + 1, 2**41])
def test_a_guess_saves_looks_and_decides_nothing(threshold: int, near: int) -> None:
    asked: list[int] = []

    def holds(k: int) -> bool:
        asked.append(k)
        return k >= threshold

    assert smallest(holds, near=near) == threshold
    assert min(asked) >= 0
    assert len(asked) <= 2 + 2 * (abs(near - threshold) + 1).bit_length()
