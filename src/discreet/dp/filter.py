"""What an adaptive session may still spend: a running total in the currency of its budget, and no more than its cap."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction

from discreet.dp.budget import Budget, Charge
from discreet.dp.loss import Loss
from discreet.dp.private import Permit
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported


def _percent(share: Fraction, rounding: str) -> str:
    """Return a share in per cent, to six digits, rounded as it is told."""
    context = Context(prec=6, rounding=rounding)
    percent = context.divide(Decimal(100 * share.numerator), Decimal(share.denominator)).normalize(context)
    return f"{percent:f} %" if percent == 0 or percent.adjusted() > -6 else f"{percent:e} %"


class Settlement(Enum):
    """The theorem, if any, that lets a reservation be settled below what was reserved."""

    FULL = "what was reserved is spent"
    ON_HITS = "a threshold test is charged on hits only: exp(charges) times the likelihood ratio is a supermartingale"


@dataclass
class PrivacyFilter:
    """Admits or refuses losses chosen along the way, in exact arithmetic and constant time.

    Guarantee: the sum of all charges admitted never exceeds the cap of the budget, under any number of threads.
    Source: as `Budget`.

    >>> tenths = PrivacyFilter(Budget(epsilon=1))
    >>> [tenths.admit(Loss.pure(epsilon=0.1)) for _ in range(11)].count(True)
    10
    >>> tenths.admit(Loss.pure(epsilon=1e-17))
    False
    """

    budget: Budget
    spent: Charge = field(default_factory=Charge)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _open: dict[int, tuple[Permit, Settlement]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget) or not isinstance(self.spent, Charge):
            raise InvalidParameter(
                "a filter has a budget, dp.PrivacyFilter(dp.Budget(epsilon=1)), and may start from a dp.Charge."
            )

    def admit(self, loss: Loss) -> bool:
        """Spend a loss if all of it fits, and say whether it did."""
        return self._spend(self.budget.charge(loss))

    def reserve(self, loss: Loss, *, settlement: Settlement = Settlement.FULL) -> Permit:
        """Spend a loss and return the permit for it, or refuse and leave everything as it was."""
        charge = self.budget.charge(loss)
        if charge is None:
            raise BudgetExceeded(
                f"this budget admits no release with such a loss, at any price. {loss.instead or self.budget.instead}"
            )
        if not self._spend(charge):
            raise BudgetExceeded(self.refusal(charge))
        permit = Permit._mint(self.budget, charge)
        if settlement is not Settlement.FULL:
            self._open[id(permit)] = (permit, settlement)
        return permit

    def settle(self, permit: Permit) -> None:
        """Give back what an open permit did not take, where a theorem allows it; the permit is closed."""
        held = self._open.pop(id(permit), None)
        if held is None:
            raise NotSupported("this reservation owes its full price; only a threshold test is settled on its hits.")
        back = permit.close()
        with self._lock:
            self.spent = self.spent - back + Charge()  # the sum rounds up, so that the total stays short

    def refusal(self, charge: Charge) -> str:
        """Return the sentence that refuses a charge, in shares of the budget."""
        asked, left = self.budget.share(charge), 1 - self.budget.share(self.spent)
        asked_up, left_down = _percent(asked, ROUND_CEILING), _percent(left, ROUND_FLOOR)
        return f"the question costs {asked_up} of the budget and {left_down} is left."

    def _spend(self, charge: Charge | None) -> bool:
        if charge is None:
            return False
        with self._lock:
            total, cap = self.spent + charge, self.budget.cap
            if total.amount > cap.amount or (charge.delta and total.delta > cap.delta):
                return False
            self.spent = total
            return True
