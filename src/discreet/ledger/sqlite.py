"""The rows of a ledger in SQLite: one file, or memory.

A connection lives as long as one transaction, so nothing is shared between threads or inherited by a forked child,
and the file is checked each time it is opened.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import RLock

from discreet.errors import LedgerError
from discreet.ledger.anchor import sync_file, sync_folder
from discreet.ledger.places import refuse_network
from discreet.ledger.sql_rows import SqlRows

_APPLICATION = 0x64_63_6C_67  # "dclg", in the header of the file
_FORMAT = 2
_OLDEST = (3, 37, 0)  # STRICT tables
_PATIENCE = 60.0  # seconds to wait for other writers

_SCHEMA = (
    """CREATE TABLE entry (
        number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, analyst TEXT NOT NULL,
        version TEXT NOT NULL, body TEXT NOT NULL, amount TEXT NOT NULL, delta TEXT NOT NULL, total TEXT NOT NULL,
        total_delta TEXT NOT NULL, own TEXT NOT NULL, own_delta TEXT NOT NULL, moment TEXT NOT NULL,
        answer BLOB NOT NULL, hash TEXT NOT NULL, UNIQUE (kind, key)) STRICT""",
    "CREATE INDEX entry_body ON entry (body, kind)",
    "CREATE INDEX entry_kind ON entry (kind, analyst, number)",
    "CREATE INDEX entry_analyst ON entry (analyst, number)",
    "CREATE TRIGGER entry_stays BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER entry_remains BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'append only'); END",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
)
# Each is written and read back at every opening: a ledger that only seems durable is none.
_PRAGMAS = (
    ("journal_mode", ("WAL", "wal")),
    ("synchronous", ("FULL", "2")),  # sync the log at each commit
    ("fullfsync", ("ON", "1")),  # macOS: past the cache of the disk
    ("checkpoint_fullfsync", ("ON", "1")),
    ("trusted_schema", ("OFF", "0")),
)
_GONE = "the file of the ledger is gone, and what was spent is on record nowhere else; put it back as it was."


class SqliteStore:
    """Rows in a SQLite file with a write-ahead log that is synced at every commit; or in memory, if `path` is None."""

    def __init__(self, path: Path | None) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise LedgerError(f"a ledger needs SQLite 3.37; this Python has {sqlite3.sqlite_version}.")
        self._path, self._process, self._broken = path, os.getpid(), False
        self._lock = RLock()
        self._found = False  # the file was there, and holds what was spent
        self._memory = _in_memory() if path is None else None

    def __repr__(self) -> str:
        return f"ledger in {self._path.name}" if self._path else "ledger in memory: forgotten with this process"

    def writing(self) -> AbstractContextManager[SqlRows]:
        """One transaction that excludes every other writer; durable when it is left without an exception."""
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[SqlRows]:
        """One transaction on an unchanging view of the rows."""
        return self._transaction("BEGIN")

    def check(self) -> None:
        """Refuse a file with damaged pages; an index that lost a row would let a key be used twice."""
        with self._transaction("BEGIN") as rows:
            damage = rows.one("PRAGMA integrity_check(1)")
            if damage != ("ok",):
                raise LedgerError("the file of the ledger is damaged; restore a copy that is as new as possible.")

    def backup(self, path: Path) -> None:
        """Copy what is committed to a file that must not exist, and sync it."""
        if path.exists():
            raise LedgerError("the backup would overwrite a file; give a path that does not exist.")
        if not path.parent.is_dir():
            raise LedgerError("the folder of the backup does not exist; create it, or give another path.")
        with self._connection() as connection, closing(sqlite3.connect(path)) as copy:
            connection.backup(copy)
        sync_file(path)
        sync_folder(path.parent)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqlRows]:
        problem = ""
        try:
            with self._connection() as connection:
                connection.execute(begin)
                try:
                    yield SqlRows(connection.execute)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                self._commit(connection)
        except sqlite3.Error as error:  # its text names the cause (locked, full, read-only), never a row
            problem = str(error)
        if problem:
            raise LedgerError(f"the ledger cannot be used: {problem}. Nothing more is spent or shown until it can.")

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error:
            self._broken = True  # what is on disk is unknown now, and a second sync may report a success that is none
            raise

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._broken:
            raise LedgerError("a write to the ledger failed in this process; find the cause and start a new process.")
        if self._path is not None:
            connection = _opened(self._path, may_be_new=not self._found)
            self._found = True
            try:
                yield connection
            finally:
                connection.close()
        elif self._memory is None or os.getpid() != self._process:
            raise LedgerError('a ledger in memory belongs to one process; give a file, ledger="visits.ledger".')
        else:
            with self._lock:
                yield self._memory


def _opened(path: Path, *, may_be_new: bool) -> sqlite3.Connection:
    """Return a connection to the file, created if it may be, with all that durability needs read back."""
    if path.is_dir():
        raise LedgerError('the path of the ledger is a folder; give a file in it, for instance "visits.ledger".')
    if not path.parent.is_dir():
        raise LedgerError("the folder of the ledger does not exist; create it, or give another path.")
    if not (may_be_new or path.exists()):
        raise LedgerError(_GONE)
    if may_be_new:
        refuse_network(path)
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        new = _is_new(connection)  # before the first write: a file of another program is left as it was
        if new and not may_be_new:
            raise LedgerError(_GONE)
        for pragma, (wanted, read) in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma} = {wanted}").fetchall()
            if connection.execute(f"PRAGMA {pragma}").fetchone() not in ((read,), (_number(read),)):
                raise LedgerError(f"this SQLite does not keep {pragma} = {wanted}: the ledger would not be durable.")
        if new:
            _create(connection)
            sync_folder(path.parent)
        if path.stat().st_nlink > 1:
            raise LedgerError("the file of the ledger has two names, and would have a log under each; remove one.")
    except BaseException:
        connection.close()
        raise
    return connection


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _create(connection)
    return connection


def _is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty; refuses a file that is not a ledger, or one of another format."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == _APPLICATION and version == _FORMAT:
        return False
    if application == _APPLICATION:
        raise LedgerError(
            f"the ledger has format {version} and this version of discreet reads {_FORMAT}; use the one that wrote it."
        )
    if application or version or connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        raise LedgerError("this file is not a ledger; give a path of its own.")
    return True


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if (
        connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION
    ):  # another process may have been faster
        for statement in _SCHEMA:
            connection.execute(statement)
    connection.execute("COMMIT")
