"""What is offered for a question, in the currency of the budget."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.plan import Released
from discreet.engine.price import checked
from tests.handmade import ROWS, bought, price, query

PURE, ADDED, RHO = dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-9), dp.Budget(rho=1)


class TestAmounts:
    def test_an_epsilon_costs_itself_on_a_budget_in_epsilon(self) -> None:
        assert price(epsilon=0.1).amount(PURE) == Fraction(1, 10)
        assert price(loss=dp.Loss.pure(epsilon="0.1")).amount(PURE) == Fraction(1, 10)

    def test_an_epsilon_costs_at_most_its_share_on_a_budget_with_a_delta(self) -> None:
        for epsilon in ("0.001", "0.1", "0.5", 1):
            amount = price(epsilon=epsilon).amount(ADDED)
            assert 0 < amount <= Fraction(epsilon) * ADDED.cap.amount

    def test_a_rho_is_sold_where_there_is_a_delta_and_by_a_budget_in_rho(self) -> None:
        assert price(rho="0.01").amount(RHO) == Fraction(1, 100)
        assert price(rho="0.01").amount(ADDED) == ADDED.order / 100
        assert price(loss=dp.Loss.gaussian(mu="0.2")).amount(RHO) == Fraction(2, 100)

    @pytest.mark.parametrize(
        ("budget", "offer", "message"),
        [
            (PURE, {"rho": 1}, "sells no rho; write epsilon=0.1"),
            (PURE, {"loss": dp.Loss.gaussian(mu=1)}, "sells no such loss"),
            (PURE, {"loss": dp.Loss.approximate(epsilon=1, delta=1e-9)}, "sells no such loss"),
            (ADDED, {"loss": dp.Loss.approximate(epsilon=1, delta=1e-9)}, "sells no such loss"),
            (ADDED, {"loss": dp.Loss.nonprivate()}, "sells no such loss"),
            (PURE, {"loss": dp.Loss.pure(epsilon=0)}, "a loss of 0 buys nothing"),
            (PURE, {"loss": 1}, r"loss= is a dp\.Loss"),
            (RHO, {"epsilon": 1}, "ask with rho= or loss="),
            (RHO, {"rho": 0}, "above 0"),
            (
                PURE,
                {"epsilon": 1e-300},
                "a price is at least 2e-16, below which an answer is all noise; got epsilon=1e",
            ),
        ],
    )
    def test_what_a_budget_does_not_sell_is_refused(
        self, budget: dp.Budget, offer: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(dc.Refused, match=message):
            price(**offer).amount(budget)


class TestOffers:
    @pytest.mark.parametrize("offer", [{}, {"epsilon": 1, "within": 3}, {"epsilon": 1, "rho": 1}])
    def test_a_question_makes_one_offer(self, offer: dict[str, Any]) -> None:
        with pytest.raises(dc.InvalidParameter, match="give exactly one"):
            price(**offer)

    @pytest.mark.parametrize("name", ["epsilon", "rho"])
    @pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "x", True, np.array([1, 2]), pd.NA])
    def test_an_offer_is_a_positive_number(self, name: str, value: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"above 0|finite|is a number"):
            price(**{name: value}).amount(ADDED)

    @pytest.mark.parametrize("value", [0, -1, float("nan"), True, pd.Series([50])])
    def test_an_error_is_a_positive_number(self, value: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"above 0|finite|is a number"):
            bought(query(ROWS, outputs=[("n", Released(0))]), PURE, within=value)


class TestBudgets:
    @pytest.mark.parametrize("budget", [PURE, ADDED, RHO, dp.Budget(epsilon=1, delta=1e-9, delta_add=5e-10)])
    def test_every_budget_is_accepted(self, budget: dp.Budget) -> None:
        checked(budget)

    @pytest.mark.parametrize("epsilon", ["1e-16", "1e-300", "1e-400"])
    def test_a_budget_that_buys_nothing_is_refused(self, epsilon: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="a budget below 2e-16 buys no question"):
            checked(dp.Budget(epsilon=epsilon))

    def test_a_number_is_no_budget(self) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"budget is a dc\.Budget"):
            checked(1)  # type: ignore[arg-type]
