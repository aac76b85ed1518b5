"""Expressions as SQL: for every engine the same integers, written once, over columns that were read into integers.

An operand that is needed more than once is not written more than once: it becomes a column of a layer underneath, so
the text is about as long as the expression however its parts are nested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import assert_never

from discreet.engine.dialect import Dialect
from discreet.engine.expression import (
    Arithmetic,
    AsDay,
    Binned,
    Case,
    Coalesce,
    Column,
    Comparison,
    Constant,
    Day,
    Expression,
    Extreme,
    Free,
    Instant,
    IsNull,
    Kind,
    Logical,
    Lookup,
    Member,
    Not,
    Number,
    Part,
    Prefix,
    Truncated,
    Truth,
)

DAY, HOUR, MINUTE = 86_400, 3_600, 60
_FEW = 16  # values up to which a chain of comparisons is shorter than a list


@dataclass(slots=True)
class Bindings:
    """What a statement binds: parameters, and public lists that the engine reads from memory. Names are given once."""

    parameters: dict[str, object] = field(default_factory=dict)
    lists: dict[str, object] = field(default_factory=dict)  # by the name of their table
    _made: int = 0

    def name(self, letter: str) -> str:
        """Return a name that is new in this statement."""
        self._made += 1
        return f"{letter}_{self._made}"


class Writer:
    """Writes SQL over one set of columns for one engine, and gathers what it binds and the layers that it needs."""

    def __init__(self, dialect: Dialect, names: Mapping[tuple[int, str], str], bindings: Bindings) -> None:
        self.dialect = dialect
        self.names = names  # of the columns that were read: (scan, column) -> name
        self.bindings = bindings
        self._layers: list[tuple[str, str]] = []  # a column of a layer, and the join that it needs
        self._known: dict[object, str] = {}

    def parameter(self, value: object) -> str:
        """Return the place of a new bound parameter."""
        name = f"p{len(self.bindings.parameters)}"
        self.bindings.parameters[name] = value
        return self.dialect.parameter(name)

    def name(self, letter: str) -> str:
        """Return a name that is new in this statement."""
        return self.bindings.name(letter)

    def layered(self, rows: str) -> str:
        """Return rows, a SELECT, with the columns of all layers that were needed since the last call."""
        for column, join in self._layers:
            rows = f"SELECT r.*, {column} FROM ({rows}) AS r{join}"
        self._layers.clear()
        return rows

    def named(self, expression: Expression) -> str:
        """Return the name of a column with the value of an expression."""
        if isinstance(expression, Column):
            return self.sql(expression)
        if expression not in self._known:
            value, name = self.sql(expression), self.name("t")
            self._layers.append((f"{value} AS {name}", ""))
            self._known[expression] = name
        return self._known[expression]

    def placed(self, value: str, keys: Sequence[int] | Sequence[str], places: Sequence[int | None]) -> str:
        """Return the name of a column with the place of a value in a public list."""
        alias, name = self.name("d"), self.name("t")
        join = self.dialect.looked_up(alias, value, keys, places, self)
        self._layers.append((f"{alias}.place AS {name}", f" {join}"))
        return name

    def sql(self, expression: Expression) -> str:
        """Return an expression as SQL."""
        match expression:
            case Column(scan, name):
                return self.names[scan, name]
            case Constant(value, kind):
                return self._constant(value, kind)
            case Arithmetic():
                return self._arithmetic(expression)
            case Comparison(operator, left, right):
                return f"({self._comparable(left)} {operator} {self._comparable(right)})"
            case Logical(operator, operands):
                return "(" + f" {operator.upper()} ".join(map(self.sql, operands)) + ")"
            case Not(operand):
                return f"(NOT {self.sql(operand)})"
            case IsNull(operand):
                return f"({self.sql(operand)} IS NULL)"
            case Member(operand, values):
                return self._member(operand, values)
            case Prefix(operand, prefix):
                return self.dialect.starts_with(self.sql(operand), self.parameter(prefix))
            case Case(branches, otherwise):
                written = " ".join(f"WHEN {self.sql(when)} THEN {self.sql(then)}" for when, then in branches)
                return f"CASE {written} ELSE {self.sql(otherwise)} END"
            case Coalesce(operands):
                return f"COALESCE({', '.join(map(self.sql, operands))})"
            case Extreme(operator, operands):
                return f"{operator.upper()}({', '.join(map(self.sql, operands))})"
            case Part(part, operand):
                return self._part(part, operand)
            case Truncated(unit, operand):
                return self._truncated(unit, operand)
            case Binned(operand, edges):
                return self.dialect.binned(self.named(operand), [str(edge) for edge in edges], self)
            case AsDay(operand):
                return self._floored(operand, DAY)
            case Lookup(operand, table):
                return self._lookup(operand, table)
            case _:
                assert_never(expression)

    def _constant(self, value: int | bool | str | None, kind: Kind) -> str:
        if isinstance(kind, Truth):
            return "CAST(NULL AS BOOLEAN)" if value is None else str(bool(value)).upper()
        if isinstance(kind, Free):
            written = "NULL" if value is None else self.parameter(value)
            return f"CAST({written} AS {self.dialect.text_type})"
        assert not isinstance(value, str)
        return f"CAST({'NULL' if value is None else int(value)} AS {self.dialect.bigint})"

    def _arithmetic(self, expression: Arithmetic) -> str:
        left, right = self.sql(expression.left), self.sql(expression.right)
        match expression.operator:
            case "+" | "-" | "*":
                return f"({left} {expression.operator} {right})"
            case "//":
                return self.dialect.divided(left, f"NULLIF({right}, 0)")
            case "%":
                return self.dialect.remainder(left, f"NULLIF({right}, 0)")
            case _:
                assert_never(expression.operator)

    def _comparable(self, expression: Expression) -> str:
        written = self.sql(expression)
        return self.dialect.compared(written) if isinstance(expression.kind, Free) else written

    def _member(self, operand: Expression, values: tuple[int, ...] | tuple[str, ...]) -> str:
        if not values:
            return f"CASE WHEN {self.sql(operand)} IS NOT NULL THEN FALSE END"
        listed = [self.parameter(value) if isinstance(value, str) else str(int(value)) for value in values]
        return f"({self._comparable(operand)} IN ({', '.join(listed)}))"

    def _floored(self, operand: Expression, size: int) -> str:
        """Return an integer divided by a positive constant, rounded down; it stands once in the text."""
        low = operand.kind.low if isinstance(operand.kind, Number | Day | Instant) else 0
        ahead = max(0, -(low // size))
        if not ahead:
            return self.dialect.divided(self.sql(operand), str(size))
        return f"({self.dialect.divided(f'({self.sql(operand)} + {ahead * size})', str(size))} - {ahead})"

    def _within(self, operand: Expression, size: int, shift: int = 0) -> str:
        """Return (an integer + shift) modulo a positive constant, 0 at least; it stands once in the text."""
        low = operand.kind.low if isinstance(operand.kind, Number | Day | Instant) else 0
        ahead = max(0, -((low + shift) // size)) * size + shift
        return self.dialect.remainder(f"({self.sql(operand)} + {ahead})", str(size))

    def _part(self, part: str, operand: Expression) -> str:
        seconds = isinstance(operand.kind, Instant)
        match part:
            case "hour" | "minute" | "second" if not seconds:
                return f"({self.sql(operand)} * 0)"  # a day begins at midnight
            case "hour":
                return self.dialect.divided(self._within(operand, DAY), str(HOUR))
            case "minute":
                return self.dialect.divided(self._within(operand, HOUR), str(MINUTE))
            case "second":
                return self._within(operand, MINUTE)
        day: Expression = AsDay(operand, _days_of(operand.kind)) if seconds else operand
        match part:
            case "dayofweek":
                return self._within(day, 7, 4)  # 1970-01-01 was a Thursday
            case "isodow":
                return f"({self._within(day, 7, 3)} + 1)"
            case "year" | "quarter" | "month" | "week" | "day" | "dayofyear":
                return self.dialect.day_part(part, self.sql(day))
        raise AssertionError(part)

    def _truncated(self, unit: str, operand: Expression) -> str:
        seconds = isinstance(operand.kind, Instant)
        if unit in ("hour", "minute") or unit == "day":
            size = {"day": DAY, "hour": HOUR, "minute": MINUTE}[unit]
            return f"({self._floored(operand, size)} * {size})" if seconds else self.sql(operand)
        day: Expression = AsDay(operand, _days_of(operand.kind)) if seconds else operand
        match unit:
            case "week":
                written = f"({self._floored_week(day)})"
            case "year" | "quarter" | "month":
                written = self.dialect.first_day(unit, self.sql(day))
            case _:
                raise AssertionError(unit)
        return f"({written} * {DAY})" if seconds else written

    def _floored_week(self, day: Expression) -> str:
        """The Monday of a day: 1969-12-29 is day -3."""
        low = day.kind.low if isinstance(day.kind, Day | Number) else 0
        ahead = max(0, -((low + 3) // 7))
        weeks = self.dialect.divided(f"({self.sql(day)} + {3 + 7 * ahead})", "7")
        return f"{weeks} * 7 - {3 + 7 * ahead}"

    def _lookup(self, operand: Expression, table: tuple[int | None, ...]) -> str:
        if len(table) > _FEW:
            return self.placed(self.sql(operand), range(len(table)), table)
        known = [(place, value) for place, value in enumerate(table) if value is not None]
        if not known:
            return self._constant(None, operand.kind)
        branches = " ".join(f"WHEN {place} THEN {value}" for place, value in known)
        return f"CAST(CASE {self.sql(operand)} {branches} END AS {self.dialect.bigint})"


def columns_of(part: object) -> Iterator[Column]:
    """Yield every column that an expression, or anything made of expressions, reads."""
    if isinstance(part, Column):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from columns_of(one)
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            if one.name not in ("kind", "table", "values", "edges", "codes"):
                yield from columns_of(getattr(part, one.name))


def _days_of(kind: Kind) -> Day:
    assert isinstance(kind, Instant)
    return Day(kind.low // DAY, kind.high // DAY)
