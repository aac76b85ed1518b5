"""What completion offers: the words of the parser, in three shells; bash is asked for real where there is one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from discreet.cli import parser
from discreet.commands.tree import places
from tests.commands import run

BASH = shutil.which("bash")
PLACES = {place.name: place for place in places(parser())}


def script(shell: str) -> str:
    ran = run("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    return ran.text


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    assert BASH is not None
    asked = """
    source ./completion.bash
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _discreet
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    (folder / "completion.bash").write_text(script("bash"))
    command = [BASH, "--norc", "--noprofile", "-c", asked, "bash", "discreet", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
    return [line for line in ran.stdout.splitlines() if line]


needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash on this machine to ask")


def test_the_tree_is_that_of_the_parser() -> None:
    assert {name for name, _ in PLACES[""].commands} == {
        "demo",
        "describe",
        "query",
        "quote",
        "explain",
        "ledger",
        "completion",
    }
    assert len(PLACES) == 8 + len(PLACES["/ledger"].commands)
    for name, place in PLACES.items():
        spelled = [spelling for option in place.options for spelling in option.names]
        assert ("--json" in spelled) == (name not in ("", "/ledger")), name
    by_name = {option.names[-1]: option for option in PLACES["/query"].options}
    assert by_name["--tables"].takes_file
    assert by_name["--format"].choices == ("table", "csv", "json", "parquet")
    assert not by_name["--json"].takes_value
    assert by_name["--within"].about == "how far off a number may be, at 95 %"
    assert PLACES["/ledger/verify"].takes_file


@needs_bash
class TestBash:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("",), {"demo", "describe", "query", "quote", "explain", "ledger", "completion"}),
            (("qu",), {"query", "quote"}),
            (("-",), {"-h", "--help", "--version"}),
            (("ledger", "re"), {"revoke"}),
            (("ledger", "show", "--f"), {"--format"}),
            (("ledger", "show", "--format", ""), {"table", "csv", "html", "json"}),
            (("query", "--format", "p"), {"parquet"}),
            (("query", "--g"), {"--groups-per-unit"}),
            (("query", "--epsilon", ""), set()),
            (("query", "--analyst", "v"), set()),
            (("completion", ""), {"bash", "zsh", "fish"}),
            (("query", "--tables", "visits.t"), {"visits.toml"}),
            (("ledger", "verify", "visits"), {"visits.toml", "visits.ledger"}),
            (("describe", "v"), {"visits.toml", "visits.ledger"}),
            (("describe", "--table", "ledger", "--c"), {"--check"}),
            (("unknown", "x"), set()),
        ],
    )
    def test_it_offers_what_may_stand_there(self, words: tuple[str, ...], expected: set[str], tmp_path: Path) -> None:
        for name in ("visits.toml", "visits.ledger"):
            (tmp_path / name).touch()
        assert set(offered(tmp_path, *words)) == expected

    def test_nothing_that_is_typed_and_no_name_of_a_file_is_run(self, tmp_path: Path) -> None:
        hostile = ["$(touch ran)", "`touch ran`", "a;touch ran", "a b", "-n", "$HOME", "'\"\\"]
        for name in hostile:
            (tmp_path / name).touch()
        assert set(offered(tmp_path, "ledger", "verify", "")) >= set(hostile)
        for name in hostile:
            for words in ((name, ""), ("ledger", name, ""), ("query", name), ("query", "--format", name), (name,)):
                offered(tmp_path, *words)
        assert not (tmp_path / "ran").exists()

    def test_every_option_of_every_command_is_offered(self, tmp_path: Path) -> None:
        for place in PLACES.values():
            spelled = {name for option in place.options for name in option.names}
            assert set(offered(tmp_path, *place.words, "-")) == spelled


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_every_command_and_option(shell: str) -> None:
    text = script(shell)
    for place in PLACES.values():
        for word in place.words:
            assert word in text
        for option in place.options:
            for spelled in option.names:
                in_fish = f"-l {spelled[2:]}" if spelled.startswith("--") else f"-s {spelled[1:]}"
                assert (in_fish if shell == "fish" else f"'{spelled}'") in text
    assert "@" not in text.replace("${COMPREPLY[@]}", "").replace("${@:2}", "").replace('"$@"', "")
    assert text.endswith("\n")
    assert run("completion", shell, "--json").json == {"shell": shell, "script": text}


def test_in_fish_each_line_is_one_rule_with_balanced_quotes() -> None:
    lines = script("fish").splitlines()
    assert lines[1] == "complete -c discreet -f"
    for line in lines[2:]:
        assert re.fullmatch(r"complete -c discreet -n '[^'\\]+'( (-[lsad] )?('[^'\\]*'|[\w-]+)| -[xrF])+", line), line
    assert (
        "complete -c discreet -n '__fish_seen_subcommand_from query' -l format -x -a 'table csv json parquet'"
        in "\n".join(lines)
    )
    shown = "'__fish_seen_subcommand_from ledger; and __fish_seen_subcommand_from show'"
    assert f"complete -c discreet -n {shown} -F" in lines


def test_in_zsh_the_name_of_no_special_variable_is_used() -> None:
    text = script("zsh")
    assert text.startswith("#compdef discreet\n")
    assert not re.search(r"\blocal\b.*\b(path|status|options|commands|argv)\b", text)


def test_an_unknown_shell_is_refused() -> None:
    assert run("completion", "tcsh").code == 2
