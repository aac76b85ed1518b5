"""Any tree at all becomes a plan or a refusal: functions of the wrong arguments, in the wrong place, in each other."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import dp
from discreet.engine.bound import bound
from discreet.engine.resolve import plan_of
from discreet.engine.syntax import (
    AGGREGATES,
    FUNCTIONS,
    OPERATORS,
    RELEASED,
    Call,
    Case,
    Derived,
    Joined,
    Literal,
    Name,
    Node,
    Ordered,
    Parameter,
    Position,
    Select,
    Selected,
    Source,
    Star,
    TableName,
)
from discreet.errors import Refused
from tests.asked import TABLES, VISITS, fan_out
from tests.sizes import sized

CALLED = [*sorted(OPERATORS | FUNCTIONS | AGGREGATES | RELEASED), "nothing"]
COLUMNS = [*VISITS.columns, "patient_id", "nights", "beds", "nowhere", "n"]
CONSTANTS: list[int | Fraction | str | bool | None] = [0, 1, -3, 10**30, Fraction(1, 7), "north", "2024-02-30"]
CONSTANTS += ["2024-02-29", "year", "month", "J%", "", True, False, None]
AT = Position(1, 1)


def node(random: Random, depth: int) -> Node:
    if depth == 0 or random.random() < 0.1:
        kind = random.randrange(8)
        if kind < 4:
            return Name(random.choice(COLUMNS), random.choice([None, None, None, None, None, "v"]), AT)
        if kind < 7:
            return Literal(random.choice(CONSTANTS), AT)
        return Star(AT) if random.random() < 0.5 else Parameter("p", AT)
    if random.random() < 0.1:
        branches = tuple((node(random, depth - 1), node(random, depth - 1)) for _ in range(random.randint(1, 2)))
        return Case(branches, node(random, depth - 1) if random.random() < 0.5 else None, AT)
    arguments = tuple(node(random, depth - 1) for _ in range(random.choice([1, 1, 2, 2, 3, 0])))
    return Call(random.choice(CALLED), arguments, AT)


def source(random: Random, depth: int) -> Source:
    kind = random.randrange(6) if depth else 0
    if kind < 3:
        name = random.choice(["visits"] * 9 + ["stays", "wards", "x"])
        return TableName(name, random.choice([None, "v", "w"]), AT)
    if kind == 3:
        return Derived(select(random, depth - 1, shown=()), random.choice([None, "v"]), AT)
    on, using = (node(random, 2), ()) if random.random() < 0.5 else (None, (random.choice(["ward", "patient_id"]),))
    left, right = (source(random, depth - 1) for _ in range(2))
    return Joined(left, right, random.choice(["inner", "left"]), on, using, AT)


def select(random: Random, depth: int, shown: tuple[Node, ...] = (Call("count", (Star(AT),), AT),)) -> Select:
    def some(most: int) -> tuple[Node, ...]:
        return tuple(node(random, random.randint(0, 2)) for _ in range(random.randrange(most)))

    def one(chance: float) -> Node | None:
        return node(random, random.randint(0, 2)) if random.random() < chance else None

    keys = some(2) if shown else ()
    values = (*keys, *some(2), *shown)
    outputs = tuple(Selected(value, random.choice([None, f"o{i}", "n"]), AT) for i, value in enumerate(values))
    order = tuple(Ordered(value, False, None, AT) for value in some(2)) if shown else ()
    named = (("x", select(random, 0, ())),) if random.random() < 0.1 else ()
    return Select(outputs, source(random, depth), one(0.2), keys, one(0.1), order, one(0.05), None, named, AT)


def refusal_of(question: Select) -> str | None:
    try:
        bound(plan_of(question, TABLES, fan_out=fan_out), neighbours=dp.Neighbours.ADD_REMOVE)
    except Refused as refused:
        return str(refused)
    return None


@settings(max_examples=sized(200, 20_000), deadline=None)
@given(st.integers(0, 2**40))
def test_it_is_a_plan_or_a_refusal(seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        said = refusal_of(select(random, random.choice([0, 0, 1, 2])))
        if said is not None:
            assert "; " in said or ": " in said  # what is wrong, and what to do
            assert len(said) < 600


def test_some_of_them_are_plans() -> None:
    random = Random(1)
    assert sum(refusal_of(select(random, 0)) is None for _ in range(200)) >= 10
