"""Real numbers with certified bounds: every inequality between a formula and a rational is decided, never guessed.

A formula is a function of no arguments that returns a ball (midpoint and radius) at the precision in force. The ball
arithmetic is Arb's (Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", 2017), which
is rigorous at every precision; here a formula is evaluated again with more bits until its ball decides the question.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

Formula = Callable[[], "arb"]

_MOST_BITS = 1 << 16  # a formula that is still undecided here sits on a boundary that it equals
_MOST_EXPONENT = 1 << 26  # a rational of this size takes 8 MiB
_EXTREME = "these parameters are too extreme to be computed with certainty; use milder ones."


class _Turn:
    """Whose turn it is to set the precision, which is a property of the process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:  # the thread that held the lock may not exist in the child
        self.lock = threading.RLock()


_turn = _Turn()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Evaluate balls with `bits` bits inside the block."""
    from flint import ctx

    with _turn.lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(value: Fraction | int) -> arb:
    """Return the ball around a rational at the precision in force."""
    from flint import arb, fmpq

    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def _fraction(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    if abs(int(exponent)) > _MOST_EXPONENT:
        raise InvalidParameter(_EXTREME)
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def bounds(formula: Formula, bits: int = 64) -> tuple[Fraction, Fraction]:
    """Return rationals around the formula, relatively closer than 2^-bits (or absolutely closer than 2^-4096)."""
    work = bits + 64
    while work <= _MOST_BITS:
        with precision(work):
            value = formula()
            if value.is_finite():
                low, high = _fraction(value.lower()), _fraction(value.upper())
                if (high - low) * 2**bits <= max(abs(low), abs(high)) or high - low <= Fraction(1, 2**4096):
                    return low, high
        work *= 2
    raise InvalidParameter(_EXTREME)


def upper(formula: Formula, bits: int = 64) -> Fraction:
    """Return a rational at least the formula, and closer to it than 2^-bits relatively."""
    return bounds(formula, bits)[1]


def lower(formula: Formula, bits: int = 64) -> Fraction:
    """Return a rational at most the formula, and closer to it than 2^-bits relatively."""
    return bounds(formula, bits)[0]


def floor_scaled(formula: Formula, bits: int) -> int:
    """Return the floor of 2^bits times the formula, certified.

    The formula must not be a multiple of 2^-bits: rational values are the caller's to handle exactly.
    """
    work = bits + 32
    while work <= _MOST_BITS:
        with precision(work):
            floor = (formula() * (1 << bits)).floor().unique_fmpz()
        if floor is not None:
            return int(floor)
        work *= 2
    raise InvalidParameter(_EXTREME)
