"""The check for the curator: what it counts, column by column, on files and frames."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.check import Counted, checked
from tests.servers import Postgres

NAN = float("nan")
MOMENT = datetime(2026, 1, 1, 12)
COLUMNS: dict[str, Any] = {
    "ward": dc.Category(["north", "south"]),
    "code": dc.Category([7, 9]),
    "age": dc.Integer(0, 110),
    "cost": dc.Real(0, 100, step=0.5),
    "weight": dp.Bins([0, 50, 100]),
    "urgent": dc.Boolean(),
    "day": dc.Date(date(2026, 1, 1), date(2026, 1, 31)),
    "seen": dc.Datetime(datetime(2026, 1, 1), datetime(2026, 1, 31), zone="UTC"),
    "note": dc.Text(),
}
HELD: dict[str, list[object]] = {  # one value that is declared, two that are not, and one that is missing
    "ward": ["north", "North", "south ", None],
    "code": [7, 8, -7, None],
    "age": [110, 111, -1, None],
    "cost": [99.75, 100.25, NAN, None],
    "weight": [100.0, 100.5, -0.1, None],
    "urgent": [True, True, True, None],
    "day": [date(2026, 1, 31), date(2026, 2, 1), date(1, 1, 1), None],
    "seen": [MOMENT, datetime(2026, 1, 31, 0, 0, 1), datetime(2025, 12, 31, 23, 59, 59), None],
    "note": ["a", "", "b", None],
    "who": ["a", "a", "a", None],
}
WANTED = tuple(Counted(column, 1, 0 if column in ("urgent", "note") else 2) for column in COLUMNS)


def rows() -> pa.Table:
    return pa.table({column: pa.array(values, from_pandas=False) for column, values in HELD.items()})


def test_a_parquet_file(tmp_path: Path) -> None:
    for part in range(2):
        pq.write_table(rows(), tmp_path / f"{part}.parquet")
    table = dc.Table(
        tmp_path / "*.parquet", columns=COLUMNS, name="visits", unit="who", rows_per_unit=6, groups_per_unit=1
    )
    found = checked(table)
    assert found.columns == tuple(Counted(each.column, 2 * each.missing, 2 * each.outside) for each in WANTED)
    assert (found.rows, found.unowned, found.units, found.above) == (8, 2, 1, 0)
    tight = dc.Table(tmp_path / "*.parquet", columns=COLUMNS, name="visits", unit="who", rows_per_unit=5)
    assert checked(tight).above == 1


def test_a_frame() -> None:
    found = checked(dc.Table(rows(), columns=COLUMNS, name="visits"))
    assert found.columns == WANTED
    assert (found.rows, found.unit) == (4, None)
    frame = pd.DataFrame({"age": [1, 2.5, None]})
    assert checked(dc.Table(frame, columns={"age": dc.Integer(0, 2)}, name="t")).columns == (Counted("age", 1, 1),)


def test_a_csv_file(tmp_path: Path) -> None:
    lines = ["ward,code,age,cost,weight,urgent,day,seen,note,who"]
    lines += ["north,7,110,99.75,100,TRUE,2026-01-31,2026-01-01 12:00:00,a,a"]
    lines += ["North,x,1.5,1e9,nan,yes,2026-1-5,yesterday,,a", ",,,,,,,,,"]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    found = checked(dc.Table(tmp_path / "visits.csv", columns=COLUMNS, unit="who", rows_per_unit=1))
    missing = {"note": 2}
    assert found.columns == tuple(Counted(c, missing.get(c, 1), 0 if c == "note" else 1) for c in COLUMNS)
    assert (found.rows, found.unowned, found.units, found.above) == (3, 1, 1, 1)


def test_it_is_plain_data_and_print() -> None:
    columns = {"age": COLUMNS["age"]}
    found = checked(dc.Table(rows(), columns=columns, name="visits", unit="who", rows_per_unit=2))
    assert found.to_dict() == {
        "private": True,
        "table": "visits",
        "rows": 4,
        "columns": {"age": {"missing": 1, "outside": 2}},
        "unit": "who",
        "rows_without_unit": 1,
        "units": 1,
        "rows_per_unit": 2,
        "units_with_more_rows": 1,
    }
    assert [" ".join(line.split()) for line in str(found).splitlines()] == [
        "table visits: 4 rows",
        "1 rows without a who, which are dropped",
        "1 units, 1 of them with more than 2 rows",
        "age 2 outside 1 missing",
    ]


def test_what_cannot_be_reached_is_unavailable(tmp_path: Path) -> None:
    columns = {"age": COLUMNS["age"]}
    with pytest.raises(dc.Unavailable, match="cannot be reached or read"):
        checked(dc.Table(tmp_path / "no.parquet", columns=columns))
    with pytest.raises(dc.Unavailable, match="cannot be reached or read"):
        checked(dc.Table("postgresql://127.0.0.1:1/base", table="visits", columns=columns))
    pq.write_table(rows(), tmp_path / "broken.parquet", compression="none", use_dictionary=False)
    data = (tmp_path / "broken.parquet").read_bytes()
    (tmp_path / "broken.parquet").write_bytes(data[:4] + bytes(200) + data[204:])
    with pytest.raises(dc.Unavailable, match="the rows of table 'broken' cannot be read"):
        checked(dc.Table(tmp_path / "broken.parquet", columns=COLUMNS))


def test_names_of_any_kind(tmp_path: Path) -> None:
    frame = pd.DataFrame({'a "b" % $x é': ["u", "v"], "u": ["north", "x"], "c0": [1, 2], "n": [3.0, 4.0]})
    columns = {"u": COLUMNS["ward"], "c0": dc.Integer(0, 1), "n": dc.Real(0, 3)}
    found = checked(dc.Table(frame, columns=columns, name="t", unit='a "b" % $x é', rows_per_unit=1))
    assert [each.outside for each in found.columns] == [1, 1, 1]
    assert (found.units, found.above) == (2, 0)


def test_a_table_of_postgresql(postgres: Postgres) -> None:
    kinds = {"ward": "text", "code": "int8", "age": "int4", "cost": "float8", "weight": "float8", "urgent": "bool"}
    kinds |= {"day": "date", "seen": "timestamp", "note": "text", "who": "text"}
    postgres.load("checked", kinds, list(zip(*HELD.values(), strict=True)))
    table = dc.Table(postgres.url, table="checked", columns=COLUMNS, unit="who", rows_per_unit=2)
    found = checked(table)
    assert found.columns == WANTED
    assert (found.rows, found.unowned, found.units, found.above) == (4, 1, 1, 1)


def test_a_table_of_spark(spark: Any) -> None:
    kinds = "ward string, code bigint, age int, cost double, weight double, urgent boolean, day date"
    listed = list(zip(*HELD.values(), strict=True))
    frame = spark.createDataFrame(listed, f"{kinds}, seen timestamp_ntz, note string, who string")
    found = checked(dc.Table(frame, name="visits", columns=COLUMNS, unit="who", rows_per_unit=2))
    assert found.columns == WANTED
    assert (found.rows, found.unowned, found.units, found.above) == (4, 1, 1, 1)
