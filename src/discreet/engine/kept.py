"""What DuckDB keeps in memory from one question to the next, so that a later one does not put a unit's rows together
again: how many rows each unit has, the declared columns as small integers, and rows of units and groups.

Nothing that is kept leaves the instance but by bounded queries, and what is asked of it is what would be asked of the
files: it is a copy of integers that every question reads alike. It is of one version of the files, and not used for
another. It takes at most a share of the memory; what does not fit is not kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.engine.relation import Statement

if TYPE_CHECKING:
    import duckdb

SHARE = 4  # a quarter of the memory
MOST = 64  # tables, however small


@dataclass(slots=True)
class Made:
    """One table that is kept: its name, what it takes, who uses it, and what is to be known about it."""

    name: str
    size: int
    about: object
    users: int = 0
    used: int = 0


@dataclass(slots=True)
class Kept:
    """The tables that one instance keeps, the one used last the longest; `most` is what they may take, in bytes."""

    most: int
    _made: dict[object, Made] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _next: int = 0

    @contextmanager
    def using(
        self,
        key: object,
        how: tuple[Statement, object],
        cursor: duckdb.DuckDBPyConnection,
        *,
        fast: bool = False,
    ) -> Iterator[Made]:
        """Give the table of a key, made by a statement if there is none yet; it stays for as long as it is used.

        `how` is that statement, and what is to be known about the table.
        """
        with self._lock:
            made = self._made.get(key) or self._make(key, *how, cursor, fast=fast)
            self._use(made)
        try:
            yield made
        finally:
            with self._lock:
                made.users -= 1
                self._trim(cursor)

    @contextmanager
    def held(self, key: object) -> Iterator[Made | None]:
        """Give the table of a key for as long as it is used, or None where there is none, or none any more."""
        with self._lock:
            made = self._made.get(key)
            if made is not None:
                self._use(made)
        try:
            yield made
        finally:
            if made is not None:
                with self._lock:
                    made.users -= 1

    def _use(self, made: Made) -> None:
        made.users += 1
        self._next += 1
        made.used = self._next

    def find(self, key: object) -> Made | None:
        """Return the table of a key, if there is one."""
        with self._lock:
            return self._made.get(key)

    def known(self) -> list[object]:
        """Return the keys of all tables."""
        with self._lock:
            return list(self._made)

    def _make(
        self, key: object, statement: Statement, about: object, cursor: duckdb.DuckDBPyConnection, *, fast: bool
    ) -> Made:
        self._next += 1
        name = f"kept_{self._next}"
        for listed, rows in statement.lists.items():
            cursor.register(listed, rows)
        if fast:  # counting by numbers in a small range needs an array, and no table; of one count it stays small
            cursor.execute("SET perfect_ht_threshold = 22").fetchall()
        try:
            cursor.execute(f"CREATE TABLE {name} AS {statement.text}", dict(statement.parameters)).fetchall()
        finally:
            if fast:
                cursor.execute("SET perfect_ht_threshold = 12").fetchall()
        made = Made(name, _size(name, cursor), about)
        self._made[key] = made
        return made

    def _trim(self, cursor: duckdb.DuckDBPyConnection) -> None:
        idle = [(made.used, key) for key, made in self._made.items() if not made.users]
        for _, key in sorted(idle, key=lambda each: each[0]):
            if len(self._made) <= MOST and sum(made.size for made in self._made.values()) <= self.most:
                return
            cursor.execute(f"DROP TABLE {self._made.pop(key).name}").fetchall()


_WIDTHS: Mapping[str, int] = {"TINYINT": 1, "SMALLINT": 2, "INTEGER": 4, "BOOLEAN": 1, "HUGEINT": 16, "VARCHAR": 32}


def _size(name: str, cursor: duckdb.DuckDBPyConnection) -> int:
    """Return about how many bytes a table takes."""
    columns = cursor.execute(f"DESCRIBE {name}").fetchall()
    rows = cursor.execute(f"SELECT COUNT(*) FROM {name}").fetchall()
    return int(rows[0][0]) * sum(_WIDTHS.get(str(column[1]), 8) for column in columns)
