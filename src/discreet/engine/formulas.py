"""What is shown of released numbers: SELECT, HAVING and ORDER BY over aggregates and keys.

Nothing here reaches an engine. What a part of a question is, a number, a text, a date or a truth value, is checked
before anything is paid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet import dp
from discreet.engine.aggregates import Aggregates, aggregates_in
from discreet.engine.dates import day_from
from discreet.engine.expression import (
    Coded,
    Constant,
    Day,
    Expression,
    Free,
    Instant,
    Number,
    Truth,
    day_of_number,
)
from discreet.engine.keys import START
from discreet.engine.kinds import worth
from discreet.engine.plan import Computed, Formula, Given, Histogram, Key, KeyOf, Measure, QuantileOf
from discreet.engine.refusals import refusal, shown
from discreet.engine.syntax import AGGREGATES, Call, Name, Node, Parameter, Position, Star
from discreet.engine.syntax import Case as WrittenCase
from discreet.engine.syntax import Literal as Written
from discreet.engine.typed import MOST_LEVELS, Typer
from discreet.errors import Refused

Sort: TypeAlias = Literal["number", "text", "truth", "date", "null"]

_ONE = ["neg", "abs", "floor", "ceil", "trunc", "sign", "sqrt", "ln", "exp", "cast_integer", "cast_real"]
_ARITHMETIC: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(_ONE, (1, 1)),
    **dict.fromkeys(["add", "sub", "mul", "div", "intdiv", "mod", "power"], (2, 2)),
    "round": (1, 2),
    "least": (1, None),
    "greatest": (1, None),
}
_ALIKE: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(["eq", "ne", "lt", "le", "gt", "ge", "is_not_distinct"], (2, 2)),
    "between": (3, 3),
    "in": (2, None),
}
_CONDITIONS: dict[str, tuple[int, int | None]] = {
    "and": (1, None),
    "or": (1, None),
    **dict.fromkeys(["not", "is_true", "is_false"], (1, 1)),
}
_SAME: dict[str, tuple[int, int | None]] = {"coalesce": (1, None), "nullif": (2, 2)}


class Formulas:
    """Gives expressions over groups their meaning. `aliases` are the outputs that HAVING and ORDER BY can name."""

    def __init__(self, typer: Typer, keys: Sequence[Key], aggregates: Aggregates) -> None:
        self._typer, self._keys, self._aggregates = typer, keys, aggregates
        self._places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            self._places.setdefault(repr(key.expression), []).append(place)
        self._level = 0

    def formula(self, node: Node, aliases: Mapping[str, Formula] | None = None) -> Formula:
        """Return how a value is computed for each group."""
        self._level += 1
        if self._level > MOST_LEVELS:
            raise refusal(f"this is nested more than {MOST_LEVELS} levels deep", node.at, "write it in a shorter way")
        result = self._formula(node, aliases or {})
        self._level -= 1
        return result

    def _formula(self, node: Node, aliases: Mapping[str, Formula]) -> Formula:
        if isinstance(node, Name) and node.qualifier is None and node.name.casefold() in aliases:
            return aliases[node.name.casefold()]
        if isinstance(node, Call) and node.function in AGGREGATES:
            return self._aggregates.formula(node)
        if next(aggregates_in(node), None) is None:
            found = self._of_keys(node)
            if found is not None:
                return found
        if isinstance(node, WrittenCase):
            parts = [part for branch in node.branches for part in branch]
            otherwise: Node = Written(None, node.at) if node.otherwise is None else node.otherwise
            return self._case([self.formula(part, aliases) for part in (*parts, otherwise)], node.at)
        if isinstance(node, Call):
            return self._computed(node, [self.formula(argument, aliases) for argument in node.arguments])
        if isinstance(node, Star):
            raise refusal("* cannot be selected", node.at, "name the keys, and count with COUNT(*) AS n")
        raise self._ungrouped(node)

    def _of_keys(self, node: Node) -> Formula | None:
        """Return the key or the constant that an expression over rows is, if it is one."""
        if isinstance(node, Name | Written | Parameter):
            expression = self._typer(node)  # whose refusal is the best that can be said
        else:
            try:
                expression = self._typer(node)
            except Refused:  # it may name outputs; its parts are looked at next
                return None
        if isinstance(expression, Constant):
            return Given(_plain(expression))
        return self.key(expression)

    def key(self, expression: Expression) -> KeyOf | None:
        """Return the key that an expression over rows is, if any."""
        for place in self._places.get(repr(expression), ()):
            if self._keys[place].expression.kind == expression.kind:
                return KeyOf(place)
        return None

    def _ungrouped(self, node: Node) -> Refused:
        name = node.name[:60] if isinstance(node, Name) else "it"
        what = f"{shown(name)} is neither grouped by nor inside an aggregate"
        return refusal(what, node.at, f"add {name} to GROUP BY, or write for instance COUNT({name})")

    def _computed(self, node: Call, operands: list[Formula]) -> Formula:
        name, at = node.function, node.at
        for table in (_ARITHMETIC, _ALIKE, _CONDITIONS, _SAME):
            if name in table:
                least, most = table[name]
                if len(operands) < least or (most is not None and len(operands) > most):
                    wanted = f"{least}" if most == least else f"{least} to {most}" if most else f"at least {least}"
                    raise refusal(f"{name.upper()} has {len(operands)} arguments", at, f"give it {wanted}")
                return Computed(name, tuple(self._checked(name, operands, at)))
        if name == "is_null" and len(operands) == 1:
            return Computed(name, tuple(operands))
        if (
            name == "like"
            and len(operands) == 2
            and isinstance(operands[1], Given)
            and self.sort(operands[0]) == "text"
        ):
            return Computed(name, tuple(operands))
        what = f"{name.upper()} is not computed from released values"
        raise refusal(what, at, "group by the whole expression, or select its parts")

    def _checked(self, name: str, operands: list[Formula], at: Position | None) -> list[Formula]:
        """Return operands that fit a function, texts beside dates read as dates."""
        if name in _ARITHMETIC:
            self._expect("number", operands, name, at)
            if name == "round" and len(operands) == 2 and not _is_whole(operands[1]):
                raise refusal("the digits of ROUND are a whole constant", at, "write ROUND(x, 2)")
            return operands
        if name in _CONDITIONS:
            self._expect("truth", operands, name, at)
            return operands
        return self._alike(operands, at)

    def _expect(self, wanted: Sort, operands: Sequence[Formula], name: str, at: Position | None) -> None:
        for operand in operands:
            if (sort := self.sort(operand)) not in (wanted, "null"):
                article = "condition" if wanted == "truth" else wanted
                what = f"{name.upper()} takes a {article}, not a {sort}{' value' * (sort == 'truth')}"
                raise refusal(what, at, "compare it with something" if wanted == "truth" else "write a number")

    def _alike(self, operands: list[Formula], at: Position | None) -> list[Formula]:
        sorts = {self.sort(operand) for operand in operands} - {"null"}
        if sorts == {"date", "text"} and all(_is_text(x) for x in operands if self.sort(x) == "text"):
            return [_as_date(operand, at) for operand in operands]
        if len(sorts) > 1:
            raise refusal(f"a {' and a '.join(sorted(sorts))} are compared", at, "compare values of one kind")
        return operands

    def _case(self, parts: list[Formula], at: Position | None) -> Formula:
        conditions, values = parts[:-1:2], [*parts[1::2], parts[-1]]
        self._expect("truth", conditions, "when", at)
        values = self._alike(values, at)
        flat = [part for pair in zip(conditions, values[:-1], strict=True) for part in pair]
        return Computed("case", (*flat, values[-1]))

    def condition(self, node: Node, aliases: Mapping[str, Formula]) -> Formula:
        """Return the condition of HAVING."""
        result = self.formula(node, aliases)
        self._expect("truth", [result], "having", node.at)
        return result

    def sort(self, formula: Formula) -> Sort:
        """Return what sort of value a formula has."""
        match formula:
            case KeyOf(key):
                return _sort_of(self._keys[key].expression)
            case Given(value):
                return _sort_of_value(value)
            case QuantileOf(place):
                return "date" if _counts_days(self._aggregates.measures[place]) else "number"
            case Computed(name, operands):
                if name in _ARITHMETIC:
                    return "number"
                if name == "case":
                    operands = (*operands[1::2], operands[-1])
                elif name not in _SAME:
                    return "truth"
                return next((sort for x in operands if (sort := self.sort(x)) != "null"), "null")
        return "number"


def _sort_of(expression: Expression) -> Sort:
    match expression.kind:
        case Number():
            return "number"
        case Coded(domain):
            return "text" if isinstance(domain, dp.Category) and isinstance(domain.values[0], str) else "number"
        case Day() | Instant():
            return "date"
        case Truth():
            return "truth"
        case Free():
            return "text"


def _sort_of_value(value: object) -> Sort:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | Fraction) else "date"


def _counts_days(measure: Measure) -> bool:
    return isinstance(measure, Histogram) and isinstance(measure.bins, dp.Date)


def _is_text(formula: Formula) -> bool:
    return isinstance(formula, Given) and isinstance(formula.value, str)


def _is_whole(formula: Formula) -> bool:
    return isinstance(formula, Given) and isinstance(formula.value, int) and abs(formula.value) <= 18


def _as_date(formula: Formula, at: Position | None) -> Formula:
    if isinstance(formula, Given) and isinstance(formula.value, str):
        return Given(_plain(day_from(formula.value, at)))
    return formula


def _plain(constant: Constant) -> int | Fraction | str | bool | date | None:
    """Return what a constant stands for, as a Python value."""
    value = constant.value
    if value is None or isinstance(value, bool | str):
        return value
    match constant.kind:
        case Day():
            return day_of_number(value)
        case Instant():
            return START + timedelta(seconds=value)
        case Coded(domain) if isinstance(domain, dp.Category):
            return domain.values[value]
    exact = worth(constant)
    return int(exact) if exact.denominator == 1 else exact
