"""Comparisons: exact, on one grid, in one normal form, so that `x > 3` and `3 < x` and `x >= 4` are one plan.

A number or a date is compared with a constant by its integers: `<` and `>` become `<=` and `>=` with the nearest
integer, one step outside the range where nothing or everything passes. What equals no possible value becomes `=` with
an integer that the operand never is (-1 for a place in a list): false, and NULL for NULL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from discreet import dp
from discreet.engine.dates import SECONDS, as_instant, day_from, instant_from
from discreet.engine.expression import (
    Coalesce,
    Coded,
    Comparison,
    Constant,
    Day,
    Expression,
    Free,
    Instant,
    IsNull,
    Logical,
    Member,
    Not,
    Number,
    Truth,
)
from discreet.engine.kinds import (
    as_number,
    described,
    integer,
    is_null,
    is_text,
    is_whole_list,
    truth,
    worth,
)
from discreet.engine.merging import free_text, same_codes
from discreet.engine.numbers import on_one_grid
from discreet.engine.refusals import refusal
from discreet.engine.syntax import Position

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
SIGNS: dict[str, Operator] = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TURNED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
UNKNOWN = Constant(None, Truth())


def compare(operator: Operator, x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return x compared with y."""
    if is_null(x) or is_null(y):
        return UNKNOWN
    if isinstance(x, Constant) and (is_text(x) or not isinstance(y, Constant)):
        x, y, operator = y, x, _TURNED[operator]
    if isinstance(x.kind, Coded) or isinstance(y.kind, Coded):
        return _of_codes(operator, x, y, at)
    if isinstance(x.kind, Truth) and isinstance(y.kind, Truth):
        return _of_truths(operator, x, y, at)
    if isinstance(x.kind, Number) and isinstance(y.kind, Number):
        if isinstance(y, Constant):
            return _with_constant(operator, x, worth(y) / x.kind.step, x.kind)
        one, other = on_one_grid((x, y), at)
        return _of_integers(operator, one, other)
    if isinstance(x.kind, Day | Instant) or isinstance(y.kind, Day | Instant):
        return _of_dates(operator, x, y, at)
    if isinstance(x.kind, Free) and isinstance(y.kind, Free):
        return _of_texts(operator, x, y, at)
    raise refusal(f"{described(x)} cannot be compared with {described(y)}", at, "compare values of one kind")


def _with_constant(operator: Operator, x: Expression, value: Fraction, kind: Number | Day | Instant) -> Expression:
    """Return the integers of x compared with a constant that may lie between them or outside their range."""
    if isinstance(x, Constant):
        assert isinstance(x.value, int)
        return truth(_holds(operator, Fraction(x.value), value))
    if operator in ("=", "<>"):
        possible = value.denominator == 1 and kind.low <= value <= kind.high
        return Comparison(operator, x, _same(kind, int(value) if possible else kind.low - 1))
    if operator in ("<", "<="):
        most = math.floor(value) if operator == "<=" else math.ceil(value) - 1
        return Comparison("<=", x, _same(kind, min(max(most, kind.low - 1), kind.high)))
    least = math.ceil(value) if operator == ">=" else math.floor(value) + 1
    return Comparison(">=", x, _same(kind, min(max(least, kind.low), kind.high + 1)))


def _same(kind: Number | Day | Instant, value: int) -> Constant:
    """Return a constant beside an operand of this kind."""
    match kind:
        case Number():
            return integer(value, kind.step)
        case Day():
            return Constant(value, Day(value, value))
        case Instant():
            return Constant(value, Instant(value, value, kind.zone))


def _holds(operator: Operator, x: Fraction, y: Fraction) -> bool:
    match operator:
        case "=":
            return x == y
        case "<>":
            return x != y
        case "<":
            return x < y
        case "<=":
            return x <= y
        case ">":
            return x > y
        case ">=":
            return x >= y


def _of_integers(operator: Operator, x: Expression, y: Expression) -> Expression:
    """Return two operands of one grid compared, in the order that equal questions share."""
    if operator in (">", ">="):
        x, y, operator = y, x, _TURNED[operator]
    elif operator in ("=", "<>"):
        x, y = sorted((x, y), key=repr)
    return Comparison(operator, x, y)


def _of_truths(operator: Operator, x: Expression, y: Expression, at: Position | None) -> Expression:
    if operator not in ("=", "<>"):
        raise refusal("truth values have no order", at, "write = or <>")
    if not isinstance(y, Constant):
        return _of_integers(operator, x, y)
    if isinstance(x, Constant):
        return truth((x.value == y.value) == (operator == "="))
    return x if y.value == (operator == "=") else negation(x)


def negation(x: Expression) -> Expression:
    """Return NOT x."""
    match x:
        case Constant():
            return x if x.value is None else truth(not x.value)
        case Not():
            return x.operand
        case Comparison():
            return _opposite(x)
    return Not(x)


def _opposite(x: Comparison) -> Expression:
    """Return the comparison that holds where x does not; both are NULL of NULL."""
    if x.operator in ("=", "<>"):
        return Comparison(_OPPOSITE[x.operator], x.left, x.right)
    if not isinstance(x.right, Constant):
        return _of_integers(_OPPOSITE[x.operator], x.left, x.right)
    assert isinstance(x.right.value, int)
    assert isinstance(x.right.kind, Number | Day | Instant)
    up = x.operator == "<="
    return Comparison(">=" if up else "<=", x.left, _same(x.right.kind, x.right.value + (1 if up else -1)))


def _of_dates(operator: Operator, x: Expression, y: Expression, at: Position | None) -> Expression:
    if is_text(y):
        assert isinstance(y.value, str)
        timed = isinstance(x.kind, Instant) or len(y.value) > len("2026-01-31")
        y = instant_from(y.value, at) if timed else day_from(y.value, at)
    if not isinstance(x.kind, Day | Instant) or not isinstance(y.kind, Day | Instant):
        raise refusal(f"{described(x)} cannot be compared with {described(y)}", at, "compare it with DATE '2026-01-31'")
    if isinstance(y, Constant):
        moment = int(as_instant(y).value or 0)
        return _with_constant(operator, x, Fraction(moment, SECONDS if isinstance(x.kind, Day) else 1), x.kind)
    if type(x.kind) is not type(y.kind):
        raise refusal("a date is not compared with a timestamp", at, "compare dates: CAST(x AS DATE)")
    if isinstance(x.kind, Instant) and isinstance(y.kind, Instant) and x.kind.zone != y.kind.zone:
        raise refusal("timestamps of two time zones are not compared", at, "declare both columns in one zone")
    return _of_integers(operator, x, y)


def _of_codes(operator: Operator, x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return a place in a public list compared with a value of the list, or with another place."""
    if not isinstance(x.kind, Coded):
        x, y, operator = y, x, _TURNED[operator]
    assert isinstance(x.kind, Coded)
    by_place = operator in ("=", "<>") and isinstance(y, Constant)
    if isinstance(y.kind, Number) and is_whole_list(x.kind) and not by_place:
        return compare(operator, as_number(x, at, "a comparison"), y, at)
    if operator not in ("=", "<>"):
        raise refusal(f"{described(x)} has no order here", at, "write = or IN (...) with the values that are meant")
    if isinstance(y, Constant) and not isinstance(y.kind, Coded):
        place = Constant(place_of(x, y, at), x.kind)
        if isinstance(x, Constant):
            return truth((x.value == place.value) == (operator == "="))
        return Comparison(operator, x, place)
    if not isinstance(y.kind, Coded):
        raise refusal(f"{described(x)} cannot be compared with {described(y)}", at, "compare values of one kind")
    return _of_integers(operator, *same_codes(x, y, at))


def place_of(x: Expression, constant: Constant, at: Position | None) -> int:
    """Return the place of a constant in the list of x, or -1, which is no place."""
    assert isinstance(x.kind, Coded)
    domain = x.kind.domain
    if isinstance(domain, dp.Bins):
        raise refusal("a bin is compared with nothing", at, "declare the column as a dc.Real and compare the number")
    if isinstance(constant.kind, Number) and isinstance(domain.values[0], int):
        exact = worth(constant)
        return domain.index(int(exact)) if exact.denominator == 1 else -1
    if is_text(constant) and isinstance(domain.values[0], str):
        return domain.index(constant.value)
    of = "texts" if isinstance(domain.values[0], str) else "whole numbers"
    raise refusal(f"a category of {of} cannot be compared with {described(constant)}", at, f"compare it with {of}")


def _of_texts(operator: Operator, x: Expression, y: Expression, at: Position | None) -> Expression:
    if operator not in ("=", "<>"):
        raise refusal("texts have no order here", at, "write = or IN (...) with the values that are meant")
    if isinstance(x, Constant):
        return truth((x.value == y.value) == (operator == "=")) if isinstance(y, Constant) else UNKNOWN
    if isinstance(y, Constant):
        return Comparison(operator, x, free_text(y, at))
    return _of_integers(operator, x, y)


def member(x: Expression, options: Sequence[Expression], at: Position | None) -> Expression:
    """Return x IN (options)."""
    null = any(is_null(option) for option in options)
    options = [option for option in options if not is_null(option)]
    if is_null(x):
        return UNKNOWN
    found = [compare("=", x, option, at) for option in options]
    equalities: list[Comparison] = []
    others: list[Expression] = [UNKNOWN] if null else []
    for one in found:
        if isinstance(one, Comparison) and one.left is x and isinstance(one.right, Constant):
            equalities.append(one)
        else:
            others.append(one)
    return logical("or", [*_listed(equalities), *others])


def _listed(equalities: Sequence[Comparison]) -> list[Expression]:
    """Return equalities of one operand with constants as one list, without the constants that it never is."""
    possible: dict[int | str, Comparison] = {}
    for equality in equalities:
        value = equality.right.value if isinstance(equality.right, Constant) else None
        if isinstance(value, str) or (isinstance(value, int) and _within(value, equality.left)):
            possible[value] = equality
    if len(possible) > 1:
        return [Member(equalities[0].left, tuple(sorted(possible)))]  # type: ignore[arg-type]  # all are of one type
    return [*possible.values()] or [*equalities[:1]]


def _within(value: int, x: Expression) -> bool:
    match x.kind:
        case Number() | Day() | Instant():
            return x.kind.low <= value <= x.kind.high
    return value >= 0


def not_distinct(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return whether x and y are equal or both NULL; never NULL itself."""
    if is_null(x) or is_null(y):
        return is_missing(y if is_null(x) else x)
    both = logical("and", [is_missing(x), is_missing(y)])
    return Coalesce((compare("=", x, y, at), both), Truth())


def is_missing(x: Expression) -> Expression:
    """Return x IS NULL."""
    return truth(x.value is None) if isinstance(x, Constant) else IsNull(x)


def definitely(x: Expression, value: bool) -> Expression:
    """Return x IS TRUE, or x IS FALSE; never NULL."""
    wanted = x if value else negation(x)
    if isinstance(wanted, Constant):
        return truth(wanted.value is True)
    return Coalesce((wanted, truth(False)), Truth())


def logical(operator: Literal["and", "or"], operands: Sequence[Expression]) -> Expression:
    """Return AND or OR of operands, without those that change nothing, in the order that equal questions share."""
    decisive = operator == "or"
    kept: dict[str, Expression] = {}
    for operand in operands:
        inner = operand.operands if isinstance(operand, Logical) and operand.operator == operator else (operand,)
        for one in inner:
            if isinstance(one, Constant) and one.value is not None:
                if one.value is decisive:
                    return truth(decisive)
            else:
                kept[repr(one)] = one
    if len(kept) > 1:
        return Logical(operator, tuple(kept[text] for text in sorted(kept)))
    return next(iter(kept.values()), truth(not decisive))
