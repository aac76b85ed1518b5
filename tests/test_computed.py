"""Functions of released columns: SQL's NULLs and logic, and intervals that hold every result that could be meant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.engine.cells import listed
from discreet.engine.computed import Column, applied
from discreet.engine.interval import Numeric, Plain, exact


def noisy(values: list[float], *, error: float = 2.0, whole: bool = False) -> Numeric:
    value = np.array(values, dtype=np.float64)
    return Numeric(value, value - error, value + error, np.zeros(len(values), dtype=bool), whole)


def of(function: str, *columns: Any) -> list[Any]:
    """The results, row by row, with None for NULL."""
    made = [column if isinstance(column, Numeric | Plain) else listed(column) for column in columns]
    found = applied(function, made)
    pairs = zip(found.value.tolist(), found.null.tolist(), strict=True)
    return [None if null else value for value, null in pairs]


class TestValues:
    @pytest.mark.parametrize(
        ("function", "operands", "expected"),
        [
            ("add", ([1, None], [2, 3]), [3, None]),
            ("sub", ([1], [2]), [-1]),
            ("mul", ([3, 0], [2, 5]), [6, 0]),
            ("div", ([1, 1, 0], [4, 0, 0]), [0.25, None, None]),
            ("intdiv", ([-7, 7, 1], [2, 2, 0]), [-3, 3, None]),
            ("mod", ([-7, 7, 1], [2, -2, 0]), [-1, 1, None]),
            ("neg", ([1],), [-1]),
            ("abs", ([-3],), [3]),
            ("floor", ([-1.5],), [-2]),
            ("ceil", ([-1.5],), [-1]),
            ("trunc", ([-1.5],), [-1]),
            ("round", ([-2.5, 2.5, 1.4],), [-3, 3, 1]),
            ("round", ([1.256], [2]), [1.26]),
            ("round", ([1256], [-2]), [1300]),
            ("sign", ([-2, 0, 5],), [-1, 0, 1]),
            ("sqrt", ([4, -1],), [2, None]),
            ("ln", ([1, 0, -1],), [0, None, None]),
            ("exp", ([0, 1000],), [1, None]),
            ("power", ([2, -8, 0], [3, 0.5, -1]), [8, None, None]),
            ("least", ([1, None, None], [2, 3, None]), [1, 3, None]),
            ("greatest", ([1, None], [2, 3]), [2, 3]),
            ("cast_integer", ([2.5, -2.5],), [3, -3]),
            ("cast_real", ([2],), [2]),
            ("coalesce", ([None, 1], [5, 6]), [5, 1]),
            ("coalesce", ([None], ["a"]), ["a"]),
            ("nullif", ([1, 2], [1, 1]), [None, 2]),
            ("nullif", (["a", "b"], ["a", "a"]), [None, "b"]),
        ],
    )
    def test_functions(self, function: str, operands: tuple[list[Any], ...], expected: list[Any]) -> None:
        for value, wanted in zip(of(function, *operands), expected, strict=True):
            assert value == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)

    @pytest.mark.parametrize(
        ("function", "expected"), [("eq", 0), ("ne", 1), ("lt", 2), ("le", 3), ("gt", 4), ("ge", 5)]
    )
    def test_comparisons_of_numbers_texts_and_days(self, function: str, expected: int) -> None:
        table = [(False, True, False), (True, False, True), (True, False, False), (True, True, False)]
        table += [(False, False, True), (False, True, True)]
        for low, middle, high in ((1, 2, 3), ("a", "b", "c"), (date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3))):
            found = of(function, [low, middle, high, None], [middle] * 4)
            assert found == [*table[expected], None]

    def test_logic_is_three_valued(self) -> None:
        values = [True, False, None]
        left, right = zip(*itertools.product(values, values), strict=True)

        def both(x: bool | None, y: bool | None) -> bool | None:
            return False if x is False or y is False else None if None in (x, y) else True

        def either(x: bool | None, y: bool | None) -> bool | None:
            return True if x is True or y is True else None if None in (x, y) else False

        assert of("and", list(left), list(right)) == [both(x, y) for x, y in zip(left, right, strict=True)]
        assert of("or", list(left), list(right)) == [either(x, y) for x, y in zip(left, right, strict=True)]
        assert of("not", values) == [False, True, None]
        assert of("is_true", values) == [True, False, False]
        assert of("is_false", values) == [False, True, False]
        assert of("is_null", values) == [False, False, True]

    def test_lists_ranges_and_patterns(self) -> None:
        assert of("in", [1, 2, None, 3], [1] * 4, [2] * 4) == [True, True, None, False]
        assert of("in", [1, 2], [1, 1], [None, None]) == [True, None]
        assert of("between", [1, 5, None], [1] * 3, [4] * 3) == [True, False, None]
        assert of("like", ["north.x", "northx", None], ["north._"] * 3) == [True, False, None]
        assert of("like", ["a\nb", "ab"], ["a%b"] * 2) == [True, True]
        assert of("is_not_distinct", [1, None, None], [1, 1, None]) == [True, False, True]

    def test_a_case_takes_the_first_true_branch(self) -> None:
        conditions = ([True, False, None, False], [True, True, False, None])
        found = of("case", conditions[0], [1] * 4, conditions[1], [2] * 4, [None] * 4)
        assert found == [1, 2, None, None]
        assert of("case", conditions[0], ["a"] * 4, ["b"] * 4) == ["a", "b", "b", "b"]

    def test_whole_numbers_stay_whole_where_they_do(self) -> None:
        n = noisy([5], whole=True)
        for function, columns in {"add": [n, n], "mul": [n, n], "neg": [n], "abs": [n], "intdiv": [n, n]}.items():
            found = applied(function, list(columns))
            assert isinstance(found, Numeric)
            assert found.whole
        for function, columns in {"div": [n, n], "sqrt": [n], "cast_real": [n]}.items():
            found = applied(function, list(columns))
            assert isinstance(found, Numeric)
            assert not found.whole

    @pytest.mark.parametrize(
        ("function", "columns"),
        [
            ("add", (["a"], [1])),
            ("sqrt", ([True],)),
            ("not", ([1],)),
            ("and", ([True], ["a"])),
            ("lt", (["a"], [1])),
            ("case", ([True], [1], ["a"])),
            ("date_trunc", (["month"], [date(2026, 1, 1)])),
            ("system", ([1],)),
        ],
    )
    def test_what_has_no_meaning_is_refused(self, function: str, columns: tuple[list[Any], ...]) -> None:
        with pytest.raises(dc.NotSupported):
            of(function, *columns)


NUMBERS: dict[str, Callable[..., float]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "intdiv": lambda x, y: math.trunc(x / y),
    "mod": math.fmod,
    "power": lambda x, y: x**y,
    "least": min,
    "greatest": max,
    "neg": lambda x: -x,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
    "round": lambda x: math.trunc(x + math.copysign(0.5, x)),
    "sign": lambda x: math.copysign(1, x) if x else 0,
}


class TestIntervals:
    """The interval of a result holds the result of every choice of operands from theirs."""

    @pytest.mark.parametrize("function", NUMBERS)
    def test_every_result_is_inside(self, function: str) -> None:
        values = np.array([-7.5, -3.0, -1.0, 0.0, 0.5, 2.0, 4.0, 9.0])
        two = function in ("add", "sub", "mul", "div", "intdiv", "mod", "power", "least", "greatest")
        left, right = (part.ravel() for part in np.meshgrid(values, values))
        columns: list[Column] = [noisy(left.tolist(), error=1.5), noisy(right.tolist(), error=0.75)][: 1 + two]
        found = applied(function, columns)
        assert isinstance(found, Numeric)
        shifts = np.linspace(-1, 1, 9)
        checked = 0
        for row in range(left.size):
            for one, other in itertools.product(shifts * 1.5, shifts * 0.75 if two else [0.0]):
                operands = [float(left[row] + one), float(right[row] + other)][: 1 + two]
                try:
                    result = NUMBERS[function](*operands)
                except (ValueError, ZeroDivisionError, OverflowError):
                    continue  # it is NULL there
                if isinstance(result, complex) or found.null[row]:
                    continue
                checked += 1
                assert found.low[row] - 1e-9 <= result <= found.high[row] + 1e-9
        assert checked > 200

    def test_known_operands_have_known_results(self) -> None:
        x, y = exact(np.array([7.0, 9.0]), whole=True), exact(np.array([2.0, 4.0]), whole=True)
        for function in ("add", "sub", "mul", "div", "mod", "power", "least", "intdiv"):
            found = applied(function, [x, y])
            assert isinstance(found, Numeric)
            assert found.error.tolist() == [0, 0]

    def test_a_divisor_that_may_be_0_leaves_no_end(self) -> None:
        found = applied("div", [noisy([10]), noisy([1])])
        assert isinstance(found, Numeric)
        assert found.value.tolist() == [10]
        assert found.error.tolist() == [math.inf]

    def test_a_choice_by_a_noisy_condition_holds_both_branches(self) -> None:
        """Another draw of the noise could have taken the other one."""
        n, zero = noisy([10.0], error=1), listed([0])
        condition = applied("gt", [n, listed([9.5])])
        found = applied("case", [condition, n, zero])
        assert isinstance(found, Numeric)
        assert (found.value.tolist(), found.low.tolist(), found.high.tolist()) == ([10], [0], [11])
        sure = applied("case", [applied("gt", [listed([1]), listed([0])]), n, zero])
        assert isinstance(sure, Numeric)
        assert (sure.low.tolist(), sure.high.tolist()) == ([9], [11])


@pytest.mark.parametrize(
    "asked",
    [
        "COALESCE(AVG(x), 0)",
        "LEAST(AVG(x), 450)",
        "GREATEST(AVG(x), 1)",
        "CASE WHEN AVG(x) IS NULL THEN 0 ELSE AVG(x) END",
    ],
)
def test_what_is_null_by_its_noise_has_an_interval_all_the_same(asked: str) -> None:
    """The group b has one row, of 400: its mean is not told, and what stands for it is not sure."""
    rows = pd.DataFrame({"g": ["a"] * 500 + ["b"], "x": [100] * 500 + [400]})
    columns = {"g": dc.Category(["a", "b"]), "x": dc.Integer(0, 500)}
    session = dc.Session(
        dc.Table(rows, name="t", columns=columns), budget=dc.Budget(epsilon=100), ledger=dc.memory_ledger()
    )
    answer = session.sql(f"SELECT g, {asked} AS m FROM t GROUP BY g", epsilon=2)
    errors = answer.errors["m"]
    assert not isinstance(errors, int | float)
    assert errors[1] is None or abs(answer.columns["m"][1] - 400) <= errors[1]  # type: ignore[operator]
