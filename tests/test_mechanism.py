"""The contract of every mechanism: what it takes, what it refuses, and the one door for private values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import dp
from discreet.dp.mechanism import AdditiveNoise, Mechanism
from discreet.errors import BudgetExceeded, InvalidParameter
from tests.broken import mechanisms as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_below, real
from tests.statistics import share

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
TWO = dp.Sensitivity(l1=2, l2=2, linf=2, neighbours=ADD)
LAPLACE = dp.Laplace(sensitivity=ONE, epsilon=1)
GAUSSIAN = dp.Gaussian(sensitivity=ONE, epsilon=1, delta="1e-9")
DISCRETE = dp.DiscreteGaussian(sensitivity=ONE, rho="0.1")

REFUSED = {
    "NaN": [math.nan, [1.0, math.nan], np.array([[0.0], [math.nan]]), pd.Series([1.0, None]), pl.Series([1, None])],
    "NaN: replace": [pd.Series([1, None], dtype="Int64"), pa.array([1, None]), np.array(math.nan)],
    "infinity": [math.inf, -math.inf, [1.0, -math.inf], np.float32(math.inf), pa.array([1.0, math.inf])],
    "integers or real numbers": [
        *(None, "5", b"5", 1j, True, False, np.bool_(True), [True, 1.5, None], [None], ["a"], [1, None]),
        *(object(), Decimal(1), Fraction(1), {}, {1}, [Decimal(1)], np.datetime64("2020"), np.array([1j])),
        *(np.longdouble(1), pd.Series(["a"]), np.array([True]), pa.array(["a"])),
    ],
    "masked": [np.ma.masked_array([1, 2], [False, True])],
}

INTEGERS = [
    *(5, -5, 2**70, np.int8(5), np.uint64(2**63), np.array(5), np.array(2**70, dtype=object), [1, 2], [[1], [2]]),
    *((1, 2), [2**63, -1], [2**70, 1], np.zeros((2, 0), int), range(3), np.array([5], ">i4"), np.eye(3, dtype=np.int8)),
    *(pd.Series([1, 2]), pl.Series([1, 2]), pa.array([1, 2]), pd.Series([1, 2], dtype="Int64")),
]
REALS = [
    *(0.5, -0.0, 1e300, -1.7976931348623157e308, 5e-324, np.float32(0.5), np.array(0.5), np.array(1e300), [0.5, 1.5]),
    *([], np.zeros((3, 2)), np.zeros((0, 4)), [1, 0.5], [1e300, 1.0], np.array([0.5], ">f8"), np.float16(0.5)),
    *(np.zeros((4, 4))[::2, ::3], pd.Series([0.5]), pl.Series([0.5]), pa.array([0.5, 1.5]), np.full((2, 2), 1e300)),
    *(pd.DataFrame({"a": [1.5], "b": [2]}), pl.Series([1.5, 2.5], dtype=pl.Float32)),
]


class TestRelease:
    @pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
    @pytest.mark.parametrize(("name", "values"), [(name, v) for name, values in REFUSED.items() for v in values])
    def test_what_is_not_a_number_is_refused_by_name(self, mechanism: AdditiveNoise, name: str, values: object) -> None:
        with pytest.raises(InvalidParameter, match=name):
            mechanism.release(values)  # type: ignore[call-overload]

    def test_ragged_lists_are_refused(self) -> None:
        with pytest.raises(InvalidParameter, match="rows of one length"):
            LAPLACE.release([[1], [2, 3]])  # type: ignore[list-item]

    @pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN, DISCRETE], ids=["laplace", "gaussian", "discrete"])
    @pytest.mark.parametrize("place", range(len(INTEGERS)))
    def test_integers_come_out_as_integers_of_the_same_shape(self, mechanism: AdditiveNoise, place: int) -> None:
        values = INTEGERS[place]
        released = mechanism.release(values)  # type: ignore[call-overload]
        assert np.shape(released) == np.shape(values)  # type: ignore[arg-type]
        assert type(released) is int if np.shape(released) == () else released.dtype.kind in "iO"

    @pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
    @pytest.mark.parametrize("place", range(len(REALS)))
    def test_reals_come_out_as_floats_of_the_same_shape(self, mechanism: AdditiveNoise, place: int) -> None:
        values = REALS[place]
        released = mechanism.release(values)  # type: ignore[call-overload]
        assert np.shape(released) == np.shape(values)  # type: ignore[arg-type]
        assert type(released) is float if np.shape(released) == () else released.dtype == np.float64
        assert np.isfinite(released).all()

    @pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
    def test_noise_is_near_the_value_whatever_its_size(self, mechanism: AdditiveNoise) -> None:
        """1,000 scales off has a chance below e^-1000; a lost sign, scale or value would be much further off."""
        for value in (-(2**62), -5, 0, 7, 2**53 + 1, 2**62, -12345.678, 0.1, 1e12 + 0.5):
            far = 1000 * mechanism._noise_scale
            assert abs(F(mechanism.release(value)) - F(value)) < far
            assert all(abs(F(v) - F(value)) < far for v in mechanism.release(np.array([value] * 3)).tolist())

    def test_the_values_of_the_caller_are_left_as_they_were(self) -> None:
        for values in (np.arange(10), np.arange(10.0), np.array([1, 2**70], dtype=object)):
            before = values.copy()
            LAPLACE.release(values)
            assert np.array_equal(before, values)

    def test_a_private_value_is_refused(self) -> None:
        with pytest.raises(InvalidParameter, match="open"):
            LAPLACE.release(dp.Exact(5, sensitivity=ONE, unit="row"))  # type: ignore[call-overload]


def permit(epsilon: int) -> dp.Permit:
    reserved = dp.PrivacyFilter(dp.Budget(epsilon=10)).reserve(dp.Loss.pure(epsilon=epsilon))
    assert reserved is not None
    return reserved


class Witness(dp.Laplace):
    """Notes what was left of the permit when the value was read."""

    __slots__ = ()
    seen: list[Fraction] = []  # noqa: RUF012

    def _release(self, values: object, stream: object) -> int:  # type: ignore[override]
        Witness.seen.append(WATCHED[-1].left)
        raise RuntimeError("the noise broke")


WATCHED: list[dp.Permit] = []


class TestOpen:
    def test_it_takes_the_loss_and_returns_the_noisy_value(self) -> None:
        """the output has the loss that was taken; a value more sensitive than this mechanism expects, or
        under another relation, is refused before anything is taken."""
        allowed = permit(3)
        exact = dp.Exact(np.array([[10**6, 0]]), sensitivity=ONE, unit="row")
        released = LAPLACE.open(exact, allowed)
        assert np.shape(released) == (1, 2)
        assert abs(released[0][0] - 10**6) < 1000  # type: ignore[index]
        assert allowed.left == 2

    @pytest.mark.parametrize(
        ("sensitivity", "mechanism"),
        [
            (TWO, LAPLACE),
            (TWO, GAUSSIAN),
            (dp.Sensitivity.counting(neighbours=REPLACE), LAPLACE),
            (dp.Sensitivity.counting(neighbours=REPLACE), GAUSSIAN),
            (dp.Sensitivity(l2=1, neighbours=ADD), LAPLACE),
        ],
    )
    def test_a_value_that_it_does_not_cover_is_refused_and_costs_nothing(
        self, sensitivity: dp.Sensitivity, mechanism: Mechanism
    ) -> None:
        allowed = permit(5)
        with pytest.raises(InvalidParameter):
            mechanism.open(dp.Exact(5, sensitivity=sensitivity, unit="row"), allowed)
        assert allowed.left == 5

    def test_a_less_sensitive_value_is_covered(self) -> None:
        less = dp.Sensitivity(l1="0.5", neighbours=ADD)
        assert type(LAPLACE.open(dp.Exact(5, sensitivity=less, unit="row"), permit(1))) is int

    def test_a_permit_that_is_too_small_reads_nothing(self) -> None:
        small = dp.PrivacyFilter(dp.Budget(epsilon=10)).reserve(dp.Loss.pure(epsilon="0.5"))
        assert small is not None
        WATCHED.append(small)
        Witness.seen.clear()
        with pytest.raises(BudgetExceeded):
            Witness(sensitivity=ONE, epsilon=1).open(dp.Exact(5, sensitivity=ONE, unit="row"), small)
        assert Witness.seen == []
        assert small.left == F(1, 2)

    def test_the_loss_is_taken_before_the_value_is_read(self) -> None:
        WATCHED.append(permit(1))
        Witness.seen.clear()
        with pytest.raises(RuntimeError):
            Witness(sensitivity=ONE, epsilon=1).open(dp.Exact(5, sensitivity=ONE, unit="row"), WATCHED[-1])
        assert Witness.seen == [0]

    @pytest.mark.parametrize("exact", [5, np.zeros(2), None, "exact"])
    def test_plain_numbers_do_not_go_through_this_door(self, exact: object) -> None:
        with pytest.raises(InvalidParameter):
            LAPLACE.open(exact, permit(1))  # type: ignore[arg-type]

    def test_a_permit_is_needed(self) -> None:
        with pytest.raises(InvalidParameter):
            LAPLACE.open(dp.Exact(5, sensitivity=ONE, unit="row"), 1)  # type: ignore[arg-type]


def check_open_pays_for_every_answer(make: type[dp.RandomizedResponse]) -> None:
    """Bits that move by l1 in total are l1 answers that change: the loss of all of them is taken, or it is refused."""
    for answers, moved in itertools.product((1, 2, 3), (1, 2, 3, 6)):
        response = make(truth=F(1, 2), answers=answers)
        moves = dp.Sensitivity(l1=moved, neighbours=REPLACE)
        value = dp.Exact(np.zeros(moved, dtype=np.int64), sensitivity=moves, unit="row")
        allowed = dp.PrivacyFilter(dp.Budget(epsilon=100)).reserve(response.loss)
        one, other = (real(response.law(bit).bounds(0)[0]) for bit in (0, 1))
        if moved * mp.log(one / other) <= real(response.epsilon * answers):
            assert np.shape(response.open(value, allowed)) == (moved,)
        else:
            with pytest.raises(InvalidParameter, match="more sensitive"):
                response.open(value, allowed)


def test_randomised_response_takes_the_loss_of_every_answer_that_changes() -> None:
    check_open_pays_for_every_answer(dp.RandomizedResponse)
    with pytest.raises(pytest.fail.Exception):
        check_open_pays_for_every_answer(broken.PaysForOne)


class TestThen:
    def test_what_is_done_with_the_output_costs_nothing(self) -> None:
        """the loss of the mechanism, whatever the function does."""
        kept = LAPLACE.then(lambda n: max(n, 0)).then(str)  # type: ignore[type-var, arg-type, return-value]
        assert kept.loss == LAPLACE.loss
        assert kept.sensitivity == LAPLACE.sensitivity
        assert int(kept.release(10**6)) > 10**6 - 1000  # type: ignore[arg-type]
        assert {int(kept.release(-(10**6))) for _ in range(5)} == {0}  # type: ignore[arg-type]

    def test_the_same_door(self) -> None:
        kept, allowed = LAPLACE.then(abs), permit(3)  # type: ignore[arg-type]
        exact = dp.Exact(5, sensitivity=ONE, unit="row")
        assert kept.open(exact, allowed) >= 0  # type: ignore[operator]
        assert allowed.left == 2
        with pytest.raises(InvalidParameter):
            kept.open(dp.Exact(5, sensitivity=TWO, unit="row"), allowed)
        with pytest.raises(InvalidParameter):
            kept.release(exact)  # type: ignore[arg-type]
        assert allowed.left == 2


@pytest.mark.parametrize("answers", [1, 50])
@pytest.mark.parametrize("beta", [F(1, 2), F(1, 20), F(1, 10**6)])
def test_accuracy_on_the_grid(beta: Fraction, answers: int) -> None:
    """a multiple of the grid, plus half a step for snapping; and the next smaller one does not hold."""
    for mechanism, beyond in ((LAPLACE, laplace_beyond), (GAUSSIAN, gaussian_beyond)):
        alpha = mechanism.accuracy(failure_probability=beta, answers=answers, real=True)
        step = mechanism.grid(answers)
        scale, steps = mechanism._scale_in_steps(step, answers), (alpha - step / 2) / step
        assert steps.denominator == 1
        for a, holds in ((int(steps), True), (int(steps) - 1, False)):
            assert (1 - (1 - beyond(scale, a)) ** answers <= real(beta)) == holds


def laplace_beyond(scale: Fraction, steps: int) -> mpf:
    return 2 * laplace_below(scale, -steps)


def gaussian_beyond(scale: Fraction, steps: int) -> mpf:
    return 2 * mp.ncdf(-(steps + mpf(1) / 2) / real(scale))


@pytest.mark.parametrize(
    "make", [lambda e: dp.Laplace(sensitivity=ONE, epsilon=e), lambda e: dp.Gaussian(sensitivity=ONE, mu=e)]
)
def test_accuracy_on_the_grid_is_what_happens(make: Callable[[Fraction], AdditiveNoise]) -> None:
    mechanism, off, n = make(F(1)), make(F(9, 10)), 400_000
    step = mechanism.grid(n)
    scale = mechanism._scale_in_steps(step, n)
    steps = int(2 * scale)
    beyond = float((laplace_beyond if isinstance(mechanism, dp.Laplace) else gaussian_beyond)(scale, steps))
    value = float(1000 * step)
    check = share(lambda draws: np.abs(draws - value) > float(steps * step), beyond, n)
    check.run(lambda m: mechanism.release(np.full(m, value)), wrong={"0.9": lambda m: off.release(np.full(m, value))})
