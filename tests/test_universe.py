"""`universe`: cells decoded into rows, sizes, and what columns declare."""

import copy
import pickle
import time
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import dp
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import examples
from tests.sizes import sized
from tests.universes import DAY, EXTRA, UNIVERSE


class TestDecode:
    @pytest.mark.parametrize("universe", [UNIVERSE, EXTRA])
    def test_rows_fall_into_the_cells_that_they_were_made_from(self, universe: dp.Universe) -> None:
        codes = np.arange(universe.size)
        rows = universe.decode(codes)
        assert list(rows) == list(universe.columns)
        assert (universe.codes(rows) == codes).all()
        assert (universe.codes(rows.frame) == codes).all()
        for cell in (0, 1, universe.size // 2, universe.size - 1):
            assert {name: array[cell] for name, array in rows.items()} == universe.row(cell)

    def test_arrays_have_the_type_of_their_values(self) -> None:
        kinds = {name: array.dtype.kind for name, array in UNIVERSE.decode(np.array([0])).items()}
        assert kinds == {"ward": "O", "grade": "i", "age": "i", "seen": "b", "cost": "f", "day": "M"}
        frame = UNIVERSE.decode(np.array([0, 5])).frame
        assert list(frame.columns) == list(UNIVERSE.columns)
        assert len(frame) == 2

    def test_only_cells_are_decoded(self) -> None:
        for codes in ([-1], [UNIVERSE.size], [0.5], [True]):
            with pytest.raises(InvalidParameter):
                UNIVERSE.decode(np.array(codes))
        assert all(array.size == 0 for array in UNIVERSE.decode(np.zeros(0, int)).values())

    @examples(max_examples=sized(100, 2_000))
    @given(st.data())
    def test_encode_and_decode_are_inverse(self, data: st.DataObject) -> None:
        column = st.one_of(
            st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True).map(dp.Category),
            st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=4, unique=True).map(dp.Category),
            st.tuples(st.integers(-(2**63), 2**63 - 9), st.integers(0, 8)).map(lambda p: dp.Integer(p[0], sum(p))),
            st.just(dp.Boolean(null="none")),
            st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=5, unique=True).map(lambda e: dp.Bins(sorted(e))),
            st.tuples(st.dates(max_value=date(9999, 12, 1)), st.integers(0, 9)).map(
                lambda p: dp.Date(p[0], p[0] + timedelta(days=p[1]))
            ),
        )
        universe = dp.Universe(dict(enumerate(data.draw(st.lists(column, min_size=1, max_size=4)))))  # type: ignore[arg-type]
        codes = np.array(data.draw(st.lists(st.integers(0, universe.size - 1))), np.int64)
        assert (universe.codes(universe.decode(codes)) == codes).all()


class TestSize:
    def test_a_description_may_have_1e18_cells(self) -> None:
        wide = dp.Universe({"a": 10**9, "b": dp.Integer(1, 10**9)})
        assert wide.codes({"a": [0, 10**9 - 1, 10**9], "b": [1, 10**9, 1]}).tolist() == [0, 10**18 - 1, -1]
        assert wide.decode(np.array([10**18 - 1]))["b"].tolist() == [10**9]
        with pytest.raises(NotSupported, match="leave out columns"):
            wide.encode({"a": [0], "b": [1]})

    def test_a_large_histogram_has_narrow_counts(self) -> None:
        universe = dp.Universe({"a": 2**13, "b": 2**12})
        histogram = universe.encode({"a": [0, 5, 5, -1], "b": [0, 7, 7, 0]})
        assert (histogram.dtype, histogram.size, histogram.sum()) == (np.int32, 2**25, 3)
        assert histogram[[0, 5 * 2**12 + 7]].tolist() == [1, 2]

    def test_a_million_rows_take_well_under_a_second(self) -> None:
        """No loop over rows: 5e5 rows of 7 columns in the time that one Python step a value would take."""
        source, rows = np.random.default_rng(1), 500_000
        words = [f"value {i}" for i in range(15)]
        universe = dp.Universe({f"c{i}": dp.Category(words) for i in range(3)} | {f"i{i}": 16 for i in range(4)})
        data: dict[str, object] = {f"c{i}": np.array(words, object)[source.integers(0, 15, rows)] for i in range(3)}
        frame = pd.DataFrame(data | {f"i{i}": source.integers(0, 17, rows) for i in range(4)})
        before = time.process_time()
        codes = universe.codes(frame)
        assert time.process_time() - before < 3.5  # 3.5e6 values; half a second on the slowest machine seen
        assert (codes >= 0).any()


class TestDeclarations:
    def test_extra_cells_come_last(self) -> None:
        ward = EXTRA.columns["ward"]
        assert (ward.size, ward.declared, ward.extra) == (5, 3, ("elsewhere", "unknown"))
        assert [ward.value(place) for place in range(5)] == ["north", "south", "icu", "elsewhere", "unknown"]
        assert EXTRA.cell(ward="west", grade=3, age=18, seen=None, cost=1, day=DAY) >= 0  # type: ignore[arg-type]
        assert repr(ward) == "Category(values=('north', 'south', 'icu'), other='elsewhere', null='unknown')"
        assert repr(dp.Boolean()) == "Boolean()"
        assert ward != dp.Category(["north", "south", "icu"])
        assert {ward, dp.Category(ward.values, other="elsewhere", null="unknown")} == {ward}  # type: ignore[arg-type]

    @pytest.mark.parametrize("names", [{"other": "a"}, {"null": "a"}, {"other": "x", "null": "x"}, {"other": True}])
    def test_the_name_of_a_cell_is_its_own(self, names: dict[str, str]) -> None:
        with pytest.raises(InvalidParameter, match=r"other|null"):
            dp.Category(["a", "b"], **names)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="declared value already"):
            dp.Integer(0, 5, other=3)
        with pytest.raises(InvalidParameter, match="names a cell"):
            dp.Boolean(null=1.5)

    def test_a_table_for_sql_refuses_extra_cells(self) -> None:
        """SQL does not count them yet; left there in silence they would hold nothing."""
        for column in (dp.Category(["a"], other="b"), dp.Integer(0, 1, null=-1), dp.Boolean(null="none")):
            with pytest.raises(NotSupported, match="leave them out here"):
                dc.Table(pd.DataFrame({"a": [1]}), columns={"a": column}, name="t")

    @pytest.mark.parametrize("edges", [[], [0], [0, 0], [1, 0], [0, float("nan")], [0, 1e400], ["a", "b"], [0, 1, 1]])
    def test_bins_have_edges_in_order(self, edges: list[float]) -> None:
        with pytest.raises(InvalidParameter):
            dp.Bins(edges)

    def test_edges_that_are_one_float_are_refused(self) -> None:
        with pytest.raises(InvalidParameter):
            dp.Bins([0, Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)])

    def test_bins_of_a_real_have_equal_width(self) -> None:
        bins = dp.Real(0, 1).bins(3)
        assert bins.edges == (0, Fraction(1, 3), Fraction(2, 3), 1)
        assert (bins.size, dp.Real(0, 1).bins(2, other=-1).size) == (3, 3)
        assert bins.values == pytest.approx([1 / 6, 1 / 2, 5 / 6])
        assert [bins.place(value) for value in bins.values] == [0, 1, 2]
        for count in (0, -1, 1.5):
            with pytest.raises(InvalidParameter):
                dp.Real(0, 1).bins(count)  # type: ignore[arg-type]

    def test_neighbouring_floats_make_a_bin(self) -> None:
        bins = dp.Bins([1.0, np.nextafter(1.0, 2), 2.0])
        assert [bins.place(value) for value in bins.values] == [0, 1]

    def test_a_universe_can_be_copied_and_stored(self) -> None:
        assert pickle.loads(pickle.dumps(EXTRA)) == EXTRA == copy.deepcopy(EXTRA)
