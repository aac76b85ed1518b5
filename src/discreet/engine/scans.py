"""Tables as DuckDB reaches them: files that are read in place, frames, and public tables that were read before."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engine.dialect import Form, Held, Origin
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.reading import fits
from discreet.engine.source import File, Frame, header_of
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration, Unavailable

if TYPE_CHECKING:
    import duckdb

_PARQUET = "read_parquet({path}, hive_partitioning = false)"
# Every cell of a CSV file is a text, and a line that does not fit is cut, filled or skipped: nothing in it can raise.
_CSV = (
    "read_csv({path}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
    "columns = {header}, strict_mode = false, ignore_errors = true, null_padding = true, parallel = false)"
)
_INTEGERS = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT"
_MILLISECONDS = "TIMESTAMP IN MILLISECONDS"  # reading one that lies too far away raises
_FORMS: dict[str, Form] = {
    **dict.fromkeys(_INTEGERS.split(), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "DECIMAL": "decimal",
    "BOOLEAN": "boolean",
    "UUID": "uuid",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "instant",
    '"NULL"': "null",
}
_UNITS: tuple[Form, ...] = ("integer", "text", "cell", "uuid", "null")
_DIALECT = DuckDBDialect()

Version = tuple[tuple[int, int, int], ...]
"""What tells one state of the files of a table from another: their sizes, times and numbers."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A table as one question reaches it, and the frame that a cursor has to know for that."""

    origin: Origin
    frames: Mapping[str, object] = field(repr=False, default_factory=dict)


def version_of(table: Table) -> Version:
    """Return the version of the files of a table; a frame is ours and has only one."""
    if not isinstance(table.source, File):
        return ()
    try:
        found = [Path(path).stat() for path in table.source.paths]
    except (OSError, ValueError):
        found = []
    if not found:
        raise _unreachable(table)
    return tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in found)


def scan_of(table: Table, place: int, cursor: duckdb.DuckDBPyConnection) -> Scan:
    """Return a table as a question reaches it whose scan number this is, or say what does not fit; by schemas alone."""
    found = _described(table, place, cursor)
    for column in (*table.columns, *([table.unit] if table.unit is not None else [])):
        if column not in found.origin.columns:
            raise Unavailable(
                f"the source of table {table.name!r} has no column {column!r}, in these letters. Nothing was spent."
            )
    for column, domain in table.columns.items():
        held = found.origin.columns[column]
        if not fits(domain, held):
            raise NeedsDeclaration(
                f"column {column!r} of table {table.name!r} holds {_spoken(held)}, which a dc.{type(domain).__name__} "
                "does not read; declare it as what it holds, or convert it in the source."
            )
        _check_zone(table, column, domain, cursor)
    unit = found.origin.unit
    if unit is not None and unit.form not in _UNITS:
        raise NeedsDeclaration(
            f"the unit {table.unit!r} of table {table.name!r} holds {_spoken(unit)}; a unit is a whole number, a text "
            "or a UUID: convert it in the source."
        )
    return found


def check_units(tables: Sequence[Table], scans: Sequence[Scan]) -> None:
    """Refuse tables whose units are of different kinds: 7 and '007' are not known to be one person."""
    private = [(t, s.origin.unit) for t, s in zip(tables, scans, strict=True) if not t.public and s.origin.unit]
    forms = {"text" if unit.form == "cell" else unit.form for _, unit in private} - {"null"}
    if len(forms) > 1:
        named = " and ".join(table.name for table, _ in private)
        raise NeedsDeclaration(
            f"the units of {named} are of different types ({', '.join(sorted(forms))}) and cannot be compared; convert "
            "them to one type in the sources."
        )


def _described(table: Table, place: int, cursor: duckdb.DuckDBPyConnection) -> Scan:
    import duckdb

    frames: dict[str, object] = {}
    reached, parameters = f"frame_{place}", dict[str, object]()
    try:
        match table.source:
            case Frame(rows=rows):
                frames = {f"frame_{place}": rows}
                cursor.register(*next(iter(frames.items())))
                types = _types(cursor, reached, parameters)
            case File() as source:
                reached, parameters, types = _files(source, place, cursor)
            case _:
                raise AssertionError(table.source)
    except (duckdb.Error, OSError, ValueError, csv.Error):
        types = {}
    if not types:
        raise _unreachable(table)
    is_csv = isinstance(table.source, File) and table.source.format == "csv"
    held = {name: _held(name, type_, is_csv=is_csv) for name, type_ in types.items()}
    unit = held.get(table.unit) if table.unit is not None else None
    return Scan(Origin(reached, held, unit, parameters), frames)


def _files(
    source: File, place: int, cursor: duckdb.DuckDBPyConnection
) -> tuple[str, dict[str, object], dict[str, str]]:
    """Return how files are reached, and the types of their columns: those of the first, and all others have them."""
    path, parameters = f"$file_{place}", dict[str, object]()
    if source.format == "csv":
        headers = [header_of(one) for one in source.paths]
        if any(header != headers[0] for header in headers):
            raise ValueError
        reached = _CSV.format(path=path, header=f"$header_{place}")
        parameters[f"header_{place}"] = dict.fromkeys(headers[0], "VARCHAR")
        types = dict.fromkeys(headers[0], "VARCHAR")
    else:
        reached = _PARQUET.format(path=path)
        every = [_types_in(one, cursor) for one in source.paths]
        types = every[0]
        if any(other != types for other in every):
            raise ValueError
    return reached, parameters | {f"file_{place}": list(source.paths)}, types


_seen: dict[tuple[str, int, int], dict[str, str]] = {}
_SEEN = 1024  # files


def _types_in(path: str, cursor: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the types of the columns of a Parquet file: looked at once, until it is another file.

    Instants in milliseconds are of a type of their own: reading one that lies too far away would raise.
    """
    found = Path(path).stat()
    key = (path, found.st_size, found.st_mtime_ns)
    known = _seen.get(key)
    if known is None:
        known = _types(cursor, _PARQUET.format(path="$path"), {"path": [path]})
        schema = "SELECT name FROM parquet_schema($path) WHERE converted_type = 'TIMESTAMP_MILLIS'"
        milliseconds = {str(row[0]) for row in cursor.execute(schema, {"path": path}).fetchall()}
        known = {name: _MILLISECONDS if name in milliseconds else type_ for name, type_ in known.items()}
        if len(_seen) >= _SEEN:
            _seen.clear()
        _seen[key] = known
    return known


def _types(cursor: duckdb.DuckDBPyConnection, reached: str, parameters: Mapping[str, object]) -> dict[str, str]:
    rows = cursor.execute(f"DESCRIBE SELECT * FROM {reached}", dict(parameters)).fetchall()
    return {str(row[0]): str(row[1]) for row in rows}


def _held(name: str, found: str, *, is_csv: bool) -> Held:
    kind = "nested" if found.endswith("]") else found.partition("(")[0]
    form: Form = "cell" if is_csv else _FORMS.get(kind, "other")
    return Held(f"s.{_DIALECT.quoted(name)}", form, kind)


def _check_zone(table: Table, column: str, domain: object, cursor: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    zone = getattr(domain, "zone", None)
    if zone is None:
        return
    try:
        cursor.execute("SELECT timezone($zone, make_timestamptz(0))", {"zone": zone}).fetchall()
    except duckdb.Error:
        zone = None
    if zone is None:
        raise NeedsDeclaration(
            f"column {column!r} of table {table.name!r} declares a time zone that DuckDB does not know; write the name "
            "of its place, for instance 'Europe/Zurich'."
        )


def _spoken(held: Held) -> str:
    return held.type if held.type.replace(" ", "").replace("_", "").isalnum() else "values of a type of its own"


def _unreachable(table: Table) -> Unavailable:
    return Unavailable(f"the source of table {table.name!r} cannot be reached or read. Nothing was spent.")
