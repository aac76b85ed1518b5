"""First drafts of descriptions: that they come from the schema, and cannot be loaded until they are filled in."""

import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engine.catalog import TO_FILL_IN
from discreet.engine.draft import draft
from tests.servers import Postgres

CANARY = "canary"
ROWS = pa.table(
    {
        "age": [4_711],
        "cost": [0.4711],
        "urgent": [True],
        "ward": pa.array([CANARY]).dictionary_encode(),
        "day": [date(1947, 11, 4)],
        "seen": [datetime(1947, 11, 4)],
        "the note": [CANARY],
        'a "b" \\ ü': [1],
        "odd": [[4_711]],
        "id": pa.array([b"x" * 16], pa.uuid()),
        "Age": [1],
        "a\nb": [1],
    }
)
FILLED = {
    "age = ": "age = { integer = [0, 110] }",
    "cost = ": "cost = { real = [0, 5000], step = 0.01 }",
    "ward = ": 'ward = { category = ["a"] }',
    "day = ": "day = { date = [2026-01-01, 2026-12-31] }",
    "seen = ": 'seen = { datetime = [2026-01-01T00:00:00, 2026-12-31T23:59:59], zone = "Europe/Zurich" }',
    '"the note" = ': '"the note" = { text = true }',
    '"a \\"b\\" \\\\ ü" = ': '"a \\"b\\" \\\\ ü" = { bins = [0, 1] }',
    "unit = ": 'unit = "id"',
    "rows_per_unit = ": "rows_per_unit = 20",
}


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "my visits.parquet"
    pq.write_table(ROWS, path)
    return path


def filled(text: str) -> str:
    """A draft after a person worked through it, line by line."""
    lines = text.splitlines()
    return "\n".join(next((new for start, new in FILLED.items() if line.startswith(start)), line) for line in lines)


def test_every_column_has_a_line_that_its_type_suggests(parquet: Path) -> None:
    found = tomllib.loads(draft(parquet).to_toml())["my_visits"]
    hole = TO_FILL_IN
    assert found["source"] == str(parquet)
    assert (found["unit"], found["rows_per_unit"]) == (hole, hole)
    assert found["columns"] == {
        "age": {"integer": [hole, hole]},
        "cost": {"real": [hole, hole]},
        "urgent": {"boolean": True},
        "ward": {"category": [hole]},
        "day": {"date": [hole, hole]},
        "seen": {"datetime": [hole, hole], "zone": hole},
        "the note": {"category": [hole]},
        'a "b" \\ ü': {"integer": [hole, hole]},
    }


def test_columns_that_cannot_be_declared_are_comments(parquet: Path) -> None:
    text = draft(parquet).to_toml()
    assert "# odd: list<element: int64>, which no column type reads\n" in text
    assert "# id: extension<arrow.uuid>, which no column type reads; it may be the unit\n" in text
    assert "# 'Age': rename it in the source" in text
    assert "# 'a\\nb': rename it in the source" in text


def test_no_value_is_in_it(parquet: Path) -> None:
    drafted = draft(parquet)
    for shown in (drafted.to_toml(), repr(drafted), str(drafted.to_dict())):
        assert CANARY not in shown
        assert "4711" not in shown
        assert "1947" not in shown
    empty = parquet.with_name("my visits.parquet")
    pq.write_table(ROWS.slice(0, 0), empty)
    assert draft(empty) == drafted


def test_it_is_loaded_once_it_is_filled_in(parquet: Path) -> None:
    path = parquet.with_name("visits.toml")
    text = draft(parquet).to_toml()
    path.write_text(text, "utf-8")
    with pytest.raises(
        dc.NeedsDeclaration, match=r'visits.toml, line 21, is not filled in: unit = "FILL IN"\. Replace'
    ):
        dc.load_tables(path)
    path.write_text(filled(text), "utf-8")
    (table,) = dc.load_tables(path)
    assert (table.name, table.unit, len(table.columns)) == ("my_visits", "id", 8)


def test_each_line_that_is_left_is_refused(parquet: Path) -> None:
    path = parquet.with_name("visits.toml")
    lines = draft(parquet).to_toml().splitlines()
    done = filled("\n".join(lines)).splitlines()
    holes = [at for at, line in enumerate(lines) if TO_FILL_IN in line and not line.startswith("#")]
    assert len(holes) == 9
    for hole in holes:
        path.write_text("\n".join(lines[at] if at == hole else line for at, line in enumerate(done)), "utf-8")
        with pytest.raises(dc.NeedsDeclaration, match=f"line {hole + 1}, is not filled in"):
            dc.load_tables(path)


def test_a_csv_file_has_a_header_and_no_types(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(f'age,"a, b"\n{CANARY},2\n')
    drafted = draft(tmp_path / "*.csv")
    assert drafted.columns == (("age", "text of a CSV file", "cell"), ("a, b", "text of a CSV file", "cell"))
    text = drafted.to_toml()
    assert CANARY not in text
    assert "[visits]" in text  # a pattern has no name
    path = tmp_path / "visits.toml"
    for columns in ('"FILL IN"', "{ text = true }"):
        path.write_text(
            text.replace("unit = ", "# ").replace("rows_per_", "# ").replace("= " + '"FILL IN"', f"= {columns}")
        )
        if columns == '"FILL IN"':
            with pytest.raises(dc.NeedsDeclaration, match="is not filled in: age ="):
                dc.load_tables(path)
    assert list(dc.load_tables(path)[0].columns) == ["age", "a, b"]


@pytest.mark.parametrize(
    ("name", "data"), [("no.parquet", None), ("no.csv", None), ("x.parquet", b"x"), ("x.csv", b"")]
)
def test_a_source_without_a_schema_is_unavailable(tmp_path: Path, name: str, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    for source in (tmp_path / name, tmp_path / f"*{name}"):
        with pytest.raises(dc.Unavailable, match="the schema of this source cannot be read"):
            draft(source)


def test_a_frame_is_declared_in_python() -> None:
    with pytest.raises(dc.NotSupported, match=r"declared in Python: dc\.Table\(frame"):
        draft(pl.DataFrame({"a": [1]}))


def test_the_schema_of_spark(spark: Any) -> None:
    kinds = "a bigint, b decimal(9, 2), c timestamp_ntz, d map<string, int>, e string, f tinyint, g boolean, h date"
    frame = spark.createDataFrame([], kinds)
    forms = {name: form for name, _, form in draft(frame).columns}
    wanted = {"a": "integer", "b": "number", "c": "instant", "d": "other", "e": "text", "f": "integer", "g": "boolean"}
    assert forms == wanted | {"h": "date"}
    frame.createOrReplaceTempView("`my visits`")
    drafted = draft(spark, table="my visits")
    assert drafted.columns == draft(frame).columns
    assert (drafted.name, drafted.source, drafted.table) == ("my_visits", "spark", "my visits")
    assert 'source = "spark"\ntable = "my visits"\n' in drafted.to_toml()
    with pytest.raises(dc.Unavailable, match="the schema of this source cannot be read"):
        draft(spark, table="nothing")
    spark.catalog.dropTempView("my visits")


class TestServers:
    def test_no_password_is_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("discreet.engine.draft._server_schema", lambda _: [("a", "int8", "integer")])
        for url, kept in {
            f"ana:{CANARY}@host:5433/base?sslmode=require&password={CANARY}": "ana@host:5433/base?sslmode=require",
            f"ana:#?{CANARY}@host": "ana@host",
            f":{CANARY}@/base?sslpassword={CANARY}": "@/base",
            "/base?host=%2Ftmp%2Fa": "/base?host=%2Ftmp%2Fa",
            "host/base": "host/base",
        }.items():
            drafted = draft(f"postgresql://{url}", table="clinic.visits")
            assert drafted.source == f"postgresql://{kept}"
            assert CANARY not in drafted.to_toml()

    def test_a_server_that_is_not_there_is_unavailable(self) -> None:
        with pytest.raises(dc.Unavailable, match="the server or the table cannot be reached") as caught:
            draft(f"postgresql://ana:{CANARY}@127.0.0.1:1/base", table="visits")
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None

    def test_the_schema_of_a_server(self, postgres: Postgres) -> None:
        columns = {"Age": "smallint", "cost": "numeric(10, 2)", "ward": "varchar(9)", "ok": "bool", "day": "date"}
        postgres.load("my visits", columns | {"seen": "timestamptz", "id": "uuid"}, [])
        forms = {name: form for name, _, form in draft(postgres.url, table="public.my visits").columns}
        wanted = {"Age": "integer", "cost": "number", "ward": "text", "ok": "boolean", "day": "date"}
        assert forms == wanted | {"seen": "instant", "id": "other"}
        assert draft(postgres.url, table="my visits").name == "my_visits"
        with pytest.raises(dc.Unavailable):
            draft(postgres.url, table="nothing")
