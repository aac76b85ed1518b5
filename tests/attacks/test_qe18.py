"""QE-18: engines that differ: division, casts, collation, NaN, time zones. The same plans, the same integers.

Each engine is compared with the oracle, so any two agree. Where a secret chooses among a unit's groups, what is
compared is what does not depend on it, and the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engine.bound import BoundedQuery
from tests.conformance import Place, postgres_place, spark_place
from tests.differences import ADD, check_engine, check_same, sql_cases
from tests.plans import Rows_, make
from tests.reference import Found, Oracle, cut
from tests.running import Running, opened
from tests.servers import Postgres
from tests.sizes import sized


def test_duckdb(duckdb: Running) -> None:
    """n = 60 (1,000) generated plans, and as many generated questions in SQL."""
    tried = sized(30, 1_000)
    assert check_engine(duckdb, map(make, range(tried))) > tried * 0.9
    assert check_engine(duckdb, (case for _, case in sql_cases(range(tried)))) > tried * 0.6


def test_parquet_files(tmp_path: Path) -> None:
    """The same rows in two files and in a frame; an engine of its own for each question."""

    def put(rows: pa.Table) -> dict[str, object]:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        middle = rows.num_rows // 2
        pq.write_table(rows.slice(0, middle), folder / "one.parquet")
        pq.write_table(rows.slice(middle), folder / "two.parquet", row_group_size=3)
        return {"source": folder / "*.parquet"}

    numbers, place = count(), Place("parquet", put)
    cases = [*map(make, range(sized(12, 200))), *(case for _, case in sql_cases(range(sized(12, 200))))]
    for case in cases:
        query, over = case.query(ADD), place.query(case, ADD)
        assert query is not None
        assert over is not None
        check_same(query, case.rows, opened(over, place.run(over)))


def check_place(place: Place, tried: int) -> None:
    with Running(place) as running:
        assert check_engine(running, map(make, range(tried))) > tried * 0.9
        assert check_engine(running, (case for _, case in sql_cases(range(tried)))) > tried * 0.6


def test_postgres(postgres: Postgres) -> None:
    check_place(postgres_place(postgres), sized(30, 1_000))


def test_spark(spark: Any) -> None:
    check_place(spark_place(spark), sized(3, 1_000))


class Floors(Oracle):
    """The twin: a division rounds down, as ibis wrote it for integers, and not toward zero."""

    def cut(self, top: int, bottom: int) -> int:
        return top // bottom


class Thousandths(Oracle):
    """The twin: a weight with fewer digits."""

    def cut(self, top: int, bottom: int) -> int:
        return cut(top, bottom) // 1024 * 1024


@pytest.mark.parametrize("twin", [Floors, Thousandths])
def test_an_engine_that_differs_is_seen(twin: Callable[[BoundedQuery], Oracle]) -> None:
    def engine(query: BoundedQuery, rows: Rows_) -> Found:
        return twin(query).run(rows)

    with pytest.raises(AssertionError):
        check_engine(engine, map(make, range(300)))
