"""One suite for every engine: rows that are put where an engine finds them, and what it has to return for them.

place = postgres_place(server)             # or spark_place(session), duckdb_place()
table = place.table(schema, rows)          # a declared table of these rows, in that engine
place.engine([table])                      # an engine that reaches it
place.found(case)                          # the public groups of a random case, or the units of its private keys
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from discreet import dp
from discreet.engine.backend import Engine, Groups
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.engines import engine_for
from discreet.engine.table import Table
from tests.plan_schemas import Row, Schema
from tests.plans import Case, Rows_
from tests.servers import Postgres

_names = itertools.count()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine's rows are. `put` takes them there and returns the arguments of a table that finds them."""

    name: str
    put: Callable[[pa.Table], dict[str, Any]]

    def table(self, schema: Schema, rows: list[Row]) -> Table:
        return schema_over(schema, self.put(schema.arrow(rows)))

    def query(self, case: Case, neighbours: dp.Neighbours, rows: Rows_ | None = None) -> BoundedQuery | None:
        """The bounded query of a case over tables of this place; None where it is refused."""
        if case.query(neighbours) is None:
            return None
        parts = rows if rows is not None else case.rows
        scans = tuple(self.table(schema, part) for schema, part in zip(case.schemas, parts, strict=True))
        plan = replace(case.plan, relation=replace(case.plan.relation, scans=scans))
        asked = {"groups_per_unit": case.groups_per_unit, "rows_per_group": case.rows_per_group}
        return bound(plan, neighbours=neighbours, **asked)

    @contextmanager
    def engine(self, tables: Sequence[Table]) -> Iterator[Engine]:
        engine = engine_for(tables)
        try:
            yield engine
        finally:
            engine.close()

    def run(self, query: BoundedQuery) -> Groups:
        """Check the schema of a query and run it, as a session does."""
        relation = query.plan.relation
        with self.engine(relation.scans) as engine:
            engine.schema(relation)
            return engine.run(query)


def schema_over(schema: Schema, source: dict[str, Any]) -> Table:
    return Table(
        **source,
        columns={field.name: field.domain for field in schema.fields},
        unit="u" if schema.unit else None,
        rows_per_unit=schema.rows_per_unit,
        groups_per_unit=schema.groups_per_unit,
        rows_per_group=schema.rows_per_group,
        public=schema.public,
        name=schema.name,
    )


def duckdb_place() -> Place:
    return Place("duckdb", lambda rows: {"source": rows})


_POSTGRES = {
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.string(): "text",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}


def postgres_place(server: Postgres) -> Place:
    def put(rows: pa.Table) -> dict[str, Any]:
        name = f"t{next(_names)}"
        columns = {field.name: _of_postgres(field.type) for field in rows.schema}
        server.load(name, columns, [tuple(row.values()) for row in rows.to_pylist()])
        return {"source": server.url, "table": name}

    return Place("postgres", put)


def _of_postgres(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _POSTGRES[kind]


_SPARK = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp_ltz",
}


def spark_place(session: Any) -> Place:
    def put(rows: pa.Table) -> dict[str, Any]:
        kinds = ", ".join(f"`{field.name}` {_of_spark(field.type)}" for field in rows.schema)
        return {"source": session.createDataFrame(rows, kinds)}

    return Place("spark", put)


def _of_spark(kind: pa.DataType) -> str:
    return f"decimal({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _SPARK[kind]
