"""Rounding on public grids: floor, ceil, trunc, round, and bins of equal width."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet import dp
from discreet.engine.expression import Arithmetic, Case, Coded, Comparison, Constant, Expression, Number
from discreet.engine.kinds import ONE, integer, is_null, is_number, number, worth
from discreet.engine.numbers import checked, common_step, cut, null_number, on_step, shape, times
from discreet.engine.refusals import amount, invalid, refusal
from discreet.engine.syntax import Position

MOST_BINS = 1_000_000  # as many as groups are returned
_MOST_DIGITS = 18

Rounding = Literal["floor", "ceil", "trunc", "round"]


def rounded(how: Rounding, x: Expression, digits: Expression | None, at: Position | None) -> Expression:
    """Return x as a whole number, or as a multiple of 10^-digits."""
    unit = ONE if digits is None else _unit(digits, at)
    if is_null(x):
        return null_number(unit)
    if is_number(x):
        return number(_whole(how, worth(x) / unit) * unit)
    by = shape(x).step / unit
    if by.denominator == 1:  # on this grid already
        return x
    above = times(x, by.numerator, shape(x).step / by.numerator, at)
    if how == "trunc":
        return _over(above, by.denominator, unit)
    if how != "round":
        return _toward(above, by.denominator, unit, up=how == "ceil", at=at)
    return _nearest(above, by.denominator, unit, at)


def _unit(digits: Expression, at: Position | None) -> Fraction:
    if not is_number(digits) or worth(digits).denominator != 1 or abs(worth(digits)) > _MOST_DIGITS:
        raise invalid(
            f"the digits of a rounding are a whole constant of at most {_MOST_DIGITS}", at, "write ROUND(x, 2)"
        )
    return Fraction(10) ** -int(worth(digits))


def _whole(how: Rounding, value: Fraction) -> int:
    match how:
        case "floor":
            return value.numerator // value.denominator
        case "ceil":
            return -(-value.numerator // value.denominator)
        case "trunc":
            return cut(value.numerator, value.denominator)
    away = abs(value) + Fraction(1, 2)
    return away.numerator // away.denominator * (1 if value > 0 else -1)


def _over(x: Expression, divisor: int, step: Fraction) -> Expression:
    """Return the integers of x divided, cut toward zero."""
    kind = shape(x)
    return Arithmetic(
        "//", x, integer(divisor, kind.step), Number(step, cut(kind.low, divisor), cut(kind.high, divisor))
    )


def _moved(x: Expression, by: int, at: Position | None) -> Expression:
    """Return the integers of x with a constant added."""
    kind = shape(x)
    if by == 0:
        return x
    return Arithmetic("+", x, integer(by, kind.step), checked(kind.low + by, kind.high + by, kind.step, at))


def _toward(x: Expression, divisor: int, step: Fraction, *, up: bool, at: Position | None) -> Expression:
    """Return the floor or the ceiling of the integers of x over a divisor.

    A quotient is cut toward zero: that is down where it is above zero, so what is negative is moved there and back.
    """
    kind = shape(x)
    if up:
        back = -(-kind.high // divisor) if kind.high > 0 else 0
        return _moved(_over(_moved(x, -back * divisor, at), divisor, step), back, at)
    back = kind.low // divisor if kind.low < 0 else 0
    return _moved(_over(_moved(x, -back * divisor, at), divisor, step), back, at)


def _nearest(x: Expression, divisor: int, step: Fraction, at: Position | None) -> Expression:
    """Return the integers of x over a divisor, rounded, and halves away from zero."""
    kind = shape(x)
    twice = times(x, 2, kind.step / 2, at)
    up, down = (_over(_moved(twice, move, at), 2 * divisor, step) for move in (divisor, -divisor))
    if kind.low >= 0:
        return up
    if kind.high <= 0:
        return down
    whole = Number(step, cut(2 * kind.low - divisor, 2 * divisor), cut(2 * kind.high + divisor, 2 * divisor))
    return Case(((Comparison(">=", x, integer(0, kind.step)), up),), down, whole)


def binned(x: Expression, width: Expression, at: Position | None) -> Expression:
    """Return the place of the bin of a number: bins of equal width, of which one begins at 0.

    Bins of equal width need no search among their edges: the place is a quotient.
    """
    if not is_number(width) or worth(width) <= 0:
        raise invalid("the width of bins is a constant above 0", at, "write bin(x, 10)")
    if isinstance(x, Constant):
        raise refusal("a constant is in one bin", at, "write bin(x, 10) of a column")
    wide = worth(width)
    step = common_step((shape(x), Number(wide, 1, 1)), at)
    fine = on_step(x, step, at)
    each = int(wide / step)
    first, last = shape(fine).low // each, shape(fine).high // each + 1
    if last - first > MOST_BINS:
        raise refusal(
            f"there would be {amount(last - first)} bins and {MOST_BINS:,} are allowed", at, "write a greater width"
        )
    from_zero = _moved(fine, -first * each, at)
    return Arithmetic("//", from_zero, integer(each, step), Coded(_bins(wide, first, last)))


@lru_cache(maxsize=64)
def _bins(width: Fraction, first: int, last: int) -> dp.Bins:
    return dp.Bins([width * place for place in range(first, last + 1)])
