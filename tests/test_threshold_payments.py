"""What a threshold test pays: every hit and no miss, to a filter or from a permit, in any order and any thread."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.hit_value import HitValue
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.broken import threshold_tests as broken
from tests.closed_forms import mpf
from tests.noise_laws import real
from tests.sizes import sized
from tests.threshold_objects import BUDGET, FAR, ONE, THREE, logistic_test
from tests.threshold_truth import price

F = Fraction


def check_adversary(make: type[dp.ThresholdTest], *, seed: int) -> None:
    """O10: whatever slopes are opened along the way, all that was reported costs at most R* at the session's order."""
    source, session = random.Random(seed), dp.PrivacyFilter(BUDGET)
    order, spent, hits = real(BUDGET.order), mpf(0), 0
    while spent < 100 and hits < 2_000:
        slope = F(source.randint(1, 28), 1000)
        try:
            test = logistic_test(make, slope, account=session)
            above = source.random() < 0.5
            hit = test.ask(FAR if above else -FAR)
        except BudgetExceeded:
            break
        assert hit == above
        if hit:
            hits, spent = hits + 1, spent + price(order, real(slope)) / (order - 1)
        if source.random() < 0.1 and session.admit(dp.Loss.zcdp(rho="0.0001")):
            spent += order / 10**4
        assert spent <= real(BUDGET.cap.amount)
        assert real(session.spent.amount) >= spent * (1 - mpf(10) ** -15)
        assert real(session.spent.amount) <= spent * (1 + mpf(10) ** -12) + mpf(10) ** -12
    assert hits > 3


def test_an_adversary_never_gets_more_than_the_budget() -> None:
    for seed in range(sized(6, 100)):
        check_adversary(dp.ThresholdTest, seed=seed)
    for twin in (broken.RefundsHits, broken.PaysAfterwards):
        with pytest.raises(AssertionError):
            check_adversary(twin, seed=0)


def test_a_miss_is_free_and_a_hit_is_not() -> None:
    """before every coin the price of a hit is taken from the permit, and given back if it shows a miss; from a filter
    likewise.
    """
    session = dp.PrivacyFilter(BUDGET)
    test = logistic_test(account=session)
    most = test.hits_left
    assert most is not None
    for _ in range(20):
        assert not test.ask(-FAR)
    assert not test.ask_many(np.full(5000, -FAR)).any()
    assert test.ask_value(-FAR) is None
    assert session.spent == dp.Charge()
    assert session._open == {}
    assert test.ask_many([-FAR, FAR, FAR]).tolist() == [False, True]
    assert isinstance(test.ask_value(FAR), HitValue)
    each = BUDGET.charge(test.hit_loss)
    assert each is not None
    assert 2 * each.amount <= session.spent.amount <= 2 * each.amount + F(1, 10**39)
    assert test.hits_left == most - 2
    for _ in range(most - 2):
        assert test.ask(FAR)
    assert test.halted
    with pytest.raises(BudgetExceeded):
        test.ask(-FAR)
    assert session._open == {}


def test_a_failure_after_the_coin_leaves_the_price_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    session = dp.PrivacyFilter(BUDGET)
    test = logistic_test(account=session)

    def fails(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("discreet.dp.logistic_watch.coin", fails)
    with pytest.raises(MemoryError):
        test.ask(0)
    assert session.spent.amount > 0


def test_what_cannot_be_asked_costs_nothing() -> None:
    session = dp.PrivacyFilter(BUDGET)
    test = logistic_test(account=session)
    for junk in (float("nan"), float("inf"), 0.5, "7", None, True, [1]):
        with pytest.raises(InvalidParameter):
            test.ask(junk)  # type: ignore[arg-type]
    for many in ([0.5], [float("nan")], [[True]], "abc"):
        with pytest.raises(InvalidParameter):
            test.ask_many(many)
    with pytest.raises(InvalidParameter):
        test.ask(5, threshold=float("nan"))
    with pytest.raises(InvalidParameter, match="start"):
        test.ask_many([1, 2], start=3)
    assert session.spent == dp.Charge()


def test_interleaved_with_others_it_costs_the_sum() -> None:
    """CO-04: two tests and direct releases in any order cost exactly what each costs alone."""
    source, session = random.Random(5), dp.PrivacyFilter(BUDGET)
    tests = [logistic_test(slope=slope, account=session) for slope in (F(1, 90), F(1, 60))]
    direct, hits, releases = dp.Loss.gaussian(mu="0.01"), [0, 0], 0
    for _ in range(30):
        which = source.randrange(3)
        if which == 2:
            releases += session.admit(direct)
        else:
            hits[which] += tests[which].ask(source.choice([-FAR, FAR]))
    prices = [F(BUDGET.charge(test.hit_loss).amount) for test in tests]  # type: ignore[union-attr]
    alone = sum(h * p for h, p in zip(hits, prices, strict=True)) + releases * F(BUDGET.charge(direct).amount)  # type: ignore[union-attr]
    assert min(*hits, releases) > 0
    assert alone <= session.spent.amount <= alone + F(60, 10**40)


class TestPermits:
    def test_private_values_need_one_and_it_is_what_is_spent(self) -> None:
        session = dp.PrivacyFilter(BUDGET)
        closed = logistic_test()
        permit = session.reserve(3 * closed.hit_loss, settlement=dp.Settlement.ON_HITS)
        test = closed.opened(permit)
        assert test.hits_left == 3
        with pytest.raises(InvalidParameter, match="Exact"):
            test.ask(FAR)
        low, high = (dp.Exact(value, sensitivity=ONE, unit="row") for value in (-FAR, FAR))
        assert not test.ask(low)
        assert test.hits_left == 3
        assert test.ask_many(dp.Exact(np.array([-FAR, FAR]), sensitivity=ONE, unit="row")).tolist() == [False, True]
        assert test.ask(high)
        session.settle(permit)
        each = BUDGET.charge(closed.hit_loss)
        assert each is not None
        assert 2 * each.amount <= session.spent.amount <= 2 * each.amount + F(1, 10**38)
        with pytest.raises(BudgetExceeded):
            test.ask(low)

    def test_a_value_that_moves_further_is_refused(self) -> None:
        session = dp.PrivacyFilter(BUDGET)
        test = logistic_test().opened(session.reserve(logistic_test().hit_loss))
        with pytest.raises(InvalidParameter, match="sensitive"):
            test.ask(dp.Exact(5, sensitivity=THREE, unit="row"))
        with pytest.raises(InvalidParameter, match="opened"):
            logistic_test(cutoff=1).ask(dp.Exact(5, sensitivity=ONE, unit="row"))
        with pytest.raises(NotSupported, match="pay"):
            logistic_test().ask(5)
        assert test.hits_left == 1

    def test_threads_report_no_more_hits_than_are_paid(self) -> None:
        session = dp.PrivacyFilter(BUDGET)
        test = logistic_test(account=session)
        most, ready = test.hits_left, threading.Barrier(8)

        def ask(_: int) -> int:
            ready.wait(timeout=30)
            hits = 0
            for _ in range(40):
                try:
                    hits += test.ask(FAR)
                except BudgetExceeded:
                    break
            return hits

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, range(8))) == most


def test_budgets_in_which_a_hit_has_no_price_are_refused_and_told_what_to_use() -> None:
    for budget in (dp.Budget(epsilon=1), dp.Budget(rho="0.1"), dp.Budget(epsilon="0.01", delta="1e-12")):
        with pytest.raises(NotSupported, match="LogisticSparseVector"):
            logistic_test(account=dp.PrivacyFilter(budget))
    pure = dp.PrivacyFilter(dp.Budget(epsilon=1))
    with pytest.raises(NotSupported, match="SparseVector"):
        logistic_test().opened(pure.reserve(dp.Loss.pure(epsilon=1)))
    for loss in (logistic_test().hit_loss, 3 * logistic_test().hit_loss):
        with pytest.raises(BudgetExceeded, match="SparseVector"):
            pure.reserve(loss)
    with pytest.raises(InvalidParameter, match="Permit"):
        logistic_test().opened(pure)  # type: ignore[arg-type]
