"""The command line, as a person runs it."""

import contextlib
import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli import BUDGET, FAILED, LEDGER, REFUSED, STOPPED, UNAVAILABLE, main, parser
from discreet.commands.console import elapsed, say_data, visible
from discreet.commands.tree import Place, places
from discreet.demo import PICTURE
from tests.commands import Stream, run
from tests.test_imports import HEAVY

ROOT = Path(__file__).parents[1]
TOML = """
[visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 2
[visits.columns]
ward = { category = ["north", "south"] }
cost = { real = [0, 5000], step = 0.01 }
[wards]
source = "visits.csv"
public = true
[wards.columns]
ward = { category = ["north", "south"] }
"""
ROWS = """who,ward,cost
a,north,1
a,south,2.5
a,north,9999
b,West,x
,south,
"""


def test_the_demo_shows_the_main_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    steps = [
        "session.quote",
        "10 % of the budget",
        "Female",
        "n ± 98, age ± ",
        "cache, free",
        "Bachelors",
        "spread",
        "NotSupported: MAX",
    ]
    steps += ["BudgetExceeded", "Ask with epsilon=0.59 or less", "session.history()", "reserve", "41.0%, 59.0%"]
    steps += ["10,000 questions", "release.Interactive(", "charged: ", "438"]
    for step in steps:
        assert step in out
    assert [path.name for path in tmp_path.iterdir()] == [PICTURE]
    missed = re.search(r"^ +10,000 +438 +(\d+)$", out, re.MULTILINE)  # on average; one by one it is 438
    assert missed is not None
    assert 20 < int(missed[1]) < 110


def test_the_demo_runs_on_a_terminal_without_the_signs(tmp_path: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}
    command = [sys.executable, "-m", "discreet", "demo"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=True)
    assert run.stdout.isascii()
    assert b"|" in run.stdout


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discreet", "demo"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
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


class TestDescribe:
    @pytest.fixture
    def toml(self, tmp_path: Path) -> str:
        (tmp_path / "visits.csv").write_text(ROWS)
        (tmp_path / "visits.toml").write_text(TOML)
        return str(tmp_path / "visits.toml")

    def test_a_description_shows_its_public_facts(self, toml: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["describe", toml]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert out == "\n\n".join(repr(table) for table in dc.load_tables(toml)) + "\n"
        assert "at most 2 rows of one who count; declared columns:\n  ward  Category(['north', 'south'])" in out
        assert main(["describe", toml, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert [fact["name"] for fact in facts] == ["visits", "wards"]
        assert facts[0]["columns"]["cost"] == {"real": [0, 5000], "step": "0.01"}

    def test_a_source_gives_a_draft(self, toml: str, capsys: pytest.CaptureFixture[str]) -> None:
        source = str(Path(toml).with_name("visits.csv"))
        assert main(["describe", source]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert list(tomllib.loads(out)["visits"]["columns"]) == ["who", "ward", "cost"]
        Path(toml).write_text(out)
        assert main(["describe", toml]) == 1
        assert 'line 21, is not filled in: unit = "FILL IN"' in capsys.readouterr().err
        assert main(["describe", source, "--json"]) == 0
        columns = json.loads(capsys.readouterr().out)["columns"]
        assert columns[0] == {"name": "who", "type": "text of a CSV file", "declare": '"FILL IN"'}

    def test_the_rows_are_checked_for_the_curator(self, toml: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["describe", toml, "--check"]) == 0
        out, err = capsys.readouterr()
        assert err.startswith("PRIVATE: what follows was counted in the rows, without noise.")
        assert [" ".join(line.split()) for line in out.splitlines()] == [
            "table visits: 5 rows",
            "1 rows without a who, which are dropped",
            "2 units, 1 of them with more than 2 rows",
            "ward 1 outside 0 missing",
            "cost 2 outside 1 missing",
            "",
            "table wards: 5 rows",
            "ward 1 outside 0 missing",
        ]
        assert main(["describe", toml, "--check", "--json"]) == 0
        out, err = capsys.readouterr()
        assert err.startswith("PRIVATE")
        visits, wards = json.loads(out)
        assert visits["private"]
        assert visits["units_with_more_rows"] == 1
        assert visits["columns"]["cost"] == {"outside": 2, "missing": 1}
        assert "units" not in wards

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["no.toml"], 4, "the description 'no.toml' cannot be read"),
            (["no.parquet"], 4, "the schema of this source cannot be read"),
            (["no.parquet", "--check"], 1, "--check compares the rows with a description"),
            (["no.toml", "--table", "a"], 1, "--table names the table of a server"),
            (["postgresql://host/base"], 1, 'add table="schema.visits"'),
            (["visits.xlsx"], 1, "with one of these endings"),
        ],
    )
    def test_a_refusal_is_one_line(
        self, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["describe", *arguments]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("discreet: ")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["demo", "--epsilon", "1"], ["describe"]])
def test_what_is_unknown_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: discreet" in capsys.readouterr().err


class TestStreams:
    def test_what_a_terminal_would_obey_is_shown_and_not_sent(self) -> None:
        hostile = "x\x1b[31m\ny\u202e"
        for arguments in (
            ["describe", f"{hostile}.toml"],
            ["describe", hostile],
            ["query", "--tables", hostile, "--ledger", hostile, "--epsilon", hostile, hostile],
            ["ledger", "show", hostile],
            ["ledger", "grant", hostile, hostile, "--epsilon", "1"],
            ["ledger", "create", "a.ledger", "--dataset", hostile, "--epsilon", "1"],
            ["explain", "--tables", "no.toml", "--file", hostile],
        ):
            ran = run(*arguments)
            assert ran.code in (1, 4, 6), arguments
            assert visible(ran.err.removesuffix("\n"), breaks=False) == ran.err.removesuffix("\n")
        ran = run("demo", hostile)
        assert ran.code == 2
        assert visible(ran.err) == ran.err
        assert len(ran.err.splitlines()) == 2

    def test_the_time_that_passes_is_shown_on_a_terminal_and_nothing_else(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("discreet.commands.console._QUIET", 0.01)
        for terminal in (True, False):
            stream = Stream(terminal=terminal)
            with contextlib.redirect_stderr(stream), elapsed("asking"):
                time.sleep(0.1)
            shown = stream.written.decode()
            if terminal:
                *lines, blank, end = shown.split("\r")[1:]
                assert set(lines) == {"asking: 0 s"}
                assert blank.strip() == end == ""
            else:
                assert shown == ""

    def test_what_is_quick_shows_no_time(self) -> None:
        stream = Stream(terminal=True)
        with contextlib.redirect_stderr(stream), elapsed("asking"):
            pass
        assert stream.written == b""

    def test_machines_get_bytes_as_they_are_whatever_the_terminal_can_show(self) -> None:
        out = Stream(encoding="ascii")
        with contextlib.redirect_stdout(out):
            say_data("z\u00fcrich,\u00b1\n")
        assert out.written.decode() == "z\u00fcrich,\u00b1\n"


class TestHelp:
    @pytest.mark.parametrize("place", [place for place in places(parser()) if not place.commands])
    def test_every_command_has_an_example_that_is_a_command(self, place: Place) -> None:
        ran = run(*place.words, "--help")
        assert (ran.code, ran.err) == (0, "")
        examples = [line.strip() for line in ran.text.partition("example")[2].splitlines()[1:] if line.strip()]
        assert examples
        for example in examples:
            inner = re.sub(r"^source <\((.*)\)$", r"\1", example).partition(" > ")[0]
            program, *words = shlex.split(inner)
            assert program == "discreet"
            parser().parse_args(words)

    def test_the_exit_codes_are_listed(self) -> None:
        text = run("--help").text
        for code in (0, REFUSED, 2, BUDGET, UNAVAILABLE, FAILED, LEDGER, STOPPED):
            assert f"\n  {code:<3}  " in text

    def test_help_loads_none_of_the_heavy_libraries(self) -> None:
        code = (
            "import contextlib, sys\nfrom discreet.cli import main\n"
            "with contextlib.suppress(SystemExit):\n    main(['ledger', '--help'])\n"
            f"print(*[name for name in {(*HEAVY, 'numpy')} if name in sys.modules])"
        )
        ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
        assert ran.stdout.splitlines()[-1] == ""

    def test_the_installed_program_is_this_one(self) -> None:
        scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
        assert scripts == {"discreet": "discreet.cli:main"}


def test_a_python_that_runs_no_file_can_ask(tmp_path: Path) -> None:
    """In a notebook and at a prompt, too: there DuckDB would show how far it has read."""
    code = (
        "import discreet as dc\n"
        "session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())\n"
        "print(session.sql('SELECT COUNT(*) AS n FROM census', epsilon=1).rows)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_the_demo_can_be_had_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.demo.demo", lambda: print("one\ntwo"))
    assert run("demo", "--json").json == {"lines": ["one", "two"]}


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    ran = run("ledger", "show", "postgresql://host/base")
    assert ran.code == 1
    assert "pip install 'discreet[postgres]'" in ran.err
