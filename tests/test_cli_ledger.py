"""`discreet ledger`: every command, on the dataset and the budget on record."""

import csv
import io
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from discreet.ledger import ledger_at
from discreet.ledger.statement import COLUMNS
from tests.commands import ASK, COUNT, WARDS, Ran, folder_with_ledger, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return folder_with_ledger(tmp_path, monkeypatch)


def ledger(command: str, *arguments: str) -> Ran:
    return run("ledger", command, "visits.ledger", *arguments)


def query(*arguments: str) -> Ran:
    return run("query", *ASK, *arguments)


class TestCreate:
    def test_it_is_the_ledger_of_the_first_private_table(self) -> None:
        found = ledger("show", "--json").json
        assert (found["dataset"], found["budget"], found["spent"], found["remaining"]) == (
            "visits",
            {"epsilon": "1"},
            0,
            1,
        )
        assert query("--epsilon", "0.1", COUNT).code == 0

    @pytest.mark.parametrize(
        ("options", "budget"),
        [
            (("--epsilon", "0.3"), dc.Budget(epsilon="3/10")),
            (("--epsilon", "1", "--delta", "1e-9"), dc.Budget(epsilon=1, delta="1e-9")),
            (
                ("--epsilon", "1", "--delta", "1e-9", "--delta-add", "1e-10"),
                dc.Budget(epsilon=1, delta="1e-9", delta_add="1e-10"),
            ),
            (("--rho", "0.1"), dc.Budget(rho="1/10")),
        ],
    )
    def test_each_kind_of_budget_is_exact(self, options: tuple[str, ...], budget: dc.Budget) -> None:
        made = run("ledger", "create", "other.ledger", "--dataset", "visits", *options)
        assert made.code == 0
        assert repr(budget) in made.text
        assert dc.Ledger.open("other.ledger").budget == budget

    def test_a_ledger_that_is_there_is_left_as_it_is(self) -> None:
        before = ledger("show", "--json").out
        for budget in ("1", "2"):
            ran = ledger("create", "--dataset", "visits", "--epsilon", budget)
            assert ran.code == 6
            assert "there is a ledger at this path already" in ran.err
        assert ledger("show", "--json").out == before

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            (("--dataset", "visits"), 1),
            (("--dataset", "visits", "--epsilon", "1", "--rho", "1"), 1),
            (("--dataset", "visits", "--epsilon", "much"), 1),
            (("--dataset", "a\nb", "--epsilon", "1"), 1),
            (("--epsilon", "1"), 2),
            (("--dataset", "visits", "--tables", "visits.toml", "--epsilon", "1"), 2),
            (("--tables", "no.toml", "--epsilon", "1"), 4),
        ],
    )
    def test_what_makes_no_ledger_makes_no_file(self, options: tuple[str, ...], code: int, folder: Path) -> None:
        ran = run("ledger", "create", "other.ledger", *options)
        assert ran.code == code
        assert not (folder / "other.ledger").exists()

    def test_a_version_that_the_tables_declare_is_on_record(self, folder: Path) -> None:
        toml = folder / "visits.toml"
        toml.write_text(toml.read_text().replace("rows_per_unit", 'version = "2026"\nrows_per_unit'))
        assert run("ledger", "create", "other.ledger", "--tables", "visits.toml", "--epsilon", "1").code == 0
        entries = run("ledger", "show", "other.ledger", "--json").json["entries"]
        assert [(entry["kind"], entry["version"]) for entry in entries] == [("open", "2026")]


class TestOpen:
    @pytest.mark.parametrize("command", ["show", "verify", "grant", "revoke", "raise", "anchor", "backup"])
    def test_a_ledger_that_is_not_there_is_not_made(self, command: str, folder: Path) -> None:
        options = {
            "grant": ("ana", "--epsilon", "0.1"),
            "revoke": ("ana", "--reason", "gone"),
            "raise": ("--epsilon", "2", "--reason", "agreed"),
            "anchor": ("a.anchor",),
            "backup": ("b.ledger",),
        }
        before = sorted(folder.iterdir())
        ran = run("ledger", command, "no.ledger", *options.get(command, ()))
        assert ran.code == 6
        assert "there is no ledger at this path" in ran.err
        assert sorted(folder.iterdir()) == before

    def test_what_is_on_record_is_taken_and_nothing_is_written(self, folder: Path) -> None:
        second = ledger_at("visits.ledger")
        second.bind(dataset="visits", budget=None, version="2")
        entries = ledger("show", "--json").json["entries"]
        assert [entry["version"] for entry in entries] == ["1", "2"]
        found = dc.Ledger.open("visits.ledger")
        assert (found.dataset, found.budget) == ("visits", dc.Budget(epsilon=1))
        found.grant("ana", dc.Budget(epsilon="0.1"))
        assert found.history()[-1].version == "2"

    def test_a_file_that_is_no_ledger_is_left_as_it_was(self, folder: Path) -> None:
        for data in (b"not a ledger at all, but a text of some length" * 99, b""):
            (folder / "other.ledger").write_bytes(data)
            assert run("ledger", "show", "other.ledger").code == 6
            assert (folder / "other.ledger").read_bytes()[:20] in (data[:20], b"SQLite format 3\0\x10\0\2\2")

    def test_a_ledger_of_another_dataset_is_not_used(self, folder: Path) -> None:
        run("ledger", "create", "other.ledger", "--dataset", "wards", "--epsilon", "1")
        ran = run("query", "--tables", "visits.toml", "--ledger", "other.ledger", "--epsilon", "0.1", COUNT)
        assert ran.code == 6
        assert "this ledger is that of 'wards', not of 'visits'" in ran.err


class TestAnalysts:
    def test_a_grant_is_a_limit_and_can_be_revoked(self) -> None:
        ana = ("--analyst", "ana", "--epsilon", "0.2")
        assert query(*ana, COUNT).code == 3
        granted = ledger("grant", "ana", "--epsilon", "0.3")
        assert granted.code == 0
        assert granted.text.startswith("'ana' may spend dc.Budget(epsilon=0.3), counted from now")
        assert query(*ana, COUNT).code == 0
        over = query(*ana, WARDS)
        assert over.code == 3
        assert "your own grant" in over.err
        assert ledger("revoke", "ana", "--reason", "left the project").code == 0
        assert query("--analyst", "ana", "--epsilon", "0.1", WARDS).code == 3
        assert ledger("revoke", "ana", "--reason", "again").code == 6

    def test_a_budget_is_raised_with_a_reason(self) -> None:
        assert ledger("raise", "--epsilon", "2").code == 2
        assert ledger("raise", "--epsilon", "2", "--reason", " ").code == 1
        assert ledger("raise", "--epsilon", "0.5", "--reason", "less").code == 1
        assert query("--epsilon", "1", COUNT).code == 0
        assert query("--epsilon", "1", WARDS).code == 3
        raised = ledger("raise", "--epsilon", "2", "--reason", "the board agreed")
        assert raised.code == 0
        assert raised.text == "the budget is dc.Budget(epsilon=2) from now on; spent: 50 %, left: 50 %.\n"
        assert query("--epsilon", "1", WARDS).code == 0

    def test_a_raise_keeps_the_delta_on_record(self, folder: Path) -> None:
        run("ledger", "create", "other.ledger", "--dataset", "visits", "--epsilon", "1", "--delta", "1e-9")
        assert run("ledger", "raise", "other.ledger", "--epsilon", "2", "--reason", "agreed", "--json").json[
            "budget"
        ] == {
            "epsilon": "2",
            "delta": "1e-09",
        }

    @pytest.mark.parametrize("name", ["", "a\x1b[31m", "a\nb"])
    def test_a_name_is_one_that_can_be_shown(self, name: str) -> None:
        ran = ledger("grant", name, "--epsilon", "0.3")
        assert ran.code == 1
        assert "\x1b" not in ran.err
        assert ran.err.count("\n") == 1


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1].append(data)
            self.inside = False


class TestShow:
    def test_every_format_has_every_entry(self) -> None:
        query("--epsilon", "0.25", WARDS)
        ledger("revoke", "ana", "--reason", "x")
        ledger("grant", "ana", "--epsilon", "0.3")
        kinds = ["open", "reserve", "answer", "grant"]
        found = ledger("show", "--json").json
        assert [entry["kind"] for entry in found["entries"]] == kinds
        assert [entry["share"] for entry in found["entries"]] == [0, 0.25, 0, 0]
        assert (found["spent"], found["remaining"]) == (0.25, 0.75)
        frame = pd.read_csv(io.BytesIO(ledger("show", "--format", "csv").out))
        assert tuple(frame.columns) == COLUMNS
        assert list(frame["kind"]) == kinds
        assert list(frame["hash"]) == [entry["hash"] for entry in found["entries"]]
        cells = Cells()
        cells.feed(ledger("show", "--format", "html").text)
        assert [row[4] for row in cells.rows] == ["kind", *kinds]
        table = ledger("show").text
        assert "spent: 25 %; left: 75 %" in table
        assert table.splitlines()[0].split()[:3] == ["number", "moment", "analyst"]
        assert ledger("show", "--format", "csv", "--json").code == 2

    def test_a_statement_sends_nothing_to_a_terminal(self, folder: Path) -> None:
        base = sqlite3.connect(folder / "visits.ledger")
        base.executescript("DROP TRIGGER entry_stays; UPDATE entry SET moment = char(27) || '[31m'")
        base.close()
        ran = ledger("show")
        assert ran.code == 6  # whoever wrote this also broke the chain
        assert "\x1b" not in ran.err
        other = dc.Ledger.create("b\x1b[31m.ledger", dataset="t", budget=dc.Budget(epsilon=1))
        other.anchor("a\x1b[31m.anchor")  # the path of an anchor is on record
        for form in ("table", "csv", "html", "json"):
            shown = run("ledger", "show", "b\x1b[31m.ledger", "--format", form, terminal=True)
            assert shown.code == 0
            assert b"\x1b" not in shown.out
        rows = list(csv.reader(io.StringIO(run("ledger", "show", "b\x1b[31m.ledger", "--format", "csv").text)))
        assert rows[-1][5].endswith("a\x1b[31m.anchor")


class TestCare:
    def test_a_ledger_that_was_changed_is_found_out(self, folder: Path) -> None:
        query("--epsilon", "0.25", WARDS)
        found = ledger("verify")
        assert found.code == 0
        assert found.text == ("3 entries: every hash and every total is as it should be; spent: 25 %, left: 75 %.\n")
        base = sqlite3.connect(folder / "visits.ledger")
        base.executescript("DROP TRIGGER entry_stays; UPDATE entry SET amount = '1/100' WHERE number = 2")
        base.close()
        broken = ledger("verify", "--json")
        assert broken.code == 6
        assert broken.json["error"]["kind"] == "LedgerError"
        assert "row 2 of the ledger does not fit" in broken.err
        assert query("--epsilon", "0.1", COUNT).code == 6

    def test_an_old_copy_is_behind_its_anchor(self, folder: Path) -> None:
        assert ledger("anchor", "visits.anchor").code == 0
        assert ledger("backup", "old.ledger").code == 0
        query("--epsilon", "0.25", WARDS)
        for command in ("show", "verify"):
            ran = run("ledger", command, "old.ledger")
            assert ran.code == 6
            assert "behind its anchor" in ran.err
        ask = ("--tables", "visits.toml", "--ledger", "old.ledger", "--epsilon", "0.1")
        assert run("query", *ask, COUNT).code == 6
        assert run("ledger", "anchor", "old.ledger", "visits.anchor").code == 1
        taken = run("ledger", "anchor", "old.ledger", "visits.anchor", "--reason", "the disk is lost", "--json")
        assert taken.code == 0
        assert taken.json["spent"] == 0.25
        assert run("query", *ask, COUNT).code == 0

    def test_a_place_that_cannot_be_written_changes_nothing(self, folder: Path) -> None:
        before = ledger("show", "--json").out
        assert ledger("anchor", "none/visits.anchor").code == 1
        assert ledger("backup", "none/b.ledger").code == 6
        assert ledger("backup", "visits.csv").code == 6
        assert ledger("backup", "x" * 300).code == 4
        assert ledger("show", "--json").out == before

    def test_a_backup_is_a_ledger(self) -> None:
        query("--epsilon", "0.25", WARDS)
        assert ledger("backup", "monday.ledger").code == 0
        assert run("ledger", "show", "monday.ledger", "--json").out == ledger("show", "--json").out


def test_the_group_alone_is_no_command() -> None:
    ran = run("ledger")
    assert ran.code == 2
    assert "usage: discreet ledger" in ran.err
