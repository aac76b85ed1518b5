"""Every ```python block of README.md and docs/ runs, in order, one namespace a file, in an empty folder.

A page about servers is given some: what a page of GIVEN names is there before its first line.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("README.md"), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```python(?P<flag>[^\n]*)\n(?P<code>.*?)^\1```", re.MULTILINE | re.DOTALL)
NO_RUN = " no-run"
MOST_NO_RUN = 2  # in all pages together: an example that is not run is an example that rots
PICTURE = re.compile(r"!\[[^]]*\]\((?P<path>[^)\s]+)\)")
LARGEST_PICTURE = 100_000  # bytes
NAMED_FILE = re.compile(r"\b(?:tests|src|docs|bench)/[\w/.-]+\.\w+")


def servers(request: pytest.FixtureRequest) -> dict[str, object]:
    """A Spark session, and the address of a PostgreSQL server that has a table of visits."""
    server = request.getfixturevalue("postgres")
    kinds = {"patient": "bigint", "ward": "text", "cost": "double precision"}
    server.load("visits", kinds, [(n // 3, ("north", "south", "icu")[n % 3], n % 200) for n in range(3_000)])
    return {"spark": request.getfixturevalue("spark"), "url": server.url}


GIVEN: dict[str, Callable[[pytest.FixtureRequest], dict[str, object]]] = {"docs/guides/spark.md": servers}


def run_blocks(text: str, name: str, given: Mapping[str, object] = MappingProxyType({})) -> int:
    """Runs the blocks of a page; returns how many. A traceback shows the line of the page."""
    page = ModuleType(name)
    vars(page).update(given)
    sys.modules[name] = page  # dataclasses and pickle look their module up
    ran = 0
    try:
        for block in BLOCK.finditer(text):
            if block["flag"] == NO_RUN:
                continue
            if block["flag"].strip():
                raise ValueError(f"{name}: unknown flag {block['flag']!r}")
            above = text.count("\n", 0, block.start("code"))
            code = "\n" * above + textwrap.dedent(block["code"])
            exec(compile(code, name, "exec"), vars(page))
            ran += 1
    finally:
        del sys.modules[name]
    return ran


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What a page shows is drawn by its own code, without a display and not into the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT).as_posix()
    run_blocks(text, name, GIVEN[name](request) if name in GIVEN else {})
    for picture in PICTURE.finditer(text):
        shown = page.parent / picture["path"]
        assert 0 < shown.stat().st_size < LARGEST_PICTURE
        assert (tmp_path / shown.name).stat().st_size > 0


def test_few_examples_are_excused() -> None:
    flags = [block["flag"] for page in PAGES for block in BLOCK.finditer(page.read_text("utf-8"))]
    assert flags.count(NO_RUN) <= MOST_NO_RUN


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_files_a_page_names_exist(page: Path) -> None:
    named = NAMED_FILE.findall(page.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


SAMPLE = """
```python
x = 1
```
text
```python no-run
raise RuntimeError
```
  ```python
  assert x == {expected}
  ```
"""


def test_blocks_share_a_namespace_and_no_run_is_left_out() -> None:
    assert run_blocks(SAMPLE.format(expected=1), "sample.md") == 2


def test_a_wrong_example_fails_at_its_line() -> None:
    with pytest.raises(AssertionError) as caught:
        run_blocks(SAMPLE.format(expected=2), "sample.md")
    assert caught.traceback[-1].lineno + 1 == 10


def test_an_unknown_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown flag"):
        run_blocks("```python maybe\n```\n", "sample.md")
