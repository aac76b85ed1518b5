"""What an analyst offers for a question, a price or an error, in the currency of the budget."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet import dp
from discreet.dp.rational import Number, float_up, positive, probability
from discreet.dp.samplers import GREATEST_SCALE
from discreet.errors import InvalidParameter, NotSupported

FAILURE = Fraction(1, 20)  # every error is stated at 95 %, for each number by itself
LEAST_PRICE = 1 / GREATEST_SCALE


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a question offers: a price, or the error that its numbers may have; exactly one of the first five.

    `confidence` and `joint` say how an error is meant: each number is within it with this probability, or all numbers
    of the answer are at once.
    """

    epsilon: Number | None = None
    rho: Number | None = None
    loss: dp.Loss | None = None
    within: Number | Mapping[str, Number] | None = None
    relative: Number | None = None
    confidence: Number = 1 - FAILURE
    joint: bool = False

    def __post_init__(self) -> None:
        offers = (self.epsilon, self.within, self.rho, self.loss, self.relative)
        if sum(offer is not None for offer in offers) != 1:
            raise InvalidParameter(
                "a question states its price, epsilon=0.1, or the error it may have, within=50; give exactly one of "
                "epsilon=, rho=, loss=, within= and relative=."
            )
        if not isinstance(self.joint, bool):
            raise InvalidParameter("joint= is True, for all numbers at once, or False, for each by itself.")
        if not self.states_error and (self.joint or self.failure != FAILURE):
            raise InvalidParameter("confidence= and joint= belong to within= and relative=; leave them out.")

    @property
    def states_error(self) -> bool:
        """Whether it says how large an error may be, and not what may be spent."""
        return self.within is not None or self.relative is not None

    @property
    def key(self) -> Hashable:
        """What tells one stated price from another, and 1 from True."""
        return tuple((type(offer), offer) for offer in (self.epsilon, self.rho, self.loss))

    @property
    def failure(self) -> Fraction:
        """The probability with which a number, or any of them, may be farther off."""
        return 1 - probability(self.confidence, "confidence")

    def amount(self, budget: dp.Budget) -> Fraction:
        """Return what may be spent, in the currency of the budget.

        Guarantee: `epsilon=e` is worth at most the share e / E of a budget (E, delta); see `dp.Budget.price`.
        """
        offered = self.offered(budget)
        charge = budget.charge(offered)
        if charge is None or charge.delta:
            raise NotSupported(f"this budget sells no such loss. {budget.instead}")
        if charge.amount <= 0:
            raise InvalidParameter("a loss of 0 buys nothing; offer more.")
        return charge.amount

    def offered(self, budget: dp.Budget) -> dp.Loss:
        """Return what may be spent as a loss."""
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
