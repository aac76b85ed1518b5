"""How a question uses what DuckDB keeps, and what it leaves for the next: one copy for each way to bound units.

| form            | kept                                                     | used by later questions with            |
|-----------------|----------------------------------------------------------|-----------------------------------------|
| weighted        | the weights of the rows of all units                     | the same tables and joins               |
| weighted        | columns as small integers, each row with that weight     | the same table and some of the columns  |
| groups, sampled | rows of units and groups, with their ranks where sampled | the same WHERE and keys                 |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.engine.bound import BoundedQuery
from discreet.engine.dialect import Held, Origin
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.emit import Bindings
from discreet.engine.expression import Coded, Column, Day, Expression, Free, Instant, Number, Truth
from discreet.engine.identity import grouping, joining
from discreet.engine.kept import Kept
from discreet.engine.parts import Parts
from discreet.engine.plan import Distinct, Rows, Units
from discreet.engine.relation import Statement, needed, rows_of
from discreet.engine.scans import version_of
from discreet.engine.statements import plain_measures, statements, unit_rows, values_of

if TYPE_CHECKING:
    import duckdb

_DIALECT = DuckDBDialect()


@dataclass(frozen=True, slots=True)
class Reuse:
    """One question, the tables as it reaches them, and what its instance keeps."""

    query: BoundedQuery
    origins: Sequence[Origin]
    kept: Kept
    secret: int
    versions: tuple[object, ...]

    @classmethod
    def of(cls, query: BoundedQuery, origins: Sequence[Origin], kept: Kept, secret: int) -> Reuse:
        """Return how a question uses what is kept of these versions of its tables."""
        scans = query.plan.relation.scans
        return cls(query, origins, kept, secret, tuple((table, version_of(table)) for table in scans))

    @contextmanager
    def statements(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Statement, ...]]:
        """Give the statements of the question, for as long as what they read is kept."""
        query, secret = self.query, self.secret
        if query.form == "weighted":
            digest = self._digest()
            with self.kept.held(digest[0] if digest is not None else None) as made:
                if digest is not None and made is not None:
                    yield statements(query, [digest[1]], _DIALECT, secret=secret)
                    return
            with self._counted(cursor) as counted:
                yield statements(query, self.origins, _DIALECT, secret=secret, counted=counted)
        elif query.form in ("groups", "sampled") and plain_measures(query) and self.origins[0].unit is not None:
            with self._united(cursor) as united:
                yield statements(query, self.origins, _DIALECT, secret=secret, united=united)
        else:
            yield statements(query, self.origins, _DIALECT, secret=secret)

    @property
    def is_digestible(self) -> bool:
        """Whether the columns of this question can be kept for later ones, and are not."""
        relation = self.query.plan.relation
        one = self.query.form == "weighted" and len(relation.scans) == 1
        return one and self._columns() is not None and self._digest() is None

    def digest(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Keep the columns of this question, and those that are kept already, as small integers."""
        columns = self._columns()
        assert columns is not None
        for _, about in self._digests():
            columns = {**about, **columns}
        key = ("digest", self.versions, frozenset(columns))
        with self._counted(cursor) as counted:
            how = self._digest_statement(columns, counted), columns
            with self.kept.using(key, how, cursor):
                return

    def _columns(self) -> dict[str, Column] | None:
        """Return the columns of the question, or None if one is a text, or if units are needed beside them."""
        if any(isinstance(bounded.measure, Distinct) for bounded in self.query.measures):
            return None
        values = [measure.expression for measure in self.query.plan.measures if not isinstance(measure, Rows | Units)]
        columns = needed(self.query.plan, values)[0]
        return None if any(isinstance(column.kind, Free) for column in columns.values()) else columns

    def _digests(self) -> list[tuple[object, Mapping[str, Column]]]:
        found = list[tuple[object, Mapping[str, Column]]]()
        for key in self.kept.known():
            made = self.kept.find(key)
            if isinstance(key, tuple) and key[:2] == ("digest", self.versions) and made is not None:
                assert isinstance(made.about, Mapping)
                found.append((key, made.about))
        return found

    def _digest(self) -> tuple[object, Origin] | None:
        """Return what is kept of the columns of this question, as a table."""
        columns = self._columns() if len(self.query.plan.relation.scans) == 1 else None
        for key, about in self._digests() if columns is not None else []:
            made = self.kept.find(key)
            if columns is not None and made is not None and columns.keys() <= about.keys():
                held = {
                    name: Held(
                        f"s.k{place}" if isinstance(column.kind, Truth) else f"CAST(s.k{place} AS BIGINT)", "read"
                    )
                    for place, (name, column) in enumerate(sorted(about.items()))
                }
                return key, Origin(made.name, held, None, {}, weight="s.w")
        return None

    def _digest_statement(self, columns: Mapping[str, Column], counted: str) -> Statement:
        relation, bindings = self.query.plan.relation, Bindings()
        rows = rows_of(relation, {0: columns}, self.origins, _DIALECT, bindings)
        listed = "".join(
            f"{_small(rows.writer.names[0, name], column)} AS k{place}, "
            for place, (name, column) in enumerate(sorted(columns.items()))
        )
        text = f"SELECT {listed}h.w AS w FROM ({rows.text}) AS b JOIN {counted} AS h ON b.u0 = h.u"
        return Statement(text, (), bindings.parameters, bindings.lists)

    @contextmanager
    def _counted(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[str]:
        bindings = Bindings()
        text = Parts(self.query, self.origins, _DIALECT, self.secret).weights(bindings)
        key = ("counted", self.versions, joining(self.query.plan.relation), text)  # a constant is not in the text
        small = f"SELECT u, CAST(w AS INTEGER) AS w FROM ({text}) AS h"
        statement = Statement(small, (), bindings.parameters, bindings.lists)
        with self.kept.using(key, (statement, None), cursor, fast=True) as made:
            yield made.name

    @contextmanager
    def _united(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, Mapping[Expression, str]]]:
        """Give rows of units and groups with the values of the question, made from the files if none has all."""

        def made_of(values: Sequence[Expression]) -> tuple[Statement, Mapping[Expression, str]]:
            return unit_rows(self.query, self.origins, _DIALECT, secret=self.secret, values=values)

        bare = made_of(())[0]
        family = (self.query.form, self.versions, grouping(self.query.plan), bare.text)
        values = dict.fromkeys(values_of(self.query))
        for key in self.kept.known():
            made = self.kept.find(key)
            if isinstance(key, tuple) and key[: len(family)] == family and made is not None:
                assert isinstance(made.about, Mapping)
                if values.keys() <= made.about.keys():
                    values = dict.fromkeys(made.about)
                    break
        every = tuple(values)
        statement, names = made_of(every)
        with self.kept.using((*family, every), (statement, names), cursor) as made:
            yield made.name, names


def _wide(name: str, column: Column) -> str:
    return name if isinstance(column.kind, Truth) else f"CAST({name} AS BIGINT)"


def _small(name: str, column: Column) -> str:
    match column.kind:
        case Number(_, low, high) | Day(low, high) | Instant(low, high, _):
            return _DIALECT.narrow(name, low, high)
        case Coded(domain):
            return _DIALECT.narrow(name, 0, domain.declared - 1)
        case _:
            return name
