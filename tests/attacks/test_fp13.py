"""FP-13: the exponential mechanism in floats. Exponentials overflow or vanish, and what is never drawn tells.

Every law is enumerated; nothing is sampled but where a draw itself is shown to break.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import system
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.scripted import Scripted
from tests.selecting import (
    ONE,
    LawOf,
    Pair,
    check_law,
    check_pure,
    extreme_neighbours,
    first_head,
    law_of,
    softmax,
    worst_ratio,
)

F = Fraction
EPSILON = F(1)
BUILDS = [dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip]

MILD: list[Pair] = [((0, 0), (1, -1)), ((0.5, 2, -3), (1.5, 1, -4)), ((30, 0, 1), (29, 1, 2))]
PAIRS: dict[str, list[Pair]] = {
    "too great": [((1e300, -2000, 0), (F(1e300) - 1, -1999, 1)), ((2000, 0), (1999, 1))],
    "too small": [((-2000, -2001), (-2001, -2000)), ((-1e300, -1e300), (F(-1e300) - 1, F(-1e300) + 1))],
    "too far apart": [((0, -1489), (1, -1490)), ((0, -1492, -2000), (1, -1493, -1999))],
    "too close": [((2**53 + 2, 2**53 + 2), (2**53 + 3, 2**53 + 1)), ((2**62 + 1, 2**62), (2**62, 2**62 + 1))],
}
TWINS = {
    "softmax": (broken.law_of_float_softmax, ["too great", "too small"]),
    "shifted softmax": (broken.law_of_shifted_softmax, ["too far apart"]),
    "scores in floats": (broken.law_of_scores_in_floats, ["too close"]),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", PAIRS)
def test_the_greatest_log_ratio_is_epsilon(name: str, build: type[dp.Exponential]) -> None:
    law = law_of(build(sensitivity=ONE, epsilon=EPSILON))
    check_pure(law, EPSILON, MILD + PAIRS[name])
    check_pure(law, EPSILON, extreme_neighbours(3, dp.Utility.GENERAL))
    closed: LawOf = first_head if build is dp.PermuteAndFlip else softmax  # type: ignore[assignment]
    check_law(law, lambda scores: closed(scores, EPSILON / 2), [table for pair in PAIRS[name] for table in pair])  # type: ignore[call-arg]


@pytest.mark.parametrize(("twin", "name"), [(twin, name) for twin, (_, names) in TWINS.items() for name in names])
def test_floats_are_seen(twin: str, name: str) -> None:
    law = TWINS[twin][0](EPSILON)
    check_pure(law, EPSILON + F(1, 10**12), MILD)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        check_pure(law, EPSILON + F(1, 10**12), PAIRS[name])  # type: ignore[arg-type]


def test_how_they_break() -> None:
    """Overflow is no law at all; a weight of 0 beside one that is not is an infinite loss; rounding doubles a move."""
    overflow = broken.law_of_float_softmax(EPSILON)((1e300, -2000, 0))  # type: ignore[operator]
    assert all(mp.isnan(p) or p == 0 for p in overflow)
    vanished = broken.law_of_shifted_softmax(EPSILON)
    assert worst_ratio(vanished, PAIRS["too far apart"]) == mp.inf  # type: ignore[arg-type]
    doubled = broken.law_of_scores_in_floats(EPSILON)
    assert worst_ratio(doubled, PAIRS["too close"][:1]) > mpf("1.4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NaN"):
        broken.float_softmax((1e300, -2000, 0), EPSILON / 2, 10)


@pytest.mark.parametrize("build", BUILDS)
def test_extreme_scores_are_drawn(build: type[dp.Exponential]) -> None:
    mechanism = build(sensitivity=ONE, epsilon=EPSILON)
    for scores in ([0, 1e300, -2000], np.array([0, 1e300, -2000]), [-2000, -1.0, -1e300], [0, 10**400, -(10**400)]):
        assert all(mechanism._release(scores, system()) == 1 for _ in range(50))


@mp.workprec(4096)
def test_a_candidate_that_floats_never_choose_is_chosen() -> None:
    """The weight of the second is exp(-1000), 0 as a float: it has the top 2^-1443 of all reals, and not more."""
    share = mp.exp(-1000) / (1 + mp.exp(-1000))
    scores, bits = [0, -2000], 1536
    boundary = int(mp.floor((1 - share) * mpf(2) ** bits))
    for number, chosen in ((boundary - 1, 0), (boundary + 1, 1)):
        words = [number >> shift & (1 << 64) - 1 for shift in range(bits - 64, -1, -64)]
        stream = Scripted(*words, then=[0] * 40)
        assert dp.Exponential(sensitivity=ONE, epsilon=EPSILON)._release(scores, stream) == chosen
    head = int(mp.floor(mp.exp(-1000) * mpf(2) ** bits))
    for number, chosen in ((head - 1, [1]), (head + 1, [0])):
        words = [number >> shift & (1 << 64) - 1 for shift in range(bits - 64, -1, -64)]
        stream = Scripted([0, words[0]], *words[1:], *([1 << 7] if chosen == [1] else []))  # of two heads, the second
        assert [dp.PermuteAndFlip(sensitivity=ONE, epsilon=EPSILON)._release(scores, stream)] == chosen
        assert stream.finished
