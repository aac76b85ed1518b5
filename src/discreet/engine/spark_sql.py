"""How Spark writes what the others write in another way, with ANSI mode on or off.

Nothing here depends on a setting of the session: no cast that raises in one mode and is NULL in the other, no time
that is shown in the zone of the session, no name that is looked for in another letter case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.engine.dialect import Dialect, Held
from discreet.engine.expression import MOST, PartName, UnitName

if TYPE_CHECKING:
    from discreet.engine.emit import Writer

_TWO_DAYS = 172_800  # seconds: no clock on a wall is further from UTC
_LOW = 31  # bits of the low part of a sum: 2^31 units are safe in either part
_PARTS = {"dayofyear": "dayofyear", "week": "weekofyear"}


class SparkDialect(Dialect):
    """Spark 4. `prefix` begins the names of its temporary views, which nobody can guess."""

    text_type = "STRING"
    materialized = ""
    windows = True

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def parameter(self, name: str) -> str:
        return f":{name}"

    def divided(self, left: str, right: str) -> str:
        return f"({left} div {right})"

    def scaled_wide(self, value: str, factor: str, divisor: str) -> str:
        return f"({self.wide(value)} * {factor} div {divisor})"  # of decimals, too, it is a BIGINT

    def wide(self, value: str) -> str:
        return f"CAST({value} AS DECIMAL(38, 0))"

    def big(self, value: str) -> str:
        return f"TRY_CAST({value} AS BIGINT)"

    def own_sum(self, value: str, *, wide: bool) -> str:
        return f"SUM({self.wide(value)})" if wide else f"SUM({value})"

    def totals(self, value: str, name: str, where: str | None = None) -> tuple[str, ...]:
        chosen = f" FILTER (WHERE {where})" if where else ""
        high, low = f"shiftright({value}, {_LOW})", f"(({value}) & {(1 << _LOW) - 1})"
        return f"SUM({high}){chosen} AS {name}_high", f"SUM({low}){chosen} AS {name}_low"

    def gathered(self, rows: str, by: str) -> str:
        return f"SELECT /*+ REPARTITION(u) */ * FROM ({rows}) AS b"  # one exchange for all that follows by unit

    def starts_with(self, text: str, prefix: str) -> str:
        return f"startswith({text}, {prefix})"

    def hashed(self, parts: Sequence[str], secret: str) -> str:
        return f"xxhash64({', '.join([secret, *parts])})"

    def looked_up(
        self, alias: str, value: str, keys: Sequence[int] | Sequence[str], places: Sequence[int | None], writer: Writer
    ) -> str:
        name = f"{self.prefix}{alias}"
        writer.bindings.lists[name] = (keys, places)
        return f"LEFT JOIN {name} AS {alias} ON {alias}.key = {value}"

    def day_part(self, part: PartName, day: str) -> str:
        return f"CAST({_PARTS.get(part, part)}({_date(day)}) AS BIGINT)"

    def first_day(self, unit: UnitName, day: str) -> str:
        return f"CAST(unix_date(trunc({_date(day)}, '{unit}')) AS BIGINT)"

    def whole(self, held: Held) -> str:
        if held.form == "integer":
            return f"CAST({held.sql} AS BIGINT)"
        number = held.sql if held.form == "decimal" else self.real(held)
        inside = f"{number} BETWEEN {-MOST} AND {MOST} AND {number} = floor({number})"  # NaN is above every number
        return f"CASE WHEN {inside} THEN TRY_CAST({number} AS BIGINT) END"

    def real(self, held: Held) -> str:
        return f"CAST({held.sql} AS DOUBLE)"

    def from_real(self, real: str) -> str:
        return f"TRY_CAST({real} AS BIGINT)"

    def truth(self, held: Held) -> str:
        return held.sql

    def day(self, held: Held) -> str:
        date = f"CAST({held.sql} AS DATE)"
        number = f"CAST(unix_date({date}) AS BIGINT)"
        if held.form == "date":
            return number
        return f"CASE WHEN {held.sql} = CAST({date} AS TIMESTAMP_NTZ) THEN {number} END"

    def second(self, held: Held, zone: str, low: int, high: int, writer: Writer) -> str:
        if held.form == "timestamp":  # its parts are those of the clock on the wall, whatever the session's zone
            day = f"CAST(unix_date(CAST({held.sql} AS DATE)) AS BIGINT)"
            clock = f"hour({held.sql}) * 3600 + minute({held.sql}) * 60 + second({held.sql})"
            return _inside(f"({day} * 86400 + {clock})", low, high)
        near = f"unix_seconds({held.sql}) BETWEEN {low - _TWO_DAYS} AND {high + _TWO_DAYS}"
        wall = f"unix_seconds(from_utc_timestamp({held.sql}, {writer.parameter(zone)}))"
        return _inside(f"CASE WHEN {near} THEN {wall} END", low, high)

    def text(self, held: Held) -> str:
        return held.sql if held.type == "string" else f"collate({held.sql}, 'UTF8_BINARY')"

    def unit(self, held: Held) -> str:
        return self.text(held) if held.form == "text" else held.sql


def _inside(second: str, low: int, high: int) -> str:
    return f"CASE WHEN {second} BETWEEN {low} AND {high} THEN {second} END"


def _date(day: str) -> str:
    return f"date_from_unix_date(CAST({day} AS INT))"
