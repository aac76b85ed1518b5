"""The purse of an online mechanism: whoever spends it, in whatever order, keeps the promise of its budget."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Pure
from discreet.release.online_plan import Purse
from tests.accounting import NOISE, exact, log_uniform, mpf, responses_and_gaussian_delta
from tests.broken import measurements as broken
from tests.sizes import sized

EPSILON, DELTA, RHO = Fraction(1), Fraction(1, 10**9), Fraction(1, 10)


def spent(purse: Purse, source: random.Random) -> tuple[Fraction, int, Fraction]:
    """Buy normal noise with parts of what is left, and responses of one epsilon, until nothing fits.

    Returns mu^2 of all noise together (for a pure budget, the sum of its epsilons), the responses and their epsilon.
    """
    left, noise, count, each = purse.amount, Fraction(0), 0, log_uniform(source, 0.01, 0.2)
    for _ in range(40):
        if source.random() < 0.5:
            price = purse.charge(Pure(each))
            bought, response = Fraction(0), 1
        else:
            bought, response = purse.noise(left) * source.choice((1, Fraction(1, 2), Fraction(1, 7))), 0
            price = purse.charge(purse.loss_of_noise(bought)) if bought else left + 1
        if price <= left:
            left, noise, count = left - price, noise + bought, count + response
    return noise, count, each


def check_promise(make: type[Purse]) -> None:
    """The exact law of all that was bought, against what was promised."""
    source = random.Random(4)
    for _ in range(sized(20, 300)):
        one = Purse.of(dp.Loss.approximate(epsilon=EPSILON, delta=DELTA))
        noise, count, each = spent(make(one.budget, one.amount), source)
        assert noise
        truth = responses_and_gaussian_delta(exact(EPSILON), exact(each), count, exact(noise) ** mpf("0.5"))
        assert truth <= exact(DELTA)
        one = Purse.of(dp.Loss.zcdp(rho=RHO))
        noise, count, each = spent(make(one.budget, one.amount), source)
        assert exact(noise) / 2 + count * exact(each) ** 2 / 2 <= exact(RHO) * (1 + NOISE)
        one = Purse.of(dp.Loss.pure(epsilon=EPSILON))
        noise, count, each = spent(make(one.budget, one.amount), source)
        assert noise + count * each <= EPSILON


def test_what_a_purse_pays_keeps_the_promise_of_its_budget() -> None:
    """Guarantee: what has this charge or less, chosen adaptively, keeps the promise of the budget."""
    check_promise(Purse)
    with pytest.raises(AssertionError):
        check_promise(broken.ChargesInRho)


def test_a_permit_holds_what_is_left_and_costing_is_the_way_back() -> None:
    for loss in (dp.Loss.approximate(epsilon=1, delta=DELTA), dp.Loss.zcdp(rho=RHO), dp.Loss.pure(epsilon=1)):
        purse = Purse.of(loss)
        assert purse.amount == purse.budget.cap.amount
        for part in (purse.amount, purse.amount / 3, purse.amount / 10**6):
            assert purse.charge(purse.costing(part)) <= part * (1 + Fraction(1, 10**30))
            assert purse.permit(purse.amount - part).left <= part * (1 + Fraction(1, 10**30))
            assert purse.charge(purse.loss_of_noise(purse.noise(part))) <= part * (1 + Fraction(1, 10**30))
