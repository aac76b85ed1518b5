"""Wrong ways to use DuckDB that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from discreet.engine.dialect import Held
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.emit import Writer


class TwicePlaced(DuckDBDialect):
    """A declared value stands twice in the list that rows are joined with: a row counts twice."""

    def looked_up(self, alias: str, value: str, keys: Sequence[Any], places: Sequence[Any], writer: Writer) -> str:
        join = super().looked_up(alias, value, keys, places, writer)
        name = f"list_{alias}"
        writer.bindings.lists[name] = pa.concat_tables([writer.bindings.lists[name]] * 2)
        return join


class Raising(DuckDBDialect):
    """Casts a number before it compares it with its bounds."""

    def from_real(self, real: str) -> str:
        return f"CAST({real} AS BIGINT)"

    def real(self, held: Held) -> str:
        return f"CAST({held.sql} AS INTEGER)"


class Splicing(DuckDBDialect):
    """Writes a parameter's text into the SQL."""

    def parameter(self, name: str) -> str:
        return f"'{name}'"


def unlocked(paths: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """A connection as it comes."""
    return duckdb.connect(":memory:")


def locked_for_one(paths: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Settings that hold for the connection that made them, and not for its cursors."""
    connection = duckdb.connect(":memory:")
    connection.execute("SET python_enable_replacements = false").fetchall()
    return connection.cursor()


class OneConnection:
    """All questions share a connection: what one leaves in it, the next one finds."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection
