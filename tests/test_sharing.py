"""Nothing is measured twice under two names, and no question changes its meaning for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from discreet.engine.bound import bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.parser import parse
from discreet.engine.plan import Computed, Formula, MeanOf, Plan, Present, QuantileOf, Released, Rows, SpreadOf, Total
from discreet.engine.resolve import plan_of
from discreet.engine.sharing import shared
from discreet.errors import Refused
from tests.asked import plan
from tests.asking import ADD, asked
from tests.sizes import sized
from tests.sql_questions import Texts, hostile, plain, schema_of

SAME = [
    "age > 30",
    "age IS NOT NULL",
    "age + 1 < 5",
    "age BETWEEN 3 AND 9",
    "age IN (1, 2)",
    "age = balance",
    "NOT (age > 3)",
    "NOT (age IS NULL)",
    "age > 3 OR age < 1",
    "age > 3 AND ward = 'icu'",
    "NOT (age > 3 OR ward = 'icu')",
    "NOT (age > 3 AND age < 9)",
    "(age > 3) = old",
]
OTHER = [
    "age IS NULL",
    "ward = 'icu'",
    "balance > 3",
    "age > 3 OR ward = 'icu'",
    "age IS NULL OR age > 3",
    "NOT (age > 3 AND ward = 'icu')",
    "COALESCE(age, 3) > 2",
    "CASE WHEN age > 3 THEN 1 ELSE 2 END > 0",
    "(age IS NULL) = old",
]


@pytest.mark.parametrize("where", SAME)
def test_a_count_of_what_is_compared_is_the_count_of_rows(where: str) -> None:
    found = shared(plan(f"SELECT COUNT(*) AS n, COUNT(age) AS k, AVG(age) AS a FROM visits WHERE {where}"))
    assert [type(measure) for measure in found.measures] == [Rows, Total]
    n, k, mean = (output.formula for output in found.outputs)
    assert n == k == Released(0)
    assert isinstance(mean, MeanOf)
    assert (mean.total, mean.present) == (1, 0)


@pytest.mark.parametrize("where", OTHER)
def test_a_count_of_what_may_be_null_is_another(where: str) -> None:
    asked = plan(f"SELECT COUNT(*) AS n, AVG(age) AS a FROM visits WHERE {where}")
    assert shared(asked) == asked


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT age, COUNT(*) AS n, COUNT(age) AS k FROM visits GROUP BY age", [Rows]),
        ("SELECT age // 10 AS d, COUNT(*) AS n, COUNT(age) AS k FROM visits GROUP BY age // 10", [Rows]),
        ("SELECT COUNT(*) AS n, COUNT(age + few * 2) AS k FROM visits WHERE age > 1 AND few > 1", [Rows]),
        ("SELECT COUNT(*) AS n, COUNT(age + few) AS k FROM visits WHERE age > 1", [Present, Rows]),
        ("SELECT COUNT(*) AS n, COUNT(few / age) AS k FROM visits WHERE age >= 0 AND few > 1", [Present, Rows]),
        ("SELECT COUNT(*) AS n, COUNT(CASE WHEN age > 1 THEN age ELSE 0 END) AS k FROM visits", [Rows]),
        ("SELECT COUNT(*) AS n, COUNT(COALESCE(age, 0)) AS k FROM visits", [Rows]),
        (
            "SELECT COUNT(*) AS n, AVG(CASE WHEN old THEN age END) AS k FROM visits WHERE age > 1",
            [Present, Rows, Total],
        ),
        ("SELECT COUNT(few) AS n, AVG(few) AS a FROM visits", [Present, Total]),
    ],
)
def test_what_is_made_of_known_values(text: str, kinds: list[type]) -> None:
    assert [type(measure) for measure in shared(plan(text)).measures] == kinds


def test_having_and_order_follow() -> None:
    found = shared(
        plan(
            "SELECT ward, AVG(age) AS a FROM visits WHERE age > 3 GROUP BY ward HAVING COUNT(age) > 5 ORDER BY COUNT(*)"
        )
    )
    assert found.having == Computed("gt", (Released(0), replace(found.having.operands[1])))  # type: ignore[union-attr, arg-type]
    assert found.order_by[0].formula == Released(0)


def measured(formula: Formula) -> Iterator[int]:
    """The measures that a formula names, in its order."""
    match formula:
        case Released(measure) | QuantileOf(measure):
            yield measure
        case MeanOf(total, present):
            yield from (total, present)
        case SpreadOf(total, squares, present):
            yield from (total, squares, present)
        case Computed(_, operands):
            for operand in operands:
                yield from measured(operand)
        case _:
            pass


def questions(rng: Random, many: int) -> Iterator[str]:
    for _ in range(many):
        made = Texts(rng)
        x, y = made.number(1), rng.choice("nkxy")
        key = rng.choice(("", "", "k", "w"))
        selected = f"{key}, " if key else ""
        grouped = f" GROUP BY {key}" if key else ""
        where = f" WHERE {made.truth(2)}" + (f" AND {y} > 0" if rng.random() < 0.5 else "")
        yield (
            f"SELECT {selected}COUNT(*) AS a1, COUNT({x}) AS a2, AVG({y}) AS a3, COUNT({y}) AS a4, SUM({x}) AS a5 "
            f"FROM visits{where}{grouped}"
        )


def check_meaning(rewritten: Callable[[Plan], Plan], *, many: int) -> int:
    """Every output of every question has the same exact numbers; return how many questions became shorter."""
    rng, shorter = Random(7), 0
    schema = schema_of(rows_per_unit=40)
    rows = [(plain if n % 3 else hostile)(rng, n % 5) for n in range(120)]
    table = schema.table(schema.arrow(rows))
    engine = DuckDB([table])
    for text in questions(rng, many):
        try:
            one = plan_of(parse(text), {"visits": table})
            two = rewritten(one)
            pair = [asked(bound(each, neighbours=ADD), engine) for each in (one, two)]
        except Refused:
            continue
        shorter += len(two.measures) < len(one.measures)
        for before, after in zip(one.outputs, two.outputs, strict=True):
            for a, b in zip(measured(before.formula), measured(after.formula), strict=True):
                np.testing.assert_array_equal(pair[0][a], pair[1][b], err_msg=text)
    engine.close()
    return shorter


def test_random_questions_keep_their_numbers() -> None:
    many = sized(40, 1000)
    assert check_meaning(shared, many=many) > many // 10


def test_a_rewrite_that_takes_every_count_for_that_of_rows_is_seen() -> None:
    """The broken twin: it does not ask whether NULL passes."""

    def hasty(plan: Plan) -> Plan:
        measures = tuple(Rows() if isinstance(each, Present) else each for each in plan.measures)
        return replace(plan, measures=measures)

    with pytest.raises(AssertionError):
        check_meaning(hasty, many=40)
