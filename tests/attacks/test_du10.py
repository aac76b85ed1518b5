"""DU-10: set the clock back, or ten years ahead: no budget comes back with it."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger, chain, memory_ledger

TENTH = dp.Loss.pure(epsilon=0.1)


class Clock:
    """A clock that jumps."""

    now_ = datetime(2026, 11, 19, tzinfo=UTC)

    @classmethod
    def now(cls, zone: object) -> datetime:
        return cls.now_


class RefillsDaily(Ledger):
    """The broken twin: each day has a budget of its own."""

    def reserve(self, loss, *, key, question, analyst):  # type: ignore[no-untyped-def]
        today = Clock.now(UTC).date().isoformat()
        spent = sum((entry.share for entry in self.history() if entry.moment[:10] == today), Fraction(0))
        with self._writing() as rows:
            charge = self.budget.charge(loss)
            if spent + self.budget.share(charge) > 1:
                raise BudgetExceeded("today's is spent")
            self._append(rows, "reserve", key=key, body=question, charge=charge)


def admitted(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(chain, "datetime", Clock)
    ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
    count = 0
    for number, days in enumerate([0, -1, 3650, -7300, 0, 1] * 4):
        Clock.now_ += timedelta(days=days)
        try:
            ledger.reserve(TENTH, key=str(number), question="q", analyst="curator")
        except BudgetExceeded:
            continue
        count += 1
    ledger.verify()
    return count


def test_no_clock_refills_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert admitted(memory_ledger(), monkeypatch) == 10
    assert admitted(RefillsDaily(memory_ledger()._store), monkeypatch) > 10
