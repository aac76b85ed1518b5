"""Every guarantee of noise and of choices is quoted by a test: a promise that nobody checks is not made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DP = ROOT / "src" / "discreet" / "dp"
MODULES = [
    *("randomness", "inversion", "samplers", "gaussian_samplers", "mechanism", "laplace", "gaussian"),
    *("discrete_gaussian", "randomized_response"),
    *("exponential", "noisy_max", "permute_and_flip", "explain", "splitting"),
    *("logistic", "hit_value", "logistic_watch", "threshold_loss", "threshold_test", "logistic_sparse_vector"),
    *("stream", "above_threshold", "sparse_vector", "standard_sparse_vector", "gap", "sparse_choice"),
    *("smooth_calibration", "smooth_exact", "smooth_noise", "rounded_noise", "scale_bound", "propose_test_release"),
    *("unbounded", "exact_keys", "partition_selection", "noisy_keys", "quantile_tree"),
    "quantile_trees",
]

SECTION = re.compile(r"Guarantee:\s*(.*?)(?=\n\s*(?:Source:|>>>)|\Z)", re.DOTALL)


def plain(text: str) -> str:
    return " ".join(text.split()).lower()


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def promises(docstring: str) -> Iterator[str]:
    """The first sentence of each guarantee."""
    for found in SECTION.finditer(docstring):
        yield re.split(r"(?<=[.;:]) ", plain(found[1]))[0].rstrip(".;:")


PROMISES = [
    (module, promise) for module in MODULES for text in docstrings(DP / f"{module}.py") for promise in promises(text)
]
QUOTED = [plain(text) for path in sorted(ROOT.glob("tests/**/test_*.py")) for text in docstrings(path)]


def is_quoted(promise: str, quoted: list[str]) -> bool:
    return any(promise in text for text in quoted)


@pytest.mark.parametrize(("module", "promise"), PROMISES, ids=[f"{m}-{i}" for i, (m, _) in enumerate(PROMISES)])
def test_every_guarantee_is_quoted_by_a_test(module: str, promise: str) -> None:
    assert is_quoted(promise, QUOTED), f"no test quotes, of {module}: {promise}"


def test_there_are_guarantees_and_one_that_nobody_quotes_is_seen() -> None:
    assert {module for module, _ in PROMISES} == set(MODULES)
    (promise,) = promises("Adds noise.\n\nGuarantee: nobody ever finds " + "out.\nSource: none.")
    assert promise.startswith("nobody")
    assert not is_quoted(promise, QUOTED)
