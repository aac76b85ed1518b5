"""For the curator's eyes: how many values of a table lie outside of what is declared. These figures are private."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from discreet.engine.description import Plain
from discreet.engine.dialect import Dialect, Held, Origin
from discreet.engine.duckdb import returned
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.emit import Bindings, Writer
from discreet.engine.locked import Locked, memory_limit
from discreet.engine.reading import read
from discreet.engine.relation import Statement
from discreet.engine.scans import scan_of
from discreet.engine.source import Database, File, SparkTable
from discreet.engine.table import Table
from discreet.errors import Unavailable

WARNING = (
    "PRIVATE: what follows was counted in the rows, without noise. It is for the curator alone: do not share it, and "
    "do not fit declarations to it, since a bound that was moved to cover a row tells of that row."
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What is in one column: values that are missing, and values outside of what is declared, which count as such."""

    column: str
    missing: int
    outside: int


@dataclass(frozen=True, slots=True)
class Check:
    """How a table compares with its declarations. Private: it is no answer, and nothing of it may reach an analyst."""

    table: str
    rows: int
    columns: tuple[Counted, ...]
    unit: str | None = None
    unowned: int = 0
    """Rows without a unit, which are dropped."""
    units: int = 0
    above: int = 0
    """Units with more rows than count."""
    rows_per_unit: int | None = None

    def to_dict(self) -> dict[str, Plain]:
        """Return the figures as plain data."""
        columns: dict[str, Plain] = {
            each.column: {"missing": each.missing, "outside": each.outside} for each in self.columns
        }
        found: dict[str, Plain] = {"private": True, "table": self.table, "rows": self.rows, "columns": columns}
        if self.unit is not None:
            found |= {"unit": self.unit, "rows_without_unit": self.unowned, "units": self.units}
            found |= {"rows_per_unit": self.rows_per_unit, "units_with_more_rows": self.above}
        return found

    def __str__(self) -> str:
        lines = [f"table {self.table}: {self.rows:,} rows"]
        if self.unit is not None:
            lines.append(f"  {self.unowned:,} rows without a {self.unit}, which are dropped")
            lines.append(f"  {self.units:,} units, {self.above:,} of them with more than {self.rows_per_unit:,} rows")
        width = min(max(len(each.column) for each in self.columns), 40)
        for each in self.columns:
            lines.append(f"  {each.column:<{width}}  {each.outside:>12,} outside  {each.missing:>12,} missing")
        return "\n".join(lines)


def checked(table: Table) -> Check:
    """Read the rows of a table and compare them with its declarations. What it returns is private."""

    def write(origin: Origin, dialect: Dialect) -> tuple[Statement, ...]:
        return check_statements(table, origin, dialect)

    found: Sequence[Mapping[str, Any]]
    match table.source:
        case Database():
            from discreet.engine.postgres import Postgres

            found = Postgres([table]).counted(table, write)
        case SparkTable():
            from discreet.engine.spark import Spark

            found = Spark([table]).counted(table, write)
        case _:
            found = _in_duckdb(table, write)
    columns, *units = ([int(column[0]) for column in each.values()] for each in found)
    return check_of(table, columns, units[0] if units else [])


def _in_duckdb(table: Table, write: Callable[[Origin, Dialect], tuple[Statement, ...]]) -> Sequence[Mapping[str, Any]]:
    import duckdb

    instance = Locked(table.source.paths if isinstance(table.source, File) else (), memory_limit())
    found: list[Mapping[str, Any]] = []
    try:
        cursor = instance.cursor()
        origin = scan_of(table, 0, cursor).origin
        with suppress(duckdb.Error):
            found = [returned(statement, cursor) for statement in write(origin, DuckDBDialect())]
    finally:
        instance.close()
    if not found:
        raise Unavailable(f"the rows of table {table.name!r} cannot be read.")
    return found


def check_statements(table: Table, origin: Origin, dialect: Dialect) -> tuple[Statement, ...]:
    """Return one statement that counts values, and one that counts units where there are any."""
    bindings = Bindings()
    bindings.parameters.update(origin.parameters)
    writer = Writer(dialect, {}, bindings)
    raw = [f"{_unit(origin, dialect)} AS u"]
    counted = ["COUNT(*) AS n", "COUNT(u) AS owned"]
    values = ["u"]
    for place, (column, domain) in enumerate(table.columns.items()):
        held = origin.columns[column]
        raw.append(f"{held.sql} AS raw_{place}")
        values += [f"raw_{place}", f"{read(domain, Held(f'raw_{place}', held.form, held.type), writer)} AS c{place}"]
        counted += [f"COUNT(raw_{place}) AS present{place}", f"COUNT(c{place}) AS inside{place}"]
    rows = f"SELECT {', '.join(values)} FROM ({writer.layered(_from(raw, origin))}) AS r"
    text = f"SELECT {', '.join(counted)} FROM ({rows}) AS r"
    columns = Statement(text, (), bindings.parameters, bindings.lists)
    if table.unit is None:
        return (columns,)
    sizes = f"SELECT u, COUNT(*) AS n FROM ({_from(raw[:1], origin)}) AS r WHERE u IS NOT NULL GROUP BY u"
    above = f"COUNT(CASE WHEN n > {table.rows_per_unit} THEN 1 END)"
    units = f"SELECT COUNT(*) AS units, {above} AS above FROM ({sizes}) AS r"
    return columns, Statement(units, (), dict(origin.parameters), {})


def _unit(origin: Origin, dialect: Dialect) -> str:
    return dialect.unit(origin.unit) if origin.unit is not None else "1"


def _from(raw: list[str], origin: Origin) -> str:
    return f"SELECT {', '.join(raw)} FROM {origin.rows} AS s"


def check_of(table: Table, values: Sequence[int], units: Sequence[int]) -> Check:
    """Return the figures that the two statements found."""
    rows, owned, *pairs = values
    columns = tuple(
        Counted(column, rows - present, present - inside)
        for column, present, inside in zip(table.columns, pairs[::2], pairs[1::2], strict=True)
    )
    if table.unit is None:
        return Check(table.name, rows, columns)
    owners, above = units
    return Check(table.name, rows, columns, table.unit, rows - owned, owners, above, table.rows_per_unit)
