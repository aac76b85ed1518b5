"""The commands in docs/guides/command-line.md run in an empty folder, in order, with the exit codes that it says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands import Ran, run

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "command-line.md"
BLOCK = re.compile(r"^```(?P<kind>python|sh)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
PROMISED = re.compile(r"# exit (\d+)$")


def run_page(text: str) -> list[tuple[str, int, Ran]]:
    """Runs python blocks, and of shell blocks the lines that begin with `discreet`; a line says its exit code, or 0."""
    found = []
    names: dict[str, object] = {}
    for block in BLOCK.finditer(text):
        if block["kind"] == "python":
            exec(block["text"], names)
            continue
        for line in block["text"].replace("\\\n", " ").splitlines():
            promised = PROMISED.search(line)
            program, *words = shlex.split(line, comments=True)
            assert program == "discreet"
            target = words[words.index(">") + 1] if ">" in words else None
            ran = run(*words[: words.index(">") if target else None])
            if target:
                Path(target).write_bytes(ran.out)
            found.append((line, int(promised[1]) if promised else 0, ran))
    return found


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run_page(PAGE.read_text("utf-8"))
    assert [(line, ran.err) for line, promised, ran in found if ran.code != promised] == []
    assert len(found) > 25
    assert {promised for _, promised, _ in found} == {0, 1, 2, 3, 4, 6}
    for line, promised, ran in found:
        assert (ran.out != b"") == (promised == 0 and "--output" not in line), line
    for file, start in {
        "wards.csv": b"ward,n,n_error\n",
        "old.parquet": b"PAR1",
        "statement.html": b"<!doctype html>",
        "_discreet": b"#compdef discreet\n",
    }.items():
        assert (tmp_path / file).read_bytes().startswith(start)


def test_a_wrong_exit_code_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, promised, ran),) = run_page("```sh\ndiscreet describe no.toml  # exit 0\n```\n")
    assert (promised, ran.code) == (0, 4)
