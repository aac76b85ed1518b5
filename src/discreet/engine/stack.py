"""A stack of its own for work that recurses: how deep it may go does not depend on who calls it, or on what is set."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from discreet.errors import Unavailable

Result = TypeVar("Result")
STACK_BYTES = 64 * 2**20  # of address space; what is not used is never there
FRAMES = 4_000
STACK_NAME = "discreet-stack"

_lock = threading.Lock()
_users = 0
_before = 0
if hasattr(os, "register_at_fork"):  # a child never finds the lock held by a thread that it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def on_own_stack(work: Callable[[], Result]) -> Result | None:
    """Return what `work` returns on a fresh stack, where FRAMES calls nest; None if it fails.

    >>> on_own_stack(lambda: 2 + 2)
    4
    """
    outcome: list[Result] = []
    thread = threading.Thread(target=lambda: outcome.append(work()), name=STACK_NAME, daemon=True)
    with _frames():
        if not _started(thread):
            raise Unavailable("No thread could be started to read the question.")
        thread.join()
    return outcome[0] if outcome else None


def _started(thread: threading.Thread) -> bool:
    with _lock:
        before = threading.stack_size(STACK_BYTES)  # of every thread that starts now; a larger one does no harm
        try:
            thread.start()
        except RuntimeError:
            return False
        finally:
            threading.stack_size(before)
    return True


@contextmanager
def _frames() -> Iterator[None]:
    """Let calls nest as deep as FRAMES while anybody is here. Python has one limit for all threads."""
    global _users, _before  # noqa: PLW0603  the limit is a global of Python, too
    with _lock:
        _users += 1
        if _users == 1:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, FRAMES))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and sys.getrecursionlimit() == FRAMES > _before:  # or else someone has set another
                sys.setrecursionlimit(_before)
