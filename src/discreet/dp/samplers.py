"""Exact samplers of the laws that everything else is made of: uniform, Bernoulli, geometric, discrete Laplace.

Every sampler takes the stream it draws from and returns whole vectors. Integers are 64-bit, and Python integers in the
astronomically rare draw that needs them, so nothing ever wraps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.inversion import Integers, Inversion
from discreet.dp.randomness import Stream
from discreet.dp.rational import float_up
from discreet.dp.reals import ball
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

CHUNK = 1 << 15  # values at a time: what they need stays in the processor's cache
_DIGITS = 8  # binary digits drawn by one look-up
_TOP_SCALE = 16  # the scale left for the leading digits: small enough for one look-up, large enough to be rare
_TAIL = 24  # outcomes are stored up to 24 scales, beyond which lies less than 2^-34

_AHEAD = 128  # values drawn ahead for single releases
_MOST_WAITING = 64  # laws with values drawn ahead, on one stream
_LIFT = 1 << 62

LEAST_SCALE = Fraction(1, 45)
"""Below it discrete Laplace noise is 0 but for less than 2^-63: a mechanism that publishes its input."""
GREATEST_SCALE = Fraction(2**52)
"""Above it noise would leave 64 bits too often for vectors to be worth having."""


def uniform_below(stream: Stream, bound: int, count: int) -> Integers:
    """Return independent uniform integers in [0, bound), by rejection from the least number of bits."""
    bits = (bound - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    if bits > 63:
        return np.array([_uniform_long(stream, bound, bits) for _ in range(count)], dtype=object)
    width = next(w for w in (8, 16, 32, 64) if w >= bits)
    drawn, left = np.empty(count, dtype=np.int64), np.arange(count)
    while left.size:
        words = stream.words(left.size, width)
        drawn[left] = words >> words.dtype.type(width - bits)
        words.fill(0)
        left = left[drawn[left] >= bound]
    return drawn


def _uniform_long(stream: Stream, bound: int, bits: int) -> int:
    while (drawn := stream.integer(bits)) >= bound:
        pass
    return drawn


def bernoulli(stream: Stream, chance: Fraction, count: int) -> NDArray[np.bool_]:
    """Return independent coins that are True with this rational probability.

    Guarantee: P(True) = chance, exactly.
    """
    if not 0 <= chance <= 1:
        raise InvalidParameter(f"a probability lies in [0, 1]; got {chance}.")
    return np.asarray(uniform_below(stream, chance.denominator, count) < chance.numerator, dtype=bool)


@lru_cache(maxsize=64)
def _coin(exponent: Fraction) -> Inversion:
    return Inversion(lambda _: (ball(-exponent)).exp(), stored=1, outcomes=2, label=lambda i: 1 - i)


def bernoulli_exp(stream: Stream, exponent: Fraction, count: int) -> NDArray[np.bool_]:
    """Return independent coins that are True with probability exp(-exponent), for a rational exponent >= 0.

    Guarantee: P(True) = exp(-exponent), exactly.
    """
    if exponent < 0:
        raise InvalidParameter(f"exp(-x) is a probability for x >= 0; got x = {exponent}.")
    if exponent == 0:
        return np.ones(count, dtype=bool)
    return _coin(exponent).draw(stream, count).astype(bool)


class Sampler(ABC):
    """A law on the integers that can be drawn, in vectors and one by one."""

    @abstractmethod
    def draw(self, stream: Stream, count: int) -> Integers:
        """Return `count` independent draws."""

    def added_to(self, value: int, stream: Stream) -> int:
        """Return an integer plus one draw, in a time that does not tell the draw.

        Draws are made a block ahead, so the work for one was done before anyone asked; and they wait as integers of
        one size, because Python's arithmetic is a little faster on small ones. The block belongs to the stream, so it
        is dropped with it in a forked child.
        """
        waiting = stream.ahead.get(self)
        if not waiting:
            if len(stream.ahead) >= _MOST_WAITING:
                stream.ahead.clear()
            waiting = stream.ahead[self] = [_LIFT + draw for draw in self.draw(stream, _AHEAD).tolist()]
        return value + waiting.pop() - _LIFT


class DiscreteLaplace(Sampler):
    """P(Z = z) proportional to exp(-|z| / t), drawn as the binary digits of a geometric variable and a sign.

    Guarantee: the law is exact for every rational t in [LEAST_SCALE, GREATEST_SCALE].
      Z >= 0 is G and Z < 0 is -1 - G, with G geometric; blocks of binary digits of a geometric variable are
      independent (its law factorises over them), and so is the sign: P(Z < 0) = q / (1 + q), q = exp(-1/t).
      There is no pair (minus, 0) to reject, and the work does not depend on the outcome.
    Source: Ghosh, Roughgarden, Sundararajan, 2012 (the mechanism); Inusah, Kozubowski, 2006 (the law).
    """

    def __init__(self, scale: Fraction) -> None:
        self.check(scale)
        digits = max(0, (int(scale) // _TOP_SCALE).bit_length())
        widths = [min(_DIGITS, digits - low) for low in range(0, digits, _DIGITS)]
        self.scale, self._digits, self._mask = scale, digits, (1 << digits) - 1
        self._blocks = [(i * _DIGITS, _block(scale / 2 ** (i * _DIGITS), 1 << w)) for i, w in enumerate(widths)]
        self._top = _signed_top(scale, 2**digits)

    @staticmethod
    def check(scale: Fraction) -> None:
        """Refuse a scale that cannot be drawn, or that would be no noise."""
        if not LEAST_SCALE <= scale <= GREATEST_SCALE:
            raise InvalidParameter(
                f"discrete Laplace noise of scale {float_up(scale):.3g} steps cannot be drawn: the scale lies between "
                f"1/45 (below, noise is 0 all but surely) and 2^52 steps; change epsilon, the sensitivity or the step."
            )

    def draw(self, stream: Stream, count: int) -> Integers:
        """Return `count` independent draws."""
        return in_chunks(lambda size: self._chunk(stream, size), count)

    def _chunk(self, stream: Stream, count: int) -> Integers:
        top = self._top.draw(stream, count)
        drawn = top if top.dtype == object else top.astype(np.int64)
        if not self._digits:
            return drawn
        drawn <<= self._digits
        drawn |= (top < 0) * self._mask  # a negative value counts its low digits downwards
        for shift, block in self._blocks:
            drawn ^= block.draw(stream, count).astype(np.int64) << shift
        return drawn


def _block(scale: Fraction, size: int) -> Inversion:
    """Return a block of low digits: a geometric variable of this scale, given that it is below `size`."""

    rate = -1 / scale

    def cumulative(i: int) -> arb:
        step = ball(rate)
        return (step * (i + 1)).expm1() / (step * size).expm1()

    return Inversion(cumulative, stored=size, outcomes=size, label=lambda i: i)


def _signed_top(scale: Fraction, unit: int) -> Inversion:
    """Return the leading digits b of |z| or |z| - 1, b geometric of scale / unit, with the sign: b, or -1 - b."""

    rate, flip = -unit / scale, -1 / scale

    def cumulative(i: int) -> arb:
        b, negative = divmod(i, 2)
        step = ball(rate)
        if negative:
            return -(step * (b + 1)).expm1()
        at_least_b = (step * b).exp()  # of it, exp(step) goes on to b + 1; of the rest, 1 / (1 + q) is positive
        return 1 - at_least_b + at_least_b * -step.expm1() / (1 + ball(flip).exp())

    stored = 2 * (int(_TAIL * scale / unit) + 1)
    return Inversion(cumulative, stored=stored, outcomes=None, label=lambda i: i >> 1 if i % 2 == 0 else ~(i >> 1))


@lru_cache(maxsize=32)
def discrete_laplace(scale: Fraction) -> DiscreteLaplace:
    """Return the sampler of this scale; its tables are kept, because building them takes a millisecond."""
    return DiscreteLaplace(scale)


def geometric(stream: Stream, scale: Fraction, count: int) -> Integers:
    """Return independent draws of G >= 0 with P(G = g) proportional to exp(-g / scale).

    Guarantee: the law is exact; it is the magnitude of the discrete Laplace draw, which is independent of its sign.
    """
    drawn = discrete_laplace(scale).draw(stream, count)
    return np.where(drawn < 0, ~drawn, drawn)


def in_chunks(draw: Callable[[int], Integers], count: int) -> Integers:
    """Return `count` values drawn a chunk at a time."""
    if count <= CHUNK:
        return draw(count)
    drawn = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK):
        part = draw(min(CHUNK, count - start))
        if part.dtype == object and drawn.dtype != object:
            drawn = drawn.astype(object)
        drawn[start : start + part.size] = part
    return drawn
