"""DuckDB: a fresh, locked, in-memory engine for every question. All SQL that it sees is written here."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from discreet import dp
from discreet.engine.bound import BoundedQuery, Finite
from discreet.engine.source import File, Frame, holds_numbers
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration, Unavailable

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# In this order: what cannot be set later comes first, the lock last. Read back before the first use.
_SETTINGS: tuple[tuple[str, bool | list[str]], ...] = (
    ("autoinstall_known_extensions", False),
    ("autoload_known_extensions", False),
    ("allow_community_extensions", False),
    ("allow_unsigned_extensions", False),
    ("allow_persistent_secrets", False),
    ("python_enable_replacements", False),  # no name in a query means a variable of this process
    ("enable_progress_bar", False),  # it would show how far the rows are read
    ("allowed_configs", []),  # no setting is exempt from the lock
    ("enable_external_access", False),
    ("lock_configuration", True),
)
_PARQUET = "read_parquet($path, hive_partitioning = false)"
# Every cell of a CSV file is a text, and a line that does not fit is cut, filled or skipped: nothing in it can raise.
_CSV = (
    "read_csv($path, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
    "columns = $header, strict_mode = false, ignore_errors = true, null_padding = true, parallel = false)"
)
_NUMBERS: tuple[str, ...] = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)
_NUMBERS += ("UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


class DuckDB:
    """The engine of a session on one machine."""

    @contextmanager
    def reach(self, query: BoundedQuery) -> Iterator[Reached]:
        """Open a locked connection to the table of a query, with its schema checked; no row is read."""
        with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as spill:
            connection = _connected(query.table, str(Path(spill).resolve()))
            try:
                yield Reached(connection, query, _checked(connection, query))
            finally:
                connection.close()


class Reached:
    """A connection to one table, for one query."""

    __slots__ = ("_connection", "_query", "_types")

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: BoundedQuery, types: dict[str, str]) -> None:
        self._connection, self._query, self._types = connection, query, types

    def run(self) -> dp.Exact:
        """Read the rows and return the counts of all cells, zeros included."""
        query = self._query
        for position, domain in enumerate(query.domains):
            self._connection.register(f"domain_{position}", _domain_table(domain, query, position))
        found = self._connection.execute(emitted(query, self._types), _parameters(query.table)).fetchnumpy()
        counts = np.zeros(query.cells, dtype=np.int64)
        counts[np.asarray(found["cell"], dtype=np.int64)] = np.asarray(found["n"], dtype=np.int64)
        return dp.Exact(counts.reshape(query.shape), sensitivity=query.sensitivity, unit=query.unit)


def emitted(query: BoundedQuery, types: dict[str, str]) -> str:
    """Return the SQL of a query: quoted names that were declared, and no text of a question.

    A row is joined with the declared values of each key: what is outside a domain, or NULL, finds no partner and is
    dropped. Each expression is total, so no row can raise.
    """
    cell, joins = "0", ""
    for position, (column, domain) in enumerate(zip(query.keys, query.domains, strict=True)):
        cell = f"({cell}) * {domain.size} + d{position}.code"
        value = _read_as(f"t.{quoted(column)}", domain, types[column])
        joins += f" JOIN domain_{position} AS d{position} ON d{position}.value = {value}"
    return f"SELECT {cell} AS cell, COUNT(*) AS n FROM {_rows(query.table)} AS t{joins} GROUP BY 1"


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _read_as(value: str, domain: Finite, found: str) -> str:
    match domain:
        case dp.Category() if not holds_numbers(domain):
            return f"TRY_CAST({value} AS VARCHAR)"
        case (
            dp.Category() | dp.Integer()
        ):  # through a float only what may have a fraction: 2.5 is no whole number and equals none
            return f"TRY_CAST({value} AS {'BIGINT' if 'INT' in found else 'DOUBLE'})"
        case dp.Boolean():
            return f"lower(TRY_CAST({value} AS VARCHAR))"
        case _:
            assert_never(domain)


def _domain_table(domain: Finite, query: BoundedQuery, position: int) -> pa.Table:
    """Return the declared values with their codes: the position that each has in the answer."""
    import pyarrow as pa

    match domain:
        case dp.Category() | dp.Integer():
            values = pa.array(domain.values, pa.int64() if holds_numbers(domain) else pa.string())
        case dp.Boolean():
            values = pa.array([str(value).lower() for value in domain.values], pa.string())
        case _:
            assert_never(domain)
    return pa.table({"value": values, "code": pa.array(range(query.shape[position]), pa.int64())})


def _connected(table: Table, spill: str) -> duckdb.DuckDBPyConnection:
    """Return a connection that reaches the file of the table and a private folder to spill into, and nothing else."""
    import duckdb

    connection = duckdb.connect(":memory:")
    paths = [table.source.path] if isinstance(table.source, File) else []
    locked = False
    with suppress(duckdb.Error):
        connection.execute("SET temp_directory = $spill", {"spill": spill})
        connection.execute("SET allowed_paths = $paths", {"paths": paths})
        if isinstance(table.source, Frame):
            connection.register("frame", table.source.rows)
        for name, value in _SETTINGS:
            if _setting(connection, name) != value:  # some cannot be set again to what they are
                connection.execute(f"SET {name} = {value}")
        locked = _is_locked(connection, paths, spill)
    if not locked:
        connection.close()
        raise Unavailable("the engine could not be locked down, so it is not used; this DuckDB is not supported.")
    return connection


def _is_locked(connection: duckdb.DuckDBPyConnection, paths: list[str], spill: str) -> bool:
    reached = [str(folder).rstrip("/") for folder in _setting(connection, "allowed_directories")]
    settings = all(_setting(connection, name) == value for name, value in _SETTINGS)
    return settings and reached == [spill] and _setting(connection, "allowed_paths") == paths


def _setting(connection: duckdb.DuckDBPyConnection, name: str) -> Any:
    row = connection.execute("SELECT current_setting($name)", {"name": name}).fetchone()
    return row[0] if row else None


def _checked(connection: duckdb.DuckDBPyConnection, query: BoundedQuery) -> dict[str, str]:
    """Return the types of the keys as the source has them, or say what does not fit; from the schema alone."""
    import duckdb

    table = query.table
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {_rows(table)}", _parameters(table)).fetchall()
        types = {str(row[0]): str(row[1]) for row in described}
    except (duckdb.Error, OSError, ValueError, csv.Error):
        types = {}
    if not types:
        raise Unavailable(f"the source of table {table.name!r} cannot be reached or read. Nothing was spent.")
    # A file without one of its declared columns is another file; of a frame only columns that can be keys are kept.
    for column in table.columns if isinstance(table.source, File) else query.keys:
        if column not in types:
            raise Unavailable(
                f"the source of table {table.name!r} has no column {column!r}, in these letters. Nothing was spent."
            )
    for column, domain in zip(query.keys, query.domains, strict=True):
        if not _fits(domain, types[column], from_text=_is_csv(table)):
            raise NeedsDeclaration(
                f"column {column!r} of table {table.name!r} holds {types[column]}, which a dc.{type(domain).__name__} "
                "does not read; declare it as what it holds, or convert it in the source."
            )
    return types


def _fits(domain: Finite, found: str, *, from_text: bool) -> bool:
    kind = "nested" if found.endswith("]") else found.partition("(")[0]
    if from_text or kind == '"NULL"':
        return True
    match domain:
        case dp.Category() if not holds_numbers(domain):
            return kind in ("VARCHAR", "ENUM")
        case dp.Category() | dp.Integer():
            return kind in _NUMBERS
        case dp.Boolean():
            return kind == "BOOLEAN"
        case _:
            assert_never(domain)


def _is_csv(table: Table) -> bool:
    return isinstance(table.source, File) and table.source.format == "csv"


def _rows(table: Table) -> str:
    match table.source:
        case Frame():
            return "frame"
        case File(_, "parquet"):
            return _PARQUET
        case File(_, "csv"):
            return _CSV
        case _:
            raise AssertionError(table.source)


def _parameters(table: Table) -> dict[str, Any]:
    match table.source:
        case Frame():
            return {}
        case File(path, "csv"):
            return {"path": path, "header": dict.fromkeys(_header(path), "VARCHAR")}
        case File(path, _):
            return {"path": path}


def _header(path: str) -> list[str]:
    """Return the column names of a CSV file: its first line, which is public."""
    with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file), [])
    if not names or len(set(map(str.casefold, names))) != len(names):
        raise ValueError
    return names
