"""Days and instants: constants, differences, parts and truncation, with the range of each result.

An instant is what the clock on the wall shows: naive, whole seconds, and no hour is missing or there twice. So every
part of it is a function of one integer, and no engine has to know the time zone.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from typing import get_args

from discreet.engine.expression import (
    Arithmetic,
    AsDay,
    Constant,
    Day,
    Expression,
    Instant,
    Number,
    Part,
    PartName,
    Truncated,
    UnitName,
    day_number,
    day_of_number,
)
from discreet.engine.kinds import ONE, described, is_null, is_number, is_text, second_number, worth
from discreet.engine.numbers import on_step, shape
from discreet.engine.refusals import invalid, refusal, shown
from discreet.engine.syntax import Position

SECONDS = 86_400
PARTS: frozenset[str] = frozenset(get_args(PartName))
UNITS: frozenset[str] = frozenset(get_args(UnitName))
_IN_A_DAY = frozenset({"hour", "minute", "second"})
_LOOKED_THROUGH = 800  # days: a longer range holds every month, week and day of a year
_FULL = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?", re.ASCII)
FIRST, LAST = day_number(date.min), day_number(date.max)


def day(value: date) -> Constant:
    """Return a constant day."""
    number = day_number(value)
    return Constant(number, Day(number, number))


def instant(value: datetime) -> Constant:
    """Return a constant instant, in no zone until it stands beside a column."""
    number = second_number(value)
    return Constant(number, Instant(number, number, ""))


def day_from(text: str, at: Position | None) -> Constant:
    """Return the day that a text names."""
    if _DATE.fullmatch(text):
        try:
            return day(date.fromisoformat(text))
        except ValueError:
            pass
    raise invalid(f"{shown(text)} is not a date", at, "write year, month and day: DATE '2026-01-31'")


def instant_from(text: str, at: Position | None) -> Constant:
    """Return the instant that a text names."""
    if _TIMESTAMP.fullmatch(text):
        try:
            return instant(datetime.fromisoformat(text))
        except ValueError:
            pass
    raise invalid(
        f"{shown(text)} is not a timestamp", at, "write TIMESTAMP '2026-01-31 17:00:00', in the zone of the column"
    )


def literal(x: Expression, at: Position | None, *, timed: bool) -> Expression:
    """Return DATE 'text' or TIMESTAMP 'text', or the date of a value: CAST(x AS DATE)."""
    if is_null(x):
        return Constant(None, Instant(0, 0, "") if timed else Day(0, 0))
    if is_text(x):
        assert isinstance(x.value, str)
        return instant_from(x.value, at) if timed else day_from(x.value, at)
    if isinstance(x.kind, Instant):
        return x if timed else _as_day(x, x.kind)
    if isinstance(x.kind, Day) and not timed:
        return x
    if isinstance(x.kind, Day) and isinstance(x, Constant):
        return as_instant(x)
    what = "TIMESTAMP" if timed else "DATE"
    raise refusal(f"{described(x)} is not read as a {what}", at, f"declare the column as a dc.{what[:4].title()}")


def as_instant(constant: Constant) -> Constant:
    """Return the midnight that begins a constant day."""
    if isinstance(constant.kind, Instant):
        return constant
    number = int(constant.value or 0) * SECONDS
    return Constant(number, Instant(number, number, ""))


def _as_day(x: Expression, kind: Instant) -> Expression:
    ends = Day(kind.low // SECONDS, kind.high // SECONDS)
    if isinstance(x, Constant):
        return Constant(ends.low, ends)
    return AsDay(x, ends)


def difference(x: Expression, y: Expression, at: Position | None) -> Expression:
    """Return how many days x is after y."""
    if not isinstance(x.kind, Day) or not isinstance(y.kind, Day):
        raise refusal(
            f"{described(y)} cannot be subtracted from {described(x)}",
            at,
            "subtract days: CAST(x AS DATE) - CAST(y AS DATE)",
        )
    days = Number(ONE, x.kind.low - y.kind.high, x.kind.high - y.kind.low)
    if isinstance(x, Constant) and isinstance(y, Constant):
        return Constant(days.low, days)
    return Arithmetic("-", x, y, days)


def shifted(x: Expression, by: Expression, at: Position | None) -> Expression:
    """Return the day so many days after x."""
    if not isinstance(x.kind, Day):
        raise refusal(f"days cannot be added to {described(x)}", at, "add them to its date: CAST(x AS DATE) + 7")
    if is_null(by) or is_null(x):
        return Constant(None, x.kind)
    kind = shape(by)
    if not ((is_number(by) and worth(by).denominator == 1) or kind.step.denominator == 1):
        raise refusal("a date is moved by whole days", at, "round what is added: day + FLOOR(x)")
    days = on_step(by, ONE, at)
    ends = Day(x.kind.low + shape(days).low, x.kind.high + shape(days).high)
    if ends.low < FIRST or ends.high > LAST:
        raise refusal("this date may lie outside the years 1 to 9999", at, "add fewer days, for instance LEAST(x, 365)")
    if isinstance(x, Constant) and isinstance(days, Constant):
        return Constant(ends.low, ends)
    if is_number(days) and days.value == 0:
        return x
    return Arithmetic("+", x, days, ends)


def part(name: str, x: Expression, at: Position | None) -> Expression:
    """Return a part of a day or an instant."""
    if name not in PARTS:
        raise refusal(f"a date has no part {shown(name)} here", at, f"use one of {', '.join(sorted(PARTS))}")
    if is_null(x):
        return Constant(None, Number(ONE, 0, 0))
    if not isinstance(x.kind, Day | Instant):
        raise refusal(
            f"{name.upper()} takes a date or a timestamp, not {described(x)}", at, "declare the column as one"
        )
    if isinstance(x.kind, Day) and name in _IN_A_DAY:
        raise refusal(f"a date has no {name}", at, "use a column that is declared as a dc.Datetime")
    kind = Number(ONE, *_part_range(name, *_seconds(x.kind)))
    return Constant(kind.low, kind) if isinstance(x, Constant) else Part(name, x, kind)  # type: ignore[arg-type]  # which was looked up


def _seconds(kind: Day | Instant) -> tuple[int, int]:
    times = SECONDS if isinstance(kind, Day) else 1
    return kind.low * times, kind.high * times


@lru_cache(maxsize=1024)
def _part_range(name: str, low: int, high: int) -> tuple[int, int]:
    """Return the least and greatest of a part between two seconds."""
    if name in _IN_A_DAY:
        below = {"hour": SECONDS, "minute": 3600, "second": 60}[name]
        unit = below // (24 if name == "hour" else 60)
        return (low % below // unit, high % below // unit) if low // below == high // below else _FULL[name]
    first, last = low // SECONDS, high // SECONDS
    if name == "year":
        return day_of_number(first).year, day_of_number(last).year
    if last - first > _LOOKED_THROUGH:
        return _FULL[name]
    found = {part_of(name, day_of_number(number)) for number in range(first, last + 1)}
    return min(found), max(found)


def part_of(name: str, when: date) -> int:
    """Return a part of a day."""
    match name:
        case "quarter":
            return (when.month + 2) // 3
        case "week":
            return when.isocalendar().week
        case "dayofweek":
            return when.isoweekday() % 7
        case "isodow":
            return when.isoweekday()
        case "dayofyear":
            return when.timetuple().tm_yday
    return int(getattr(when, name))


def truncated(unit: str, x: Expression, at: Position | None) -> Expression:
    """Return the first day or second of the year, quarter, month, ISO week, day, hour or minute that holds x."""
    if unit not in UNITS:
        raise refusal(f"a date is not cut to {shown(unit)} here", at, f"use one of {', '.join(sorted(UNITS))}")
    if is_null(x):
        return Constant(None, Day(0, 0))
    if isinstance(x.kind, Day):
        if unit in ("day", *_IN_A_DAY):
            return x
        ends: Day | Instant = Day(first_day(unit, x.kind.low), first_day(unit, x.kind.high))
    elif isinstance(x.kind, Instant):
        ends = Instant(first_second(unit, x.kind.low), first_second(unit, x.kind.high), x.kind.zone)
    else:
        raise refusal(f"DATE_TRUNC takes a date or a timestamp, not {described(x)}", at, "declare the column as one")
    return Constant(ends.low, ends) if isinstance(x, Constant) else Truncated(unit, x, ends)  # type: ignore[arg-type]  # which was looked up


def first_day(unit: str, number: int) -> int:
    """Return the number of the first day of the year, quarter, month or ISO week of a day."""
    when = day_of_number(number)
    match unit:
        case "year":
            return day_number(when.replace(month=1, day=1))
        case "quarter":
            return day_number(when.replace(month=(when.month - 1) // 3 * 3 + 1, day=1))
        case "month":
            return day_number(when.replace(day=1))
        case "week":
            return number - when.weekday()
    return number


def first_second(unit: str, number: int) -> int:
    """Return the first second of the unit that holds a second."""
    within = {"minute": 60, "hour": 3600}.get(unit)
    if within is not None:
        return number // within * within
    return first_day(unit, number // SECONDS) * SECONDS
