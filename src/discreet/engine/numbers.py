"""Arithmetic on public grids: every result has a step and a range, and no integer on the way is beyond 2^62.

| written        | grid of the result                            | integer                               |
|----------------|-----------------------------------------------|---------------------------------------|
| x + y, x - y   | the greatest step that both are multiples of  | exact                                 |
| x * y          | the product of the steps                      | exact                                 |
| x / constant   | the step divided by the constant              | exact                                 |
| x / y          | a power of two, 2^-30 of the greatest or more | cut toward zero; NULL where y is 0    |
| x // y         | 1                                             | cut toward zero; NULL where y is 0    |
| x % y          | as for x + y                                  | has the sign of x; NULL where y is 0  |
| floor, round   | 1, or 10^-digits                              | exact; round takes halves away from 0 |

Guarantee: for integers of the operands in their ranges, the integer of a result is in the range of its kind, and so is
  every integer in between: none is beyond MOST in magnitude. What could be is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

from discreet.engine.expression import MOST, Arithmetic, Case, Comparison, Constant, Expression, Extreme, Number
from discreet.engine.kinds import ONE, integer, is_null, is_number, never_null, number, worth
from discreet.engine.refusals import amount, refusal
from discreet.engine.syntax import Position

_QUOTIENT_BITS = 30  # of a quotient of two columns: one part in a billion of the greatest
_FEWEST_BITS = 10
_GRID_BITS = 2_048  # of a step: no column needs so fine a one
_NARROWER = "declare tighter bounds or a coarser step, or cut a part first, for instance with ROUND or LEAST"


def shape(expression: Expression) -> Number:
    """Return the kind of an expression that is known to be a number."""
    assert isinstance(expression.kind, Number)
    return expression.kind


def null_number(step: Fraction = ONE) -> Constant:
    """Return NULL as a number."""
    return Constant(None, Number(step, 0, 0))


def cut(dividend: int, divisor: int) -> int:
    """Return a quotient cut toward zero.

    >>> cut(-7, 2), cut(7, 2)
    (-3, 3)
    """
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def has_short_step(kind: Number) -> bool:
    """Return whether a step has no more digits than any column needs."""
    return max(kind.step.numerator.bit_length(), kind.step.denominator.bit_length()) <= _GRID_BITS


def checked(low: int, high: int, step: Fraction, at: Position | None) -> Number:
    """Return the kind of a number, or a refusal of one that does not fit."""
    if max(abs(low), abs(high)) > MOST:
        most = max(abs(low), abs(high)) * step
        raise refusal(f"this may reach {amount(most)}, more than 2^62 steps of {amount(step)}", at, _NARROWER)
    return Number(step, low, high)


def _made(
    operator: Literal["+", "-", "*", "//", "%"],
    left: Expression,
    right: Expression,
    step: Fraction,
    ends: Iterable[int],
    at: Position | None,
) -> Arithmetic:
    values = tuple(ends)
    return Arithmetic(operator, left, right, checked(min(values), max(values), step, at))


def common_step(kinds: Iterable[Number], at: Position | None) -> Fraction:
    """Return the greatest step of which all steps are multiples; that of zero does not matter."""
    steps = [kind.step for kind in kinds if kind.most]
    if not steps:
        return ONE
    below = math.lcm(*(step.denominator for step in steps))
    if below.bit_length() > _GRID_BITS:
        raise refusal("these numbers have too many digits for one grid", at, "write fewer digits")
    return Fraction(math.gcd(*(int(step * below) for step in steps)), below)


def on_step(x: Expression, step: Fraction, at: Position | None) -> Expression:
    """Return a number on a finer grid."""
    kind = shape(x)
    if kind.step == step:
        return x
    if is_null(x):
        return null_number(step)
    factor = kind.step / step if kind.most else ONE
    assert factor.denominator == 1
    return times(x, int(factor), step, at)


def on_one_grid(operands: Sequence[Expression], at: Position | None) -> list[Expression]:
    """Return numbers on the greatest grid that holds them all."""
    step = common_step((shape(x) for x in operands if not is_null(x)), at)
    return [on_step(x, step, at) for x in operands]


def times(x: Expression, factor: int, step: Fraction, at: Position | None) -> Expression:
    """Return `factor` times the integers of x, as multiples of a step."""
    kind = shape(x)
    if factor == 1 and step == kind.step:
        return x
    if is_null(x):
        return null_number(step)
    if isinstance(x, Constant):
        assert isinstance(x.value, int)
        checked(x.value * factor, x.value * factor, step, at)
        return integer(x.value * factor, step)
    if isinstance(x, Arithmetic) and x.operator == "*" and is_number(x.right):
        assert isinstance(x.right.value, int)
        return times(x.left, x.right.value * factor, step, at)
    return _made("*", x, integer(factor), step, (kind.low * factor, kind.high * factor), at)


def add(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x + y."""
    if is_null(x) or is_null(y):
        return null_number()
    if is_number(x) and is_number(y):
        return number(worth(x) + worth(y))
    x, y = sorted(on_one_grid((x, y), at), key=repr)
    return _sum("+", x, y, at)


def subtract(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x - y; a constant y is added with the other sign, so that both ways to write it are one plan."""
    if is_null(x) or is_null(y):
        return null_number()
    if is_number(y):
        return add(x, number(-worth(y)), at)
    x, y = on_one_grid((x, y), at)
    return _sum("-", x, y, at)


def _sum(operator: Literal["+", "-"], x: Expression, y: Expression, at: Position | None) -> Expression:
    a, b = shape(x), shape(y)
    if operator == "+":
        for one, other in ((x, y), (y, x)):
            if is_number(one) and one.value == 0:
                return other
        return _made("+", x, y, a.step, (a.low + b.low, a.high + b.high), at)
    return _made("-", x, y, a.step, (a.low - b.high, a.high - b.low), at)


def negate(x: Expression, at: Position | None) -> Expression:
    """Return -x."""
    if is_null(x):
        return x
    if is_number(x):
        return number(-worth(x))
    return _made("-", integer(0, shape(x).step), x, shape(x).step, (-shape(x).high, -shape(x).low), at)


def multiply(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x * y."""
    if is_null(x) or is_null(y):
        return null_number()
    if is_number(x) and is_number(y):
        return number(worth(x) * worth(y))
    for one, other in ((x, y), (y, x)):
        if is_number(one) and worth(one):
            by = worth(one)
            return times(other, 1 if by > 0 else -1, shape(other).step * abs(by), at)
    x, y = sorted((x, y), key=repr)
    a, b = shape(x), shape(y)
    ends = [i * j for i in (a.low, a.high) for j in (b.low, b.high)]
    if repr(x) == repr(y):
        ends = [a.low * a.low, a.high * a.high, *([0] if a.low <= 0 <= a.high else [])]
    return _made("*", x, y, a.step * b.step, ends, at)


def _divisors(kind: Number) -> list[int]:
    """Return the divisors at which a quotient may be greatest or least: of each sign the nearest to 0, and the ends."""
    ends = {kind.low, kind.high} | {j for j in (-1, 1) if kind.low <= j <= kind.high}
    return sorted(ends - {0})


def divide(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x / y."""
    if is_null(x) or is_null(y) or not _divisors(shape(y)):
        return null_number()
    if is_number(y):
        return multiply(x, number(1 / worth(y)), at)
    a, b = shape(x), shape(y)
    ratio = a.step / b.step
    greatest = Fraction(a.most, min(map(abs, _divisors(b)))) * ratio
    bits = _QUOTIENT_BITS
    while bits >= _FEWEST_BITS:
        step = _power_of_two_above(greatest) / 2**bits if greatest else ONE
        by = ratio / step
        if a.most * by.numerator <= MOST and b.most * by.denominator <= MOST:
            return _quotient(x, y, by, step, at)
        bits -= 1
    raise refusal("this quotient of two grids does not fit 62 bits", at, _NARROWER)


def _power_of_two_above(value: Fraction) -> Fraction:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return next(Fraction(2) ** e for e in (exponent - 1, exponent, exponent + 1) if Fraction(2) ** e >= value)


def _quotient(x: Expression, y: Expression, by: Fraction, step: Fraction, at: Position | None) -> Expression:
    """Return x * by / y as a multiple of step, for integers of x and y."""
    above = times(x, by.numerator, shape(x).step / by.numerator, at)
    below = times(y, by.denominator, shape(y).step / by.denominator, at)
    a, b = shape(above), shape(below)
    ends = [cut(i, j * by.denominator) for i in (a.low, a.high) for j in _divisors(shape(y))]
    if b.low <= 0 <= b.high or a.low <= 0 <= a.high:
        ends.append(0)
    if is_number(below) and below.value == 1:
        return times(above, 1, step, at)
    return _made("//", above, below, step, ends, at)


def int_divide(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x // y, cut toward zero."""
    if is_null(x) or is_null(y) or not _divisors(shape(y)):
        return null_number()
    if is_number(x) and is_number(y):
        ratio = worth(x) / worth(y)
        return number(cut(ratio.numerator, ratio.denominator))
    if is_number(y) and worth(y) < 0:
        return int_divide(negate(x, at), number(-worth(y)), at)
    return _quotient(x, y, shape(x).step / shape(y).step, ONE, at)


def modulo(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return what x // y leaves, with the sign of x."""
    if is_null(x) or is_null(y) or not _divisors(shape(y)):
        return null_number()
    if is_number(x) and is_number(y):
        ratio = worth(x) / worth(y)
        return number(worth(x) - worth(y) * cut(ratio.numerator, ratio.denominator))
    x, y = on_one_grid((x, y), at)
    a, b = shape(x), shape(y)
    most = b.most - 1
    return _made("%", x, y, a.step, (max(a.low, -most) if a.low < 0 else 0, min(a.high, most) if a.high > 0 else 0), at)


def absolute(x: Expression, at: Position | None) -> Expression:
    """Return the magnitude of x."""
    kind = shape(x)
    if is_null(x) or kind.low >= 0:
        return x
    if kind.high <= 0:
        return negate(x, at)
    return Extreme("greatest", (x, negate(x, at)), Number(kind.step, 0, kind.most))


def sign(x: Expression) -> Expression:
    """Return 1, 0 or -1."""
    kind = shape(x)
    if is_null(x):
        return null_number()
    if is_number(x):
        return number((worth(x) > 0) - (worth(x) < 0))
    low, high = (max(-1, min(1, end)) for end in (kind.low, kind.high))
    tests: tuple[tuple[Literal[">=", "<=", "="], int, int], ...] = ((">=", 1, 1), ("<=", -1, -1), ("=", 0, 0))
    branches = tuple(
        (Comparison(operator, x, integer(end, kind.step)), integer(value))
        for operator, end, value in tests
        if low <= value <= high
    )
    return Case(branches, null_number(), Number(ONE, low, high))


def extreme(operator: Literal["least", "greatest"], operands: Sequence[Expression], at: Position | None) -> Expression:
    """Return the least or greatest of numbers that are not NULL."""
    kept = [x for x in operands if not is_null(x)]
    if all(is_number(x) for x in kept):
        worths = [worth(x) for x in kept if is_number(x)]
        if not worths:
            return null_number()
        return number(min(worths) if operator == "least" else max(worths))
    kept = sorted({repr(x): x for x in on_one_grid(kept, at)}.values(), key=repr)
    low, high = extreme_range(operator, [(shape(x).low, shape(x).high, never_null(x)) for x in kept])
    if len(kept) == 1:
        return kept[0]
    return Extreme(operator, tuple(kept), Number(shape(kept[0]).step, low, high))


def extreme_range(operator: str, ranges: Sequence[tuple[int, int, bool]]) -> tuple[int, int]:
    """Return the range of the least or greatest of (low, high, never NULL): what is never NULL cuts the range off."""
    low, high = min(low for low, _, _ in ranges), max(high for _, high, _ in ranges)
    if operator == "least":
        return low, min([high, *(top for _, top, always in ranges if always)])
    return max([low, *(bottom for bottom, _, always in ranges if always)]), high
