"""Engines and declarations that are wrong in ways in which real ones have been: the recorder rejects each.

An engine changes one step of the oracle. A declaration changes what is said of an engine that does nothing wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.bound import BoundedMeasure, BoundedQuery, bound
from discreet.engine.plan import Relation, Total
from tests.plans import Case, Rows_
from tests.reference import Cell, Found, Oracle, Sparse, Tables
from tests.reference_expressions import Read
from tests.reference_forms import Group, Kept, Part, Unit

# Engines.


class NullIsLow(Oracle):
    """LEAST(GREATEST(x, lo), hi) of NULL is lo: a unit of many NULLs and one value adds lo for each."""

    def in_group(self, number: int, measure: BoundedMeasure, group: Group, n: int) -> Sparse:
        if isinstance(measure.measure, Total):
            kind = measure.measure.expression.kind
            assert isinstance(kind, ex.Number)
            missing = group.count - group.present[number]
            group = replace(group, total=Counter({number: group.total[number] + missing * kind.low}))
        return super().in_group(number, measure, group, n)


class RoundedUp(Oracle):
    """Weighted numbers are rounded away from zero."""

    def cut(self, top: int, bottom: int) -> int:
        up = -(-abs(top) // bottom)
        return up if top >= 0 else -up


class BoundedFirst(Oracle):
    """A bound on groups after a filter that needs the rows of others: groups of one unit are dropped beforehand."""

    def gathered(self, tables: Tables) -> dict[object, Unit]:
        found = super().gathered(tables)
        held = Counter(cell for unit in found.values() for cell in unit.groups)
        for unit in found.values():
            for cell in [cell for cell in unit.groups if held[cell] < 2]:
                del unit.groups[cell]
        return found


class RankedByRow(Oracle):
    """The groups of a unit are ranked by a hash of the number of their first row in the whole table."""

    def gathered(self, tables: Tables) -> dict[object, Unit]:
        found = super().gathered(tables)
        order = [(name, cell) for name, unit in found.items() for cell in unit.groups]
        places = {pair: number for number, pair in enumerate(order)}
        object.__setattr__(self, "rank", lambda name, cell: Random(places.get((name, cell), 0)).random())
        return found


class RankedByStream(Oracle):
    """One seeded stream of random numbers runs across all units."""

    def gathered(self, tables: Tables) -> dict[object, Unit]:
        stream, drawn = Random(7), dict[tuple[object, Cell], float]()
        object.__setattr__(self, "rank", lambda name, cell: drawn.setdefault((name, cell), stream.random()))
        return super().gathered(tables)


class Tied(Oracle):
    """dense_rank() keeps every group with a tied hash; and here all are tied."""

    def ranked(self, name: object, unit: Unit) -> list[Cell]:
        return sorted(unit.groups, key=repr)


class PerGroup(Oracle):
    """k rows in each group and no bound on groups: a bound for one group is taken for one on all."""

    def part(self, number: int, measure: BoundedMeasure, unit: Unit, groups: Kept) -> Sparse:
        unweighed = Oracle(replace(self.query, weighs=False), self.rank)
        return unweighed.part(number, measure, unit, groups)


class DistinctUncapped(Oracle):
    """COUNT(DISTINCT x) over everything that a unit has."""

    def capped(self, triples: list[tuple[Cell, Read]]) -> list[tuple[Cell, Read]]:
        return triples


class DistinctPerKey(Oracle):
    """The cap of COUNT(DISTINCT x) holds in each group and not in all of them together."""

    def capped(self, triples: list[tuple[Cell, Read]]) -> list[tuple[Cell, Read]]:
        most, seen = self.query.bounds.greatest()[0], Counter[Cell]()
        kept = []
        for cell, value in triples:
            seen[cell] += 1
            if seen[cell] <= most:
                kept.append((cell, value))
        return kept


class DroppedShown(Oracle):
    """A group whose units were all dropped is there with a count of 0."""

    def counted(self, parts: list[Part]) -> Sparse:
        return {cell: 0 for _, unit, _ in parts for cell in unit.groups} | super().counted(parts)


class Unbounded(Oracle):
    """Every row of every unit counts."""

    def kept(self, name: object, unit: Unit) -> Kept:
        return {cell: (group, group.count) for cell, group in unit.groups.items()}


def private_mean(query: BoundedQuery, rows: Rows_) -> Found:
    """Each sum divided by the number of rows of the whole table, as if that were public."""
    found = Oracle(query).run(rows)
    n = max(len(rows[0]), 1)
    means = tuple({cell: value // n for cell, value in sparse.items()} for sparse in found.measures)
    return Found(means, found.units)


# Declarations.

Declare = Callable[[Case, dp.Neighbours], BoundedQuery | None]


@dataclass(frozen=True, slots=True)
class Declared:
    """A change of what is declared of each measure."""

    change: Callable[[BoundedQuery, BoundedMeasure], BoundedMeasure]

    def __call__(self, case: Case, neighbours: dp.Neighbours) -> BoundedQuery | None:
        query = case.query(neighbours)
        if query is None:
            return None
        return replace(query, measures=tuple(self.change(query, measure) for measure in query.measures))


def scaled(measure: BoundedMeasure, by: Fraction) -> BoundedMeasure:
    found = measure.sensitivity
    assert found.l1 is not None
    less = dp.Sensitivity(l1=found.l1 * by, l2=found.l2 * by, linf=found.linf * by, neighbours=found.neighbours)
    return replace(measure, sensitivity=less)


def of_high(_: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
    """The greatest magnitude is taken from the upper bound alone, twice."""
    if not isinstance(measure.measure, Total) or not isinstance(measure.measure.expression.kind, ex.Number):
        return measure
    kind = measure.measure.expression.kind
    return scaled(measure, Fraction(max(abs(kind.high), 1), max(kind.most, 1)))


def of_one_group(query: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
    """What a unit moves in one group is declared for all of them."""
    linf = measure.sensitivity.linf
    one = dp.Sensitivity(l1=linf, l2=linf, linf=linf, neighbours=measure.sensitivity.neighbours)
    return replace(measure, sensitivity=one)


def few_cells(query: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
    """A weight is taken for nothing: as many cells are said to move as groups count."""
    return replace(measure, cells_moved=query.bounds.groups)


def as_added(case: Case, _: dp.Neighbours) -> BoundedQuery | None:
    """A unit that is replaced is declared like one that comes or goes: a factor of 2, or of its root."""
    return case.query(dp.Neighbours.ADD_REMOVE)


def fan_out_ignored(case: Case, neighbours: dp.Neighbours) -> BoundedQuery | None:
    """The rows of a unit are bounded before a join, whose fan-out is forgotten."""
    query, relation = case.query(neighbours), case.plan.relation
    if query is None or query.form != "rows":
        return query
    joins = tuple(replace(join, fan_out=1) for join in relation.joins)
    less = bound(replace(case.plan, relation=Relation(relation.scans, joins)), neighbours=neighbours)
    return replace(query, measures=less.measures)


def of_leaf(_: BoundedQuery, measure: BoundedMeasure) -> BoundedMeasure:
    """The clamp of the column is taken for that of the expression, or of x for that of x * x."""
    if not isinstance(measure.measure, Total) or not isinstance(measure.measure.expression, ex.Arithmetic):
        return measure
    left, whole = measure.measure.expression.left.kind, measure.measure.expression.kind
    assert isinstance(left, ex.Number)
    assert isinstance(whole, ex.Number)
    return scaled(measure, Fraction(max(left.most, 1), max(whole.most, 1)))


def of_a_mean(neighbours: dp.Neighbours) -> Declare:
    """What a row moves in a mean, taken from the number of rows that the table happens to have."""

    def declare(case: Case, _: dp.Neighbours) -> BoundedQuery | None:
        query = case.query(neighbours)
        if query is None:
            return None
        n = max(len(case.rows[0]), 1)
        return replace(query, measures=tuple(scaled(measure, Fraction(1, n)) for measure in query.measures))

    return declare


# By their names.

ENGINES: dict[str, type[Oracle]] = {
    "NULL becomes the lower bound": NullIsLow,
    "rounded away from zero": RoundedUp,
    "a filter that needs the rows of others": BoundedFirst,
    "ranked by the number of a row": RankedByRow,
    "ranked by one stream": RankedByStream,
    "ties are all kept": Tied,
    "a bound for each group": PerGroup,
    "distinct values without a cap": DistinctUncapped,
    "distinct values with a cap for each key": DistinctPerKey,
    "groups that were dropped are shown": DroppedShown,
    "no bound at all": Unbounded,
}
DECLARATIONS: dict[str, Declare] = {
    "one bound only": Declared(of_high),
    "one group for all": Declared(of_one_group),
    "weights do not move cells": Declared(few_cells),
    "a fan-out that is forgotten": fan_out_ignored,
    "the clamp before the expression": Declared(of_leaf),
}
