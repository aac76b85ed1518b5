"""Joins: on the unit alone between tables about people, and on equal values with a public table.

Values are equal where their integers are, so both sides are brought to one kind first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet import dp
from discreet.engine.compare import compare
from discreet.engine.expression import (
    Arithmetic,
    Case,
    Coded,
    Column,
    Constant,
    Day,
    Expression,
    Instant,
    Number,
    Truth,
)
from discreet.engine.kinds import as_number, columns_of, integer, is_whole_list, spoken
from discreet.engine.merging import looked_up, places_in
from discreet.engine.numbers import cut, shape, times
from discreet.engine.refusals import refusal
from discreet.engine.syntax import Call, Joined, Name, Node, Position
from discreet.engine.visible import Meaning, Owner, Source
from discreet.errors import NotSupported

if TYPE_CHECKING:
    from discreet.engine.sources import Sources


def matched(x: Expression, key: Column, at: Position | None) -> Expression:
    """Return x as the integer that a column of a public table has where both stand for one value; else NULL.

    A public column is compared as it is, since how many of its rows have one value was counted on it.
    """
    match x.kind, key.kind:
        case Coded(mine), Coded(theirs) if isinstance(mine, dp.Category) and isinstance(theirs, dp.Category):
            if mine == theirs:
                return x
            return looked_up(x, places_in(mine, theirs), key.kind)
        case _, Number() if isinstance(x.kind, Number) or is_whole_list(x.kind):
            return _on_grid(as_number(x, at, "a join"), key.kind, at)
        case (Day(), Day()) | (Truth(), Truth()):
            return x
        case Instant(_, _, zone), Instant(_, _, other) if zone == other:
            return x
    raise refusal(
        f"column {key.name!r} of a public table is {spoken(key.kind)} and is joined with {spoken(x.kind)}",
        at,
        "declare both columns alike: as a dc.Category, dc.Integer, dc.Real, dc.Date or dc.Boolean",
    )


def _on_grid(x: Expression, kind: Number, at: Position | None) -> Expression:
    """Return the integers of x on the grid of another column; NULL where x lies between its steps."""
    ratio = shape(x).step / kind.step
    above = times(x, ratio.numerator, shape(x).step / ratio.numerator, at)
    divisor = ratio.denominator
    if divisor == 1:
        return times(above, 1, kind.step, at)
    ends, step = shape(above), shape(above).step
    most = divisor - 1
    rest = Arithmetic("%", above, integer(divisor, step), Number(step, -most, most))
    result = Number(kind.step, cut(ends.low, divisor), cut(ends.high, divisor))
    quotient = Arithmetic("//", above, integer(divisor, step), result)
    return Case(((compare("=", rest, integer(0, step), at), quotient),), Constant(None, result), result)


def conjuncts(node: Node | None) -> Iterator[Node]:
    """Yield the parts of a condition that are joined by AND."""
    waiting = [] if node is None else [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call) and one.function == "and":
            waiting.extend(reversed(one.arguments))
        else:
            yield one


class Matching:
    """ON or USING of one join, sorted into what it joins by and what is a condition."""

    def __init__(
        self, sources: Sources, source: Joined, left: tuple[Source, ...], right: tuple[Source, ...], scan: int
    ) -> None:
        self._sources, self._source, self._scan = sources, source, scan
        self._left, self._right = sources.scope(left), sources.scope(right)
        self._both = sources.scope((*left, *right))
        self._typer = sources.typer(self._both)
        self._table = sources.table(scan)
        self._by_unit = False
        self._on: list[tuple[Expression, Column]] = []

    def add(self) -> None:
        """Add the join and its conditions to the relation."""
        at = self._source.at
        for name in self._source.using:
            mine, theirs = (scope.meaning(Name(name, None, at)) for scope in (self._left, self._right))
            if not self._joins_by(mine, theirs, at):
                raise self._no_key(at)
            for one in self._right.sources:
                one.hidden.add(name.casefold())
        for condition in conjuncts(self._source.on):
            self._condition(condition)
        if not self._by_unit and not self._on:
            raise self._no_key(at)
        self._sources.add(self._scan, self._source.kind, self._on)

    def _no_key(self, at: Position | None) -> NotSupported:
        name, unit = self._table.name, self._table.unit
        if self._table.public:
            key = next(iter(self._table.columns))
            what = f"the public table {name!r} is not joined on a column of its own"
            return refusal(what, at, f"write USING ({key}), or ON with {name}.{key} = and what it equals")
        what = f"two tables about people, the second {name!r}, are joined on something else than their unit"
        return refusal(what, at, f"write USING ({unit})" if unit else "declare unit= of both, or ask one of them")

    def _condition(self, node: Node) -> None:
        if isinstance(node, Call) and node.function == "eq" and len(node.arguments) == 2:
            one, other = (self._side(argument) for argument in node.arguments)
            if self._joins_by(one, other, node.at) or self._joins_by(other, one, node.at):
                return
        condition = self._typer.condition(node, "ON")
        if self._source.kind == "left":
            raise refusal(
                "LEFT JOIN has a condition besides the equality of keys",
                node.at,
                "write it in CASE WHEN in the SELECT, or write JOIN",
            )
        self._sources.where.append(condition)

    def _side(self, node: Node) -> Meaning:
        return self._both.meaning(node) if isinstance(node, Name) else self._typer(node)

    def _joins_by(self, one: Meaning, other: Meaning, at: Position | None) -> bool:
        """Take one = other into the join, if `other` is the unit or a column of the table that is joined."""
        if not isinstance(other, Column | Owner) or other.scan != self._scan:
            return False
        if not self._table.public:
            mine, theirs = self._both.as_unit(one), self._both.as_unit(other)
            if mine is None or theirs is None or mine.scan >= self._scan:
                return False
            if self._sources.may_lack(mine.scan):
                raise refusal("the unit of a table after LEFT JOIN may be missing", at, "join on that of the first")
            self._by_unit = True
            return True
        if isinstance(one, Owner) or isinstance(other, Owner):
            return False
        scans = [column.scan for column in columns_of(one)]
        if not scans or max(scans) >= self._scan:
            return False
        self._on.append((matched(one, other, at), other))
        return True
