"""Privacy as types: a private value that cannot be looked at, and the right to look once, at a price."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from discreet.errors import BudgetExceeded, NotSupported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.dp.filter import Budget, Charge
    from discreet.dp.loss import Loss
    from discreet.dp.sensitivity import Sensitivity


def _closed(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("a private value cannot be looked at; open it with mechanism.open(exact, permit).")


class Exact:
    """A private value with the sensitivity that bounding left it, and the unit that it protects.

    Guarantee: nothing but `open` of a mechanism, with a permit, lets the value out: it cannot be printed, compared,
      measured, iterated, converted, hashed, copied or pickled. It guards against mistakes, not against whoever runs
      the process, who can read its memory.

    >>> from discreet import dp
    >>> Exact(3, sensitivity=dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE), unit="row")
    Exact(unit='row')
    """

    __slots__ = ("_value", "sensitivity", "unit")

    def __init__(self, value: int | NDArray[np.int64], *, sensitivity: Sensitivity, unit: str) -> None:
        self._value = value
        self.sensitivity = sensitivity
        self.unit = unit

    def __repr__(self) -> str:
        return f"Exact(unit={self.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _closed
    __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = _closed
    __int__ = __float__ = __complex__ = __index__ = __array__ = __bytes__ = _closed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = __round__ = _closed
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _closed


class Permit:
    """The right to spend up to an amount, in the currency of the budget that minted it.

    Guarantee: the sum of what is taken never exceeds what was reserved; at zero it refuses. Only a `PrivacyFilter`
      (and the ledger, which holds one) mints permits, after the reservation is in force.
    """

    __slots__ = ("_budget", "_left", "_lock", "reserved")

    def __init__(self, budget: Budget, reserved: Charge, *, minted_by: object) -> None:
        if not getattr(minted_by, "mints_permits", False):
            raise NotSupported("a Permit is minted by reserve() of a PrivacyFilter or a ledger, never by hand.")
        self._budget, self._left, self._lock = budget, reserved, threading.Lock()
        self.reserved = reserved

    def take(self, loss: Loss) -> None:
        """Spend a loss out of what is left, or refuse and leave everything as it was."""
        charge = self._budget.charge(loss)
        with self._lock:
            if charge is None or charge.amount > self._left.amount or charge.delta > self._left.delta:
                raise BudgetExceeded("this permit does not cover the loss of the mechanism; reserve that loss first.")
            self._left = self._left - charge

    def close(self) -> Charge:
        """Give up what has not been taken, and return it."""
        with self._lock:
            left, self._left = self._left, self._left - self._left
            return left

    @property
    def left(self) -> Fraction:
        """What has not been taken, in the currency of the budget."""
        return self._left.amount

    def __repr__(self) -> str:
        return f"Permit(left={self.left})"

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _closed
