"""`filter`: an adaptive session never spends more than its budget, in any order and under any number of threads."""

import random
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import dp
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Pure, Zcdp
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.accounting import (
    NOISE,
    check_sums_are_exact,
    exact,
    examples,
    log_uniform,
    mpf,
    response_renyi,
    responses_and_gaussian_delta,
)
from tests.broken import accounting as broken
from tests.sizes import sized

DELTA = Fraction(1, 10**9)
REFERENCE = dp.Budget(epsilon=1, delta="1e-9")
ORDER = mpf(349) / 10  # that of the reference budget, oracle O11


class Admits(Protocol):
    def admit(self, loss: dp.Loss) -> bool: ...


class PureSpender:
    """A filter on a pure budget of 1, as the checks of `accounting` drive it."""

    def __init__(self) -> None:
        self.filter = dp.PrivacyFilter(dp.Budget(epsilon=1))

    def spend(self, epsilon: object) -> bool:
        return self.filter.admit(dp.Loss.pure(epsilon=epsilon))


class ZcdpSpender(PureSpender):
    def __init__(self) -> None:
        self.filter = dp.PrivacyFilter(dp.Budget(rho=1))

    def spend(self, epsilon: object) -> bool:
        return self.filter.admit(dp.Loss.zcdp(rho=epsilon))


def renyi_truth(loss: dp.Loss, order: mpf) -> mpf:
    """The Renyi divergence of a loss at an order, from its formula; of an approximate one, that of its pure part."""
    match loss:
        case Pure(epsilon) | Approximate(epsilon, _):
            return response_renyi(order, exact(epsilon))
        case Zcdp(rho):
            return order * exact(rho)
        case GaussianLoss(mu_squared):
            return order * exact(mu_squared) / 2
    raise AssertionError(loss)


small = st.fractions(Fraction(1, 10**6), Fraction(1, 2), max_denominator=10**6)
losses = st.one_of(
    small.map(lambda e: dp.Loss.pure(epsilon=e)),
    small.map(lambda r: dp.Loss.zcdp(rho=r / 50)),
    small.map(lambda m: dp.Loss.gaussian(mu=m / 4)),
    st.builds(lambda e, d: dp.Loss.approximate(epsilon=e, delta=d / 10**10), small, small),
)


@examples(max_examples=sized(150, 5_000))
@given(st.lists(losses, max_size=60))
def test_no_sequence_of_losses_exceeds_the_cap(asked: list[dp.Loss]) -> None:
    """Guarantee: the sum of all charges admitted never exceeds the cap of the budget, under any number of threads.

    (`PrivacyFilter`; oracle O10: whatever was admitted, the divergences at 34.9 add up to at most R* = .52256.)
    """
    budget = dp.Budget(epsilon=1, delta="1.1e-9", delta_add="1e-10")
    assert budget.order == REFERENCE.order
    session = dp.PrivacyFilter(budget)
    admitted = [loss for loss in asked if session.admit(loss)]
    assert sum(renyi_truth(loss, ORDER) for loss in admitted) <= exact(REFERENCE.cap.amount) * (1 + NOISE)
    assert sum(getattr(loss, "base_delta", 0) for loss in admitted) <= Fraction(1, 10**10)
    assert session.spent.amount <= budget.cap.amount


@examples(max_examples=sized(100, 5_000))
@given(st.lists(losses, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_an_adversary_that_asks_for_what_is_left_gets_no_more(asked: list[dp.Loss], source: random.Random) -> None:
    """O10: now and then the adversary asks for exactly what is left, and then for one part in 10^30 of the cap more."""
    session = dp.PrivacyFilter(REFERENCE)
    for loss in asked:
        session.admit(loss)
        left = (REFERENCE.cap.amount - session.spent.amount) / REFERENCE.order
        if source.random() < 0.1:
            assert not session.admit(dp.Loss.zcdp(rho=left + REFERENCE.cap.amount / 10**30))
            session.admit(dp.Loss.zcdp(rho=left))
        assert session.spent.amount <= REFERENCE.cap.amount


def check_the_promise(make: Callable[[dp.Budget], Admits]) -> None:
    """Whatever pure and Gaussian losses are admitted, the exact delta of them together at epsilon is at most delta."""
    source = random.Random(1)
    for _ in range(sized(12, 300)):
        each, mu = log_uniform(source, 0.05, 0.8), log_uniform(source, 0.02, 0.16)
        session, counts = make(REFERENCE), [0, 0]
        for kind in source.choices((0, 1), k=30):
            counts[kind] += session.admit((dp.Loss.pure(epsilon=each), dp.Loss.gaussian(mu=mu))[kind])
        if counts[1]:
            total = exact(mu) * mpf(counts[1]) ** mpf("0.5")
            real = responses_and_gaussian_delta(mpf(1), exact(each), counts[0], total)
            assert real <= exact(DELTA), (each, mu, counts)


def test_the_promise_holds_by_the_exact_law_of_what_was_admitted() -> None:
    """Guarantee: whatever is admitted by a filter on this budget, chosen adaptively, is together (epsilon, delta)-DP,
    or rho-zCDP for `Budget(rho=)`. Of delta, `delta_add` is set aside for mechanisms that have an additive delta.

    (`Budget`.) The filter that picks the kindest order for every loss is the broken twin.
    """
    check_the_promise(dp.PrivacyFilter)
    with pytest.raises(AssertionError):
        check_the_promise(broken.BestOrderFilter)


def check_deltas(make: Callable[[dp.Budget], Admits]) -> None:
    budget = dp.Budget(epsilon=1, delta="1e-6", delta_add="1e-8")
    for delta, most in (("1e-9", 10), ("3e-9", 3), ("1.1e-8", 0), ("0.1", 0)):
        session = make(budget)
        loss = dp.Loss.approximate(epsilon="1e-6", delta=delta)
        assert sum(session.admit(loss) for _ in range(20)) == most, delta
    without = make(dp.Budget(epsilon=1, delta="1e-6"))
    assert not without.admit(dp.Loss.approximate(epsilon="1e-6", delta="1e-300"))


def test_additive_deltas_have_an_account_of_their_own() -> None:
    check_deltas(dp.PrivacyFilter)
    with pytest.raises(AssertionError):
        check_deltas(broken.DeltaBlindFilter)


def test_what_is_set_aside_for_deltas_is_not_there_for_the_conversion() -> None:
    part = dp.Budget(epsilon=1, delta="1e-9", delta_add="5e-10")
    assert part.cap.amount < REFERENCE.cap.amount
    assert part.cap.amount == dp.Budget(epsilon=1, delta="5e-10").cap.amount
    assert part.cap.delta == Fraction(1, 2 * 10**9)
    both = dp.PrivacyFilter(part)
    assert both.admit(dp.Loss.zcdp(rho=part.cap.amount / part.order) + dp.Loss.approximate(epsilon=0, delta="5e-10"))
    assert part.share(both.spent) == 1


@pytest.mark.parametrize("spender", [PureSpender, ZcdpSpender])
def test_sums_are_exact(spender: Callable[[], PureSpender]) -> None:
    check_sums_are_exact(spender, count=sized(2_000, 1_000_000))


def test_the_state_stays_small_whatever_was_asked() -> None:
    """A decision takes the same time after a million others: the state is one charge of bounded size."""
    source = random.Random(2)
    for budget in (dp.Budget(epsilon=10**6), REFERENCE, dp.Budget(rho=10**6)):
        session, unit = dp.PrivacyFilter(budget), Fraction(1, 10**7)
        truth = Fraction(0)
        for _ in range(sized(300, 20_000)):
            epsilon = unit * Fraction(source.getrandbits(200) + 1, source.getrandbits(200) + 1)
            if session.admit(dp.Loss.pure(epsilon=epsilon)):
                truth += Fraction(float(epsilon)) * (1 - Fraction(1, 2**50))  # from below, and short
            assert session.spent.amount.denominator.bit_length() <= 512
        assert session._open == {}
        if budget.is_pure:
            assert truth <= session.spent.amount <= truth * (1 + Fraction(1, 10**12)) + Fraction(1, 10**30)


def check_threads(admit: Callable[[dp.Loss], bool], *, fits: int, each: int) -> None:
    """Eight threads ask `each` times; exactly `fits` questions are admitted."""
    loss, ready = dp.Loss.pure(epsilon=Fraction(1, fits)), threading.Barrier(8)

    def ask(_: int) -> int:
        ready.wait(timeout=30)
        return sum(admit(loss) for _ in range(each))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(8))) == fits


def test_eight_threads_admit_exactly_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = dp.Charge.__add__

    def slow(one: dp.Charge, two: dp.Charge) -> dp.Charge:
        time.sleep(1e-4)  # between looking and writing, every other thread gets a turn
        return plain(one, two)

    monkeypatch.setattr(dp.Charge, "__add__", slow)
    for fits in (1, 10, 100):
        session = dp.PrivacyFilter(dp.Budget(epsilon=1))
        check_threads(session.admit, fits=fits, each=sized(50, 500))
        assert session.spent.amount == 1
    with pytest.raises(AssertionError):
        check_threads(broken.RacingFilter(threading.Barrier(8)).admit, fits=10, each=50)


class TestReserve:
    def test_a_reservation_is_spent_at_once(self) -> None:
        session = dp.PrivacyFilter(dp.Budget(epsilon=1))
        permit = session.reserve(dp.Loss.pure(epsilon="0.6"))
        assert (permit.left, session.spent.amount) == (Fraction(3, 5), Fraction(3, 5))
        with pytest.raises(BudgetExceeded, match=r"costs 60 % of the budget and 40 % is left"):
            session.reserve(dp.Loss.pure(epsilon="0.6"))
        assert session.spent.amount == Fraction(3, 5)

    @pytest.mark.parametrize(
        ("spent", "asked", "said"),
        [
            ("1/3", 1, "costs 100 % of the budget and 66.6666 % is left"),
            ("0.5", "0.5000000001", "costs 50.0001 % of the budget and 50 % is left"),
            ("0.9999999999", "2e-10", "costs 2e-8 % of the budget and 1e-8 % is left"),
            (1, "1/300000000000", "costs 3.33334e-10 % of the budget and 0 % is left"),
        ],
    )
    def test_what_is_asked_is_rounded_up_and_what_is_left_down(self, spent: object, asked: object, said: str) -> None:
        """Rounded to the nearest, a question could be refused that seems to fit."""
        session = dp.PrivacyFilter(dp.Budget(epsilon=1))
        assert session.admit(dp.Loss.pure(epsilon=spent))
        with pytest.raises(BudgetExceeded, match=re.escape(said)):
            session.reserve(dp.Loss.pure(epsilon=asked))

    def test_what_has_no_price_here_is_refused_with_what_has(self) -> None:
        leak, normal = dp.Loss.approximate(epsilon="0.1", delta="1e-12"), dp.Loss.gaussian(mu="0.1")
        for budget, loss, instead in (
            (dp.Budget(epsilon=1), normal, "An epsilon without a delta has a price here, as Laplace noise has"),
            (dp.Budget(rho=1), leak, "A rho without a delta has a price here"),
            (REFERENCE, leak, "a delta of its own is paid from Budget(epsilon=, delta=, delta_add=)"),
            (
                dp.Budget(epsilon=1, delta="1e-9", delta_add="1e-10"),
                dp.Loss.nonprivate(),
                "A Renyi divergence of order 35.1 has a price here.",
            ),
        ):
            with pytest.raises(BudgetExceeded, match=re.escape(instead)):
                dp.PrivacyFilter(budget).reserve(loss)

    def test_a_filter_has_a_budget_and_starts_from_a_charge(self) -> None:
        for junk in (1, None, "1", dp.Loss.pure(epsilon=1)):
            with pytest.raises(InvalidParameter, match=r"PrivacyFilter\(dp\.Budget\(epsilon=1\)\)"):
                dp.PrivacyFilter(junk)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="Charge"):
            dp.PrivacyFilter(REFERENCE, spent=0)  # type: ignore[arg-type]

    def test_what_has_no_price_is_refused(self) -> None:
        for budget in (dp.Budget(epsilon=1), REFERENCE, dp.Budget(rho=1)):
            for loss in (dp.Loss.nonprivate(), dp.Loss.approximate(epsilon="0.1", delta="1e-12")):
                session = dp.PrivacyFilter(budget)
                assert not session.admit(loss)
                with pytest.raises(BudgetExceeded):
                    session.reserve(loss)
                assert session.spent == dp.Charge()

    def test_a_currency_that_says_nothing_about_the_budget_is_refused(self) -> None:
        curve = dp.Loss.rdp(orders=[2, 8], values=["0.01", "0.04"])
        for budget, loss in (
            (dp.Budget(epsilon=1), dp.Loss.zcdp(rho="1e-9")),
            (dp.Budget(epsilon=1), dp.Loss.gaussian(mu="1e-9")),
            (dp.Budget(rho=1), curve),
            (REFERENCE, curve),  # its order, 34.9, lies above the last point
        ):
            assert not dp.PrivacyFilter(budget).admit(loss)

    @pytest.mark.parametrize("junk", [0.1, -1, float("nan"), None, "0.1", Fraction(1, 10), dp.Charge()])
    def test_what_is_no_loss_is_refused(self, junk: object) -> None:
        for budget in (dp.Budget(epsilon=1), REFERENCE, dp.Budget(rho=1)):
            with pytest.raises(InvalidParameter):
                dp.PrivacyFilter(budget).admit(junk)


def check_settlement(settling: object) -> None:
    """A plain reservation owes its full price, whatever was taken."""
    permit = settling.reserve(dp.Loss.pure(epsilon=1))  # type: ignore[attr-defined]
    with pytest.raises(NotSupported):
        settling.settle(permit)  # type: ignore[attr-defined]


class TestSettle:
    def test_only_a_threshold_test_is_settled_on_its_hits(self) -> None:
        check_settlement(dp.PrivacyFilter(dp.Budget(epsilon=1)))
        with pytest.raises(pytest.fail.Exception):
            check_settlement(broken.RefundingFilter(dp.PrivacyFilter(dp.Budget(epsilon=1))))

    def test_what_was_not_taken_comes_back_once(self) -> None:
        session = dp.PrivacyFilter(dp.Budget(epsilon=1))
        permit = session.reserve(dp.Loss.pure(epsilon=1), settlement=dp.Settlement.ON_HITS)
        assert not session.admit(dp.Loss.pure(epsilon="0.1"))
        permit.take(dp.Loss.pure(epsilon="0.3"))
        session.settle(permit)
        assert session.spent.amount == Fraction(3, 10)
        with pytest.raises(NotSupported):
            session.settle(permit)
        with pytest.raises(BudgetExceeded):
            permit.take(dp.Loss.pure(epsilon="0.1"))

    def test_a_permit_is_settled_where_it_was_minted(self) -> None:
        one, two = (dp.PrivacyFilter(dp.Budget(epsilon=1)) for _ in range(2))
        permit = one.reserve(dp.Loss.pure(epsilon=1), settlement=dp.Settlement.ON_HITS)
        two.admit(dp.Loss.pure(epsilon=1))
        with pytest.raises(NotSupported):
            two.settle(permit)
        assert not two.admit(dp.Loss.pure(epsilon="0.1"))

    def test_settling_neither_gains_nor_grows(self) -> None:
        """Many open at once, with long denominators, settled in a row: at least what was taken is spent."""
        source, session, taken = random.Random(3), dp.PrivacyFilter(dp.Budget(epsilon=1)), Fraction(0)
        for _ in range(sized(10, 200)):
            permits = []
            for _ in range(20):
                whole = Fraction(source.getrandbits(120) + 1, 10**5 * (source.getrandbits(120) + 2**119))
                permit = session.reserve(dp.Loss.pure(epsilon=whole), settlement=dp.Settlement.ON_HITS)
                part = whole / (100 * source.randint(1, 9))
                permit.take(dp.Loss.pure(epsilon=part))
                taken = Fraction(int((taken + part) * 10**60), 10**60)  # from below, and short
                permits.append(permit)
            for permit in permits:
                session.settle(permit)
                assert session.spent.amount.denominator.bit_length() <= 512
            assert session.spent.amount >= taken
