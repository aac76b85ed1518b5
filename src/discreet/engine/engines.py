"""Which engine runs the questions of a session: the one where its rows are."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engine.backend import Engine
from discreet.engine.source import Database, SparkTable
from discreet.engine.table import Table
from discreet.errors import NotSupported


def engine_for(tables: Sequence[Table]) -> Engine:
    """Return the engine of some tables: DuckDB for files and frames, PostgreSQL and Spark for their own.

    It is opened by its first question.
    """
    places = {_place(table) for table in tables}
    if len(places) > 1:
        raise NotSupported(
            f"the tables of a session are in one place, and these are in {' and '.join(sorted(places))}: copy the "
            "public ones to where the private ones are."
        )
    match places.pop():
        case "PostgreSQL":
            from discreet.engine.postgres import Postgres

            return Postgres(tables)
        case "Spark":
            from discreet.engine.spark import Spark

            return Spark(tables)
        case _:
            from discreet.engine.duckdb import DuckDB

            return DuckDB(tables)


def _place(table: Table) -> str:
    match table.source:
        case Database():
            return "PostgreSQL"
        case SparkTable():
            return "Spark"
        case _:
            return "files and frames"
