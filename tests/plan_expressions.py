"""Random typed expressions with the ranges that they have: each is total, and each integer stays below 2^62."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from random import Random

from discreet import dp
from discreet.engine import expression as ex
from tests.reference_expressions import moment, truncated

WIDEST = 2**40  # of what an expression is made from: sums of products stay below 2^62


def number(value: int, step: Fraction = Fraction(1)) -> ex.Constant:
    return ex.Constant(value, ex.Number(step, value, value))


def arithmetic(operator: str, left: ex.Expression, right: ex.Expression) -> ex.Arithmetic:
    """An operation on two numbers of the same grid, or a product."""
    a, b = left.kind, right.kind
    assert isinstance(a, ex.Number)
    assert isinstance(b, ex.Number)
    match operator:
        case "+":
            kind = ex.Number(a.step, a.low + b.low, a.high + b.high)
        case "-":
            kind = ex.Number(a.step, a.low - b.high, a.high - b.low)
        case "*":
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            kind = ex.Number(a.step * b.step, min(corners), max(corners))
        case "//":
            kind = ex.Number(Fraction(1), -a.most, a.most)
        case _:
            most = min(a.most, max(b.most - 1, 0))
            kind = ex.Number(a.step, -most if a.low < 0 else 0, most if a.high > 0 else 0)
    return ex.Arithmetic(operator, left, right, kind)  # type: ignore[arg-type]


def on_grid(expression: ex.Expression, step: Fraction) -> ex.Expression:
    """The same number on a finer grid."""
    assert isinstance(expression.kind, ex.Number)
    ratio = expression.kind.step / step
    assert ratio.denominator == 1
    return expression if ratio == 1 else arithmetic("*", expression, number(int(ratio), Fraction(1) / ratio))


def common(one: Fraction, other: Fraction) -> Fraction:
    bottom = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * bottom), int(other * bottom)), bottom)


def aligned(parts: list[ex.Expression]) -> list[ex.Expression]:
    step = Fraction(0)
    for part in parts:
        assert isinstance(part.kind, ex.Number)
        step = common(part.kind.step, step) if step else part.kind.step
    return [on_grid(part, step) for part in parts]


@dataclass(frozen=True, slots=True)
class Expressions:
    """Random expressions over columns."""

    rng: Random
    columns: tuple[ex.Column, ...]

    def of(self, *kinds: type) -> list[ex.Column]:
        return [column for column in self.columns if isinstance(column.kind, kinds)]

    def number(self, depth: int) -> ex.Expression:
        """A number in a range that is not too wide."""
        made = self._number(depth)
        assert isinstance(made.kind, ex.Number)
        return made if made.kind.most < WIDEST else number(1)

    def _number(self, depth: int) -> ex.Expression:
        rng, leaves = self.rng, self.of(ex.Number)
        if depth == 0 or rng.random() < 0.25:
            return rng.choice(leaves) if leaves and rng.random() < 0.8 else number(rng.randint(-4, 4))
        match rng.randint(0, 6):
            case 0 | 1:
                left, right = aligned([self.number(depth - 1), self.number(depth - 1)])
                return arithmetic(rng.choice("+-"), left, right)
            case 2:
                return arithmetic(rng.choice(("*", "*", "//", "%")), self.number(depth - 1), self.number(depth - 1))
            case 3:
                return self.joined(self.branches(depth, self.number))
            case 4:
                parts = aligned([self.number(depth - 1) for _ in range(rng.randint(2, 3))])
                return self.wide(ex.Extreme(rng.choice(("least", "greatest")), tuple(parts), ex.TRUTH), parts)
            case 5:
                parts = aligned([self.number(depth - 1), self.number(depth - 1)])
                return self.wide(ex.Coalesce(tuple(parts), ex.TRUTH), parts)
            case _:
                return self.part() or self.number(depth - 1)

    def branches(self, depth: int, make: object) -> tuple[list[ex.Expression], list[ex.Expression]]:
        conditions = [self.truth(depth - 1) for _ in range(self.rng.randint(1, 2))]
        return conditions, aligned([make(depth - 1) for _ in range(len(conditions) + 1)])  # type: ignore[operator]

    def joined(self, parts: tuple[list[ex.Expression], list[ex.Expression]]) -> ex.Expression:
        conditions, values = parts
        kind = self.wide(values[0], values).kind
        otherwise = values[-1] if self.rng.random() < 0.7 else ex.Constant(None, kind)
        return ex.Case(tuple(zip(conditions, values[:-1], strict=True)), otherwise, kind)

    def wide(self, expression: ex.Expression, parts: list[ex.Expression]) -> ex.Expression:
        """The expression with the range that holds the ranges of all parts."""
        kinds = [part.kind for part in parts]
        low, high = min(k.low for k in kinds), max(k.high for k in kinds)  # type: ignore[union-attr]
        return replace(expression, kind=ex.Number(kinds[0].step, low, high))  # type: ignore[union-attr]

    def part(self) -> ex.Expression | None:
        """A part of a day or of an instant."""
        leaves = self.of(ex.Day, ex.Instant)
        if not leaves:
            return None
        column = self.rng.choice(leaves)
        ranges = dict(PARTS) | (CLOCK if isinstance(column.kind, ex.Instant) else {})
        name = self.rng.choice(list(ranges))
        return ex.Part(name, column, ex.Number(Fraction(1), *ranges[name]))  # type: ignore[arg-type]

    def truncated(self) -> ex.Expression | None:
        """The start of the year, month and so on."""
        leaves = self.of(ex.Day, ex.Instant)
        if not leaves:
            return None
        column = self.rng.choice(leaves)
        clock = ["hour", "minute"] if isinstance(column.kind, ex.Instant) else []
        unit = self.rng.choice(["year", "quarter", "month", "week", "day", *clock])
        return ex.Truncated(unit, column, truncated_kind(unit, column.kind))

    def truth(self, depth: int) -> ex.Expression:
        rng = self.rng
        if depth <= 0 and self.of(ex.Truth) and rng.random() < 0.3:
            return rng.choice(self.of(ex.Truth))
        if depth > 0 and rng.random() < 0.4:
            match rng.randint(0, 3):
                case 0:
                    return ex.Not(self.truth(depth - 1))
                case 1:
                    return ex.IsNull(rng.choice((self.truth(depth - 1), self.number(depth - 1))))
                case _:
                    parts = tuple(self.truth(depth - 1) for _ in range(rng.randint(2, 3)))
                    return ex.Logical(rng.choice(("and", "or")), parts)
        return self.comparison(max(depth, 0))

    def comparison(self, depth: int) -> ex.Expression:
        rng = self.rng
        operator = rng.choice(("=", "<>", "<", "<=", ">", ">="))
        match rng.randint(0, 4):
            case 0 if self.of(ex.Free):
                return self.of_text(rng.choice(self.of(ex.Free)), operator)
            case 1 if self.of(ex.Coded):
                column = rng.choice(self.of(ex.Coded))
                assert isinstance(column.kind, ex.Coded)
                places = range(column.kind.domain.declared)
                if rng.random() < 0.5:
                    return ex.Member(column, tuple(rng.sample(places, rng.randint(1, len(places)))))
                return ex.Comparison("=", column, ex.Constant(rng.choice(places), column.kind))
            case 2 if self.of(ex.Day, ex.Instant):
                column = rng.choice(self.of(ex.Day, ex.Instant))
                assert isinstance(column.kind, ex.Day | ex.Instant)
                at = rng.randint(column.kind.low, column.kind.high)
                return ex.Comparison(operator, column, ex.Constant(at, column.kind))
            case _:
                left, right = aligned([self.number(depth), self.number(0)])
                return ex.Comparison(operator, left, right)

    def of_text(self, column: ex.Expression, operator: str) -> ex.Expression:
        word = self.rng.choice(("", "a", "A", "ä", "z", "a ", "'; --"))
        match self.rng.randint(0, 2):
            case 0:
                return ex.Prefix(column, word)
            case 1:
                return ex.Member(column, (word, "aa"))
            case _:
                return ex.Comparison(operator, column, ex.Constant(word, ex.FREE))  # type: ignore[arg-type]

    def binned(self) -> ex.Binned | None:
        """A number in bins."""
        leaves = self.of(ex.Number)
        if not leaves:
            return None
        column = self.rng.choice(leaves)
        assert isinstance(column.kind, ex.Number)
        span = range(column.kind.low - 1, column.kind.high + 2)
        edges = sorted(self.rng.sample(span, min(len(span), self.rng.randint(2, 5))))
        domain = dp.Bins([edge * column.kind.step for edge in edges])
        return ex.Binned(column, tuple(edges), ex.Coded(domain))


PARTS = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
}
CLOCK = {"hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


def truncated_kind(unit: str, kind: ex.Kind) -> ex.Kind:
    """The range of what is cut down to a unit; a day stays a day and an instant an instant."""
    assert isinstance(kind, ex.Day | ex.Instant)
    low, high = (start_of(unit, end, kind) for end in (kind.low, kind.high))
    return ex.Day(low, high) if isinstance(kind, ex.Day) else ex.Instant(low, high, kind.zone)


def start_of(unit: str, value: int, kind: ex.Kind) -> int:
    start = truncated(unit, moment(value, kind))
    days = start.toordinal() - date(1970, 1, 1).toordinal()
    return days if isinstance(kind, ex.Day) else days * 86_400 + start.hour * 3600 + start.minute * 60
