"""ME-13: noisy max that releases its value for the same budget, and noisy max that reports the least."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import selection as broken
from tests.selecting import ONE, check_better_is_likelier, check_pure, extreme_neighbours, law_of, worst_ratio

EPSILON = Fraction(1)
TOGETHER = [((0, 0, 0, 0), (1, 1, 1, 1))]  # the index tells nothing, the value everything
SELECTIONS = [dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip]


@pytest.mark.parametrize("build", SELECTIONS)
def test_the_index_alone_is_private(build: type[dp.Exponential]) -> None:
    check_pure(law_of(build(sensitivity=ONE, epsilon=EPSILON)), EPSILON, TOGETHER)
    check_pure(law_of(build(sensitivity=ONE, epsilon=EPSILON)), EPSILON, extreme_neighbours(4, dp.Utility.GENERAL))


def test_the_value_beside_it_is_seen() -> None:
    twin = broken.index_and_value(EPSILON)
    with pytest.raises(AssertionError):
        check_pure(twin, EPSILON, TOGETHER)
    assert worst_ratio(twin, TOGETHER) > 10 * float(EPSILON)


@pytest.mark.parametrize("build", SELECTIONS)
def test_a_release_is_an_index_and_nothing_else(build: type[dp.Exponential]) -> None:
    assert type(build(sensitivity=ONE, epsilon=EPSILON).release([0.25, 0.5, 0.125])) is int
    chosen = dp.NoisyTopK(sensitivity=ONE, epsilon=EPSILON, k=2).release([0.25, 0.5, 0.125])
    assert [type(index) for index in chosen] == [int, int]


TABLES = [(0, 1, 2, 2), (5, -5), (0, 0, 0, 1), (1e300, -2000, 0, 3)]


@pytest.mark.parametrize("build", SELECTIONS)
def test_the_greatest_is_reported(build: type[dp.Exponential]) -> None:
    check_better_is_likelier(law_of(build(sensitivity=ONE, epsilon=EPSILON)), TABLES)
    sure = build(sensitivity=ONE, epsilon=10**6)  # next to no noise
    assert [sure.release(list(scores)) for scores in ([0, 3, 1], [-1, -3, -2], [2, 1, 1])] == [1, 0, 0]


def test_the_least_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_better_is_likelier(broken.of_the_minimum(EPSILON), TABLES)
