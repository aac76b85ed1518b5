"""What one question leaves for the next is of use to a question that means the same, and to no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.parser import parse
from discreet.engine.plan import Relation
from discreet.engine.resolve import plan_of

ADDED = dp.Neighbours.ADD_REMOVE


def planned(text: str, *tables: dc.Table) -> BoundedQuery:
    return bound(plan_of(parse(text), {table.name: table for table in tables}), neighbours=ADDED)


def values(engine: DuckDB, query: BoundedQuery) -> list[list[int]]:
    """The exact integers: a test may look inside."""
    return [np.asarray(exact._value).reshape(-1).tolist() for exact in engine.run(query).measures]  # type: ignore[union-attr]


def visits(*, victim: bool = True) -> dc.Table:
    codes = (["Z0"] + ["A1"] * 100) * victim + ["A1", "Z1"]
    rows = pd.DataFrame({"u": ["v"] * 101 * victim + ["a", "b"], "code": codes})
    return dc.Table(rows, name="t", unit="u", rows_per_unit=2, columns={"code": dc.Text()})


GROUPS = dc.Table(
    pd.DataFrame({"k": [1, 2], "g": ["p", "q"]}),
    name="p",
    public=True,
    columns={"k": dc.Integer(0, 5), "g": dc.Category(["p", "q"])},
)


def starting_with(letter: str) -> str:
    on = f"p.k = CASE WHEN code LIKE '{letter}%' THEN 1 ELSE NULL END"
    return f"SELECT g, COUNT(*) AS n FROM t JOIN p ON {on} GROUP BY g"


def after_another(table: dc.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """What a question finds after another one that differs from it in one constant of its join."""
    engine = DuckDB([table, GROUPS])
    try:
        engine.run(planned(starting_with("Z"), table, GROUPS))
        return np.array(values(engine, planned(starting_with("A"), table, GROUPS))[0])
    finally:
        engine.close()


def moved() -> tuple[int, int]:
    """How far one unit moves it, and how far it may."""
    query = planned(starting_with("A"), visits(), GROUPS)
    assert query.measures[0].sensitivity.l1 is not None
    far = int(np.abs(after_another(visits()) - after_another(visits(victim=False))).sum())
    return far, int(query.measures[0].sensitivity.l1)


def test_a_join_on_another_constant_has_weights_of_its_own() -> None:
    far, allowed = moved()
    assert far <= allowed


def test_weights_that_are_known_by_their_text_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engine.reuse.joining", lambda relation: "")
    far, allowed = moved()
    assert far > allowed


WARDS = [f"w{number}" for number in range(20)]


def wards() -> dc.Table:
    rows = pd.DataFrame({"u": list("abcd"), "w": ["w1", None, None, "w2"], "v": ["w1", "yy", "zz", "w3"]})
    columns = {"w": dc.Category(WARDS), "v": dc.Category([*reversed(WARDS), "yy", "zz"])}
    return dc.Table(rows, name="t", unit="u", rows_per_unit=2, columns=columns)


def counted_after(first: str, then: str) -> int:
    table = wards()
    engine = DuckDB([table])
    try:
        for label in (first, then):
            text = f"SELECT COUNT(*) AS n FROM t WHERE COALESCE(w, '{label}') = v AND v <> 'zz'"
            found = values(engine, planned(text, table))[0][0]
        return found
    finally:
        engine.close()


def test_a_filter_with_another_list_has_rows_of_its_own() -> None:
    assert counted_after("yy", "yy") == counted_after("zz", "yy") == 2
    assert counted_after("yy", "zz") == 1


def test_rows_that_are_known_by_their_text_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engine.reuse.grouping", lambda plan: "")
    assert counted_after("zz", "yy") != 2


class TestPublicTables:
    """A public table that grows after a question was planned would let one row find more than the bounds know."""

    def tables(self, folder: Path, times: int) -> tuple[dc.Table, dc.Table]:
        (folder / "p.csv").write_text("k,g\n" + "1,p\n" * times, "utf-8")
        columns = {"k": dc.Integer(0, 5), "g": dc.Category(["p", "q"])}
        public = dc.Table(folder / "p.csv", name="p", public=True, columns=columns)
        rows = pd.DataFrame({"k": [1, 1]})
        return dc.Table(rows, name="t", columns={"k": dc.Integer(0, 5)}), public

    def test_it_is_seen_before_the_debit(self, tmp_path: Path) -> None:
        table, public = self.tables(tmp_path, 1)
        query = planned("SELECT COUNT(*) AS n FROM t JOIN p ON t.k = p.k", table, public)
        engine = DuckDB([table, public])
        engine.schema(query.plan.relation)
        (tmp_path / "p.csv").write_text("k,g\n" + "1,p\n" * 1000, "utf-8")
        with pytest.raises(dc.Unavailable, match="changed after this question was planned"):
            engine.schema(query.plan.relation)
        with pytest.raises(dc.Unavailable):
            engine.run(query)
        engine.close()

    def test_a_session_plans_anew_for_what_the_table_is_now(self, tmp_path: Path) -> None:
        tables = self.tables(tmp_path, 1)
        session = dc.Session(tables, budget=dc.Budget(epsilon=100), ledger=dc.memory_ledger())
        text = "SELECT COUNT(*) AS n FROM t JOIN p ON t.k = p.k"
        before = session.quote(text, epsilon=1).errors["n"]
        (tmp_path / "p.csv").write_text("k,g\n" + "1,p\n" * 1000, "utf-8")
        after = session.quote(text, epsilon=1).errors["n"]
        assert isinstance(before, int | float)
        assert isinstance(after, int | float)
        assert after > 500 * before
        assert session.sql(text, epsilon=1).error == after

    def test_a_relation_without_joins_has_nothing_to_check(self, tmp_path: Path) -> None:
        table, _ = self.tables(tmp_path, 1)
        engine = DuckDB([table])
        engine.schema(Relation((table,)))
        engine.close()
