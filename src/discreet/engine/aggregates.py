"""Aggregates: what is measured for each, and the formula that makes it from what is released.

| aggregate            | measured                                             | formula    |
|----------------------|------------------------------------------------------|------------|
| COUNT(*)             | Rows                                                 | Released   |
| COUNT(x)             | Present(x)                                           | Released   |
| COUNT(DISTINCT unit) | Units                                                | Released   |
| COUNT(DISTINCT x)    | Distinct(x)                                          | Released   |
| SUM(x)               | Total(x)                                             | Released   |
| AVG(x)               | Total(x - c), Present(x)                             | MeanOf     |
| VARIANCE, STDDEV     | Total(x - c), Total((x - c)^2), Present(x)           | SpreadOf   |
| MEDIAN, PERCENTILE   | Histogram(x)                                         | QuantileOf |

c is the middle of the range, which halves what one row adds. SUM(x) beside AVG(x) serves both with its own total.
An aggregate that is FILTERed is that of CASE WHEN condition THEN x END. Equal measures are measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

from discreet import dp
from discreet.engine.compare import is_missing, logical, negation
from discreet.engine.expression import (
    Arithmetic,
    Case,
    Constant,
    Day,
    Expression,
    Instant,
    Number,
    Truth,
    day_of_number,
)
from discreet.engine.kinds import NULL, as_number, described, integer, is_null, is_number, truth, worth
from discreet.engine.merging import case
from discreet.engine.numbers import multiply, shape
from discreet.engine.plan import (
    Distinct,
    Formula,
    Histogram,
    MeanOf,
    Measure,
    Present,
    QuantileOf,
    Released,
    Rows,
    SpreadOf,
    Total,
    Units,
)
from discreet.engine.refusals import amount, invalid, refusal
from discreet.engine.syntax import AGGREGATES, Call, Name, Node, Position, Star
from discreet.engine.syntax import Case as WrittenCase
from discreet.engine.typed import Typer
from discreet.engine.visible import Owner

MOST_BINS = 4_096  # of a quantile: a part in four thousand of the range is finer than its noise
_SQUARED_BITS = 24  # of a difference that is squared, so that the sum over a unit's rows fits


def aggregates_in(node: Node) -> Iterator[Call]:
    """Yield the aggregates of an expression over groups; of a filtered one, the whole."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call) and one.function in AGGREGATES:
            yield one
        elif isinstance(one, Call):
            waiting.extend(one.arguments)
        elif isinstance(one, WrittenCase):
            waiting.extend(part for branch in one.branches for part in branch)
            waiting.extend([] if one.otherwise is None else [one.otherwise])


class Aggregates:
    """The measures of a question, found one by one.

    `owner` says whether a name means the unit of what is read, and whether some row may lack it.
    """

    def __init__(self, typer: Typer, owner: Callable[[Name], tuple[Owner, bool] | None]) -> None:
        self._typer, self._owner = typer, owner
        self._measures: dict[str, Measure] = {}
        self._summed: set[str] = set()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is measured, in the order in which it was found."""
        return tuple(self._measures.values())

    def announce(self, node: Node) -> None:
        """Note which totals will be measured for their own sake, before any mean is made from them."""
        for call in aggregates_in(node):
            inner, condition = _unfiltered(call)
            if inner.function == "sum" and len(inner.arguments) == 1:
                self._summed.add(repr(self._number(inner, self._condition(condition))))

    def formula(self, call: Call) -> Formula:
        """Return how an aggregate is made from what is released."""
        inner, written = _unfiltered(call)
        condition = self._condition(written)
        name, at = inner.function, inner.at
        wanted = 2 if name == "percentile_cont" else 1
        if name not in AGGREGATES or len(inner.arguments) != wanted:
            raise refusal(
                f"{name.upper()} takes {wanted} argument{'s' * (wanted > 1)}", at, "write for instance SUM(x)"
            )
        match name:
            case "count":
                return self._count(inner, condition)
            case "count_distinct":
                return self._distinct(inner, condition)
            case "sum":
                return Released(self._measure(Total(self._number(inner, condition))))
            case "avg":
                return self._mean(self._number(inner, condition))
            case "median" | "percentile_cont":
                return self._quantile(inner, condition)
        return self._spread(self._number(inner, condition), name, at)

    def _measure(self, measure: Measure) -> int:
        text = repr(measure)
        self._measures.setdefault(text, measure)
        return list(self._measures).index(text)

    def _condition(self, node: Node | None) -> Expression:
        return truth(True) if node is None else self._typer.condition(node, "FILTER")

    def _filtered(self, x: Expression, condition: Expression, at: Position | None) -> Expression:
        if isinstance(condition, Constant) and condition.value is not True:
            raise refusal("no row passes this FILTER", at, "leave the aggregate out")
        return x if isinstance(condition, Constant) else Case(((condition, x),), Constant(None, x.kind), x.kind)

    def _number(self, call: Call, condition: Expression) -> Expression:
        what = call.function.upper()
        x = self._typer(call.arguments[0])
        if isinstance(x.kind, Day | Instant) and not is_null(x):
            raise refusal(f"{what} takes a number, not {described(x)}", call.at, "write x - DATE '2000-01-01', in days")
        x = as_number(x, call.at, what)
        if isinstance(x, Constant):
            raise refusal(f"{what} of a constant needs no rows", call.at, "write COUNT(*), and multiply it")
        return self._filtered(x, condition, call.at)

    def _count(self, call: Call, condition: Expression) -> Formula:
        value = call.arguments[0]
        unit = self._owner(value) if isinstance(value, Name) else None
        if isinstance(value, Star) or (unit is not None and not unit[1]):
            x: Expression = integer(1)
        elif unit is not None:
            raise self._lacking(unit[0], call.at)
        else:
            x = self._typer(value)
        if is_null(x):
            raise refusal("COUNT of NULL is always 0", call.at, "write COUNT(*)")
        if isinstance(x, Constant) and isinstance(condition, Constant) and condition.value is True:
            return Released(self._measure(Rows()))
        if not isinstance(condition, Constant):
            condition, x = logical("and", [condition, negation(is_missing(x))]), integer(1)
        return Released(self._measure(Present(self._filtered(x, condition, call.at))))

    def _lacking(self, unit: Owner, at: Position | None) -> Exception:
        what = f"{unit.name!r} of a table after LEFT JOIN is missing in some rows"
        return refusal(what, at, "count that of the first table, or write JOIN")

    def _distinct(self, call: Call, condition: Expression) -> Formula:
        value = call.arguments[0]
        unit = self._owner(value) if isinstance(value, Name) else None
        if unit is not None:
            if unit[1]:
                raise self._lacking(unit[0], call.at)
            if not isinstance(condition, Constant):
                what = f"COUNT(DISTINCT {unit[0].name}) has a FILTER of its own"
                raise refusal(what, call.at, "write the condition in WHERE, as a question of its own")
            return Released(self._measure(Units()))
        x = self._typer(value)
        if isinstance(x, Constant):
            raise refusal("a constant has one value", call.at, "count the different values of a column")
        if isinstance(x.kind, Truth):
            x = case([(x, integer(1)), (negation(x), integer(0))], NULL, call.at)
        return Released(self._measure(Distinct(self._filtered(x, condition, call.at))))

    def _mean(self, x: Expression) -> Formula:
        present = self._measure(Present(x))
        if repr(x) in self._summed:
            return MeanOf(self._measure(Total(x)), present, Fraction(0))
        centre = _centre(shape(x))
        return MeanOf(self._measure(Total(_centred(x, centre))), present, centre * shape(x).step)

    def _spread(self, x: Expression, name: str, at: Position | None) -> Formula:
        moved = _coarse(_centred(x, _centre(shape(x))))
        total, squares = self._measure(Total(moved)), self._measure(Total(multiply(moved, moved, at)))
        present = self._measure(Present(x))
        return SpreadOf(total, squares, present, name in ("var_pop", "stddev_pop"), name in ("stddev", "stddev_pop"))

    def _quantile(self, call: Call, condition: Expression) -> Formula:
        value, share = call.arguments[0], Fraction(1, 2)
        if call.function == "percentile_cont":
            given = [self._typer(argument) for argument in call.arguments]
            if is_number(given[0]) and not is_number(given[1]):
                value, given = call.arguments[1], given[::-1]
            if not is_number(given[1]) or not 0 <= worth(given[1]) <= 1 or worth(given[1]).denominator >= 10**9:
                what = "the share of PERCENTILE_CONT is a constant from 0 to 1, of at most nine digits"
                raise invalid(what, call.at, "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)")
            share = worth(given[1])
        x = self._typer(value)
        if not isinstance(x.kind, Day):
            x = self._ordered(x, call)
        place, bins = _histogram(x, call.at)
        measured = self._measure(Histogram(self._filtered(place, condition, call.at), bins))
        return QuantileOf(measured, share)

    def _ordered(self, x: Expression, call: Call) -> Expression:
        if isinstance(x.kind, Instant):
            raise refusal("a quantile is of numbers or of dates", call.at, "write CAST(x AS DATE)")
        found = as_number(x, call.at, "a quantile")
        if isinstance(found, Constant):
            raise refusal("a quantile of a constant is that constant", call.at, "name a column")
        return found


def _unfiltered(call: Call) -> tuple[Call, Node | None]:
    """Return an aggregate and the condition of its FILTER."""
    if call.function != "filter":
        return call, None
    inner = call.arguments[0] if len(call.arguments) == 2 else None
    if not isinstance(inner, Call) or inner.function not in AGGREGATES or inner.function == "filter":
        raise refusal("FILTER follows an aggregate", call.at, "write COUNT(*) FILTER (WHERE x > 3)")
    return inner, call.arguments[1]


def _centre(kind: Number) -> int:
    return (kind.low + kind.high) // 2


def _centred(x: Expression, centre: int) -> Expression:
    """Return x less the middle of its range."""
    kind = shape(x)
    if centre == 0:
        return x
    return Arithmetic("+", x, integer(-centre, kind.step), Number(kind.step, kind.low - centre, kind.high - centre))


def _coarse(x: Expression) -> Expression:
    """Return a number on a grid so coarse that its square, over all rows of a unit, fits."""
    kind = shape(x)
    spare = kind.most.bit_length() - _SQUARED_BITS
    if spare <= 0:
        return x
    by = 1 << spare
    most = max(abs(kind.low), abs(kind.high)) // by
    coarse = Number(kind.step * by, -most if kind.low < 0 else 0, most if kind.high > 0 else 0)
    return Arithmetic("//", x, integer(by, kind.step), coarse)


def _histogram(x: Expression, at: Position | None) -> tuple[Expression, dp.Bins | dp.Integer | dp.Date]:
    """Return the place of x among at most MOST_BINS bins, and the bins."""
    kind = x.kind
    if isinstance(kind, Day | Number) and kind.low == kind.high:
        raise refusal("this has one value, and no quantile", at, "name a column with several")
    if isinstance(kind, Day):
        count = kind.high - kind.low + 1
        if count > MOST_BINS:
            what = f"a quantile of {amount(count)} days is asked and {MOST_BINS:,} are allowed"
            raise refusal(what, at, "write it of a number of days: x - DATE '2000-01-01'")
        days = Arithmetic("-", x, Constant(kind.low, Day(kind.low, kind.low)), Number(Fraction(1), 0, count - 1))
        return days, dp.Date(day_of_number(kind.low), day_of_number(kind.high))
    assert isinstance(kind, Number)
    count = kind.high - kind.low + 1
    each = -(-count // MOST_BINS)
    place: Expression = x
    if kind.low != 0:
        place = Arithmetic("+", x, integer(-kind.low, kind.step), Number(kind.step, 0, count - 1))
    if each == 1 and kind.step == 1:
        return place, dp.Integer(kind.low, kind.high)
    if each > 1:
        bins = -(-count // each)
        place = Arithmetic("//", place, integer(each, kind.step), Number(Fraction(1), 0, bins - 1))
    return place, _bins(kind.step, kind.low, count, each)


@lru_cache(maxsize=64)
def _bins(step: Fraction, low: int, count: int, each: int) -> dp.Bins:
    """Return bins of `each` grid points; each point is in the middle of its own step."""
    top, bottom = step.numerator, 2 * step.denominator
    return dp.Bins([Fraction((2 * (low + place) - 1) * top, bottom) for place in range(0, count + each, each)])
