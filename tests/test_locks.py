"""The lock files hold pins and hashes and nothing else, and agree with the ranges of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
LOCKS = {"requirements.lock": [], **{f"requirements-{name}.lock": [name] for name in (*EXTRAS, *GROUPS)}}

PIN = re.compile(r"^[a-z0-9.-]+==[^\s;]+( ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


def stray_lines(text: str) -> list[str]:
    """The lines that are neither a pin with a hash after it nor one of its hashes."""
    lines = text.splitlines()
    stray = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        continues = line.endswith(" \\")
        if (not (PIN.match(line) or HASH.match(line))) or continues != bool(HASH.match(following)):
            stray.append(line)
    return stray


def pins(name: str) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if PIN.match(line):
            pin = Requirement(line.removesuffix(" \\"))
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def ranges(name: str) -> list[Requirement]:
    """What pyproject.toml asks for in this lock file, with extras of our own followed."""
    if name == "requirements.lock":
        wanted = list(PROJECT["project"]["dependencies"])
    else:
        key = LOCKS[name][0]
        wanted = [*EXTRAS[key], *PROJECT["project"]["dependencies"]] if key in EXTRAS else list(GROUPS[key])
    out = []
    while wanted:
        requirement = Requirement(wanted.pop())
        if requirement.name == PROJECT["project"]["name"]:
            wanted += [line for extra in requirement.extras for line in EXTRAS[extra]]
        else:
            out.append(requirement)
    return out


def refused(wanted: Requirement, pinned: list[Requirement]) -> bool:
    """Whether no pin, or a pin outside the range, stands for this requirement."""
    versions = [next(iter(pin.specifier)).version for pin in pinned]
    return not versions or not all(wanted.specifier.contains(version) for version in versions)


def test_every_extra_and_group_has_its_lock_file_and_no_other_exists() -> None:
    assert {path.name for path in ROOT.glob("*.lock")} == {*LOCKS}
    assert not list(ROOT.glob("pylock*.toml"))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_holds_pins_and_hashes_only(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert "://" not in text
    assert stray_lines(text) == []


@pytest.mark.parametrize("name", LOCKS)
def test_the_pins_are_within_the_ranges(name: str) -> None:
    pinned = pins(name)
    for wanted in ranges(name):
        assert not refused(wanted, pinned.get(canonicalize_name(wanted.name), [])), wanted


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("name", LOCKS)
def test_one_version_of_each_library_is_installed(name: str, version: str) -> None:
    here = {"python_version": version, "python_full_version": f"{version}.1"}
    for library, pinned in pins(name).items():
        markers: list[Marker | None] = [pin.marker for pin in pinned]
        assert sum(marker is None or marker.evaluate(here) for marker in markers) <= 1, library


@pytest.mark.parametrize("name", [f"requirements-{extra}.lock" for extra in EXTRAS])
def test_an_extra_leaves_the_core_pins_alone(name: str) -> None:
    extra = pins(name)
    for library, pinned in pins("requirements.lock").items():
        assert [str(pin) for pin in extra[library]] == [str(pin) for pin in pinned]


HASHED = "numpy==2.4.6 \\\n    --hash=sha256:" + "0" * 64 + "\n"


def test_the_right_form_is_accepted() -> None:
    assert stray_lines(HASHED) == []
    assert not refused(Requirement("numpy>=2,<3"), [Requirement("numpy==2.4.6")])


@pytest.mark.parametrize(
    "text",
    [
        "numpy==2.4.6\n",
        "numpy>=2.4 \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "numpy==2.4.6 \\\n    --hash=md5:" + "0" * 32 + "\n",
        HASHED + "    # via scipy\n",
        "--index-url somewhere\n" + HASHED,
    ],
)
def test_a_wrong_form_is_rejected(text: str) -> None:
    assert stray_lines(text) != []


def test_a_pin_outside_its_range_is_rejected() -> None:
    assert refused(Requirement("numpy>=2,<3"), [Requirement("numpy==1.26.4")])
    assert refused(Requirement("numpy>=2,<3"), [])
