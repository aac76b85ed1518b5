"""Importing discreet costs little: the heavy libraries come in with the function that needs them."""

import subprocess
import sys

import pytest

HEAVY = ("scipy", "pyarrow", "duckdb", "sqlglot", "flint", "cryptography", "pandas", "polars")


def heavy_after(statement: str) -> list[str]:
    code = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return run.stdout.split()


@pytest.mark.parametrize("statement", ["import discreet", "from discreet import dp", "from discreet import release"])
def test_an_import_is_light(statement: str) -> None:
    assert heavy_after(statement) == []


def test_a_heavy_import_is_seen() -> None:
    assert heavy_after("import discreet, scipy, sqlglot") == ["scipy", "sqlglot"]
