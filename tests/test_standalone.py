"""The repository stands alone: no file names a machine, a package index or a folder outside it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTSIDE = "shared" + "/"  # in two pieces, so that this file passes too

FORBIDDEN = {
    "a folder beside the repository": re.compile(r"(?<![\w-])(\.\./)" + OUTSIDE + r"|(?<![\w-])/[\w/.-]*/" + OUTSIDE),
    "a path of one machine": re.compile(r"(?<![\w.}$)~-])/(home|Users|root|work|opt)/[\w.-]"),
    "a host of packages": re.compile(
        r"pypi" + r"\.(org|python|io)|python" + "hosted|://registry" + r"\.", re.IGNORECASE
    ),
    "a package index": re.compile(r"https?://[^ \"')]*/(simple|packages|debian)/"),
}


def files() -> list[Path]:
    """The files of the repository: as git has them, and those it would add."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        paths = [ROOT / name for name in names if name]
    except (FileNotFoundError, subprocess.CalledProcessError):  # an unpacked archive
        hidden = re.compile(r"/\.(?!ci/|gitignore)|__pycache__|\.egg-info")
        paths = [path for path in ROOT.rglob("*") if not hidden.search("/" + path.relative_to(ROOT).as_posix())]
    return [path for path in paths if path.is_file()]


def faults(text: str) -> list[str]:
    return [f"{what}: {found[0]}" for what, pattern in FORBIDDEN.items() if (found := pattern.search(text))]


def test_no_file_points_outside() -> None:
    seen = files()
    assert ROOT / "pyproject.toml" in seen
    wrong = {}
    for path in seen:
        content = path.read_bytes()
        if b"\0" not in content[:8192] and (found := faults(content.decode())):
            wrong[path.relative_to(ROOT).as_posix()] = found
    assert wrong == {}


@pytest.mark.parametrize(
    "text",
    [
        "see ../" + OUTSIDE + "design/api.md",
        "open('/srv/x/" + OUTSIDE + "data.csv')",
        "cd /" + "home/ana/discreet",
        "path = '/" + "root/discreet'",
        "index-url = https://py" + "pi.org/simple/",
        "https://files.python" + "hosted.org/x",
        "--index-url http://10.0.0.1/" + "simple/",
    ],
)
def test_a_pointer_outside_is_seen(text: str) -> None:
    assert faults(text) != []


@pytest.mark.parametrize("text", ["a shared ledger", "src/discreet/dp", "~/code/x", "https://www.apache.org/licenses/"])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert faults(text) == []
