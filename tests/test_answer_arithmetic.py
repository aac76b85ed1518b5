"""Arithmetic on answers: the interval of a result holds every result that the operands' intervals allow."""

import itertools
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.answer import Answer
from tests.sizes import sized

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def one(value: object, error: object, **changes: object) -> Answer:
    return table({"n": (value,)}, {"n": (error,)}, **changes)


def table(columns: dict[str, tuple[object, ...]], errors: dict[str, object], **changes: object) -> Answer:
    facts = {"relation": "protects a patient", "route": "direct", "charged": Fraction(0)}
    return Answer(columns, errors, **(facts | changes))  # type: ignore[arg-type]


WARDS = table(
    {"ward": ("a", "b", "c"), "beds": (10, 20, 30), "n": (40, 60, -2), "cost": (120.5, None, 3.25)},
    {"n": 3, "cost": (1.5, None, None)},
)


class TestIntervals:
    @pytest.mark.parametrize("sign", SIGNS)
    @pytest.mark.parametrize(("a", "b"), [((40, 3), (7, 2)), ((-5, 9), (0.1, 0.04)), ((10**17, 10), (3.7, 0.1))])
    def test_the_ends_are_the_extremes_of_the_corners(
        self, sign: str, a: tuple[float, float], b: tuple[float, float]
    ) -> None:
        """In exact arithmetic, over all four corners; the answer's ends are outside of them, and only just."""
        found = SIGNS[sign](one(*a), one(*b))
        x, dx, y, dy = map(Fraction, (*a, *b))
        corners = [SIGNS[sign](p, q) for p, q in itertools.product((x - dx, x + dx), (y - dy, y + dy))]
        assert found.low <= min(corners)
        assert max(corners) <= found.high
        assert float(min(corners)) == pytest.approx(found.low, rel=1e-12, abs=1e-12)
        assert float(max(corners)) == pytest.approx(found.high, rel=1e-12, abs=1e-12)
        assert found.value - found.error <= found.low
        assert found.high <= found.value + found.error

    def test_any_formula_holds_the_true_value(self) -> None:
        """Random formulas of random depth, and random truths within the intervals, in exact rationals."""
        rng = np.random.default_rng(7)
        missed = 0
        for _ in range(sized(300, 5_000)):
            numbers = [(int(v), int(e)) for v, e in zip(rng.integers(-50, 50, 4), rng.integers(1, 9, 4), strict=True)]
            truths = [Fraction(v) + Fraction(int(rng.integers(-100, 101)), 100) * e for v, e in numbers]
            answers = [one(v, e) for v, e in numbers]
            found, truth = answers[0] + 0, truths[0]
            for place in rng.integers(0, 4, 3).tolist():
                sign = str(rng.choice(list(SIGNS)))
                if sign == "/" and truths[place] == 0:
                    continue
                found, truth = SIGNS[sign](found, answers[place]), SIGNS[sign](truth, truths[place])
            if found.value is not None:
                missed += not found.low <= truth <= found.high
                if found.error is not None:
                    missed += abs(Fraction(found.value) - truth) > Fraction(found.error)
        assert missed == 0

    @pytest.mark.parametrize("plain", [2, 0.5, Fraction(1, 3), Decimal("0.1"), np.int64(3), np.float64(0.25)])
    def test_numbers_stand_on_either_side_and_are_the_decimals_they_print_as(self, plain: object) -> None:
        exact = Fraction(str(plain))
        for found, ends in (
            (one(40, 3) * plain, (37 * exact, 43 * exact)),
            (plain * one(40, 3), (37 * exact, 43 * exact)),
            (plain - one(40, 3), (exact - 43, exact - 37)),
            (one(40, 3) / plain, (37 / exact, 43 / exact)),
            (plain / one(40, 3), (exact / 43, exact / 37)),
        ):
            assert found.low <= ends[0] < ends[1] <= found.high
            assert found.high - found.low <= float(ends[1] - ends[0]) * (1 + 1e-12)
            assert found.confidence == Fraction(19, 20)

    def test_whole_numbers_stay_whole(self) -> None:
        found = 2 * one(40, 3) - 5
        assert (found.value, found.error, found.low, found.high) == (75, 6, 69, 81)
        assert type(found.value) is type(found.error) is int
        assert (-one(40, 3)).value == -40

    def test_a_divisor_that_may_be_0_leaves_no_error(self) -> None:
        found = one(10, 1) / one(2, 3)
        assert (found.value, found.error, found.low, found.high) == (5.0, None, float("-inf"), float("inf"))
        nothing = one(10, 1) / 0
        assert (nothing.value, nothing.error, nothing.low) == (None, None, None)


class TestConfidence:
    def test_chances_to_be_off_add_up_and_each_number_counts_once(self) -> None:
        a, b = one(40, 3), one(60, 3)
        assert (a + 1).confidence == Fraction(19, 20)
        assert (a + b).confidence == Fraction(18, 20)
        assert (a + a).confidence == Fraction(19, 20)
        assert (a / (a + b)).confidence == Fraction(18, 20)
        assert (a + one(40, 3)).confidence == Fraction(18, 20)  # another release, which happens to look the same

    def test_the_union_bound_is_needed_and_holds_for_dependent_answers(self) -> None:
        """Two numbers that are never off together: the sum is within its error 90 % of the time, and not 95."""
        times = 20_000
        place = np.arange(times) / times
        first, second = np.where(place < 0.05, 100, 0), np.where((place >= 0.05) & (place < 0.1), 100, 0)
        found = one(0, 3) + one(0, 3)
        share = np.mean(abs(first + second) <= found.error)
        assert float(found.confidence) == pytest.approx(share) == pytest.approx(0.9)

    def test_a_result_that_becomes_an_answer_keeps_its_confidence(self) -> None:
        share = (one(40, 3) / one(80, 3)).answer("share")
        assert (share.confidence, share.route, share.charged) == (Fraction(9, 10), "post-processing", 0)
        assert "± at 90 %" in share.note
        assert "post-processed: share = n / n" in share.note
        assert (share + one(1, 1)).confidence == Fraction(17, 20)
        assert Answer.from_bytes(share.to_bytes()) == share

    def test_nothing_is_claimed_when_nothing_is_sure(self) -> None:
        with pytest.raises(dc.NotSupported, match="ask one question"):
            sum((one(1, 1) for _ in range(20)), start=one(1, 1))
        assert sum((one(1, 1) for _ in range(18)), start=one(1, 1)).confidence == Fraction(1, 20)


class TestColumns:
    def test_columns_are_row_by_row_beside_their_keys(self) -> None:
        found = (WARDS["n"] / WARDS["beds"]).answer("load")
        assert list(found.columns) == ["ward", "beds", "load"]
        assert found.columns["ward"] == ("a", "b", "c")
        assert found.columns["load"][:2] == (4.0, 3.0)
        assert found.errors["load"][0] == pytest.approx(0.3, rel=3e-3)
        assert found.confidence == Fraction(19, 20)  # beds are known

    def test_null_and_unknown_errors_are_passed_on(self) -> None:
        found = WARDS["cost"] * 2 + WARDS["n"]
        assert (found.values[1], found.errors[1]) == (None, None)
        assert found.values[2] is not None
        assert found.errors[2] is None
        assert found.lows[2] == float("-inf")
        assert found.confidence == Fraction(18, 20)

    def test_one_number_goes_with_every_row(self) -> None:
        for found in (WARDS["n"] / one(100, 5), WARDS["n"] / one(100, 5)["n"], WARDS["n"] / 100):
            assert found.rows == 3
            assert found.answer("share").columns["ward"] == ("a", "b", "c")
        assert (one(100, 5) - WARDS["n"]).answer("rest").columns["rest"] == (60, 40, 102)

    def test_rows_of_different_answers_must_have_the_same_keys(self) -> None:
        same = table({"ward": ["a", "b", "c"], "beds": (10, 20, 30), "m": (1, 2, 3)}, {"m": 1})  # type: ignore[dict-item]
        assert (WARDS["n"] + same["m"]).values == (41, 62, 1)
        other = table({"ward": ("a", "c", "b"), "beds": (10, 20, 30), "m": (1, 2, 3)}, {"m": 1})
        with pytest.raises(dc.NotSupported, match="different keys"):
            _ = WARDS["n"] + other["m"]

    def test_a_column_prints_itself(self) -> None:
        assert repr(WARDS["n"]) == "n = 40 ± 3, 60 ± 3, -2 ± 3, at 95 %"
        assert repr(100 * (WARDS["n"] - 1)).startswith("100 * (n - 1) = 3,900 ± 300, ")
        assert "... 976 more" in repr(table({"n": tuple(range(1000))}, {"n": 1})["n"])

    @pytest.mark.parametrize("name", ["", "ward", 3])
    def test_a_result_needs_a_name_of_its_own(self, name: object) -> None:
        with pytest.raises(dc.InvalidParameter, match="name"):
            WARDS["n"].answer(name)  # type: ignore[arg-type]


class TestRefusals:
    @pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
    def test_an_interval_is_not_compared_with_a_number(self, compare: object) -> None:
        for left, right in ((one(40, 3), 30), (WARDS["n"], 30), (one(40, 3), WARDS["n"]), (30, one(40, 3))):
            with pytest.raises(dc.NotSupported, match=r"\.low"):
                compare(left, right)  # type: ignore[operator]

    def test_answers_are_still_equal_to_answers(self) -> None:
        assert one(40, 3) == one(40, 3)
        assert one(40, 3) != one(41, 3)
        assert one(40, 3) != "40"

    @pytest.mark.parametrize("other", ["7", True, None, [1], 1j, float("nan"), float("inf")])
    def test_only_finite_numbers_are_added(self, other: object) -> None:
        with pytest.raises(dc.InvalidParameter):
            _ = one(40, 3) + other  # type: ignore[operator]

    def test_a_table_is_not_one_number(self) -> None:
        with pytest.raises(dc.NotSupported, match=r'answer\["n"\]'):
            _ = WARDS + 1
        with pytest.raises(dc.NotSupported, match=r"\.values"):
            _ = WARDS["n"].value
        with pytest.raises(dc.InvalidParameter, match="'ward', 'beds'"):
            _ = WARDS["m"]
        with pytest.raises(dc.NotSupported, match="no numbers"):
            _ = WARDS["ward"]


def test_it_works_on_what_a_session_answers() -> None:
    with dc.Session(dc.census(), budget=dc.Budget(epsilon=4), ledger=dc.memory_ledger()) as session:
        by_sex = session.sql("SELECT sex, COUNT(*) AS n FROM census GROUP BY sex", epsilon=1)
        everyone = session.sql("SELECT COUNT(*) AS n FROM census", epsilon=1)
        share = (by_sex["n"] / everyone).answer("share")
        assert share.columns["sex"] == by_sex.columns["sex"]
        assert abs(sum(share.columns["share"]) - 1) < 0.01  # type: ignore[arg-type]
        assert session.spent == Fraction(1, 2)
