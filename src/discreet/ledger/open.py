"""Which ledger a path, an address or a name stands for."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import InvalidParameter
from discreet.ledger.ledger import Ledger
from discreet.ledger.rows import Store
from discreet.ledger.sqlite import SqliteStore


def ledger_at(path: str | os.PathLike[str]) -> Ledger:
    """Return the ledger in a file, or at a postgresql:// address; it is created with the first session."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InvalidParameter(f'a ledger is a file, for instance ledger="visits.ledger"; got {path!r:.60}.')
    if str(path).startswith(("postgresql://", "postgres://")):
        return Ledger(_postgres(str(path)))
    return Ledger(SqliteStore(Path(path).absolute()))


def _postgres(address: str) -> Store:
    try:
        import psycopg  # noqa: F401  said here, and not in the middle of a question

        from discreet.ledger.postgres import PostgresStore

        return PostgresStore(address)
    except ImportError:
        raise ImportError("a ledger in PostgreSQL needs psycopg: pip install 'discreet[postgres]'") from None


def memory_ledger() -> Ledger:
    """Return a ledger that is forgotten with this process: for tests and lessons, never for a promise."""
    return Ledger(SqliteStore(None))
