"""Importing discreet costs little: the heavy libraries come in with the function that needs them."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import discreet as dc
from discreet import dp

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


def names_for_types(package: ModuleType) -> dict[str, str]:
    """The public names that type checkers and editors see, each with the module that has it."""
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    found = [line for block in blocks for line in block if isinstance(line, ast.ImportFrom)]
    return {alias.name: f"{line.module}.{alias.name}" for line in found for alias in line.names}


@pytest.mark.parametrize("package", [dc, dp])
def test_the_public_names_are_lazy_and_complete(package: ModuleType) -> None:
    seen = names_for_types(package)
    assert sorted(seen) == sorted(set(dir(package)) - {"__version__"})
    for name, where in seen.items():
        found = getattr(package, name)
        module, _, last = where.rpartition(".")
        wanted = importlib.import_module(where if isinstance(found, ModuleType) else module)
        assert found is (wanted if isinstance(found, ModuleType) else getattr(wanted, last))
        assert getattr(package, name) is found
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        _ = package.Sesion


@pytest.mark.parametrize("package", [dc, dp])
def test_type_checkers_find_a_name_that_is_misspelt(package: ModuleType) -> None:
    """To one that saw `__getattr__` every name would be right."""
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    assert not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body)
    assert hasattr(package, "__getattr__")


def test_a_mechanism_brings_in_what_it_needs() -> None:
    code = (
        "from discreet import dp; dp.Laplace; import sys; print(*(name for name in sys.modules if 'discreet' in name))"
    )
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "discreet.dp.laplace" in run.stdout
    assert "discreet.dp.sparse_vector" not in run.stdout


def test_a_star_brings_in_all_of_them() -> None:
    names: dict[str, object] = {}
    exec("from discreet.dp import *", names)
    assert set(names) - {"__builtins__"} == set(dir(dp))
