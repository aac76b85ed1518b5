"""What one release costs: its privacy curve, in exact rationals, rounded against us wherever it is not exact.

Five currencies, and their sums. Each is an upper bound on how well the outputs on two neighbouring tables can be told
apart, as a curve delta(epsilon) and, where one exists, as a Renyi curve:

| loss                 | is                               | Renyi curve R(a)          |
|----------------------|----------------------------------|---------------------------|
| `pure(epsilon=)`     | that of randomised response      | that of randomised response |
| `approximate(...)`   | the same, and all lost with delta | infinite                 |
| `zcdp(rho=)`         | the best order's                 | a rho                     |
| `rdp(orders=, ...)`  | the best order's                 | convex between its points |
| `gaussian(mu=)`      | exact: two unit normals mu apart | a mu^2 / 2                |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.privacy_curve import Bound, Loss
from discreet.dp.rational import positive_integer
from discreet.dp.reals import ball, upper
from discreet.dp.renyi import delta_of_renyi, epsilon_of_renyi

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Approximate", "Bound", "BoundedRange", "Loss", "NonPrivate", "Pure", "Rdp", "Zcdp"]

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """Epsilon-DP. Its curve is randomised response's, which bounds that of every epsilon-DP release and is attained."""

    pure_epsilon: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return (e^E - e^epsilon) / (1 + e^E), at least 0."""
        if epsilon >= self.pure_epsilon:
            return _ZERO

        def curve() -> arb:
            whole = ball(self.pure_epsilon).exp()
            return (whole - ball(epsilon).exp()) / (1 + whole)

        return upper(curve)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return ln(e^E - delta (1 + e^E)), at least 0 and at most E."""
        whole = self.pure_epsilon
        if delta == 0 or whole == 0:
            return whole
        kept = upper(lambda: 1 - ball(delta) * (1 + ball(-whole).exp()))
        return _ZERO if kept <= 0 else max(_ZERO, min(whole, whole + upper(lambda: ball(kept).log())))

    def renyi(self, order: Fraction) -> Bound:
        """Return ln[(e^(aE) + e^((1-a)E)) / (1 + e^E)] / (a - 1): at most a E^2 / 2, and at most E."""
        whole, cap = self.pure_epsilon, min(order * self.pure_epsilon**2 / 2, self.pure_epsilon)
        if whole == 0 or whole * order > 1 << 16:
            return cap

        def curve() -> arb:
            power = (ball(order * whole)).exp() + ball((1 - order) * whole).exp()
            return (power / (1 + ball(whole).exp())).log() / ball(order - 1)

        return min(cap, upper(curve))

    def rho_bound(self) -> Bound:
        """Return E^2 / 2."""
        return self.pure_epsilon**2 / 2

    def group(self, k: int) -> Loss:
        """Return k epsilon."""
        return Pure(positive_integer(k, "k") * self.pure_epsilon)


@dataclass(frozen=True, slots=True)
class BoundedRange(Loss):
    """A choice whose log probability ratio ranges over an interval of length E: epsilon-DP, and E^2 / 8 - zCDP."""

    range_epsilon: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the lesser of the pure curve's and the best order's delta."""
        pure = Pure(self.range_epsilon).delta_bound(epsilon)
        return min(pure, delta_of_renyi(self.renyi, epsilon)) if pure else pure

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the lesser of the pure curve's and the best order's epsilon."""
        return min(Pure(self.range_epsilon).epsilon_bound(delta), epsilon_of_renyi(self.renyi, delta))

    def renyi(self, order: Fraction) -> Bound:
        """Return a E^2 / 8, or the pure curve's where that is less."""
        return min(order * self.range_epsilon**2 / 8, Pure(self.range_epsilon).renyi(order))

    def rho_bound(self) -> Bound:
        """Return E^2 / 8."""
        return self.range_epsilon**2 / 8

    def group(self, k: int) -> Loss:
        """Return k times the range."""
        return BoundedRange(positive_integer(k, "k") * self.range_epsilon)


@dataclass(frozen=True, slots=True)
class Approximate(Loss):
    """(Epsilon, delta)-DP: with probability delta everything is lost, otherwise randomised response."""

    base_epsilon: Fraction
    base_delta: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return delta + (1 - delta) times the pure curve."""
        return self.base_delta + (1 - self.base_delta) * Fraction(Pure(self.base_epsilon).delta_bound(epsilon))

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the pure curve's epsilon at (delta' - delta) / (1 - delta); infinite below delta."""
        if delta < self.base_delta:
            return math.inf
        return Pure(self.base_epsilon).epsilon_bound((delta - self.base_delta) / (1 - self.base_delta))

    def renyi(self, order: Fraction) -> Bound:
        """Return infinity: nothing bounds the likelihood ratio inside the delta."""
        return math.inf

    def group(self, k: int) -> Loss:
        """Return (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1))."""
        count, e = positive_integer(k, "k"), self.base_epsilon
        delta = count * self.base_delta if e == 0 else _ZERO
        if e > 0:
            delta = upper(lambda: ball(self.base_delta) * ball(count * e).expm1() / ball(e).expm1())
        return NonPrivate() if delta >= 1 else Approximate(count * e, delta)


@dataclass(frozen=True, slots=True)
class Zcdp(Loss):
    """Rho-zCDP: Renyi divergence at most a rho at every order."""

    rho: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the best order's delta."""
        return delta_of_renyi(self.renyi, epsilon)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the best order's epsilon."""
        return epsilon_of_renyi(self.renyi, delta)

    def renyi(self, order: Fraction) -> Bound:
        """Return a rho."""
        return order * self.rho

    def rho_bound(self) -> Bound:
        """Return rho."""
        return self.rho

    def group(self, k: int) -> Loss:
        """Return k^2 rho."""
        return Zcdp(positive_integer(k, "k") ** 2 * self.rho)


@dataclass(frozen=True, slots=True)
class Rdp(Loss):
    """A Renyi curve known at some orders; convexity of (a - 1) R(a) bounds it between them, nothing does above."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the best order's delta."""
        return delta_of_renyi(self.renyi, epsilon)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the best order's epsilon."""
        return epsilon_of_renyi(self.renyi, delta)

    def renyi(self, order: Fraction) -> Bound:
        """Return the convex interpolation; the first value below the first order (R increases); infinity above."""
        before = (Fraction(1), _ZERO)  # (a - 1) R(a) is 0 at a = 1
        for a, value in self.points:
            if order == a:
                return value
            if order < a:
                share = (order - before[0]) / (a - before[0])
                line = (1 - share) * (before[0] - 1) * before[1] + share * (a - 1) * value
                return min(value, line / (order - 1))
            before = (a, value)
        return math.inf

    def group(self, k: int) -> Loss:
        """Return 3^j R at a / 2^j for a >= 2^(j+1), with 2^j the power of two at or above k; no k^2 rule exists."""
        j = (positive_integer(k, "k") - 1).bit_length()
        points = tuple((a / 2**j, 3**j * value) for a, value in self.points if a >= 2 ** (j + 1))
        return Rdp(points) if points and j else (self if j == 0 else NonPrivate())


@dataclass(frozen=True, slots=True)
class NonPrivate(Loss):
    """An event that protects nobody."""

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return 1."""
        return Fraction(1)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return infinity."""
        return math.inf

    def renyi(self, order: Fraction) -> Bound:
        """Return infinity."""
        return math.inf

    def group(self, k: int) -> Loss:
        """Return itself."""
        return self
