"""The rows inside one transaction of a database: the same few statements for every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from discreet.ledger.rows import COLUMNS, Row

_COLUMNS = ", ".join(COLUMNS)


class SqlRows:
    """Rows behind `execute(sql, values)`, which takes ? for each value and returns a cursor."""

    def __init__(self, execute: Callable[[str, Sequence[object]], Any], *, table: str = "entry") -> None:
        self._execute, self._table = execute, table

    def last(self, kind: str | None = None, analyst: str | None = None) -> Row | None:
        given = [(name, value) for name, value in (("kind", kind), ("analyst", analyst)) if value is not None]
        where = "WHERE " + " AND ".join(f"{name} = ?" for name, _ in given) if given else ""
        return self._row(f"{where} ORDER BY number DESC LIMIT 1", *(value for _, value in given))

    def find(self, kind: str, key: str) -> Row | None:
        return self._row("WHERE kind = ? AND key = ?", kind, key)

    def after(self, number: int) -> Iterator[Row]:
        sql = f"SELECT {_COLUMNS} FROM {self._table} WHERE number > ? ORDER BY number"
        return (Row(*row) for row in self._execute(sql, (number,)))

    def answers(self, body: str) -> list[bytes]:
        sql = f"SELECT answer FROM {self._table} WHERE body = ? AND kind = 'answer' ORDER BY number"
        return [bytes(row[0]) for row in self._execute(sql, (body,))]

    def append(self, row: Row) -> None:
        values = [getattr(row, column) for column in COLUMNS]
        marks = ", ".join("?" * len(values))
        self._execute(f"INSERT INTO {self._table} ({_COLUMNS}) VALUES ({marks})", values)

    def one(self, sql: str, *values: object) -> tuple[object, ...] | None:
        """Return the first row of a statement."""
        row = self._execute(sql, values).fetchone()
        return None if row is None else tuple(row)

    def _row(self, condition: str, *values: str) -> Row | None:
        row = self.one(f"SELECT {_COLUMNS} FROM {self._table} {condition}", *values)
        return None if row is None else Row(*row)  # type: ignore[arg-type]
