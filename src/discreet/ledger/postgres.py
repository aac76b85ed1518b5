"""The rows of a ledger in PostgreSQL, for several servers: one schema, which nothing but this writes to.

A connection lives as long as one transaction. Writers exclude each other by an advisory lock of the transaction: who
stalls and comes back finds the transaction gone, and the lock with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.errors import InvalidParameter, LedgerError, NotSupported
from discreet.ledger.sql_rows import SqlRows

if TYPE_CHECKING:
    import psycopg

_FORMAT = 2
_OLDEST = 14_00_00  # of PostgreSQL
_PATIENCE = "60s"  # to wait for other writers
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,50}")
_SETTINGS = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "transaction_read_only": "off"}

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE {schema}.about (format BIGINT NOT NULL);
INSERT INTO {schema}.about VALUES ({format});
CREATE TABLE {schema}.entry (
    number BIGINT PRIMARY KEY, kind TEXT COLLATE "C" NOT NULL, key TEXT COLLATE "C" NOT NULL,
    analyst TEXT COLLATE "C" NOT NULL, version TEXT NOT NULL, body TEXT COLLATE "C" NOT NULL, amount TEXT NOT NULL,
    delta TEXT NOT NULL, total TEXT NOT NULL, total_delta TEXT NOT NULL, own TEXT NOT NULL, own_delta TEXT NOT NULL,
    moment TEXT NOT NULL, answer BYTEA NOT NULL, hash TEXT NOT NULL, UNIQUE (kind, key));
CREATE INDEX entry_body ON {schema}.entry USING hash (body);
CREATE INDEX entry_kind ON {schema}.entry (kind, analyst, number);
CREATE INDEX entry_analyst ON {schema}.entry (analyst, number);
CREATE FUNCTION {schema}.stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'append only'; END $$;
CREATE TRIGGER entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON {schema}.entry EXECUTE FUNCTION {schema}.stays();
"""


class PostgresStore:
    """Rows in a schema of a PostgreSQL database, `postgresql://host/database#name`; durable at every commit."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        name = parts.fragment or "ledger"
        if not _NAME.fullmatch(name):
            raise InvalidParameter(
                f"what stands after # names the ledger, in small letters, digits and _; got {name!r:.60}."
            )
        self._address, self._schema = address.partition("#")[0], f"discreet_{name}"
        self._turns: dict[int, RLock] = {}  # by process: threads take turns, so a crowd of them needs one connection
        self._shown = f"{parts.hostname or 'local'}{parts.path}#{name}"

    def __repr__(self) -> str:
        return f"ledger in PostgreSQL at {self._shown}"  # without a user or a password

    def writing(self) -> AbstractContextManager[SqlRows]:
        """One transaction that excludes every other writer; durable when it is left without an exception."""
        return self._transaction(writes=True)

    def reading(self) -> AbstractContextManager[SqlRows]:
        """One transaction on an unchanging view of the rows."""
        return self._transaction(writes=False)

    def check(self) -> None:
        """Refuse a server that would lose a commit, or a table without its guard; create what is not there yet."""
        with self._transaction(writes=True) as rows:
            guards = rows.one(
                "SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgname = 'entry_stays' AND tgenabled = 'O' "
                "AND tgrelid = to_regclass(?)",
                f"{self._schema}.entry",
            )
            if guards != (1,):
                raise LedgerError("the table of the ledger is not append-only any more; find out who changed it.")

    def exists(self) -> bool:
        """Whether there is something to open; nothing is made."""
        with self._connected() as execute:
            there: bool = execute("SELECT to_regclass(?) IS NOT NULL", (f"{self._schema}.about",)).fetchone()[0]
        return there

    def close(self) -> None:
        """Do nothing: no connection outlives its transaction."""

    def backup(self, path: Path) -> None:
        """Refuse: the server has tools for that, which see to its whole state."""
        raise NotSupported("a ledger in PostgreSQL is backed up with the database: pg_dump, or the server's archive.")

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[SqlRows]:
        with self._connected() as execute:
            if writes:
                self._lock(execute)
            else:
                execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
            self._check_format(execute)
            yield SqlRows(execute, table=f"{self._schema}.entry")

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """One transaction, committed when it is left without an exception."""
        import psycopg

        problem = ""
        try:
            turn = self._turns.setdefault(os.getpid(), RLock())
            with turn, psycopg.connect(self._address, connect_timeout=10) as connection:
                yield _executing(connection)
        except psycopg.Error as error:
            problem = error.diag.message_primary or "the server cannot be reached"  # never the address
        if problem:
            raise LedgerError(f"the ledger cannot be used: {problem}. Nothing more is spent or shown until it can.")

    def _lock(self, execute: Any) -> None:
        """Wait for other writers, with everything read back that a durable commit needs."""
        execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'", ())
        execute("SET LOCAL synchronous_commit = on", ())
        execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (self._schema,))
        for setting, wanted in _SETTINGS.items():
            if execute(f"SHOW {setting}", ()).fetchone() != (wanted,):
                raise LedgerError(
                    f"this PostgreSQL does not keep {setting} = {wanted}: the ledger would not be durable."
                )

    def _check_format(self, execute: Any) -> None:
        if execute("SELECT to_regclass(?) IS NULL", (f"{self._schema}.about",)).fetchone() == (True,):
            if execute("SHOW transaction_read_only", ()).fetchone() == ("on",):
                raise LedgerError("there is no ledger in this database; open a session with a budget first.")
            if execute("SHOW server_version_num", ()).fetchone() < (str(_OLDEST),):
                raise LedgerError("a ledger needs PostgreSQL 14 or later.")
            execute(_SCHEMA.format(schema=self._schema, format=_FORMAT), ())
        found = execute(f"SELECT format FROM {self._schema}.about", ()).fetchone()
        if found != (_FORMAT,):
            raise LedgerError(
                f"the ledger has format {found[0] if found else 'none'} and this version of discreet reads {_FORMAT}; "
                "use the one that wrote it."
            )


def _executing(connection: psycopg.Connection[Any]) -> Any:
    def execute(sql: str, values: Sequence[object]) -> Any:
        return connection.execute(sql.replace("?", "%s") if values else sql, values or None)

    return execute
