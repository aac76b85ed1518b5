"""What engines and the oracle return for the same question, compared as far as it does not depend on a secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Distinct, Rows, Units
from discreet.errors import Refused
from tests.plans import Case, Rows_
from tests.recorder import Engine, engine_of
from tests.reference import Cell, Found, Oracle
from tests.sql_questions import case_of, hostile, plain, question

ADD = dp.Neighbours.ADD_REMOVE


def decided(query: BoundedQuery, rows: Rows_) -> bool:
    """Whether no unit has more groups, rows or values than count, so that no secret chooses among them."""
    bounds = query.bounds
    distinct = [n for n, measure in enumerate(query.measures) if isinstance(measure.measure, Distinct)]
    for unit in Oracle(query).gathered(rows).values() if query.form != "rows" else ():
        counted = sum(min(group.count, bounds.rows_each) for group in unit.groups.values())
        if query.form == "sampled" and (len(unit.groups) > bounds.groups or counted > bounds.rows):
            return False
        if any(sum(len(group.values[n]) for group in unit.groups.values()) > bounds.greatest()[0] for n in distinct):
            return False
    return True


def check_same(query: BoundedQuery, rows: Rows_, found: Found) -> None:
    """An engine's integers are the oracle's; where they depend on a secret, they are what some order could give."""
    expected = Oracle(query).run(rows)
    if not query.is_private:
        found, expected = replace(found, units={}), replace(expected, units={})
    if decided(query, rows):
        assert found == expected, (query.plan, found, expected)
        return
    for bounded, here, there in zip(query.measures, found.measures, expected.measures, strict=True):
        if not query.is_private and not isinstance(bounded.measure, Distinct):
            assert here == there, (query.plan, here, there)
    check_possible(query, rows, found)


def check_possible(query: BoundedQuery, rows: Rows_, found: Found) -> None:
    """Sums over all groups and within each are at most what the bounds let units add, whichever groups they keep."""
    bounds, units = query.bounds, Oracle(query).gathered(rows).values()
    holders, most = Counter[Cell](), Counter[Cell]()
    for unit in units:
        for cell, group in unit.groups.items():
            holders[cell] += 1
            most[cell] += min(group.count, bounds.rows_each)
    in_all = sum(min(bounds.rows, sum(group.count for group in unit.groups.values())) for unit in units)
    if query.is_private:
        assert all(1 <= count <= holders[cell] for cell, count in found.units.items())
        assert sum(found.units.values()) <= sum(min(bounds.groups, len(unit.groups)) for unit in units)
    for bounded, here in zip(query.measures, found.measures, strict=True):
        if query.is_private and isinstance(bounded.measure, Units):
            assert here == found.units
        if query.is_private and isinstance(bounded.measure, Rows):
            assert all(value <= most[cell] for cell, value in here.items())
            assert sum(here.values()) <= in_all
        if isinstance(bounded.measure, Distinct):
            assert sum(here.values()) <= bounds.greatest()[0] * len(units)


def sql_cases(seeds: Iterable[int]) -> Iterator[tuple[str, Case]]:
    """Random questions in SQL over random rows, plain and hostile ones."""
    for seed in seeds:
        rng = Random(seed)
        unit = rng.random() < 0.7
        text = question(rng, unit=unit)
        rows = [(plain if rng.random() < 0.7 else hostile)(rng, rng.randint(1, 5)) for _ in range(rng.randint(0, 25))]
        bounds = {"rows_per_unit": rng.choice((1, 3, 6)), "groups_per_unit": 2} if unit else {}
        try:
            case = case_of(text, rows, unit=unit, **bounds)
        except Refused:
            continue
        if case.query(ADD) is not None:
            yield text, case


def check_engine(engine: Engine, cases: Iterable[Case]) -> int:
    """Compare an engine with the oracle on cases, and return on how many."""
    tried = 0
    for case in cases:
        query = case.query(ADD)
        if query is not None:
            check_same(query, case.rows, engine_of(engine, case)(query, case.rows))
            tried += 1
    return tried
