"""The laws of the noise in closed form, to as many digits as wanted. Nothing of ours is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tests.closed_forms import mp, mpf

DIGITS = 120  # enough for 64-bit words, the 64 bits after them and the 64 after those


def real(value: Fraction | int) -> mpf:
    """A rational at the precision in force."""
    return mpf(Fraction(value).numerator) / Fraction(value).denominator


def laplace_mass(scale: Fraction, k: int) -> mpf:
    """P(Z = k) = tanh(1 / 2t) exp(-abs(k) / t)."""
    return mp.tanh(1 / (2 * real(scale))) * mp.exp(-abs(k) / real(scale))


def laplace_below(scale: Fraction, k: int) -> mpf:
    """P(Z < k)."""
    q = mp.exp(-1 / real(scale))
    return q ** (1 - k) / (1 + q) if k <= 0 else 1 - q**k / (1 + q)


def rounded_mass(sigma: Fraction, k: int) -> mpf:
    """P(Z = k) = Phi((abs(k) + 1/2) / s) - Phi((abs(k) - 1/2) / s)."""
    inner, outer = (mp.ncdf((-abs(k) + d) / real(sigma)) for d in (mpf(1) / 2, -mpf(1) / 2))
    return inner - outer


def rounded_below(sigma: Fraction, k: int) -> mpf:
    """P(Z < k)."""
    return mp.ncdf((k - mpf(1) / 2) / real(sigma))


@lru_cache(maxsize=64)
def _theta(sigma: Fraction, digits: int) -> mpf:
    """The sum of exp(-z^2 / 2 s^2) over all integers; by Poisson's formula where s is large."""
    with mp.workdps(digits + 10):
        s = real(sigma)
        if s > 1:
            return s * mp.sqrt(2 * mp.pi) * mp.jtheta(3, 0, mp.exp(-2 * (mp.pi * s) ** 2))
        return mp.jtheta(3, 0, mp.exp(-1 / (2 * s**2)))


def discrete_mass(sigma: Fraction, k: int) -> mpf:
    """P(Z = k), proportional to exp(-k^2 / 2 s^2)."""
    return mp.exp(-(mpf(k) ** 2) / (2 * real(sigma) ** 2)) / _theta(sigma, mp.dps)


def discrete_below(sigma: Fraction) -> Callable[[int], float]:
    """P(Z < k) as a float: sums over 12 sigma, beyond which lies less than 1e-30."""
    far = int(12 * sigma) + 2
    weights = np.exp(-(np.arange(-far, far + 1, dtype=np.float64) ** 2) / (2 * float(sigma) ** 2))
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    return lambda k: float(sums[min(max(k + far, 0), sums.size - 1)] / sums[-1])


def signed(i: int) -> int:
    """The i-th of 0, -1, 1, -2, 2, ... in the order of the samplers that draw a sign: b >= 0, then -1 - b."""
    return i // 2 if i % 2 == 0 else -1 - i // 2


def zigzag(i: int) -> int:
    """The i-th of 0, 1, -1, 2, -2, ..."""
    return (i + 1) // 2 if i % 2 else -(i // 2)


class Steps:
    """A law on outcomes 0, 1, ...: the label and the probability of each, and which outcome a uniform real hits."""

    def __init__(self, label: Callable[[int], int], mass: Callable[[int], mpf], outcomes: int | None = None) -> None:
        self.label, self._mass, self.outcomes = label, mass, outcomes
        self._sums: list[mpf] = []

    def at_most(self, i: int) -> mpf:
        """P(outcome <= i), to DIGITS digits."""
        with mp.workdps(DIGITS):
            while len(self._sums) <= i:
                self._sums.append((self._sums[-1] if self._sums else 0) + self._mass(len(self._sums)))
            return self._sums[i]

    def digits(self, i: int, bits: int) -> int:
        """The floor of 2^bits P(outcome <= i), which is below 1 even where the digits do not show it."""
        with mp.workdps(DIGITS):
            return min(int(mp.floor(self.at_most(i) * mpf(2) ** bits)), 2**bits - 1)

    def floors(self, count: int) -> list[int]:
        return [self.digits(i, 64) for i in range(count)]

    def hit(self, number: int, bits: int) -> int:
        """The outcome of the uniform real number / 2^bits, by search."""
        with mp.workdps(DIGITS):
            place = mpf(number) / mpf(2) ** bits
            i = 0
            while (self.outcomes is None or i < self.outcomes - 1) and self.at_most(i) <= place:
                i += 1
            return i


def laplace_top(scale: Fraction, unit: int) -> Steps:
    """The label b >= 0 stands for bu <= Z < (b + 1)u, and b < 0 likewise: Z with its low digits cut off."""

    def mass(i: int) -> mpf:
        b, q = i // 2, mp.exp(-1 / real(scale))
        sign = (q if i % 2 else 1) / (1 + q)
        return sign * (q ** (b * unit) - q ** ((b + 1) * unit))

    return Steps(signed, mass)


def geometric_digits(scale: Fraction, size: int) -> Steps:
    """P(v) proportional to exp(-v / t), for v below `size`."""

    def mass(v: int) -> mpf:
        return mp.exp(-v / real(scale)) * mp.expm1(-1 / real(scale)) / mp.expm1(-size / real(scale))

    return Steps(lambda v: v, mass, size)


def rounded_steps(sigma: Fraction) -> Steps:
    return Steps(zigzag, lambda i: rounded_mass(sigma, zigzag(i)))


def discrete_steps(sigma: Fraction) -> Steps:
    return Steps(zigzag, lambda i: discrete_mass(sigma, zigzag(i)))


def cell_steps(sigma: Fraction) -> Steps:
    """Cells b >= 0 of weight exp(-b^2 / 2 s^2), with either sign."""

    def mass(i: int) -> mpf:
        both = (_theta(sigma, mp.dps) + 1) / 2  # the sum over b >= 0
        return mp.exp(-(mpf(i // 2) ** 2) / (2 * real(sigma) ** 2)) / (2 * both)

    return Steps(signed, mass)


def coin_steps(true: Callable[[], mpf], *, labels: tuple[int, int]) -> Steps:
    """Two outcomes; `true()` is the probability of the first."""
    return Steps(lambda i: labels[i], lambda i: true() if i == 0 else 1 - true(), 2)


def around(centre: int, reach: int, pieces: int) -> Iterator[int]:
    """Edges of cells from centre - reach to centre + reach, each different."""
    step = max(1, 2 * reach // pieces)
    yield from range(centre - reach, centre + reach + 1, step)
