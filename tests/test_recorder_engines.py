"""NB-00 on real engines: the integers that they return of neighbours, against what is declared of these.

An oracle cannot see what an engine does with its own types: where a sum wraps, or in which order it ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from discreet import dp
from tests.conformance import Place, duckdb_place, postgres_place, spark_place
from tests.plans import Case, make
from tests.recorder import engine_of, record_families
from tests.reference import Oracle
from tests.running import Running
from tests.servers import Postgres
from tests.sizes import setting, sized

PARTS = 20 if setting() == "full" else 1
CASES = sized(20, 480)  # of each part; a case has about ten pairs of neighbours


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Running]:
    with Running(duckdb_place()) as made:
        yield made


@pytest.mark.parametrize("part", range(PARTS))
def test_duckdb(duckdb: Running, part: int) -> None:
    """100,000 pairs at full size."""
    tried = record_families(map(make, range(part * CASES, (part + 1) * CASES)), duckdb)
    assert tried > sized(150, 4_500)


def test_postgres(postgres: Postgres) -> None:
    """2,000 pairs at full size."""
    check_place(postgres_place(postgres), sized(6, 230), sized(40, 2_000))


def test_spark(spark: Any) -> None:
    """2,000 pairs at full size."""
    check_place(spark_place(spark), sized(1, 230), sized(3, 2_000))


def check_place(place: Place, cases: int, pairs: int) -> None:
    with Running(place) as running:
        assert record_families(map(make, range(9, 9 + cases)), running) >= pairs


def test_the_order_of_rows_changes_nothing(duckdb: Running) -> None:
    """Every integer of every measure, and every private key, whatever the order in which rows are stored."""
    tried = 0
    for case in map(make, range(sized(25, 2_000))):
        query = case.query(dp.Neighbours.ADD_REMOVE)
        if query is not None:
            run = engine_of(duckdb, case)
            shuffled = tuple(Random(case.seed).sample(part, len(part)) for part in case.rows)
            assert run(query, case.rows) == run(query, shuffled), case.seed
            tried += 1
    assert tried > sized(20, 1_800)


def test_a_new_secret_is_another_choice(duckdb: Running) -> None:
    """Which groups count depends on a secret: with another one, others do, and the bounds hold with each."""
    case = next(case for case in map(make, range(500)) if chooses(case))
    query = case.query(dp.Neighbours.ADD_REMOVE)
    assert query is not None
    run, chosen = engine_of(duckdb, case), set()
    for secret in range(12):
        run(query, case.rows)  # which opens the engine
        duckdb.secret(secret)
        chosen.add(repr(run(query, case.rows)))
    duckdb.secret()
    assert len(chosen) > 1


def chooses(case: Case) -> bool:
    """Whether a unit of the case has more private groups than count."""
    query = case.query(dp.Neighbours.ADD_REMOVE)
    if query is None or query.form != "sampled":
        return False
    units = Oracle(query).gathered(case.rows).values()
    return any(len(unit.groups) > 2 * query.bounds.groups for unit in units)
