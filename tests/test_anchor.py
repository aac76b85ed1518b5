"""DU-09: an old copy of a ledger that is put back, a second copy that is used, and an anchor that is gone."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger import Ledger, anchor, ledger_at
from tests.test_ledger import put_in_place

TENTH = dp.Loss.pure(epsilon=0.1)


def spend(ledger: Ledger, key: str) -> None:
    ledger.reserve(TENTH, key=key, question="q", analyst="curator")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.ledger"


@pytest.fixture
def ledger(path: Path, tmp_path: Path) -> Ledger:
    (tmp_path / "second").mkdir()
    made = Ledger.create(path, dataset="t", budget=dp.Budget(epsilon=1))
    made.anchor(tmp_path / "second" / "x.anchor")
    spend(made, "a")
    return made


def opened(path: Path) -> Ledger:
    again = ledger_at(path)
    again.bind(dataset="t", budget=None)
    return again


class TestRollback:
    def test_an_old_copy_that_is_put_back_is_refused(self, ledger: Ledger, path: Path, tmp_path: Path) -> None:
        ledger.backup(tmp_path / "backup")
        spend(ledger, "b")
        put_in_place(path, (tmp_path / "backup").read_bytes())
        with pytest.raises(LedgerError, match="behind its anchor"):
            opened(path)

    def test_without_an_anchor_nothing_would_be_seen(self, path: Path, tmp_path: Path) -> None:
        """The broken twin: a ledger without an anchor spends again what was spent."""
        bare = Ledger.create(path, dataset="t", budget=dp.Budget(epsilon=1))
        bare.backup(tmp_path / "backup")
        spend(bare, "b")
        put_in_place(path, (tmp_path / "backup").read_bytes())
        assert opened(path).spent == dp.Charge()

    def test_a_second_copy_that_is_used_is_seen_by_both(self, ledger: Ledger, path: Path, tmp_path: Path) -> None:
        ledger.backup(tmp_path / "twin.ledger")
        twin = opened(tmp_path / "twin.ledger")
        spend(twin, "theirs")
        with pytest.raises(LedgerError, match="behind its anchor"):
            spend(ledger, "ours")
        spend(twin, "more")  # the first to spend goes on; the other is stopped

    def test_what_the_anchor_says_was_spent_is_spent_once_the_curator_confirms(
        self, ledger: Ledger, path: Path, tmp_path: Path
    ) -> None:
        ledger.backup(tmp_path / "backup")
        for key in "bcd":
            spend(ledger, key)
        put_in_place(path, (tmp_path / "backup").read_bytes())
        again = ledger_at(path)
        with pytest.raises(InvalidParameter, match="reason"):
            again.anchor(tmp_path / "second" / "x.anchor")
        again.anchor(tmp_path / "second" / "x.anchor", reason="the disk was lost, yesterday's copy is all there is")
        again.bind(dataset="t", budget=None)
        assert again.spent == dp.Charge(Fraction(4, 10))
        spend(again, "e")

    def test_a_crash_before_the_anchor_is_written_stops_nothing(
        self, ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(step: str) -> None:
            if step.startswith("anchor"):
                raise KeyboardInterrupt

        monkeypatch.setattr(anchor, "reached", stop)
        with pytest.raises(KeyboardInterrupt):
            spend(ledger, "b")
        monkeypatch.undo()
        assert opened(path).spent == dp.Charge(Fraction(2, 10))

    def test_an_anchor_that_is_gone_or_unreadable_is_refused(self, ledger: Ledger, tmp_path: Path) -> None:
        place = tmp_path / "second" / "x.anchor"
        held = place.read_text("utf-8")
        for damage in ("", "{}", '{"number": 1, "hash": "", "total": "1/0", "total_delta": "0"}', "[" * 9):
            place.write_text(damage, "utf-8")
            with pytest.raises(LedgerError, match="cannot be read"):
                spend(ledger, "b")
        place.unlink()
        with pytest.raises(LedgerError, match="gone"):
            spend(ledger, "b")
        place.write_text(held, "utf-8")
        spend(ledger, "b")

    def test_a_backup_is_a_ledger_and_overwrites_nothing(self, ledger: Ledger, tmp_path: Path) -> None:
        ledger.backup(tmp_path / "backup")
        assert opened(tmp_path / "backup").history() == ledger.history()
        with pytest.raises(LedgerError, match="overwrite"):
            ledger.backup(tmp_path / "backup")
        with pytest.raises(LedgerError, match="folder"):
            ledger.backup(tmp_path / "no" / "backup")

    def test_every_row_is_anchored_when_it_is_shown(self, ledger: Ledger, tmp_path: Path) -> None:
        for key in "bcd":
            spend(ledger, key)
            held = json.loads((tmp_path / "second" / "x.anchor").read_text("utf-8"))
            assert (held["number"], held["hash"]) == (ledger.history()[-1].number, ledger.history()[-1].hash)
