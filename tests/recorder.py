"""The recorder (NB-00): no noise, and what is declared of neighbours compared with what they do.

An engine here is anything that returns the exact numbers of a case over some rows. `record` tries it on pairs of
neighbours and raises with the least example that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import TypeAlias

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Measure
from tests.plans import Case, Rows_, make, rows_of
from tests.reference import Found, Oracle, Sparse

Engine: TypeAlias = Callable[[BoundedQuery, Rows_], Found]
Declare: TypeAlias = Callable[[Case, dp.Neighbours], BoundedQuery | None]


@dataclass(frozen=True, slots=True)
class Violation:
    """Neighbours that are further apart than was declared."""

    what: str
    measure: Measure | None
    realised: Fraction | int
    declared: Fraction | int


def engine_of(engine: Engine, case: Case) -> Engine:
    """An engine of its own for a case, where one needs to know how its rows are stored."""
    return getattr(engine, "of", lambda _: engine)(case)  # type: ignore[no-any-return]


def oracle(query: BoundedQuery, rows: Rows_) -> Found:
    return Oracle(query).run(rows)


def declared(case: Case, neighbours: dp.Neighbours) -> BoundedQuery | None:
    return case.query(neighbours)


def moved(one: Sparse, other: Sparse) -> list[int]:
    """By how much each cell differs, where it does."""
    return [abs(apart) for cell in {*one, *other} if (apart := one.get(cell, 0) - other.get(cell, 0))]


def violations(query: BoundedQuery, one: Found, other: Found) -> Iterator[Violation]:
    """Each norm in which a measure moved by more than was declared, and keys that come or go."""
    for bounded, here, there in zip(query.measures, one.measures, other.measures, strict=True):
        apart, norms = moved(here, there), bounded.sensitivity
        assert norms.l1 is not None
        realised: list[tuple[str, Fraction | int, Fraction | int]] = [
            ("l0", len(apart), bounded.cells_moved),
            ("l1", sum(apart), norms.l1),
            ("l2 squared", sum(value * value for value in apart), norms.l2**2),
            ("linf", max(apart, default=0), norms.linf),
        ]
        for name, far, most in realised:
            if far > most:
                yield Violation(name, bounded.measure, far, most)
    if query.is_private:
        most = query.bounds.groups * (1 if query.neighbours is dp.Neighbours.ADD_REMOVE else 2)
        apart = moved(one.units, other.units)
        for name, far in (("units", sum(apart)), ("keys", len(one.units.keys() ^ other.units.keys()))):
            if far > most:
                yield Violation(name, None, far, most)
        if max(apart, default=0) > 1:
            yield Violation("units of one key", None, max(apart), 1)


def pairs(seeds: Iterable[int], neighbours: dp.Neighbours, *, each: int) -> Iterator[tuple[Case, Rows_]]:
    for seed in seeds:
        case = make(seed)
        for rows in case.pairs(Random(seed), neighbours, most=each):
            yield case, rows


def first_violation(
    case: Case, rows: Rows_, neighbours: dp.Neighbours, engine: Engine, declare: Declare
) -> Violation | None:
    query = declare(case, neighbours)
    if query is None:
        return None
    engine = engine_of(engine, case)
    found = next(violations(query, engine(query, case.rows), engine(query, rows)), None)
    return found or next(private_declarations(query, declare(replace(case, rows=rows), neighbours)), None)


def private_declarations(one: BoundedQuery, other: BoundedQuery | None) -> Iterator[Violation]:
    """What is declared differently of a neighbour: the rows had a part in it."""
    for here, there in zip(one.measures, other.measures if other else (), strict=True):
        if here.sensitivity != there.sensitivity:
            yield Violation("declared norms", here.measure, there.sensitivity.l2, here.sensitivity.l2)


def record(
    tried: Iterable[tuple[Case, Rows_]],
    neighbours: dp.Neighbours,
    engine: Engine = oracle,
    declare: Declare = declared,
) -> int:
    """Try pairs of neighbours and return how many there were."""
    count = 0
    last: tuple[Case, BoundedQuery, Found] | None = None
    run = engine
    for case, rows in tried:
        if last is None or last[0] is not case:
            query = declare(case, neighbours)
            if query is None:
                continue
            run = engine_of(engine, case)
            last = case, query, run(query, case.rows)
        found = next(violations(last[1], last[2], run(last[1], rows)), None)
        found = found or next(private_declarations(last[1], declare(replace(case, rows=rows), neighbours)), None)
        count += 1
        if found is not None:
            raise AssertionError(shown(*shrunk(case, rows, neighbours, engine, declare), neighbours))
    return count


Label: TypeAlias = tuple[object, int] | None
"""Which table of a family: None for the first one; a unit and 0 for the one without it, or a number of other rows."""


def family(case: Case) -> dict[Label, Rows_]:
    """Tables of which many are neighbours: one, without each of its units, and with other rows for two of them."""
    rng, everyone = Random(case.seed), case.units()
    found: dict[Label, Rows_] = {None: case.rows}
    for unit in everyone[:8]:
        found[unit, 0] = case.without(unit)
    for unit in everyone[:1] + everyone[-1:]:
        owner = None if case.schemas[0].unit is None else unit
        found[unit, 1] = case.without(unit, rows_of(rng, case.schemas, owner, case.rows))
    return found


def related(one: Label, other: Label) -> dp.Neighbours | None:
    """Whether two tables of a family are neighbours. Those without Ada and without Ben are: Ben is replaced by Ada."""
    if one is None or other is None:
        there = other or one
        return None if there is None else dp.Neighbours.REPLACE if there[1] else dp.Neighbours.ADD_REMOVE
    if one[0] == other[0]:
        return dp.Neighbours.REPLACE if one[1] and other[1] else dp.Neighbours.ADD_REMOVE
    return dp.Neighbours.REPLACE if not one[1] and not other[1] else None


def record_families(cases: Iterable[Case], engine: Engine = oracle, declare: Declare = declared) -> int:
    """Try all neighbours in the family of each case, under both relations, and return how many there were."""
    count = 0
    for case in cases:
        queries = {neighbours: query for neighbours in dp.Neighbours if (query := declare(case, neighbours))}
        if not queries:
            continue
        run, tables = engine_of(engine, case), family(case)
        answers = {label: run(queries[dp.Neighbours.ADD_REMOVE], rows) for label, rows in tables.items()}
        for one, other in combinations(tables, 2):
            neighbours = related(one, other)
            if neighbours is None:
                continue
            count += 1
            if any(violations(queries[neighbours], answers[one], answers[other])):
                pair = replace(case, rows=tables[one]), tables[other]
                raise AssertionError(shown(*shrunk(*pair, neighbours, engine, declare), neighbours))
    return count


def shrunk(
    case: Case, rows: Rows_, neighbours: dp.Neighbours, engine: Engine, declare: Declare
) -> tuple[Case, Rows_, Violation]:
    """A smaller pair that still violates: fewer measures, no filter, fewer keys, and row by row."""
    best = first_violation(case, rows, neighbours, engine, declare)
    assert best is not None, "the engine does not return the same numbers twice"
    while True:
        for smaller, fewer in simpler(case, rows):
            found = first_violation(smaller, fewer, neighbours, engine, declare)
            if found is not None:
                case, rows, best = smaller, fewer, found
                break
        else:
            return case, rows, best


def simpler(case: Case, rows: Rows_) -> Iterator[tuple[Case, Rows_]]:
    plan = case.plan
    for number in range(len(plan.measures) if len(plan.measures) > 1 else 0):
        fewer = plan.measures[:number] + plan.measures[number + 1 :]
        yield replace(case, plan=replace(plan, measures=fewer)), rows
    if plan.where is not None:
        yield replace(case, plan=replace(plan, where=None)), rows
    for number, key in enumerate(plan.keys):
        if not key.is_private:
            yield replace(case, plan=replace(plan, keys=plan.keys[:number] + plan.keys[number + 1 :])), rows
    for scan in case.private:
        for row in case.rows[scan]:
            if any(row is kept for kept in rows[scan]):  # what both tables have stays the same in both
                yield replace(case, rows=less(case.rows, scan, row)), less(rows, scan, row)
        for row in case.rows[scan]:
            if not any(row is kept for kept in rows[scan]):
                yield replace(case, rows=less(case.rows, scan, row)), rows
        for row in rows[scan]:
            if not any(row is kept for kept in case.rows[scan]):
                yield case, less(rows, scan, row)


def less(rows: Rows_, scan: int, gone: object) -> Rows_:
    """The rows without one."""
    at = next(number for number, row in enumerate(rows[scan]) if row is gone)
    return tuple(part[:at] + part[at + 1 :] if number == scan else part for number, part in enumerate(rows))


def shown(case: Case, rows: Rows_, found: Violation, neighbours: dp.Neighbours) -> str:
    lines = [
        f"seed {case.seed}, {neighbours.name}: {found.what} {float(found.realised):g} > {float(found.declared):g}",
        f"measure {found.measure}",
        f"where {case.plan.where}",
        *(f"key {key.expression} in {key.codes}" for key in case.plan.keys),
        *(f"table {s.name} R={s.rows_per_unit} m={s.groups_per_unit} k={s.rows_per_group}" for s in case.schemas),
        *(f"join {join}" for join in case.plan.relation.joins),
        *(f"one table   {row}" for part in case.rows for row in part),
        *(f"neighbour   {row}" for part in rows for row in part),
    ]
    return "\n".join(lines)
