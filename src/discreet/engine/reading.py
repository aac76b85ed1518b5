"""How a column is read into an integer: what is not of its domain is NULL, and nothing that it holds can raise.

| declared          | i                                              | NULL, beside NULL                             |
|-------------------|------------------------------------------------|-----------------------------------------------|
| Integer, Category | the number; the place in the list              | a fraction, outside the bounds, not in the list |
| Real              | floor(d / step + 1/2) of the double d, clamped | NaN, outside the bounds                       |
| Boolean           | the truth value                                | in a text, anything but true or false         |
| Date              | the day                                        | a time of day, outside the bounds             |
| Datetime          | the second, rounded down to the step           | outside the bounds                            |
| Bins              | the place of the bin                           | NaN, outside the bins                         |

A bound is compared before a number is cast, so that no cast can raise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from discreet import dp
from discreet.engine.declared import grid_of
from discreet.engine.dialect import Dialect, Held
from discreet.engine.emit import Writer
from discreet.engine.expression import EPOCH, day_number

EXACT = 1 << 53  # whole numbers up to which a double holds each


def read(domain: dp.domain.Column, held: Held, writer: Writer) -> str:
    """Return a column, which the engine calls `held.sql`, as what its declaration reads it into."""
    dialect = writer.dialect
    if held.form == "read":
        return held.sql
    if held.form == "null":
        kind = dialect.text_type if isinstance(domain, dp.Text) else dialect.bigint
        return f"CAST(NULL AS {'BOOLEAN' if isinstance(domain, dp.Boolean) else kind})"
    match domain:
        case dp.Integer(lower=low, upper=high):
            return _whole(dialect, held, low, high)
        case dp.Real():
            return _real(dialect, held, domain)
        case dp.Boolean():
            return dialect.truth(held)
        case dp.Category() if isinstance(domain.values[0], str):
            return writer.placed(dialect.compared(dialect.text(held)), _texts(domain), range(domain.declared))
        case dp.Category():
            return _place(held, _numbers(domain), writer)
        case dp.Date(first=first, last=last):
            day = dialect.day(held)
            return f"CASE WHEN {day} BETWEEN {day_number(first)} AND {day_number(last)} THEN {day} END"
        case dp.Datetime():
            return _second(held, domain, writer)
        case dp.Bins():
            return _bin(dialect, held, domain, writer)
        case dp.Text():
            return dialect.text(held)
        case _:
            assert_never(domain)


def fits(domain: dp.domain.Column, held: Held) -> bool:
    """Return whether a declaration reads what an engine holds in this form; by the schema alone."""
    if held.form in ("null", "read", "cell"):
        return True
    match domain:
        case dp.Category() if isinstance(domain.values[0], str):
            forms = ["text"]
        case dp.Integer() | dp.Real() | dp.Bins() | dp.Category():
            forms = ["integer", "decimal", "float"]
        case dp.Boolean():
            forms = ["boolean"]
        case dp.Date():
            forms = ["date", "timestamp"]
        case dp.Datetime():
            forms = ["timestamp", "instant"]
        case dp.Text():
            forms = ["text"]
        case _:
            assert_never(domain)
    return held.form in forms


def double(dialect: Dialect, value: float) -> str:
    """Return a constant of type DOUBLE, exactly."""
    return f"CAST('{value!r}' AS {dialect.double})"


def _whole(dialect: Dialect, held: Held, low: int, high: int) -> str:
    if held.form == "integer":
        return f"CASE WHEN {held.sql} BETWEEN {low} AND {high} THEN CAST({held.sql} AS {dialect.bigint}) END"
    if held.form == "float" and -EXACT <= low <= high <= EXACT:
        real = dialect.real(held)
        inside = f"{real} BETWEEN {double(dialect, low)} AND {double(dialect, high)} AND {real} = FLOOR({real})"
        return f"CASE WHEN {inside} THEN {dialect.from_real(real)} END"
    number = dialect.whole(held)
    return f"CASE WHEN {number} BETWEEN {low} AND {high} THEN {number} END"


def _real(dialect: Dialect, held: Held, domain: dp.Real) -> str:
    low, high, step = float(domain.lower), float(domain.upper), float(domain.step)
    real = dialect.real(held)
    part = dialect.divisible(real)
    scaled = f"{part} * {double(dialect, 1 / step)}" if _inverts(step) else f"{part} / {double(dialect, step)}"
    number = dialect.from_real(f"FLOOR({scaled} + {double(dialect, 0.5)})")
    least, most = grid_of(domain)
    # The same operations in the same doubles: each rounds a greater number to one that is not less.
    if math.floor(low / step + 0.5) < least or math.floor(high / step + 0.5) > most:
        number = f"LEAST(GREATEST({number}, {least}), {most})"
    return f"CASE WHEN {real} BETWEEN {double(dialect, low)} AND {double(dialect, high)} THEN {number} END"


def _inverts(step: float) -> bool:
    """Return whether dividing by a step is multiplying by its inverse, in doubles: it is a power of two."""
    mantissa, exponent = math.frexp(step)
    return mantissa == 0.5 and -900 < exponent < 900


def _place(held: Held, values: Sequence[int], writer: Writer) -> str:
    number = _whole(writer.dialect, held, min(values), max(values))
    if list(values) == list(range(values[0], values[0] + len(values))):
        return f"({number} - {values[0]})"
    return writer.placed(number, values, range(len(values)))


def _second(held: Held, domain: dp.Datetime, writer: Writer) -> str:
    low, high = second_number(domain.first), second_number(domain.last)
    second = writer.dialect.second(held, domain.zone, low, high, writer)
    step = domain.seconds
    if step == 1:
        return second
    ahead = max(0, -(low // step))
    steps = writer.dialect.divided(f"({second} + {ahead * step})", str(step))
    return f"(({steps} - {ahead}) * {step})"


def second_number(moment: datetime) -> int:
    """Return the whole second of a moment on the clock on the wall, counted from 1970-01-01 00:00."""
    return (moment - datetime(EPOCH.year, EPOCH.month, EPOCH.day)) // _SECOND


_SECOND = datetime(1970, 1, 1, 0, 0, 1) - datetime(1970, 1, 1)


def _bin(dialect: Dialect, held: Held, domain: dp.Bins, writer: Writer) -> str:
    edges = [double(dialect, float(edge)) for edge in domain.floats]
    return dialect.binned(dialect.real(held), edges, writer)


def _texts(domain: dp.Category) -> list[str]:
    return [value for value in domain.values if isinstance(value, str)]


def _numbers(domain: dp.Category) -> list[int]:
    return [value for value in domain.values if isinstance(value, int)]
