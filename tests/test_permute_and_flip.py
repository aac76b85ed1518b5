"""`permute_and_flip`: the law by recursion over orders, its loss, and that it is never worse than the exponential."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import NOISE, precise
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.selecting import (
    ONE,
    LawOf,
    check_better_is_likelier,
    check_law,
    check_pure,
    check_renyi,
    expected,
    extreme_neighbours,
    first_head,
    integrated,
    law_of,
    neighbours,
    softmax,
    tables,
    two_candidates,
    weights,
)
from tests.sizes import sized

F = Fraction
GENERAL, MONOTONE = dp.Utility.GENERAL, dp.Utility.MONOTONE
TIED = (0, 0, 1, 1)


def ours(epsilon: Fraction, utility: dp.Utility = GENERAL) -> dp.PermuteAndFlip:
    return dp.PermuteAndFlip(sensitivity=ONE, epsilon=epsilon, utility=utility)


@pytest.mark.parametrize(("utility", "factor"), [(GENERAL, 2), (MONOTONE, 1)])
def test_the_law_is_that_of_coins_in_random_order(utility: dp.Utility, factor: int) -> None:
    law = law_of(ours(F(3, 2), utility))
    check_law(law, lambda scores: first_head(scores, F(3, 2) / factor), tables(random.Random(1), sized(40, 1000)))


def test_coins_in_the_order_of_the_list_are_seen() -> None:
    with pytest.raises(AssertionError):
        check_law(broken.heads_with_leftovers(F(3, 2)), lambda scores: first_head(scores, F(3, 4)), [TIED])
    with pytest.raises(AssertionError):
        check_better_is_likelier(broken.heads_with_leftovers(F(3, 2)), [TIED])


@integrated
def noisy_maximum(scores: tuple[Fraction, ...], rate: Fraction) -> list[mpf]:
    """P(i is largest) with one-sided exponential noise: the integral over where the largest lies."""
    each = weights(scores, rate)  # exp(-gap): the noise of i passes x above the best with probability each[i] e^-x

    def density(i: int, x: mpf) -> mpf:
        others = mp.fprod(1 - weight * mp.exp(-x) for j, weight in enumerate(each) if j != i)
        return each[i] * mp.exp(-x) * others

    return [mp.quad(lambda x, i=i: density(i, x), [0, 1, 5, 25, 125, 625]) for i in range(len(each))]


def test_the_law_is_that_of_noisy_max_with_exponential_noise() -> None:
    """It is report-noisy-max with one-sided exponential noise (Ding et al. 2021)."""
    law = law_of(ours(F(2)))
    for scores in tables(random.Random(3), sized(6, 60)):
        for p, q in zip(law(scores), noisy_maximum(scores, F(1)), strict=True):
            assert abs(p - q) < mpf(10) ** -20


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(4)])
@pytest.mark.parametrize("utility", [GENERAL, MONOTONE])
def test_every_outcome_on_every_neighbour(epsilon: Fraction, utility: dp.Utility) -> None:
    """epsilon-DP, and no better in Renyi divergence than any epsilon-DP release: it is NOT bounded-range, so the
    a epsilon^2 / 8 of the exponential mechanism does not hold.
    """
    mechanism = ours(epsilon, utility)
    law = law_of(mechanism)
    check_pure(law, epsilon, neighbours(sized(3, 5), (0, 1, 4), utility))
    for count in (2, 3, 4, 5, 6):
        check_pure(law, epsilon, extreme_neighbours(count, utility))
        check_renyi(law, mechanism.loss.renyi, list(extreme_neighbours(count, utility)))
    check_renyi(law, mechanism.loss.renyi, two_candidates(epsilon, utility))
    far = (0, 4000), (1, 3999 if utility is GENERAL else 4000)
    check_pure(law, epsilon, [far], tight=True)
    assert mechanism.loss == dp.Loss.pure(epsilon=epsilon)
    with pytest.raises(AssertionError):
        check_renyi(law, broken.bounded_range(epsilon), two_candidates(epsilon, utility))


def test_without_the_two_it_is_not_private() -> None:
    with pytest.raises(AssertionError):
        check_pure(broken.first_head_without_the_two(F(1)), F(1), extreme_neighbours(3, GENERAL))


@precise
def check_not_worse(law: LawOf, epsilon: Fraction, count: int) -> None:
    """The expected score is never below the exponential mechanism's, on tables enumerated and random."""
    enumerated = [scores for scores, _ in neighbours(5, (0, 1, 3), MONOTONE)]
    for scores in [*dict.fromkeys(enumerated), *tables(random.Random(4), count)]:
        best = real(Fraction(max(scores)))
        mine, theirs = expected(scores, law(scores)), expected(scores, softmax(scores, epsilon / 2))
        rounding = NOISE * max(1, abs(best))
        assert theirs - rounding <= mine <= best + rounding, scores


def test_the_expected_score_is_never_below_that_of_the_exponential_mechanism() -> None:
    check_not_worse(law_of(ours(F(1))), F(1), sized(100, 5000))
    with pytest.raises(AssertionError):
        check_not_worse(broken.of_the_minimum(F(1)), F(1), 10)
    with pytest.raises(AssertionError):
        check_not_worse(lambda scores: softmax(scores, F(49, 100)), F(1), 10)


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="normaliser"):
        ours(F(1), dp.Utility.CONSTANT_NORMALISER)
    with pytest.raises(InvalidParameter, match="16 candidates"):
        ours(F(1)).law([0] * 17)
