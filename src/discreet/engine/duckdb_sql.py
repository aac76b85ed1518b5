"""How DuckDB writes what the others write in another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.engine.dialect import Dialect, Held
from discreet.engine.expression import MOST, PartName, UnitName

if TYPE_CHECKING:
    from discreet.engine.emit import Writer

_EPOCH = "DATE '1970-01-01'"
_DAY = "'[0-9]{4}-[0-9]{2}-[0-9]{2}'"
_SECOND = "'[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?'"
_NUMBER = "'[ ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[ ]*'"
_SIZES = ((7, "TINYINT"), (15, "SMALLINT"), (31, "INTEGER"))


class DuckDBDialect(Dialect):
    """DuckDB 2."""

    def parameter(self, name: str) -> str:
        return f"${name}"

    def divided(self, left: str, right: str) -> str:
        return f"({left} // {right})"

    def scaled_wide(self, value: str, factor: str, divisor: str) -> str:
        return f"CAST({self.wide(value)} * {factor} // {divisor} AS BIGINT)"

    def wide(self, value: str) -> str:
        return f"CAST({value} AS HUGEINT)"

    def big(self, value: str) -> str:
        return f"CAST({value} AS BIGINT)"

    def own_sum(self, value: str, *, wide: bool) -> str:
        return f"SUM({value})" if wide else f"CAST(SUM({value}) AS BIGINT)"  # SUM is a HUGEINT

    def totals(self, value: str, name: str, where: str | None = None) -> tuple[str, ...]:
        chosen = f" FILTER (WHERE {where})" if where else ""
        cut = f"LEAST(GREATEST(COALESCE(SUM({value}){chosen}, 0), {-MOST}), {MOST})"
        return (f"CAST({cut} AS BIGINT) AS {name}",)

    def narrow(self, value: str, low: int, high: int) -> str:
        for bits, name in _SIZES:
            if -(1 << bits) <= low <= high < 1 << bits:
                return f"TRY_CAST({value} AS {name})"
        return value

    def starts_with(self, text: str, prefix: str) -> str:
        return f"starts_with({text}, {prefix})"

    def looked_up(
        self, alias: str, value: str, keys: Sequence[int] | Sequence[str], places: Sequence[int | None], writer: Writer
    ) -> str:
        import pyarrow as pa

        of_text = bool(keys) and isinstance(keys[0], str)
        listed = pa.table(
            {"key": pa.array(keys, pa.string() if of_text else pa.int64()), "place": pa.array(places, pa.int64())}
        )
        writer.bindings.lists[f"list_{alias}"] = listed
        return f"LEFT JOIN list_{alias} AS {alias} ON {alias}.key = {value}"

    def day_part(self, part: PartName, day: str) -> str:
        return f"date_part('{part}', {_date(day)})"

    def first_day(self, unit: UnitName, day: str) -> str:
        return f"(CAST(date_trunc('{unit}', {_date(day)}) AS DATE) - {_EPOCH})"

    def whole(self, held: Held) -> str:
        match held.form:
            case "integer":
                return f"TRY_CAST({held.sql} AS BIGINT)"
            case "decimal":
                return f"CASE WHEN {held.sql} = trunc({held.sql}) THEN TRY_CAST({held.sql} AS BIGINT) END"
            case _:
                real = self.real(held)
                whole = f"CASE WHEN {real} BETWEEN {-MOST} AND {MOST} AND {real} = floor({real}) THEN {{}} END"
                return whole.format(f"TRY_CAST({real} AS BIGINT)")

    def real(self, held: Held) -> str:
        if held.form == "cell":
            return f"CASE WHEN regexp_full_match({held.sql}, {_NUMBER}) THEN TRY_CAST({held.sql} AS DOUBLE) END"
        if held.form == "decimal" or held.type.endswith("HUGEINT"):  # the nearest double, by way of the digits
            return f"TRY_CAST(TRY_CAST({held.sql} AS VARCHAR) AS DOUBLE)"
        return held.sql if held.type == "DOUBLE" else f"TRY_CAST({held.sql} AS DOUBLE)"

    def from_real(self, real: str) -> str:
        return f"TRY_CAST({real} AS BIGINT)"

    def truth(self, held: Held) -> str:
        if held.form == "boolean":
            return held.sql
        return f"CASE lower({held.sql}) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"

    def day(self, held: Held) -> str:
        match held.form:
            case "cell":
                return (
                    f"CASE WHEN regexp_full_match({held.sql}, {_DAY}) THEN TRY_CAST({held.sql} AS DATE) - {_EPOCH} END"
                )
            case "timestamp":
                exact = "TIMESTAMP_NS" if held.type == "TIMESTAMP_NS" else "TIMESTAMP"
                moment = f"TRY_CAST({held.sql} AS {exact})"
                date = f"TRY_CAST({moment} AS DATE)"
                midnight = f"isfinite({moment}) AND {moment} = TRY_CAST({date} AS {exact})"
                return f"CASE WHEN {midnight} THEN {date} - {_EPOCH} END"
            case _:
                return f"({held.sql} - {_EPOCH})"

    def second(self, held: Held, zone: str, low: int, high: int, writer: Writer) -> str:
        if held.form == "timestamp" and held.type == "TIMESTAMP_NS":
            return _counted(f"epoch_ns({held.sql})", low, high, 10**9)
        moment = _moment(held)
        if held.form == "instant":  # any clock is within two days of that of the epoch, and AT TIME ZONE is total there
            near = f"epoch_us({held.sql}) BETWEEN {_micro(low - 172_800)} AND {_micro(high + 172_800)}"
            moment = f"CASE WHEN {near} THEN timezone({writer.parameter(zone)}, {held.sql}) END"
        return _counted(f"epoch_us({moment})", low, high, 10**6)

    def text(self, held: Held) -> str:
        return held.sql if held.type == "VARCHAR" else f"TRY_CAST({held.sql} AS VARCHAR)"

    def unit(self, held: Held) -> str:
        return self.text(held) if held.form in ("text", "cell") else held.sql


def _date(day: str) -> str:
    return f"({_EPOCH} + CAST({day} AS INTEGER))"


def _moment(held: Held) -> str:
    if held.form == "cell":
        return f"CASE WHEN regexp_full_match({held.sql}, {_SECOND}) THEN TRY_CAST({held.sql} AS TIMESTAMP) END"
    return held.sql if held.type == "TIMESTAMP" else f"TRY_CAST({held.sql} AS TIMESTAMP)"


def _micro(second: int) -> int:
    return max(-(1 << 62), min(second * 10**6, 1 << 62))


def _counted(parts: str, low: int, high: int, many: int) -> str:
    """Return parts of a second as whole seconds, rounded down; NULL outside of the range, which is compared first."""
    least, most = max(low * many, -(1 << 63) + many), min((high + 1) * many - 1, (1 << 63) - 1)
    down = f"{parts} - CASE WHEN {parts} < 0 THEN {many - 1} ELSE 0 END" if least < 0 else parts
    return f"CASE WHEN {parts} BETWEEN {least} AND {most} THEN ({down}) // {many} END"
