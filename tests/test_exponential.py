"""`exponential`: the law by enumeration, its loss for each kind of utility, and points of a metric space."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import exact, precise
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.selecting import (
    ONE,
    ORDERS,
    check_better_is_likelier,
    check_law,
    check_pure,
    check_renyi,
    divergence,
    extreme_neighbours,
    law_of,
    neighbours,
    on_a_circle,
    softmax,
    tables,
    two_candidates,
)
from tests.sizes import sized

F = Fraction
GENERAL, MONOTONE, CONSTANT = dp.Utility.GENERAL, dp.Utility.MONOTONE, dp.Utility.CONSTANT_NORMALISER
EPSILONS = [F(1, 10), F(1), F(4)]


def ours(epsilon: Fraction, utility: dp.Utility = GENERAL) -> dp.Exponential:
    return dp.Exponential(sensitivity=ONE, epsilon=epsilon, utility=utility)


@pytest.mark.parametrize(("utility", "factor"), [(GENERAL, 2), (MONOTONE, 1), (CONSTANT, 1)])
@pytest.mark.parametrize("linf", [1, F(1, 3), 1000])
def test_the_law_is_the_closed_form(utility: dp.Utility, factor: int, linf: Fraction) -> None:
    sensitivity = dp.Sensitivity(l1=linf, l2=linf, linf=linf, neighbours=dp.Neighbours.REPLACE)
    if utility is MONOTONE:
        sensitivity = dp.Sensitivity(l1=linf, l2=linf, linf=linf, neighbours=dp.Neighbours.ADD_REMOVE)
    mechanism = dp.Exponential(sensitivity=sensitivity, epsilon=F(3, 2), utility=utility)
    rate = F(3, 2) / (factor * F(linf))
    check_law(law_of(mechanism), lambda scores: softmax(scores, rate), tables(random.Random(1), sized(40, 2000)))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("utility", [GENERAL, MONOTONE])
def test_every_outcome_on_every_neighbour(epsilon: Fraction, utility: dp.Utility) -> None:
    """epsilon-DP, with Renyi divergence at most a epsilon^2 / 8 for GENERAL and MONOTONE scores (the log ratio
    ranges over an interval of length epsilon), and at most that of randomised response for a CONSTANT_NORMALISER.
    """
    law = law_of(ours(epsilon, utility))
    check_pure(law, epsilon, neighbours(sized(3, 5), (0, 1, 4), utility))
    for count in (2, 3, 4, 5, 6):
        check_pure(law, epsilon, extreme_neighbours(count, utility))
    far = (0, 4000), (1, 3999 if utility is GENERAL else 4000)
    check_pure(law, epsilon, [far], tight=True)


@pytest.mark.parametrize("points", [2, 5, 6, 40])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_constant_normaliser_is_tight(epsilon: Fraction, points: int) -> None:
    check_pure(law_of(ours(epsilon, CONSTANT)), epsilon, on_a_circle(points), tight=True)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(2), F(6)])
@pytest.mark.parametrize("utility", [GENERAL, MONOTONE])
def test_renyi_divergence(epsilon: Fraction, utility: dp.Utility) -> None:
    mechanism = ours(epsilon, utility)
    law, claimed = law_of(mechanism), mechanism.loss.renyi
    assert all(claimed(order) <= order * epsilon**2 / 8 for order in ORDERS)
    check_renyi(law, claimed, two_candidates(epsilon, utility))
    check_renyi(law, claimed, list(extreme_neighbours(6, utility)))
    check_renyi(law, claimed, list(neighbours(3, (0, 2), utility)))


@precise
def test_the_renyi_divergence_is_nearly_reached() -> None:
    """With small epsilon the worst of two candidates comes within one percent of a epsilon^2 / 8."""
    epsilon, order = F(1, 100), F(2)
    law = law_of(ours(epsilon))
    worst = max(divergence(law(one), law(other), order) for one, other in two_candidates(epsilon, GENERAL))
    bound = real(order * epsilon**2 / 8)
    assert bound * mpf("0.99") <= worst <= bound


@precise
def test_a_constant_normaliser_has_another_renyi_curve() -> None:
    """On a cyclic group of 40 points at epsilon = 0.2 and order 2 it is 0.0393; a epsilon^2 / 8 would be 0.0100."""
    mechanism = ours(F(1, 5), CONSTANT)
    law, pairs = law_of(mechanism), list(on_a_circle(40))
    found = divergence(law(pairs[0][0]), law(pairs[0][1]), F(2))
    assert mp.nstr(found, 3) == "0.0393"
    assert F(2) * F(1, 5) ** 2 / 8 == F(1, 100)
    check_renyi(law, mechanism.loss.renyi, pairs)
    with pytest.raises(AssertionError):
        check_renyi(law, broken.bounded_range(F(1, 5)), pairs)
    with pytest.raises(AssertionError):
        check_renyi(law, ours(F(1, 5)).loss.renyi, pairs)


def test_an_obligation_that_does_not_hold_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_pure(law_of(broken.monotone_for_anything(F(1))), F(1), extreme_neighbours(3, GENERAL))
    with pytest.raises(AssertionError):
        check_pure(law_of(ours(F(1), CONSTANT)), F(1), extreme_neighbours(3, GENERAL))


def test_better_is_likelier() -> None:
    check_better_is_likelier(law_of(ours(F(1))), [(0, 1, 2, 2), (5, -5), (0, 0, 0, 1), (1e300, -2000, 0, 3)])


@precise
@pytest.mark.parametrize("candidates", [1, 2, 6])
def test_accuracy(candidates: int) -> None:
    """The chance of a score that far below the best is at most beta on every table, and near it on the worst."""
    epsilon, beta = F(2), F(1, 20)
    alpha = ours(epsilon).accuracy(failure_probability=beta, candidates=candidates)
    rate = real(epsilon / 2)
    assert abs(exact(alpha) * rate - mp.log(candidates / real(beta))) < mpf("1e-9")
    law = law_of(ours(epsilon))
    for table in tables(random.Random(2), 50, most=candidates + 1):
        scores = table[:candidates]
        misses = [p for score, p in zip(scores, law(scores), strict=True) if score < max(scores) - F(repr(alpha))]
        assert mp.fsum(misses) <= real(beta)
    if candidates > 1:
        worst = (F(0), *[-F(repr(alpha)) - F(1, 1000)] * (candidates - 1))
        assert mp.fsum(law(worst)[1:]) > real(beta) / 3


def test_accuracy_of_the_least_failure_probability() -> None:
    far = ours(F(1)).accuracy(failure_probability="1e-350", candidates=3)
    assert far == pytest.approx(2 * (np.log(3) + 350 * np.log(10)), rel=1e-9)


class TestMetric:
    """as the mechanism itself, with D = sensitivity.linf the most by which f can move in this distance (by the triangle
    inequality every score then moves by at most as much).
    """

    def test_scores_move_by_at_most_the_distance(self) -> None:
        points = [(x, y) for x in range(3) for y in range(2)]

        def distance(a: tuple[int, int], b: tuple[int, int]) -> int:
            return abs(a[0] - b[0]) + abs(a[1] - b[1])

        near = dp.Exponential.over_metric(points, distance=distance, sensitivity=ONE, epsilon=1)
        pairs = [(near.scores(a), near.scores(b)) for a in points for b in points if distance(a, b) <= 1]
        pairs = [(tuple(one), tuple(other)) for one, other in pairs]
        check_pure(law_of(near.mechanism), F(1), pairs)
        check_renyi(law_of(near.mechanism), near.loss.renyi, pairs)
        assert near.loss == near.mechanism.loss

    def test_it_releases_points(self) -> None:
        near = dp.Exponential.over_metric(
            "abz", distance=lambda a, b: abs(ord(a) - ord(b)), sensitivity=ONE, epsilon=80
        )
        assert [near.release(letter) for letter in "abz"] == list("abz")

    def test_a_distance_that_is_no_number_is_refused(self) -> None:
        near = dp.Exponential.over_metric("ab", distance=lambda a, b: float("nan"), sensitivity=ONE, epsilon=1)
        with pytest.raises(InvalidParameter, match="NaN"):
            near.release("a")


@pytest.mark.parametrize(
    "build", [dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax, lambda **given: dp.NoisyTopK(k=2, **given)]
)
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "1e-500", True, None])
def test_refusals(build: Callable[..., dp.Mechanism], epsilon: object) -> None:
    with pytest.raises(InvalidParameter):
        build(sensitivity=ONE, epsilon=epsilon)
    with pytest.raises(TypeError):
        build(sensitivity=ONE)
    with pytest.raises(TypeError):
        build(epsilon=1)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        build(sensitivity=1, epsilon=1)
    with pytest.raises(InvalidParameter, match="utility"):
        build(sensitivity=ONE, epsilon=1, utility="monotone")


@pytest.mark.parametrize("build", [dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax])
def test_a_private_value_comes_out_through_its_door(build: type[dp.Exponential]) -> None:
    mechanism = build(sensitivity=ONE, epsilon=1)
    exact_scores = dp.Exact(np.array([0, 2000, 0]), sensitivity=ONE, unit="row")
    keep = dp.PrivacyFilter(dp.Budget(epsilon=1))
    assert mechanism.open(exact_scores, keep.reserve(mechanism.loss)) == 1
    wide = dp.Sensitivity(l1=2, l2=2, linf=2, neighbours=dp.Neighbours.ADD_REMOVE)
    with pytest.raises(InvalidParameter, match="sensitive"):
        mechanism.open(
            dp.Exact(np.array([0, 1]), sensitivity=wide, unit="row"),
            dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(mechanism.loss),
        )
