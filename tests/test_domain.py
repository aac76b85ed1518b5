"""`domain`: public facts about columns, and the numbering of the cells of their product."""

import math
import time
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import examples
from tests.sizes import sized

DAY, NOON = date(2026, 1, 1), datetime(2026, 1, 1, 12)
NO_LISTS = [
    None,
    5,
    1.5,
    True,
    object(),
    iter("ab"),
    (v for v in "ab"),
    b"ab",
    len,
    DAY,
    np.array(5),
    np.array([[1, 2]]),
]
WARD, AGE = dp.Category(["north", "south", "icu"]), dp.Integer(18, 21)


class TestColumns:
    def test_values_are_kept_in_order(self) -> None:
        assert (WARD.values, WARD.size) == (("north", "south", "icu"), 3)
        assert (list(AGE.values), AGE.size) == ([18, 19, 20, 21], 4)
        assert (list(dp.Boolean().values), dp.Boolean().size) == ([False, True], 2)
        days = dp.Date(DAY, DAY + timedelta(days=2))
        assert (days.size, days.values[-1]) == (3, date(2026, 1, 3))
        assert dp.Integer(-(2**63), 2**63 - 1).size == 2**64
        assert dp.Datetime(NOON, NOON, zone="Europe/Zurich", step="5m").seconds == 300

    @pytest.mark.parametrize(
        "values",
        ["abc", [], ["a", "a"], [1, "a"], [True, False], [1.5], [None], {"a", "b"}, [b"a"], [["a"]], *NO_LISTS],
    )
    def test_a_category_is_a_list_of_different_values_of_one_kind(self, values: object) -> None:
        with pytest.raises(InvalidParameter, match="Category takes"):
            dp.Category(values)

    @pytest.mark.parametrize("edges", ["12", *NO_LISTS])
    def test_bins_take_a_list(self, edges: object) -> None:
        with pytest.raises(InvalidParameter, match=r"Bins takes a list of numbers, .*write list\("):
            dp.Bins(edges)

    def test_an_array_of_one_axis_is_a_list(self) -> None:
        assert dp.Category(np.array(["b", "a"])) == dp.Category(["b", "a"])
        assert repr(dp.Category(np.array([2, 1]))) == repr(dp.Category([2, 1]))
        assert dp.Bins(np.linspace(0, 1, 5)) == dp.Bins([0, 0.25, 0.5, 0.75, 1])

    @pytest.mark.parametrize(
        "bounds", [(1, 0), (0.5, 1), (0, 2**63), (-(2**63) - 1, 0), (math.nan, 1), (0, math.inf), (True, 2)]
    )
    def test_integer_bounds_are_whole_in_order_and_fit_64_bits(self, bounds: tuple[int, int]) -> None:
        with pytest.raises(InvalidParameter):
            dp.Integer(*bounds)

    @pytest.mark.parametrize("bounds", [(1, 1), (1, 0), (0, math.inf), (math.nan, 1), ("x", 1)])
    def test_real_bounds_are_finite_and_in_order(self, bounds: tuple[float, float]) -> None:
        with pytest.raises(InvalidParameter):
            dp.Real(*bounds)

    @pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, "x", True])
    def test_a_step_is_above_zero(self, step: object) -> None:
        with pytest.raises(InvalidParameter):
            dp.Real(0, 1, step=step)

    @examples(max_examples=sized(200, 5_000))
    @given(st.fractions(), st.fractions())
    def test_a_step_left_out_is_the_next_power_of_two(self, one: Fraction, two: Fraction) -> None:
        """The range divided by 2^20, rounded up to a power of two."""
        if one != two:
            step, exact = dp.Real(min(one, two), max(one, two)).step, abs(one - two) / 2**20
            assert exact <= step < 2 * exact
            assert 1 in (step.numerator, step.denominator)
            assert step.numerator & (step.numerator - 1) == step.denominator & (step.denominator - 1) == 0

    def test_days_and_instants_are_in_order_and_of_their_kind(self) -> None:
        for first, last in ((date(2026, 1, 2), DAY), (NOON, NOON), ("2026-01-01", DAY)):
            with pytest.raises(InvalidParameter):
                dp.Date(first, last)
        aware = NOON.replace(tzinfo=timezone.utc)  # noqa: UP017
        for first, last in ((aware, aware), (DAY, NOON), (NOON, NOON - timedelta(seconds=1)), (pd.NaT, NOON)):
            with pytest.raises(InvalidParameter):
                dp.Datetime(first, last, zone="UTC")

    @pytest.mark.parametrize("zone", ["Nowhere/Land", "", "../UTC", "\0", 5, None, True, b"UTC", ["UTC"]])
    def test_a_zone_exists(self, zone: str) -> None:
        with pytest.raises(InvalidParameter, match="time zone"):
            dp.Datetime(NOON, NOON, zone=zone)

    @pytest.mark.parametrize(
        "step", ["", "s", "0s", "-1s", "1.5s", "1y", "5", "²s", "1" * 9999 + "s", 5, None, ["5m"], {}]
    )
    def test_a_step_is_a_number_and_a_unit(self, step: str) -> None:
        with pytest.raises(InvalidParameter, match="step is"):
            dp.Datetime(NOON, NOON, zone="UTC", step=step)


class TestUniverse:
    UNIVERSE = dp.Universe(
        {"ward": WARD, "age": AGE, "seen": dp.Boolean(), "day": dp.Date(DAY, DAY + timedelta(days=1))}
    )

    def test_cells_are_numbered_in_mixed_radix_with_the_last_column_fastest(self) -> None:
        rows = list(self.UNIVERSE)
        assert len(rows) == self.UNIVERSE.size == 3 * 4 * 2 * 2
        assert [self.UNIVERSE.cell(**row) for row in rows] == list(range(48))
        assert self.UNIVERSE.shape == (3, 4, 2, 2)
        grid = np.arange(48).reshape(self.UNIVERSE.shape)
        assert self.UNIVERSE.cell(ward="icu", age=19, seen=True, day=DAY) == grid[2, 1, 1, 0]
        assert len({tuple(row.items()) for row in rows}) == 48

    def test_a_size_stands_for_the_numbers_below_it(self) -> None:
        assert dp.Universe({"age": 85}) == dp.Universe({"age": dp.Integer(0, 84)})

    def test_the_order_of_the_columns_matters(self) -> None:
        one, two = dp.Universe({"a": 2, "b": 3}), dp.Universe({"b": 3, "a": 2})
        assert one.cell(a=1, b=0) != two.cell(a=1, b=0)
        assert one != two
        assert one == dp.Universe({"a": 2, "b": 3})
        assert hash(one) == hash(dp.Universe({"a": 2, "b": 3}))
        assert one != "universe"

    @pytest.mark.parametrize(
        "columns",
        [
            {},
            {"a": dp.Real(0, 1)},
            {"a": dp.Text()},
            {"a": 0},
            {"a": -1},
            {"a": True},
            {"a": "b"},
            {"a": None},
            {"a": 10**18 + 1},
            *(5, None, "abc", ["a"], [("a", 2)], np.array([1, 2]), 1.5, object(), type),
        ],
    )
    def test_only_columns_with_a_list_of_values_make_a_universe(self, columns: dict[str, object]) -> None:
        with pytest.raises(InvalidParameter):
            dp.Universe(columns)

    def test_a_row_names_every_column_and_holds_declared_values(self) -> None:
        row = {"ward": "icu", "age": 18, "seen": True, "day": DAY}
        for change in (
            {"ward": "west"},
            {"age": 22},
            {"age": True},
            {"age": 18.5},
            {"age": "18"},
            {"seen": 1},
            {"day": NOON},
        ):
            with pytest.raises(InvalidParameter):
                self.UNIVERSE.cell(**(row | change))
        for wrong in ({"ward": "icu"}, row | {"more": 1}):
            with pytest.raises(InvalidParameter, match="names every column once"):
                self.UNIVERSE.cell(**wrong)
        for cell in (-1, 48, None, "5", 1.5, True, [1], np.array([1, 2]), DAY, math.nan):
            with pytest.raises(InvalidParameter, match="a cell is a number from 0 to 47"):
                self.UNIVERSE.row(cell)
        assert self.UNIVERSE.row(np.int64(47)) == self.UNIVERSE.row(47)

    @pytest.mark.parametrize("codes", [None, "ab", ["a"], [None], [math.nan], object(), {}, DAY])
    def test_only_numbers_of_cells_are_decoded(self, codes: object) -> None:
        with pytest.raises(InvalidParameter, match="a cell is a number from 0 to 47"):
            self.UNIVERSE.decode(codes)

    def test_a_value_of_another_kind_is_found_or_refused_at_once(self) -> None:
        """A range is searched from end to end for anything that is not an int."""
        wide, before = dp.Universe({"id": 10**17}), time.process_time()
        assert wide.cell(id=np.int64(10**17 - 1)) == 10**17 - 1
        for value in (10**17, 0.5, "x", DAY):
            with pytest.raises(InvalidParameter):
                wide.cell(id=value)
        assert time.process_time() - before < 5

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(TypeError):
            self.UNIVERSE.columns["more"] = AGE  # type: ignore[index]
        with pytest.raises(AttributeError):
            AGE.upper = 10  # type: ignore[misc]
