"""ME-15: propose-test-release whose refusals are free, whose test counts no delta, or whose distance is guessed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet import dp
from discreet.dp.reals import bounds
from discreet.errors import BudgetExceeded
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real

F = Fraction
REPLACE = dp.Neighbours.REPLACE
Open = Callable[[dp.TestedExact, dp.Permit], object]

TESTED = dp.ProposeTestRelease(
    neighbours=REPLACE, proposal=1, epsilon=2, delta=F(1, 1000), noise="laplace", step=F(1, 4)
)


def exact(distance: int) -> dp.TestedExact:
    return dp.TestedExact(3, distance_to_instability=distance, proposal=1, neighbours=REPLACE, unit="row")


def refusals(door: Open, attempts: int) -> int:
    """How often an analyst with the budget of one answer is told UNSTABLE by a table that nearly always is."""
    permit = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=F(1, 10), delta_add=F(15, 10_000))).reserve(TESTED.loss)
    seen = 0
    for _ in range(attempts):
        try:
            seen += door(exact(0), permit) is dp.UNSTABLE
        except BudgetExceeded:
            break
    return seen


def check_refusals_are_charged(door: Open) -> None:
    """One budget, one answer: neighbours around the bar would otherwise be told apart by how often it refuses."""
    assert max(refusals(door, 20) for _ in range(20)) <= 1


def test_a_refusal_is_an_answer_and_costs_as_much() -> None:
    check_refusals_are_charged(TESTED.open)
    with pytest.raises(AssertionError):
        check_refusals_are_charged(broken.ChargedOnRelease(TESTED).open)


def chance(distance: int) -> mpf:
    return real(bounds(lambda: TESTED.release_chance(distance))[0])


def test_free_refusals_tell_neighbours_apart() -> None:
    """The share of refusals in many is read to any precision: what was to cost 2 costs whatever one likes."""
    one, other = 1 - chance(TESTED.bar - 2), 1 - chance(TESTED.bar - 1)
    repeats = 400
    loss = repeats * mp.log(one / other)
    assert loss > 10 * real(TESTED.epsilon)


def check_delta(claim: dp.Loss) -> None:
    """Two unstable neighbours far apart: a number, whenever it comes, tells which, so delta is that chance at least."""
    assert chance(0) <= real(F(repr(claim.delta(epsilon=TESTED.epsilon))))


def test_the_delta_of_the_test_is_counted() -> None:
    check_delta(TESTED.loss)
    with pytest.raises(AssertionError):
        check_delta(broken.without_the_delta(TESTED))
    pure = dp.PrivacyFilter(dp.Budget(epsilon=10))
    with pytest.raises(ValueError, match=r"."):
        pure.reserve(TESTED.loss)


def local(value_of: Callable[[int], float], table: int) -> float:
    return max(abs(value_of(table) - value_of(table + step)) for step in (-1, 1))


def check_lipschitz(distance: Callable[[int], float]) -> None:
    distances = [distance(table) for table in range(60)]
    assert all(abs(a - b) <= 1 for a, b in pairwise(distances))


def test_a_distance_found_by_sampling_jumps() -> None:
    """Tables 0, 1, 2, ..., of which one at 40 is unstable: a search at random places often misses it."""

    def value_of(table: int) -> float:
        return 5.0 if table > 40 else 0.0

    unstable = [table for table in range(-100, 200) if local(value_of, table) > 1]

    def searched(table: int) -> float:
        places = [table + random.Random(table).randint(-60, 60) for _ in range(40)]
        return min((abs(table - place) for place in places if place in unstable), default=math.inf)

    check_lipschitz(lambda table: min(abs(table - place) for place in unstable))
    with pytest.raises(AssertionError):
        check_lipschitz(searched)
