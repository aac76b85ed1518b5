"""What may import what: dp <- release, engine, ledger <- session <- cli. Read from the source."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

# A package or module of ours, and which others it may use, in functions and for types too.
SHOWN = frozenset({"bars", "answer", "answer_display", "answer_frames", "column", "consistency", "plot", "citations"})
BELOW_SESSION = SHOWN | {"errors", "steps", "dp", "release", "engine", "ledger", "facts", "planner"}
MAY_USE: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "steps": frozenset(),
    "dp": frozenset({"errors"}),
    "release": frozenset({"errors", "dp"}),
    "engine": frozenset({"errors", "steps", "dp"}),
    "ledger": frozenset({"errors", "steps", "dp"}),
    "bars": frozenset(),
    "answer": SHOWN | {"errors", "dp"},
    "answer_display": frozenset({"errors", "bars", "answer"}),
    "answer_frames": frozenset(),
    "column": frozenset({"errors", "dp", "engine", "answer", "answer_display"}),
    "consistency": frozenset({"errors", "dp", "answer"}),
    "plot": frozenset({"errors", "answer", "answer_display"}),
    "citations": frozenset({"errors"}),
    "facts": frozenset({"dp", "engine", "answer"}),
    "planner": frozenset({"errors", "dp", "release", "engine", "ledger", "answer"}),
    "desk": BELOW_SESSION,
    "planning": BELOW_SESSION | {"desk"},
    "session": BELOW_SESSION | {"desk", "planning"},
    "": BELOW_SESSION | {"session"},  # discreet/__init__.py
    "audit": BELOW_SESSION | {"", "session"},
    "demo": BELOW_SESSION | {"", "session"},
    "commands": BELOW_SESSION | {"", "session"},
    "cli": BELOW_SESSION | {"", "session", "audit", "demo", "commands"},
    "__main__": frozenset({"cli"}),
}
DP_LIBRARIES = frozenset({"numpy", "scipy", "flint"})
DRAWS_BITS = "discreet.dp.randomness"
GIVES_FRAMES = "discreet.dp.frames"  # rows of a universe, as a pandas frame on request


@dataclass(frozen=True, slots=True)
class Import:
    target: str  # the module, or the name taken from it: discreet.dp.loss.Loss
    at_load: bool  # runs when the importing module is loaded


def imports(source: str, module: str, *, is_package: bool) -> Iterator[Import]:
    """Every import statement of a module, wherever it stands, and every import by a literal name."""

    def walk(node: ast.AST, *, at_load: bool) -> Iterator[Import]:
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, at_load) for alias in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                parts = module.split(".")[: None if is_package else -1] if level else []
                parts = parts[: len(parts) - level + 1] if level > 1 else parts
                prefix = ".".join([*parts, *([base] if base else [])])
                yield from (Import(f"{prefix}.{alias.name}", at_load) for alias in names)
            case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=[name, *_]):
                # A computed name cannot be followed: only a package's __init__ may use one.
                literal = name.value if isinstance(name, ast.Constant) else None
                if isinstance(literal, str):
                    yield Import(literal, at_load)
                elif not is_package:
                    yield Import("<computed>", at_load)
            case ast.If(
                test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"),
                body=body,
                orelse=rest,
            ):
                for child in body:
                    yield from walk(child, at_load=False)
                for child in rest:
                    yield from walk(child, at_load=at_load)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                at_load = False
        for child in ast.iter_child_nodes(node):
            yield from walk(child, at_load=at_load)

    yield from walk(ast.parse(source), at_load=True)


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def resolve(target: str, modules: Mapping[str, str]) -> str:
    """The module of ours that a target names: discreet.dp.loss for discreet.dp.loss.Loss."""
    while target not in modules and "." in target:
        target = target.rpartition(".")[0]
    return target


def violations(modules: Mapping[str, str], packages: frozenset[str]) -> list[str]:
    """What is wrong with a set of modules, given as name -> source."""
    wrong: list[str] = []
    loads: dict[str, set[str]] = {}
    for module, source in modules.items():
        loads[module] = set()
        here = layer(module)
        if here not in MAY_USE:
            wrong.append(f"{module}: the layer {here!r} is not in the table")
            continue
        for found in imports(source, module, is_package=module in packages):
            top = found.target.partition(".")[0]
            if top == "discreet":
                used = resolve(found.target, modules)
                if layer(used) != here and layer(used) not in MAY_USE[here]:
                    wrong.append(f"{module} uses {used}")
                if found.at_load and used != module:
                    loads[module].add(used)
            elif found.target == "<computed>":
                wrong.append(f"{module} imports a computed name")
            elif here == "dp":
                allowed = top in DP_LIBRARIES or (top in sys.stdlib_module_names and top != "logging")
                allowed = allowed or (top, module) in (("cryptography", DRAWS_BITS), ("pandas", GIVES_FRAMES))
                if not allowed:
                    wrong.append(f"{module} uses {top}")
    try:
        TopologicalSorter(loads).prepare()
    except CycleError as error:
        wrong.append("cycle: " + " <- ".join(error.args[1]))
    return wrong


def our_modules() -> tuple[dict[str, str], frozenset[str]]:
    modules, packages = {}, set()
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = path.read_text("utf-8")
        if parts[-1] == "__init__":
            packages.add(name)
    return modules, frozenset(packages)


def test_the_layers_hold_and_nothing_loads_in_a_circle() -> None:
    modules, packages = our_modules()
    assert "discreet.dp" in modules
    assert violations(modules, packages) == []


PACKAGES = frozenset({"discreet", "discreet.dp", "discreet.engine", "discreet.ledger"})
GOOD = {
    "discreet": "import importlib\ndef __getattr__(name):\n    return importlib.import_module(TABLE[name])",
    "discreet.errors": "",
    "discreet.dp": "from discreet.dp.loss import Loss",
    "discreet.dp.loss": "import math\nimport numpy as np\nfrom discreet import errors",
    "discreet.dp.randomness": "def draw():\n    from cryptography.hazmat.primitives import ciphers",
    "discreet.dp.laplace": "from .loss import Loss\nfrom discreet.dp import randomness",
    "discreet.engine": "",
    "discreet.engine.plan": "from discreet import dp\nimport sqlglot",
    "discreet.ledger": "from discreet.dp import Loss",
    "discreet.session": "from discreet import engine, ledger, dp",
    "discreet.cli": "import discreet\nfrom discreet.session import Session",
}


def test_a_right_graph_is_accepted() -> None:
    assert violations(GOOD, PACKAGES) == []


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("discreet.dp.laplace", "from discreet.engine.plan import Plan", "uses discreet.engine.plan"),
        (
            "discreet.dp.laplace",
            "def f():\n    from discreet.session import Session",
            "uses discreet.session",
        ),
        ("discreet.dp.laplace", "from ..ledger import Ledger", "uses discreet.ledger"),
        ("discreet.dp.laplace", "import discreet", "uses discreet"),
        (
            "discreet.dp.laplace",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import duckdb",
            "uses duckdb",
        ),
        ("discreet.dp.laplace", "def f():\n    import cryptography", "uses cryptography"),
        ("discreet.dp.laplace", "import logging", "uses logging"),
        ("discreet.dp.laplace", "import importlib\nimportlib.import_module('pandas')", "uses pandas"),
        ("discreet.dp.laplace", "__import__('duck' + 'db')", "computed name"),
        ("discreet.engine.plan", "from discreet.ledger import Ledger", "uses discreet.ledger"),
        ("discreet.engine.plan", "from discreet import cli", "uses discreet.cli"),
        ("discreet.session", "def f():\n    from discreet.cli import main", "uses discreet.cli"),
        ("discreet.dp.loss", "from discreet.dp.laplace import Laplace", "cycle"),
        ("discreet.dp.loss", "from discreet.dp import Loss", "cycle"),
        ("discreet.attic", "", "not in the table"),
    ],
)
def test_a_broken_graph_is_rejected(module: str, source: str, message: str) -> None:
    found = violations({**GOOD, module: source}, PACKAGES)
    assert len(found) == 1
    assert message in found[0]


def test_a_circle_inside_functions_is_accepted() -> None:
    late = {"discreet.dp.loss": "def f():\n    from discreet.dp.laplace import Laplace"}
    assert violations({**GOOD, **late}, PACKAGES) == []
