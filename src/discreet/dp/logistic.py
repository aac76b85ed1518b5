"""Exact logistic coins, and the noisy margin that a hit may show: all noise of the logistic threshold tests.

In steps of the public grid, a value that exceeds its threshold by the integer d is a hit if d + Z >= 0, Z logistic
with P(Z > z) = 1 / (1 + exp(e z)). So a hit is a coin with probability s(d) = 1 / (1 + q^d), q = exp(-e), and no
noise is needed to flip it. Where the noisy margin is wanted too, it is V = floor(d + Z) = d + W, and d being an
integer, d + Z >= 0 exactly if V >= 0.

The law of W = floor(Z). P(W = w) = s(w + 1) - s(w) = q^w (1 - q) / ((1 + q^w) (1 + q^(w + 1))), which is symmetric
under w <-> -1 - w: multiply both factors of the denominator by q^(-1 - w).
  Let G be geometric, P(G = g) = (1 - q) q^g, and keep it with probability s(g - c) s(g - c + 1), the chance that two
  coins both show heads. What is kept has a law proportional to q^g / ((1 + q^(g - c)) (1 + q^(g - c + 1))).
  d <= 0: with c = d that is P(W = g - d), times a constant: the law of V >= 0, given a hit. Both coins lie at or
    above 0, so one draw in four is kept at least.
  d > 0: with c = 0 and a fair coin for g or -1 - g that is the law of W. Drawn until W >= -d, at least every second
    time, it has the law given a hit.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.inversion import Integers
from discreet.dp.reals import ball, precision
from discreet.dp.samplers import CHUNK, GREATEST_SCALE, LEAST_SCALE, geometric
from discreet.dp.weights import Reals, exp_minus
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream, Words

_NEAR = 12  # beyond it the less likely side has less than one part in 2^16
_FINE = 64  # cells per unit of the exponent: one coin in 250 or fewer is left open by its first 16 bits
_MARGIN = 1e-6  # on every side of a cell and of its chances: far above the errors of the floats that it holds for
_SLACK = 2.0**-42  # relative: above the error of a chance, 2^-44 (90 times three roundings of its exponent)
_WORD = 2.0**-63  # above what 64 bits of a coin leave open, and exp(-90)
_HUGE = 1 << 80  # so many steps are beyond exp(-90) at any slope

Coins = NDArray[np.bool_]


def check_slope(slope: Fraction) -> None:
    """Refuse a slope per step that cannot be drawn, or that would be no noise."""
    if not LEAST_SCALE <= 1 / slope <= GREATEST_SCALE:
        raise InvalidParameter(
            "the slope lies between 2^-52 and 45 per step of the grid: with more a test would tell the truth all but "
            "surely; change the slope, the sensitivity or the step."
        )


def coins(stream: Stream, steps: Integers, slope: Fraction) -> Coins:
    """Return independent coins, each True with probability 1 / (1 + exp(-slope k)) for its integer k.

    Guarantee: the probabilities are exact, for integers of every size and every rational slope that `check_slope`
      accepts. 16 bits decide nearly every coin, 64 bits all but one in 2^42 of the others, and what is then open
      draws more bits against ball arithmetic.
    Source: Knuth, Yao, "The complexity of nonuniform random number generation", 1976 (a coin from its binary digits).

    >>> from discreet.dp.randomness import system
    >>> coins(system(), np.array([-1000, 1000]), Fraction(1)).tolist()
    [False, True]
    """
    flat = np.ravel(steps)
    if flat.size <= CHUNK:
        return _chunk(stream, flat, slope)
    tops = np.empty(flat.size, dtype=bool)
    for start in range(0, flat.size, CHUNK):
        part = slice(start, start + CHUNK)
        tops[part] = _chunk(stream, flat[part], slope)
    return tops


def coin(stream: Stream, steps: int, slope: Fraction) -> bool:
    """Return one such coin."""
    bits, size = stream.integer(64), min(abs(steps), _HUGE) * float(slope)
    low, high = _lists()
    cell = int(min(size, _NEAR) * _FINE)
    if bits >> 48 < low[cell]:
        return steps < 0
    if bits >> 48 >= high[cell]:
        return steps >= 0
    word, places = np.array([bits], dtype=np.uint64), np.array([size], dtype=np.float64)
    against = _against(stream, lambda _: steps, places, word, slope)
    return bool(against[0]) != (steps >= 0)


def margin_of_hit(stream: Stream, steps: int, slope: Fraction) -> int:
    """Return V = floor(d + Z) given that it is at least 0, for a value d steps above its threshold.

    Guarantee: P(V = v) = P(W = v - d) / s(d) for every v >= 0, exactly. The proof stands at the head of this file.
    Source: von Neumann, 1951 (rejection); Ding, Wang, Zhang, Kifer, 2019 (the gap of a hit).

    >>> from discreet.dp.randomness import system
    >>> 0 <= margin_of_hit(system(), -1000, Fraction(1)) < 1000
    True
    """
    scale, shift = 1 / slope, min(steps, 0)
    while True:
        proposed = int(geometric(stream, scale, 1)[0])
        if not (coin(stream, proposed - shift, slope) and coin(stream, proposed - shift + 1, slope)):
            continue
        if steps <= 0:
            return proposed
        noise = proposed if stream.integer(1) else -1 - proposed
        if steps + noise >= 0:
            return steps + noise


def chance(steps: int, slope: Fraction) -> arb:
    """Return the ball around s(k) = 1 / (1 + exp(-slope k)), for the precision in force."""
    unlikely = ball(-slope * abs(steps)).exp()
    return 1 / (1 + unlikely) if steps >= 0 else unlikely / (1 + unlikely)


def mass_of_hit(margin: int, steps: int, slope: Fraction) -> arb:
    """Return the ball around P(V = v | V >= 0), for the precision in force."""
    one, two = (abs(margin - steps), abs(margin - steps + 1))
    least = min(one, two)  # w and -1 - w have the same mass
    q = ball(-slope)
    mass = -q.expm1() * (q * least).exp() / ((1 + (q * one).exp()) * (1 + (q * two).exp()))
    return mass / chance(steps, slope)


def _chunk(stream: Stream, steps: Integers, slope: Fraction) -> Coins:
    exponents = _sizes(steps)
    exponents *= float(slope)  # three roundings in all: the integer, the slope, the product
    cells = np.minimum(exponents, _NEAR)
    cells *= _FINE
    low, high = _cells()
    places = cells.astype(np.intp)
    words = stream.words(steps.size, 16)
    against = words < low.take(places)
    undecided = np.flatnonzero((words < high.take(places)) != against)
    if undecided.size:
        longer = stream.words(undecided.size, 64)
        longer >>= np.uint64(16)
        longer |= words[undecided].astype(np.uint64) << np.uint64(48)
        found = steps[undecided]
        against[undecided] = _against(stream, lambda i: int(found[i]), exponents[undecided], longer, slope)
    words.fill(0)
    against ^= steps >= 0
    return against


def _sizes(steps: Integers) -> Reals:
    if steps.dtype.kind in "iu":
        return np.abs(steps.astype(np.float64))
    return np.array([float(min(abs(int(k)), _HUGE)) for k in steps])


@lru_cache(maxsize=1)
def _cells() -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return, for each cell of the exponent, below which 16 bits a coin surely falls on the less likely side, and
    from which it surely does not."""
    edges = np.arange(_NEAR * _FINE + 2) / _FINE
    least, most = exp_minus(edges[1:] + _MARGIN), exp_minus(np.maximum(edges[:-1] - _MARGIN, 0.0))
    low = np.floor(least / (1 + least) * 2**16 * (1 - _MARGIN))
    high = np.ceil(most / (1 + most) * 2**16 * (1 + _MARGIN))
    low[-1] = 0  # the last cell has no end
    return low.astype(np.uint16), high.astype(np.uint16)


@lru_cache(maxsize=1)
def _lists() -> tuple[list[int], list[int]]:
    """Return the same as lists, which are faster to look up one by one."""
    low, high = _cells()
    return low.tolist(), high.tolist()


def _against(stream: Stream, steps: Callable[[int], int], exponents: Reals, words: Words, slope: Fraction) -> Coins:
    """Return whether each coin, of which 64 bits are known, falls on its less likely side; the words are cleared."""
    unlikely = exp_minus(exponents)
    chances = unlikely / (1 + unlikely)
    numbers = words * 2.0**-64  # to 53 bits, correctly rounded
    slack = _SLACK * chances + _WORD
    against = numbers < chances - slack
    for i in np.flatnonzero(~against & (numbers <= chances + slack)):
        against[i] = _settle(stream, -abs(steps(int(i))), int(words[i]), slope)
    words.fill(0)
    return against


def _settle(stream: Stream, steps: int, word: int, slope: Fraction) -> bool:
    bits = 64
    while True:
        with precision(2 * bits + 64):
            boundary = chance(steps, slope) * (1 << bits)
            if ball(word + 1) <= boundary:
                return True
            if ball(word) >= boundary:
                return False
        word, bits = word << 64 | stream.integer(64), bits + 64
