"""Spark alone: however the session is set, nothing of it is changed, nothing stays in it, and little is believed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.plan import Join, Key, Measure, Plan, Present, Relation, Rows, Total, Units
from discreet.engine.source import SparkTable
from discreet.engine.spark import Spark
from discreet.engine.table import Table
from discreet.errors import Failed, InvalidParameter, NeedsDeclaration, NotSupported, Unavailable
from tests.conformance import spark_place
from tests.engine_values import check_read, columns, schema
from tests.test_postgres import column

CANARY = "canary-cell-4711"
# What a caller may have set, and would change what a careless query means.
ODD_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@contextmanager
def settings(spark: Any, changed: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in changed}
    try:
        for name, value in changed.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def question(tables: list[Table], *measures: Measure, keys: tuple[Key, ...] = ()) -> BoundedQuery:
    return bound(Plan(Relation(tuple(tables)), None, keys, measures, ()), neighbours=dp.Neighbours.ADD_REMOVE)


def answers(table: Table, *measures: Measure, keys: tuple[Key, ...] = ()) -> list[Any]:
    query, engine = question([table], *measures, keys=keys), Spark([table])
    engine.schema(query.plan.relation)
    groups = engine.run(query)
    assert isinstance(groups, PublicGroups)
    return [np.asarray(exact._value).tolist() for exact in groups.measures]


def left_behind(spark: Any) -> tuple[dict[str, str], list[str]]:
    return dict(spark.conf.getAll), sorted(table.name for table in spark.catalog.listTables())


AGES = {"age": dp.Integer(0, 110)}
AGE = column("age", AGES["age"])


def ages(spark: Any, *values: object, kind: str = "int") -> Table:
    return Table(spark.createDataFrame([(value,) for value in values], f"age {kind}"), name="ages", columns=AGES)


def test_whatever_the_session_is_set_to(spark: Any) -> None:
    made, rows = schema(columns()[::2])
    with settings(spark, ODD_SETTINGS):
        assert check_read(spark_place(spark), made, rows, [field.at(0) for field in made.fields]) > 500


def test_the_session_stays_as_it_was(spark: Any) -> None:
    """Settings and views, after an answer, a refusal and a failure."""
    ward = dp.Category(["a", "b"])
    frame = spark.createDataFrame([(1, "a", 30), (2, "b", 400)], "u int, ward string, age int")
    table = Table(frame, name="ages", unit="u", rows_per_unit=1, columns=AGES | {"ward": ward})
    before = left_behind(spark)
    key = Key(column("ward", ward), ward.values, range(2))
    assert answers(table, Present(AGE), Total(AGE), keys=(key,))[0] == [1 << 20, 0]
    with pytest.raises(NeedsDeclaration):
        answers(Table(frame, name="ages", columns={"age": dp.Boolean()}), Rows())
    with pytest.raises(Failed):
        answers(raising(spark), Present(AGE))
    assert left_behind(spark) == before


def raising(spark: Any) -> Table:
    cells = spark.createDataFrame([(CANARY,)], "cell string").selectExpr("raise_error(cell) AS age")
    return Table(cells.selectExpr("CAST(age AS INT) AS age"), name="ages", columns=AGES)


def test_what_spark_says_stays_there(spark: Any) -> None:
    with pytest.raises(Failed) as caught:
        answers(raising(spark), Present(AGE))
    assert str(caught.value) == str(Failed())
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_table_of_the_catalog(spark: Any) -> None:
    spark.sql("DROP TABLE IF EXISTS people")
    spark.sql("CREATE TABLE people (`a ``b.c` INT, padded CHAR(4), cut VARCHAR(4)) USING parquet")
    spark.sql("INSERT INTO people VALUES (1, 'a', 'a'), (7, 'b', 'b'), (NULL, NULL, NULL)")
    domain, text = dp.Integer(0, 5), dp.Category(["a"])
    for name in ("people", "default.people", "spark_catalog.default.people"):
        table = Table(spark, table=name, columns={"a `b.c": domain, "cut": text})
        assert answers(table, Rows(), Present(column("a `b.c", domain)), Present(column("cut", text))) == [3, 1, 1]
    with pytest.raises(NeedsDeclaration, match="holds char"):
        answers(Table(spark, table="people", columns={"padded": text}), Rows())
    spark.sql("DROP TABLE people")
    with pytest.raises(Unavailable) as caught:
        answers(table, Rows())
    assert str(caught.value) == "the source of table 'people' cannot be reached or read. Nothing was spent."
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_collation_of_the_source_is_not_used(spark: Any) -> None:
    frame = spark.createDataFrame([(n, name) for n, name in enumerate("aAbB")], "n int, name string")
    frame = frame.selectExpr("n", "collate(name, 'UTF8_LCASE') AS name")
    assert frame.select("name").distinct().count() == 2
    table = Table(frame, name="people", unit="name", rows_per_unit=1, columns={"n": dp.Integer(0, 9)})
    assert answers(table, Units()) == [4]
    upper = dp.Category(["A", "B"])
    table = Table(frame, name="people", columns={"name": upper})
    assert answers(table, Rows(), keys=(Key(column("name", upper), upper.values, range(2)),)) == [[1, 1]]


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("binary", dp.Text()),
        ("array<int>", dp.Integer(0, 1)),
        ("struct<a: int>", dp.Integer(0, 1)),
        ("timestamp", dp.Date(date(2024, 1, 1), date(2024, 1, 2))),
        ("string", dp.Integer(0, 1)),
        ("timestamp_ntz", dp.Datetime(datetime(2024, 1, 1), datetime(2024, 1, 2), zone="EST")),
    ],
)
def test_a_type_that_a_declaration_does_not_read(spark: Any, kind: str, domain: dp.domain.Column) -> None:
    frame = spark.createDataFrame([], f"x {kind}")
    with pytest.raises(NeedsDeclaration, match="column 'x' of table 'odd'"):
        answers(Table(frame, name="odd", columns={"x": domain}), Rows())


@pytest.mark.parametrize("kind", ["double", "decimal(9, 0)", "boolean", "date", "binary"])
def test_a_type_that_is_no_unit(spark: Any, kind: str) -> None:
    frame = spark.createDataFrame([], f"u {kind}, x int")
    with pytest.raises(NeedsDeclaration, match="a unit is a whole number, a text or a UUID"):
        answers(Table(frame, name="odd", unit="u", rows_per_unit=1, columns={"x": dp.Integer(0, 1)}), Units())


def test_columns_that_are_missing_or_twice_there(spark: Any) -> None:
    with pytest.raises(Unavailable, match="no column 'age'"):
        answers(Table(spark.createDataFrame([], "Age int"), name="ages", columns=AGES), Rows())
    twice = spark.createDataFrame([(1, 2)], "age int, other int").toDF("age", "AGE")
    with pytest.raises(Unavailable, match="cannot be reached or read"):
        answers(Table(twice, name="ages", columns=AGES), Rows())


def test_a_column_of_nothing(spark: Any) -> None:
    table = Table(spark.sql("SELECT NULL AS age FROM range(3)"), name="ages", columns=AGES)
    assert answers(table, Rows(), Present(AGE), Total(AGE)) == [3, 0, 0]


def test_a_public_table_that_grew_is_not_joined(spark: Any) -> None:
    """The bounds are those of the partners that were counted; where there are more now, nothing is answered."""
    number = dp.Integer(0, 9)
    stays = Table(
        spark.createDataFrame([(1, 5), (2, 6)], "u int, ward int"),
        name="stays",
        unit="u",
        rows_per_unit=1,
        columns={"ward": number},
    )
    wards = Table(
        spark.createDataFrame([(5,), (6,), (6,), (None,)], "id int"), name="wards", public=True, columns={"id": number}
    )
    engine = Spark([stays, wards])
    assert engine.fan_out(wards, ("id",)) == 2
    for most, fails in ((2, False), (1, True)):
        on = ((column("ward", number), column("id", number, 1)),)
        plan = Plan(Relation((stays, wards), (Join(1, "inner", False, on, most),)), None, (), (Rows(),), ())
        query = bound(plan, neighbours=dp.Neighbours.ADD_REMOVE)
        if fails:
            with pytest.raises(Failed):
                engine.run(query)
        else:
            assert isinstance(engine.run(query), PublicGroups)


def test_sessions_that_are_not_one(spark: Any) -> None:
    other = spark.newSession()
    with pytest.raises(InvalidParameter, match="one Spark session"):
        Spark([ages(spark, 1), ages(other, 1)])
    with pytest.raises(InvalidParameter, match="tables of a Spark session"):
        Spark([ages(spark, 1), Table(pa.table({"age": [1]}), name="ages", columns=AGES)])


def test_spark_connect_is_refused(spark: Any) -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    table = ages(spark, 1)
    object.__setattr__(table, "source", SparkTable(remote, None, "ages"))
    with pytest.raises(NotSupported, match="Spark Connect"):
        Spark([table])
