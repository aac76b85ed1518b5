"""`threshold_test`: what it answers, how accurately, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import logistic
from discreet.dp.logistic import chance as ball_of_chance
from discreet.dp.randomness import system
from discreet.dp.reals import bounds
from discreet.errors import InvalidParameter, NotSupported
from tests.broken import threshold_tests as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.sizes import sized
from tests.statistics import share
from tests.threshold_objects import BUDGET, FAR, ONE, THREE, logistic_test
from tests.threshold_truth import HitChance, check_hits_pay, check_pure_streams, price

F = Fraction


def hit_of(test: dp.ThresholdTest) -> HitChance:
    """The chance that is flipped for a value so many units above the threshold, from its certified ball."""

    def hit(excess: int) -> mpf:
        low, high = bounds(lambda: ball_of_chance(test._steps.one(excess), test._slope))
        return real((low + high) / 2)

    return hit


def price_of(test: dp.ThresholdTest) -> Callable[[mpf], mpf]:
    def at(order: mpf) -> mpf:
        value = test.hit_loss.renyi(F(float(order)))
        return real(value) if isinstance(value, Fraction) else mp.inf

    return at


ORDERS = (1.5, 4.0, 20.0, 34.9)


@pytest.mark.parametrize("sensitivity", [ONE, THREE], ids=["1", "3"])
def test_a_hit_pays_for_itself_at_every_sensitivity(sensitivity: dp.Sensitivity) -> None:
    """Answer True with probability 1 / (1 + exp(-slope (f - T) / D)); a miss is free.

    What is dear at a slope of 1/50 is every noise that is not logistic, and a slope that forgets the sensitivity.
    """
    test = dp.ThresholdTest(threshold=0, sensitivity=sensitivity, slope=F(1, 50), cutoff=5)
    move = int(sensitivity.linf)
    for excess in (-100, 0, 7):
        closed = 1 / (1 + mp.exp(-mpf(excess) / 50 / move))
        assert abs(hit_of(test)(excess) - closed) < mpf(10) ** -19
    check_hits_pay(hit_of(test), price_of(test), orders=ORDERS, move=move)
    for twin in (broken.laplace_hit(F(1, 50)), broken.gaussian_hit(F(1, 50))):
        with pytest.raises(AssertionError):
            check_hits_pay(twin, price_of(test), orders=(4.0, 20.0), move=1)
    if move > 1:
        with pytest.raises(AssertionError):
            check_hits_pay(broken.slope_not_divided(test), price_of(test), orders=(4.0,), move=move)


def test_above_the_order_limit_no_price_is_right() -> None:
    test = logistic_test(slope=F(1, 20), cutoff=1)
    assert price_of(test)(mpf("34.9")) == mp.inf
    for orders, wrong in (((10.0,), False), ((34.9,), True)):
        try:
            check_hits_pay(hit_of(test), lambda a: broken.limit_ignored(a, F(1, 20)), orders=orders, move=1)
            assert not wrong
        except AssertionError:
            assert wrong


def test_without_a_delta_hits_without_end_are_never_private() -> None:
    """V6 of Lyu, Su and Li in a pure budget: refused here, and seen to be wrong where it is not."""
    with pytest.raises(NotSupported, match="SparseVector"):
        logistic_test(account=dp.PrivacyFilter(dp.Budget(epsilon=1)))
    with pytest.raises(AssertionError):
        check_pure_streams(broken.unlimited_hits(F(1)), F(1))
    with pytest.raises(AssertionError):
        check_pure_streams(hit_of(logistic_test(cutoff=1, slope=F(1, 3))), F(1))


def test_many_answers_have_the_law_of_single_ones() -> None:
    """The place of the first hit, asked one by one and all at once; per-question thresholds too."""
    slope, n = F(1, 4), sized(3_000, 15_000)
    values = [-9, -4, 0, -2, 3, 1]
    chances = [1 / (1 + np.exp(-v / 4)) for v in values]
    third = chances[2] * (1 - chances[0]) * (1 - chances[1])
    test = logistic_test(slope=slope, cutoff=10**9)

    def one_by_one(n: int) -> np.ndarray:
        return np.array([next((i for i, v in enumerate(values) if test.ask(v)), -1) for _ in range(n)])

    def together(n: int) -> np.ndarray:
        found = [test.ask_many(np.array(values)) for _ in range(n)]
        return np.array([answers.size - 1 if answers.any() else -1 for answers in found])

    def moved(n: int) -> np.ndarray:
        found = [test.ask_many(np.full(6, 100), thresholds=[100 - v for v in values]) for _ in range(n)]
        return np.array([answers.size - 1 if answers.any() else -1 for answers in found])

    def with_values(n: int) -> np.ndarray:
        asked = (next((i for i, v in enumerate(values) if test.ask_value(v) is not None), -1) for _ in range(n))
        return np.array(list(asked))

    def not_cut(n: int) -> np.ndarray:
        return np.array([2 if test.ask(values[2]) else -1 for _ in range(n)])

    check = share(lambda draws: draws == 2, third, n)
    for ours in (one_by_one, together, moved, with_values):
        check.run(ours, wrong={"the others ignored": not_cut})


# How accurate it is, and how steep it may be.


@pytest.mark.parametrize("questions", [1, 50, 2000])
def test_answers_and_values_are_within_alpha(questions: int) -> None:
    """P(|noise| > x / e) = 2 / (1 + e^x): the failure rate is below beta, and alpha is not far above what is needed."""
    slope, beta, runs = F(1, 40), F(1, 5), sized(2_000_000 // 2000 if questions > 100 else 2_000, 20_000)
    test = logistic_test(slope=slope, cutoff=1)
    alpha = float(test.accuracy(failure_probability=beta, questions=questions))
    assert abs(alpha - 40 * np.log(2 * questions / float(beta))) < 1e-9
    edge = np.where(np.arange(questions) % 2, int(np.ceil(alpha)), -int(np.ceil(alpha)))
    wrong = sum(((test._margins(edge, system()) >= 0) != (edge > 0)).any() for _ in range(runs))
    assert wrong <= float(beta) * runs
    exact = 40 * float(mp.log(2 / (1 - (1 - mpf(1) / 5) ** (mpf(1) / questions)) - 1))  # of the noise of all of them
    assert exact < alpha < exact * 1.15
    if questions == 1:
        noise = np.random.default_rng(1).logistic(scale=40, size=(runs, 1))
        assert (np.abs(noise) > alpha).mean() <= float(beta)


def test_alpha_both_ways_and_on_a_grid() -> None:
    made = dp.ThresholdTest.for_accuracy(
        alpha=600, failure_probability="0.05", questions=1000, threshold=5000, sensitivity=THREE, cutoff=50
    )
    assert made.accuracy(failure_probability="0.05", questions=1000) == 600
    steeper = dp.ThresholdTest(threshold=5000, sensitivity=THREE, slope=made.slope * F(999, 1000), cutoff=50)
    assert steeper.accuracy(failure_probability="0.05", questions=1000) > 600
    assert steeper.loss.epsilon(delta=1e-9) < made.loss.epsilon(delta=1e-9)
    real_values = dp.ThresholdTest(threshold="0.3", sensitivity=ONE, slope=F(1, 4), cutoff=1, step="0.25")
    assert real_values._slope == F(1, 4) / 5  # one unit is 4 steps, and snapping adds one
    alpha = real_values.accuracy(failure_probability="0.1", questions=3)
    assert float(alpha) > 5 * np.log(60) + 0.2 + 0.125 - 1e-9  # 0.3 is rounded up to 0.5, values by up to 0.125
    assert real_values.ask(float(FAR))
    with pytest.raises(InvalidParameter, match="smaller step"):
        dp.ThresholdTest.for_accuracy(
            alpha="0.1", failure_probability="0.05", questions=1, threshold=0, sensitivity=ONE, cutoff=1, step=2
        )


def test_false_alarms_and_the_threshold_that_keeps_them_few() -> None:
    test = logistic_test(slope=F(1, 50), cutoff=40)
    far = dp.ThresholdTest.threshold_for(questions=100_000, hits=40, slope=F(1, 50), sensitivity=ONE)
    assert abs(far - 50 * np.log(4 * 100_000 / 40)) < 1e-9
    few = test.false_alarms(distance=far, questions=100_000)
    assert 9.9 < few <= 10  # a quarter of 40
    assert abs(few - 100_000 / (1 + np.exp(far / 50))) < 1e-9
    assert dp.ThresholdTest.threshold_for(questions=1, hits=40, slope=1, sensitivity=ONE) == 0


def test_the_slope_that_uses_a_budget_or_a_loss_up() -> None:
    for hits in (1, 20, 300):
        slope = dp.ThresholdTest.slope_for_hits(budget=BUDGET, hits=hits)
        account = dp.PrivacyFilter(BUDGET)
        assert logistic_test(slope=slope, account=account).hits_left == hits
        try:
            steeper = logistic_test(slope=slope * (1 + F(1, 2**30)), account=dp.PrivacyFilter(BUDGET)).hits_left
        except NotSupported:  # the order limit
            steeper = 0
        assert steeper is not None
        assert steeper < hits
    loss = dp.Loss.approximate(epsilon=1, delta="1e-9")
    test = dp.ThresholdTest(threshold=0, sensitivity=ONE, loss=loss, cutoff=20)
    assert test.loss.epsilon_bound(F(1, 10**9)) <= 1
    assert (20 * logistic_test(slope=test.slope * F(1001, 1000), cutoff=1).hit_loss).epsilon_bound(F(1, 10**9)) > 1
    order = F(10)
    truth = 20 * price(mpf(10), real(test.slope)) / 9
    assert abs(real(test.loss.renyi(order)) / truth - 1) < mpf(10) ** -15  # type: ignore[arg-type]


def test_refusals() -> None:
    def make(**more: object) -> None:
        dp.ThresholdTest(**({"threshold": 0, "sensitivity": ONE, "cutoff": 1} | more))  # type: ignore[arg-type]

    for slope in (0, -1, float("nan"), float("inf"), 46, F(1, 2**60), True, "x"):
        with pytest.raises(InvalidParameter):
            make(slope=slope)
    for more in ({}, {"slope": 1, "loss": dp.Loss.approximate(epsilon=1, delta="1e-9")}, {"slope": 1, "cutoff": 0},
                 {"slope": 1, "cutoff": 1.5}, {"slope": 1, "step": 0}, {"slope": 1, "sensitivity": 1},
                 {"loss": dp.Loss.approximate(epsilon=1, delta="1e-9"), "cutoff": None}, {"loss": 1}):  # fmt: skip
        with pytest.raises(InvalidParameter):
            make(**more)
    for loss in (dp.Loss.pure(epsilon=1), dp.Loss.zcdp(rho=1), dp.Loss.gaussian(mu=1)):
        with pytest.raises(NotSupported, match="approximate"):
            make(loss=loss)
    with pytest.raises(NotSupported, match="hit_loss"):
        _ = logistic_test().loss
    assert logistic_test().hits_left is None
    for budget in (dp.Budget(epsilon=1), dp.Budget(rho=1)):
        with pytest.raises(NotSupported):
            dp.ThresholdTest.slope_for_hits(budget=budget, hits=3)
    with pytest.raises(TypeError):
        dp.ThresholdTest(0, ONE)  # type: ignore[misc]
    assert "hits_left" in repr(logistic_test(cutoff=3))
    assert logistic.coin(system(), FAR, F(1))
