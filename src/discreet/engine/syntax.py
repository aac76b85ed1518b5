"""What was written, before anything is known of what it means: the tree that SQL text and the builder both make.

It is untyped and holds no object of any parser. `typed.py` gives it a meaning or refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Position:
    """Where in the text of a question something stands, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A column, or the name of an output: `age`, `v.age`."""

    name: str
    qualifier: str | None = None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a whole or decimal number, exactly as written; a text; a truth value; or NULL, which is None."""

    value: int | Fraction | str | bool | None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named place `$age` that `parameters={"age": 60}` fills."""

    name: str
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator with its arguments, by the one name that it has here, for instance "add" or "sum"."""

    function: str
    arguments: tuple[Node, ...]
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """CASE WHEN condition THEN value ... ELSE otherwise END; a simple CASE is written out with "eq"."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Star:
    """The * of COUNT(*)."""

    at: Position | None = None


Node: TypeAlias = Name | Literal | Parameter | Call | Case | Star


def flattened(function: str, operands: tuple[Node, ...], at: Position | None = None) -> Node:
    """Return the "and" or the "or" of operands as one Call of two or more, however they were bracketed."""
    flat: list[Node] = []
    for operand in operands:
        inside = isinstance(operand, Call) and operand.function == function
        flat += operand.arguments if inside else (operand,)  # type: ignore[union-attr]
    return flat[0] if len(flat) == 1 else Call(function, tuple(flat), at)


@dataclass(frozen=True, slots=True)
class Selected:
    """One output of a SELECT, and the name that AS gives it."""

    value: Node
    name: str | None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Ordered:
    """One part of ORDER BY."""

    value: Node
    descending: bool
    nulls_first: bool | None = None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class TableName:
    """A table in FROM, and what the question calls it."""

    name: str
    alias: str | None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A subquery in FROM."""

    select: Select
    alias: str | None
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """left JOIN right ON condition, or USING columns."""

    left: Source
    right: Source
    kind: OneOf["inner", "left"]
    on: Node | None
    using: tuple[str, ...]
    at: Position | None = None


Source: TypeAlias = TableName | Derived | Joined


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT. `named` are its common table expressions, in the order in which they were written."""

    outputs: tuple[Selected, ...]
    source: Source
    where: Node | None = None
    group_by: tuple[Node, ...] = ()
    having: Node | None = None
    order_by: tuple[Ordered, ...] = ()
    limit: Node | None = None
    offset: Node | None = None
    named: tuple[tuple[str, Select], ...] = ()
    at: Position | None = None


# Every function and operator that a front end may write into a Call. How many arguments each has, and of which kinds,
# is for typed.py. A front end maps its own spellings to these names and refuses everything else.
_OPERATORS = """add sub mul div intdiv mod neg eq ne lt le gt ge and or not is_null in between like is_true is_false
is_not_distinct"""
_FUNCTIONS = """coalesce nullif least greatest abs floor ceil round trunc sign date timestamp date_part date_trunc bin
cast_integer cast_real cast_date"""
_AGGREGATES = """count count_distinct sum avg variance var_pop stddev stddev_pop median percentile_cont filter"""
OPERATORS, FUNCTIONS, AGGREGATES = (frozenset(names.split()) for names in (_OPERATORS, _FUNCTIONS, _AGGREGATES))
# Arithmetic over released values that is not offered on rows, where it is not total.
RELEASED = frozenset(("sqrt", "ln", "exp", "power"))
