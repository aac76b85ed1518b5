"""QE-16: the clamp before the expression (SmartNoise #201), and sums of squares with bounds of x (#203)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from discreet import dp
from discreet.engine.plan import Total
from discreet.errors import Refused
from tests.broken import engines as broken
from tests.plan_expressions import Expressions
from tests.plans import Case, make
from tests.recorder import declared, first_violation, oracle, record
from tests.running import Running
from tests.sizes import sized
from tests.sql_questions import Row, Texts, case_of, plain

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE


def sums(seeds: range) -> Iterator[tuple[Case, object]]:
    """Sums of random expressions, with neighbours."""
    for seed in seeds:
        case, rng = make(seed), Random(seed)
        columns = tuple(field.at(scan) for scan, schema in enumerate(case.schemas) for field in schema.fields)
        asked = tuple(Total(Expressions(rng, columns).number(3)) for _ in range(3))
        case = replace(case, plan=replace(case.plan, measures=asked))
        for rows in case.pairs(rng, ADD, most=3):
            yield case, rows


def test_sums_of_random_expressions() -> None:
    tried = record(sums(range(sized(300, 10_000))), ADD)  # type: ignore[arg-type]
    assert tried > sized(500, 20_000)


ENDS = [
    {"n": 9, "x": 10.0, "k": 3.0, "y": 1.0},
    {"n": -5, "x": -2.0, "k": 0.0, "y": 0.0},
    {"n": 9, "x": -2.0, "k": 1.0},
]


def extreme() -> list[Row]:
    """Rows at the ends of all ranges, of one unit each."""
    return [{**plain(Random(unit), unit), **end} for unit, end in enumerate(ENDS * 2)]


def test_expressions_in_sql_at_their_ends(duckdb: Running) -> None:
    """SUM, AVG and VARIANCE of random expressions, with rows at the ends of all ranges, on the oracle and on DuckDB."""
    tried = 0
    for seed in range(sized(60, 3_000)):
        made = Texts(Random(seed))
        outputs = f"SUM({made.number(3)}) AS s, AVG({made.number(2)}) AS a, VARIANCE({made.number(1)}) AS v"
        text = f"SELECT {outputs} FROM visits"
        try:
            case = case_of(text, extreme(), rows_per_unit=1)
        except Refused:
            continue
        if case.query(ADD) is None:
            continue
        for unit in range(3):
            assert first_violation(case, case.without(unit), ADD, oracle, declared) is None, text
        if seed < sized(6, 300):
            assert first_violation(case, case.without(seed % 3), ADD, duckdb, declared) is None, text
        tried += 1
    assert tried > sized(30, 1_500)


@pytest.mark.parametrize("text", ["SUM(n * x)", "SUM(n * n)", "SUM(n * n * x)", "VARIANCE(n)"])
def test_the_bounds_of_a_column_are_not_those_of_an_expression(text: str) -> None:
    """The twin declares the bounds of the left operand."""
    case = case_of(f"SELECT {text} AS s FROM visits", extreme(), rows_per_unit=1)
    twin = broken.Declared(broken.of_leaf)
    assert all(first_violation(case, case.without(unit), ADD, oracle, declared) is None for unit in range(3))
    assert any(first_violation(case, case.without(unit), ADD, oracle, twin) is not None for unit in range(3))


def test_the_twin_is_rejected_on_random_expressions() -> None:
    with pytest.raises(AssertionError, match="seed"):
        record(sums(range(500)), ADD, declare=broken.Declared(broken.of_leaf))  # type: ignore[arg-type]
