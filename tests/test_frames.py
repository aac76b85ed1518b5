"""`frames`: the same rows in every kind of table are read alike."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.universes import DAY, EXTRA, UNIVERSE, places


def the_same_in_every_frame(rows: Mapping[str, list[object]]) -> dict[str, object]:
    """The rows in every kind of table that is read."""
    arrow = pa.table({name: pa.array(values) for name, values in rows.items()})
    frame = arrow.to_pandas(date_as_object=False)
    polars = pl.from_arrow(arrow)
    assert isinstance(polars, pl.DataFrame)
    chunked = pa.concat_tables([arrow.slice(0, 2), arrow.slice(2, 0), arrow.slice(2)])
    return {
        "lists": rows,
        "arrow": arrow,
        "arrow in chunks": chunked,
        "arrow batch": arrow.combine_chunks().to_batches()[0],
        "arrow, each value once": arrow.set_column(0, "ward", arrow.column("ward").dictionary_encode()),
        "pandas": frame,
        "pandas objects": frame.astype(object),
        "pandas categories": frame.assign(ward=frame["ward"].astype("category"), age=frame["age"].astype("category")),
        "pandas nullable": frame.convert_dtypes(),
        "pandas on arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas, odd index": frame.set_index(pd.Index(range(len(frame), 0, -1), name="age")),
        "polars": polars,
        "polars lazy": polars.lazy(),
        "polars categories": polars.with_columns(pl.col("ward").cast(pl.Categorical)),
        "mapping of arrays": {name: frame[name].to_numpy() for name in frame},
        "mapping of series": {name: polars.get_column(name) for name in polars.columns},
        "mapping of arrow": {name: arrow.column(name) for name in rows},
    }


ROWS: dict[str, list[object]] = {
    "ward": ["north", "icu", None, "west", "south", "icu"],
    "grade": [3, 9, 5, 5, None, 9],
    "age": [18, 21, 19, 30, 20, None],
    "seen": [True, False, None, True, False, True],
    "cost": [0.0, 0.1, 55.5, None, 100.0, -3.0],
    "day": [DAY, DAY + timedelta(days=1), None, DAY, DAY + timedelta(days=9), DAY],
}
FRAMES = the_same_in_every_frame(ROWS)


class TestFrames:
    @pytest.mark.parametrize("kind", FRAMES)
    @pytest.mark.parametrize("universe", [UNIVERSE, EXTRA])
    def test_every_frame_is_read_alike(self, universe: dp.Universe, kind: str) -> None:
        for name, column in universe.columns.items():
            alone = dp.Universe({name: column})
            assert alone.codes(FRAMES[kind]).tolist() == [column.place(value) for value in ROWS[name]], name
        codes = universe.codes(FRAMES[kind])
        assert codes.dtype == np.int64
        rows = [{name: column[i] for name, column in ROWS.items()} for i in range(6)]
        expected = []
        for row in rows:
            inside = all(universe.columns[name].place(value) >= 0 for name, value in row.items())
            expected.append(universe.cell(**row) if inside else -1)  # type: ignore[arg-type]
        assert codes.tolist() == expected
        histogram = universe.encode(FRAMES[kind])
        assert histogram.shape == (universe.size,)
        assert histogram.dtype == np.int64
        kept = [cell for cell in expected if cell >= 0]
        assert histogram.sum() == len(kept)
        assert all(histogram[cell] == kept.count(cell) for cell in kept)

    def test_instants_in_a_time_zone_are_no_days(self) -> None:
        times = pd.to_datetime(["2026-01-01", None, "2026-01-02"], utc=True)
        arrow = pa.array([datetime(2026, 1, 1), None, datetime(2026, 1, 2)], pa.timestamp("us", "UTC"))
        for column in (pd.Series(times), arrow, pl.Series(arrow), times.tolist()):
            assert places(UNIVERSE, "day", column) == [-1, -1, -1]
        naive = pd.Series(times.tz_localize(None))
        for column in (naive, pa.array(naive), pl.Series(pa.array(naive))):
            assert places(UNIVERSE, "day", column) == [0, -1, 1]
            assert places(UNIVERSE, "day", pd.Series(naive) + pd.Timedelta("1ns")) == [-1, -1, -1]

    @pytest.mark.parametrize(
        "column",
        [
            pa.nulls(2),
            pa.array([None, timedelta(1)]),
            pa.array([[1], None]),
            pa.array([{"a": 1}, None]),
            pa.array([b"icu", None]),
            pa.array(["icu", None]).view(pa.binary()),
            pd.Series(pd.period_range("2026-01", periods=2, freq="M")),
            pd.Series(pd.interval_range(0, 2)),
            pd.Series(pd.to_timedelta([1, 2])),
            pl.Series([object(), None], dtype=pl.Object),
            pl.Series([[1], None]),
            pl.Series([None, None]),
            np.array([1, 2], "m8[s]"),
            [np.timedelta64(18, "D"), None],
            [np.timedelta64(18, "ns"), "x"],
            pl.Series([10**30, None], dtype=pl.Int128),
            pd.Series(pd.Categorical([np.datetime64(10**18, "s"), None])),
        ],
    )
    @pytest.mark.parametrize("name", list(UNIVERSE.columns))
    def test_columns_of_no_declared_kind(self, name: str, column: object) -> None:
        assert places(UNIVERSE, name, column) == [-1, -1]
        extra = EXTRA.columns[name]
        assert set(places(EXTRA, name, column)) <= {extra.missing, extra.elsewhere}

    def test_other_kinds_of_columns(self) -> None:
        broken = pa.Array.from_buffers(
            pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 4, 5], "i4")), pa.py_buffer(b"\xfficux")]
        )
        assert places(EXTRA, "ward", broken) == [3, 2, 3]
        assert places(UNIVERSE, "age", pa.array([Decimal(18), None, Decimal("18.5")])) == [0, -1, -1]
        assert places(UNIVERSE, "cost", pa.array([Decimal("0.10"), None, Decimal(101)])) == [1, -1, -1]
        assert places(UNIVERSE, "age", pd.Series(pd.arrays.SparseArray([18, 0, 21]))) == [0, -1, 3]
        run_ends = pa.RunEndEncodedArray.from_arrays([2, 3], ["icu", "north"])
        assert places(UNIVERSE, "ward", run_ends) == [2, 2, 0]
        assert places(UNIVERSE, "ward", pa.array(["icu", None], pa.string_view())) == [2, -1]
        assert places(UNIVERSE, "age", range(17, 20)) == [-1, 0, 1]
        enum = pl.Series(["icu", None], dtype=pl.Enum(["icu", "x"]))
        assert places(UNIVERSE, "ward", enum) == [2, -1]
        assert places(UNIVERSE, "age", pl.Series([18, None, 10**30], dtype=pl.Int128)) == [0, -1, -1]
        days = pd.Series(pd.Categorical([datetime(2026, 1, 2), None]))
        assert places(UNIVERSE, "day", days) == [1, -1]
        assert places(UNIVERSE, "grade", pd.Series(pd.Categorical([9, 3, None]))) == [2, 0, -1]

    def test_no_rows(self) -> None:
        empty = pd.DataFrame({name: [] for name in UNIVERSE.columns})
        for frame in (
            empty,
            pl.from_pandas(empty),
            pa.Table.from_pandas(empty),
            pa.table({n: pa.nulls(0) for n in empty}),
        ):
            assert UNIVERSE.encode(frame).sum() == 0
            assert UNIVERSE.codes(frame).shape == (0,)
        no_chunks = pa.table({"seen": pa.chunked_array([], pa.bool_())})
        assert dp.Universe({"seen": 2}).encode(no_chunks).tolist() == [0, 0]

    def test_what_is_declared_must_be_there_once(self) -> None:
        universe = dp.Universe({"a": 2})
        twice = pd.DataFrame([[0, 1]], columns=["a", "a"])
        for frame in ({"b": [1]}, pd.DataFrame({"b": [1]}), pl.DataFrame({"b": [1]}), pl.LazyFrame({"b": [1]}), twice):
            with pytest.raises(InvalidParameter, match="needs exactly one"):
                universe.codes(frame)
        for frame in ([0, 1], np.zeros(2), "a", None, {"a": "01"}, {"a": 3}, {"a": np.zeros((2, 2), int)}):
            with pytest.raises(InvalidParameter):
                universe.codes(frame)
        with pytest.raises(InvalidParameter, match="another length"):
            dp.Universe({"a": 2, "b": 2}).codes({"a": [0, 1], "b": [0]})

    def test_columns_that_are_not_declared_are_invisible(self) -> None:
        frame = pd.DataFrame({"a": [0, 1], "b": [[], {}], "c": [0, 0]})
        assert dp.Universe({"a": 2}).encode(frame).tolist() == [1, 1]
