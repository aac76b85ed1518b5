"""What every loss is: the privacy curve of one release, with its sums, its groups and its constructors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.rational import Number, float_up, non_negative, positive_integer, rational
from discreet.errors import InvalidParameter

Bound = Fraction | float
"""An upper bound in exact arithmetic; the only float among them is infinity."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy curve of one release; `a + b` and `k * a` compose, and `group(k)` protects k units at once.

    Guarantee: for every pair of neighbouring tables, in both orders, and every event S,
      P(S) <= exp(e) P'(S) + loss.delta(epsilon=e) for all e >= 0. Sums hold for releases whose parameters were
      fixed in advance; where they are chosen along the way, only a `PrivacyFilter` proves anything.
    Source: Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", 2015 (pure, approximate);
      Bun, Steinke, 2016 (zCDP); Mironov, 2017 (RDP); Dong, Roth, Su, 2022 (Gaussian);
      Canonne, Kamath, Steinke, 2020, Proposition 12 (from Renyi curves to delta).

    >>> (10 * Loss.pure(epsilon=0.1)).epsilon(delta=0)
    1.0
    >>> round(Loss.gaussian(mu=0.181975).epsilon(delta=1e-9), 4)
    1.0
    """

    @staticmethod
    def pure(*, epsilon: Number) -> Loss:
        """Return the loss of an epsilon-DP release."""
        from discreet.dp.loss import Pure

        return Pure(non_negative(epsilon, "epsilon"))

    @staticmethod
    def approximate(*, epsilon: Number, delta: Number) -> Loss:
        """Return the loss of an (epsilon, delta)-DP release."""
        from discreet.dp.loss import Approximate, Pure

        share = non_negative(delta, "delta")
        if share >= 1:
            raise InvalidParameter(f"delta is below 1; got {delta!r}.")
        whole = non_negative(epsilon, "epsilon")
        return Approximate(whole, share) if share else Pure(whole)

    @staticmethod
    def zcdp(*, rho: Number) -> Loss:
        """Return the loss of a rho-zCDP release."""
        from discreet.dp.loss import Zcdp

        return Zcdp(non_negative(rho, "rho"))

    @staticmethod
    def gaussian(*, mu: Number) -> Loss:
        """Return the loss of a release as hard to see through as a unit normal shifted by mu."""
        from discreet.dp.gaussian_curve import GaussianLoss

        return GaussianLoss(non_negative(mu, "mu") ** 2)

    @staticmethod
    def rdp(*, orders: Sequence[Number], values: Sequence[Number]) -> Loss:
        """Return the loss of a release with Renyi divergence at most `values[i]` at `orders[i]`."""
        from discreet.dp.loss import Rdp

        if len(orders) != len(values):
            raise InvalidParameter(f"an RDP curve has one value for each order; got {len(orders)} and {len(values)}.")
        points = sorted((rational(a, "orders"), non_negative(v, "values")) for a, v in zip(orders, values, strict=True))
        if not points or points[0][0] <= 1:
            raise InvalidParameter("an RDP curve needs at least one order, and every order is above 1.")
        if len({order for order, _ in points}) < len(points):
            raise InvalidParameter("every order of an RDP curve is given once.")
        return Rdp(tuple(points))

    @staticmethod
    def nonprivate() -> Loss:
        """Return the loss of an event that protects nobody; no budget admits it."""
        from discreet.dp.loss import NonPrivate

        return NonPrivate()

    def __post_init__(self) -> None:
        if type(self) is Loss:
            raise InvalidParameter(
                "a loss has a currency: write dp.Loss.pure(epsilon=), or one of approximate, zcdp, rdp, gaussian and "
                "nonprivate."
            )
        fields: tuple[str, ...] = self.__slots__
        parts = [getattr(self, name) for name in fields]
        if not all(isinstance(part, tuple) or (isinstance(part, Fraction) and part >= 0) for part in parts):
            raise InvalidParameter("a loss is at least 0, in exact rationals.")

    def epsilon(self, *, delta: Number) -> float:
        """Return the least epsilon at this delta, rounded up; infinite where the curve never falls that low."""
        share = non_negative(delta, "delta")
        return _as_float(self.epsilon_bound(share)) if share < 1 else 0.0

    def delta(self, *, epsilon: Number) -> float:
        """Return delta at this epsilon, rounded up."""
        return _as_float(min(self.delta_bound(non_negative(epsilon, "epsilon")), Fraction(1)))

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return a rational at least the epsilon of this delta."""
        raise AssertionError("every loss defines its curve")

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return a rational at least the delta of this epsilon."""
        raise AssertionError("every loss defines its curve")

    def renyi(self, order: Fraction) -> Bound:
        """Return a rational at least the Renyi divergence of this order."""
        raise AssertionError("every loss defines its curve")

    def rho_bound(self) -> Bound:
        """Return a rational at least the rho of zCDP; infinite where there is none."""
        return math.inf

    @property
    def instead(self) -> str:
        """What to use where a budget cannot admit this loss at any price."""
        return ""

    def group(self, k: int) -> Loss:
        """Return the loss towards k units taken together."""
        raise AssertionError("every loss defines its group privacy")

    def __add__(self, other: Loss) -> Loss:
        from discreet.dp.loss_sum import summed

        return summed([(1, self), (1, other)]) if isinstance(other, Loss) else NotImplemented

    def __mul__(self, count: int) -> Loss:
        from discreet.dp.loss_sum import summed

        return summed([(positive_integer(count, "count"), self)])

    __rmul__ = __mul__


def _as_float(value: Bound) -> float:
    return float_up(value) if isinstance(value, Fraction) else value
