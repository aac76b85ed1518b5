"""`encoding`: no value raises, each odd one has a defined place, and the fast ways are the slow way."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import dp
from tests.accounting import examples
from tests.sizes import sized
from tests.universes import DAY, EXTRA, UNIVERSE, places

ODD: list[object] = [
    None, float("nan"), float("inf"), -float("inf"), pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("NaN"),
    Decimal("sNaN"), Decimal("Infinity"), Decimal("1e999999"), Decimal("-0"), np.float32("nan"), True, False,
    np.True_, 0, 1, 3, 5.0, 5.5, 18, 18.0, 18.5, "18", np.int8(19), np.uint64(2**64 - 1), 2**63, -(2**63) - 1, 10**400,
    1e300, -0.0, 5e-324, 0.1, np.float32(0.1), np.float16(0.1), Decimal("0.1"), Fraction(1, 10), Fraction(18), 100,
    100.0, 100.00000001, -1, -1.0, "north", "north ", "NORTH", "\ud800", "north\0", "", "elsewhere", "unknown",
    b"north", DAY, datetime(2026, 1, 1), datetime(2026, 1, 1, 12), pd.Timestamp("2026-01-02"), date.max,
    pd.Timestamp("2026-01-02 00:00:00.000000001"), pd.Timestamp("2026-01-02", tz="UTC"), np.datetime64("2026-01-03"),
    np.datetime64("2026-01-03T01"), timedelta(1), date(1900, 1, 1), 1j, (), [], {}, object(), (1, "north"), int, ...,
]  # fmt: skip


class TestOddValues:
    @pytest.mark.parametrize("universe", [UNIVERSE, EXTRA])
    @pytest.mark.parametrize("name", list(UNIVERSE.columns))
    def test_a_column_of_anything_is_read_one_value_at_a_time(self, universe: dp.Universe, name: str) -> None:
        """No value raises, and its place does not depend on the values around it."""
        column = universe.columns[name]
        expected = [column.place(value) for value in ODD]
        array = np.empty(len(ODD), object)
        array[:] = ODD
        assert places(universe, name, ODD) == expected
        assert places(universe, name, array) == expected
        assert places(universe, name, pd.Series(array)) == expected
        assert [places(universe, name, [value])[0] for value in ODD] == expected
        assert [places(universe, name, [value, value])[1] for value in ODD] == expected

    @pytest.mark.parametrize(
        ("name", "value", "plain", "extra"),
        [
            ("ward", "icu", 2, 2), ("ward", "icu ", -1, 3), ("ward", 3, -1, 3), ("ward", None, -1, 4),
            ("ward", "elsewhere", -1, 3), ("ward", "unknown", -1, 4), ("ward", float("nan"), -1, 4),
            ("grade", 5, 1, 1), ("grade", 5.0, 1, 1), ("grade", True, -1, 3), ("grade", "5", -1, 3),
            ("grade", None, -1, 3), ("grade", -1, -1, 3),
            ("age", 18, 0, 0), ("age", False, -1, 4), ("age", 22, -1, 4), ("age", 10**30, -1, 4), ("age", None, -1, 5),
            ("age", 0, -1, 4), ("age", float("inf"), -1, 4), ("age", float("nan"), -1, 5), ("age", "no age", -1, 5),
            ("seen", True, 1, 1), ("seen", np.False_, 0, 0), ("seen", 1, -1, 2), ("seen", None, -1, 2),
            ("cost", 0, 0, 0), ("cost", 0.1, 1, 1), ("cost", np.float32(0.1), 1, 1), ("cost", Decimal("0.1"), 1, 1),
            ("cost", 10, 2, 2), ("cost", 100, 2, 2), ("cost", 100.001, -1, 3), ("cost", True, -1, 3),
            ("cost", -0.001, -1, 3), ("cost", float("inf"), -1, 3), ("cost", None, -1, -1), ("cost", "5", -1, 3),
            ("day", DAY, 0, 0), ("day", datetime(2026, 1, 2), 1, 1), ("day", datetime(2026, 1, 2, 1), -1, 3),
            ("day", datetime(2026, 1, 2, tzinfo=timezone.utc), -1, 3), ("day", pd.NaT, -1, 3),  # noqa: UP017
            ("day", "2026-01-01", -1, 3), ("day", date(1900, 1, 1), -1, 3),
        ],
    )  # fmt: skip
    def test_what_is_declared_missing_or_neither(self, name: str, value: object, plain: int, extra: int) -> None:
        assert (places(UNIVERSE, name, [value]), places(EXTRA, name, [value])) == ([plain], [extra])


NUMBERS = [-1, 0, 1, 3, 5, 9, 10, 17, 18, 19, 20, 21, 22, 99, 100, 101, 127]
FLOATS = [*map(float, NUMBERS), 0.1, 0.0999999, 0.10000001, 18.5, 100.0001, -1e-9, 1e30, 2.0**63, -(2.0**63), 6e4]
UNUSUAL = [float("nan"), float("inf"), -float("inf"), -0.0]


class TestArrays:
    """The fast ways are the slow way, on arrays of every type."""

    @pytest.mark.parametrize("universe", [UNIVERSE, EXTRA])
    @pytest.mark.parametrize("name", list(UNIVERSE.columns))
    @pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", "?", "M8[D]", "M8[ns]"])
    def test_an_array_is_read_as_its_values(self, universe: dp.Universe, name: str, kind: str) -> None:
        match np.dtype(kind).kind:
            case "f":
                with np.errstate(over="ignore"):
                    array = np.array(FLOATS + UNUSUAL).astype(kind)
            case "b":
                array = np.array([True, False, True])
            case "M":
                array = np.array(["2025-12-31", *(f"2026-01-0{day}" for day in range(1, 6)), "NaT", "1900-01-01"], kind)
                array = (
                    np.concatenate([array, array + np.timedelta64(1, "h").astype("m8[ns]")]) if "ns" in kind else array
                )
            case _:
                array = np.array([value for value in NUMBERS if value >= 0 or "u" not in kind], kind)
        assert places(universe, name, array) == [universe.columns[name].place(value) for value in list(array)]

    @pytest.mark.parametrize("declared", [dp.Category([2**64, 2**63, 5, -(2**70)]), dp.Bins([0, 2**63, 2**65])])
    def test_integers_beyond_64_bits_are_compared_exactly(self, declared: dp.Category | dp.Bins) -> None:
        universe = dp.Universe({"a": declared})
        values = [0, 5, 2**63 - 1, 2**63, 2**64 - 1]
        expected = [declared.place(value) for value in values]
        assert universe.codes({"a": np.array(values, np.uint64)}).tolist() == expected
        assert universe.codes({"a": values}).tolist() == expected
        if isinstance(declared, dp.Bins):
            assert expected == [0, 0, 0, 1, 1]

    def test_the_ends_of_64_bits(self) -> None:
        ends = dp.Integer(2**63 - 3, 2**63 - 1)
        array = np.array([2**63 - 1, -(2**63), 2**63 - 3, 0])
        assert dp.Universe({"a": ends}).codes({"a": array}).tolist() == [2, -1, 0, -1]
        assert dp.Universe({"a": ends}).codes({"a": np.array([2.0**63, -(2.0**63)])}).tolist() == [-1, -1]
        assert dp.Universe({"a": ends}).codes({"a": np.array([2**63, 2**64 - 1], np.uint64)}).tolist() == [-1, -1]

    def test_masked_values_are_missing(self) -> None:
        masked = np.ma.masked_array([18, 19, 20], [False, True, False])
        assert places(UNIVERSE, "age", masked) == [0, -1, 2]
        assert places(EXTRA, "age", masked) == [0, 5, 2]
        words = np.ma.masked_array(np.array(["icu", "icu"], object), [True, False])
        assert places(EXTRA, "ward", words) == [4, 2]

    def test_texts_of_every_array(self) -> None:
        for array in (np.array(["icu", "icu ", "x"]), np.array(["icu", "icu ", "x"], np.dtypes.StringDType())):
            assert places(EXTRA, "ward", array) == [2, 3, 3]
        assert places(EXTRA, "ward", np.array([b"icu", b"x"])) == [3, 3]
        assert places(EXTRA, "ward", np.array([1j])) == [3]

    @examples(max_examples=sized(100, 3_000))
    @given(
        st.lists(st.decimals(-100, 100, places=2), min_size=2, max_size=6, unique=True),
        st.lists(st.floats(width=32) | st.decimals(-100, 100, places=2).map(float)),
        st.sampled_from(["f2", "f4", "f8"]),
    )
    def test_bins_are_half_open_in_the_precision_of_the_data(
        self, edges: list[Decimal], data: list[float], kind: str
    ) -> None:
        """Against a definition: the last edge, in that precision, at or below the value; the last bin is closed."""
        bins = dp.Bins(sorted(edges))
        with np.errstate(over="ignore"):
            array = np.array(data).astype(kind)
        rounded = [float(np.dtype(kind).type(edge)) for edge in sorted(edges)]
        for value, place in zip(array.tolist(), dp.Universe({"a": bins}).codes({"a": array}), strict=True):
            below = [i for i, edge in enumerate(rounded) if edge <= value]
            outside = not below or not np.isfinite(value) or value > rounded[-1]
            assert place == (-1 if outside else min(below[-1], bins.size - 1))
