"""FROM: joins on a key and on the unit, and subqueries that are written into the question."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import bound
from discreet.engine.expression import Case, Column, Lookup, Number
from discreet.engine.parser import parse
from discreet.engine.plan import Join, Plan, Units
from discreet.engine.resolve import plan_of
from discreet.engine.syntax import Call, Derived, Name, Select, Selected, Star, TableName
from tests.asked import TABLES, VISITS, WARDS, fan_out, plan


def joins(source: str) -> tuple[Plan, tuple[Join, ...]]:
    found = plan(f"SELECT COUNT(*) AS n FROM {source}")
    bound(found, neighbours=dp.Neighbours.ADD_REMOVE)
    return found, found.relation.joins


class TestJoins:
    @pytest.mark.parametrize(
        "source",
        [
            "visits JOIN wards USING (ward)",
            "visits v JOIN wards w ON v.ward = w.ward",
            "visits v JOIN wards w ON w.ward = v.ward",
            "wards w JOIN visits v ON w.ward = v.ward",
            "visits v JOIN (SELECT ward AS key FROM wards) w ON w.key = v.ward",
            "(SELECT ward AS key FROM wards) w JOIN (SELECT ward FROM visits) v ON v.ward = w.key",
        ],
    )
    def test_a_public_table_is_joined_on_its_key(self, source: str) -> None:
        found, [join] = joins(source)
        assert found.relation.scans == (VISITS, WARDS)
        assert (join.scan, join.kind, join.by_unit, join.fan_out) == (1, "inner", False, len("ward"))
        [(left, right)] = join.on
        assert isinstance(left, Lookup)
        assert left.table == (1, 0, None)  # north and south are there in the other order, and icu is not
        assert isinstance(right, Column)
        assert found.where is None

    def test_grids_meet_on_that_of_the_public_column(self) -> None:
        _, [join] = joins("visits v JOIN wards w ON v.age = w.beds AND v.day = w.day AND v.old = w.surgical")
        assert len(join.on) == 3
        assert join.fan_out == len("beds" + "day" + "surgical")
        _, [whole] = joins("visits v JOIN wards w ON v.age = w.half")
        [(left, right)] = whole.on
        assert left.kind == Number(Fraction(1, 2), 0, 220)
        assert isinstance(right, Column)
        _, [cents] = joins("visits v JOIN wards w ON v.cost = w.half")
        [(left, _)] = cents.on
        assert isinstance(left, Case)  # NULL where a number of cents is no number of halves
        assert left.kind == Number(Fraction(1, 2), 0, 1000)

    def test_what_else_is_in_on_is_a_condition(self) -> None:
        found, _ = joins("visits v JOIN wards w ON v.ward = w.ward AND v.age > w.beds AND w.surgical")
        assert repr(found.where).count("Column(scan=1") == 2

    def test_private_tables_are_joined_on_their_unit(self) -> None:
        for source in ("visits JOIN stays USING (patient_id)", "visits v JOIN stays s ON s.patient_id = v.patient_id"):
            found, [join] = joins(source)
            assert join == Join(1, "inner", True, (), 1)
            assert [table.name for table in found.relation.scans] == ["visits", "stays"]
        found, _ = joins("visits v JOIN stays s ON s.patient_id = v.patient_id AND s.ward = v.ward")
        assert "Column(scan=1, name='ward'" in repr(found.where)

    def test_three_tables(self) -> None:
        found, [stays, wards, regions] = joins(
            "visits v JOIN stays s USING (patient_id) JOIN wards w ON w.ward = s.ward LEFT JOIN regions r USING (beds)"
        )
        assert [stays.by_unit, wards.by_unit, regions.kind] == [True, False, "left"]
        assert repr(wards.on[0][0]).count("scan=1") == 1
        assert found.relation.scans[3].name == "regions"
        inner = "SELECT s.patient_id, beds FROM stays s JOIN wards w ON w.ward = s.ward"
        nested, _ = joins(f"visits v JOIN ({inner}) x ON x.patient_id = v.patient_id")
        assert [join.by_unit for join in nested.relation.joins] == [True, False]

    def test_left(self) -> None:
        _, [join] = joins("visits LEFT JOIN wards USING (ward)")
        assert join.kind == "left"
        _, [stays] = joins("visits v LEFT JOIN stays s ON v.patient_id = s.patient_id")
        assert (stays.kind, stays.by_unit) == ("left", True)

    def test_one_public_table_may_be_joined_twice(self) -> None:
        found, both = joins("visits v JOIN wards a ON a.ward = v.ward JOIN wards b ON b.ward = v.origin")
        assert len(both) == 2
        assert [table.name for table in found.relation.scans] == ["visits", "wards", "wards"]

    def test_a_name_of_using_is_that_of_the_people(self) -> None:
        [key] = plan("SELECT ward, COUNT(*) AS n FROM wards JOIN visits USING (ward) GROUP BY ward").keys
        assert tuple(key.values or ()) == ("north", "south", "icu")


class TestSubqueries:
    def test_they_are_written_into_the_question(self) -> None:
        found = plan(
            "WITH grown AS (SELECT patient_id, ward, cost / 2 AS half FROM visits WHERE age >= 18), "
            "dear AS (SELECT patient_id, ward, half * 2 AS cost FROM grown WHERE half > 50) "
            "SELECT ward, SUM(cost) AS s, COUNT(DISTINCT patient_id) AS u FROM dear WHERE cost < 400 GROUP BY ward"
        )
        direct = plan(
            "SELECT ward, SUM(cost / 2 * 2) AS s, COUNT(DISTINCT patient_id) AS u FROM visits "
            "WHERE cost / 2 * 2 < 400 AND cost / 2 > 50 AND age >= 18 GROUP BY ward"
        )
        assert found == direct

    def test_all_columns_of_a_table(self) -> None:
        inner = Select((Selected(Star(), None),), TableName("visits", None))
        count = Selected(Call("count_distinct", (Name("patient_id"),)), "n")
        found = plan_of(Select((count,), Derived(inner, "v")), TABLES, fan_out=fan_out)
        assert found == plan("SELECT COUNT(DISTINCT patient_id) AS n FROM visits")


def test_the_fan_out_is_counted_where_none_is_given() -> None:
    import pyarrow as pa

    rows = pa.table({"ward": ["north", "north", "south"]})
    public = dc.Table(rows, name="rooms", public=True, columns={"ward": dp.Category(["north", "south"])})
    tables = {"visits": VISITS, "rooms": public}
    found = plan_of(parse("SELECT COUNT(*) AS n FROM visits JOIN rooms USING (ward)"), tables)
    assert found.relation.joins[0].fan_out == 2


def test_a_unit_may_be_a_declared_column_too() -> None:
    columns: dict[str, dp.domain.Column] = {"id": dp.Text(), "x": dp.Integer(0, 9)}
    declared = dc.Table("v.parquet", unit="id", rows_per_unit=2, name="v", columns=columns)
    other = dc.Table("w.parquet", unit="id", rows_per_unit=3, name="w", columns={"y": dp.Integer(0, 9)})
    tables = {"v": declared, "w": other}
    units = plan_of(parse("SELECT COUNT(DISTINCT id) AS n FROM v"), tables)
    assert units.measures == (Units(),)
    grouped = plan_of(parse("SELECT id, COUNT(*) AS n FROM v GROUP BY id"), tables)
    assert grouped.keys[0].is_private
    joined = plan_of(parse("SELECT SUM(x * y) AS s FROM v JOIN w ON w.id = v.id"), tables)
    assert joined.relation.joins == (Join(1, "inner", True, (), 1),)


def test_a_condition_of_a_subquery_before_a_left_join() -> None:
    grown = "(SELECT patient_id, ward FROM visits WHERE age > 17) v"
    found = plan(f"SELECT COUNT(beds) AS n FROM {grown} LEFT JOIN wards w ON w.ward = v.ward")
    assert found.where == plan("SELECT COUNT(*) AS n FROM visits WHERE age >= 18").where
    assert found.relation.joins[0].kind == "left"
