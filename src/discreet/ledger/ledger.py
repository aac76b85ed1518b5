"""The ledger: reserve a loss, get a permit or a refusal; record the answer; never forget, never spend twice.

It is a list of rows that only grows. Each row holds the hash of everything before it, what it costs, and the running
totals. The totals are what the next reservation is held against, in the same transaction that appends it.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from discreet.dp import Budget, Charge, Loss, Permit, PrivacyFilter
from discreet.dp.rational import Number
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import terms
from discreet.ledger.anchor import Anchor
from discreet.ledger.chain import CURATOR, Chain, own, total
from discreet.ledger.rows import (
    ANCHOR,
    ANSWER,
    BURN,
    GRANT,
    OPEN,
    RAISE,
    RESERVE,
    REVOKE,
    STATE,
    VERSION,
    Entry,
    Row,
    Rows,
    Store,
)
from discreet.steps import reached


class Ledger(Chain):
    """What was spent on one dataset, by whom and on which question.

    Guarantee: the charges of all permits ever minted, by any number of threads and processes on one store, stay within
      the budget on record, and those of an analyst within their own grant; each is durable before its permit is
      returned. A reservation is never undone. What is read is checked: the chain of hashes, and every running total of
      the dataset, in exact arithmetic.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._budget: Budget | None = None
        self.dataset = ""  # the name of the table whose budget this is, once it is known

    @classmethod
    def create(cls, path: str | PathLike[str], *, dataset: str, budget: Budget) -> Ledger:
        """Start a ledger for a dataset, or open the one that has this budget already."""
        from discreet.ledger.open import ledger_at

        made = ledger_at(path)
        made.bind(dataset=dataset, budget=budget)
        return made

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Ledger:
        """Open a ledger that is there, for the dataset, the version and the budget on record; nothing is written.

        What is done with it next checks its anchor; only `anchor` takes one that is behind, with a reason.
        """
        from discreet.ledger.open import ledger_at

        found = ledger_at(path)
        if not found.is_there():
            raise LedgerError("there is no ledger at this path; the curator makes one: discreet ledger create.")
        found._store.check()
        with found._store.reading() as rows:
            found._catch_up(rows)
            first = rows.find(OPEN, "")
            if first is not None:
                found.dataset, found._budget = terms.on_record(rows, first)
                found._version = (rows.last(VERSION) or first).version
        return found

    def is_there(self) -> bool:
        """Whether this ledger was started. It makes nothing."""
        if not self._store.exists():
            return False
        with self._store.reading() as rows:
            return rows.find(OPEN, "") is not None

    def __repr__(self) -> str:
        return f"<{self._store!r}>"

    def bind(self, *, dataset: str, budget: Budget | None, version: str = "1") -> None:
        """Open the ledger of a dataset, or start it with a budget. A ledger has one dataset for ever.

        The budget belongs to the dataset and runs across its versions, because the people in it do.
        """
        self._store.check()
        self._version = version
        with self._writing() as rows:
            first = rows.find(OPEN, "")
            if first is None:
                if budget is None:
                    raise LedgerError("this ledger is new: give its budget=, for instance budget=dc.Budget(epsilon=1).")
                first = self._append(rows, OPEN, body=terms.opening(dataset, budget))
            self._budget, self.dataset = terms.in_force(rows, first, dataset, budget), dataset
            if (rows.last(VERSION) or first).version != version:
                self._append(rows, VERSION, body="declared by the table")

    @property
    def budget(self) -> Budget:
        """The budget on record."""
        if self._budget is None:
            raise LedgerError("this ledger is not open; pass it to dc.Session.")
        return self._budget

    @property
    def spent(self) -> Charge:
        """Everything that was reserved, answered or not."""
        with self._reading() as rows:
            return total(rows)

    def spent_by(self, analyst: str) -> Charge:
        """What an analyst spent since the last grant to them, in the currency of that grant; all, without a grant."""
        with self._reading() as rows:
            granted = terms.grant_of(rows, analyst)
            return total(rows) if granted is None else own(rows, analyst)

    def grant(self, analyst: str, budget: Budget) -> None:
        """Let an analyst spend up to a budget of their own, counted from now, and never more than the dataset has."""
        body = terms.granting(self.budget, analyst, budget)
        with self._writing() as rows:
            self._append(rows, GRANT, analyst=analyst, body=body)

    def revoke(self, analyst: str, *, reason: str) -> None:
        """Let an analyst spend no more. What they spent stays spent."""
        terms.check_reason(reason)
        with self._writing() as rows:
            if terms.grant_of(rows, analyst) is None:
                raise LedgerError(f"{analyst!r:.60} has no grant that could be revoked.")
            self._append(rows, REVOKE, analyst=analyst, body=reason)

    def raise_budget(
        self, *, reason: str, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None
    ) -> None:
        """Promise less to the people in the dataset: a larger budget from now on, and the reason on record."""
        terms.check_reason(reason)
        with self._writing() as rows:
            larger = self.budget.raised(epsilon=epsilon, delta=delta, rho=rho)
            self._append(rows, RAISE, body=terms.raising(larger, reason))
            self._budget = larger

    def anchor(self, path: str | PathLike[str], *, reason: str = "") -> None:
        """Keep a counter and the newest hash in a second place, and refuse a ledger that is behind it.

        An anchor that is ahead of the ledger is taken only with a reason: what it says was spent then is spent.
        """
        self._store.check()
        with self._store.writing() as rows:
            self._catch_up(rows)
            anchor = Anchor.at(path)
            gap = anchor.gap(rows)
            if gap is not None:
                terms.check_reason(reason)
                self._append(rows, BURN, body=reason, charge=gap)
            self._append(rows, ANCHOR, body=str(anchor.path))
            head = rows.last()
        anchor.write(head, replace=True)

    def reserve(self, loss: Loss, *, key: str, question: str, analyst: str) -> Permit | bytes:
        """Debit a loss for ever and return its permit; for a key that was answered before, return the stored bytes.

        The permit is minted by a filter that starts from the total on record, and returned after the commit.
        """
        with self._writing() as rows:
            charge = self.budget.charge(loss)
            earlier = rows.find(RESERVE, key)
            if earlier is not None:
                return _replayed(rows, earlier, question, charge)
            permit = self._admitted(rows, loss, RESERVE, key=key, question=question, analyst=analyst)
            reached("reserve: before the commit")
        reached("reserve: after the commit")
        return permit

    def record(self, key: str, answer: bytes) -> bytes:
        """Store the answer of a reservation; returns after it is durable. The first answer of a key stands."""
        reached("record: before the transaction")
        with self._writing() as rows:
            reserved, earlier = rows.find(RESERVE, key), rows.find(ANSWER, key)
            if reserved is None:
                raise LedgerError("there is no reservation for this answer; reserve its loss first.")
            if earlier is not None:
                return earlier.answer
            self._append(rows, ANSWER, key=key, analyst=reserved.analyst, body=reserved.body, answer=answer)
            reached("record: before the commit")
        reached("record: after the commit")
        return answer

    def advance(self, key: str, state: bytes, *, loss: Loss | None, what: str, analyst: str) -> None:
        """Store the next state of an interactive object and debit what reaching it cost, in one transaction.

        The ledger does not read a state. Whoever writes it sees to it that it names its version and holds no secret.
        """
        with self._writing() as rows:
            numbered = f"{key}/{self._states(rows, key) + 1}"
            if loss is None:
                self._append(rows, STATE, key=numbered, analyst=analyst, body=what, answer=state)
            else:
                self._admitted(rows, loss, STATE, key=numbered, question=what, analyst=analyst, answer=state)
            reached("advance: before the commit")
        reached("advance: after the commit")

    def state(self, key: str) -> bytes | None:
        """Return the newest state of an interactive object, or None."""
        with self._reading() as rows:
            newest = self._states(rows, key)
            row = rows.find(STATE, f"{key}/{newest}") if newest else None
            return row.answer if row else None

    def answers(self, question: str) -> list[bytes]:
        """Return the stored answers of a question, oldest first."""
        with self._reading() as rows:
            return rows.answers(question)

    def history(self) -> list[Entry]:
        """Return every line, oldest first."""
        with self._reading() as rows:
            share = self.budget.share
            return [
                Entry(r.number, r.kind, r.analyst, r.version, r.body, share(r.charge), r.moment, r.hash)
                for r in rows.after(0)
            ]

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the ledger as it is now to a new file. To serve from it again later is to forget what came between."""
        self._store.backup(Path(path).absolute())

    def close(self) -> None:
        """Give back files and connections. Whatever is asked next opens them again."""
        self._store.close()

    def verify(self) -> None:
        """Read every row again and recompute hashes and totals; raises LedgerError if anything differs."""
        self._forget()
        self._store.check()
        with self._reading():
            pass

    @staticmethod
    def _states(rows: Rows, key: str) -> int:
        """Return how many states an object has had: they are numbered, and doubling then halving finds the last."""
        if rows.find(STATE, f"{key}/1") is None:
            return 0
        low = 1
        while rows.find(STATE, f"{key}/{2 * low}") is not None:
            low *= 2
        high = 2 * low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rows.find(STATE, f"{key}/{middle}") is not None else (low, middle)
        return low

    def _admitted(
        self, rows: Rows, loss: Loss, kind: str, *, key: str, question: str, analyst: str, answer: bytes = b""
    ) -> Permit:
        """Check the cap of the dataset and that of the analyst, and append the debit: one transaction for all three."""
        granted = terms.grant_of(rows, analyst)
        if granted is None and analyst != CURATOR:
            raise BudgetExceeded(
                f"{analyst!r:.60} has no grant on this ledger; the curator gives one: ledger.grant({analyst!r:.60}, "
                "dc.Budget(...))."
            )
        permit = PrivacyFilter(self.budget, spent=total(rows)).reserve(loss)
        theirs = Charge()
        if granted is not None:
            theirs = self._theirs(PrivacyFilter(granted, spent=own(rows, analyst)), loss)
        self._append(
            rows, kind, key=key, analyst=analyst, body=question, charge=permit.reserved, more=theirs, answer=answer
        )
        return permit

    @staticmethod
    def _theirs(granted: PrivacyFilter, loss: Loss) -> Charge:
        try:
            return granted.reserve(loss).reserved
        except BudgetExceeded as error:
            refusal = f"your own grant is the limit: {error}"
        raise BudgetExceeded(refusal)


def _replayed(rows: Rows, earlier: Row, question: str, charge: Charge | None) -> bytes:
    if earlier.body != question or earlier.charge != charge:
        raise LedgerError("this key was used for another question or price; use a new key.")
    answer = rows.find(ANSWER, earlier.key)
    if answer is None:
        raise LedgerError("this key is spent and has no answer; ask again with a new key, at a new charge.")
    return answer.answer
