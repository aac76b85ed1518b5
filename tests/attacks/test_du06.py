"""DU-06: deliver one request a hundred times, in parallel and after a restart: one charge, the same bytes."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, ledger_at
from tests.broken.ledgers import PaysTwice

TENTH = dp.Loss.pure(epsilon=0.1)


def delivered(ledger: Ledger, times: int) -> list[bytes]:
    def once(_: int) -> bytes | None:
        try:
            held = ledger.reserve(TENTH, key="request", question="q", analyst="curator")
        except LedgerError:
            return None  # another delivery has the permit, and no answer yet
        return held if isinstance(held, bytes) else ledger.record("request", b"the answer")

    with ThreadPoolExecutor(8) as pool:
        return [answer for answer in pool.map(once, range(times)) if answer is not None]


def test_one_charge_and_the_same_bytes(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
    assert set(delivered(ledger, 100)) == {b"the answer"}
    again = ledger_at(tmp_path / "x")
    again.bind(dataset="t", budget=None)
    assert delivered(again, 100) == [b"the answer"] * 100
    assert again.spent.amount == Fraction(1, 10)


def test_a_key_with_another_body_is_a_conflict(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
    delivered(ledger, 1)
    with pytest.raises(LedgerError, match="another question or price"):
        ledger.reserve(TENTH, key="request", question="other", analyst="curator")
    with pytest.raises(LedgerError, match="another question or price"):
        ledger.reserve(dp.Loss.pure(epsilon=0.2), key="request", question="q", analyst="curator")


def test_a_ledger_that_forgets_its_keys_is_rejected(tmp_path: Path) -> None:
    twin = PaysTwice(ledger_at(tmp_path / "x")._store)
    twin.bind(dataset="t", budget=dp.Budget(epsilon=1))
    shown: list[str] = []
    for _ in range(3):
        twin.spend(TENTH, "request", shown.append)
    assert twin.spent.amount > Fraction(1, 10)
