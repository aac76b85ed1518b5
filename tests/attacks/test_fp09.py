"""FP-09: domains that lie: what an expression says of its values, against its values on rows of every kind.

OpenDP #2936 and #2939: fill_null(NaN), cut and replace declare what they do not hold, and a sum is released as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from discreet.engine import expression as ex
from discreet.engine.constants import Parameters
from discreet.engine.kinds import column, parts
from discreet.engine.parser import parse
from discreet.engine.syntax import Name
from discreet.engine.typed import Typer
from discreet.errors import Refused
from tests.reference import Record, evaluate
from tests.sizes import sized
from tests.sql_questions import COLUMNS, Texts, hostile, plain


def meaning(text: str) -> ex.Expression:
    """The typed expression of a text over the columns of the table."""

    def find(name: Name) -> ex.Expression:
        return column(0, name.name, COLUMNS[name.name], name.at)

    node = parse(f"SELECT {text} AS z, COUNT(*) AS n FROM visits GROUP BY 1").outputs[0].value
    return Typer(find, Parameters({}))(node)


def every(expression: ex.Expression) -> Iterator[ex.Expression]:
    """It and everything that it is made of."""
    yield expression
    for part in parts(expression):
        yield from every(part)


def lies(expression: ex.Expression, value: object) -> bool:
    """Whether a value is not what its expression says."""
    if value is None:
        return False
    match expression.kind:
        case ex.Truth():
            return not isinstance(value, bool)
        case ex.Free():
            return not isinstance(value, str)
        case ex.Coded(domain):
            return not isinstance(value, int) or not -1 <= value < domain.declared
        case ex.Number(_, low, high) | ex.Day(low, high) | ex.Instant(low, high):
            return not isinstance(value, int) or not low <= value <= high or abs(value) > ex.MOST
    raise AssertionError(expression)


def check(expression: ex.Expression, rows: list[dict[str, object]]) -> None:
    for row in rows:
        record = [Record(row, 1)]
        for part in every(expression):
            assert not lies(part, evaluate(part, record)), (part, evaluate(part, record))


def test_every_part_of_every_expression_is_in_its_domain() -> None:
    """n = 1,500 (100,000) expressions of all functions and operators, on rows inside and outside of all domains."""
    rows = [make(Random(seed), 1) for seed in range(6) for make in (plain, hostile)]
    ends = [{**plain(Random(9), 1), **end} for end in ({"n": -5, "x": -2.0, "k": 0.0}, {"n": 9, "x": 10.0, "k": 3.0})]
    tried = 0
    for seed in range(sized(1_500, 100_000)):
        try:
            found = meaning(Texts(Random(seed)).any(3))
        except Refused:
            continue
        check(found, rows + ends)
        tried += 1
    assert tried > sized(1_200, 80_000)


@pytest.mark.parametrize("text", ["COALESCE(n, 7)", "GREATEST(n, 5)", "CASE WHEN n > 3 THEN n ELSE 9 END"])
def test_a_lie_is_seen(text: str) -> None:
    """The twins: COALESCE and the like that say what one of their operands holds."""
    for low, high in ((0, 3), (-5, 6)):
        twin = replace(meaning(text), kind=ex.Number(Fraction(1), low, high))
        with pytest.raises(AssertionError):
            check(twin, [plain(Random(seed), 1) for seed in range(80)])
