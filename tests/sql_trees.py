"""Trees of questions for tests: without positions, taken apart, and drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TypeVar

from discreet.engine import syntax
from discreet.engine.syntax import Call, Case, Literal, Name, Node, Parameter, Select, Star, flattened

Tree = TypeVar("Tree")
OURS = (Name, Literal, Parameter, Call, Case, Star, Select, syntax.Selected, syntax.Ordered, syntax.TableName)
OURS += (syntax.Derived, syntax.Joined, syntax.Position)
PLAIN = (int, Fraction, str, bool, type(None))
CALLED = syntax.OPERATORS | syntax.FUNCTIONS | syntax.AGGREGATES | syntax.RELEASED


def bare(tree: Tree) -> Tree:
    """The same tree without positions."""
    if isinstance(tree, tuple):
        return tuple(bare(part) for part in tree)  # type: ignore[return-value]
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    parts = {part.name: None if part.name == "at" else bare(getattr(tree, part.name)) for part in fields(tree)}
    return replace(tree, **parts)


def parts(tree: object) -> Iterator[object]:
    """Everything in a tree, itself first."""
    yield tree
    if isinstance(tree, tuple):
        for part in tree:
            yield from parts(part)
    elif is_dataclass(tree):
        for part in fields(tree):
            yield from parts(getattr(tree, part.name))


def check_ours(select: object) -> None:
    """Nothing of a parser is left: only our types, and only functions that `syntax.py` names."""
    assert type(select) is Select
    for part in parts(select):
        assert type(part) in (*OURS, *PLAIN, tuple), f"a {type(part).__name__} is left in the tree"
        if isinstance(part, Call):
            assert part.function in CALLED, f"{part.function!r} is no function of ours"


_WORDS = "ward age cost sex n total x y é Ünïcode select from group order year date values first list map row"
NAMES = (
    *_WORDS.split(),
    "a b",
    'say "hi"',
    "it's",
    "semi;colon",
    "-- no",
    "/* no */",
    "$x",
    "100%",
    "b",
    "e",
    "u",
    "n'",
)
TEXTS = ("north", "it's", "", "a;b", "-- c", "/* d */", "\\", "\\'", '"', "é", "$$", "%", "DROP TABLE t", "\n", "{x}")
PARTS = ("year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second")
TWO = ("add", "sub", "mul", "div", "intdiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "is_not_distinct", "nullif")
ONE = ("not", "is_null", "is_true", "is_false", "abs", "floor", "ceil", "round", "trunc", "sign", "cast_integer")
OF_ONE = ("count", "count_distinct", "sum", "avg", "variance", "var_pop", "stddev", "stddev_pop", "median")


class Questions:
    """Draws questions of the whole language, in the one form that the parser gives each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def select(self, depth: int = 3) -> Select:
        pick = self.random
        keys = [syntax.Selected(self.node(depth), self.maybe(self.name)) for _ in range(pick.randint(0, 2))]
        shown = [syntax.Selected(self.measure(depth), self.maybe(self.name)) for _ in range(pick.randint(1, 3))]
        named = tuple((self.name(), self.select(depth - 2)) for _ in range(pick.randint(0, 1) if depth > 2 else 0))
        return Select(
            tuple(keys + shown),
            self.source(depth),
            where=self.maybe(self.node, depth),
            group_by=tuple(key.value for key in keys),
            having=self.maybe(self.measure, depth),
            order_by=tuple(self.ordered(depth) for _ in range(pick.randint(0, 2))),
            limit=self.maybe(lambda: Literal(pick.randint(0, 100))),
            offset=self.maybe(lambda: Literal(pick.randint(0, 100))),
            named=named,
        )

    def maybe(self, draw: Callable[..., Tree], *given: int) -> Tree | None:
        return draw(*given) if self.random.random() < 0.5 else None

    def name(self) -> str:
        return self.random.choice(NAMES)

    def ordered(self, depth: int) -> syntax.Ordered:
        return syntax.Ordered(self.node(depth - 1), self.random.random() < 0.5, self.random.random() < 0.5)

    def source(self, depth: int) -> syntax.Source:
        roll = self.random.random()
        if depth > 0 and roll < 0.2:
            return syntax.Derived(self.select(depth - 2), self.maybe(self.name))
        source: syntax.Source = syntax.TableName(self.name(), self.maybe(self.name))
        if depth > 0 and roll < 0.5:
            right = self.source(0) if roll < 0.4 else syntax.Derived(self.select(0), self.name())
            kind = self.random.choice(("inner", "left"))
            if roll < 0.3:
                return syntax.Joined(source, right, kind, None, (self.name(), self.name()))  # type: ignore[arg-type]
            source = syntax.Joined(source, right, kind, self.node(1), ())  # type: ignore[arg-type]
        return source

    def measure(self, depth: int) -> Node:
        pick, of = self.random, self.node(depth - 1)
        roll = pick.randint(0, 7)
        if roll == 0:
            return Call("count", (Star(),))
        if roll == 1:
            return Call("percentile_cont", (of, Literal(Fraction(pick.randint(1, 99), 100))))
        if roll == 2:
            return Call("filter", (Call(pick.choice(OF_ONE), (of,)), self.node(depth - 1)))
        if roll == 3 and depth > 0:
            return Call(pick.choice(TWO), (self.measure(depth - 1), self.measure(depth - 1)))
        if roll == 4 and depth > 0:
            return Call(pick.choice(("sqrt", "ln", "exp")), (self.measure(depth - 1),))
        return Call(pick.choice(OF_ONE), (of,))

    def leaf(self) -> Node:
        pick = self.random
        leaves: tuple[Node, ...] = (
            Name(self.name(), self.maybe(self.name)),
            Name(pick.choice(("ward", "age", "cost"))),
            Literal(pick.randint(-1000, 1000)),
            Literal(Fraction(pick.randint(-(10**6), 10**6), 10 ** pick.randint(1, 9))),
            Literal(pick.choice(TEXTS)),
            Literal(pick.choice((True, False, None))),
            Parameter(pick.choice(("age", "p1"))),
            Call("date", (Literal("2026-01-31"),)),
            Call("timestamp", (Literal("2026-01-31 12:00:00"),)),
        )
        return pick.choice(leaves)

    def node(self, depth: int) -> Node:
        pick = self.random
        if depth <= 0 or pick.random() < 0.2:
            return self.leaf()
        x, y, z = (self.node(depth - 1) for _ in range(3))
        negated = Call("neg", (x,)) if not isinstance(x, Literal) else x
        roots = () if isinstance(x, Literal) and isinstance(x.value, str) else (Call("cast_date", (x,)),)
        choices: tuple[Node, ...] = (
            Call(pick.choice(TWO), (x, y)),
            Call(pick.choice(ONE), (x,)),
            flattened(pick.choice(("and", "or")), (x, y, z)),
            Call(pick.choice(("coalesce", "least", "greatest", "in")), (x, y, z)),
            Call("between", (x, y, z)),
            Call("like", (x, Literal(pick.choice(("a%", "%", "it's%", "\\%"))))),
            Call("date_part", (Literal(pick.choice(PARTS)), x)),
            Call("date_trunc", (Literal(pick.choice(("year", "quarter", "month", "week", "day", "hour"))), x)),
            Call("bin", (x, Literal(10))),
            Call("power", (x, y)),
            Case(((x, y),), self.maybe(self.leaf)),
            Case(((x, y), (z, x)), z),
            negated,
            *roots,
        )
        return pick.choice(choices)
