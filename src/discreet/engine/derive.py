"""From released numbers to the columns of an answer: post-processing, which costs nothing and reads no row.

How far off a number may be at 95 %: each released number that its formula names has an equal part of the 5 %, by the
union bound, and so all of them are within their errors at once; `interval.py` carries that to the result. A mean is
a quotient of two released numbers, and NULL where the number of rows is not above 0 for sure. What clamping and
bounds may have removed is not noise, and no error has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.dp.quantile_trees import quantiles_of
from discreet.dp.rational import float_up
from discreet.dp.values import Value
from discreet.engine import interval
from discreet.engine.bound import BoundedQuery
from discreet.engine.cells import Cell, Column, cells_of, legible, legibly, listed, ranks_of, taken
from discreet.engine.computed import applied
from discreet.engine.expression import Number
from discreet.engine.interval import Numeric, Plain
from discreet.engine.plan import (
    Computed,
    Formula,
    Given,
    KeyOf,
    MeanOf,
    QuantileOf,
    Released,
    SpreadOf,
    Total,
)
from discreet.engine.price import FAILURE
from discreet.engine.released import Bins, Numbers, Release

Errors: TypeAlias = "int | float | tuple[int | float | None, ...]"


@dataclass(frozen=True, slots=True)
class Shown:
    """The columns of an answer, and beside each number how far off it may be: one error, or one for each row."""

    columns: dict[str, tuple[Cell, ...]]
    errors: dict[str, Errors]


def derived(query: BoundedQuery, release: Release, *, whole: bool = False) -> Shown:
    """Return what a question shows of what was released; `whole` without HAVING and LIMIT, every group."""
    with np.errstate(all="ignore"):  # what is not finite becomes NULL
        return _derived(query, release, whole=whole)


def _derived(query: BoundedQuery, release: Release, *, whole: bool) -> Shown:
    plan, rows = query.plan, Rows(query, release)
    kept = np.arange(release.groups)
    if plan.having is not None and not whole:
        condition = rows.column(plan.having)
        kept = kept[np.asarray(condition.value, dtype=bool) & ~condition.null]
    kept = rows.ordered(kept)
    if not whole:
        kept = kept[plan.offset :] if plan.limit is None else kept[plan.offset : plan.offset + plan.limit]
    columns: dict[str, tuple[Cell, ...]] = {}
    errors: dict[str, Errors] = {}
    for output in plan.outputs:
        columns[output.name], error = rows.shown(output.formula, kept)
        if error is not None:
            errors[output.name] = error
    return Shown(columns, errors)


class Rows:
    """The groups of a question, with what was released of each."""

    def __init__(self, query: BoundedQuery, release: Release) -> None:
        self._query, self._release = query, release
        self._keys: dict[int, tuple[list[int], Sequence[Value]]] = {}

    def column(self, formula: Formula) -> Column:
        """Return the value of a formula in every group."""
        named = measures_of(formula)
        return self._column(formula, FAILURE / max(1, len(named)))

    def shown(self, formula: Formula, kept: Any) -> tuple[tuple[Cell, ...], Errors | None]:
        """Return the cells of an output, and their errors if they are noisy numbers."""
        if isinstance(formula, KeyOf):
            places, values = self._key(formula.key)
            return tuple(values[places[row]] for row in kept.tolist()), None
        if isinstance(formula, Released):
            part = self._numbers(formula.measure)
            error = part.error(FAILURE)
            if part.step.denominator == 1:
                return tuple(value * part.step.numerator for value in part.values[kept].tolist()), int(error)
            to, said = (part.item() for part in legible(np.array(float_up(error))))
            return tuple(round(value, int(to)) for value in _times(part.values[kept], part.step).tolist()), said
        if isinstance(formula, QuantileOf):
            return self._quantiles(formula, kept)
        found = self.column(formula)
        if isinstance(found, Plain) or not measures_of(formula):
            return cells_of(found, kept), None
        return legibly(found, kept)

    def ordered(self, kept: Any) -> Any:
        """Return the rows by ORDER BY; without it, by the keys in the order in which they are selected."""
        for place in reversed(list(_keys_of(self._query))):
            places, _ = self._key(place)
            kept = kept[np.argsort(np.asarray(places)[kept], kind="stable")]
        for order in reversed(self._query.plan.order_by):
            kept = kept[np.argsort(ranks_of(self.column(order.formula), order)[kept], kind="stable")]
        return kept

    def _key(self, place: int) -> tuple[list[int], Sequence[Value]]:
        """Return for each group the place of its value in a list of values in order."""
        if place not in self._keys:
            self._keys[place] = _places(self._query, self._release, place)
        return self._keys[place]

    def _column(self, formula: Formula, failure: Fraction) -> Column:
        match formula:
            case KeyOf(key):
                places, values = self._key(key)
                return taken(listed(values), places)
            case Given(value):
                return taken(listed([value]), [0] * self._release.groups)
            case Released(measure):
                return self._released(measure, failure)
            case MeanOf():
                return self._mean(formula, failure)
            case SpreadOf():
                return self._spread(formula, failure)
            case QuantileOf():
                return self._quantile(formula, failure)
            case Computed(function, operands):
                return applied(function, [self._column(operand, failure) for operand in operands])

    def _numbers(self, measure: int) -> Numbers:
        part = self._release.parts[measure]
        assert isinstance(part, Numbers)
        return part

    def _released(self, measure: int, failure: Fraction) -> Numeric:
        part = self._numbers(measure)
        value, error = _times(part.values, part.step), float_up(part.error(failure))
        none = np.zeros(value.shape, dtype=bool)
        return Numeric(value, value - error, value + error, none, whole=part.step.denominator == 1)

    def _range(self, measure: int) -> tuple[float, float]:
        """Return the declared range of what a total adds up."""
        of = self._query.measures[measure].measure
        assert isinstance(of, Total)
        assert isinstance(of.expression.kind, Number)
        kind = of.expression.kind
        return float(kind.low * kind.step), float(kind.high * kind.step)

    def _mean(self, formula: MeanOf, failure: Fraction) -> Numeric:
        total, present = self._released(formula.total, failure), self._released(formula.present, failure)
        mean = _within(_quotient(total, present), *self._range(formula.total))
        centre = float(formula.centre)
        return Numeric(mean.value + centre, mean.low + centre, mean.high + centre, mean.null)

    def _spread(self, formula: SpreadOf, failure: Fraction) -> Numeric:
        total, squares, present = (
            self._released(measure, failure) for measure in (formula.total, formula.squares, formula.present)
        )
        low, high = self._range(formula.total)
        mean = _within(_quotient(total, present), low, high)
        square = interval.absolute(mean)
        around = interval.subtract(_quotient(squares, present), interval.multiply(square, square))
        found = _within(around, 0.0, ((high - low) / 2) ** 2)
        if not formula.population:
            others = interval.subtract(present, interval.exact(np.ones(present.value.shape), whole=True))
            found = interval.multiply(found, _quotient(present, others))
        return interval.monotone(np.sqrt, found) if formula.root else found

    def _quantile(self, formula: QuantileOf, failure: Fraction) -> Column:
        values, lowers, uppers = self._found(formula, failure)
        if not isinstance(values[0] if values else 0.0, int | float):
            return Plain(np.array(values, dtype=object), np.zeros(len(values), dtype=bool), noisy=True)
        value, low, high = (np.array(part, dtype=np.float64) for part in (values, lowers, uppers))
        whole = all(isinstance(each, int) for each in values)
        return Numeric(value, low, high, np.zeros(len(values), dtype=bool), whole)

    def _found(self, formula: QuantileOf, failure: Fraction) -> tuple[list[Any], list[Any], list[Any]]:
        part = self._release.parts[formula.histogram]
        assert isinstance(part, Bins)
        quantiles = quantiles_of(part.tree, part.counts, formula.share, confidence=1 - failure)
        return ([q.value for q in quantiles], [q.lower for q in quantiles], [q.upper for q in quantiles])

    def _quantiles(self, formula: QuantileOf, kept: Any) -> tuple[tuple[Cell, ...], Errors]:
        values, lowers, uppers = self._found(formula, FAILURE)
        errors = []
        for row in kept.tolist():
            value, low, high = values[row], lowers[row], uppers[row]
            off = max(high - value, value - low)
            errors.append(off if isinstance(off, int | float) else off.days)
        return tuple(values[row] for row in kept.tolist()), tuple(errors)


def measures_of(formula: Formula) -> frozenset[int]:
    """Return the released measures that a formula is computed from."""
    match formula:
        case Released(measure) | QuantileOf(measure):
            return frozenset([measure])
        case MeanOf(total, present):
            return frozenset([total, present])
        case SpreadOf(total, squares, present):
            return frozenset([total, squares, present])
        case Computed(_, operands):
            return frozenset().union(*map(measures_of, operands))
        case _:
            return frozenset()


def _times(values: Any, step: Fraction) -> Any:
    """Return integers times a step as the nearest floats: by one division, where the step is one over something."""
    return values * float(step.numerator) / float(step.denominator)


def _quotient(total: Numeric, present: Numeric) -> Numeric:
    """Return total / present, NULL where the divisor is not above 0 for sure."""
    found = interval.divide(total, present)
    return Numeric(found.value, found.low, found.high, found.null | (present.low <= 0))


def _within(a: Numeric, low: float, high: float) -> Numeric:
    """Return numbers in a range that the true ones are in."""
    value, least, most = (np.clip(part, low, high) for part in (a.value, a.low, a.high))
    return Numeric(value, least, most, a.null)


def _keys_of(query: BoundedQuery) -> dict[int, None]:
    """Return the keys by which rows are sorted: those that are selected, in that order, and then the others."""
    selected = [output.formula.key for output in query.plan.outputs if isinstance(output.formula, KeyOf)]
    return dict.fromkeys([*selected, *range(len(query.plan.keys))])


def _places(query: BoundedQuery, release: Release, place: int) -> tuple[list[int], Sequence[Value]]:
    key = query.plan.keys[place]
    if release.keys is None:
        assert key.values is not None
        return np.unravel_index(np.arange(release.groups), query.shape or (1,))[place].tolist(), key.values
    found = [named[place] if isinstance(named, tuple) else named for named in release.keys]
    if key.values is not None:
        return [int(number) for number in found], key.values  # beside private keys, a public one is its place
    values: list[Any] = sorted(set(found))
    places = {value: index for index, value in enumerate(values)}
    return [places[value] for value in found], values
