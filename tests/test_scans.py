"""Files as DuckDB reaches them: no line can raise, and what is wrong is said before a row is read."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.dp import Category, Integer
from discreet.engine.duckdb import DuckDB
from discreet.engine.plan import Relation
from tests.asking import counts

SEX = Category(["Female", "Male"])


class TestCsv:
    def test_a_csv_file(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        lines = ["sex,age,ok", "Male,1,true", '"Male",2.0,TRUE', "Female,2.5,yes", "x", ",,", "Female, 2 ,false,extra"]
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n\xff\xfe,1,1\r\n")
        columns = {"sex": SEX, "age": Integer(0, 2), "ok": dc.Boolean()}
        table = dc.Table(path, columns=columns)
        assert counts(table, "sex").tolist() == [2, 2]
        assert counts(table, "age").tolist() == [0, 2, 2]
        assert counts(table, "ok").tolist() == [1, 2]

    @pytest.mark.parametrize(
        "line",
        [
            b"\n",
            b"\r\r\n",
            b'M,"x\n',
            b'"M,1\n',
            b'"F"x,1\n',
            b"\0,1\n",
            b"\xff\xfe\n",
            b"x" * 3_000_000 + b"\n",
            b",,,,\n",
        ],
        ids=lambda line: repr(line[:8]),
    )
    def test_no_line_of_a_csv_file_can_raise(self, tmp_path: Path, line: bytes) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(b"sex,age\nMale,1\n" + line + b"Male,2\nFemale,2\n")
        assert counts(dc.Table(path, columns={"sex": SEX}), "sex").sum() <= 4

    def test_texts_of_days_and_numbers(self, tmp_path: Path) -> None:
        from datetime import date

        path = tmp_path / "t.csv"
        days = ["2026-01-01", "2026-1-1", "2026-02-30", "infinity", "2026/01/01", " 2026-01-01", "9999999-01-01", ""]
        numbers = ["1", "1e0", "1e400", "nan", "inf", "0x1", "1_0", "\u0661"]
        path.write_text("day,x\n" + "\n".join(f"{one},{two}" for one, two in zip(days, numbers, strict=True)) + "\n")
        columns = {"day": dc.Date(date(2026, 1, 1), date(2026, 1, 2)), "x": Integer(1, 10)}
        table = dc.Table(path, columns=columns)  # type: ignore[arg-type]
        assert counts(table, "day").tolist() == [1, 0]
        assert counts(table, "x").tolist() == [2] + [0] * 9

    def test_several_files_are_one_table(self, tmp_path: Path) -> None:
        for part in range(3):
            (tmp_path / f"{part}.csv").write_text("sex,age\nMale,1\n")
            pq.write_table(pa.table({"sex": ["Female"]}), tmp_path / f"{part}.parquet")
        assert counts(dc.Table(tmp_path / "*.csv", columns={"sex": SEX}, name="t"), "sex").tolist() == [0, 3]
        assert counts(dc.Table(tmp_path / "*.parquet", columns={"sex": SEX}, name="t"), "sex").tolist() == [3, 0]
        (tmp_path / "4.csv").write_text("age,sex\n1,Male\n")
        pq.write_table(pa.table({"sex": [1]}), tmp_path / "4.parquet")
        for ending in ("csv", "parquet"):
            with pytest.raises(dc.Unavailable):
                counts(dc.Table(tmp_path / f"*.{ending}", columns={"sex": SEX}, name="t"), "sex")


class TestReach:
    """`schema` reads no row, and what it raises depends on the question, on declarations and on the schema alone."""

    def test_a_missing_file_is_unavailable(self, tmp_path: Path) -> None:
        for name in ("t.parquet", "t.csv"):
            with pytest.raises(dc.Unavailable, match=r"cannot be reached or read\. Nothing was spent") as caught:
                counts(dc.Table(tmp_path / name, columns={"a": SEX}), "a")
            assert caught.value.__context__ is None
            assert str(tmp_path) not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet", b"PAR1" + b"\0" * 100 + b"PAR1"])
    def test_a_file_of_another_kind_is_unavailable(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "t.parquet").write_bytes(content)
        with pytest.raises(dc.Unavailable):
            counts(dc.Table(tmp_path / "t.parquet", columns={"a": SEX}), "a")

    def test_a_missing_column_is_unavailable(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"A": ["Male"]}), tmp_path / "t.parquet")
        (tmp_path / "t.csv").write_text("A\nMale\n")
        for name in ("t.parquet", "t.csv"):
            with pytest.raises(dc.Unavailable, match="has no column 'a'"):
                counts(dc.Table(tmp_path / name, columns={"a": SEX}), "a")

    def test_a_file_without_a_declared_column_is_another_file(self, tmp_path: Path) -> None:
        """Whichever columns a question names: a wrong path or a wrong separator."""
        (tmp_path / "t.csv").write_text("sex;age\nMale;3\n")
        pq.write_table(pa.table({"sex": ["Male"]}), tmp_path / "t.parquet")
        for name in ("t.parquet", "t.csv"):
            table = dc.Table(tmp_path / name, columns={"sex": SEX, "age": dc.Real(0, 9)})
            for keys in ((), ("sex",)):
                with pytest.raises(dc.Unavailable, match=r"has no column '(age|sex)'"):
                    counts(table, *keys)

    @pytest.mark.parametrize(
        ("array", "domain"),
        [
            (pa.array([1]), SEX),
            (pa.array(["1"]), Integer(0, 1)),
            (pa.array(["1"]), dc.Real(0, 1)),
            (pa.array([1]), dc.Boolean()),
            (pa.array([True]), Integer(0, 1)),
            (pa.array([["Male"]]), SEX),
            (pa.array(["Male"]), Category([1, 2])),
        ],
    )
    def test_a_column_of_another_type_is_refused(self, tmp_path: Path, array: pa.Array, domain: Any) -> None:
        pq.write_table(pa.table({"a": array}), tmp_path / "t.parquet")
        with pytest.raises(dc.NeedsDeclaration, match="declare it as what it holds"):
            counts(dc.Table(tmp_path / "t.parquet", columns={"a": domain}))

    def test_a_unit_of_floats_is_refused(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"p": [1.5], "a": ["Male"]}), tmp_path / "t.parquet")
        table = dc.Table(tmp_path / "t.parquet", unit="p", rows_per_unit=1, columns={"a": SEX})
        with pytest.raises(dc.NeedsDeclaration, match="a unit is a whole number, a text or a UUID"):
            counts(table)

    def test_a_folder_name_is_not_a_column(self, tmp_path: Path) -> None:
        folder = tmp_path / "sex=Male"
        folder.mkdir()
        pq.write_table(pa.table({"a": ["x"]}), folder / "t.parquet")
        with pytest.raises(dc.Unavailable, match="has no column"):
            counts(dc.Table(folder / "t.parquet", columns={"sex": SEX}), "sex")


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_instants_in_milliseconds_are_refused_by_the_schema(tmp_path: Path, zone: str | None) -> None:
    """One of them far away would make the reader raise, after the debit."""
    path = tmp_path / "t.parquet"
    for unit, is_refused in (("ms", True), ("us", False), ("ms", True)):
        pq.write_table(pa.table({"x": pa.array([0, 2**40], pa.int64()).view(pa.timestamp(unit, tz=zone))}), path)
        domain = dc.Datetime(datetime(1970, 1, 1), datetime(2020, 1, 1), zone="UTC")
        engine = DuckDB([table := dc.Table(path, name="t", columns={"x": domain})])
        if is_refused:
            with pytest.raises(dc.NeedsDeclaration, match=r"MILLISECONDS, which a dc\.Datetime does not read"):
                engine.schema(Relation((table,)))
        else:
            engine.schema(Relation((table,)))
        engine.close()
