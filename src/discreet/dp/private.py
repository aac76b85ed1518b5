"""Privacy as types: a private value that cannot be looked at, and the right to look once, at a price."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from discreet.dp.sensitivity import Sensitivity
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.dp.budget import Budget, Charge
    from discreet.dp.loss import Loss


def _closed(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("a private value cannot be looked at or changed; open it with mechanism.open(exact, permit).")


def _single(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("a permit cannot be copied or stored; reserve another.")


class Closed:
    """What every private value has in common: each way to look at it, or to change it, is an error."""

    __slots__ = ()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _closed
    __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = _closed
    __int__ = __float__ = __complex__ = __index__ = __array__ = __bytes__ = _closed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = __round__ = _closed
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _closed
    __setattr__ = __delattr__ = _closed


class Exact(Closed):
    """A private value with the sensitivity that bounding left it, and the unit that it protects.

    Guarantee: nothing but `open` of a mechanism, with a permit, lets the value out: it cannot be printed, compared,
      measured, iterated, converted, hashed, copied or pickled. It guards against mistakes, not against whoever runs
      the process, who can read its memory.

    >>> from discreet import dp
    >>> Exact(3, sensitivity=dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE), unit="row")
    Exact(unit='row')
    """

    __slots__ = ("_value", "sensitivity", "unit")

    _value: int | NDArray[np.int64]
    sensitivity: Sensitivity
    unit: str

    def __init__(self, value: int | NDArray[np.int64], *, sensitivity: Sensitivity, unit: str) -> None:
        if not isinstance(sensitivity, Sensitivity):
            raise InvalidParameter("an Exact has a dp.Sensitivity: a value without one cannot be released.")
        for name, part in (("_value", value), ("sensitivity", sensitivity), ("unit", unit)):
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        return f"Exact(unit={self.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:  # what browses an object by its names does not come upon the value
        return ["sensitivity", "unit"]


class Permit:
    """The right to spend up to an amount, in the currency of the budget that minted it.

    Guarantee: the sum of what is taken never exceeds what was reserved; at zero it refuses. Only a `PrivacyFilter`
      (and the ledger, which holds one) mints permits, after the reservation is in force.
    """

    __slots__ = ("_budget", "_left", "_lock", "reserved")

    _budget: Budget
    _left: Charge
    _lock: threading.Lock
    reserved: Charge

    def __init__(self, *_: object, **__: object) -> None:
        raise NotSupported("a Permit is minted by reserve() of a PrivacyFilter or a ledger, never by hand.")

    @classmethod
    def _mint(cls, budget: Budget, reserved: Charge) -> Permit:
        permit = object.__new__(cls)
        permit._budget, permit._left, permit._lock = budget, reserved, threading.Lock()
        permit.reserved = reserved
        return permit

    def take(self, loss: Loss) -> Charge:
        """Spend a loss out of what is left and return its charge, or refuse and leave everything as it was."""
        charge = self._budget.charge(loss)
        with self._lock:
            if charge is None or charge.amount > self._left.amount or charge.delta > self._left.delta:
                raise BudgetExceeded("this permit does not cover the loss of the mechanism; reserve that loss first.")
            self._left = self._left - charge
        return charge

    def _give_back(self, charge: Charge) -> None:
        """Undo a `take` of this charge: for a threshold test that missed, and for nothing else."""
        with self._lock:
            self._left = self._left + charge

    def affords(self, loss: Loss) -> int:
        """Return how often a loss can be taken out of what is left."""
        charge = self._budget.charge(loss)
        if charge is None:
            return 0
        with self._lock:
            parts = [(self._left.amount, charge.amount), (self._left.delta, charge.delta)]
        return min((int(left / each) for left, each in parts if each), default=0)

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

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _single
