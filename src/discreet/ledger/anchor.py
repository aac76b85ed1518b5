"""A second place that remembers how far a ledger had come: an old backup that is put back is behind it.

The anchor is one small file on another volume, or wherever the backups of the ledger do not reach. It is written after
each commit and before the permit or the answer is handed out, so that whatever was shown is anchored. After a crash the
ledger may be a row ahead of it; it is never behind.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.dp import Charge
from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.files import alone, write_whole
from discreet.ledger.rows import Row, Rows
from discreet.steps import reached


@dataclass(frozen=True, slots=True)
class Anchored:
    """The newest row that an anchor knows: its number, its hash, and what was spent up to it."""

    number: int
    hash: str
    spent: Charge


@dataclass(frozen=True, slots=True)
class Anchor:
    """The file of an anchor."""

    path: Path

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Anchor:
        """Return the anchor at a path, which need not exist."""
        if not isinstance(path, str | os.PathLike) or "\0" in str(path) or not str(path):
            raise InvalidParameter(
                f'an anchor is a file on another volume, "/mnt/second/visits.anchor"; got {path!r:.60}.'
            )
        return cls(Path(path).absolute())

    def check(self, rows: Rows) -> None:
        """Refuse a ledger that is behind its anchor, or beside it."""
        if self.read() is None:
            raise LedgerError(
                "the anchor of this ledger is gone, and with it the proof that this is not an old copy; put it back."
            )
        if self.gap(rows) is not None:
            raise LedgerError(
                "this ledger is behind its anchor: an old copy was put back, or a second copy was used. Put the newest "
                "back; if it is lost, ledger.anchor(path, reason=...) takes what the anchor says was spent as spent."
            )

    def gap(self, rows: Rows) -> Charge | None:
        """Return what the anchor says was spent beyond these rows; None where they have come as far as it."""
        known = self.read()
        if known is None:
            return None
        row = next(iter(rows.after(known.number - 1)), None) if known.number else None
        if known.number == 0 or (row is not None and row.number == known.number and row.hash == known.hash):
            return None
        last = rows.last()
        spent = last.spent if last else Charge()
        return Charge(
            max(known.spent.amount - spent.amount, Fraction(0)), max(known.spent.delta - spent.delta, Fraction(0))
        )

    def read(self) -> Anchored | None:
        """Return what the file says; None if there is none."""
        if not self.path.exists():
            return None
        with suppress(OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
            held = json.loads(self.path.read_text("utf-8"))
            spent = Charge(Fraction(held["total"]), Fraction(held["total_delta"]))
            return Anchored(int(held["number"]), str(held["hash"]), spent)
        raise LedgerError("the anchor of this ledger cannot be read; find the cause before the ledger is used.")

    def write(self, head: Row | None, *, replace: bool = False) -> None:
        """Make the newest row known, durably, unless a newer one is known already."""
        if head is None:
            return
        with alone(self.path, "the anchor of this ledger"):
            known = None if replace else self.read()
            if known is not None and known.number >= head.number:
                return
            held = {"number": head.number, "hash": head.hash, "total": head.total, "total_delta": head.total_delta}
            reached("anchor: before it is written")
            write_whole(self.path, json.dumps(held))
            reached("anchor: after it took its place")
