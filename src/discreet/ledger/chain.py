"""The chain of rows: appended at the end with running totals, checked from the start, and held against the anchor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from discreet.dp import Charge
from discreet.errors import LedgerError
from discreet.ledger.anchor import Anchor
from discreet.ledger.rows import ANCHOR, GRANT, OPEN, Row, Rows, Store, follows

CURATOR = "curator"  # who holds the table needs no grant


class Chain:
    """Rows of a store, each checked once by this object before anything is read from it or appended to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = "1"
        self._forget()

    @property
    def path(self) -> Path | None:
        """The file that it is kept in, if it is one."""
        return getattr(self._store, "path", None)

    def _forget(self) -> None:
        self._seen: Row | None = None  # the chain is verified up to here
        self._spent = Charge()  # what was spent there
        self._own: dict[str, str] = {}  # and by each analyst

    def _append(
        self,
        rows: Rows,
        kind: str,
        *,
        key: str = "",
        analyst: str = CURATOR,
        body: str,
        charge: Charge | None = None,
        more: Charge | None = None,
        answer: bytes = b"",
    ) -> Row:
        last, cost = rows.last(), charge or Charge()
        spent = (last.spent if last else Charge()) + cost
        theirs = Charge() if kind == GRANT else own(rows, analyst) + (more or Charge())
        costs = (*_texts(cost), *_texts(spent), *_texts(theirs))
        number = last.number + 1 if last else 1
        unique = key or ("" if kind == OPEN else str(number))  # what has no key of its own is told by its number
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        row = Row(number, kind, unique, analyst, self._version, body, *costs, moment, answer, hash="")
        hashed = replace(row, hash=row.digest(last.hash if last else ""))
        rows.append(hashed)
        return hashed

    @contextmanager
    def _writing(self) -> Iterator[Rows]:
        """A transaction on rows that were checked; the anchor, if there is one, is behind before it and level after."""
        head, anchor = None, None
        with self._store.writing() as rows:
            anchor = self._checked(rows)
            yield rows
            head = rows.last()
        if anchor is not None:
            anchor.write(head)

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        with self._store.reading() as rows:
            self._checked(rows)
            yield rows

    def _checked(self, rows: Rows) -> Anchor | None:
        self._catch_up(rows)
        placed = rows.last(ANCHOR)
        if placed is None:
            return None
        anchor = Anchor.at(placed.body)
        anchor.check(rows)
        return anchor

    def _catch_up(self, rows: Rows) -> None:
        """Verify the rows that were not verified before, and that those verified before are still there."""
        seen = before = self._seen
        spent = self._spent
        for row in rows.after(seen.number - 1 if seen else 0):
            if seen is not None and row.number == seen.number:
                if row != seen:
                    raise LedgerError(
                        "the ledger was changed under our feet; restore the file, and do not use it before."
                    )
                seen = None
                continue
            after = follows(row, before, spent, self._own.get(row.analyst, "0")) if seen is None else None
            if after is None:
                raise LedgerError(f"row {row.number} of the ledger does not fit the rows before it; it was damaged.")
            before, spent = row, after
            self._own[row.analyst] = row.own
        if seen is not None:
            raise LedgerError("the ledger has fewer rows than it had; an old copy was put in its place.")
        self._seen, self._spent = before, spent


def total(rows: Rows) -> Charge:
    """Return what all rows cost together."""
    last = rows.last()
    return last.spent if last else Charge()


def own(rows: Rows, analyst: str) -> Charge:
    """Return what an analyst spent since the last grant to them, in the currency of that grant."""
    last = rows.last(analyst=analyst)
    return last.own_spent if last else Charge()


def _texts(charge: Charge) -> tuple[str, str]:
    return str(charge.amount), str(charge.delta)
