"""`rounded_noise`: the digits of one draw decide the integer they should, however many it takes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.dp.rounded_noise import rounded
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, PolynomialLaw, SmoothLaw
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.scripted import Scripted
from tests.smooth_truth import TRUTHS, Truth

F = Fraction
LAWS: dict[str, SmoothLaw] = {
    "laplace": LaplaceLaw(),
    "gaussian": GaussianLaw(),
    "polynomial-2": PolynomialLaw(2),
    "polynomial-4": PolynomialLaw(4),
}


def _quantile(truth: Truth, tail: mpf) -> mpf:
    """The z with P(|Z| > z) = tail, by bisection."""
    low, high = mpf(0), mpf(1)
    while 2 * truth.tail(high) > tail:
        low, high = high, 2 * high
    for _ in range(int(4 * mp.dps)):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * truth.tail(middle) > tail else (low, middle)
    return low


@pytest.mark.parametrize("name", LAWS)
def test_digits_are_drawn_until_one_integer_is_left(name: str) -> None:
    """At these scales the first 128 digits leave many integers open; those that follow decide, and rightly."""
    more = [0x123456789ABCDEF0, 0xFEDCBA9876543210, 0x0F1E2D3C4B5A6978]
    for share_of_one, sign, scale in (("0.75", 1, F(2) ** 100), ("0.3", -1, F(2) ** 100), ("1e-6", 1, F(2) ** 160)):
        word = int(F(share_of_one) * 2**128) + 12345
        stream = Scripted(then=more)
        stream.ahead = {LAWS[name]: [max(sign, 0), word, 0, -1]}
        drawn = rounded(LAWS[name], F(1, 3), scale, stream)
        assert stream.requests
        for digits in more[: len(stream.requests)]:
            word = word << 64 | digits
        with mp.workdps(150):
            size = mpf(2) ** (128 + 64 * len(stream.requests))
            ends = [_quantile(TRUTHS[name], mpf(w) / size) for w in (word, word + 1)]
            assert {int(mp.floor(real(F(5, 6)) + sign * real(scale) * z)) for z in ends} == {drawn}


def test_a_draw_of_nothing_but_zeros_takes_more_digits() -> None:
    """The first digits of U being 0 bound Z from below only."""
    stream = Scripted(*[part for _ in range(16) for part in (0, 1)], then=[5] * 100)
    stream.ahead = {}
    drawn = rounded(LaplaceLaw(), F(0), F(1), stream)
    assert drawn == round(-math.log(5.5 * 2.0**-192))
    assert (1, 64) in stream.requests


def test_values_are_drawn_ahead_whatever_the_table() -> None:
    """digits of Z do not depend on the center or the scale: another table takes the same number of random bits."""
    for center, scale in ((F(0), F(1)), (F(10**9, 7), F(12345, 11))):
        stream = Scripted(*[part for i in range(32) for part in (2**120 + i, i % 2)])
        stream.ahead = {}
        [rounded(GaussianLaw(), center, scale, stream) for _ in range(32)]
        assert stream.finished
