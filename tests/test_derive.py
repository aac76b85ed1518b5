"""From released numbers to an answer: what is shown, in which order, and error bars that hold as often as they say."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.cells import legible, listed
from discreet.engine.derive import derived
from discreet.engine.expression import Coded, Column
from discreet.engine.interval import Numeric
from discreet.engine.plan import (
    Computed,
    Given,
    Histogram,
    Key,
    KeyOf,
    Order,
    QuantileOf,
    Released,
    Total,
)
from discreet.engine.released import Numbers, Release
from tests.handmade import (
    ADDED,
    AGE,
    AGES,
    BY_SEX,
    BY_TOWN,
    COST,
    DEVIATION,
    KEY,
    MEAN,
    MEAN_AGE,
    ROWS,
    SPREAD,
    VARIANCE,
    T,
    bought,
    exactly,
    query,
    released,
    table,
)

BUDGET = dp.Budget(epsilon=1000)
KEYED = dp.Budget(epsilon=1000, delta=1e-9, delta_add=5e-10)
N = Released(0)
COUNTS = query(ROWS, outputs=[("sex", KEY), ("n", N)], keys=[BY_SEX])


class TestWhatIsShown:
    def test_counts_are_integers_with_one_error(self) -> None:
        shown = derived(COUNTS, released(COUNTS, [70, 90], epsilon="0.1"))
        assert shown.columns["sex"] == ("f", "m")
        assert all(type(value) is int for value in shown.columns["n"])
        assert shown.errors == {"n": 30}

    def test_sums_are_in_their_own_unit(self) -> None:
        asked = query(Total(COST), outputs=[("cost", N)])
        shown = derived(asked, exactly(asked, 2001))  # steps of a half
        assert shown.columns == {"cost": (1000.5,)}
        assert shown.errors == {"cost": pytest.approx(3 * 100 / 40, rel=0.05)}

    def test_weighted_counts_are_shown_to_a_thousandth_of_their_error(self) -> None:
        asked = query(ROWS, outputs=[("n", N)], of=table("p", rows_per_unit=20), keys=[BY_SEX])
        release = released(asked, [700, 900], epsilon="0.1")
        shown = derived(asked, release)
        [part] = release.parts
        assert isinstance(part, Numbers)
        for value, steps in zip(shown.columns["n"], part.values.tolist(), strict=True):
            assert isinstance(value, float)
            assert value == round(value)  # errors are about 600
            assert abs(value - float(steps * part.step)) <= 0.5
        assert (
            float(part.error(Fraction(1, 20))) + 0.5
            <= shown.errors["n"]
            <= 1.002 * float(part.error(Fraction(1, 20))) + 1
        )  # type: ignore[operator]

    def test_a_mean_is_a_quotient(self) -> None:
        asked = query(*MEAN, outputs=[("age", MEAN_AGE)], keys=[BY_SEX])
        shown = derived(asked, exactly(asked, [-1000, 500], [500, 1000]))
        assert shown.columns["age"] == (48.0, 50.5)
        total = 50 / 20 * np.log(20 * 2) + 1
        for error, n in zip(shown.errors["age"], (500, 1000), strict=True):  # type: ignore[arg-type]
            assert 0.8 * total / n < error < 1.1 * total / n

    @pytest.mark.parametrize("rows", [-50, 0, 1])
    def test_a_mean_of_nobody_is_null_and_so_is_its_error(self, rows: int) -> None:
        asked = query(*MEAN, outputs=[("age", MEAN_AGE), ("twice", Computed("mul", (MEAN_AGE, Given(2))))])
        purchase = bought(asked, BUDGET, epsilon=1)
        parts = [Numbers(np.array([v]), Fraction(1), m) for v, m in zip((400, rows), purchase.mechanisms, strict=True)]  # type: ignore[arg-type]
        shown = derived(asked, Release(None, tuple(parts), Fraction(1)))
        assert shown.columns == {"age": (None,), "twice": (None,)}
        assert shown.errors == {"age": (None,), "twice": (None,)}

    def test_a_mean_stays_in_the_range_of_its_column(self) -> None:
        asked = query(*MEAN, outputs=[("age", MEAN_AGE)], keys=[BY_SEX])
        shown = derived(asked, exactly(asked, [10_000, -10_000], [100, 100]))
        assert shown.columns["age"] == (99.0, 0.0)

    @pytest.mark.parametrize("ages", [[30, 30, 40, 60], [10, 90, 50, 50, 50], [77]])
    def test_variances_are_those_of_the_rows(self, ages: list[int]) -> None:
        many = np.array(ages * 1000)
        asked = query(*SPREAD, outputs=[("v", VARIANCE), ("s", DEVIATION)])
        shown = derived(asked, exactly(asked, (many - 50).sum(), ((many - 50) ** 2).sum(), many.size))
        assert shown.columns["v"][0] == pytest.approx(many.var(ddof=1), abs=0.01)
        assert shown.columns["s"][0] == pytest.approx(many.std(), abs=0.01)

    def test_a_variance_is_never_negative(self) -> None:
        asked = query(*SPREAD, outputs=[("v", VARIANCE), ("s", DEVIATION)])
        shown = derived(asked, exactly(asked, 3000, 100, 100))
        assert shown.columns == {"v": (0.0,), "s": (0.0,)}

    def test_quantiles_have_the_values_of_their_column(self) -> None:
        days = dc.Date(date(2026, 1, 1), date(2026, 1, 31))
        day = Histogram(Column(0, "age", days, Coded(T.columns["sex"])), days)  # type: ignore[arg-type]
        asked = query(
            AGES, day, outputs=[("age", QuantileOf(0, Fraction(1, 2))), ("day", QuantileOf(1, Fraction(1, 4)))]
        )
        ages, found = np.zeros((1, 100), dtype=np.int64), np.zeros((1, 31), dtype=np.int64)
        ages[0, 40:60], found[0, 9] = 1000, 5000
        shown = derived(asked, released(asked, ages, found, budget=BUDGET, epsilon=40))
        assert shown.columns == {"age": (49,), "day": (date(2026, 1, 10),)}
        assert shown.errors == {"age": (1,), "day": (0,)}


class TestOrder:
    def test_having_keeps_rows_by_what_was_released(self) -> None:
        having = Computed("gt", (N, Given(80)))
        asked = query(ROWS, outputs=[("sex", KEY), ("n", N)], keys=[BY_SEX], having=having)
        assert derived(asked, exactly(asked, [70, 90])).columns == {"sex": ("m",), "n": (90,)}
        assert derived(asked, exactly(asked, [70, 60])).columns == {"sex": (), "n": ()}

    def test_rows_stand_in_the_order_of_the_selected_keys(self) -> None:
        age = Key(AGE, range(3), range(3))
        asked = query(ROWS, outputs=[("age", KeyOf(1)), ("n", N), ("sex", KEY)], keys=[BY_SEX, age])
        shown = derived(asked, exactly(asked, [[1, 2, 3], [4, 5, 6]]))
        assert shown.columns == {
            "age": (0, 0, 1, 1, 2, 2),
            "n": (1, 4, 2, 5, 3, 6),
            "sex": ("f", "m", "f", "m", "f", "m"),
        }

    @pytest.mark.parametrize(
        ("order", "sexes"),
        [
            ([Order(N, descending=True, nulls_first=False)], "mfu"),
            ([Order(KEY, descending=True, nulls_first=False)], "umf"),
            ([Order(Computed("nullif", (N, Given(3))), descending=False, nulls_first=True)], "mfu"),
            ([Order(Computed("nullif", (N, Given(3))), descending=False, nulls_first=False)], "fum"),
            ([Order(Computed("gt", (N, Given(0))), descending=False, nulls_first=False), Order(N, True, False)], "mfu"),
        ],
    )
    def test_order_by(self, order: list[Order], sexes: str) -> None:
        three = Key(BY_SEX.expression, ("f", "m", "u"), (0, 1, 2))
        asked = query(ROWS, outputs=[("sex", KEY)], keys=[three], order_by=tuple(order))
        assert "".join(map(str, derived(asked, exactly(asked, [2, 3, 2])).columns["sex"])) == sexes

    def test_limit_and_offset_come_last(self) -> None:
        by_count = (Order(N, descending=True, nulls_first=False),)
        ages = Key(AGE, range(5), range(5))
        asked = query(ROWS, outputs=[("age", KEY)], keys=[ages], order_by=by_count, limit=2, offset=1)
        assert derived(asked, exactly(asked, [5, 1, 4, 2, 3])).columns == {"age": (2, 4)}

    def test_private_keys_are_values_and_public_ones_beside_them_are_decoded(self) -> None:
        asked = query(ROWS, outputs=[("sex", KeyOf(1)), ("town", KEY), ("n", N)], keys=[BY_TOWN, BY_SEX])
        release = exactly(asked, [5, 6, 7], keys=(("b", 0), ("b", 1), ("a", 1)))
        assert derived(asked, release).columns == {"sex": ("f", "m", "m"), "town": ("b", "a", "b"), "n": (5, 7, 6)}


class TestLegible:
    @pytest.mark.parametrize("error", [1e-9, 0.0123, 0.999, 1.0, 12.3456, 359.48, 1e9, 1e200])
    def test_rounding_is_paid_by_the_error(self, error: float) -> None:
        digits, said = (part.item() for part in legible(np.array(error)))
        most = Fraction(1, 2 * 10**digits)
        assert Fraction(repr(said)) >= Fraction(repr(error)) + most
        assert said <= 1.002 * error + float(2 * most)

    def test_what_has_no_error_or_no_end_is_left_alone(self) -> None:
        digits, said = legible(np.array([0.0, np.inf]))
        assert (digits.tolist(), said.tolist()) == ([15, 15], [0.0, np.inf])


def test_public_values_are_numbers_truths_or_anything_else() -> None:
    numbers = listed([1, None, Fraction(1, 2)])
    assert isinstance(numbers, Numeric)
    assert (numbers.value.tolist(), numbers.null.tolist(), numbers.whole) == ([1, 0, 0.5], [False, True, False], False)
    assert listed([True, False]).value.dtype == bool
    assert listed(["a", None]).null.tolist() == [False, True]
    assert ADDED is dp.Neighbours.ADD_REMOVE
