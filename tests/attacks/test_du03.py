"""DU-03: cut the power. What was never synced is gone, in whole or in part, and in any order."""

import random
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, ledger_at, sqlite
from tests.disk import Disk, laid_out, recorded
from tests.sizes import sized

TENTH = dp.Loss.pure(epsilon=0.1)
QUESTIONS = 12


def a_day(path: Path) -> Disk:
    """Questions on a recorded disk: a mark says that a permit, or an answer, has left the ledger."""
    with recorded() as (disk, driver), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "sync_folder", disk.sync_folder)
        ledger = Ledger(sqlite.SqliteStore(path, driver=driver))
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=10))
        for number in range(QUESTIONS):
            ledger.reserve(TENTH, key=str(number), question="q" * 50 * number, analyst="curator")
            disk.mark(f"charged {number}")
            ledger.record(str(number), bytes(97 * number))
            disk.mark(f"shown {number}")
            if number % 5 == 4:
                ledger.close()  # the log is written back into the file
        ledger.close()
    return disk


def forgotten(disk: Disk, path: Path, tmp_path: Path, cuts: int) -> list[str]:
    """What the world saw and a ledger no longer has, over power cuts anywhere."""
    source, lost = random.Random(1), []
    for cut in range(cuts):
        until = source.randrange(len(disk.operations) + 1)
        seen = disk.marks(until)
        if not seen:
            continue
        restarted = ledger_at(laid_out(disk.after_a_cut(until, source), path, tmp_path / str(cut)))
        try:
            restarted.bind(dataset="t", budget=dp.Budget(epsilon=10))
            rows = {(entry.kind, entry.number): entry for entry in restarted.history()}
            answers = sum(kind == "answer" for kind, _ in rows)
            charges = sum(kind == "reserve" for kind, _ in rows)
        except LedgerError as error:
            lost.append(f"it does not open: {error}")
            continue
        finally:
            restarted.close()
        if charges < sum(mark.startswith("charged") for mark in seen):
            lost.append("a charge")
        if answers < sum(mark.startswith("shown") for mark in seen):
            lost.append("an answer")
    return lost


def test_nothing_that_was_seen_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    disk = a_day(path)
    assert {operation.kind for operation in disk.operations} >= {"write", "sync", "mark"}
    assert forgotten(disk, path, tmp_path, sized(60, 200)) == []


def test_a_ledger_that_does_not_sync_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: no kill of a process would see it, because the system still has the writes."""
    unsynced = tuple((name, ("OFF", "0") if name == "synchronous" else wanted) for name, wanted in sqlite._PRAGMAS)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_PRAGMAS", unsynced)
        disk = a_day(tmp_path / "x.ledger")
    assert "a charge" in forgotten(disk, tmp_path / "x.ledger", tmp_path, sized(60, 200))
