"""Public tables: read once, column by column as any table is, and then a small table of integers in memory.

They protect nobody, so their size and what they hold may decide what a question costs and whether it is refused.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.engine.dialect import Held, Origin
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.emit import Bindings
from discreet.engine.expression import Column, Free
from discreet.engine.locked import Locked, memory_limit
from discreet.engine.plan import Relation
from discreet.engine.relation import rows_of
from discreet.engine.scans import Version, scan_of, version_of
from discreet.engine.source import File, Frame
from discreet.engine.table import Table
from discreet.errors import NotSupported, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 5_000_000
_KEPT = 64  # tables in memory
_cache: OrderedDict[int, tuple[Table, Version, pa.Table]] = OrderedDict()
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child never finds it held by a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def public_rows(table: Table) -> pa.Table:
    """Return a public table in which every declared column is the integer, or the text, that it is read into."""
    version = version_of(table)
    with _lock:
        known = _cache.get(id(table))
        if known is not None and known[0] is table and known[1] == version:
            _cache.move_to_end(id(table))
            return known[2]
        rows = _read(table)
        _cache[id(table)] = (table, version, rows)
        while len(_cache) > _KEPT:
            _cache.popitem(last=False)
        return rows


def public_origin(table: Table, place: int) -> tuple[Origin, Mapping[str, object]]:
    """Return a public table as DuckDB reaches it, from memory, and the frame to register."""
    dialect, name = DuckDBDialect(), f"public_{place}"
    columns = {column: Held(f"s.{dialect.quoted(column)}", "read") for column in table.columns}
    return Origin(name, columns, None, {}), {name: public_rows(table)}


def fan_out(table: Table, columns: Sequence[str]) -> int:
    """Return how many rows of a public table one row finds at most that is joined on these columns; 1 at least.

    Rows in which one of them is NULL are never found.
    """
    return fan_out_of(public_rows(table), columns)


def fan_out_of(rows: pa.Table, columns: Sequence[str]) -> int:
    """Return the same for rows that were read."""
    keys = rows.select(list(columns)).drop_null()
    if not columns or not keys.num_rows:
        return max(1, int(keys.num_rows))
    counted = keys.group_by(list(columns)).aggregate([([], "count_all")])
    return max(1, *map(int, counted["count_all"].to_pylist()))


def _read(table: Table) -> pa.Table:
    import duckdb

    if not isinstance(table.source, File | Frame):
        raise NotSupported(f"the public table {table.name!r} is read from files or a frame; give it as one of these.")
    instance = Locked(table.source.paths if isinstance(table.source, File) else (), memory_limit())
    try:
        cursor = instance.cursor()
        scan = scan_of(table, 0, cursor)
        for name, frame in scan.frames.items():
            cursor.register(name, frame)
        columns = {name: Column(0, name, domain, Free()) for name, domain in table.columns.items()}
        bindings = Bindings()
        rows = rows_of(Relation((table,)), {0: columns}, [scan.origin], DuckDBDialect(), bindings)
        for name, listed in bindings.lists.items():
            cursor.register(name, listed)
        named = ", ".join(f"{rows.writer.names[0, name]} AS {DuckDBDialect().quoted(name)}" for name in columns)
        text = f"SELECT {named} FROM ({rows.text}) AS r LIMIT {MOST_ROWS + 1}"
        try:
            read = cursor.sql(text, params=bindings.parameters).to_arrow_table()
        except duckdb.Error:
            read = None
    finally:
        instance.close()
    if read is None:
        raise Unavailable(f"the public table {table.name!r} could not be read.")
    if read.num_rows > MOST_ROWS:
        raise NotSupported(f"the public table {table.name!r} has more than {MOST_ROWS:,} rows, which is the most.")
    return read
