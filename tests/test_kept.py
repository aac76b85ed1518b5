"""What is kept: later questions have the same integers from less work, of the same files, within a share of memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.duckdb import DuckDB
from discreet.engine.plan import Distinct, Histogram, Present, Rows, Total, Units
from tests.asking import asked, bounded, column

ROWS = 20_000


def rows(shift: int = 0) -> pa.Table:
    random = np.random.default_rng(7)
    return pa.table(
        {
            "u": random.integers(0, 3_000, ROWS),
            "g": random.integers(0, 5, ROWS),
            "x": random.normal(5 + shift, 3, ROWS),
            "t": [f"k{i}" for i in random.integers(0, 9, ROWS)],
        }
    )


def table(source: object, **bounds: int) -> dc.Table:
    columns = {"g": dc.Integer(0, 4), "x": dc.Real(0, 10, step="0.25"), "t": dc.Text()}
    return dc.Table(source, unit="u", rows_per_unit=5, columns=columns, name="t", **bounds)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(rows(), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def tables(engine: DuckDB) -> list[str]:
    assert engine._open is not None
    found = engine._open.instance.cursor().execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return sorted(name for (name,) in found)


def questions(of: dc.Table) -> Iterator[BoundedQuery]:
    x = column(of, "x")
    yield bounded(of, "g", measures=(Rows(), Present(x), Total(x)))
    yield bounded(of, "g", measures=(Rows(),))
    yield bounded(of, measures=(Rows(), Total(x)))
    yield bounded(of, "g", measures=(Histogram(column(of, "g"), dp.Integer(0, 4)),))
    yield bounded(of, "g", measures=(Distinct(x), Rows()))


BOUNDS = [{}, {"groups_per_unit": 2, "rows_per_group": 1}]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_integers_are_the_same_however_they_are_found(path: Path, bounds: dict[str, int]) -> None:
    """what is asked of it is what would be asked of the files"""
    of = table(path, **bounds)
    engine = DuckDB((of,))
    for query in questions(of):
        first = [values.tolist() for values in asked(query)]
        for _ in range(3):
            found = [values.tolist() for values in asked(query, engine)]
            assert found == first or any(isinstance(each.measure, Distinct) for each in query.measures)
            engine.settle()
    assert tables(engine)
    engine.close()


def test_a_later_question_reads_no_file(path: Path) -> None:
    of = table(path)
    engine = DuckDB((of,))
    first = bounded(of, "g", measures=(Rows(), Total(column(of, "x"))))
    want = [values.tolist() for values in asked(first, engine)]
    engine.settle()
    state = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(64) + content[68:])  # the rows are spoiled, and nothing tells
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert [values.tolist() for values in asked(first, engine)] == want
    engine.close()


@pytest.mark.parametrize("bounds", BOUNDS)
def test_another_version_of_a_file_is_read_again(path: Path, bounds: dict[str, int]) -> None:
    of = table(path, **bounds)
    engine, query = DuckDB((of,)), bounded(of, "g", measures=(Total(column(of, "x")),))
    asked(query, engine)
    engine.settle()
    pq.write_table(rows(3), path)
    assert asked(query, engine)[0].tolist() == asked(query)[0].tolist()
    engine.close()


def test_what_does_not_fit_is_not_kept(path: Path) -> None:
    of = table(path, **BOUNDS[1])
    engine, query = DuckDB((of,)), bounded(of, "g", measures=(Rows(), Units()))
    engine.schema(query.plan.relation)
    assert engine._open is not None
    engine._open.kept.most = 1_000
    want = asked(query)[0].tolist()
    assert asked(query, engine)[0].tolist() == want
    assert tables(engine) == []
    assert asked(query, engine)[0].tolist() == want
    engine.close()


def test_two_frames_are_not_taken_for_each_other() -> None:
    one, other = table(rows()), table(rows(3))
    engine = DuckDB((one,))
    for of in (one, other, one):
        query = bounded(of, "g", measures=(Total(column(of, "x")),))
        assert asked(query, engine)[0].tolist() == asked(query)[0].tolist()
        engine.settle()
    engine.close()


def test_private_keys_are_ranked_once(path: Path) -> None:
    """Which groups count stays the same for one opening: asked again, they are those of before."""
    of = table(path, groups_per_unit=2)
    engine = DuckDB((of,))
    every = []
    for measures in ((Rows(), Total(column(of, "x"))), (Rows(),), (Rows(),)):
        query = bounded(of, "t", measures=measures)
        groups = engine.run(query)
        exact = groups.select([f"k{i}" for i in range(9)])[0]  # type: ignore[union-attr]
        every.append(np.asarray(exact._value).tolist())
    assert every[0] == every[1] == every[2]
    assert len(tables(engine)) == 1
    engine.close()
