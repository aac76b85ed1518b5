"""How PostgreSQL writes what the others write in another way.

It raises where others give an answer: on dates and times without an end, on a number that a cast does not fit, on a
quotient of doubles that is too small. Each is excluded by a CASE before it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.engine.dialect import Dialect, Held
from discreet.engine.expression import MOST, PartName, UnitName

if TYPE_CHECKING:
    from discreet.engine.emit import Writer

_EPOCH = "DATE '1970-01-01'"
_START = "TIMESTAMP '1970-01-01 00:00:00'"
_TWO_DAYS = 172_800  # seconds: no clock on a wall is further from UTC
_LEAST, _GREATEST = "1e-300", "1e307"  # numerics between which a cast to a double neither over- nor underflows
_TINY = (
    "1e-120"  # below it a double is 0 beside half a step, which is 1e-100 at least; above it no quotient is too small
)


class PostgresDialect(Dialect):
    """PostgreSQL 14 and later, by way of psycopg."""

    double = "DOUBLE PRECISION"
    text_type = "TEXT"
    materialized = ""  # what is read once is not put aside, and can be computed by several workers
    windows = True

    def quoted(self, name: str) -> str:
        return super().quoted(name).replace("%", "%%")  # psycopg writes parameters with it

    def parameter(self, name: str) -> str:
        return f"%({name})s"

    def divided(self, left: str, right: str) -> str:
        return f"({left} / {right})"

    def divided_wide(self, left: str, right: str) -> str:
        return f"div({left}, {right})"

    def remainder(self, left: str, right: str) -> str:
        return f"mod({left}, {right})"

    def scaled_wide(self, value: str, factor: str, divisor: str) -> str:
        return f"CAST(div({self.wide(value)} * {factor}, {divisor}) AS BIGINT)"

    def wide(self, value: str) -> str:
        return f"CAST({value} AS NUMERIC)"

    def big(self, value: str) -> str:
        return f"CAST({value} AS BIGINT)"

    def own_sum(self, value: str, *, wide: bool) -> str:
        return f"SUM({value})" if wide else f"SUM(CAST({value} AS INTEGER))"  # a NUMERIC of BIGINT, else a BIGINT

    def totals(self, value: str, name: str, where: str | None = None) -> tuple[str, ...]:
        chosen = f" FILTER (WHERE {where})" if where else ""
        cut = f"LEAST(GREATEST(COALESCE(SUM({value}){chosen}, 0), {-MOST}), {MOST})"
        return (f"CAST({cut} AS BIGINT) AS {name}",)

    def gathered(self, rows: str, by: str) -> str:
        return f"SELECT * FROM ({rows}) AS b ORDER BY {by}"  # once, for the groups and for the units

    def starts_with(self, text: str, prefix: str) -> str:
        return f"starts_with({self.compared(text)}, CAST({prefix} AS TEXT))"

    def compared(self, text: str) -> str:
        return f'({text} COLLATE "C")'

    def hashed(self, parts: Sequence[str], secret: str) -> str:
        told = " || '/' || ".join(f"CAST({part} AS TEXT)" for part in parts)
        return f"hashtextextended({self.compared(told)}, CAST({secret} AS BIGINT))"

    def looked_up(
        self, alias: str, value: str, keys: Sequence[int] | Sequence[str], places: Sequence[int | None], writer: Writer
    ) -> str:
        of_text = bool(keys) and isinstance(keys[0], str)
        listed = f"CAST({writer.parameter(list(keys))} AS {'TEXT' if of_text else 'BIGINT'}[])"
        known = f"CAST({writer.parameter(list(places))} AS BIGINT[])"
        key = self.compared(f"{alias}.key") if of_text else f"{alias}.key"
        return f"LEFT JOIN unnest({listed}, {known}) AS {alias}(key, place) ON {key} = {value}"

    def day_part(self, part: PartName, day: str) -> str:
        name = "doy" if part == "dayofyear" else part
        return f"CAST(extract({name} FROM {_date(day)}) AS BIGINT)"

    def first_day(self, unit: UnitName, day: str) -> str:
        first = f"date_trunc('{unit}', CAST({_date(day)} AS TIMESTAMP))"
        return f"CAST(CAST({first} AS DATE) - {_EPOCH} AS BIGINT)"

    def whole(self, held: Held) -> str:
        if held.form == "integer":
            return f"CAST({held.sql} AS BIGINT)"
        number = held.sql if held.form == "decimal" else self.real(held)
        inside = f"{number} BETWEEN {-MOST} AND {MOST} AND {number} = trunc({number})"  # NaN is above every number
        return f"CASE WHEN {inside} THEN CAST({number} AS BIGINT) END"

    def real(self, held: Held) -> str:
        real = f"CAST({held.sql} AS {self.double})"
        if held.form != "decimal":
            return real
        least = f"CAST(sign({held.sql}) * {_LEAST} AS {self.double})"
        return f"CASE WHEN abs({held.sql}) < {_LEAST} THEN {least} WHEN abs({held.sql}) < {_GREATEST} THEN {real} END"

    def divisible(self, real: str) -> str:
        return f"CASE WHEN abs({real}) < {_TINY} THEN 0 ELSE {real} END"

    def from_real(self, real: str) -> str:
        return f"CAST({real} AS BIGINT)"

    def truth(self, held: Held) -> str:
        return held.sql

    def day(self, held: Held) -> str:
        known = f"isfinite({held.sql})"
        if held.form == "timestamp":
            known += f" AND {held.sql} = date_trunc('day', {held.sql})"
        return f"CASE WHEN {known} THEN CAST(CAST({held.sql} AS DATE) - {_EPOCH} AS BIGINT) END"

    def second(self, held: Held, zone: str, low: int, high: int, writer: Writer) -> str:
        ahead = _TWO_DAYS if held.form == "instant" else 0
        start = f"{_START} AT TIME ZONE 'UTC'" if ahead else _START
        least, most = (f"({start} + INTERVAL '{end} seconds')" for end in (low - ahead, high + 1 + ahead))
        near = f"{held.sql} >= {least} AND {held.sql} < {most}"
        wall = f"timezone(CAST({writer.parameter(zone)} AS TEXT), {held.sql})" if ahead else held.sql
        second = f"CAST(floor(extract(epoch FROM {wall})) AS BIGINT)"
        inside = f"CASE WHEN {near} THEN {second} END"
        return f"CASE WHEN {inside} BETWEEN {low} AND {high} THEN {second} END" if ahead else inside

    def text(self, held: Held) -> str:
        return self.compared(f"CAST({held.sql} AS TEXT)")

    def unit(self, held: Held) -> str:
        return self.text(held) if held.form == "text" else held.sql


def _date(day: str) -> str:
    return f"({_EPOCH} + CAST({day} AS INTEGER))"
