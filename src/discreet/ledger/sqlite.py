"""The rows of a ledger in SQLite: one file, or memory.

One connection is kept, and threads take turns on it. It is closed before a fork, since a child that inherits it would
undo its locks, and opened again, with every check, wherever it is needed next. Before each transaction the file must be
the one that was opened.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.files import sync_file, sync_folder
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


@dataclass(frozen=True, slots=True)
class Driver:
    """What speaks to SQLite: something that opens a connection with `execute` and `close`, and its errors."""

    connect: Callable[[str], Any]
    error: type[Exception]


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


STANDARD = Driver(_connect, sqlite3.Error)


class SqliteStore:
    """Rows in a SQLite file with a write-ahead log that is synced at every commit; or in memory, if `path` is None."""

    def __init__(self, path: Path | None, *, driver: Driver = STANDARD) -> None:
        if sqlite3.sqlite_version_info < _OLDEST:
            raise LedgerError(f"a ledger needs SQLite 3.37; this Python has {sqlite3.sqlite_version}.")
        self._path, self._process, self._broken, self._driver = path, os.getpid(), False, driver
        self._lock = RLock()
        self._found = False  # the file was there, and holds what was spent
        self._kept: list[Any] = []  # the connection, if one is open
        self._file: tuple[int, int] | None = None  # which file it was opened on
        if path is None:
            self._kept.append(_connect(":memory:"))
            _create(self._kept[0])
        weakref.finalize(self, _close, self._kept)
        _STORES.add(self)

    def __repr__(self) -> str:
        return f"ledger in {self._path.name}" if self._path else "ledger in memory: forgotten with this process"

    @property
    def path(self) -> Path | None:
        """The file, or None for rows in memory."""
        return self._path

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

    def exists(self) -> bool:
        """Whether there is something to open; a file that is not there is not made."""
        return self._path is None or self._path.exists()

    def close(self) -> None:
        """Give the connection back; the next transaction opens another."""
        with self._lock:
            if self._path is not None:
                _close(self._kept)

    def backup(self, path: Path) -> None:
        """Copy what is committed to a file that must not exist, and sync it."""
        if path.exists():
            raise LedgerError("the backup would overwrite a file; give a path that does not exist.")
        if not path.parent.is_dir():
            raise LedgerError("the folder of the backup does not exist; create it, or give another path.")
        problem = ""
        try:
            with self._connection() as connection, closing(sqlite3.connect(path)) as copy:
                connection.backup(copy)
            sync_file(path)
            sync_folder(path.parent)
        except (sqlite3.Error, OSError) as error:
            problem = str(error)
        if problem:
            raise LedgerError(f"the backup cannot be written: {problem}. The ledger itself is as it was.")

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
        except self._driver.error as error:  # its text names the cause (locked, full, read-only), never a row
            problem = str(error)
        if problem:
            raise LedgerError(f"the ledger cannot be used: {problem}. Nothing more is spent or shown until it can.")

    def _commit(self, connection: Any) -> None:
        try:
            connection.execute("COMMIT")
        except self._driver.error:
            self._broken = True  # what is on disk is unknown now, and a second sync may report a success that is none
            raise

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        if self._broken:
            raise LedgerError("a write to the ledger failed in this process; find the cause and start a new process.")
        with self._lock:
            yield self._current()

    def _current(self) -> Any:
        if self._path is None:
            if os.getpid() != self._process:
                raise LedgerError('a ledger in memory belongs to one process; give a file, ledger="visits.ledger".')
            return self._kept[0]
        if self._kept and _identity(self._path) != self._file:
            _close(self._kept)
        if not self._kept:
            self._kept.append(_opened(self._path, self._driver, may_be_new=not self._found))
            self._found, self._file = True, _identity(self._path)
        return self._kept[0]

    def _before_fork(self) -> None:
        self._lock.acquire()
        self.close()

    def _after_fork(self) -> None:
        self._lock.release()


_STORES: weakref.WeakSet[SqliteStore] = weakref.WeakSet()
_FORKING: list[SqliteStore] = []  # those that wait for a fork to be over


def _before_fork() -> None:
    _FORKING[:] = list(_STORES)
    for store in _FORKING:
        store._before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop()._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _close(kept: list[Any]) -> None:
    while kept:
        kept.pop().close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file a path leads to; None if to none, or to one with a second name and so a second log."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_nlink == 1 else None


def _opened(path: Path, driver: Driver, *, may_be_new: bool) -> Any:
    """Return a connection to the file, created if it may be, with all that durability needs read back."""
    if path.is_dir():
        raise LedgerError('the path of the ledger is a folder; give a file in it, for instance "visits.ledger".')
    if not path.parent.is_dir():
        raise LedgerError("the folder of the ledger does not exist; create it, or give another path.")
    if not (may_be_new or path.exists()):
        raise LedgerError(_GONE)
    if path.exists() and path.stat().st_nlink > 1:
        raise LedgerError("the file of the ledger has two names, and would have a log under each; remove one.")
    if may_be_new:
        refuse_network(path)
    connection = driver.connect(str(path))
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
    except BaseException:
        connection.close()
        raise
    return connection


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _is_new(connection: Any) -> bool:
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


def _create(connection: Any) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if (
        connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION
    ):  # another process may have been faster
        for statement in _SCHEMA:
            connection.execute(statement)
    connection.execute("COMMIT")
