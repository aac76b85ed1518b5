"""What the files of a table looked like when a version of it was first used: kept beside the ledger, for the curator.

Sizes and times of files are not public, so they are in no row of the ledger, and a refusal says only that something
changed. A keyed digest of the content, on request, sees a change that left both as they were.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.dp import randomness
from discreet.errors import LedgerError
from discreet.ledger.files import alone, write_whole

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Sources:
    """The file beside a ledger that remembers its sources."""

    path: Path

    @classmethod
    def beside(cls, ledger: Path) -> Sources:
        """Return that of a ledger in a file."""
        return cls(ledger.with_name(ledger.name + ".sources"))

    def check(self, table: str, version: str, files: Sequence[str], *, digest: bool = False) -> None:
        """Remember the files of a new version, and refuse those of a known one if they changed since."""
        with alone(self.path, "what is known of the sources"):
            changed = self._changed(json.dumps([table, version]), files, digest=digest)
        if changed:
            raise LedgerError(
                f"the files of table {table!r} changed since version {version!r} was first used: declare another, "
                'for instance version="2". What was spent stays spent, because the people are the same.'
            )

    def _changed(self, name: str, files: Sequence[str], *, digest: bool) -> bool:
        held = self._read()
        known = held["versions"].get(name)
        found = {file: _observed(file, held["key"] if digest or _has_digest(known) else None) for file in files}
        if known is None:
            held["versions"][name] = found
            write_whole(self.path, json.dumps(held, sort_keys=True))
        return known is not None and not _same(known, found)

    def _read(self) -> dict[str, dict[str, object]]:
        if not self.path.exists():
            return {"key": f"{randomness.system().integer(256):064x}", "versions": {}}  # type: ignore[dict-item]
        with suppress(OSError, ValueError):
            held = json.loads(self.path.read_text("utf-8"))
            if isinstance(held, dict) and isinstance(held.get("versions"), dict) and isinstance(held.get("key"), str):
                return held
        raise LedgerError("what is known of the sources, beside the ledger, cannot be read; put it back as it was.")


def _observed(file: str, key: object) -> list[object]:
    """Return size, time and, with a key, the keyed digest of a file; nothing if it cannot be reached."""
    with suppress(OSError):
        seen = Path(file).stat()
        return [seen.st_size, seen.st_mtime_ns, _digest(file, str(key)) if key is not None else None]
    return []


def _digest(file: str, key: str) -> str:
    keyed = hmac.new(bytes.fromhex(key), digestmod=hashlib.sha256)
    with Path(file).open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            keyed.update(chunk)
    return keyed.hexdigest()


def _has_digest(known: object) -> bool:
    return isinstance(known, dict) and any(isinstance(seen, list) and seen[2:] != [None] for seen in known.values())


def _same(known: object, found: dict[str, list[object]]) -> bool:
    """Whether the same files were seen. A digest that was not asked for the first time is not compared."""
    if not isinstance(known, dict) or set(known) != set(found):
        return False
    return all(
        before[:2] == now[:2] and (None in (before[2:] or [None]) or before[2:] == now[2:])
        for before, now in ((known[file], found[file]) for file in found)
    )
