"""What goes wrong with a question on the command line: files are whole or absent, and each case has its exit code."""

import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import discreet as dc
from discreet.engine.duckdb import DuckDB
from tests.commands import ASK, CANARY, COUNT, WARDS, Ran, folder_with_ledger, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return folder_with_ledger(tmp_path, monkeypatch)


def query(*arguments: str) -> Ran:
    return run("query", *ASK, *arguments)


def spent() -> float:
    found: float = run("ledger", "show", "visits.ledger", "--json").json["spent"]
    return found


def files(folder: Path) -> list[Path]:
    """What a folder holds, but for what the ledger knows of the sources, which is beside it from the first look on."""
    return sorted(path for path in folder.iterdir() if ".sources" not in path.name)


class TestFiles:
    @pytest.mark.parametrize("output", ["none/a.csv", "place", "/dev/null", "x" * 300])
    def test_a_place_that_cannot_be_written_is_known_before_the_debit(self, output: str, folder: Path) -> None:
        (folder / "place").mkdir()
        before = files(folder)
        ran = query("--epsilon", "0.1", COUNT, "--output", output)
        assert ran.code == 1
        assert "nothing was spent" in ran.err.lower()
        assert spent() == 0
        assert files(folder) == before

    def test_a_write_that_fails_says_that_asking_again_is_free(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        (folder / "a.csv").write_text("as it was")
        with monkeypatch.context() as patch:
            patch.setattr("discreet.commands.answers.os", SimpleNamespace(**{**vars(os), "fsync": full}))
            ran = query("--epsilon", "0.1", COUNT, "--output", "a.csv")
        assert ran.code == 5
        assert "No space left on device. It is stored in the ledger, and asking again is free." in ran.err
        assert (folder / "a.csv").read_text() == "as it was"
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        assert spent() == 0.1
        assert query("--epsilon", "0.1", COUNT, "--output", "a.csv").code == 0
        assert spent() == 0.1
        assert (folder / "a.csv").read_text().startswith("n,n_error\n")

    def test_a_refused_question_leaves_no_file(self, folder: Path) -> None:
        before = files(folder)
        assert query("--epsilon", "2", COUNT, "--output", "a.csv").code == 3
        assert files(folder) == before

    def test_a_file_is_replaced_and_a_link_keeps_its_place(self, folder: Path) -> None:
        (folder / "real.csv").write_text("old")
        (folder / "link.csv").symlink_to("real.csv")
        assert query("--epsilon", "0.1", COUNT, "--output", "link.csv").code == 0
        assert (folder / "link.csv").is_symlink()
        assert (folder / "real.csv").read_text().startswith("n,n_error")
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE((folder / "real.csv").stat().st_mode) == 0o666 & ~mask


class TestCodes:
    @pytest.mark.parametrize(
        ("arguments", "code", "kind"),
        [
            (("--epsilon", "0.1", "SELECT MAX(cost) FROM visits"), 1, "NotSupported"),
            (("--epsilon", "0.1", "SELECT COUNT(*) FROM visits WHERE age > 3"), 1, "NeedsDeclaration"),
            (("--epsilon", "zero", COUNT), 1, "InvalidParameter"),
            ((COUNT,), 1, "InvalidParameter"),
            (("--epsilon", "0.1", "--rho", "1", COUNT), 1, "InvalidParameter"),
            (("--epsilon", "1.1", COUNT), 3, "BudgetExceeded"),
            (("--epsilon", "0.1", "--analyst", "ana", COUNT), 3, "BudgetExceeded"),
            (("--epsilon", "0.1", "--tables", "no.toml", COUNT), 4, "Unavailable"),
            (("--epsilon", "0.1", "--ledger", "no.ledger", COUNT), 6, "LedgerError"),
        ],
    )
    def test_a_refusal_is_one_line_and_its_code_says_which(
        self, arguments: tuple[str, ...], code: int, kind: str, folder: Path
    ) -> None:
        before = files(folder)
        ran = query(*arguments)
        assert ran.code == code
        assert ran.out == b""
        assert ran.err.startswith("discreet: ")
        assert ran.err.count("\n") == 1
        again = query(*arguments, "--json")
        assert again.code == code
        assert again.json["error"]["kind"] == kind
        assert again.err == f"discreet: {again.json['error']['message']}\n"
        assert files(folder) == before
        assert spent() == 0

    def test_a_source_that_is_gone_is_free(self, folder: Path) -> None:
        (folder / "visits.csv").unlink()
        assert query("--epsilon", "0.1", COUNT).code == 4
        assert spent() == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--epsilon", "0.1", "--format", "parquet", COUNT),
            ("--epsilon", "0.1", "--format", "csv", "--json", COUNT),
            ("--epsilon", "0.1", "--format", "xml", COUNT),
            ("--eps", "0.1", COUNT),
            ("--epsilon", "0.1", "--groups-per-unit", "many", COUNT),
        ],
    )
    def test_a_wrong_command_line_is_told_so(self, arguments: tuple[str, ...]) -> None:
        ran = query(*arguments)
        assert ran.code == 2
        assert ran.err.startswith("usage: discreet ")
        assert spent() == 0

    def test_a_failure_after_the_charge_is_one_constant_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def crash(*_: object) -> None:
            raise RuntimeError(f"could not convert {CANARY}")

        monkeypatch.setattr(DuckDB, "run", crash)
        ran = query("--epsilon", "0.1", "--json", COUNT)
        assert ran.code == 5
        assert ran.json["error"] == {"kind": "Failed", "message": str(dc.Failed())}
        assert CANARY not in ran.text + ran.err
        assert "Traceback" not in ran.err
        assert spent() == 0.1

    def test_a_stop_from_the_keyboard_says_what_is_spent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(DuckDB, "run", stop)
        ran = query("--epsilon", "0.1", COUNT)
        assert ran.code == 130
        assert ran.err == (
            "discreet: stopped. What was reserved stays spent; asking again is free only if the answer was stored.\n"
        )
        assert spent() == 0.1

    def test_no_row_is_in_what_is_shown(self) -> None:
        for arguments in ((WARDS,), ("SELECT cost FROM visits",), (f"{COUNT} WHERE ward = 'nowhere'",)):
            ran = query("--epsilon", "0.1", *arguments)
            assert CANARY not in ran.text + ran.err


def test_a_process_of_its_own_does_the_same(folder: Path) -> None:
    command = [sys.executable, "-m", "discreet", "query", *ASK, "--epsilon", "0.1", "-", "--format", "csv"]
    asked = subprocess.run(command, input=WARDS, capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 0
    assert pd.read_csv(io.StringIO(asked.stdout))["ward"].tolist() == ["north", "south", "icu"]
    assert asked.stderr.startswith("± at 95 %")
    refused = subprocess.run(
        [*command[:-4], "2", "-"], input=COUNT, capture_output=True, text=True, timeout=120, check=False
    )
    assert refused.returncode == 3
    assert refused.stderr.count("\n") == 1


def test_an_interrupt_from_outside_ends_with_130(folder: Path) -> None:
    code = (
        "import os, signal, sys; from discreet.engine.duckdb import DuckDB; from discreet.cli import main\n"
        "DuckDB.run = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        f"sys.exit(main(['query', *{ASK!r}, '--epsilon', '0.1', {COUNT!r}]))"
    )
    stopped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert stopped.returncode == 128 + signal.SIGINT
    assert stopped.stderr.startswith("discreet: stopped. What was reserved stays spent")
    assert spent() == 0.1
