"""A ledger that is opened again without knowing whose it is: all that is on record is taken, and nothing is written."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger import Ledger, ledger_at, memory_ledger


@pytest.fixture(params=["file", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return str(tmp_path / "x.ledger")
    made: str = request.getfixturevalue("durable_postgres")()
    return made


def test_all_that_is_on_record_is_taken(address: str) -> None:
    assert not ledger_at(address).is_there()
    made = Ledger.create(address, dataset="visits", budget=dc.Budget(epsilon=1, delta="1e-9"))
    made.bind(dataset="visits", budget=None, version="2")
    made.raise_budget(reason="agreed", epsilon=2, delta="1e-9")
    before = made.history()
    found = Ledger.open(address)
    assert found.is_there()
    assert (found.dataset, found.budget, found.history()) == ("visits", made.budget, before)
    found.grant("ana", dc.Budget(epsilon="0.1", delta="1e-10"))
    assert [entry.version for entry in found.history()] == ["1", "2", "2", "2"]
    assert made.history() == found.history()


def test_a_ledger_that_is_not_there_is_not_made(address: str, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(dc.LedgerError, match="there is no ledger at this path"):
            Ledger.open(address)
        assert not ledger_at(address).is_there()
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_in_memory_is_there_once_it_is_bound() -> None:
    ledger = memory_ledger()
    assert not ledger.is_there()
    ledger.bind(dataset="t", budget=dc.Budget(epsilon=1))
    assert ledger.is_there()


def test_what_is_opened_is_held_against_its_anchor(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    made = Ledger.create(path, dataset="t", budget=dc.Budget(epsilon=1))
    made.anchor(tmp_path / "x.anchor")
    made.backup(tmp_path / "old.ledger")
    made.grant("ana", dc.Budget(epsilon="0.1"))
    old = Ledger.open(tmp_path / "old.ledger")
    for use in (old.history, lambda: old.spent, lambda: old.grant("ben", dc.Budget(epsilon=1)), old.verify):
        with pytest.raises(dc.LedgerError, match="behind its anchor"):
            use()
    old.anchor(tmp_path / "x.anchor", reason="the disk is lost")
    assert [entry.kind for entry in old.history()] == ["open", "anchor", "burn", "anchor"]
