"""PostgreSQL: a connection for every question, that reads in one snapshot and cannot write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from discreet import dp
from discreet.dp.randomness import system
from discreet.engine.assemble import assembled
from discreet.engine.backend import Groups
from discreet.engine.bound import BoundedQuery
from discreet.engine.dialect import Dialect, Form, Held, Origin
from discreet.engine.fitting import (
    by_column,
    changed,
    check_units,
    misfit,
    most_alike,
    origin_of,
    public_joins,
    unknown_zone,
    unreachable,
)
from discreet.engine.plan import Relation
from discreet.engine.postgres_sql import PostgresDialect
from discreet.engine.reading import fits
from discreet.engine.relation import Statement
from discreet.engine.source import Database
from discreet.engine.statements import statements
from discreet.engine.table import Table
from discreet.errors import Failed, InvalidParameter, NeedsDeclaration, Unavailable

if TYPE_CHECKING:
    import psycopg

STATEMENT_SECONDS = 600
"""How long one statement may run."""
OLDEST = 14_00_00  # its extract() is exact
_SECONDS = 10  # to reach a server, where the URL does not say

# Read back before the first use, as pg_settings has them.
_SETTINGS: dict[str, str] = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",  # one snapshot for all statements of a question
    "search_path": "pg_catalog",  # no function or operator of anyone else; tables are named with their schema
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "jit": "off",  # it compiles for longer than these statements run
    "enable_sort": "off",  # but where it is written: how many groups there are is not known of an expression
}
_FORMS: dict[str, Form] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("text", "varchar"), "text"),  # char(n) is padded: 'a' and 'a ' are one
    "numeric": "decimal",
    "bool": "boolean",
    "uuid": "uuid",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "instant",
}
# A domain is read as the type that it restricts, an enumeration as text.
_COLUMNS = """
SELECT a.attname, COALESCE(b.typname, t.typname), COALESCE(b.typtype, t.typtype) = 'e',
       COALESCE(b.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace
FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_type AS b ON t.typtype = 'd' AND b.oid = t.typbasetype
WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
  AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
"""


class Postgres:
    """The engine of the tables of one server.

    Guarantee: a question is answered from one snapshot, in a transaction that is READ ONLY, by statements written here;
      nothing that the server or the driver says reaches the caller, and no address or password either.
      The caller should name a role that may read these tables and nothing else: what an engine cannot do, nobody can
      make it do.
    """

    def __init__(self, tables: Sequence[Table], *, statement_seconds: int = STATEMENT_SECONDS) -> None:
        sources = [table.source for table in tables]
        if not sources or not all(isinstance(source, Database) for source in sources):
            raise InvalidParameter("a PostgreSQL engine has tables of a PostgreSQL server.")
        if len({source.url for source in sources if isinstance(source, Database)}) > 1:
            raise InvalidParameter("the tables of one session are reached by one URL; write the same one for each.")
        self._first, self._seconds = tables[0], statement_seconds
        self._dialect = PostgresDialect()
        self._secret = system().integer(64) - (1 << 63)  # a BIGINT: which groups of a unit count

    def schema(self, relation: Relation) -> None:
        import psycopg

        is_read = False
        with suppress(psycopg.Error), self._connected() as cursor:
            self._check_fan_outs(cursor, relation, self._origins(cursor, relation.scans))
            is_read = True
        if not is_read:
            raise unreachable(self._first)

    def run(self, query: BoundedQuery) -> Groups:
        import psycopg

        groups: Groups | None = None
        with suppress(psycopg.Error, Unavailable, NeedsDeclaration), self._connected() as cursor:
            origins = self._origins(cursor, query.plan.relation.scans)
            self._check_fan_outs(cursor, query.plan.relation, origins)
            made = statements(query, origins, self._dialect, secret=self._secret)
            groups = assembled(query, [(each, _returned(cursor, each.text, each.parameters)) for each in made])
        if groups is None:
            raise Failed
        return groups

    def _check_fan_outs(self, cursor: psycopg.Cursor[Any], relation: Relation, origins: Sequence[Origin]) -> None:
        for scan, columns, most in public_joins(relation):
            if self._fan_out(cursor, relation.scans[scan], columns, origins[scan]) > most:
                raise changed(relation.scans[scan])

    def fan_out(self, table: Table, columns: Sequence[str]) -> int:
        """Return how many rows of a public table have the same values in some columns, at most."""
        import psycopg

        found = None
        with suppress(psycopg.Error), self._connected() as cursor:
            (origin,) = self._origins(cursor, [table])
            found = self._fan_out(cursor, table, columns, origin)
        if found is None:
            raise unreachable(table)
        return found

    def _fan_out(self, cursor: psycopg.Cursor[Any], table: Table, columns: Sequence[str], origin: Origin) -> int:
        counted = most_alike(table, columns, origin, self._dialect)
        ((found,),) = cursor.execute(counted.text, counted.parameters).fetchall()
        return int(found)

    def counted(self, table: Table, write: Callable[[Origin, Dialect], Sequence[Statement]]) -> list[dict[str, Any]]:
        """Return what statements about one table return, for the eyes of its curator."""
        import psycopg

        found = None
        with suppress(psycopg.Error), self._connected() as cursor:
            (origin,) = self._origins(cursor, [table])
            found = [_returned(cursor, each.text, each.parameters) for each in write(origin, self._dialect)]
        if found is None:
            raise unreachable(table)
        return found

    def close(self) -> None:
        """Nothing is kept from one question to the next."""

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Cursor[Any]]:
        """Open a connection with all settings made and read back, in a transaction that only reads."""
        import psycopg

        source, connection = self._first.source, None
        assert isinstance(source, Database)
        with suppress(psycopg.Error, OSError, ValueError):
            connection = self._opened(source.url)
        if connection is None:
            raise unreachable(self._first)
        with connection, connection.cursor() as cursor:
            yield cursor

    def _opened(self, url: str) -> psycopg.Connection[Any]:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        waits = conninfo_to_dict(url).get("connect_timeout", _SECONDS)
        connection = psycopg.connect(
            url, connect_timeout=waits, application_name="discreet", autocommit=True, prepare_threshold=None
        )
        wanted = _SETTINGS | {"statement_timeout": str(self._seconds * 1000)}
        set_all = "SELECT " + ", ".join(f"set_config('{name}', %({name})s, false)" for name in wanted)
        is_set = False
        try:
            connection.execute(set_all, wanted)
            read_back = "SELECT name, setting FROM pg_settings WHERE name = ANY(%(names)s)"
            found: dict[str, str] = dict(connection.execute(read_back, {"names": list(wanted)}).fetchall())
            encoding, version = connection.info.parameter_status("server_encoding"), connection.info.server_version
            is_set = found == wanted and encoding == "UTF8" and version >= OLDEST
            connection.autocommit = False
        finally:
            if not is_set:
                connection.close()
        if not is_set:
            raise ValueError
        return connection

    def _origins(self, cursor: psycopg.Cursor[Any], tables: Sequence[Table]) -> list[Origin]:
        """Return tables as this transaction reaches them, or say what does not fit; by the catalog alone."""
        origins = [self._origin(cursor, table) for table in tables]
        check_units(tables, origins)
        return origins

    def _origin(self, cursor: psycopg.Cursor[Any], table: Table) -> Origin:
        source = table.source
        assert isinstance(source, Database)
        schema, name = source.parts if len(source.parts) == 2 else ("public", *source.parts)
        rows = cursor.execute(_COLUMNS, {"schema": schema, "table": name}).fetchall()
        if not rows:
            raise unreachable(table)
        rows_of = f"{self._dialect.quoted(schema)}.{self._dialect.quoted(name)}"
        origin = origin_of(table, rows_of, {row[0]: self._held(*row) for row in rows})
        for column, domain in table.columns.items():
            if not fits(domain, origin.columns[column]):
                raise misfit(table, column, origin.columns[column])
            if isinstance(domain, dp.Datetime) and not _knows(cursor, domain.zone):
                raise unknown_zone(table, column, "PostgreSQL")
        return origin

    def _held(self, name: str, kind: str, is_listed: bool, is_of_postgres: bool) -> Held:
        form: Form = "text" if is_listed else _FORMS.get(kind, "other") if is_of_postgres else "other"
        return Held(f"s.{self._dialect.quoted(name)}", form, kind)


def _knows(cursor: psycopg.Cursor[Any], zone: str) -> bool:
    """Return whether a zone is a place that the server knows: CET alone is an offset there, and has no summer."""
    import psycopg

    if "/" not in zone and zone != "UTC":
        return False
    found = False
    with suppress(psycopg.Error):
        cursor.execute("SELECT timezone(%(zone)s, TIMESTAMPTZ 'epoch')", {"zone": zone})
        found = True
    return found


def _returned(cursor: psycopg.Cursor[Any], text: str, parameters: Mapping[str, object]) -> dict[str, Any]:
    rows = cursor.execute(text, parameters).fetchall()
    names = [column.name for column in cursor.description or ()]
    return by_column(names, zip(*rows, strict=True) if rows else [()] * len(names))
