"""The meaning of expressions: kinds, grids, ranges, and one normal form for every way to write the same."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

import discreet as dc
from discreet import dp
from discreet.engine.expression import (
    MOST,
    Comparison,
    Constant,
    Day,
    Instant,
    Member,
    Number,
    Prefix,
    day_number,
)
from discreet.engine.kinds import column
from tests.asked import condition, key, number, plan

CENT = Fraction(1, 100)


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "step", "low", "high"),
        [
            ("age", 1, 0, 110),
            ("cost", CENT, 0, 50_000),
            ("age + 1", 1, 1, 111),
            ("age - balance", 1, -300, 810),
            ("age + 0.5", Fraction(1, 2), 1, 221),
            ("age * 2", 2, 0, 110),
            ("age * -2", 2, -110, 0),
            ("age * 0.5", Fraction(1, 2), 0, 110),
            ("age / 4", Fraction(1, 4), 0, 110),
            ("age * balance", 1, -77_000, 33_000),
            ("balance * balance", 1, 0, 490_000),
            ("age // 10", 1, 0, 11),
            ("age // 10 * 10", 10, 0, 11),
            ("balance // 7", 1, -100, 42),
            ("balance // -7", 1, -42, 100),
            ("age % 7", 1, 0, 6),
            ("balance % 7", 1, -6, 6),
            ("age % 200", 1, 0, 110),
            ("-balance", 1, -300, 700),
            ("ABS(balance)", 1, 0, 700),
            ("SIGN(balance)", 1, -1, 1),
            ("SIGN(age)", 1, 0, 1),
            ("ROUND(cost)", 1, 0, 500),
            ("ROUND(cost, 1)", Fraction(1, 10), 0, 5_000),
            ("ROUND(age, -1)", 10, 0, 11),
            ("FLOOR(rate)", 1, -1, 3),
            ("CEIL(rate)", 1, -1, 3),
            ("TRUNC(rate)", 1, -1, 3),
            ("LEAST(cost, 200)", CENT, 0, 20_000),
            ("GREATEST(balance, 0)", 1, 0, 300),
            ("GREATEST(balance, age)", 1, -700, 300),
            ("COALESCE(balance, 1000)", 1, -700, 1000),
            ("CASE WHEN old THEN age ELSE 200 END", 1, 0, 200),
            ("CASE WHEN old THEN age END", 1, 0, 110),
            ("NULLIF(age, 0)", 1, 0, 110),
            ("grade", 1, 1, 7),
            ("grade + age", 1, 1, 117),
            ("CAST(old AS INTEGER)", 1, 0, 1),
            ("CAST(age AS DOUBLE)", 1, 0, 110),
            ("day - DATE '2023-11-20'", 1, 0, 840),
            ("year(day)", 1, 2023, 2026),
            ("month(day)", 1, 1, 12),
            ("hour(moment)", 1, 0, 23),
        ],
    )
    def test_each_has_its_grid_and_its_range(self, text: str, step: Fraction | int, low: int, high: int) -> None:
        assert number(text).kind == Number(Fraction(step), low, high)

    def test_a_quotient_of_columns_has_a_fixed_grid(self) -> None:
        kind = number("cost / age").kind
        assert isinstance(kind, Number)
        assert kind.step == Fraction(512, 2**30)  # 500 / 1 at most
        assert (kind.low, kind.high) == (0, 500 * 2**21)

    def test_division_by_zero_is_null(self) -> None:
        with pytest.raises(dc.NotSupported, match="constant needs no rows"):
            number("age / 0")
        assert condition("age / 0 > 3") == Constant(None, condition("age > 3").kind)  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "text", ["huge * age * age", "huge * huge", "id * id * id", "huge + 0.001", "huge * few + huge"]
    )
    def test_what_might_be_beyond_62_bits_is_refused(self, text: str) -> None:
        with pytest.raises(dc.NotSupported, match=r"2\^62 steps.*declare tighter bounds"):
            number(f"({text}) % 5 + age")

    def test_the_last_integer_that_fits(self) -> None:
        kind = number("huge * few").kind
        assert isinstance(kind, Number)
        assert kind.high == MOST


SAME = [
    ("age > 3", "3 < age", "age >= 4", "age >= 3.5", "NOT 3 >= age AND age > 3"),
    ("age BETWEEN 3 AND 5", "age <= 5 AND age >= 3", "3 <= age AND 5 >= age"),
    ("age > 3 AND old AND cost < 5", "cost < 5 AND (old AND age > 3)", "old AND cost < 5 AND age > 3 AND old"),
    ("age = 3 OR age = 5", "age = 5 OR 3 = age"),
    ("age IN (3, 5, 500)", "age IN (5, 3, 3)", "age IN (5.0, 3)"),
    ("age IN (3)", "age = 3"),
    ("ward = 'north'", "'north' = ward", "ward IN ('north')", "ward LIKE 'nor%'", "ward IN ('north', 'nowhere')"),
    ("ward <> 'north'", "NOT ward = 'north'", "ward NOT IN ('north')", "NOT NOT ward <> 'north'"),
    ("ward LIKE '%o%th'", "ward IN ('south', 'north')", "ward LIKE '_o%'"),
    ("old", "old = TRUE", "old <> FALSE", "TRUE = old", "old AND TRUE", "old OR FALSE", "NOT NOT old"),
    ("NOT old", "old = FALSE", "old <> TRUE"),
    ("day >= '2024-01-01'", "day >= DATE '2024-01-01'", "DATE '2023-12-31' < day", "day > DATE '2023-12-31'"),
    ("moment >= '2024-01-01'", "moment >= TIMESTAMP '2024-01-01 00:00:00'", "moment > '2023-12-31 23:59:59'"),
    ("day > TIMESTAMP '2024-01-01 12:00:00'", "day >= '2024-01-02'"),
    ("age + balance > 3", "balance + age >= 4"),
    ("age < balance", "balance > age"),
    ("age = balance", "balance = age"),
    ("age - 3 = 5", "age + -3 = 5"),
    ("CAST(moment AS DATE) = '2024-01-01'", "CAST('2024-01-01' AS DATE) = CAST(moment AS DATE)"),
    ("age IS NULL", "NOT age IS NOT NULL"),
    ("COALESCE(age, NULL, 3) > 2", "COALESCE(age, 3, balance) >= 3"),
]


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_every_way_to_write_the_same_is_one_plan(texts: tuple[str, ...]) -> None:
    first, *others = (condition(text) for text in texts)
    assert first is not None
    for other in others:
        assert repr(other) == repr(first)


class TestComparisons:
    def test_a_constant_between_two_steps_is_equal_to_nothing(self) -> None:
        found = condition("cost = 0.001")
        assert isinstance(found, Comparison)
        assert (found.operator, found.right.value) == ("=", -1)  # type: ignore[union-attr]  # below the range

    @pytest.mark.parametrize(
        ("text", "operator", "integer"),
        [
            ("cost > 0.1", ">=", 11),
            ("cost >= 0.1", ">=", 10),
            ("cost < 0.101", "<=", 10),
            ("rate > 0.1", ">=", 26_215),  # 0.1 is no multiple of 2^-18, and is not rounded to one
            ("rate <= 0.1", "<=", 26_214),
            ("age > 1000", ">=", 111),
            ("age < -5", "<=", -1),
            ("age > -5", ">=", 0),
            ("age <= 123456789012345678901234567890", "<=", 110),
            ("ward = 'nowhere'", "=", -1),
            ("ward = 'North'", "=", -1),
            ("ward = 'north '", "=", -1),
            ("ward LIKE 'x%'", "=", -1),
            ("ward IN ('x', 'y')", "=", -1),
            ("grade = 7", "=", 2),
            ("grade = 7.5", "=", -1),
            ("day < '1950-01-01'", "<=", day_number(date(2023, 11, 19))),
        ],
    )
    def test_with_a_constant_it_is_exact(self, text: str, operator: str, integer: int) -> None:
        found = condition(text)
        assert isinstance(found, Comparison)
        assert isinstance(found.right, Constant)
        assert (found.operator, found.right.value) == (operator, integer)

    def test_what_is_in_no_list_still_knows_null(self) -> None:
        assert "Constant(value=-1" in repr(condition("NOT ward = 'nowhere'"))
        assert "IsNull" not in repr(condition("ward IN ('x')"))

    def test_null_among_options(self) -> None:
        found = repr(condition("ward IN ('icu', NULL)"))
        assert "'or'" in found
        assert "value=None" in found

    def test_private_texts(self) -> None:
        assert isinstance(condition("code LIKE 'J%'"), Prefix)
        equal, listed = condition("code LIKE 'J06'"), condition("code IN ('b', 'a')")
        assert isinstance(equal, Comparison)
        assert equal.operator == "="
        assert isinstance(listed, Member)
        assert listed.values == ("a", "b")

    def test_two_grids_meet(self) -> None:
        found = condition("cost < rate")
        assert isinstance(found, Comparison)
        assert found.left.kind.step == found.right.kind.step == Fraction(1, 25 * 2**18)  # type: ignore[union-attr]


class TestDates:
    def test_a_day_moves_by_whole_days(self) -> None:
        assert key("day + 7").kind == Day(day_number(date(2023, 11, 27)), day_number(date(2026, 3, 16)))
        assert key("day - 7").kind == Day(day_number(date(2023, 11, 13)), day_number(date(2026, 3, 2)))

    def test_cut_to_a_unit(self) -> None:
        assert key("date_trunc('month', day)").kind == Day(day_number(date(2023, 11, 1)), day_number(date(2026, 3, 1)))
        ends = (datetime(2023, 12, 30, 22), datetime(2025, 6, 1))
        low, high = (int((end - datetime(1970, 1, 1)).total_seconds()) for end in ends)
        assert key("date_trunc('hour', moment)").kind == Instant(low, high, "Europe/Zurich")

    @pytest.mark.parametrize(
        ("text", "low", "high"),
        [
            ("year(born)", 1900, 2026),
            ("week(LEAST(day, DATE '2025-12-28'))", 1, 52),  # 2026 is the year with 53
            ("week(born)", 1, 53),
            ("dayofweek(day)", 0, 6),
            ("isodow(day)", 1, 7),
            ("quarter(LEAST(day, DATE '2023-12-05'))", 4, 4),
            ("hour(LEAST(moment, TIMESTAMP '2023-12-30 23:00:00'))", 22, 23),
            ("minute(LEAST(moment, TIMESTAMP '2023-12-30 22:30:00'))", 15, 30),
            ("year(LEAST(day, DATE '2024-01-05'))", 2023, 2024),
            ("month(LEAST(day, DATE '2023-12-05'))", 11, 12),
        ],
    )
    def test_a_part_has_its_range(self, text: str, low: int, high: int) -> None:
        assert number(f"{text} + 0").kind == Number(Fraction(1), low, high)


class TestParameters:
    @pytest.mark.parametrize(
        ("text", "parameter", "written"),
        [
            ("age > $x", 3, "age > 3"),
            ("cost > $x", 0.1, "cost > 0.1"),
            ("cost > $x", Fraction(1, 10), "cost > 0.1"),
            ("ward = $x", "icu", "ward = 'icu'"),
            ("day > $x", date(2024, 1, 1), "day > '2024-01-01'"),
            ("moment > $x", datetime(2024, 1, 1, 12), "moment > '2024-01-01 12:00:00'"),
            ("old = $x", True, "old"),
            ("COALESCE($x, age) > 3", None, "age > 3"),
        ],
    )
    def test_one_stands_for_its_value(self, text: str, parameter: Any, written: str) -> None:
        assert condition(text, {"x": parameter}) == condition(written)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            (None, r"\$x has no value \(line 1, column 46\); add parameters="),
            ({"x": 3, "y": 4}, "'y', which the question does not use"),
            ({"x": float("nan")}, "finite number"),
            ({"x": [1]}, "not a list"),
            (["x"], "dict of names"),
        ],
    )
    def test_what_fits_no_place_is_refused(self, parameters: Any, message: str) -> None:
        with pytest.raises(dc.InvalidParameter, match=message):
            condition("age > $x", parameters)


def test_a_chain_of_conditions_may_be_long() -> None:
    many = " OR ".join(f"(age > {i} AND cost < {i})" for i in range(300))
    assert condition(many) is not None


@pytest.mark.parametrize("text", ["+ age" * 200, "+ ABS(age - 3 " * 30 + ")" * 30])
def test_what_is_too_long_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(dc.NotSupported, match=r"levels deep|operations for each row|nested|in each other"):
        number(f"age {text}")


def test_expressions_do_not_show_their_domain() -> None:
    assert "south" not in repr(plan("SELECT ward, COUNT(*) AS n FROM visits WHERE origin = ward GROUP BY ward").keys)


def test_two_lists_are_compared_by_their_values() -> None:
    found = condition("ward = origin")
    assert isinstance(found, Comparison)
    tables = {part.table for part in (found.left, found.right) if not hasattr(part, "name")}  # type: ignore[union-attr]
    assert tables == {(2, 3, 0)}  # icu, er, north in the list of wards, to which er is added


PRODUCTS = "age" + f" * {10**50 + 1}" * 15
FRACTIONS = "".join(f", age / {10**50 + i}" for i in range(20))


@pytest.mark.parametrize("text", [PRODUCTS, f"LEAST(age{FRACTIONS})"], ids=["products", "fractions"])
def test_a_number_has_a_grid_of_few_digits(text: str) -> None:
    with pytest.raises(dc.NotSupported, match="too many digits"):
        number(text)


def test_a_column_of_too_many_steps_is_refused() -> None:
    with pytest.raises(dc.NeedsDeclaration, match=r"more than 2\^62 steps; declare tighter bounds"):
        column(0, "x", dp.Real(0, 2**62, step="0.5"), None)
