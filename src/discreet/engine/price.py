"""From what an analyst offers, a price or an error, to the mechanism that it buys."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import dp
from discreet.dp.rational import Number, float_down, float_up, positive
from discreet.dp.samplers import GREATEST_SCALE, LEAST_SCALE
from discreet.errors import InvalidParameter, NotSupported

FAILURE = Fraction(1, 20)  # every error is stated at 95 %, for each number by itself


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
        if (self.epsilon is None) == (self.within is None):
            raise InvalidParameter(
                "a question states its price, epsilon=0.1, or the error it may have, within=50; give exactly one."
            )
        if self.epsilon is not None:
            price = positive(self.epsilon, "epsilon")
            if not 1 / GREATEST_SCALE <= price <= 1 / LEAST_SCALE:
                raise InvalidParameter(
                    f"epsilon={self.epsilon!r:.40} buys nothing: below {float_up(1 / GREATEST_SCALE):.1g} an answer is "
                    f"all noise, and above {float_down(1 / LEAST_SCALE):g} it has none."
                )
            return _laplace(query, budget.price(epsilon=price))
        return dp.Laplace.for_accuracy(alpha=self.within or 0, failure_probability=FAILURE, sensitivity=query)


def _laplace(query: dp.Sensitivity, price: dp.Loss) -> dp.Laplace:
    epsilon = price.epsilon_bound(Fraction(0))  # a pure budget sells pure losses
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
