"""`weights`: certified to every digit that is claimed, for scores of every kind; what is no score is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.dp.weights import Given, Weights, exp_minus
from discreet.errors import InvalidParameter
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.selecting import Score, tables
from tests.sizes import sized

F = Fraction
HALF = F(1, 2)
digits = mp.workprec(160)

Reals = NDArray[np.float64]
Weigh = Callable[[Given, Fraction], Reals]
Exp = Callable[[Reals], Reals]


# What is claimed of the floats.


def plain(scores: Given) -> Sequence[Score]:
    return scores.tolist() if isinstance(scores, np.ndarray) else scores


@digits
def check_weights(weigh: Weigh, scores: Given, rate: Fraction) -> None:
    """Each is within a relative 2^-44 of the exact weight, or both are below 2^-129; the best one's is 1."""
    exact = [F(score) for score in plain(scores)]
    for weight, score in zip(weigh(scores, rate).tolist(), exact, strict=True):
        exponent = rate * (max(exact) - score)
        closed = mp.exp(-real(exponent)) if exponent < 200 else mpf(0)  # exp(-200) is below 2^-288
        near = abs(weight - closed) <= closed / 2**44
        assert near or max(weight, closed) < mpf(2) ** -129, (weight, mp.nstr(closed, 9))
        assert exponent > 0 or weight == 1


def ours(scores: Given, rate: Fraction) -> Reals:
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
ALL = SIMPLE | WHOLE | INT64 | EXTREME


@pytest.mark.parametrize("rate", RATES, ids=lambda rate: f"{float(rate):.2g}")
@pytest.mark.parametrize("name", ALL)
def test_the_weights_are_certified(name: str, rate: Fraction) -> None:
    """each within a relative 2^-42 of `floats`, or below 2^-129 (2^-44 is what `_SLACK` allows for)"""
    check_weights(ours, ALL[name], rate)


def test_random_weights_are_certified() -> None:
    source = random.Random(1)
    for scores in tables(source, sized(60, 5000), most=8):
        check_weights(ours, scores, F(source.randint(1, 10**6), 10**4))
        check_weights(ours, [float(score) for score in scores], F(source.randint(1, 10**6), 10**4))
    for _ in range(sized(60, 5000)):
        signed = [source.choice([-1, 1]) * source.random() * 2.0 ** source.randint(-1074, 1023) for _ in range(6)]
        check_weights(ours, signed, F(2) ** source.randint(-899, 899) * F(source.randint(1, 2**53), 2**53))
        check_weights(ours, [source.getrandbits(source.randint(1, 1100)) for _ in range(6)], HALF)


def test_weights_of_more_than_one_chunk() -> None:
    scores = np.arange(70_000) % 7
    found = Weights.of(scores, HALF).floats
    assert np.array_equal(found, np.tile(ours(np.arange(7), HALF), 10_000))


@pytest.mark.parametrize(
    ("twin", "right", "wrong"),
    [
        (
            broken.weights_of_floats,
            [*SIMPLE, *EXTREME, "fractions"],
            [*INT64, "beyond 2^53", "mixed", "of any size", "fractions of any size", "unsigned beside negative"],
        ),
        (
            broken.weights_that_wrap,
            [*SIMPLE, "the extremes of uint64", "big-endian"],
            ["the extremes of int64"],
        ),
        (
            broken.weights_not_shifted,
            ["one", "ties", "close", "a range", "a tuple", "short floats", "big-endian floats", "the least"],
            ["FP-13", "the greatest", "great and close", "below exp"],
        ),
    ],
)
def test_weights_that_are_wrong_are_rejected(twin: Weigh, right: list[str], wrong: list[str]) -> None:
    with np.errstate(all="ignore"):
        for name in right:  # it passes where nothing is extreme
            check_weights(twin, ALL[name], HALF)
        for name in wrong:
            check_weights(ours, ALL[name], HALF)
            with pytest.raises((AssertionError, OverflowError)):
                check_weights(twin, ALL[name], HALF)


# The exponential function.


@digits
def check_exp(exp: Exp, points: Reals) -> None:
    """Within a relative 2^-50 up to 90, and 0 beyond."""
    for x, found in zip(points.tolist(), exp(points).tolist(), strict=True):
        closed = mp.exp(-mpf(x)) if x <= 90 else mpf(0)
        assert abs(found - closed) <= closed / 2**50, (x, found)


def points(most: float, count: int) -> Reals:
    """Uniform and tiny ones, both ends, and those between two entries of the table, where the remainder is largest."""
    source = np.random.default_rng(1)
    between = (np.arange(0.5, most * 64 / np.log(2)) * np.log(2) / 64)[:: 1 if count > 10_000 else 5]
    ends = np.array([0.0, 5e-324, 1e-300, np.nextafter(most, 0), most])
    tiny = most * 2.0 ** -source.uniform(0, 80, count // 4)
    return np.concatenate([source.uniform(0, most, count), tiny, between, np.nextafter(between, np.inf), ends])


def test_exp_minus() -> None:
    """Return exp(-x) for x >= 0 within a relative 2^-50, if x is exact, up to 90; 0 beyond."""
    check_exp(exp_minus, points(90, sized(4_000, 200_000)))
    beyond = np.array([np.nextafter(90.0, 91), 91.0, 746.0, 1e300, np.inf])
    check_exp(exp_minus, beyond)
    for shares in (8, 2):  # few of them near, or many: two ways through
        mixed = np.where(np.arange(800) % shares, 1e9, points(90, 200)[:800])
        check_exp(exp_minus, mixed)


def test_an_exp_with_one_constant_is_rejected() -> None:
    check_exp(broken.exp_with_one_constant, points(1, 1000))
    with pytest.raises(AssertionError):
        check_exp(broken.exp_with_one_constant, points(90, 1000))


# What is no score.


@pytest.mark.parametrize(
    "scores",
    [
        [],
        np.array([]),
        7,
        [[1, 2], [3, 4]],
        [[1], [2, 3]],
        [float("nan"), 1.0],
        [1, float("inf")],
        np.array([0.0, -np.inf]),
        np.array([1, float("nan")], dtype=object),
        [True, 2],
        [True, 0.5],
        [np.True_, 3],
        np.array([True, False]),
        np.array([1, True], dtype=object),
        np.ma.MaskedArray([1, 2], mask=[False, True]),
        ["1", "2"],
        [1, None],
        [1j, 2],
        [Decimal(1), 2],
        np.array([1, 2], dtype=np.longdouble),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        {1: 2},
    ],
    ids=lambda scores: f"{type(scores).__name__}-{str(scores)[:20]}",
)
def test_what_is_no_score_is_refused(scores: Given) -> None:
    with pytest.raises(InvalidParameter):
        Weights.of(scores, HALF)


def test_a_rate_out_of_range_is_refused() -> None:
    for rate in (F(2) ** 900, F(2) ** -900):
        Weights.of([1, 2], rate)
    for rate in (F(2) ** 900 + 1, F(2) ** -901):
        with pytest.raises(InvalidParameter, match="ratio"):
            Weights.of([1, 2], rate)
