"""What the two tests with logistic noise share: a coin for each question, and a price for hits only.

The price of a hit is taken before the coin is flipped and given back on a miss; a filter does so with a reservation
that it settles, a permit with what it holds. So nothing is ever reported that was not paid for, and a failure in
between leaves the price taken.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp import randomness
from discreet.dp.budget import Budget
from discreet.dp.filter import PrivacyFilter, Settlement
from discreet.dp.grid import exact_sum, numbers
from discreet.dp.inversion import Integers
from discreet.dp.logistic import coin, coins, margin_of_hit
from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number
from discreet.dp.stream import Watch, together
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Shown = TypeVar("Shown")
"""What a hit shows where its noisy value is asked for."""


class LogisticWatch(Watch[bool, NDArray[np.bool_]], Generic[Shown]):
    """A watch of logistic coins that pays for its hits one by one."""

    _miss = False
    _slope: Fraction  # per step
    _rho = 0  # the noise of the threshold in steps
    _account: PrivacyFilter | None

    @property
    @abstractmethod
    def hit_loss(self) -> Loss:
        """The loss of one hit."""

    @abstractmethod
    def _show(self, margin: int, offset: int) -> Shown:
        """Return what is shown of a hit with this noisy margin, at minus its threshold in steps."""

    def opened(self, permit: Permit) -> Self:
        """Return a fresh watch with the same parameters, for values that are `Exact`: it spends from this permit.

        Guarantee: before every coin the price of a hit is taken from the permit, and given back if it shows a miss.
        """
        if isinstance(permit, Permit):
            self._check_budget(permit._budget)
        return super().opened(permit)

    @property
    def hits_left(self) -> int | None:
        """How many more hits can be paid for; None where nothing is there to pay with yet."""
        found = [] if self._hits_left is None else [self._hits_left]
        if self._permit is not None:
            found.append(self._permit.affords(self.hit_loss))
        if self._account is not None:
            found.append(_affords(self._account, self.hit_loss))
        return min(found, default=None)

    @property
    def halted(self) -> bool:
        """Whether no further hit can be paid for."""
        return self.hits_left == 0

    def ask(self, value: float | Fraction | Exact, *, threshold: Number | None = None) -> bool:
        """Return whether a value looks above the threshold, or above one of its own."""
        return self._ask(value, self._offset(threshold), randomness.system())

    def ask_many(
        self, values: ArrayLike | Exact, *, thresholds: ArrayLike | None = None, start: int = 0
    ) -> NDArray[np.bool_]:
        """Return the answers for values from `start` on, up to and including the first hit; the law is that of `ask`.

        `thresholds`, if given, are as many as the values.
        """
        return self._ask_many(values, self._offsets(thresholds), start, randomness.system())

    def ask_value(self, value: float | Fraction | Exact, *, threshold: Number | None = None) -> Shown | None:
        """Return the noisy value of a hit, or None for a miss; the price is that of `ask`."""
        return self._ask_value(value, self._offset(threshold), randomness.system())

    def _ask_value(self, value: float | Fraction | Exact, offset: int, stream: Stream) -> Shown | None:
        self._check_process()
        with self._lock:
            self._check_open()
            excess = self._steps.one(cast(int, self._seen(value))) + offset
            self._before()
            if self._margin(excess, stream) < 0:
                self._missed()
                return None
            self._counted(excess, 0, stream)
            return self._show(margin_of_hit(stream, excess - self._rho, self._slope), offset)

    def _begin(self, permit: Permit | None) -> None:
        super()._begin(permit)
        self._hits = 0
        if permit is not None:
            self._account = None

    def _check_open(self) -> None:
        super()._check_open()
        if self._cutoff is None and self._permit is None and self._account is None:
            raise NotSupported("there is nothing to pay a hit with: give cutoff= or account=, or use opened(permit).")

    def _check_budget(self, budget: Budget) -> None:
        """Refuse a budget in which a hit has no price."""

    def _before(self) -> None:
        if self._account is not None:
            self._held = self._account.reserve(self.hit_loss, settlement=Settlement.ON_HITS)
        elif self._permit is not None:
            self._taken = self._permit.take(self.hit_loss)

    def _missed(self) -> None:
        if self._account is not None:
            self._account.settle(self._held)
        elif self._permit is not None:
            self._permit._give_back(self._taken)

    def _counted(self, excess: int, margin: int, stream: Stream) -> bool:
        if self._account is not None:
            self._held.take(self.hit_loss)
            self._account.settle(self._held)
        self._hits += 1
        return super()._counted(excess, margin, stream)

    def _margin(self, excess: int, stream: Stream) -> int:
        return int(coin(stream, excess - self._rho, self._slope)) - 1

    def _margins(self, excess: Integers, stream: Stream) -> Integers:
        moved = exact_sum(excess, np.array([-self._rho])) if self._rho else excess
        return coins(stream, moved, self._slope).astype(np.int64) - 1

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool:
        return True

    def _together(self, misses: int, hit: bool | None) -> NDArray[np.bool_]:
        return together(misses, hit)

    def _offset(self, threshold: Number | None) -> int:
        return -(self._level if threshold is None else self._steps.above(threshold))

    def _offsets(self, thresholds: ArrayLike | None) -> int | Integers:
        if thresholds is None:
            return -self._level
        array = numbers(thresholds).ravel()
        if self.step == 1 and array.dtype.kind == "i":
            return (
                -array.astype(np.int64) if array.size == 0 or int(array.min()) > -(1 << 62) else -array.astype(object)
            )
        found = [-self._steps.above(threshold) for threshold in array.tolist()]
        wide = any(abs(number) >= 1 << 62 for number in found)
        return np.array(found, dtype=object if wide else np.int64)


def _affords(account: PrivacyFilter, loss: Loss) -> int:
    charge = account.budget.charge(loss)
    if charge is None:
        return 0
    return int((account.budget.cap.amount - account.spent.amount) / charge.amount)
