"""What an expression means by the book: exact fractions, Python's dates, three-valued logic; no grid and no range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet import dp
from discreet.engine.syntax import Call, Case, Literal, Name, Node
from tests.trees import DOMAINS


def values(row: Mapping[str, int | bool | None]) -> dict[str, Any]:
    """What the integers of a row stand for."""
    return {name: None if value is None else value_of(DOMAINS[name], value) for name, value in row.items()}


def value_of(domain: dp.domain.Column, value: int | bool) -> object:
    match domain:
        case dp.Integer():
            return Fraction(value)
        case dp.Real():
            return value * domain.step
        case dp.Category():
            listed = domain.values[value]
            return Fraction(listed) if isinstance(listed, int) else listed
        case dp.Date():
            return date(1970, 1, 1) + timedelta(days=value)
        case dp.Datetime():
            return datetime(1970, 1, 1) + timedelta(seconds=value)
    return value


def cut(value: Fraction) -> Fraction:
    return Fraction(math.trunc(value))


_OF_ONE: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": abs,
    "sign": lambda x: Fraction((x > 0) - (x < 0)),
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "trunc": cut,
    "cast_integer": Fraction,
    "not": lambda x: not x,
    "cast_date": lambda x: x.date() if isinstance(x, datetime) else x,
    "date": lambda x: date.fromisoformat(x),
}
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def meaning(node: Node, values: Mapping[str, Any]) -> Any:
    """What a tree means for one row, by the book."""
    match node:
        case Name(name):
            return values[name]
        case Literal(value):
            return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else value
        case Case(branches, otherwise):
            for when, then in branches:
                if meaning(when, values) is True:
                    return meaning(then, values)
            return None if otherwise is None else meaning(otherwise, values)
        case Call(function, arguments):
            return _called(function, [meaning(argument, values) for argument in arguments])
    raise AssertionError(node)


def _called(function: str, found: list[Any]) -> Any:
    known = [value for value in found if value is not None]
    match function:
        case "is_null":
            return not known
        case "is_true" | "is_false":
            return found[0] is (function == "is_true")
        case "is_not_distinct":
            return found[0] == found[1]
        case "coalesce":
            return next(iter(known), None)
        case "least" | "greatest":
            return None if not known else (min if function == "least" else max)(known)
        case "nullif":
            return None if None not in found and found[0] == found[1] else found[0]
        case "and" | "or":
            decides = function == "or"
            return decides if decides in known else None if None in found else not decides
        case "in":
            same = [_called("eq", [found[0], option]) for option in found[1:]]
            return _called("or", same)
    return None if None in found else _strict(function, found)


def _strict(function: str, found: list[Any]) -> Any:
    if function in _OF_ONE:
        return _OF_ONE[function](found[0])
    x: Any = found[0]
    y: Any = found[1] if len(found) == 2 else Fraction(0)
    match function:
        case "add" | "sub":
            if isinstance(x, date) and isinstance(y, date):
                return Fraction((x - y).days)
            if isinstance(x, date):
                return x + timedelta(days=int(y) * (1 if function == "add" else -1))
            return x + y if function == "add" else x - y
        case "mul":
            return x * y
        case "div":
            return x / y if y else None
        case "intdiv":
            return cut(x / y) if y else None
        case "mod":
            return x - y * cut(x / y) if y else None
        case "round":
            unit = Fraction(10) ** -int(y)
            return math.floor(abs(x / unit) + Fraction(1, 2)) * unit * (1 if x > 0 else -1)
        case "like":
            return like(x, y)
        case "date_part":
            return Fraction(part(x, y))
        case "date_trunc":
            return start(x, y)
    if function in _COMPARED:
        if isinstance(y, str) and isinstance(x, date):
            y = type(x).fromisoformat(y)
        if isinstance(x, datetime) != isinstance(y, datetime) and isinstance(x, date):
            x, y = (v if isinstance(v, datetime) else datetime(v.year, v.month, v.day) for v in (x, y))
        return _COMPARED[function](x, y)
    raise AssertionError(function)


def like(value: str, pattern: str) -> bool:
    """By its definition, one sign after the other."""
    if not pattern:
        return not value
    if pattern[0] == "%":
        return any(like(value[skipped:], pattern[1:]) for skipped in range(len(value) + 1))
    return bool(value) and pattern[0] in ("_", value[0]) and like(value[1:], pattern[1:])


def part(name: str, when: date) -> int:
    calendar = {"week": when.isocalendar().week, "isodow": when.isoweekday(), "dayofweek": when.isoweekday() % 7}
    calendar |= {"quarter": (when.month + 2) // 3, "dayofyear": when.timetuple().tm_yday}
    return calendar[name] if name in calendar else int(getattr(when, name))


def start(unit: str, when: date) -> date:
    midnight = type(when)(when.year, when.month, when.day)
    match unit:
        case "year":
            return midnight.replace(month=1, day=1)
        case "quarter":
            return midnight.replace(month=(when.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return midnight.replace(day=1)
        case "week":
            return midnight - timedelta(days=when.weekday())
        case "day":
            return midnight
    assert isinstance(when, datetime)
    return when.replace(second=0, minute=0 if unit == "hour" else when.minute)
