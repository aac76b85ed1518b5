"""Tables: what is declared, what is refused, and that a copy is a copy."""

from datetime import date
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.engine.source import File, Frame, source_of

SEX = dc.Category(["Female", "Male"])
COLUMNS = {"sex": SEX, "age": dc.Integer(0, 110)}
FRAME = pd.DataFrame({"sex": ["Male", "Female", None], "age": [1, 2, 3], "extra": [1, 2, 3]})


class TestDeclarations:
    def test_a_file_gives_its_name(self) -> None:
        assert dc.Table("some/visits.parquet", columns=COLUMNS).name == "visits"
        assert dc.Table(Path("visits.CSV"), columns=COLUMNS, name="v").name == "v"

    def test_a_frame_needs_a_name(self) -> None:
        with pytest.raises(dc.InvalidParameter, match='add name="visits"'):
            dc.Table(FRAME, columns=COLUMNS)

    @pytest.mark.parametrize("name", ["", "my visits", "a;b", '"', "1a", "x" * 64, 3])
    def test_a_name_can_stand_in_from(self, name: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="letters, digits and _"):
            dc.Table(FRAME, columns=COLUMNS, name=name)

    @pytest.mark.parametrize("bound", ["unit", "rows_per_unit", "groups_per_unit", "rows_per_group"])
    def test_a_unit_is_a_row_and_the_refusal_says_what_to_write(self, bound: str) -> None:
        with pytest.raises(dc.NotSupported, match=rf"every row is its own unit.*Leave {bound}= out"):
            dc.Table(FRAME, columns=COLUMNS, name="t", **{bound: 1})  # type: ignore[arg-type]

    def test_no_table_is_public(self) -> None:
        with pytest.raises(dc.NotSupported, match="leave public= out"):
            dc.Table(FRAME, columns=COLUMNS, name="t", public=True)

    def test_unknown_options_are_refused(self) -> None:
        with pytest.raises(TypeError):
            dc.Table(FRAME, columns=COLUMNS, name="t", rows_per_units=3)  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({}, "a table declares its columns"),
            ({"sex": ["Female", "Male"]}, "write for instance dc.Category"),
            ({"sex": SEX, "SEX": SEX}, "SQL names ignore case"),
            ({"": SEX}, "printable characters"),
            ({"a\n": SEX}, "printable characters"),
            ({3: SEX}, "printable characters"),
            ({"COUNT(*)": SEX}, "rename it in the source"),
        ],
    )
    def test_a_wrong_declaration_says_what_to_write(self, columns: dict[str, dc.Category], message: str) -> None:
        with pytest.raises(dc.Refused, match=message):
            dc.Table(FRAME, columns=columns, name="t")

    @pytest.mark.parametrize("version", ["", "a\nb", 2])
    def test_a_version_is_a_short_text(self, version: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="version is a short text"):
            dc.Table(FRAME, columns=COLUMNS, name="t", version=version)

    def test_columns_are_found_without_case_and_the_rest_is_invisible(self) -> None:
        table = dc.Table(FRAME, columns=COLUMNS, name="t")
        assert table.column("SEX") == "sex"
        with pytest.raises(dc.NeedsDeclaration, match=r"declares no column 'extra'; it declares sex, age\."):
            table.column("extra")

    def test_the_description_is_public(self) -> None:
        text = repr(dc.Table(FRAME, columns=COLUMNS, name="t", version="7"))
        assert text.startswith("table t, version 7; every row is its own unit")
        assert "Female" in text

    def test_a_misspelt_column_of_a_wide_table_gets_a_short_message(self) -> None:
        table = dc.Table("x.parquet", columns={f"column_{i}": SEX for i in range(1_000)})
        with pytest.raises(dc.NeedsDeclaration, match=r"column_0, .* and more\. Use one") as caught:
            table.column("colunm_0")
        assert len(str(caught.value)) < 1_000

    def test_a_category_that_is_no_text_is_refused_before_it_could_fail_a_question(self) -> None:
        with pytest.raises(dc.InvalidParameter, match="column 'sex' declares a value that is no Unicode text"):
            dc.Table("x.parquet", columns={"sex": dc.Category(["Male", "\ud800"])})

    def test_all_column_types_may_be_declared(self) -> None:
        columns = {"a": dc.Real(0, 1), "b": dc.Date(date(2026, 1, 1), date(2026, 2, 1)), "c": dc.Text()}
        assert set(dc.Table("x.parquet", columns=columns).columns) == {"a", "b", "c"}


class TestSources:
    def test_a_path_that_leads_nowhere_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "loop.parquet").symlink_to(tmp_path / "loop.parquet")
        for path in ("a\0.parquet", "a\ud800.parquet", tmp_path / "loop.parquet"):
            with pytest.raises(dc.InvalidParameter, match="leads to no file"):
                source_of(path, COLUMNS)

    def test_a_path_becomes_absolute(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        found = source_of("a.parquet", COLUMNS)
        assert found == File(str((tmp_path / "a.parquet").resolve()), "parquet")

    @pytest.mark.parametrize("path", ["*.parquet", "a[1].csv", "a?.parquet"])
    def test_a_path_is_one_file(self, path: str) -> None:
        with pytest.raises(dc.NotSupported, match="one table is one file"):
            source_of(path, COLUMNS)

    @pytest.mark.parametrize("source", ["a.xlsx", "visits", 3, None, [1], {"sex": ["Male"]}])
    def test_other_sources_are_refused(self, source: object) -> None:
        with pytest.raises(dc.InvalidParameter, match="a table is read from"):
            source_of(source, COLUMNS)

    def test_a_lazy_frame_is_collected_first(self) -> None:
        with pytest.raises(dc.NotSupported, match=r"frame\.collect\(\)"):
            source_of(pl.LazyFrame({"sex": ["Male"]}), {"sex": SEX})

    def test_every_frame_gives_its_declared_columns(self) -> None:
        arrow = pa.Table.from_pandas(FRAME)
        for frame in (FRAME, pl.DataFrame({"sex": ["Male"], "age": [1], "extra": [1]}), arrow):
            found = source_of(frame, COLUMNS)
            assert isinstance(found, Frame)
            assert found.rows.column_names == ["sex", "age"]

    @pytest.mark.parametrize("frame", [FRAME, pl.DataFrame({"age": [1]}), pa.table({"age": [1]})])
    def test_a_missing_column_is_named(self, frame: object) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"no column 'no'; it has .*age"):
            source_of(frame, {"no": SEX})

    def test_a_column_of_the_index_is_named(self) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"index of that name: frame.reset_index\(\)"):
            source_of(FRAME.set_index("sex"), COLUMNS)

    def test_what_happens_to_the_frame_later_changes_nothing(self) -> None:
        frame = FRAME.copy()
        found = source_of(frame, COLUMNS)
        frame.loc[:, "age"] = 99
        frame["age"].to_numpy(copy=False)
        assert isinstance(found, Frame)
        assert found.rows["age"].to_pylist() == [1, 2, 3]

    def test_an_object_column_keeps_what_was_declared_and_the_rest_is_null(self) -> None:
        odd = [3, 2.5, "x", None, True, float("nan"), 10**400, object(), b"x", "\ud800"]
        frame = pd.DataFrame({"a": pd.Series(odd, dtype=object)})
        numbers = source_of(frame, {"a": dc.Integer(0, 9)})
        texts = source_of(frame, {"a": dc.Category(["x"])})
        flags = source_of(frame, {"a": dc.Boolean()})
        assert isinstance(numbers, Frame)
        assert isinstance(texts, Frame)
        assert isinstance(flags, Frame)
        assert numbers.rows["a"].to_pylist() == [3.0, 2.5, *[None] * 8]
        assert texts.rows["a"].to_pylist() == [None, None, "x", *[None] * 7]
        assert flags.rows["a"].to_pylist() == [*[None] * 4, True, *[None] * 5]


class TestTypesOfAFrame:
    """What type a frame gives to a column may come from its rows: it is settled before a question can be asked."""

    @pytest.mark.parametrize("domain", [SEX, dc.Integer(0, 9), dc.Category([1, 2]), dc.Boolean()])
    @pytest.mark.parametrize("rows", [[], [float("nan")], [None, None]], ids=str)
    def test_a_column_that_holds_nothing_is_of_every_type(self, rows: list[object], domain: dc.Category) -> None:
        for frame in (pd.DataFrame({"a": rows}), pl.DataFrame({"a": [None] * len(rows)}), pa.table({"a": pa.nulls(2)})):
            found = source_of(frame, {"a": domain})
            assert isinstance(found, Frame)
            assert found.rows["a"].null_count == len(frame)

    @pytest.mark.parametrize(
        ("array", "domain", "message"),
        [
            (pa.array([1]), SEX, "holds int64, which a dc.Category of texts does not read"),
            (pa.array(["1"]).dictionary_encode(), dc.Category([1]), "holds string, which a dc.Category of numbers"),
            (pa.array([1.0], pa.float16()), dc.Integer(0, 1), "holds halffloat, which a dc.Integer does not read"),
            (pa.array([1], pa.decimal256(70, 2)), dc.Integer(0, 1), "holds decimal256"),
            (pa.array([b"Male"]), SEX, "holds binary"),
            (pa.array([1], pa.duration("s")), dc.Integer(0, 1), "holds duration"),
            (pa.array([1]), dc.Boolean(), "holds int64, which a dc.Boolean does not read"),
        ],
        ids=str,
    )
    def test_another_type_is_refused_when_it_is_declared(self, array: pa.Array, domain: object, message: str) -> None:
        with pytest.raises(dc.NeedsDeclaration, match=message):
            source_of(pa.table({"a": array}), {"a": domain})

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"a": pd.Categorical(["canary", 1])}),
            pd.DataFrame({"a": pd.Series(["canary", "\ud800"], dtype=pd.StringDtype("python"))}),
            pd.DataFrame({"a": [1j]}),
            pa.table(
                {
                    "a": pa.Array.from_buffers(
                        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
                    )
                }
            ),
            pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([7]), pa.array(["canary"]), safe=False)}),
        ],
        ids=["mixed", "surrogate", "complex", "not UTF-8", "out of range"],
    )
    def test_what_cannot_be_read_is_refused_and_no_cell_is_shown(self, frame: object) -> None:
        with pytest.raises(dc.InvalidParameter, match="column 'a' of the frame cannot be read") as caught:
            source_of(frame, {"a": SEX})
        assert caught.value.__context__ is None
        assert "canary" not in str(caught.value)

    def test_a_frame_without_keys_still_has_its_rows(self) -> None:
        for frame in (FRAME, pl.DataFrame({"extra": [1, 2, 3]}), pa.table({"extra": [1, 2, 3]})):
            found = source_of(frame, {"extra": dc.Text()})
            assert isinstance(found, Frame)
            assert found.rows.num_rows == 3


def test_the_census_ships_with_the_package() -> None:
    import pyarrow.parquet as pq

    table = dc.census()
    assert isinstance(table.source, File)
    rows = pq.read_table(table.source.path, columns=list(table.columns))
    assert rows.num_rows == 48_842
    for column, domain in table.columns.items():  # the declarations cover the file, but were not made from it
        assert {value for value in rows[column].to_pylist() if value is not None} <= set(domain.values), column  # type: ignore[union-attr]
