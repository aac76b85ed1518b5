"""The rows of a ledger: what one holds, how it is chained to the one before, and what keeps them.

| kind    | body                              | answer                        | what it costs                       |
|---------|-----------------------------------|-------------------------------|-------------------------------------|
| open    | the dataset and its budget        |                               |                                     |
| raise   | a larger budget, and the reason   |                               |                                     |
| grant   | the budget of one analyst         |                               |                                     |
| revoke  | the reason                        |                               |                                     |
| version | why the rows of the table changed |                               |                                     |
| reserve | the question                      |                               | the loss, in the budget's currency  |
| answer  | the question                      | what was released             |                                     |
| anchor  | where the anchor is               |                               |                                     |
| burn    | why an old copy was taken         |                               | what the anchor says it had spent   |
| state   | what an interactive object is     | its state, with its version   | the loss of what it did since       |
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from discreet.dp import Charge

OPEN, RAISE, GRANT, REVOKE, VERSION = "open", "raise", "grant", "revoke", "version"
RESERVE, ANSWER, STATE, ANCHOR, BURN = "reserve", "answer", "state", "anchor", "burn"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is stored: a number, texts, one blob, and the hash that chains it to the row before.

    `total` is what all rows up to this one cost together, in the currency of the dataset's budget; `own` is what the
    rows of this analyst cost since the last grant to them, in the currency of that grant.
    """

    number: int
    kind: str
    key: str
    analyst: str
    version: str
    body: str
    amount: str
    delta: str
    total: str
    total_delta: str
    own: str
    own_delta: str
    moment: str
    answer: bytes
    hash: str

    def digest(self, before: str) -> str:
        """Return the hash of this row after the row whose hash is `before`."""
        whole = [before, *_HASHED(self), hashlib.sha256(self.answer).hexdigest()]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()

    @property
    def charge(self) -> Charge:
        return Charge(Fraction(self.amount), Fraction(self.delta))

    @property
    def spent(self) -> Charge:
        """Everything that was charged up to this row."""
        return Charge(Fraction(self.total), Fraction(self.total_delta))

    @property
    def own_spent(self) -> Charge:
        """What this analyst was charged since the last grant to them, in the currency of that grant."""
        return Charge(Fraction(self.own), Fraction(self.own_delta))


COLUMNS = tuple(field.name for field in fields(Row))
_HASHED = attrgetter(*(name for name in COLUMNS if name not in ("answer", "hash")))


class Rows(Protocol):
    """The rows inside one transaction."""

    def last(self, kind: str | None = None, analyst: str | None = None) -> Row | None:
        """Return the newest row, of this kind and of this analyst where they are given."""
        ...

    def find(self, kind: str, key: str) -> Row | None: ...
    def after(self, number: int) -> Iterator[Row]: ...
    def answers(self, body: str) -> list[bytes]: ...
    def append(self, row: Row) -> None: ...


class Store(Protocol):
    """Where the rows are kept.

    Guarantee: `writing` excludes every other writer, in this process or another; when it is left without an
      exception its rows are on disk, and otherwise none of them is.
    """

    def writing(self) -> AbstractContextManager[Rows]: ...
    def reading(self) -> AbstractContextManager[Rows]: ...
    def check(self) -> None: ...
    def exists(self) -> bool: ...
    def backup(self, path: Path) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history: who asked what, when, and what part of the budget it took."""

    number: int
    kind: str
    analyst: str
    version: str
    body: str
    share: Fraction
    moment: str
    hash: str


def follows(row: Row, before: Row | None, total: Charge, own: str) -> Charge | None:
    """Return the running total if a row is the next one: by its number, its hash and its totals; else None.

    `total` is that of the row before. `own` is what this analyst had spent before, in the currency of their grant; what
    that currency charges for a row is not recomputed.
    """
    try:
        charge = row.charge
        after = total + charge if charge.amount or charge.delta else total
        fits = row.spent == after and (row.kind == GRANT or row.own == own or Fraction(row.own) >= Fraction(own))
    except (ValueError, ZeroDivisionError):
        return None
    numbered = row.number == (before.number + 1 if before else 1)
    return after if numbered and fits and row.hash == row.digest(before.hash if before else "") else None
