"""Spark: the caller's own session runs the statements; its settings are not touched, and nothing stays behind in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

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
from discreet.engine.reading import fits
from discreet.engine.relation import Statement
from discreet.engine.source import SparkTable
from discreet.engine.spark_sql import SparkDialect
from discreet.engine.statements import statements
from discreet.engine.table import Table
from discreet.errors import Failed, InvalidParameter, NeedsDeclaration, NotSupported, Unavailable

_FORMS: dict[str, Form] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    "decimal": "decimal",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp_ntz": "timestamp",
    "timestamp": "instant",
    "void": "null",
}
_CHARACTERS = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark says that a text is padded or cut to a length


class Spark:
    """The engine of the tables of one Spark session.

    Guarantee: the session runs statements written here and none of anyone else's text; no setting of it is changed or
      relied on; temporary views have names that nobody can guess and are dropped before the answer is returned; nothing
      that Spark says reaches the caller.
      The caller must ensure that a DataFrame is a function of its source: what is computed again on a worker that was
      lost has to be the same.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        sources = [table.source for table in tables if isinstance(table.source, SparkTable)]
        if not sources or len(sources) < len(tables):
            raise InvalidParameter("a Spark engine has tables of a Spark session.")
        self._session: Any = sources[0].session
        if type(self._session).__module__.startswith("pyspark.sql.connect"):
            raise NotSupported("Spark Connect is not supported: make the tables in a session of the cluster itself.")
        if any(source.session._jsparkSession != self._session._jsparkSession for source in sources):
            raise InvalidParameter("the tables of one session are in one Spark session; make them all in the same.")
        self._first = tables[0]
        self._secret = system().integer(64) - (1 << 63)  # a BIGINT: which groups of a unit count

    def schema(self, relation: Relation) -> None:
        with self._reached(relation.scans, visible=bool(relation.joins)) as (origins, dialect):
            self._check_fan_outs(relation, origins, dialect)

    def run(self, query: BoundedQuery) -> Groups:
        groups: Groups | None = None
        reached = self._reached(query.plan.relation.scans)
        with suppress(*_errors(), Unavailable, NeedsDeclaration), reached as (origins, dialect):
            self._check_fan_outs(query.plan.relation, origins, dialect)
            made = statements(query, origins, dialect, secret=self._secret)
            groups = assembled(query, [(each, self._returned(each)) for each in made])
        if groups is None:
            raise Failed
        return groups

    def _check_fan_outs(self, relation: Relation, origins: Sequence[Origin], dialect: SparkDialect) -> None:
        for scan, columns, most in public_joins(relation):
            if self._fan_out(relation.scans[scan], columns, origins[scan], dialect) > most:
                raise changed(relation.scans[scan])

    def fan_out(self, table: Table, columns: Sequence[str]) -> int:
        """Return how many rows of a public table have the same values in some columns, at most."""
        found = None
        with suppress(*_errors()), self._reached([table]) as ((origin,), dialect):
            found = self._fan_out(table, columns, origin, dialect)
        if found is None:
            raise unreachable(table)
        return found

    def _fan_out(self, table: Table, columns: Sequence[str], origin: Origin, dialect: SparkDialect) -> int:
        return int(self._returned(most_alike(table, columns, origin, dialect))["n"][0])

    def counted(self, table: Table, write: Callable[[Origin, Dialect], Sequence[Statement]]) -> list[dict[str, Any]]:
        """Return what statements about one table return, for the eyes of its curator."""
        found: list[dict[str, Any]] = []
        with suppress(*_errors()), self._reached([table]) as ((origin,), dialect):
            found = [self._returned(each) for each in write(origin, dialect)]
        if not found:
            raise unreachable(table)
        return found

    def close(self) -> None:
        """The session is the caller's, and nothing is kept in it from one question to the next."""

    @contextmanager
    def _reached(self, tables: Sequence[Table], *, visible: bool = True) -> Iterator[tuple[list[Origin], SparkDialect]]:
        """Name tables in the session, by their schemas alone; then forget the names."""
        dialect = SparkDialect(f"v{system().integer(128):032x}_")
        origins: list[Origin] = []
        try:
            for place, table in enumerate(tables):
                origins.append(self._origin(table, f"{dialect.prefix}{place}", visible=visible))
            check_units(tables, origins)
            yield origins, dialect
        finally:
            for place in range(len(tables) if visible else 0):
                self._session.catalog.dropTempView(f"{dialect.prefix}{place}")

    def _origin(self, table: Table, name: str, *, visible: bool) -> Origin:
        fields: list[Any] = []
        with suppress(*_errors()):
            frame = self._frame(table)
            fields = list(frame.schema.fields)
            if visible:
                frame.toDF(*_names(len(fields))).createOrReplaceTempView(name)  # no name of a source stands in SQL
        listed = [field.name for field in fields]
        if not fields or len({one.casefold() for one in listed}) < len(listed):
            raise unreachable(table)
        columns = dict(zip(listed, map(_held, fields, _names(len(fields))), strict=True))
        origin = origin_of(table, name, columns)
        for column, domain in table.columns.items():
            if not fits(domain, columns[column]):
                raise misfit(table, column, columns[column])
            if isinstance(domain, dp.Datetime) and not self._knows(domain.zone):
                raise unknown_zone(table, column, "Spark")
        return origin

    def _frame(self, table: Table) -> Any:
        source = table.source
        assert isinstance(source, SparkTable)
        if source.table is None:
            return source.frame
        return self._session.table(".".join("`" + part.replace("`", "``") + "`" for part in source.parts))

    def _knows(self, zone: str) -> bool:
        """Return whether a zone is a place that Java knows: EST alone is an offset there."""
        found = False
        if "/" in zone or zone == "UTC":
            with suppress(*_errors()):
                found = self._session._jvm.java.time.ZoneId.of(zone) is not None
        return found

    def _returned(self, statement: Statement) -> dict[str, Any]:
        """Run a statement and return its columns; the lists that it joins are views for so long."""
        import pyarrow as pa

        try:
            for name, (keys, places) in _lists(statement).items():
                of_text = bool(keys) and isinstance(keys[0], str)
                parts = {"key": pa.array(keys, pa.string() if of_text else pa.int64())}
                parts["place"] = pa.array(places, pa.int64())
                listed = self._session.createDataFrame(
                    pa.table(parts), f"key {'string' if of_text else 'bigint'}, place bigint"
                )
                listed.createOrReplaceTempView(name)
            found = self._session.sql(statement.text, args=dict(statement.parameters)).toArrow()
        finally:
            for name in statement.lists:
                self._session.catalog.dropTempView(name)
        return by_column(found.column_names, [column.to_pylist() for column in found.columns])


def _lists(statement: Statement) -> Mapping[str, Any]:
    return statement.lists


def _errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, ConnectionError


def _names(count: int) -> list[str]:
    return [f"k{place}" for place in range(count)]


def _held(field: Any, name: str) -> Held:
    """Return a column as Spark has it. CHAR(n) is padded: 'a' and 'a ' are one; a collation is made binary."""
    kind = str(field.dataType.simpleString())
    plain = kind.partition("(")[0].partition(" ")[0]
    form = _FORMS.get(plain, "other")
    if str((field.metadata or {}).get(_CHARACTERS, "")).startswith("char"):
        return Held(f"s.{name}", "other", "char")
    return Held(f"s.{name}", form, kind if form == "text" else plain)
