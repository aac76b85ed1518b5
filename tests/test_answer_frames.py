"""Answers as frames: every number with its error beside it, every column of one type, nothing lost."""

import sys
import time

import pytest

from tests.answers import MIXED, answer


class TestForms:
    @pytest.mark.parametrize("form", ["to_pandas", "to_polars", "to_arrow"])
    def test_each_number_has_its_error_beside_it(self, form: str) -> None:
        shown = getattr(answer(), form)()
        names = shown.column_names if form == "to_arrow" else list(shown.columns)
        assert names == ["sex", "ok", "n", "n_error"]
        assert list(shown["n_error"].to_pylist() if form == "to_arrow" else shown["n_error"]) == [30] * 4
        bare = getattr(answer(), form)(errors=False)
        assert (bare.column_names if form == "to_arrow" else list(bare.columns)) == ["sex", "ok", "n"]

    def test_pandas_has_plain_types_and_a_plain_index(self) -> None:
        frame = answer().to_pandas()
        assert frame.index.tolist() == [0, 1, 2, 3]
        assert str(frame.dtypes["n"]) == "int64"
        assert str(frame.dtypes["ok"]) == "bool"

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_a_missing_library_is_named(self, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"pip install 'discreet\[{library}\]'"):
            getattr(answer(), f"to_{library}")()

    @pytest.mark.parametrize("form", ["to_pandas", "to_polars", "to_arrow"])
    def test_days_truths_nulls_and_errors_of_rows_are_kept(self, form: str) -> None:
        shown = getattr(MIXED, form)()
        if form == "to_pandas":
            assert shown["age"].isna().tolist() == [False, True, False]
            assert shown["age_error"].isna().tolist() == [False, True, True]
            assert shown["day"].tolist() == list(MIXED.columns["day"])
            return
        listed = shown.to_pydict() if form == "to_arrow" else shown.to_dict(as_series=False)
        for name, values in MIXED.columns.items():
            assert listed[name] == list(values)
        assert listed["age_error"] == [1.5, None, None]

    @pytest.mark.parametrize("form", ["to_pandas", "to_polars", "to_arrow"])
    def test_every_column_has_the_type_of_its_values(self, form: str) -> None:
        wanted = {
            "to_pandas": ("object", "datetime64[us]", "boolean", "int64", "int64", "float64", "float64"),
            "to_polars": (
                "Date",
                "Datetime(time_unit='us', time_zone=None)",
                "Boolean",
                *2 * ["Int64"],
                *2 * ["Float64"],
            ),
            "to_arrow": ("date32[day]", "timestamp[us]", "bool", "int64", "int64", "double", "double"),
        }[form]
        shown = getattr(MIXED, form)()
        found = {"to_pandas": "dtypes", "to_polars": "dtypes", "to_arrow": "schema"}[form]
        types = getattr(shown, found)
        assert tuple(str(kind) for kind in (types.types if form == "to_arrow" else types)) == wanted

    @pytest.mark.parametrize(
        ("values", "pandas", "arrow"),
        [
            ((1, None, 3), "Int64", "int64"),
            ((1, 2.5, None), "float64", "double"),
            ((None, None), "float64", "double"),
            ((), "float64", "double"),
            ((2**70, 1), "float64", "double"),
            ((-(2**63), 2**63 - 1), "int64", "int64"),
        ],
    )
    def test_numbers_have_one_type_whatever_the_rows_hold(
        self, values: tuple[float | None, ...], pandas: str, arrow: str
    ) -> None:
        shown = answer(columns={"n": values}, errors={"n": 30})
        assert str(shown.to_pandas()["n"].dtype) == pandas
        assert str(shown.to_arrow()["n"].type) == arrow
        assert shown.to_arrow()["n"].to_pylist() == shown.to_polars()["n"].to_list() == list(values)
        missing = [value is None for value in values]
        assert shown.to_pandas()["n"].isna().tolist() == missing
        assert shown.to_pandas()["n"].dropna().tolist() == [value for value in values if value is not None]

    def test_texts_and_keys_of_no_rows(self) -> None:
        shown = answer(columns={"k": (None, None), "n": (1, 2)})
        assert shown.to_arrow()["k"].to_pylist() == shown.to_polars()["k"].to_list() == [None, None]
        assert str(shown.to_arrow()["k"].type) == "string"
        assert shown.to_pandas()["k"].isna().all()

    @pytest.mark.parametrize("form", ["to_pandas", "to_polars", "to_arrow"])
    def test_a_million_rows_take_less_than_a_second(self, form: str) -> None:
        rows = 1_000_000
        columns = {"k": tuple(f"k{i % 1000}" for i in range(rows)), "n": tuple(range(rows)), "x": (1.5,) * rows}
        large = answer(columns=columns, errors={"n": 30, "x": (0.5,) * rows})
        taken = []
        for _ in range(3):
            start = time.process_time()
            assert len(getattr(large, form)()) == rows
            taken.append(time.process_time() - start)
        assert min(taken) < 1
