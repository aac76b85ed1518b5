"""CO-07: analysts who collude get what the dataset has and no more, whatever each was granted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

import discreet as dc
from discreet.ledger import Ledger, memory_ledger
from tests.sessions import session, table

ANALYSTS = "abcdefgh"
PRICE = Fraction(1, 10)


class GrantsAlone(Ledger):
    """The twin: it checks what each analyst was granted, and forgets the dataset."""

    def _admitted(self, rows: Any, loss: Any, kind: str, **names: Any) -> Any:
        body = names.pop("question")
        self._append(rows, kind, body=body, more=self.budget.charge(loss), **names)
        return dc.dp.PrivacyFilter(self.budget).reserve(loss)


def collude(make: Callable[[], Ledger]) -> int:
    """Eight analysts with half of the budget each ask five questions each at once; how many are answered."""
    ledger = make()
    session(ledger=ledger)
    for name in ANALYSTS:
        ledger.grant(name, dc.Budget(epsilon="0.5"))

    def spend(name: str) -> int:
        asked, answered = dc.Session(table(), ledger=ledger, analyst=name), 0
        for number in range(5):
            where = f"age = {ANALYSTS.index(name)} OR cost > {number}"
            try:
                asked.sql(f"SELECT COUNT(*) AS n FROM t WHERE {where}", epsilon=PRICE)
            except dc.BudgetExceeded:
                continue
            answered += 1
        return answered

    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(spend, ANALYSTS))


def test_all_together_spend_the_budget_once() -> None:
    assert collude(memory_ledger) == 10


def test_a_ledger_that_looks_at_grants_alone_is_seen() -> None:
    with pytest.raises(AssertionError):
        assert collude(lambda: GrantsAlone(memory_ledger()._store)) == 10
