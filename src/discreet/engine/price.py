"""From what an analyst offers, a price or an error, to the mechanism that it buys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import dp
from discreet.dp.rational import Number, float_down, float_up, positive
from discreet.dp.samplers import GREATEST_SCALE, LEAST_SCALE
from discreet.errors import InvalidParameter, NotSupported

FAILURE = Fraction(1, 20)  # every error is stated at 95 %, for each number by itself
LEAST_PRICE = 1 / GREATEST_SCALE


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a question offers: exactly one of these."""

    epsilon: Number | None
    within: Number | None
    rho: Number | None
    loss: dp.Loss | None

    def choose(self, query: dp.Sensitivity, budget: dp.Budget) -> dp.Laplace:
        """Return the mechanism for a query of this sensitivity; it knows its own loss and accuracy."""
        if self.rho is not None or self.loss is not None:
            raise NotSupported("rho= and loss= are not offered here; write epsilon=, or within= for an error.")
        if self.epsilon is not None and self.within is None:
            return _at(self.epsilon, query, budget)
        if self.within is not None and self.epsilon is None:
            return _within(self.within, query)
        raise InvalidParameter(
            "a question states its price, epsilon=0.1, or the error it may have, within=50; give exactly one."
        )


def _within(error: Number, query: dp.Sensitivity) -> dp.Laplace:
    alpha = positive(error, "within")
    if not 1 <= alpha <= GREATEST_SCALE:
        raise InvalidParameter(
            f"within= is at least 1, because noise is whole numbers, and at most 2^52; got {error!r:.40}."
        )
    return dp.Laplace.for_accuracy(alpha=alpha, failure_probability=FAILURE, sensitivity=query)


def _at(offered: Number, query: dp.Sensitivity, budget: dp.Budget) -> dp.Laplace:
    price = positive(offered, "epsilon")
    if not LEAST_PRICE <= price <= 1 / LEAST_SCALE:
        raise InvalidParameter(
            f"a price lies between {float_up(LEAST_PRICE):.1g}, below which an answer is all noise, and "
            f"{float_down(1 / LEAST_SCALE):g}, above which it has none; got epsilon={offered!r:.40}."
        )
    epsilon = budget.price(epsilon=price).epsilon_bound(Fraction(0))  # a pure budget sells pure losses
    if not isinstance(epsilon, Fraction):
        raise NotSupported("this budget sells no pure epsilon; a session has a budget in epsilon alone here.")
    return dp.Laplace(sensitivity=query, epsilon=epsilon)


def error_of(mechanism: dp.Laplace) -> int:
    """Return how far off each number may be at 95 %: a whole number, as the noise is."""
    return int(mechanism.accuracy(failure_probability=FAILURE))


def pure(budget: dp.Budget) -> None:
    """Refuse a budget that the only noise offered here does not fit."""
    if not isinstance(budget, dp.Budget):
        raise InvalidParameter(f"budget is a dc.Budget, for instance dc.Budget(epsilon=1), not {budget!r:.60}.")
    if not budget.is_pure:
        raise NotSupported(
            "a session has a budget in epsilon alone here: write dc.Budget(epsilon=1), without delta or rho."
        )
    if budget.cap.amount < LEAST_PRICE:
        raise InvalidParameter(f"a budget below {float_up(LEAST_PRICE):.1g} buys no question; write a larger one.")
