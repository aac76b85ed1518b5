"""FP-06: the order of a parallel sum: with 1 to 4 threads every integer before the noise is the same."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.dialect import Held, Origin
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.statements import statements
from tests.sizes import sized
from tests.sql_questions import case_of

ROWS = sized(400_000, 2_000_000)
TEXT = "SELECT k, COUNT(*) AS n, SUM(x) AS total, AVG(y) AS mean, VARIANCE(x) AS v FROM visits GROUP BY k"


def rows() -> pa.Table:
    """In batches that threads take in any order."""
    rng = np.random.default_rng(7)
    columns: Mapping[str, np.ndarray] = {
        "u": rng.integers(0, ROWS // 10, ROWS),
        "k": rng.integers(0, 4, ROWS).astype(float),
        "x": rng.uniform(-2, 10, ROWS),
        "y": rng.uniform(0, 1, ROWS),
    }
    return pa.Table.from_batches(pa.table(columns).to_batches(max_chunksize=8_192))


def answers(query: BoundedQuery, frame: pa.Table, threads: int) -> list[object]:
    """What the statements of a query return, in the order of the groups; and the sum of floats as DuckDB has it."""
    import duckdb

    with duckdb.connect(config={"threads": threads, "preserve_insertion_order": False}) as connection:
        connection.register("visits", frame)
        kinds = {
            name: Held(f's."{name}"', "integer" if name == "u" else "float", "DOUBLE") for name in frame.column_names
        }
        unit = Held('s."u"', "integer", "BIGINT")
        origin = Origin("visits", kinds, unit if query.plan.relation.scans[0].unit else None, {})
        found: list[object] = []
        for made in statements(query, [origin], DuckDBDialect(), secret=5):
            for name, listed in made.lists.items():
                connection.register(name, listed)
            returned = connection.execute(made.text, dict(made.parameters)).fetchall()
            found.append(sorted(returned))
        floats = connection.execute("SELECT sum(x), sum(y) FROM visits").fetchone()
    return [repr(found), repr(floats)]


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    return rows()


@pytest.mark.parametrize("unit", [False, True])
def test_every_number_of_threads_gives_the_same_integers(frame: pa.Table, unit: bool) -> None:
    query = case_of(TEXT, [], unit=unit).query(dp.Neighbours.ADD_REMOVE)
    assert query is not None
    found = [answers(query, frame, threads) for threads in (1, 2, 3, 4, 2, 4)]
    assert len({integers for integers, _ in found}) == 1
    assert len({floats for _, floats in found}) > 1  # the twin, which adds floats, is seen to differ
