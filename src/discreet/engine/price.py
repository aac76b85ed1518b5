"""What an analyst offers for a question, a price or an error, in the currency of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet import dp
from discreet.dp.rational import Number, float_up, positive
from discreet.dp.samplers import GREATEST_SCALE
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

    def __post_init__(self) -> None:
        if sum(offer is not None for offer in (self.epsilon, self.within, self.rho, self.loss)) != 1:
            raise InvalidParameter(
                "a question states its price, epsilon=0.1, or the error it may have, within=50; give exactly one of "
                "epsilon=, within=, rho= and loss=."
            )

    def amount(self, budget: dp.Budget) -> Fraction:
        """Return what may be spent, in the currency of the budget.

        Guarantee: `epsilon=e` is worth at most the share e / E of a budget (E, delta); see `dp.Budget.price`.
        """
        offered = self._offered(budget)
        charge = budget.charge(offered)
        if charge is None or charge.delta:
            raise NotSupported(f"this budget sells no such loss. {budget.instead}")
        if charge.amount <= 0:
            raise InvalidParameter("a loss of 0 buys nothing; offer more.")
        return charge.amount

    def error(self) -> Fraction:
        """Return the error that every number may have."""
        assert self.within is not None
        return positive(self.within, "within")

    def _offered(self, budget: dp.Budget) -> dp.Loss:
        if self.loss is not None:
            if not isinstance(self.loss, dp.Loss):
                raise InvalidParameter("loss= is a dp.Loss, for instance dp.Loss.pure(epsilon=0.1).")
            return self.loss
        if self.rho is not None:
            if budget.is_pure:
                raise NotSupported("a budget in epsilon alone sells no rho; write epsilon=0.1.")
            return dp.Loss.zcdp(rho=positive(self.rho, "rho"))
        assert self.epsilon is not None
        price = positive(self.epsilon, "epsilon")
        if price < LEAST_PRICE:
            raise InvalidParameter(
                f"a price is at least {float_up(LEAST_PRICE):.1g}, below which an answer is all noise; "
                f"got epsilon={self.epsilon!r:.40}."
            )
        return _priced(budget, price)


@lru_cache(maxsize=256)
def _priced(budget: dp.Budget, epsilon: Fraction) -> dp.Loss:
    """Return what an epsilon buys; finding the order of a budget with a delta takes some milliseconds."""
    return budget.price(epsilon=epsilon)


def checked(budget: dp.Budget) -> None:
    """Refuse what is no budget, and one that buys nothing."""
    if not isinstance(budget, dp.Budget):
        raise InvalidParameter(f"budget is a dc.Budget, for instance dc.Budget(epsilon=1), not {budget!r:.60}.")
    if budget.is_pure and budget.cap.amount < LEAST_PRICE:
        raise InvalidParameter(f"a budget below {float_up(LEAST_PRICE):.1g} buys no question; write a larger one.")
