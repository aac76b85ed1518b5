"""Sources: files and patterns, servers, Spark, and what is refused."""

import copy
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.engine.source import Database, File, SparkTable, header_of, source_of

COLUMNS = {"sex": dc.Category(["Female", "Male"])}


class TestFiles:
    def test_a_path_that_leads_nowhere_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "loop.parquet").symlink_to(tmp_path / "loop.parquet")
        for path in ("a\0.parquet", "a\ud800.parquet", tmp_path / "loop.parquet"):
            with pytest.raises(dc.InvalidParameter, match="leads to no file"):
                source_of(path, COLUMNS)

    def test_a_path_becomes_absolute_and_need_not_exist_yet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = source_of("a.parquet", COLUMNS)
        assert found == File((str((tmp_path / "a.parquet").resolve()),), "parquet")

    def test_a_pattern_is_expanded_in_order_and_each_file_is_there_once(self, tmp_path: Path) -> None:
        for name in ("b.csv", "a.csv", "c.parquet", "deep/d.csv"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        (tmp_path / "again.csv").symlink_to(tmp_path / "a.csv")  # its rows would count twice
        (tmp_path / "folder.csv").mkdir()
        root = tmp_path.resolve()
        assert source_of(tmp_path / "*.csv", COLUMNS) == File((f"{root}/a.csv", f"{root}/b.csv"), "csv")
        assert source_of(tmp_path / "[b-z].csv", COLUMNS) == File((f"{root}/b.csv",), "csv")
        deep = source_of(f"{tmp_path}/**/*.csv", COLUMNS)
        assert deep == File((f"{root}/a.csv", f"{root}/b.csv", f"{root}/deep/d.csv"), "csv")

    def test_a_pattern_without_files_has_none(self, tmp_path: Path) -> None:
        assert source_of(tmp_path / "*.parquet", COLUMNS) == File((), "parquet")
        assert source_of("a\0*.parquet", COLUMNS) == File((), "parquet")

    def test_formats_are_not_mixed(self) -> None:
        for path in ("visits/*", "visits/*.[cp]*", "a.xlsx", "visits"):
            with pytest.raises(dc.InvalidParameter, match="with one of these endings"):
                source_of(path, COLUMNS)

    def test_a_name_that_an_engine_would_take_for_a_pattern_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a[1]").mkdir()
        (tmp_path / "a[1]" / "x.csv").touch()
        for path in ("a{1}.csv", tmp_path / "a*" / "x.csv"):
            with pytest.raises(dc.NotSupported, match="in their names; rename"):
                source_of(path, COLUMNS)

    def test_the_header_of_a_csv_file_is_its_first_line(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(b'\xef\xbb\xbfsex,"a, b"\nMale,1\n')
        assert header_of(str(path)) == ["sex", "a, b"]
        for wrong in (b"", b"a,A\n"):
            path.write_bytes(wrong)
            with pytest.raises(ValueError, match=r"^$"):
                header_of(str(path))


class TestServers:
    URL = "postgresql://ana:canary-password@canary-host/canary-base"

    @pytest.mark.parametrize("table", ["visits", "clinic.visits"])
    def test_a_table_of_a_server(self, table: str) -> None:
        found = dc.Table(self.URL, columns=COLUMNS, table=table)
        assert found.source == Database(self.URL, table)
        assert isinstance(found.source, Database)
        assert found.source.parts == tuple(table.split("."))
        assert found.name == "visits"

    def test_the_url_is_never_shown(self) -> None:
        table = dc.Table(self.URL, columns=COLUMNS, table="visits")
        for text in (repr(table.source), str(table.source), repr(table), repr(table.description.to_dict())):
            assert "canary" not in text
            assert "ana" not in text
        assert copy.copy(table.source) == table.source
        assert pickle.loads(pickle.dumps(table.source)) == table.source

    @pytest.mark.parametrize("table", [None, "", "a.b.c", "a..b", ".a", "a\nb", 3, "x" * 501])
    def test_its_name_is_required(self, table: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match=r'add table="schema.visits"') as caught:
            dc.Table(self.URL, columns=COLUMNS, table=table)
        assert "canary" not in str(caught.value)

    def test_a_url_is_one_line(self) -> None:
        with pytest.raises(dc.InvalidParameter, match="one line of printable characters") as caught:
            source_of("postgresql://canary\n", COLUMNS, table="a")
        assert "canary" not in str(caught.value)

    def test_files_and_frames_have_no_table(self) -> None:
        for source in ("a.parquet", pl.DataFrame({"sex": ["Male"]})):
            with pytest.raises(dc.InvalidParameter, match="table= names a table of a PostgreSQL server"):
                dc.Table(source, columns=COLUMNS, table="visits", name="t")


def _foreign(name: str, module: str = "pyspark.sql.classic.dataframe") -> Any:
    """An object of a class of that name, as Spark has it; the package itself is not imported for it."""
    return type(name, (), {"__module__": module, "sparkSession": "the session"})()


class TestSpark:
    def test_a_frame_keeps_its_session(self) -> None:
        frame = _foreign("DataFrame")
        found = dc.Table(frame, columns=COLUMNS, name="visits").source
        assert isinstance(found, SparkTable)
        assert found.frame is frame
        assert (found.session, found.table, found.parts) == ("the session", None, ())
        with pytest.raises(dc.InvalidParameter, match='add name="visits"'):
            dc.Table(frame, columns=COLUMNS)

    def test_a_session_has_tables(self) -> None:
        session = _foreign("SparkSession", "pyspark.sql.session")
        table = dc.Table(session, columns=COLUMNS, table="catalog.clinic.visits")
        assert isinstance(table.source, SparkTable)
        assert table.source.parts == ("catalog", "clinic", "visits")
        assert table.name == "visits"
        assert (table.source.session, table.source.frame) == (session, None)
        with pytest.raises(dc.InvalidParameter, match=r'add table="database.visits"'):
            dc.Table(session, columns=COLUMNS)

    def test_other_frames_of_spark_say_what_to_pass(self) -> None:
        with pytest.raises(dc.NotSupported, match=r"frame\.to_spark\(\)"):
            source_of(_foreign("DataFrame", "pyspark.pandas.frame"), COLUMNS)
        stream = _foreign("DataFrame")
        type(stream).isStreaming = True
        with pytest.raises(dc.NotSupported, match="a stream has no end"):
            source_of(stream, COLUMNS)

    def test_a_class_of_ours_that_inherits_is_found(self) -> None:
        base = type(_foreign("DataFrame"))
        assert isinstance(source_of(type("Mine", (base,), {})(), COLUMNS), SparkTable)

    def test_spark_is_not_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pyspark", ModuleType("no pyspark.sql in it"))
        assert isinstance(source_of(_foreign("DataFrame"), COLUMNS), SparkTable)


@pytest.mark.parametrize("source", [3, None, [1], {"sex": ["Male"]}, b"a.csv", type("DataFrame", (), {})()])
def test_other_sources_are_refused(source: object) -> None:
    with pytest.raises(dc.InvalidParameter, match="a table is read from"):
        source_of(source, COLUMNS)


def test_a_lazy_frame_is_collected_first() -> None:
    with pytest.raises(dc.NotSupported, match=r"frame\.collect\(\)"):
        source_of(pl.LazyFrame({"sex": ["Male"]}), COLUMNS)
