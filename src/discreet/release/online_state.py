"""What an online mechanism writes down before an answer leaves: all that was paid and released, and all of it public.

A state is written whole, beside the old one, and put in its place in one step that a crash cannot halve.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from discreet.dp.rational import rational
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import canonical
from discreet.release.query import Array, LinearQuery

Json: TypeAlias = dict[str, Any]
Save: TypeAlias = Callable[[bytes], None]

_KIND, _VERSION = "discreet.release.Interactive", 1


def refused() -> InvalidParameter:
    """Return what is said of a state that does not fit."""
    return InvalidParameter(
        "this is no state of this online mechanism; resume what state() returned, or the journal, with the same "
        "universe, sensitivity, loss and number of questions."
    )


def to_bytes(fingerprint: str, spent: Fraction, content: Json) -> bytes:
    """Return a state as versioned bytes, with a digest: a bit that flips on a disk must not bring back a budget."""
    head = {"kind": _KIND, "version": _VERSION, "made": fingerprint, "spent": str(spent)}
    body = json.dumps({**head, **content}, sort_keys=True)
    return f'{body[:-1]}, "digest": "{sha256(body.encode()).hexdigest()}"}}'.encode()


def from_bytes(state: bytes) -> Json:
    """Return what a state holds, or refuse what is none of this version, or was not written whole."""
    try:
        content: Json = json.loads(state)
        digest = content.pop("digest")
        if sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() != digest:
            raise refused()
        if (content["kind"], content["version"]) != (_KIND, _VERSION):
            raise refused()
        for amount in ("spent", "amount"):
            if rational(content[amount], "state") < 0:
                raise refused()
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        raise refused() from None
    return content


def check(content: Json, fingerprint: str) -> None:
    """Refuse the state of another mechanism, or one that was lost before anything was released."""
    if content.get("made") != fingerprint or not content.get("knowledge"):
        raise refused()


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse a state of which something is missing or wrong, where it is read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError):
        raise refused() from None


def packed(array: Array) -> str:
    """Return floats as text, to the last bit."""
    return base64.b64encode(np.asarray(array, "<f8").tobytes()).decode()


def unpacked(text: str) -> Array:
    """Return the floats again."""
    return np.frombuffer(base64.b64decode(text), "<f8").astype(np.float64)


def described(query: LinearQuery) -> Json:
    """Return a query as JSON can hold it."""
    weights = query.weights()
    return {"axes": list(query.axes), "scale": query.scale, "weights": weights.ravel().tolist()}


def read(content: Json, shape: tuple[int, ...]) -> LinearQuery:
    """Return the query that `described` described."""
    axes = tuple(content["axes"])
    weights = np.array(content["weights"], np.int64).reshape([shape[axis] for axis in axes])
    return canonical.table(shape, axes, weights, content["scale"])


class Journal:
    """A file that holds the latest state, written through to the disk; one process at a time may hold it."""

    def __init__(self, path: str | Path) -> None:
        self._lock: int | None = None
        self.path = Path(path).resolve()  # one lock, whatever name it is opened by
        self._lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise NotSupported(
                f"another process answers from the journal {str(path)!r}; two would spend twice."
            ) from None

    @staticmethod
    @contextmanager
    def opened(path: str | Path | None) -> Iterator[Journal | None]:
        """Hold a journal, if there is one, while a mechanism is made; let it go again if none was."""
        journal = None if path is None else Journal(path)
        try:
            yield journal
        except BaseException:
            if journal is not None:
                journal.close()
            raise

    def read(self) -> bytes | None:
        """Return the latest state; None if there is none."""
        return self.path.read_bytes() if self.path.exists() else None

    def save(self, state: bytes) -> None:
        """Put a state in the place of the last one; when this returns, it is on the disk."""
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("wb") as file:
            file.write(state)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __del__(self) -> None:
        self.close()
