"""Kinds of values: what a column is read into, and what a constant is.

A constant number is one step long: 30 is the integer 1 at the step 30. So a product with a constant changes the step
and not the integers, and `age // 10 * 10` has as many values as `age // 10`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import TypeGuard

from discreet import dp
from discreet.engine.expression import (
    EPOCH,
    FREE,
    MOST,
    TRUTH,
    Arithmetic,
    AsDay,
    Binned,
    Case,
    Coalesce,
    Coded,
    Column,
    Comparison,
    Constant,
    Day,
    Expression,
    Extreme,
    Free,
    Instant,
    IsNull,
    Kind,
    Logical,
    Lookup,
    Member,
    Not,
    Number,
    Part,
    Prefix,
    Truncated,
    Truth,
    day_number,
)
from discreet.engine.refusals import refusal, undeclared
from discreet.engine.syntax import Position

NULL = Constant(None, FREE)
"""NULL as it is written. `typed_null` gives it the kind that its neighbours have."""
ONE = Fraction(1)
_MIDNIGHT = datetime(EPOCH.year, EPOCH.month, EPOCH.day)


def kind_of(domain: dp.domain.Column) -> Kind:
    """Return what a column of this domain is read into.

    >>> kind_of(dp.Real(0, 10, step="0.5"))
    Number(step=Fraction(1, 2), low=0, high=20)
    """
    match domain:
        case dp.Integer():
            return Number(ONE, domain.lower, domain.upper)
        case dp.Real():
            half = Fraction(1, 2)
            return Number(
                domain.step,
                math.ceil(domain.lower / domain.step - half),
                math.floor(domain.upper / domain.step + half),
            )
        case dp.Boolean():
            return TRUTH
        case dp.Category() | dp.Bins():
            return Coded(domain)
        case dp.Date():
            return Day(day_number(domain.first), day_number(domain.last))
        case dp.Datetime():
            step = domain.seconds
            ends = (second_number(end) // step * step for end in (domain.first, domain.last))
            return Instant(next(ends), next(ends), domain.zone)
        case dp.Text():
            return FREE


def second_number(moment: datetime) -> int:
    """Return the seconds after 1970-01-01 00:00 on the same clock, whole ones."""
    passed = moment.replace(tzinfo=None) - _MIDNIGHT
    return passed.days * 86_400 + passed.seconds


def column(scan: int, name: str, domain: dp.domain.Column, at: Position | None) -> Column:
    """Return a declared column as an expression."""
    kind = kind_of(domain)
    if isinstance(kind, Number) and kind.most > MOST:
        raise undeclared(
            f"column {name!r} holds numbers of more than 2^62 steps", at, "declare tighter bounds or a coarser step"
        )
    return Column(scan, name, domain, kind)


def number(value: Fraction | int) -> Constant:
    """Return a constant number.

    >>> number(30)
    Constant(value=1, kind=Number(step=Fraction(30, 1), low=1, high=1))
    """
    exact = Fraction(value)
    if exact == 0:
        return Constant(0, Number(ONE, 0, 0))
    sign = 1 if exact > 0 else -1
    return Constant(sign, Number(abs(exact), sign, sign))


def integer(value: int, step: Fraction = ONE) -> Constant:
    """Return a constant as an integer on a given grid."""
    return Constant(value, Number(step, value, value))


def worth(constant: Constant) -> Fraction:
    """Return the number that a constant stands for."""
    assert isinstance(constant.kind, Number)
    assert isinstance(constant.value, int)
    return constant.value * constant.kind.step


def truth(value: bool) -> Constant:
    """Return a constant truth value."""
    return Constant(value, TRUTH)


def is_null(expression: Expression) -> TypeGuard[Constant]:
    """Return whether this is NULL as a constant, of whatever kind."""
    return isinstance(expression, Constant) and expression.value is None


def is_number(expression: Expression) -> TypeGuard[Constant]:
    """Return whether this is a constant number."""
    return isinstance(expression, Constant) and isinstance(expression.kind, Number) and expression.value is not None


def is_text(expression: Expression) -> TypeGuard[Constant]:
    """Return whether this is a constant text, which may yet stand for a place in a list or for a day."""
    return isinstance(expression, Constant) and isinstance(expression.value, str)


def never_null(expression: Expression) -> bool:
    """Return whether an expression has a value for every row."""
    match expression:
        case Constant():
            return expression.value is not None
        case IsNull():
            return True
        case Coalesce() | Extreme():
            return any(never_null(operand) for operand in expression.operands)
        case Case():
            return all(never_null(value) for _, value in expression.branches) and never_null(expression.otherwise)
        case Arithmetic() if expression.operator in ("+", "-", "*"):
            return never_null(expression.left) and never_null(expression.right)
    return False


def spoken(kind: Kind) -> str:
    """Return what to call a kind in a message."""
    match kind:
        case Number():
            return "a number"
        case Coded():
            return "a bin of numbers" if isinstance(kind.domain, dp.Bins) else "a category"
        case Day():
            return "a date"
        case Instant():
            return "a timestamp"
        case Truth():
            return "a truth value"
        case Free():
            return "a text"


def described(expression: Expression) -> str:
    """Return what to call a value in a message."""
    if is_null(expression):
        return "NULL"
    kind = spoken(expression.kind)
    return f"a constant {kind.partition(' ')[2]}" if isinstance(expression, Constant) else kind


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that an expression is made of directly."""
    match expression:
        case Column() | Constant():
            return ()
        case Arithmetic() | Comparison():
            return (expression.left, expression.right)
        case Logical() | Coalesce() | Extreme():
            return expression.operands
        case Case():
            return (*(part for branch in expression.branches for part in branch), expression.otherwise)
        case Not() | IsNull() | Member() | Prefix() | Part() | Truncated() | Binned() | AsDay() | Lookup():
            return (expression.operand,)


def columns_of(expression: Expression) -> Iterator[Column]:
    """Yield the columns that an expression reads."""
    if isinstance(expression, Column):
        yield expression
    for part in parts(expression):
        yield from columns_of(part)


def is_whole_list(kind: Kind) -> TypeGuard[Coded]:
    """Return whether this is a place in a list of whole numbers."""
    return isinstance(kind, Coded) and isinstance(kind.domain, dp.Category) and isinstance(kind.domain.values[0], int)


def as_number(expression: Expression, at: Position | None, what: str) -> Expression:
    """Return an expression as a number: that of a category of whole numbers, too."""
    kind = expression.kind
    if isinstance(kind, Number):
        return expression
    if is_null(expression):
        return Constant(None, Number(ONE, 0, 0))
    if is_whole_list(kind) and isinstance(kind.domain, dp.Category):
        numbers = tuple(int(value) for value in kind.domain.values)
        if max(map(abs, numbers)) <= MOST:
            if isinstance(expression, Constant):
                return number(numbers[int(expression.value or 0)])
            return Lookup(expression, numbers, Number(ONE, min(numbers), max(numbers)))
    if isinstance(kind, Truth):
        raise refusal(f"{what} takes a number, not a truth value", at, "write CASE WHEN ... THEN 1 ELSE 0 END")
    raise refusal(
        f"{what} takes a number, not {described(expression)}", at, "use a column that is declared as a number"
    )
