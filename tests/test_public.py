"""Public tables: read once by the same declarations, and how many rows one row can find in them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engine import public
from discreet.engine.bound import bound
from discreet.engine.expression import Coded
from discreet.engine.plan import Join, Plan, Relation, Rows
from discreet.engine.public import fan_out, public_rows
from tests.asking import ADD, asked, column, key

WARDS = pa.table({"ward": ["a", "b", "b", None, "z"], "beds": [10, 200, 3, 4, 5], "name": ["x", "'", None, "y", "z"]})
COLUMNS = {"ward": dc.Category(["a", "b"]), "beds": dc.Integer(0, 99), "name": dc.Text()}


def wards(source: object = WARDS) -> dc.Table:
    return dc.Table(source, columns=COLUMNS, public=True, name="wards")  # type: ignore[arg-type]


def test_a_public_table_is_read_as_any_other() -> None:
    found = public_rows(wards()).to_pydict()
    read = sorted(zip(*found.values(), strict=True), key=str)
    expected = [(0, 10, "x"), (1, None, "'"), (1, 3, None), (None, 4, "y"), (None, 5, "z")]
    assert list(found) == ["ward", "beds", "name"]
    assert read == sorted(expected, key=str)


def test_it_is_read_once_for_each_version(tmp_path: Path) -> None:
    path = tmp_path / "wards.parquet"
    pq.write_table(WARDS, path)
    table = wards(path)
    assert public_rows(table) is public_rows(table)
    pq.write_table(WARDS.slice(0, 2), path)
    assert public_rows(table).num_rows == 2


def test_fan_out_is_the_greatest_number_of_equal_keys() -> None:
    table = wards()
    assert fan_out(table, ["ward"]) == 2
    assert fan_out(table, ["ward", "beds"]) == 1
    assert fan_out(table, ["beds"]) == 1
    assert fan_out(wards(WARDS.slice(3, 1)), ["ward"]) == 1  # NULL is never found; 1 at least
    assert fan_out(wards(WARDS.slice(0, 0)), ["ward"]) == 1


@pytest.mark.parametrize("kind", ["inner", "left"])
def test_a_join_finds_as_many_rows_as_there_are(kind: str) -> None:
    visits = pa.table({"ward": ["a", "b", "b", "z", None]})
    table = dc.Table(visits, columns={"ward": COLUMNS["ward"]}, name="visits")  # type: ignore[dict-item]
    found = wards()
    theirs = column(found, "ward")
    assert isinstance(theirs.kind, Coded)
    pair = column(table, "ward"), type(theirs)(1, "ward", theirs.domain, theirs.kind)
    join = Join(1, kind, False, (pair,), fan_out(found, ["ward"]))  # type: ignore[arg-type]
    plan = Plan(Relation((table, found), (join,)), None, (key(pair[0]),), (Rows(),), ())
    query = bound(plan, neighbours=ADD)
    assert asked(query)[0].tolist() == [1, 4]
    assert query.measures[0].sensitivity.l1 == 2


def test_a_table_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "MOST_ROWS", 4)
    with pytest.raises(dc.NotSupported, match="has more than 4 rows"):
        public_rows(wards())
