"""QE-09: three-valued logic: p, not p, and p is NULL are all rows and none twice, on every engine as in the plan."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from discreet.engine.bound import BoundedQuery
from discreet.errors import Refused
from tests.differences import ADD, check_same
from tests.plans import Case, Rows_
from tests.recorder import Engine, engine_of
from tests.reference import Found
from tests.running import Running
from tests.sizes import sized
from tests.sql_questions import Row, Texts, case_of, hostile, plain, schema_of

MADE = ("w NOT IN ('north', NULL)", "n NOT IN (1, 2, NULL)", "n <> k", "NOT (b AND n > 0)", "x = NULL OR n > 0")
MADE += ("NOT (s LIKE 'n%')", "n BETWEEN NULL AND 3", "(n > 0) IS FALSE", "NULLIF(n, 3) <> 2", "NOT b", "w <> 'icu'")


def rows() -> list[Row]:
    return [plain(Random(seed), seed) for seed in range(20)] + [hostile(Random(seed), 100 + seed) for seed in range(9)]


def split(condition: str) -> str:
    """Three counts of a condition, and that of all rows, each row counted once."""
    parts = (condition, f"NOT ({condition})", f"({condition}) IS NULL", "TRUE")
    return f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE {p}) AS c{i}' for i, p in enumerate(parts))} FROM visits"


def conditions(seeds: range) -> Iterator[str]:
    yield from MADE
    for seed in seeds:
        yield Texts(Random(seed)).truth(2)


def check(engine: Engine, condition: str) -> bool:
    """What is true, false and NULL adds up to all rows."""
    try:
        case = case_of(split(condition), rows(), unit=False)
    except Refused:  # it is a constant
        return False
    query = case.query(ADD)
    assert query is not None
    found = engine_of(engine, case)(query, case.rows)
    check_same(query, case.rows, found)
    counts = [released(case, found, place) for place in range(4)]
    assert sum(counts[:3]) == counts[3] == len(rows()), (condition, counts)
    return True


def released(case: Case, found: Found, output: int) -> int:
    """The count that an output shows."""
    formula = case.plan.outputs[output].formula
    return found.measures[formula.measure].get((), 0)  # type: ignore[union-attr]


def test_every_row_is_counted_once(running: Running) -> None:
    """n = 40 (2,000) conditions on DuckDB and PostgreSQL, and those written here on all engines."""
    seeds = range(0 if running.place.name == "spark" else sized(40, 2_000))
    listed = list(conditions(seeds))
    if running.place.name == "spark":
        listed = listed[: sized(3, 99)]
    assert sum(check(running, condition) for condition in listed) > len(listed) // 2


class TwoValued:
    """The twin: what is not true is false, and a NULL in a list is left out."""

    def __call__(self, query: BoundedQuery, tables: Rows_) -> Found:
        import duckdb

        with duckdb.connect() as connection:
            connection.register("visits", schema_of(unit=False).arrow(tables[0]))
            outside, inside = (f"COUNT(*) FILTER (WHERE {part}n IN (1, 2))" for part in ("NOT ", ""))
            counts = connection.execute(f"SELECT {outside}, {inside}, 0, COUNT(*) FROM visits").fetchone() or ()
        shown = [output.formula.measure for output in query.plan.outputs]  # type: ignore[union-attr]
        return Found(tuple({(): counts[shown.index(n)]} if counts[shown.index(n)] else {} for n in range(4)), {})


def test_the_twin_is_rejected() -> None:
    with pytest.raises(AssertionError, match="Found"):
        check(TwoValued(), "n NOT IN (1, 2, NULL)")
