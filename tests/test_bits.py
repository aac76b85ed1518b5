"""Only dp/randomness.py draws bits."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "discreet"
THE_ONE = PACKAGE / "dp" / "randomness.py"

MODULES = ("random", "secrets", "numpy.random")
FUNCTIONS = ("urandom", "getrandom", "default_rng")


def draws(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                taken = [alias.name for alias in names]
            case ast.ImportFrom(module=base, names=names, level=0):
                taken = [f"{base}.{alias.name}" for alias in names]
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                taken = ["numpy.random"]
            case ast.Attribute(attr=name) | ast.Name(id=name):
                taken = [name]
            case _:
                continue
        named = isinstance(node, ast.Import | ast.ImportFrom) or taken == ["numpy.random"]
        for name in taken:
            a_module = named and f"{name}.".startswith(tuple(f"{module}." for module in MODULES))
            if a_module or name.rpartition(".")[2] in FUNCTIONS:
                yield name


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_one_file_draws_bits(path: Path) -> None:
    if path != THE_ONE:
        assert list(draws(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "def f():\n    from random import gauss",
        "import secrets",
        "import numpy as np\nnp.random.normal()",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "import os\nos.getrandom(8)",
    ],
)
def test_a_second_source_of_bits_is_seen(source: str) -> None:
    assert list(draws(source)) != []


@pytest.mark.parametrize(
    "source", ["from discreet.dp import randomness", "random = 4\nx.random()", "import os\nos.replace(a, b)"]
)
def test_other_code_is_left_alone(source: str) -> None:
    assert list(draws(source)) == []
