"""The exact curve of normal noise, and its inverse.

Two normal laws of standard deviation s whose means lie D apart are as hard to tell apart as two unit normals mu = D / s
apart, and composing such releases adds up mu^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.loss import Bound, Loss
from discreet.dp.rational import positive_integer
from discreet.dp.reals import ball, upper
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """Mu-Gaussian DP, kept as mu^2 because that is what adds up."""

    mu_squared: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu)."""
        if self.mu_squared == 0:
            return _ZERO
        beyond = epsilon - self.mu_squared / 2  # delta is at most Phi(-beyond / mu)
        if beyond > 0 and beyond**2 > (1 << 24) * self.mu_squared:  # below exp(-2^23): not worth the digits
            return Fraction(1, 2**4096)

        def curve() -> arb:
            mu, root = ball(self.mu_squared).sqrt(), ball(2).sqrt()
            tail = ((ball(epsilon) / mu - mu / 2) / root).erfc()
            return (tail - ball(epsilon).exp() * ((ball(epsilon) / mu + mu / 2) / root).erfc()) / 2

        return upper(curve)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the least float whose certified delta is low enough, by bisection."""
        if self.mu_squared == 0:
            return _ZERO
        if delta == 0:
            return math.inf
        low, high = 0.0, 1.0
        while self.delta_bound(Fraction(high)) > delta:
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        if self.delta_bound(_ZERO) <= delta:
            return _ZERO
        while low < (middle := (low + high) / 2) < high and high - low > 1e-15 * high:
            low, high = (low, middle) if self.delta_bound(Fraction(middle)) <= delta else (middle, high)
        return Fraction(high)

    def renyi(self, order: Fraction) -> Bound:
        """Return a mu^2 / 2."""
        return order * self.mu_squared / 2

    def rho_bound(self) -> Bound:
        """Return mu^2 / 2."""
        return self.mu_squared / 2

    def group(self, k: int) -> Loss:
        """Return k mu."""
        return GaussianLoss(positive_integer(k, "k") ** 2 * self.mu_squared)


def greatest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the greatest mu, to 9 digits and from below, whose exact curve has at most this delta at epsilon."""

    def allowed(mu: float) -> bool:
        return GaussianLoss(Fraction(mu) ** 2).delta_bound(epsilon) <= delta

    low, high = _guessed_mu(epsilon, delta)
    while not (low == 0 or allowed(low)):  # the guess was no good: widen it until it is certain
        low, high = (low / 2, low) if low > 1e-15 else (0.0, low)
    while allowed(high):
        low, high = high, 2 * high
        if high > 1e6:
            raise InvalidParameter("epsilon is too large for any noise to matter; ask for less.")
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
        if high < 1e-15:
            raise InvalidParameter("epsilon and delta are too small for any noise that can be drawn; ask for more.")
    return Fraction(low)


def _guessed_mu(epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """Return floats around where the exact curve probably crosses, by bisection without certainty."""
    try:
        e, log_delta = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)
    except OverflowError:
        return 0.0, 1.0
    low, high = 0.0, 1.0
    while high < 64 and _log_delta(e, high) <= log_delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high and high > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(e, middle) <= log_delta else (low, middle)
    return low * (1 - 4e-10), high * (1 + 4e-10)


def _log_delta(epsilon: float, mu: float) -> float:
    first = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    second = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    if first == 0 or second == 0:
        return -math.inf
    share = -math.expm1(min(0.0, epsilon + math.log(second) - math.log(first)))
    return math.log(first) + math.log(share) if share > 0 else -math.inf
