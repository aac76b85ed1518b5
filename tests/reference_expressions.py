"""What a value of a row is, by its definition: Python's own whole numbers, dates and zones, and no SQL.

The oracle that engines are compared with. Slow, obvious, and written from the words of `expression.py` alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias
from zoneinfo import ZoneInfo

from discreet import dp
from discreet.dp.values import day_of, whole
from discreet.engine import expression as ex

Raw: TypeAlias = object
Read: TypeAlias = int | bool | str | None

EPOCH, DAY = datetime(1970, 1, 1), 86_400
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read(raw: Raw, domain: dp.domain.Column) -> Read:
    """The integer that a raw value is read into; None where it is missing or outside its domain."""
    match domain:
        case dp.Integer():
            number = whole(raw)
            return number if number is not None and domain.lower <= number <= domain.upper else None
        case dp.Real():
            return read_real(raw, domain)
        case dp.Boolean():
            named = {"true": True, "false": False}.get(raw.lower()) if isinstance(raw, str) else raw
            return named if isinstance(named, bool) else None
        case dp.Category():
            place = domain.index(raw)
            return None if place < 0 else place
        case dp.Bins():
            number = double(raw)
            edges = [float(edge) for edge in domain.edges]
            if number is None or not edges[0] <= number <= edges[-1]:
                return None
            return min(sum(edge <= number for edge in edges) - 1, domain.declared - 1)
        case dp.Date():
            day = read_day(raw)
            return None if day is None or not domain.first <= day <= domain.last else (day - EPOCH.date()).days
        case dp.Datetime():
            return read_instant(raw, domain)
        case dp.Text():
            return raw if isinstance(raw, str) else None
    raise AssertionError(domain)


def double(raw: Raw) -> float | None:
    """A finite number as the nearest double."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        return None
    number = float(raw)
    return number if math.isfinite(number) else None


def read_real(raw: Raw, domain: dp.Real) -> int | None:
    number = double(raw)
    if number is None or not float(domain.lower) <= number <= float(domain.upper):
        return None
    low = math.ceil(domain.lower / domain.step - Fraction(1, 2))
    high = math.floor(domain.upper / domain.step + Fraction(1, 2))
    return min(max(math.floor(number / float(domain.step) + 0.5), low), high)


def read_day(raw: Raw) -> date | None:
    if not isinstance(raw, str):
        return day_of(raw)
    try:
        return date.fromisoformat(raw) if _DAY.fullmatch(raw) else None
    except ValueError:
        return None


def read_instant(raw: Raw, domain: dp.Datetime) -> int | None:
    if not isinstance(raw, datetime):
        return None
    wall = raw if raw.tzinfo is None else raw.astimezone(ZoneInfo(domain.zone)).replace(tzinfo=None)
    if not seconds(domain.first) <= seconds(wall) <= seconds(domain.last):
        return None
    return seconds(wall) // domain.seconds * domain.seconds


def seconds(wall: datetime) -> int:
    """Whole seconds since 1970-01-01 00:00, downwards."""
    return (wall - EPOCH) // timedelta(seconds=1)


class Record:
    """One row of a table, read column by column when it is asked for."""

    __slots__ = ("_read", "raw", "unit")

    def __init__(self, raw: Mapping[str, Raw], unit: object) -> None:
        self.raw, self.unit = raw, unit
        self._read: dict[str, Read] = {}

    def value(self, column: ex.Column) -> Read:
        if column.name not in self._read:
            self._read[column.name] = read(self.raw.get(column.name), column.domain)
        return self._read[column.name]


Scans: TypeAlias = Sequence[Record | None]
"""One record of each scan; None where a left join found no partner."""


def evaluate(expression: ex.Expression, scans: Scans) -> Read:
    """The value of an expression for one row."""
    match expression:
        case ex.Column():
            record = scans[expression.scan]
            return None if record is None else record.value(expression)
        case ex.Constant(value):
            return value
        case ex.Logical(operator, operands):
            return logical(operator, [evaluate(operand, scans) for operand in operands])
        case ex.IsNull(operand):
            return evaluate(operand, scans) is None
        case ex.Case(branches, otherwise):
            chosen = next((value for when, value in branches if evaluate(when, scans) is True), otherwise)
            return evaluate(chosen, scans)
        case ex.Coalesce(operands):
            found = (evaluate(operand, scans) for operand in operands)
            return next((value for value in found if value is not None), None)
        case ex.Extreme(operator, operands):
            values = [v for operand in operands if (v := evaluate(operand, scans)) is not None]
            return None if not values else (min if operator == "least" else max)(values)  # type: ignore[type-var]
        case ex.Arithmetic(operator, left, right) | ex.Comparison(operator, left, right):
            one, other = evaluate(left, scans), evaluate(right, scans)
            if one is None or other is None:
                return None
            return (arithmetic if isinstance(expression, ex.Arithmetic) else compared)(operator, one, other)
        case _:
            value = evaluate(expression.operand, scans)
            return None if value is None else of_one(expression, value)


def logical(operator: str, values: list[Read]) -> bool | None:
    decisive = operator == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


def arithmetic(operator: str, one: int, other: int) -> int | None:
    match operator:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
    if other == 0:
        return None
    quotient = cut(one, other)
    return quotient if operator == "//" else one - quotient * other


def cut(top: int, bottom: int) -> int:
    """top / bottom, cut toward zero."""
    quotient = abs(top) // abs(bottom)
    return quotient if (top < 0) == (bottom < 0) else -quotient


_COMPARED: Mapping[str, Callable[[object, object], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}


def compared(operator: str, one: Read, other: Read) -> bool:
    left, right = (value.encode() if isinstance(value, str) else value for value in (one, other))
    return _COMPARED[operator](left, right)


def of_one(expression: ex.Expression, value: int | bool | str) -> Read:
    """A function of one operand that is not NULL."""
    match expression:
        case ex.Not():
            return not value
        case ex.Member(_, values):
            return value in values
        case ex.Prefix(_, prefix):
            return str(value).encode().startswith(prefix.encode())
        case ex.Part(part, operand):
            return part_of(part, moment(int(value), operand.kind))
        case ex.Truncated(unit, operand):
            start = truncated(unit, moment(int(value), operand.kind))
            return (start - EPOCH).days if isinstance(expression.kind, ex.Day) else seconds(start)
        case ex.Binned(_, edges):
            inside = edges[0] <= value <= edges[-1]  # type: ignore[operator]
            return min(sum(edge <= value for edge in edges) - 1, len(edges) - 2) if inside else None  # type: ignore[operator]
        case ex.Lookup(_, table):
            return table[int(value)] if 0 <= int(value) < len(table) else None
        case ex.AsDay(operand):
            return (moment(int(value), operand.kind) - EPOCH).days
    raise AssertionError(expression)


def moment(value: int, kind: ex.Kind) -> datetime:
    return EPOCH + (timedelta(days=value) if isinstance(kind, ex.Day) else timedelta(seconds=value))


def part_of(part: str, at: datetime) -> int:
    match part:
        case "quarter":
            return (at.month + 2) // 3
        case "week":
            return at.isocalendar().week
        case "dayofweek":
            return at.isoweekday() % 7
        case "isodow":
            return at.isoweekday()
        case "dayofyear":
            return at.timetuple().tm_yday
        case _:
            return int(getattr(at, part))


def truncated(unit: str, at: datetime) -> datetime:
    match unit:
        case "year":
            return datetime(at.year, 1, 1)
        case "quarter":
            return datetime(at.year, (at.month - 1) // 3 * 3 + 1, 1)
        case "month":
            return datetime(at.year, at.month, 1)
        case "week":
            return datetime(at.year, at.month, at.day) - timedelta(days=at.weekday())
        case "day":
            return datetime(at.year, at.month, at.day)
        case "hour":
            return at.replace(minute=0, second=0)
        case _:
            return at.replace(second=0)
