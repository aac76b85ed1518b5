"""The command line, as a person runs it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import main

ROOT = Path(__file__).parents[1]


def test_the_demo_shows_the_main_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    steps = [
        "session.quote",
        "10 % of the budget",
        "Female",
        "± 30 at 95 %",
        "cache, free",
        "Bachelors",
        "NotSupported: AVG",
    ]
    steps += ["BudgetExceeded", "Ask with epsilon=0.89 or less", "session.history()", "reserve", "11.0%, 89.0%"]
    steps += ["10,000 questions", "release.Interactive(", "charged: ", "438"]
    for step in steps:
        assert step in out
    assert list(tmp_path.iterdir()) == []
    missed = int(out.splitlines()[-2].split()[-1])  # of 10,000 questions, on average; one by one it is 438
    assert 20 < missed < 110


def test_the_demo_runs_on_a_terminal_without_the_signs() -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}
    command = [sys.executable, "-m", "discreet", "demo"]
    run = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=True)
    assert run.stdout.isascii()
    assert b"|" in run.stdout


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "discreet", "demo"]
    with subprocess.Popen(
        command, env={"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 1


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert capsys.readouterr().out == f"discreet {version}\n"
    assert dc.__version__ == version


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["demo", "--epsilon", "1"]])
def test_what_is_unknown_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: discreet" in capsys.readouterr().err
