"""Every guarantee of constructions, synthesis and online mechanisms is quoted by a test, as those of noise are."""

from __future__ import annotations

import pytest

from tests.test_guarantees import QUOTED, ROOT, docstrings, is_quoted, promises

MODULES = [
    *("query", "rows", "database_update", "multiplicative_weights", "entropy_projection", "median", "frieze_kannan"),
    *("distinguisher", "learner", "construction_plan", "iterative_construction", "net_mechanism"),
    *("effects", "distances", "worst_marginal", "cover", "survey", "measure_once", "measure_adaptively", "synthesize"),
    *("factored", "online", "online_gate", "online_measure", "online_plan", "interactive", "laplace_sums"),
    *("certified_online", "certified_plan"),
]
PROMISES = [
    (path.stem, promise)
    for path in sorted((ROOT / "src" / "discreet" / "release").glob("*.py"))
    for text in docstrings(path)
    for promise in promises(text)
]


@pytest.mark.parametrize(("module", "promise"), PROMISES, ids=[f"{m}-{i}" for i, (m, _) in enumerate(PROMISES)])
def test_every_guarantee_is_quoted_by_a_test(module: str, promise: str) -> None:
    assert is_quoted(promise, QUOTED), f"no test quotes, of {module}: {promise}"


def test_every_module_that_promises_something_is_listed() -> None:
    assert {module for module, _ in PROMISES} == set(MODULES)
