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
    """Return the greatest mu, to 15 digits and from below, whose exact curve has at most this delta at epsilon."""

    def allowed(mu: float) -> bool:
        return GaussianLoss(Fraction(mu) ** 2).delta_bound(epsilon) <= delta

    low, high = 0.0, 1.0
    while allowed(high):
        low, high = high, 2 * high
        if high > 1e6:
            raise InvalidParameter("epsilon is too large for any noise to matter; ask for less.")
    while high - low > 1e-15 * high and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if allowed(middle) else (low, middle)
        if high < 1e-15:
            raise InvalidParameter("epsilon and delta are too small for any noise that can be drawn; ask for more.")
    return Fraction(low)
