"""Consistency: counts are whole, not negative and add up; no error that is stated stops to hold."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

import discreet as dc
from discreet import dp
from discreet.answer import Answer, Facts
from discreet.consistency import _whole, adding_up
from tests.sizes import sized

COUNTS = Facts(counts=frozenset({"n", "m"}))


def counts(values: object, error: object = 10, name: str = "n", **changes: object) -> Answer:
    columns = {"k": tuple(range(len(values))), name: tuple(values)}  # type: ignore[arg-type, var-annotated]
    fields: dict[str, object] = {"columns": columns, "errors": {name: error}, "facts": COUNTS} | changes
    return Answer(relation="protects a patient", route="direct", charged=Fraction(1, 10), **fields)  # type: ignore[arg-type]


def whole(value: int, error: int = 10, name: str = "n") -> Answer:
    return counts([value], error, columns={name: (value,)}, errors={name: error})


class TestAtZero:
    def test_what_is_below_0_becomes_0_and_nothing_else_moves(self) -> None:
        found = counts([52, 3, -7, 0]).consistent()
        assert found.columns["n"] == (52, 3, 0, 0)
        assert found.columns["k"] == (0, 1, 2, 3)

    def test_errors_are_those_of_the_intervals_without_what_is_below_0(self) -> None:
        """Released 3: the truth is in [0, 13], 10 off at most. Released -7: it is in [0, 3], 3 off at most."""
        assert counts([52, 3, -7, 0]).consistent().errors["n"] == (10, 10, 3, 10)
        assert counts([-10, -11, -50]).consistent().errors["n"] == (0, 10, 10)

    def test_counts_of_weighted_rows_become_whole(self) -> None:
        """Released 3.25 within 10.5: the truth is in [0, 13.75], and 3 is 10.75 off at most."""
        found = counts([3.25, -7.5, 52.75], 10.5).consistent()
        assert found.columns["n"] == (3, 0, 53)
        assert found.errors["n"] == (11, 4, 11)
        assert {type(value) for value in (*found.columns["n"], *found.errors["n"])} == {int}  # type: ignore[misc]
        assert counts([3.25, -7.5, 52.75], 10.5).consistent(total=80).columns["n"] == (14, 3, 63)

    def test_it_says_what_was_done_and_costs_nothing(self) -> None:
        found = counts([52, -7]).consistent()
        assert "post-processed: non-negative" in found.note
        assert (found.route, found.charged, found.confidence) == ("post-processing", 0, Fraction(19, 20))
        assert found.consistent().columns == found.columns

    def test_columns_that_are_no_counts_stay(self) -> None:
        both = counts([1], columns={"n": (-4,), "x": (-4.5,)}, errors={"n": 9, "x": 2.0})
        found = both.consistent()
        assert found.columns == {"n": (0,), "x": (-4.5,)}
        assert found.errors == {"n": (5,), "x": 2.0}

    def test_without_counts_it_is_refused(self) -> None:
        with pytest.raises(dc.NotSupported, match="no column of counts"):
            counts([1], facts=Facts()).consistent()
        with pytest.raises(dc.NotSupported, match="without a number"):
            counts([1, None]).consistent()


class TestTotals:
    def test_parts_sum_to_a_known_total(self) -> None:
        found = counts([52, 40, -7]).consistent(total=90)
        assert found.columns["n"] == (51, 39, 0)
        assert "n sums to 90" in found.note

    def test_equal_errors_share_what_is_missing_evenly(self) -> None:
        assert counts([10, 20, 30]).consistent(total=90).columns["n"] == (20, 30, 40)

    def test_what_is_less_sure_moves_more(self) -> None:
        assert counts([100, 100], (10, 20)).consistent(total=250).columns["n"] == (110, 140)

    def test_a_noisy_total_moves_too(self) -> None:
        """Two parts with variance 1 and a total with variance 2, 40 apart: half of it is taken by each side."""
        found = counts([100, 100], 10).consistent(total=whole(240, 14))
        assert abs(sum(found.columns["n"]) - 220) <= 1

    @pytest.mark.parametrize("noisy", [False, True])
    def test_it_is_least_squares(self, noisy: bool) -> None:
        """Against a general solver of the same problem; a total that is known is one with a very small error there."""
        rng = np.random.default_rng(11)
        for _ in range(20):
            size = int(rng.integers(1, 8))
            values, off = rng.integers(-30, 60, size).astype(float), rng.integers(5, 40, size).astype(float)
            total, about = float(rng.integers(0, 150)), 12.0 if noisy else 1e-4
            rows = np.vstack([np.diag(1 / off), np.full(size, 1 / about)])
            best, _ = optimize.nnls(rows, np.append(values / off, total / about))
            found = adding_up(values, off, total, about if noisy else 0.0)
            assert found == pytest.approx(best, abs=1e-5)
            assert noisy or found.sum() == pytest.approx(total)

    def test_nothing_moves_away_from_the_truth_together(self) -> None:
        """A projection on a convex set that holds the truth, in the norm of the errors, with the total."""
        rng = np.random.default_rng(12)
        for _ in range(sized(200, 2_000)):
            truth = np.maximum(rng.integers(-5, 20, 6), 0)
            off, about = rng.integers(5, 40, 6).astype(float), float(rng.integers(1, 30))
            values, total = truth + off * rng.normal(size=6), float(truth.sum() + about * rng.normal())
            found = adding_up(values, off, total, about)
            before = (((values - truth) / off) ** 2).sum() + ((total - truth.sum()) / about) ** 2
            after = (((found - truth) / off) ** 2).sum() + ((found.sum() - truth.sum()) / about) ** 2
            assert after <= before + 1e-9

    def test_the_names_of_columns_say_which_total(self) -> None:
        two = counts([1], columns={"n": (5, 6), "m": (7, 9)}, errors={"n": 3, "m": 3})
        totals = counts([1], columns={"m": (20,), "n": (13,)}, errors={"n": 1, "m": 1})
        found = two.consistent(total=totals)
        assert abs(sum(found.columns["n"]) - 13) <= 1
        assert abs(sum(found.columns["m"]) - 20) <= 1
        assert counts([5, 6]).consistent(total=whole(15, 1, "people")).rows == 2
        with pytest.raises(dc.InvalidParameter, match="'n'"):
            two.consistent(total=whole(15, 1, "people"))

    @pytest.mark.parametrize("total", [-1, 2.5, True, "90", counts([1, 2])])
    def test_a_total_is_one_number(self, total: object) -> None:
        with pytest.raises(dc.InvalidParameter, match="total"):
            counts([52, 40, -7]).consistent(total=total)  # type: ignore[arg-type]

    def test_a_total_of_0_leaves_nothing(self) -> None:
        assert counts([52, 40, -7]).consistent(total=0).columns["n"] == (0, 0, 0)
        assert counts([-52, -40]).consistent(total=whole(-500)).columns["n"] == (0, 0)

    def test_least_squares_need_errors(self) -> None:
        with pytest.raises(dc.NotSupported, match="above 0"):
            counts([5, 6], 0).consistent(total=9)


@pytest.mark.parametrize("numbers", [[0.5, 0.5], [1.4, 1.4, 1.2], [3.0], [0.1] * 10, [], [2.9, 0.2, 0.9]])
def test_numbers_made_whole_keep_their_sum_and_move_by_less_than_1(numbers: list[float]) -> None:
    found = _whole(numbers)
    assert found.sum() == round(sum(numbers))
    assert (abs(found - numbers) < 1).all()


@pytest.mark.parametrize("total", ["none", "known", "noisy", "wrong"])
def test_the_errors_hold_and_the_numbers_are_nearer(total: str) -> None:
    """The true counts are within the errors at 95 % and more, also if the parts do not add up; and mostly nearer."""
    truth = np.array([0, 0, 3, 40, 500, 0, 12, 7])
    sensitivity = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    noise = dp.Laplace(sensitivity=sensitivity, epsilon="0.1")
    error, times = int(noise.accuracy(failure_probability=Fraction(1, 20))), sized(400, 4_000)
    within, before, after = np.zeros(len(truth)), 0.0, 0.0
    drawn = noise.release([*truth.tolist(), int(truth.sum())] * times).reshape(times, -1)
    for row in drawn.tolist():
        parts = counts(row[:-1], error)
        totals = {"none": None, "known": int(truth.sum()), "noisy": whole(row[-1], error), "wrong": 900}
        found = parts.consistent(total=totals[total])
        numbers, errors = np.array(found.columns["n"]), np.array(found.errors["n"])
        assert (numbers >= 0).all()
        within += abs(numbers - truth) <= errors
        before, after = before + ((row[:-1] - truth) ** 2).sum(), after + ((numbers - truth) ** 2).sum()
    assert (within / times > 0.95 - 4 * np.sqrt(0.05 * 0.95 / times)).all()
    assert total == "wrong" or after < 0.8 * before


def test_a_million_counts_are_made_consistent() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(-50, 100, 1_000_000)
    found = counts(values.tolist(), 30).consistent(total=30_000_000)
    assert sum(found.columns["n"]) == 30_000_000
