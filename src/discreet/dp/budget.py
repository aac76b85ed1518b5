"""What everything asked of one table may cost together, in one currency that is fixed when its session opens.

| budget            | currency                        | a question of `epsilon=e` buys             |
|-------------------|---------------------------------|--------------------------------------------|
| epsilon           | epsilon                         | an e-DP answer                             |
| (epsilon, delta)  | Renyi divergence of one order a | rho(e): the zCDP that (e, delta) could hold |
| rho               | rho                             | refused: a zCDP budget has no delta        |

Mechanisms that are (epsilon, delta)-DP without a Renyi value pay their delta into an account of its own, `delta_add`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.dp.loss import Approximate, Loss, Pure, Zcdp
from discreet.dp.loss_sum import LossSum
from discreet.dp.rational import Number, non_negative, positive, probability, quantise_up, written
from discreet.dp.renyi import allowed_renyi, session_order
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from discreet.dp.explain import Explanation

_DENOMINATOR_BITS = 512  # beyond it a running total is rounded up to a multiple of 10^-40


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount in the currency of a budget, and an additive delta."""

    amount: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        exact = isinstance(self.amount, Fraction) and isinstance(self.delta, Fraction)
        if not exact or self.amount.numerator < 0 or self.delta.numerator < 0:
            raise InvalidParameter("a charge is at least 0, in exact rationals.")

    def __add__(self, other: Charge) -> Charge:
        delta = _rounded_up(self.delta + other.delta) if other.delta else self.delta
        return Charge(_rounded_up(self.amount + other.amount), delta)

    def __sub__(self, other: Charge) -> Charge:
        return Charge(self.amount - other.amount, self.delta - other.delta)


def _kept(order: Number, delta: Fraction) -> Fraction:
    kept = positive(order, "order")
    if not delta or kept <= 1:
        raise InvalidParameter("order is above 1, and belongs to a budget with epsilon and delta.")
    return kept


def _rounded_up(total: Fraction) -> Fraction:
    return total if total.denominator.bit_length() <= _DENOMINATOR_BITS else quantise_up(total)


@dataclass(frozen=True)
class Budget:
    """What everything asked of one table may cost together.

    Guarantee: whatever is admitted by a filter on this budget, chosen adaptively, is together (epsilon, delta)-DP,
      or rho-zCDP for `Budget(rho=)`. Of delta, `delta_add` is set aside for mechanisms that have an additive delta.
    Source: Rogers, Roth, Ullman, Vadhan, 2016 (pure); Feldman, Zrnic, 2021, and Lecuyer, 2021 (fixed-order Renyi);
      Whitehouse, Ramdas, Rogers, Wu, 2023 (zCDP).

    >>> budget = Budget(epsilon=1, delta=1e-9)
    >>> budget.order, round(float(budget.cap.amount), 4)
    (Fraction(349, 10), 0.5226)
    """

    epsilon: Fraction | None
    delta: Fraction
    delta_add: Fraction
    rho: Fraction | None
    kept_order: Fraction | None

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        delta_add: Number = 0,
        rho: Number | None = None,
        order: Number | None = None,  # of a budget that was raised: what was spent before is kept in it
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise InvalidParameter("a Budget has exactly one of epsilon= and rho=.")
        share, added = non_negative(delta, "delta"), non_negative(delta_add, "delta_add")
        if share:
            probability(delta, "delta")
        if rho is not None and share:
            raise InvalidParameter("a Budget in rho has no delta; write Budget(epsilon=, delta=) for that promise.")
        if added and not added < share:
            raise InvalidParameter("delta_add is a part of delta: it is below delta.")
        object.__setattr__(self, "epsilon", None if epsilon is None else positive(epsilon, "epsilon"))
        object.__setattr__(self, "rho", None if rho is None else positive(rho, "rho"))
        object.__setattr__(self, "delta", share)
        object.__setattr__(self, "delta_add", added)
        object.__setattr__(self, "kept_order", None if order is None else _kept(order, share))
        if self.cap.amount <= 0:
            raise InvalidParameter(f"epsilon={epsilon} is too small for delta={delta}: no question could be asked.")

    def __repr__(self) -> str:
        fields = [("epsilon", self.epsilon), ("delta", self.delta), ("delta_add", self.delta_add), ("rho", self.rho)]
        fields.append(("order", self.kept_order))
        return f"Budget({', '.join(f'{name}={written(value)}' for name, value in fields if value)})"

    @cached_property
    def is_pure(self) -> bool:
        """Whether the promise has no delta and is stated in epsilon."""
        return self.epsilon is not None and self.delta == 0

    @cached_property
    def _renyi(self) -> tuple[Fraction, Fraction]:
        if self.epsilon is None or self.delta == 0:
            raise NotSupported("only a budget with epsilon and delta has an order.")
        rest = self.delta - self.delta_add
        if self.kept_order is not None:
            return self.kept_order, allowed_renyi(self.epsilon, rest, self.kept_order)
        return session_order(self.epsilon, rest)

    @property
    def order(self) -> Fraction:
        """The Renyi order in which an (epsilon, delta) budget is kept."""
        return self._renyi[0]

    def raised(self, *, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None) -> Budget:
        """Return a larger budget of the same kind, in which what was spent under this one is spent.

        Guarantee: charges of this budget are charges of that one: an (epsilon, delta) budget keeps its Renyi order, at
          which the new cap is taken, and its `delta_add`.

        >>> Budget(epsilon=1, delta=1e-9).raised(epsilon=2, delta=1e-9).order
        Fraction(349, 10)
        """
        order = self.order if self.delta else None
        larger = Budget(epsilon=epsilon, delta=delta, delta_add=self.delta_add, rho=rho, order=order)
        same = (larger.rho is None) == (self.rho is None) and larger.is_pure == self.is_pure
        if not same or larger.cap.amount <= self.cap.amount or larger.delta < self.delta:
            raise InvalidParameter(f"a budget is raised to a larger one of the same kind as {self!r}; got {larger!r}.")
        return larger

    @cached_property
    def cap(self) -> Charge:
        """The whole budget, in its own currency, rounded down."""
        if self.rho is not None:
            return Charge(self.rho)
        if self.epsilon is not None and self.delta == 0:
            return Charge(self.epsilon)
        return Charge(max(self._renyi[1], Fraction(0)), self.delta_add)

    def charge(self, loss: Loss) -> Charge | None:
        """Return what a loss costs in this currency, rounded up; None if this budget can never admit it."""
        if not isinstance(loss, Loss):
            raise InvalidParameter("a budget is charged with a dp.Loss, for instance dp.Loss.pure(epsilon=0.1).")
        core, delta = _without_delta(loss)
        if delta and not self.delta_add:
            return None
        amount: Fraction | float
        if self.rho is not None:
            amount = core.rho_bound()
        elif self.is_pure:
            amount = _pure(core)
        else:
            amount = core.renyi(self.order)
        return Charge(_rounded_up(amount), _rounded_up(delta)) if isinstance(amount, Fraction) else None

    def price(self, *, epsilon: Number) -> Loss:
        """Return the loss that a question of this epsilon may have.

        Guarantee: questions whose epsilons add up to the budget's are always admitted, in any order: the charge of
          `epsilon=e` is at most the share e / E of the cap.
        """
        wanted = positive(epsilon, "epsilon")
        if self.epsilon is None:
            raise InvalidParameter("this budget is stated in rho; ask with rho= or loss=.")
        share = wanted / self.epsilon * self.cap.amount / self.order if self.delta else wanted
        if wanted >= self.epsilon:
            return Zcdp(share) if self.delta else Pure(share)
        if self.delta:
            order, allowed = session_order(wanted, self.delta - self.delta_add)
            share = min(share, allowed / order)
        bought = -quantise_up(-share)  # 40 digits, rounded down: then every sum of prices is exact, in any order
        if bought <= 0:
            raise InvalidParameter("this epsilon is too small to buy anything of this budget; ask for more.")
        return Zcdp(bought) if self.delta else Pure(bought)

    def explain(self, *, delta: Number = Fraction(1, 10**9)) -> Explanation:
        """Return what this budget means for one person, in odds and in plain words; `delta` is for one in rho.

        >>> round(Budget(epsilon=1).explain().belief(0.5), 3)
        0.731
        """
        from discreet.dp.explain import explain

        return explain(self, delta=probability(delta, "delta"))

    @property
    def instead(self) -> str:
        """What has a price in this currency."""
        if self.rho is not None:
            return "A rho without a delta has a price here, as Gaussian and Laplace noise have."
        if self.is_pure:
            return "An epsilon without a delta has a price here, as Laplace noise has; or give the budget a delta."
        added = "" if self.delta_add else "; a delta of its own is paid from Budget(epsilon=, delta=, delta_add=)"
        return f"A Renyi divergence of order {float(self.order):g} has a price here{added}."

    def share(self, charge: Charge) -> Fraction:
        """Return the part of the budget that a charge takes: 1 for the whole, and additive in each account."""
        parts = [charge.amount / self.cap.amount]
        if self.delta_add:
            parts.append(charge.delta / self.delta_add)
        return max(parts)


def _without_delta(loss: Loss) -> tuple[Loss, Fraction]:
    """Split a loss into a part without delta and its additive delta."""
    if isinstance(loss, Approximate):
        return Pure(loss.base_epsilon), loss.base_delta
    if isinstance(loss, LossSum):
        pieces = [(count, *_without_delta(part)) for count, part in loss.parts]
        delta = sum((count * added for count, _, added in pieces), start=Fraction(0))
        return LossSum(tuple((count, part) for count, part, _ in pieces)), delta
    return loss, Fraction(0)


def _pure(loss: Loss) -> Fraction | float:
    return loss.epsilon_bound(Fraction(0))
