"""`filter`: what a budget is, and that a price is a share of it."""

import math
import random
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Pure, Zcdp
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import exact, log_uniform, splits, zcdp_epsilon_truth
from tests.sizes import sized

REFERENCE = dp.Budget(epsilon=1, delta="1e-9")
BUDGETS = {
    "pure": dp.Budget(epsilon=1),
    "with delta": REFERENCE,
    "with a delta set aside": dp.Budget(epsilon=1, delta="1e-6", delta_add="1e-7"),
    "with a large delta": dp.Budget(epsilon=1, delta="0.01"),
    "large": dp.Budget(epsilon=20, delta="1e-9"),
    "of a third": dp.Budget(epsilon="1/3"),
}
NOTHING_LEFT = ("1e-17", "1e-300", Fraction(1, 2**1074))


@pytest.mark.parametrize("name", BUDGETS)
def test_questions_that_add_up_to_the_budget_always_fit(name: str) -> None:
    """Guarantee: questions whose epsilons add up to the budget's are always admitted, in any order: the charge of
    `epsilon=e` is at most the share e / E of the cap.

    (`Budget.price`.) Thirds, sevenths, halves of halves, random and very uneven shares.
    """
    budget = BUDGETS[name]
    assert budget.epsilon is not None
    for parts in splits(random.Random(1), sized(12, 500)):
        session = dp.PrivacyFilter(budget)
        for part in parts:
            loss = budget.price(epsilon=part * budget.epsilon)
            charge = budget.charge(loss)
            assert charge is not None
            assert budget.share(charge) <= part
            assert session.admit(loss), (part, parts)


@pytest.mark.parametrize("name", ["pure", "with delta"])
@pytest.mark.parametrize("tiny", [Fraction(1, 10**20), Fraction(1, 10**30), Fraction(1, 2**100)])
def test_they_fit_in_either_order_when_one_is_next_to_nothing(name: str, tiny: Fraction) -> None:
    budget = BUDGETS[name]
    for parts in ([tiny, 1 - tiny], [1 - tiny, tiny]):
        session = dp.PrivacyFilter(budget)
        assert [session.admit(budget.price(epsilon=part)) for part in parts] == [True, True]


@pytest.mark.parametrize("name", BUDGETS)
def test_one_question_may_take_the_whole_budget_and_then_nothing_fits(name: str) -> None:
    budget = BUDGETS[name]
    session = dp.PrivacyFilter(budget)
    assert session.admit(budget.price(epsilon=budget.epsilon or 0))
    assert budget.share(session.spent) == 1
    assert [session.admit(dp.Loss.pure(epsilon=e)) for e in NOTHING_LEFT] == [False] * 3


def test_usually_many_more_fit_with_a_delta() -> None:
    """84 questions at 0.1 on a budget of (1, 1e-9); ten on a budget of 1."""
    for budget, most in ((REFERENCE, 84), (dp.Budget(epsilon=1), 10)):
        session, loss = dp.PrivacyFilter(budget), budget.price(epsilon="0.1")
        assert sum(session.admit(loss) for _ in range(200)) == most


@pytest.mark.parametrize("name", BUDGETS)
def test_shares_add_up_exactly(name: str) -> None:
    budget = BUDGETS[name]
    session, shares = dp.PrivacyFilter(budget), Fraction(0)
    for part in ("0.01", "0.1", "0.03", "0.1"):
        loss = budget.price(epsilon=part)
        charge = budget.charge(loss)
        assert charge is not None
        shares += budget.share(charge)
        assert session.admit(loss)
    assert budget.share(session.spent) == shares


def test_a_question_of_epsilon_is_epsilon_dp_where_there_is_no_delta() -> None:
    assert dp.Budget(epsilon=1).price(epsilon=0.1) == Pure(Fraction(1, 10))
    loss = dp.Budget(epsilon=1).price(epsilon="1/3")
    assert 0 <= Fraction(1, 3) - Fraction(loss.epsilon_bound(Fraction(0))) < Fraction(1, 10**40)


def test_a_question_of_epsilon_is_epsilon_delta_dp_where_there_is_a_delta() -> None:
    """rho(e) is what a session of (e, delta) could spend: its best order proves (e, delta), and nearly no less."""
    source = random.Random(2)
    for _ in range(sized(15, 500)):
        epsilon = log_uniform(source, 1e-3, 0.999)
        loss = REFERENCE.price(epsilon=epsilon)
        assert isinstance(loss, Zcdp)
        proved = zcdp_epsilon_truth(exact(loss.rho), exact(REFERENCE.delta))
        assert exact(epsilon) * (1 - exact(Fraction(1, 10**4))) <= proved <= exact(epsilon)


def test_more_epsilon_buys_more() -> None:
    for budget in (REFERENCE, dp.Budget(epsilon=1)):
        prices = [budget.charge(budget.price(epsilon=Fraction(k, 100))) for k in range(1, 121)]
        amounts = [charge.amount for charge in prices if charge is not None]
        assert len(amounts) == 120
        assert amounts == sorted(set(amounts))


def test_what_buys_nothing_is_refused() -> None:
    for budget in (REFERENCE, dp.Budget(epsilon=1)):
        for epsilon in ("1e-41", 5e-324, "1e-300", 0, -1, math.nan, math.inf, None, True):
            with pytest.raises(InvalidParameter):
                budget.price(epsilon=epsilon)
    with pytest.raises(InvalidParameter):
        dp.Budget(rho=1).price(epsilon="0.1")


class TestBudget:
    def test_the_reference_budget(self) -> None:
        assert REFERENCE.order == Fraction(349, 10)
        assert f"{float(REFERENCE.cap.amount):.5f}" == "0.52256"
        assert not REFERENCE.is_pure
        assert dp.Budget(epsilon="0.1").cap == dp.Charge(Fraction(1, 10))
        assert dp.Budget(rho="0.1").cap == dp.Charge(Fraction(1, 10))

    @pytest.mark.parametrize("bad", [0, -1, -5e-324, math.nan, math.inf, "x", True, [1]])
    def test_what_is_not_above_zero_is_no_budget(self, bad: object) -> None:
        with pytest.raises(InvalidParameter):
            dp.Budget(epsilon=bad)
        with pytest.raises(InvalidParameter):
            dp.Budget(rho=bad)

    @pytest.mark.parametrize("bad", [1, 2, -1, -5e-324, math.nan, math.inf, "x", None, True])
    def test_delta_lies_between_zero_and_one(self, bad: object) -> None:
        with pytest.raises(InvalidParameter):
            dp.Budget(epsilon=1, delta=bad)

    @pytest.mark.parametrize("bad", ["1e-6", "2e-6", -1, math.nan])
    def test_delta_add_is_a_part_of_delta(self, bad: object) -> None:
        with pytest.raises(InvalidParameter):
            dp.Budget(epsilon=1, delta="1e-6", delta_add=bad)

    @pytest.mark.parametrize(
        "text",
        [
            "Budget(epsilon=1)",
            "Budget(epsilon=0.1, delta=1e-09)",
            "Budget(epsilon='1/3', delta=1e-06, delta_add=1e-07)",
            "Budget(rho=0.5)",
            "Budget(epsilon=1000000000000000000000000000001)",
        ],
    )
    def test_it_prints_as_it_is_written(self, text: str) -> None:
        budget = eval(text, {"Budget": dp.Budget})
        assert repr(budget) == text
        assert eval(repr(budget), {"Budget": dp.Budget}) == budget

    def test_a_refusal_shows_what_was_typed(self) -> None:
        with pytest.raises(InvalidParameter, match=r"got 1\.5"):
            dp.Budget(epsilon=1, delta=1.5)

    def test_a_budget_is_stated_in_one_currency(self) -> None:
        for wrong in ({}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-9"}, {"rho": 1, "delta_add": "1e-9"}):
            with pytest.raises(InvalidParameter):
                dp.Budget(**wrong)
        with pytest.raises(InvalidParameter):
            dp.Budget(epsilon=1, delta_add="1e-9")
        with pytest.raises(NotSupported):
            _ = dp.Budget(epsilon=1).order

    def test_a_budget_that_could_answer_nothing_is_refused(self) -> None:
        with pytest.raises(InvalidParameter, match="too small for delta"):
            dp.Budget(epsilon=1e-20, delta="1e-300")

    @pytest.mark.parametrize("epsilon", ["1e-6", "1e4", "1e300", "1e400"])
    def test_extreme_budgets_still_keep_their_promise(self, epsilon: str) -> None:
        budget = dp.Budget(epsilon=epsilon, delta="1e-9")
        assert budget.cap.amount / budget.order <= Fraction(epsilon) + Fraction("1e-9")

    def test_no_charge_is_negative_or_a_float(self) -> None:
        for bad in (Fraction(-1), -1, 0.5, math.nan, math.inf, True, "1"):
            with pytest.raises(InvalidParameter):
                dp.Charge(bad)
            with pytest.raises(InvalidParameter):
                dp.Charge(Fraction(0), bad)


class TestRho:
    def test_pure_and_gaussian_losses_pay_half_their_square(self) -> None:
        budget = dp.Budget(rho="0.5")
        for loss, amount in (
            (dp.Loss.pure(epsilon="0.1"), Fraction(1, 200)),
            (dp.Loss.gaussian(mu="0.1"), Fraction(1, 200)),
            (dp.Loss.zcdp(rho="0.1"), Fraction(1, 10)),
            (dp.Loss.pure(epsilon=1) + dp.Loss.gaussian(mu=1) + 2 * dp.Loss.zcdp(rho=1), Fraction(3)),
        ):
            assert budget.charge(loss) == dp.Charge(amount)

    def test_five_tenths_fit_a_half_and_no_more(self) -> None:
        session = dp.PrivacyFilter(dp.Budget(rho="0.5"))
        assert [session.admit(dp.Loss.zcdp(rho=0.1)) for _ in range(6)] == [True] * 5 + [False]
        assert not any(session.admit(dp.Loss.pure(epsilon=e)) for e in NOTHING_LEFT)
