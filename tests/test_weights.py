"""`weights`: certified to every digit that is claimed, and drawn from exactly: proved by bits chosen for every path."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp.randomness import Stream
from discreet.dp.weights import Given, Weights
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.selecting import EXPONENT_BITS, Score, tables, weights
from tests.sizes import sized

F = Fraction
MIDDLE, LAST = 1 << 63, (1 << 64) - 1
HALF = F(1, 2)
many_digits = mp.workprec(EXPONENT_BITS)

Weigh = Callable[[Given, Fraction], NDArray[np.float64]]
Flip = Callable[[Weights, Stream, NDArray[np.int64]], NDArray[np.bool_]]
Draw = Callable[[Weights, Stream], int]


def plain(scores: Given) -> Sequence[Score]:
    return scores.tolist() if isinstance(scores, np.ndarray) else scores


# What is claimed of the floats.


@many_digits
def check_weights(weigh: Weigh, scores: Given, rate: Fraction) -> None:
    """Each is within a relative 2^-44 of the exact weight, or both are below 2^-129; the best one's is 1."""
    found, closed = weigh(scores, rate).tolist(), weights(plain(scores), rate)
    for weight, exact in zip(found, closed, strict=True):
        assert abs(weight - exact) <= exact / 2**44 or max(weight, exact) < mpf(2) ** -129, (weight, mp.nstr(exact, 9))
        assert weight == 1 or exact < 1


def ours(scores: Given, rate: Fraction) -> NDArray[np.float64]:
    return Weights.of(scores, rate).floats


SIMPLE: dict[str, Given] = {
    "one": [7],
    "one float": [-1e308],
    "ties": [3, 3, 3],
    "close": [0.1, 0.2, 0.3],
    "a range": range(60),
    "a tuple": (0.1, 5, 0.3),
    "bytes": np.array([0, 255, 200], dtype=np.uint8),
    "short floats": np.array([0.5, 100.25, 99.5], dtype=np.float16),
    "big-endian floats": np.array([0.1, 0.7], dtype=">f8"),
}
WHOLE: dict[str, Given] = {
    "beyond 2^53": [2**53 + 1, 2**53, 0],
    "mixed": [2**60 + 1, 2**60, 0.5, F(1, 3)],
    "fractions": [F(1, 3), F(2, 7), F(1 - 10**30, 10**30), F(-5)],
    "of any size": [10**400, 10**400 - 3, 0, -(10**400)],
    "fractions of any size": [F(10**400, 3), F(10**400, 3) - 1, F(1, 10**400)],
    "unsigned beside negative": [2**63, -1, 2**63 - 1],
}
INT64: dict[str, Given] = {
    "the extremes of int64": np.array([2**63 - 1, -(2**63), 0, 2**63 - 9]),
    "the extremes of uint64": np.array([2**64 - 1, 0, 2**63, 2**64 - 90], dtype=np.uint64),
    "big-endian": np.array([2**63 + 5, 2**63, 1], dtype=">u8"),
}
EXTREME: dict[str, Given] = {
    "FP-13": [1e300, -2000.0, 0.0],
    "the greatest": [1.7976931348623157e308, -1.7976931348623157e308, 1e308, 0.0],
    "the least": [5e-324, 0.0, -0.0, -5e-324],
    "great and close": [1e300, np.nextafter(1e300, 0).item(), 9.9e299],
    "below exp": [-2000.0, -2001.0, -2500.0],
    "the end of what a float tells": [0.0, *(-180 * (1 + k * 2.0**-52) for k in range(-20, 21))],
}
RATES = [HALF, F(1, 3), F(1, 10**9), F(10**30 + 1, 10**30), F(2) ** -900, F(2) ** 900]


@pytest.mark.parametrize("rate", RATES, ids=lambda rate: f"{float(rate):.2g}")
@pytest.mark.parametrize("scores", [SIMPLE | WHOLE | INT64 | EXTREME], ids=["all"])
def test_the_weights_are_certified(scores: dict[str, Given], rate: Fraction) -> None:
    """each within a relative 2^-42 of `floats`, or below 2^-129 (2^-44 is what `_SLACK` allows for)"""
    for given in scores.values():
        check_weights(ours, given, rate)


def test_random_weights_are_certified() -> None:
    source = random.Random(1)
    for scores in tables(source, sized(60, 5000), most=8):
        check_weights(ours, scores, F(source.randint(1, 10**6), 10**4))
        check_weights(ours, [float(score) for score in scores], F(source.randint(1, 10**6), 10**4))
    for _ in range(sized(60, 5000)):
        signed = [source.choice([-1, 1]) * source.random() * 2.0 ** source.randint(-1074, 1023) for _ in range(6)]
        check_weights(ours, signed, F(2) ** source.randint(-899, 899) * F(source.randint(1, 2**53), 2**53))
        check_weights(ours, [source.getrandbits(source.randint(1, 1100)) for _ in range(6)], HALF)


@pytest.mark.parametrize(
    ("twin", "right", "wrong"),
    [
        (broken.weights_of_floats, [SIMPLE, INT64], WHOLE | INT64),
        (broken.weights_that_wrap, [SIMPLE], {"": INT64["the extremes of int64"]}),
        (broken.weights_not_shifted, [SIMPLE], EXTREME),
    ],
)
def test_weights_that_are_wrong_are_rejected(
    twin: Weigh, right: list[dict[str, Given]], wrong: dict[str, Given]
) -> None:
    for given in (SIMPLE["close"], SIMPLE["ties"], SIMPLE["a range"]):
        check_weights(twin, given, HALF)  # it passes where nothing is extreme
    with np.errstate(all="ignore"):
        for given in wrong.values():
            with pytest.raises((AssertionError, OverflowError, TypeError)):
                check_weights(twin, given, HALF)
