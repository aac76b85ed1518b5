"""GROUP BY: which values a key has, all of them public, or that it is private and its values have to be released.

The values come from the kind of the expression, and so from declarations: no group is there because some row is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache

from discreet import dp
from discreet.dp.values import Value
from discreet.engine.bound import MAX_CELLS
from discreet.engine.dates import LAST, SECONDS, first_day, first_second
from discreet.engine.expression import (
    EPOCH,
    Case,
    Coalesce,
    Coded,
    Column,
    Constant,
    Day,
    Expression,
    Free,
    Instant,
    Number,
    Truncated,
    Truth,
    day_of_number,
)
from discreet.engine.kinds import described, spoken
from discreet.engine.plan import Key
from discreet.engine.refusals import amount, refusal
from discreet.engine.syntax import Position

START = datetime(EPOCH.year, EPOCH.month, EPOCH.day)
_LONGEST = {"year": 366, "quarter": 92, "month": 31, "week": 7, "day": 1}  # days
_SHORT = {"hour": 3600, "minute": 60}  # seconds


def key_of(expression: Expression, at: Position | None) -> Key:
    """Return what rows are grouped by, with every value that it may have."""
    if isinstance(expression, Constant):
        raise refusal(f"{described(expression)} cannot be grouped by", at, "leave it out: every row has the same")
    match expression.kind:
        case Free():
            return Key(expression, None, None)
        case Truth():
            return Key(expression, (False, True), (0, 1))
        case Coded(domain):
            values = domain.values if isinstance(domain, dp.Category) else _middles(domain)
            return Key(expression, values, range(len(values)))
        case Number() | Day() | Instant() as kind:
            codes = _codes(expression)
            if codes is None:
                raise refusal(
                    f"{spoken(kind)} with {_many(kind)} values cannot be grouped by", at, _coarser(expression)
                )
            return Key(expression, _values(kind, codes), codes)


def _many(kind: Number | Day | Instant) -> str:
    return amount(kind.high - kind.low + 1)


def _coarser(expression: Expression) -> str:
    """Return how to group by fewer values."""
    name = expression.name if isinstance(expression, Column) else "x"
    if not isinstance(expression.kind, Number):
        return f"write date_trunc('month', {name}): {MAX_CELLS:,} are allowed"
    kind = expression.kind
    wide = (kind.high - kind.low) * kind.step / 100
    width = Fraction(10) ** (len(str(wide.numerator)) - len(str(wide.denominator)))  # about a hundred bins
    return f"write bin({name}, {amount(width).replace(',', '')}): {MAX_CELLS:,} are allowed"


@lru_cache(maxsize=64)
def _middles(domain: dp.Bins) -> Sequence[float]:
    return tuple(domain.values)


def _codes(expression: Expression) -> Sequence[int] | None:
    """Return the integers that an expression may have; None where they are too many to be returned."""
    match expression:
        case Constant(value):
            return () if value is None else (int(value),)
        case Case() | Coalesce():
            return _united(expression)
        case Truncated(unit, _, kind) if isinstance(kind, Day | Instant):
            return _starts(unit, kind)
    kind = expression.kind
    assert isinstance(kind, Number | Day | Instant)
    each = (
        expression.domain.seconds
        if isinstance(expression, Column) and isinstance(expression.domain, dp.Datetime)
        else 1
    )
    codes = range(kind.low, kind.high + 1, each)
    return codes if len(codes) <= MAX_CELLS else None


def _united(expression: Case | Coalesce) -> Sequence[int] | None:
    if isinstance(expression, Coalesce):
        operands = expression.operands
    else:
        operands = (*(value for _, value in expression.branches), expression.otherwise)
    found: set[int] = set()
    for operand in operands:
        codes = _codes(operand)
        if codes is None:
            return None
        found.update(codes)
    return tuple(sorted(found)) if len(found) <= MAX_CELLS else None


@lru_cache(maxsize=256)
def _starts(unit: str, kind: Day | Instant) -> Sequence[int] | None:
    """Return the first day or second of each year, month or other unit in a range."""
    each = _SHORT.get(unit)
    if each is not None and (kind.high - kind.low) // each > MAX_CELLS:
        return None
    codes = tuple(_days(unit, kind.low, kind.high) if isinstance(kind, Day) else _seconds(unit, kind.low, kind.high))
    return codes if len(codes) <= MAX_CELLS else None


def _days(unit: str, low: int, high: int) -> Iterator[int]:
    day = low
    while day <= high:
        yield day
        if day + _LONGEST[unit] > LAST:
            break
        day = first_day(unit, day + _LONGEST[unit])


def _seconds(unit: str, low: int, high: int) -> Iterator[int]:
    if unit in ("hour", "minute"):
        yield from range(first_second(unit, low), high + 1, _SHORT[unit])
    else:
        yield from (day * SECONDS for day in _days(unit, low // SECONDS, high // SECONDS))


def _values(kind: Number | Day | Instant, codes: Sequence[int]) -> Sequence[Value]:
    """Return what the integers of a key stand for."""
    match kind:
        case Number(step):
            whole = step.denominator == 1
            if whole and isinstance(codes, range):
                return range(codes.start * step.numerator, codes.stop * step.numerator, step.numerator)
            return _number_values(step, codes if isinstance(codes, range) else tuple(codes))
        case Day():
            return _day_values(codes if isinstance(codes, range) else tuple(codes))
        case Instant():
            return _instant_values(codes if isinstance(codes, range) else tuple(codes))


@lru_cache(maxsize=64)
def _number_values(step: Fraction, codes: Sequence[int]) -> Sequence[Value]:
    if step.denominator == 1:
        return tuple(code * step.numerator for code in codes)
    return tuple(code * step.numerator / step.denominator for code in codes)  # the nearest float


@lru_cache(maxsize=128)
def _day_values(codes: Sequence[int]) -> Sequence[Value]:
    return tuple(day_of_number(code) for code in codes)


@lru_cache(maxsize=64)
def _instant_values(codes: Sequence[int]) -> Sequence[Value]:
    return tuple(START + timedelta(seconds=code) for code in codes)
