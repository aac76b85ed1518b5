"""How far from the threshold the sparse vector family may be wrong, and the epsilon at which it is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.dp.grid import Steps
from discreet.errors import InvalidParameter

_MOST_EPSILON = Fraction(2**20)


def in_units(steps: Steps, error: int) -> Fraction:
    """Return an error in steps in units of the values, which may lie half a step from their places on the grid."""
    return error * steps.step + (0 if steps.step == 1 else steps.step / 2)


def least_epsilon(alpha_of: Callable[[Fraction], Fraction], alpha: Fraction) -> Fraction:
    """Return the least epsilon, to 30 bits, at which the error that falls with it is at most alpha."""
    high = Fraction(1)
    while alpha_of(high) > alpha:
        high *= 2
        if high > _MOST_EPSILON:
            raise InvalidParameter("no noise is that accurate; ask for a larger alpha or failure_probability.")
    while alpha_of(high / 2) <= alpha and high > 1 / _MOST_EPSILON:
        high /= 2
    low = high / 2
    while (high - low) * 2**30 > high:
        middle = (low + high) / 2
        low, high = (low, middle) if alpha_of(middle) <= alpha else (middle, high)
    return high
