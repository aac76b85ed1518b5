"""Ledgers that forget: each is a mistake that one would really make, in the order of a debit and an answer."""

from __future__ import annotations

from collections.abc import Callable

from discreet.dp import Loss, PrivacyFilter
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.ledger.chain import total
from discreet.ledger.rows import ANSWER, RESERVE
from discreet.steps import reached

Show = Callable[[str], None]


class AnswersFirst(Ledger):
    """Shows the answer, then debits."""

    def spend(self, loss: Loss, key: str, show: Show) -> None:
        show(key)
        reached("reserve: before the commit")
        self.reserve(loss, key=key, question="q", analyst="curator")
        self.record(key, key.encode())


class ShowsBeforeItStores(Ledger):
    """Debits, shows the answer, then stores it."""

    def spend(self, loss: Loss, key: str, show: Show) -> None:
        self.reserve(loss, key=key, question="q", analyst="curator")
        show(key)
        reached("record: before the transaction")
        self.record(key, key.encode())


class ShowsInside(Ledger):
    """Shows the answer before the transaction of its debit is over."""

    def spend(self, loss: Loss, key: str, show: Show) -> None:
        with self._writing() as rows:
            permit = PrivacyFilter(self.budget, spent=total(rows)).reserve(loss)
            self._append(rows, RESERVE, key=key, body="q", charge=permit.reserved)
            self._append(rows, ANSWER, key=key, body="q", answer=key.encode())
            show(key)
            reached("record: before the commit")


class ChecksThenInserts(Ledger):
    """Looks at the total in one transaction, and debits in another."""

    def spend(self, loss: Loss, key: str, show: Show) -> None:
        charge = self.budget.charge(loss)
        assert charge is not None
        if (self.spent + charge).amount > self.budget.cap.amount:
            raise BudgetExceeded("spent")
        with self._writing() as rows:
            self._append(rows, RESERVE, key=key, body="q", charge=charge)
            self._append(rows, ANSWER, key=key, body="q", answer=key.encode())
        show(key)


class PaysTwice(Ledger):
    """Takes a key that was used for a new one."""

    def spend(self, loss: Loss, key: str, show: Show) -> None:
        with self._writing() as rows:
            charge = PrivacyFilter(self.budget, spent=total(rows)).reserve(loss).reserved
            self._append(rows, RESERVE, key=f"{key}/{total(rows).amount}", body="q", charge=charge)
        show(key)
