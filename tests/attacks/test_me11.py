"""ME-11: the exponential mechanism without its factor 2 on scores that move apart, [0, 0] against [1, -1]."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import system
from tests.broken import selection as broken
from tests.selecting import ONE, check_pure, law_of, worst_ratio
from tests.sizes import sized
from tests.statistics import ratio_is_at_most

PAIR = [((0, 0), (1, -1))]
EPSILON = Fraction(1)
GUARANTEED = [dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip]


@pytest.mark.parametrize("build", GUARANTEED)
def test_general_scores_may_move_apart(build: type[dp.Exponential]) -> None:
    check_pure(law_of(build(sensitivity=ONE, epsilon=EPSILON)), EPSILON, PAIR)


@pytest.mark.parametrize("twin", [broken.without_the_two, broken.first_head_without_the_two])
def test_without_the_two_it_is_seen(twin: object) -> None:
    law = twin(EPSILON)  # type: ignore[operator]
    with pytest.raises(AssertionError):
        check_pure(law, EPSILON, PAIR)
    assert worst_ratio(law, PAIR) > float(EPSILON) * 1.3


@pytest.mark.parametrize("build", GUARANTEED)
def test_a_proof_obligation_stated_wrongly_is_seen(build: type[dp.Exponential]) -> None:
    """MONOTONE drops the 2, and these scores are not monotone."""
    with pytest.raises(AssertionError):
        check_pure(law_of(build(sensitivity=ONE, epsilon=EPSILON, utility=dp.Utility.MONOTONE)), EPSILON, PAIR)


def test_an_audit_of_draws_accepts_ours_and_rejects_the_twin() -> None:
    n, second = sized(5_000, 50_000), 1

    def seen(law: object) -> list[int]:
        return [int((broken.drawn_from(law(scores), n) == second).sum()) for scores in PAIR[0]]  # type: ignore[operator]

    mechanism = dp.Exponential(sensitivity=ONE, epsilon=EPSILON)
    mine = [
        int((np.array([mechanism._release(list(scores), system()) for _ in range(n)]) == second).sum())
        for scores in PAIR[0]
    ]
    assert ratio_is_at_most(*mine, n, epsilon=1.0, confidence=1 - 1e-6)
    assert not ratio_is_at_most(*seen(broken.without_the_two(EPSILON)), n, epsilon=1.0, confidence=1 - 1e-6)
