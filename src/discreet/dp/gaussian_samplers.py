"""Exact samplers of the two Gaussian laws on the integers.

* `rounded`: P(Z = z) = Phi((z + 1/2) / s) - Phi((z - 1/2) / s), a normal variable rounded to the nearest integer.
  On integers f it is post-processing of f + N(0, s^2), so every exact Gaussian curve holds to the letter.
* `discrete`: P(Z = z) proportional to exp(-z^2 / (2 s^2)). It obeys zCDP and RDP with rho = D^2 / (2 s^2), and NOT the
  exact Gaussian curve.

Small scales are inverted directly. Large ones draw a cell of width w, a power of two, from the envelope that is
constant on cells, a uniform place in the cell, and accept it with probability exp(-x): both laws are the same
rejection, with and without the fraction of the place.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.dp.inversion import Integers, Inversion
from discreet.dp.randomness import Stream, Words
from discreet.dp.rational import float_up
from discreet.dp.reals import ball, precision
from discreet.dp.samplers import Sampler, in_chunks
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

Law = Literal["rounded", "discrete"]

LEAST_SIGMA: dict[Law, Fraction] = {"rounded": Fraction(1, 18), "discrete": Fraction(1, 9)}
"""Below 1/19 and 1/10 noise is 0 but for less than 2^-64: a mechanism that publishes its input."""
GREATEST_SIGMA = Fraction(2**52)

_DIRECT = 64  # scales up to this are inverted directly
_TAIL = 8  # outcomes are stored up to 8 sigma, beyond which lies less than 2^-49
_MOST_TERMS = 1 << 22  # of a sum: some seconds
_FRACTION_BITS = 32  # of the place inside a unit, before more are drawn
_FAR = 2**14  # cells from here on are left to ball arithmetic
# Above every error of the float evaluation of exp(-x): arithmetic 2^-45, and the digits of the place that are not drawn
# yet: less than 2^-33 of a cell b < 2^14, and sigma is above 2^5, so x = place (2b + place) / 2 sigma^2 moves by 2^-29.
_SLACK = 2.0**-28


class Sums:
    """Certified sums T(n) of exp(-b^2 / (2 s^2)) over 0 <= b <= n, and T(infinity), at the precision in force."""

    def __init__(self, sigma: Fraction) -> None:
        self._sigma = sigma
        self._kept: dict[int, tuple[list[arb], list[arb], arb]] = {}

    def upto(self, n: int) -> tuple[list[arb], list[arb], arb]:
        """Return the terms, the partial sums, both at least up to n, and the whole sum."""
        from flint import arb, ctx

        kept = self._kept.get(ctx.prec)
        if kept is None or len(kept[0]) <= n + 1:
            base = (ball(-1 / (2 * self._sigma**2))).exp()
            last = max(n + 2, int(self._sigma * math.isqrt(2 * ctx.prec)) + 2)
            if last > _MOST_TERMS:
                raise InvalidParameter("a discrete Gaussian this wide cannot be summed exactly; use dp.Gaussian.")
            terms, sums, ratio = [arb(1)], [arb(1)], base
            for _ in range(last):
                terms.append(terms[-1] * ratio)
                sums.append(sums[-1] + terms[-1])
                ratio = ratio * base * base
            rest = terms[-1] * ratio / (1 - ratio)  # a geometric series bounds what follows
            whole = sums[-1] + arb(0).union(rest.upper())
            kept = self._kept[ctx.prec] = (terms, sums, whole)
        return kept


def _zigzag(i: int) -> int:
    """Return the i-th of 0, 1, -1, 2, -2, ..."""
    return (i + 1) // 2 if i % 2 else -(i // 2)


def _rounded_inversion(sigma: Fraction) -> Inversion:
    def within(k: int) -> arb:  # P(|Z| <= k)
        return (ball((2 * k + 1) / sigma) / (2 * ball(2).sqrt())).erf()

    def cumulative(i: int) -> arb:
        k = (i + 1) // 2
        return within(k) if i % 2 == 0 else (within(k - 1) + within(k)) / 2

    return Inversion(cumulative, stored=2 * int(_TAIL * sigma + 2), outcomes=None, label=_zigzag)


def _discrete_inversion(sigma: Fraction) -> Inversion:
    weights = Sums(sigma)

    def cumulative(i: int) -> arb:
        k = (i + 1) // 2
        terms, sums, whole = weights.upto(k)
        weight = 2 * sums[k] - 1 - (terms[k] if i % 2 else 0)
        return weight / (2 * whole - 1)

    return Inversion(cumulative, stored=2 * int(_TAIL * sigma + 2), outcomes=None, label=_zigzag)


def _cell_inversion(sigma: Fraction) -> Inversion:
    """Return cells b >= 0 with either sign, of weight exp(-b^2 / (2 sigma^2)): labels b, and -1 - b."""
    weights = Sums(sigma)

    def cumulative(i: int) -> arb:
        b, negative = divmod(i, 2)
        terms, sums, whole = weights.upto(b)
        weight = 2 * sums[b] - (0 if negative else terms[b])
        return weight / (2 * whole)

    label = lambda i: i >> 1 if i % 2 == 0 else ~(i >> 1)  # noqa: E731
    return Inversion(cumulative, stored=2 * int(_TAIL * sigma + 2), outcomes=None, label=label)


class _Cells:
    """The rejection sampler of large scales, in units of cells: `sigma` is s / w, in (32, 64], and w = 2^digits."""

    def __init__(self, sigma: Fraction, digits: int, law: Law) -> None:
        self._sigma, self._digits, self._law = sigma, digits, law
        self._table = _cell_inversion(sigma)
        self._sure = _sure_bounds(sigma)

    def draw(self, stream: Stream, count: int) -> Integers:
        """Return a chunk of draws; what is rejected is drawn again."""
        drawn, accepted = self._propose(stream, count)
        left = np.flatnonzero(~accepted)
        while left.size:
            again, accepted = self._propose(stream, left.size)
            drawn = drawn.astype(object) if again.dtype == object else drawn
            drawn[left] = again
            left = left[~accepted]
        return drawn

    def _propose(self, stream: Stream, count: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Return proposals, and which of them are accepted."""
        signed = self._table.draw(stream, count)
        signed = signed if signed.dtype == object else signed.astype(np.int64)
        halves = _low_bits(stream, count, self._digits + 1)  # the place in the cell, in half units
        coins = stream.words(count, 16)
        negative = signed < 0
        cell = np.where(negative, ~signed, signed)
        accepted = coins < self._sure.take(cell if cell.dtype != object else cell.astype(np.intp), mode="clip")
        doubtful = np.flatnonzero(~accepted)
        if doubtful.size:
            accepted[doubtful] = self._decide(stream, cell[doubtful], halves[doubtful], coins[doubtful])
        magnitude = (cell << self._digits) + (halves >> 1 if self._law == "discrete" else (halves + 1) >> 1)
        if self._law == "discrete":
            accepted &= ~(negative & (magnitude == 0))  # 0 has one sign
        coins.fill(0)
        return np.where(negative, -magnitude, magnitude), accepted

    def _decide(self, stream: Stream, cell: Integers, halves: Integers, coins: Words) -> NDArray[np.bool_]:
        """Return which proposals are accepted: their coin, continued, is below exp(-x)."""
        fractions, lower = stream.words(cell.size, _FRACTION_BITS), stream.words(cell.size, 32)
        coin = (coins.astype(np.float64) * 2.0**32 + lower) * 2.0**-48
        known = np.asarray(halves if self._law == "rounded" else halves >> 1 << 1, dtype=np.float64)
        place = known + (fractions * 2.0**-_FRACTION_BITS if self._law == "rounded" else 0.0)
        place *= 2.0 ** -(self._digits + 1)
        exponent = place * (2.0 * np.minimum(cell, _FAR).astype(np.float64) + place) * float(1 / (2 * self._sigma**2))
        chance = _exp_minus(exponent)
        accepted = coin < chance
        unsure = (np.abs(coin - chance) <= _SLACK) | (exponent > 0.5) | (cell >= _FAR)
        for i in np.flatnonzero(unsure):
            coin_bits = int(coins[i]) << 32 | int(lower[i])
            accepted[i] = self._decide_one(stream, int(cell[i]), int(halves[i]), int(fractions[i]), coin_bits)
        fractions.fill(0)
        lower.fill(0)
        return np.asarray(accepted)

    def _decide_one(self, stream: Stream, cell: int, halves: int, fraction: int, coin: int) -> bool:
        """Return whether coin < exp(-x), drawing digits of the coin and of the place until it is certain."""
        coin_bits, fraction_bits = 48, _FRACTION_BITS
        if self._law == "discrete":
            halves, fraction = halves >> 1 << 1, 0
        while True:
            with precision(2 * coin_bits + 128):
                unit = 1 << (self._digits + 1 + fraction_bits)
                low = Fraction((halves << fraction_bits) + fraction, unit)
                high = low if self._law == "discrete" else low + Fraction(1, unit)
                most = (ball(-low * (2 * cell + low) / (2 * self._sigma**2))).exp()
                least = (ball(-high * (2 * cell + high) / (2 * self._sigma**2))).exp()
                if ball(Fraction(coin + 1, 1 << coin_bits)) <= least:
                    return True
                if ball(Fraction(coin, 1 << coin_bits)) >= most:
                    return False
            coin, coin_bits = coin << 64 | stream.integer(64), coin_bits + 64
            if self._law == "rounded":
                fraction, fraction_bits = fraction << 64 | stream.integer(64), fraction_bits + 64


def _sure_bounds(sigma: Fraction) -> NDArray[np.uint16]:
    """Return for each stored cell a 16-bit bound below which a coin accepts anywhere in it; nothing beyond is sure."""
    sure = []
    with precision(96):
        for b in range(int(_TAIL * sigma) + 2):
            least = (ball(-(2 * b + 1) / (2 * sigma**2))).exp() * (1 << 16)
            sure.append(int(least.lower().floor().unique_fmpz() or 0))
    return np.array([*sure, 0], dtype=np.uint16)


def _exp_minus(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(-x) for x in [0, 1/2] within 2^-45, by additions and multiplications only (each correctly rounded)."""
    total = np.ones_like(exponent)
    for k in range(14, 0, -1):
        total = 1.0 - exponent * total / k
    return total


def _low_bits(stream: Stream, count: int, bits: int) -> Integers:
    width = next(w for w in (16, 32, 64) if w >= bits)
    words = stream.words(count, width)
    values = words.astype(np.int64) if width < 64 else (words >> np.uint64(1)).view(np.int64)
    words.fill(0)
    return values & ((1 << bits) - 1)


class GaussianSampler(Sampler):
    """One of the two Gaussian laws on the integers, at one scale.

    Guarantee: the law is exact for every rational sigma in [LEAST_SIGMA[law], GREATEST_SIGMA].
    Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020 (the discrete law, and
      rejection from an envelope on the integers); von Neumann, 1951 (a uniform coin compared digit by digit).
    """

    def __init__(self, sigma: Fraction, law: Law) -> None:
        self.check(sigma, law)
        self.sigma, self.law = sigma, law
        self._cells: _Cells | None = None
        if sigma <= _DIRECT:
            self._direct = _rounded_inversion(sigma) if law == "rounded" else _discrete_inversion(sigma)
        else:
            digits = (math.ceil(sigma / _DIRECT) - 1).bit_length()
            self._cells = _Cells(sigma / 2**digits, digits, law)

    @staticmethod
    def check(sigma: Fraction, law: Law) -> None:
        """Refuse a scale that cannot be drawn, or that would be no noise."""
        if not LEAST_SIGMA[law] <= sigma <= GREATEST_SIGMA:
            raise InvalidParameter(
                f"Gaussian noise of {float_up(sigma):.3g} steps cannot be drawn: sigma lies between {LEAST_SIGMA[law]} "
                f"(below, noise is 0 all but surely) and 2^52 steps; change epsilon, the sensitivity or the step."
            )

    def draw(self, stream: Stream, count: int) -> Integers:
        """Return `count` independent draws."""
        return in_chunks(lambda size: self._chunk(stream, size), count)

    def _chunk(self, stream: Stream, count: int) -> Integers:
        if self._cells is not None:
            return self._cells.draw(stream, count)
        drawn = self._direct.draw(stream, count)
        return drawn if drawn.dtype == object else drawn.astype(np.int64)


@lru_cache(maxsize=32)
def gaussian_sampler(sigma: Fraction, law: Law) -> GaussianSampler:
    """Return the sampler of this scale and law; its tables are kept."""
    return GaussianSampler(sigma, law)
