"""Which ledger a path, an address or a name stands for."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import InvalidParameter, NotSupported
from discreet.ledger.ledger import Ledger
from discreet.ledger.sqlite import SqliteStore


def ledger_at(path: str | os.PathLike[str]) -> Ledger:
    """Return the ledger in a file, which is created with the first session."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise InvalidParameter(f'a ledger is a file, for instance ledger="visits.ledger"; got {path!r:.60}.')
    if str(path).startswith(("postgresql://", "postgres://")):
        raise NotSupported('a ledger in PostgreSQL is not offered here; give a file, ledger="visits.ledger".')
    return Ledger(SqliteStore(Path(path).absolute()))


def memory_ledger() -> Ledger:
    """Return a ledger that is forgotten with this process: for tests and lessons, never for a promise."""
    return Ledger(SqliteStore(None))
