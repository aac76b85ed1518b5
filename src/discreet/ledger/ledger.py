"""The ledger: reserve a loss, get a permit or a refusal; record the answer; never forget, never spend twice.

It is a list of rows that only grows. Each row holds the hash of everything before it, what it costs, and the running
total. The total is what the next reservation is held against, in the same transaction that appends it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Protocol

from discreet.dp import Budget, Charge, Loss, Permit, PrivacyFilter
from discreet.errors import LedgerError

OPEN, RESERVE, ANSWER = "open", "reserve", "answer"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is stored: texts, one blob, and the hash that chains it to the row before."""

    number: int
    kind: str
    key: str
    analyst: str
    body: str
    amount: str
    delta: str
    total: str
    total_delta: str
    moment: str
    answer: bytes
    hash: str

    def digest(self, before: str) -> str:
        """Return the hash of this row after the row whose hash is `before`."""
        fields = [before, self.number, self.kind, self.key, self.analyst, self.body, self.amount, self.delta]
        fields += [self.total, self.total_delta, self.moment, hashlib.sha256(self.answer).hexdigest()]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()

    @property
    def charge(self) -> Charge:
        return Charge(Fraction(self.amount), Fraction(self.delta))

    @property
    def spent(self) -> Charge:
        """Everything that was charged up to this row."""
        return Charge(Fraction(self.total), Fraction(self.total_delta))


class Rows(Protocol):
    """The rows inside one transaction."""

    def last(self) -> Row | None: ...
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the history: who asked what, when, and what part of the budget it took."""

    number: int
    kind: str
    analyst: str
    body: str
    share: Fraction
    moment: str
    hash: str


class Ledger:
    """What was spent on one dataset, by whom and on which question.

    Guarantee: the charges of all permits ever minted, by any number of threads and processes on one store, stay within
      the budget on record; each is durable before its permit is returned. A reservation is never undone. What is
      read is checked: the chain of hashes, and every running total, in exact arithmetic.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: Row | None = None  # the chain is verified up to here
        self._budget: Budget | None = None

    def __repr__(self) -> str:
        return f"<{self._store!r}>"

    def bind(self, *, dataset: str, budget: Budget | None) -> None:
        """Open the ledger of a dataset, or start it with a budget. A ledger has one budget and one dataset for ever."""
        self._store.check()
        with self._store.writing() as rows:
            self._catch_up(rows)
            first = rows.find(OPEN, "")
            if first is None:
                if budget is None:
                    raise LedgerError("this ledger is new: give its budget=, for instance budget=dc.Budget(epsilon=1).")
                body = json.dumps({"dataset": dataset, "budget": _written(budget)}, sort_keys=True)
                first = self._append(rows, OPEN, key="", analyst="curator", body=body)
        owner, recorded = _on_record(first)
        if owner != dataset:
            raise LedgerError(f"this ledger is that of {owner!r}, not of {dataset!r}; give each dataset its own file.")
        if budget is not None and _written(budget) != _written(recorded):
            raise LedgerError(
                f"this ledger has the budget dc.{recorded}, not dc.{budget}; leave budget= out, or write the one on "
                "record."
            )
        self._budget = recorded

    @property
    def budget(self) -> Budget:
        """The budget on record."""
        if self._budget is None:
            raise LedgerError("this ledger is not open; pass it to dc.Session.")
        return self._budget

    @property
    def spent(self) -> Charge:
        """Everything that was reserved, answered or not."""
        with self._store.reading() as rows:
            self._catch_up(rows)
            return self._total(rows)

    def reserve(self, loss: Loss, *, key: str, question: str, analyst: str) -> Permit | bytes:
        """Debit a loss for ever and return its permit; for a key that was answered before, return the stored bytes.

        The permit is minted by a filter that starts from the total on record, and returned after the commit.
        """
        with self._store.writing() as rows:
            self._catch_up(rows)
            charge = self.budget.charge(loss)
            earlier = rows.find(RESERVE, key)
            if earlier is not None:
                return self._replayed(rows, earlier, question, charge)
            permit = PrivacyFilter(self.budget, spent=self._total(rows)).reserve(loss)
            self._append(rows, RESERVE, key=key, analyst=analyst, body=question, charge=permit.reserved)
        return permit

    def record(self, key: str, answer: bytes) -> bytes:
        """Store the answer of a reservation; returns after it is durable. The first answer of a key stands."""
        with self._store.writing() as rows:
            self._catch_up(rows)
            reserved, earlier = rows.find(RESERVE, key), rows.find(ANSWER, key)
            if reserved is None:
                raise LedgerError("there is no reservation for this answer; reserve its loss first.")
            if earlier is not None:
                return earlier.answer
            self._append(rows, ANSWER, key=key, analyst=reserved.analyst, body=reserved.body, answer=answer)
        return answer

    def answers(self, question: str) -> list[bytes]:
        """Return the stored answers of a question, oldest first."""
        with self._store.reading() as rows:
            self._catch_up(rows)
            return rows.answers(question)

    def history(self) -> list[Entry]:
        """Return every line, oldest first."""
        with self._store.reading() as rows:
            self._catch_up(rows)
            return [
                Entry(row.number, row.kind, row.analyst, row.body, self.budget.share(row.charge), row.moment, row.hash)
                for row in rows.after(0)
            ]

    def verify(self) -> None:
        """Read every row again and recompute hashes and totals; raises LedgerError if anything differs."""
        self._seen = None
        self._store.check()
        with self._store.reading() as rows:
            self._catch_up(rows)

    def _replayed(self, rows: Rows, earlier: Row, question: str, charge: Charge | None) -> bytes:
        if earlier.body != question or earlier.charge != charge:
            raise LedgerError("this key was used for another question or price; use a new key.")
        answer = rows.find(ANSWER, earlier.key)
        if answer is None:
            raise LedgerError("this key is spent and has no answer; ask again with a new key, at a new charge.")
        return answer.answer

    def _append(
        self,
        rows: Rows,
        kind: str,
        *,
        key: str,
        analyst: str,
        body: str,
        charge: Charge | None = None,
        answer: bytes = b"",
    ) -> Row:
        last, cost = rows.last(), charge or Charge()
        total = (last.spent if last else Charge()) + cost
        costs = (str(cost.amount), str(cost.delta), str(total.amount), str(total.delta))
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        row = Row(last.number + 1 if last else 1, kind, key, analyst, body, *costs, moment, answer, "")
        hashed = Row(
            row.number, kind, key, analyst, body, *costs, moment, answer, row.digest(last.hash if last else "")
        )
        rows.append(hashed)
        return hashed

    @staticmethod
    def _total(rows: Rows) -> Charge:
        last = rows.last()
        return last.spent if last else Charge()

    def _catch_up(self, rows: Rows) -> None:
        """Verify the rows that were not verified before, and that those verified before are still there."""
        seen = before = self._seen
        for row in rows.after(seen.number - 1 if seen else 0):
            if seen is not None and row.number == seen.number:
                if row != seen:
                    raise LedgerError(
                        "the ledger was changed under our feet; restore the file, and do not use it before."
                    )
                seen = None
                continue
            if seen is not None or not _follows(row, before):
                raise LedgerError(f"row {row.number} of the ledger does not fit the rows before it; it was damaged.")
            before = row
        if seen is not None:
            raise LedgerError("the ledger has fewer rows than it had; an old copy was put in its place.")
        self._seen = before


def _follows(row: Row, before: Row | None) -> bool:
    """Whether a row is the next one: its number, its hash, and its running total."""
    try:
        total = (before.spent if before else Charge()) + row.charge
        fits = row.charge.amount >= 0 and row.charge.delta >= 0 and row.spent == total
    except (ValueError, ZeroDivisionError):
        return False
    numbered = row.number == (before.number + 1 if before else 1)
    return numbered and fits and row.hash == row.digest(before.hash if before else "")


def _written(budget: Budget) -> dict[str, str]:
    if budget.epsilon is None:
        return {"rho": str(budget.rho)}
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta), "delta_add": str(budget.delta_add)}


def _on_record(first: Row) -> tuple[str, Budget]:
    """Return the dataset and the budget that a ledger was opened with."""
    with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        body = json.loads(first.body)
        return body["dataset"], Budget(**{name: Fraction(value) for name, value in body["budget"].items()})
    raise LedgerError("the first row of the ledger says nothing that can be read; it was damaged.")
