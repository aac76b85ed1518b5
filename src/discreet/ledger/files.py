"""Small files beside a ledger: written whole or not at all, durably, by one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from discreet.errors import LedgerError

_threads = RLock()  # a lock of the file is one of the process
if hasattr(os, "register_at_fork"):  # a child never finds it held by a thread that it does not have
    os.register_at_fork(before=_threads.acquire, after_in_parent=_threads.release, after_in_child=_threads.release)


@contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Exclude other threads and processes that write a file; what the system refuses is a `LedgerError`."""
    problem = ""
    try:
        with _threads, path.with_name(path.name + ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        problem = error.strerror or "the system refuses"
    if problem:
        raise LedgerError(f"{what} cannot be written: {problem}. Nothing is shown until it can.")


def write_whole(path: Path, text: str) -> None:
    """Put a text in the place of what a file holds, for its owner alone; durable when it returns."""
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    sync_file(beside)
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the name of a new file durable."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Make what a file holds durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
