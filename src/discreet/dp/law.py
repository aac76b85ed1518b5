"""The exact law of a released integer, as probabilities that can be enumerated and bounded with certainty."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.reals import bounds
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class Law:
    """A law on integers: `mass(k)` is the ball around P(output = k), `beyond(a)` that around P(|output - center| > a).

    Where the support is finite, `support` lists it; otherwise it is every integer.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> round(dp.Laplace(sensitivity=s, epsilon=1).law(5).probability(5), 6)
    0.462117
    """

    center: int
    mass: Callable[[int], arb]
    beyond: Callable[[int], arb]
    support: Sequence[int] | None = None

    def __post_init__(self) -> None:
        try:
            operator.index(self.center)
        except TypeError:
            raise InvalidParameter("the exact law is that of the output at a whole number.") from None

    def probability(self, outcome: int) -> float:
        """Return P(output = outcome) to the nearest float."""
        low, high = self.bounds(outcome)
        return float((low + high) / 2)

    def bounds(self, outcome: int) -> tuple[Fraction, Fraction]:
        """Return rationals around P(output = outcome), relatively closer than 2^-64."""
        if self.support is not None and outcome not in self.support:
            return Fraction(0), Fraction(0)
        return bounds(lambda: self.mass(outcome))

    def outcomes(self, *, failure_probability: Fraction) -> tuple[int, ...]:
        """Return the outcomes around the center that are missed with at most this probability."""
        if self.support is not None:
            return tuple(self.support)
        radius = smallest(lambda a: bounds(lambda: self.beyond(a))[1] <= failure_probability)
        return tuple(range(self.center - radius, self.center + radius + 1))


def smallest(holds: Callable[[int], bool], *, near: int = 0) -> int:
    """Return the least integer from 0 upwards at which a property that stays true becomes true.

    A guess `near` it saves most of the looks, and decides nothing.
    """
    low, high, reach = max(near, 0) - 1, max(near, 0), 1
    while not holds(high):
        low, high, reach = high, high + reach, 2 * reach
    reach = 1
    while low >= 0 and holds(low):
        low, high, reach = max(low - reach, -1), low, 2 * reach
    while high - low > 1:  # the property fails at low (or low is below 0) and holds at high
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
