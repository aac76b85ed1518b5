"""What a random expression means: its integers stay where they were promised, and stand for the exact value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engine import expression as ex
from discreet.engine.constants import Parameters
from discreet.engine.kinds import column as column_of
from discreet.engine.kinds import never_null, parts
from discreet.engine.syntax import Call, Case, Literal, Name, Node
from discreet.engine.typed import Typer
from discreet.errors import Refused
from tests.reference_expressions import evaluate
from tests.sizes import sized
from tests.tree_meaning import meaning, values
from tests.trees import DOMAINS, condition, days, moment, number, row, text


class Read:
    """A row whose columns are read already."""

    def __init__(self, values: dict[str, int | bool | None]) -> None:
        self._values = values

    def value(self, column: ex.Column) -> int | bool | None:
        return self._values[column.name]


def typed(node: Node) -> ex.Expression:
    def find(name: Name) -> ex.Expression:
        return column_of(0, name.name, DOMAINS[name.name], None)

    return Typer(find, Parameters(None))(node)


def nodes(expression: ex.Expression) -> Iterator[ex.Expression]:
    yield expression
    for part in parts(expression):
        yield from nodes(part)


def stands_for(value: Any, kind: ex.Kind) -> object:
    """What an integer means by its kind."""
    match kind:
        case _ if value is None:
            return None
        case ex.Number(step):
            return value * step
        case ex.Coded(domain):
            listed = domain.values[value]
            return Fraction(listed) if isinstance(listed, int) else listed
        case ex.Day():
            return date(1970, 1, 1) + timedelta(days=value)
        case ex.Instant():
            return datetime(1970, 1, 1) + timedelta(seconds=value)
    return value


def inside(value: Any, kind: ex.Kind) -> bool:
    match kind:
        case ex.Number(_, low, high) | ex.Day(low, high) | ex.Instant(low, high):
            return bool(low <= value <= high) and abs(value) <= ex.MOST
        case ex.Coded(domain):
            return bool(-1 <= value < domain.declared)
        case ex.Truth():
            return isinstance(value, bool)
    return isinstance(value, str)


MAKERS = [number, number, condition, days, moment, text]


@settings(max_examples=sized(150, 5000), deadline=None)
@given(st.integers(0, 2**40))
def test_no_integer_leaves_its_range(seed: int) -> None:
    random = Random(seed)
    node = random.choice(MAKERS)(random, random.randint(1, 4))
    try:
        expression = typed(node)
    except Refused:
        return
    rows = [row(random) for _ in range(20)]
    for part in nodes(expression):
        for one in rows:
            value = evaluate(part, [Read(one)])  # type: ignore[list-item]  # it reads a column, as a record does
            assert value is not None or not never_null(part)
            assert value is None or inside(value, part.kind), (part, value)


@settings(max_examples=sized(150, 5000), deadline=None)
@given(st.integers(0, 2**40))
def test_the_integers_stand_for_the_exact_value(seed: int) -> None:
    random = Random(seed)
    maker = random.choice(MAKERS)
    deep = random.randint(1, 3)
    node = number(random, deep, quotients=False) if maker is number else maker(random, deep)
    if any(one.function == "div" and not isinstance(one.arguments[1], Literal) for one in calls(node)):
        return  # of two columns: rounded, and tested below
    try:
        expression = typed(node)
    except Refused:
        return
    for one in (row(random) for _ in range(20)):
        found = evaluate(expression, [Read(one)])  # type: ignore[list-item]
        assert stands_for(found, expression.kind) == meaning(node, values(one)), (node, one)


def calls(node: Node) -> Iterator[Call]:
    match node:
        case Call(_, arguments):
            yield node
            for argument in arguments:
                yield from calls(argument)
        case Case(branches, otherwise):
            for branch in branches:
                yield from (found for part in branch for found in calls(part))
            if otherwise is not None:
                yield from calls(otherwise)
