"""How much noise a smooth bound needs: the least scale that a certificate over every stretch of the noise allows.

Write the noise as S Z / m for a smooth bound S and a standard law Z. Measured in the noise of one table, that of a
neighbour is moved by at most m min(1, r) and stretched by r, for an r in [exp(-beta), exp(beta)]. The price

    leak(t, r, e) = sup over events A of P(Z in A) - exp(e) P(t + r Z in A)

never falls when t grows: what the two densities have in common is made of overlaps of intervals around 0 and t, as both
fall from their centres. And for r <= r' the density of t + r' Z is nowhere below r / r' times that of t + r Z, so

    leak(t, r', e) <= leak(t, r, e - ln(r' / r)).

So one evaluation at (m min(1, r'), r, e - ln(r' / r)) bounds a whole cell [r, r'], and cells are halved until each is
certainly below delta. Exchanging the two tables takes (t, r) to (t / r, 1 / r), which is in the same interval: both
orders are covered. For a pure law the price is the greatest log ratio, and both facts hold for it in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.dp.rational import float_up
from discreet.dp.reals import ball, lower, precision, upper
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, PolynomialLaw, SmoothLaw
from discreet.errors import InvalidParameter

_BITS = 128  # of every price; one that is not decided with them (and those of delta) counts as too high
_FINEST = Fraction(1, 2**30)  # of the stretches: cells are not halved below it
_MOST_CELLS = 20_000
_DIGITS = 48  # the significant bits of shifts and betas
_GIVEN_UP = (Fraction(1, 2**20), Fraction(1, 2**16), Fraction(1, 2**12), Fraction(1, 2**8), Fraction(1, 16))
_MOST_EPSILON = 50
_WIDEST = 16.0  # betas are looked for from 2^-16 epsilon up to epsilon
_NEAR = 0.02  # and to within one part in 50, of which the noise is all but independent


@dataclass(frozen=True, slots=True)
class Price:
    """What is asked of the noise: at most `delta` at `epsilon`, or a log ratio of at most epsilon if delta is 0."""

    law: SmoothLaw
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.law.is_pure != (self.delta == 0):
            raise InvalidParameter(
                "polynomial noise is pure and takes no delta=; Laplace and Gaussian noise are not and need one."
            )

        if self.epsilon > _MOST_EPSILON:
            raise InvalidParameter(f"epsilon is at most {_MOST_EPSILON} here; beyond it there is no noise to speak of.")

    def allows(self, shift: Fraction, low: Fraction, high: Fraction) -> bool:
        """Return whether moves up to this shift and stretches in [low, high] are certainly within the price."""
        with precision(_BITS + self.delta.denominator.bit_length()):  # a tail of delta is what is left of terms near 1
            leak = self.law.leak(shift * min(Fraction(1), high), low, self.epsilon, ball(high / low).log())
            return bool(leak <= ball(self.epsilon if self.law.is_pure else self.delta))


def is_certain(price: Price, *, shift: Fraction, beta: Fraction) -> bool:
    """Return whether noise S Z / shift keeps the price for every beta-smooth S: never True where it does not.

    Guarantee: where it is True, the exact two-parameter price is within the limit at every stretch in
      [exp(-beta), exp(beta)], at every move up to `shift` times the smaller bound, and in both orders.
    Source: Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis", 2007, Lemma 2.6
      (moves and stretches); the certificate over cells is in the docstring of this module.

    >>> from discreet.dp.smooth_laws import PolynomialLaw
    >>> price = Price(PolynomialLaw(4), Fraction(1), Fraction(0))
    >>> is_certain(price, shift=Fraction(1, 10), beta=Fraction(1, 10))  # the classical constants
    True
    """
    low, high = _ends(beta)
    cells, finest = [(low, Fraction(1)), (Fraction(1), high)], 1 + (high - low) / high * _FINEST
    for _ in range(_MOST_CELLS):
        if not cells:
            return True
        low, high = cells.pop()
        if price.allows(shift, low, high):
            continue
        if high < finest * low:
            return False
        middle = Fraction(math.sqrt(low * high))
        cells += [(low, middle), (middle, high)]
    return False


def _ends(beta: Fraction) -> tuple[Fraction, Fraction]:
    """Return short rationals just outside exp(-beta) and exp(beta)."""
    low, high = lower(lambda: ball(-beta).exp()), upper(lambda: ball(beta).exp())
    return _short(low), -_short(-high)


def _short(value: Fraction) -> Fraction:
    """Return a rational of about 48 bits that is at most `value`."""
    shift = _DIGITS - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(value * Fraction(2) ** shift // 1) / Fraction(2) ** shift


def guessed_shift(price: Price, beta: Fraction, bits: int) -> Fraction:
    """Return the greatest shift, to so many bits, that three stretches allow; 0 where none does.

    In every case looked at one of the three is the worst: an end, or no stretch at all (so for 1 / (1 + z^2) and a
    small beta). That is a guess, which `is_certain` then proves.
    """
    low_end, high_end = _ends(beta)

    def holds(shift: Fraction) -> bool:
        return all(price.allows(shift, ratio, ratio) for ratio in (low_end, Fraction(1), high_end))

    high = Fraction(2) ** (price.epsilon.numerator // price.epsilon.denominator).bit_length()
    while holds(high):
        high *= 2
    low = high / 2
    while not holds(low):
        low, high = low / 2, low
        if low < Fraction(1, 2**40):
            return Fraction(0)
    for _ in range(bits):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@lru_cache(maxsize=64)
def greatest_shift(price: Price, beta: Fraction) -> Fraction:
    """Return the greatest shift m, nearly, for which noise S Z / m certainly keeps the price for beta-smooth S."""
    found = guessed_shift(price, beta, 24)
    for given_up in _GIVEN_UP if found else ():
        shift = _short(found * (1 - given_up))
        if is_certain(price, shift=shift, beta=beta):
            return shift
    raise InvalidParameter(
        f"beta={float_up(beta):.4g} is too large for this epsilon and delta: no scale of the noise would do. Leave "
        "beta= out to have it chosen, and use that beta for the smooth bound."
    )


@lru_cache(maxsize=64)
def best_beta(price: Price) -> Fraction:
    """Return the beta at which the noise of a median of evenly spread data is least.

    Its local sensitivity at distance k is k + 1 gaps, so its smooth bound is max (k + 1) exp(-beta k) gaps: a smaller
    beta raises it, a greater one the scale of the noise. Other data would have another best beta. It depends on public
    parameters only.
    """

    def worth(exponent: float) -> float:
        beta = price.epsilon * Fraction(2.0**exponent)
        return float(guessed_shift(price, beta, 10)) / _gaps(float(beta))

    low, high = -_WIDEST, 0.0
    while high - low > _NEAR:
        one, two = low + (high - low) / 3, high - (high - low) / 3
        if worth(one) <= worth(two):  # no shift at all, on both sides, means that beta is too large
            low, high = (low, two) if worth(two) == 0 else (one, high)
        else:
            high = two
    beta = Fraction(f"{float(price.epsilon) * 2.0 ** ((low + high) / 2):.3g}")
    if guessed_shift(price, beta, 1) == 0:
        raise InvalidParameter("epsilon and delta are too extreme for any noise to be certain; use milder ones.")
    return beta


def _gaps(beta: float) -> float:
    """Return max over k >= 0 of (k + 1) exp(-beta k): its real maximum is at k + 1 = 1 / beta."""
    near = int(1 / beta)
    return max((k + 1) * math.exp(-beta * k) for k in range(max(0, near - 2), near + 1))


def classical_constants(law: SmoothLaw, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return beta and the scale of the noise per unit of the smooth bound, as the theorems state them.

    | law                 | beta                             | scale                          |
    |---------------------|----------------------------------|--------------------------------|
    | 1 / (1 + |z|^g)     | epsilon / (2 (g + 1))            | 2 (g + 1) / epsilon            |
    | Laplace             | epsilon / (2 ln(2 / delta))      | 2 / epsilon                    |
    | Gaussian            | epsilon / (4 (1 + ln(2 / delta)))| 5 sqrt(2 ln(2 / delta)) / epsilon |

    Beta is rounded down and the scale up.
    """
    match law:
        case PolynomialLaw(exponent=g):
            return epsilon / (2 * (g + 1)), 2 * (g + 1) / epsilon
        case LaplaceLaw():
            return _short(lower(lambda: ball(epsilon) / (2 * ball(2 / delta).log()))), 2 / epsilon
        case GaussianLaw():
            return (
                _short(lower(lambda: ball(epsilon) / (4 * (1 + ball(2 / delta).log())))),
                -_short(-upper(lambda: 5 * (2 * ball(2 / delta).log()).sqrt() / ball(epsilon))),
            )
        case _:
            raise InvalidParameter("the classical theorems are for polynomial, Laplace and Gaussian noise.")
