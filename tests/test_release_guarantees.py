"""Every guarantee of the offline construction is quoted by a test, as those of noise and of choices are."""

from __future__ import annotations

import pytest

from tests.test_guarantees import QUOTED, ROOT, docstrings, is_quoted, promises

MODULES = [
    *("query", "rows", "database_update", "multiplicative_weights", "entropy_projection", "median", "frieze_kannan"),
    *("distinguisher", "learner", "construction_plan", "iterative_construction", "net_mechanism"),
]
PROMISES = [
    (module, promise)
    for module in MODULES
    for text in docstrings(ROOT / "src" / "discreet" / "release" / f"{module}.py")
    for promise in promises(text)
]


@pytest.mark.parametrize(("module", "promise"), PROMISES, ids=[f"{m}-{i}" for i, (m, _) in enumerate(PROMISES)])
def test_every_guarantee_is_quoted_by_a_test(module: str, promise: str) -> None:
    assert is_quoted(promise, QUOTED), f"no test quotes, of {module}: {promise}"


def test_every_module_promises_something() -> None:
    assert {module for module, _ in PROMISES} == set(MODULES)
