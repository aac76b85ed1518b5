"""Frames: what is copied, what each declaration reads, and that no cell is ever shown."""

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.source import Frame, source_of

SEX = dc.Category(["Female", "Male"])
COLUMNS = {"sex": SEX, "age": dc.Integer(0, 110)}
FRAME = pd.DataFrame({"sex": ["Male", "Female", None], "age": [1, 2, 3], "extra": [1, 2, 3]})
DAYS = dc.Date(date(2026, 1, 1), date(2026, 2, 1))
INSTANTS = dc.Datetime(datetime(2026, 1, 1), datetime(2026, 2, 1), zone="Europe/Zurich")
BINS = dp.Bins([0, 1, 2])


def rows(frame: object, columns: dict[str, Any], unit: str | None = None) -> pa.Table:
    found = source_of(frame, columns, unit=unit)
    assert isinstance(found, Frame)
    return found.rows


def objects(values: list[object], domain: Any) -> list[object]:
    held: list[object] = rows(pd.DataFrame({"a": pd.Series(values, dtype=object)}), {"a": domain})["a"].to_pylist()
    return held


class TestColumns:
    def test_every_frame_gives_its_declared_columns_and_its_unit(self) -> None:
        arrow = pa.Table.from_pandas(FRAME)
        for frame in (FRAME, pl.DataFrame({"sex": ["Male"], "age": [1], "extra": [1]}), arrow):
            assert rows(frame, COLUMNS).column_names == ["sex", "age"]
            assert rows(frame, COLUMNS, unit="extra").column_names == ["sex", "age", "extra"]
            assert rows(frame, COLUMNS, unit="age").column_names == ["sex", "age"]

    @pytest.mark.parametrize("frame", [FRAME, pl.DataFrame({"age": [1]}), pa.table({"age": [1]})])
    def test_a_missing_column_is_named(self, frame: object) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"no column 'no'; it has .*age"):
            rows(frame, {"no": SEX})
        with pytest.raises(dc.InvalidParameter, match=r"no column 'no'; it has .*age"):
            rows(frame, {"age": dc.Integer(0, 9)}, unit="no")

    def test_a_column_of_the_index_is_named(self) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"index of that name: frame.reset_index\(\)"):
            rows(FRAME.set_index("sex"), COLUMNS)

    def test_a_column_is_there_once(self) -> None:
        frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
        with pytest.raises(dc.InvalidParameter, match="the frame has 2 columns 'a'"):
            rows(frame, {"a": dc.Integer(0, 9)})

    def test_what_happens_to_the_frame_later_changes_nothing(self) -> None:
        frame = FRAME.copy()
        found = rows(frame, COLUMNS, unit="extra")
        frame.loc[:, ["age", "extra"]] = 99
        assert found["age"].to_pylist() == found["extra"].to_pylist() == [1, 2, 3]


class TestObjects:
    """A column of Python objects is read by its declaration; the rest is NULL, and nothing raises."""

    def test_numbers_texts_and_truth_values(self) -> None:
        odd = [3, 2.5, 4.0, "x", None, True, float("nan"), 10**400, object(), b"x", "\ud800", np.int8(5), Decimal(6)]
        assert objects(odd, dc.Integer(0, 9)) == [3, None, 4, *[None] * 8, 5, 6]
        assert objects(odd, dc.Category([1, 2])) == [3, None, 4, *[None] * 8, 5, 6]
        assert objects(odd, dc.Real(0, 9)) == [3.0, 2.5, 4.0, *[None] * 8, 5.0, 6.0]
        assert objects(odd, BINS) == objects(odd, dc.Real(0, 9))
        assert objects(odd, dc.Category(["x"])) == [*[None] * 3, "x", *[None] * 9]
        assert objects(odd, dc.Text()) == objects(odd, dc.Category(["x"]))
        assert objects(odd, dc.Boolean()) == [*[None] * 5, True, *[None] * 7]

    def test_days_and_instants(self) -> None:
        day, noon = datetime(2026, 1, 2), datetime(2026, 1, 2, 12, 30, 1, 5)
        aware = noon.replace(tzinfo=UTC)
        odd = [date(2026, 1, 2), day, noon, aware, pd.NaT, pd.Timestamp(day), np.datetime64("2026-01-02"), "2026-01-02"]
        wall = aware.astimezone(ZoneInfo("Europe/Zurich")).replace(tzinfo=None)
        assert objects(odd, DAYS) == [day.date(), day.date(), None, None, None, day.date(), day.date(), None]
        assert objects(odd, INSTANTS) == [None, day, noon, wall, None, day, day, None]

    def test_an_instant_shows_what_its_zone_showed(self) -> None:
        twice = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]  # 02:30 in summer, 02:30 in winter
        ends = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
        exact = pd.Timestamp("2026-01-02 00:00:00.000000001", tz="UTC")
        far = np.datetime64("300000-01-01", "us")
        shown = datetime(2026, 10, 25, 2, 30)
        assert objects([*twice, ends, exact, far], INSTANTS) == [shown, shown, None, datetime(2026, 1, 2, 1), None]

    def test_a_value_that_raises_is_null(self) -> None:
        class Raises(int):
            def __int__(self) -> int:
                raise RuntimeError("canary")

            def __ge__(self, other: object) -> bool:
                raise RuntimeError("canary")

            __float__ = __le__ = __gt__ = __lt__ = __int__  # type: ignore[assignment]

        assert objects([1, Raises(2)], dc.Integer(0, 9)) == [1, None]
        assert objects([1, Raises(2)], dc.Real(0, 9)) == [1.0, None]

    def test_objects_of_polars_are_objects(self) -> None:
        frame = pl.DataFrame({"a": pl.Series([object(), "x", 3], dtype=pl.Object)})
        assert rows(frame, {"a": dc.Text()})["a"].to_pylist() == [None, "x", None]


class TestUnits:
    def test_an_object_is_known_by_its_text(self) -> None:
        name = uuid.UUID(int=7)
        odd = [12, "12", " 12", name, str(name), None, float("nan"), 12.0, True, b"12", "\ud800", 2**70]
        frame = pd.DataFrame({"who": pd.Series(odd, dtype=object), "age": 1})
        found = rows(frame, {"age": dc.Integer(0, 9)}, unit="who")["who"].to_pylist()
        assert found == ["12", "12", " 12", str(name), str(name), *[None] * 6, str(2**70)]

    @pytest.mark.parametrize(
        "array",
        [
            pa.array([1], pa.uint64()),
            pa.array(["a"]),
            pa.array(["a"], pa.large_string()),
            pa.array(["a"]).dictionary_encode(),
            pa.array([uuid.UUID(int=1).bytes], pa.uuid()),
            pa.nulls(1),
        ],
        ids=lambda array: str(array.type),
    )
    def test_whole_numbers_texts_and_uuids_name_units(self, array: pa.Array) -> None:
        assert rows(pa.table({"who": array, "age": [1]}), {"age": dc.Integer(0, 9)}, unit="who").num_rows == 1

    @pytest.mark.parametrize(
        "array", [pa.array([1.0]), pa.array([True]), pa.array([b"a"]), pa.array([DAYS.first])], ids=str
    )
    def test_nothing_else_does(self, array: pa.Array) -> None:
        with pytest.raises(dc.NeedsDeclaration, match=r"the unit 'who' of the frame holds .*astype\(\"Int64\"\)"):
            rows(pa.table({"who": array, "age": [1]}), {"age": dc.Integer(0, 9)}, unit="who")

    def test_a_declared_unit_is_read_by_both_rules(self) -> None:
        frame = pd.DataFrame({"who": [1.0, None]})
        with pytest.raises(dc.NeedsDeclaration, match="the unit 'who' of the frame holds double"):
            rows(frame, {"who": dc.Integer(0, 9)}, unit="who")
        with pytest.raises(dc.NeedsDeclaration, match=r"which a dc\.Text does not read"):
            rows(pa.table({"who": [1]}), {"who": dc.Text()}, unit="who")
        assert rows(frame.astype("Int64"), {"who": dc.Integer(0, 9)}, unit="who")["who"].to_pylist() == [1, None]


class TestTypes:
    """What type a frame gives to a column may come from its rows: it is settled before a question can be asked."""

    @pytest.mark.parametrize(
        "domain",
        [SEX, dc.Integer(0, 9), dc.Category([1, 2]), dc.Boolean(), dc.Real(0, 1), BINS, DAYS, INSTANTS, dc.Text()],
        ids=lambda domain: type(domain).__name__,
    )
    @pytest.mark.parametrize("held", [[], [float("nan")], [None, None]], ids=str)
    def test_a_column_that_holds_nothing_is_of_every_type(self, held: list[object], domain: dc.Category) -> None:
        for frame in (pd.DataFrame({"a": held}), pl.DataFrame({"a": [None] * len(held)}), pa.table({"a": pa.nulls(2)})):
            assert rows(frame, {"a": domain})["a"].null_count == len(frame)

    @pytest.mark.parametrize(
        ("array", "domain"),
        [
            (pa.array([1], pa.uint8()), dc.Real(0, 1)),
            (pa.array([Decimal("1.5")]), BINS),
            (pa.array(["a"], pa.string_view()), dc.Text()),
            (pa.array(["a"]).dictionary_encode(), dc.Text()),
            (pa.array([True]), dc.Boolean()),
        ],
        ids=str,
    )
    def test_a_declaration_reads_these(self, array: pa.Array, domain: Any) -> None:
        assert rows(pa.table({"a": array}), {"a": domain})["a"].type == array.type

    @pytest.mark.parametrize(
        ("array", "domain", "message"),
        [
            (pa.array([1]), SEX, "holds int64, which a dc.Category of texts does not read"),
            (pa.array(["1"]).dictionary_encode(), dc.Category([1]), "holds string, which a dc.Category of numbers"),
            (pa.array([1.0], pa.float16()), dc.Integer(0, 1), "holds halffloat, which a dc.Integer does not read"),
            (pa.array([1], pa.decimal256(70, 2)), dc.Real(0, 1), "holds decimal256"),
            (pa.array([Decimal(100)], pa.decimal128(5, -2)), dc.Real(0, 1), "holds decimal128"),
            (pa.array([b"Male"]), SEX, "holds binary"),
            (pa.array([1], pa.duration("s")), dc.Integer(0, 1), "holds duration"),
            (pa.array([1]), dc.Boolean(), "holds int64, which a dc.Boolean does not read"),
            (pa.array(["2026-01-01"]), DAYS, "holds string, which a dc.Date does not read"),
            (pa.array([1], pa.timestamp("s", tz="UTC")), DAYS, "which a dc.Date does not read"),
            (pa.array([1], pa.date32()), INSTANTS, "holds date32.*which a dc.Datetime does not read"),
            (pa.array(["1"]), BINS, "holds string, which a dc.Bins does not read"),
        ],
        ids=str,
    )
    def test_another_type_is_refused_when_it_is_declared(self, array: pa.Array, domain: object, message: str) -> None:
        with pytest.raises(dc.NeedsDeclaration, match=message):
            rows(pa.table({"a": array}), {"a": domain})

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
            rows(frame, {"a": SEX})
        assert caught.value.__context__ is None
        assert "canary" not in str(caught.value)


class TestTimes:
    """Days and instants have one form each, so that no engine has to convert what might not fit."""

    @pytest.mark.parametrize(
        "array",
        [
            pa.array([1, -1, None], pa.date32()),
            pa.array([86_400_000, -86_400_000, None], pa.date64()),
            *(
                pa.array([86_400 * per, -86_400 * per, None], pa.timestamp(unit))
                for unit, per in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
            ),
        ],
        ids=lambda array: str(array.type),
    )
    def test_days(self, array: pa.Array) -> None:
        for held in (array, array.dictionary_encode(), pa.chunked_array([array[:1], array[1:]])):
            found = rows(pa.table({"a": held}), {"a": DAYS})["a"]
            assert found.type == pa.date32()
            assert found.to_pylist() == [date(1970, 1, 2), date(1969, 12, 31), None]
        assert rows(pa.table({"a": pc.run_end_encode(array)}), {"a": DAYS})["a"].null_count == 1

    @pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
    @pytest.mark.parametrize(("unit", "per"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
    def test_instants(self, unit: str, per: int, zone: str | None) -> None:
        array = pa.array([3 * per, -1, None], pa.timestamp(unit, zone))
        found = rows(pa.table({"a": array}), {"a": INSTANTS})["a"]
        assert found.type == pa.timestamp("us", "UTC" if zone else None)
        fine = -(-(10**6) // per) if per < 10**6 else 1  # a nanosecond before 1970 is in the microsecond before it
        assert found.cast(pa.int64()).to_pylist() == [3 * 10**6, -fine, None]

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "UTC"])
    def test_what_no_calendar_has_is_null(self, unit: str, zone: str | None) -> None:
        per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        ends = [-62_135_596_800 * per, 253_402_300_800 * per - 1]  # the years 1 to 9999
        near = [end for end in ends if abs(end) < 2**63]
        far = [-(2**63), 2**63 - 1, *(end + step for end, step in zip(ends, (-1, 1), strict=True) if abs(end) < 2**63)]
        if unit == "ns":  # whose 64 bits end in the years 1677 and 2262
            far = []
        found = rows(pa.table({"a": pa.array([*near, *far], pa.timestamp(unit, zone))}), {"a": INSTANTS})["a"]
        assert found.null_count == len(far)
        assert found.slice(len(near)).null_count == len(far)

    def test_days_that_no_calendar_has_are_null(self) -> None:
        for array in (
            pa.array([-719_163, 2_932_897, 2**31 - 1, -(2**31)], pa.date32()),
            pa.array([86_400_000 * 2_932_897, -(86_400_000 * 719_163)], pa.date64()),
            pa.array([2**63 - 1, -(2**63), 1, -1], pa.timestamp("ns")),
        ):
            found = rows(pa.table({"a": array}), {"a": DAYS})["a"]
            assert found.null_count == len(array)
        ends = pa.array([-719_162, 2_932_896], pa.date32())
        assert rows(pa.table({"a": ends}), {"a": DAYS})["a"].to_pylist() == [date.min, date.max]

    def test_pandas_and_polars(self) -> None:
        moment = datetime(2026, 1, 2)
        for frame in (pd.DataFrame({"a": [moment, None]}), pl.DataFrame({"a": [moment, None]})):
            assert rows(frame, {"a": DAYS})["a"].to_pylist() == [date(2026, 1, 2), None]
            assert rows(frame, {"a": INSTANTS})["a"].to_pylist() == [moment, None]
        aware = pd.DataFrame({"a": pd.Series([moment]).dt.tz_localize("Asia/Tokyo")})
        assert rows(aware, {"a": INSTANTS})["a"].to_pylist() == [datetime(2026, 1, 1, 15, tzinfo=UTC)]
