"""Rules 5 to 9 of what must always be true of a session. Each class quotes the sentences that it tests."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import dp
from discreet.dp import Exact
from discreet.session import Session
from tests.sessions import COLUMNS, KEYED, MANY, ROWS, SPENDS, Q, session, table


class TestRule5:
    def test_the_same_question_is_the_same_answer(self) -> None:
        """**The same question is the same answer.** Free the second time and equal to the byte, as long as its error is
        at most what the new price would buy; otherwise a new release is made, charged, and combined with the old by
        inverse variance."""
        asked = session()
        first = asked.sql(Q, epsilon="0.1")
        assert asked.sql(Q, epsilon="0.1").to_bytes() == asked.sql(Q, epsilon="0.05").to_bytes() == first.to_bytes()
        assert asked.spent == Fraction(1, 10)
        better = asked.sql(Q, epsilon="0.2")
        assert (better.route, better.charged, asked.spent) == ("combined", Fraction(1, 5), Fraction(3, 10))
        assert better.errors["n"] < session().sql(Q, epsilon="0.2").errors["n"]  # type: ignore[operator]
        assert asked.sql(Q, epsilon="0.2").to_bytes() == better.to_bytes()

    @pytest.mark.parametrize("text", SPENDS)
    def test_of_every_kind(self, text: str) -> None:
        asked = session(table(unit="who", rows_per_unit=2), budget=KEYED)
        for epsilon in ("0.1", "0.3", "0.5"):
            first = asked.sql(text, epsilon=epsilon)
            again = asked.sql(text, epsilon=epsilon)
            assert first.charged > 0
            assert (again.charged, again.to_bytes()) == (0, first.to_bytes())


class TestRule6:
    def test_every_number_carries_its_error(self) -> None:
        """**Every number carries its error.** "Plus or minus, at 95 %" is part of the answer and is computed from
        released values only (never from a smooth sensitivity or a private count)."""
        asked = session(MANY, epsilon=9)
        answer = asked.sql("SELECT sex, COUNT(*) AS n, AVG(age) AS a, MEDIAN(age) AS m FROM t GROUP BY sex", epsilon=6)
        assert set(answer.errors) == {"n", "a", "m"}
        for name, truth in (("n", (3000, 5000)), ("a", (4, 4))):
            pairs = zip(answer.columns[name], answer.errors_of(name), truth, strict=True)
            assert all(abs(value - true) <= 3 * error + 10 for value, error, true in pairs)  # type: ignore[operator]
        assert "at 95 %" in repr(answer)

    def test_within_asks_the_other_way_round(self) -> None:
        """`within=` asks the other way round, per value unless `joint=True`."""
        asked = session(MANY)
        one = asked.quote(Q, within=50)
        both = asked.quote(Q, within=50, joint=True)
        assert one.errors["n"] == 50
        assert both.cost.share > one.cost.share
        sure = asked.quote(Q, within=50, confidence=0.99)
        assert sure.cost.share > one.cost.share
        assert asked.quote("SELECT COUNT(*) AS a, COUNT(age) AS b FROM t", within={"a": 50, "b": 20}).errors == {
            "a": 50,
            "b": 20,
        }

    def test_where_the_error_depends_on_the_data_a_look_comes_first(self) -> None:
        """Where the error depends on the data it first buys a small look, shown in the quote."""
        asked = session(MANY)
        quote = asked.quote(Q, relative=0.05)
        assert quote.route == "look"
        answer = asked.sql(Q, relative=0.05)
        assert answer.charged <= quote.cost.share
        assert answer.errors["n"] <= 0.05 * 3000 * 1.3  # type: ignore[operator]


class TestRule7:
    def test_integers_inside(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """**Integers inside.** Sums run on a public fixed-point grid and noise is sampled exactly. A float never
        touches a private value between the clamp and the release."""
        kinds = []
        original = dp.Laplace.open

        def look(self: dp.Laplace, exact: Exact, permit: dp.Permit) -> Any:
            kinds.append(np.asarray(exact._value).dtype)
            found = original(self, exact, permit)
            kinds.append(np.asarray(found).dtype)
            return found

        monkeypatch.setattr(dp.Laplace, "open", look)
        session().sql("SELECT SUM(cost) AS c, AVG(age) AS a, COUNT(*) AS n FROM t", epsilon=1)
        assert kinds
        assert all(np.issubdtype(kind, np.integer) for kind in kinds)


class TestRule8:
    def test_nothing_is_private_by_accident(self) -> None:
        """**Nothing is private by accident.** Unknown column, function, option, mechanism: refused."""
        asked = session()
        for text in (
            "SELECT SUM(nobody) AS s FROM t",
            "SELECT MODE(age) AS m FROM t",
            "SELECT geomean(age) AS m FROM t",
        ):
            with pytest.raises(dc.Refused):
                asked.sql(text, epsilon="0.1")
        for option in ({"epsilom": 1}, {"epsilon": 1, "mechanism": "laplace"}, {"epsilon": 1, "seed": 3}):
            with pytest.raises(TypeError):
                asked.sql(Q, **option)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            asked.table("t").agg(n=dc.count()).ask(epsilon=1, seed=3)  # type: ignore[call-arg]
        assert asked.spent == 0


class TestRule9:
    def test_a_price_is_a_share(self) -> None:
        """**A price is a share.** In a session with delta = 0, `epsilon=e` buys an e-DP answer and costs e of the
        budget."""
        asked = session(epsilon=2)
        for text in SPENDS[:4]:
            answer = asked.sql(text, epsilon="0.2")
            assert answer.charged == Fraction(1, 10)

    @pytest.mark.parametrize("text", SPENDS[:4])
    def test_ten_questions_at_a_tenth_fit_a_budget_of_one(self, text: str) -> None:
        asked = session()
        for version in range(10):
            Session(table(version=str(version)), ledger=asked._ledger).sql(text, epsilon=0.1)
        assert asked.remaining == 0
        with pytest.raises(dc.BudgetExceeded):
            asked.sql("SELECT COUNT(*) AS n FROM t", epsilon=1e-9)

    def test_usually_many_more_do(self) -> None:
        """So questions whose epsilons add up to the budget always fit (rho is convex with rho(0) = 0), usually many
        more do (84 at 0.1 on a budget of 1), and one question may take the whole budget; each of these is a test."""
        asked = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        quote = asked.quote(Q, epsilon=0.1)
        assert quote.cost.fits is not None
        assert quote.cost.fits >= 84
        assert asked.sql(Q, epsilon=1).charged == pytest.approx(1, rel=1e-8)

    def test_the_cost_has_a_share_a_loss_and_how_many_fit(self) -> None:
        """`Quote.cost` shows `share` (per cent of the budget, exactly additive because the filter has one order),
        `loss`, and "n questions like this one fit". `spent` and `remaining` are shares."""
        asked = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        costs = [asked.quote(text, epsilon="0.1").cost for text in SPENDS[:4]]
        for text in SPENDS[:4]:
            asked.sql(text, epsilon="0.1")
        assert asked.spent == sum(cost.share for cost in costs)
        assert asked.remaining == 1 - asked.spent
        assert all(isinstance(cost.loss, dp.Loss) for cost in costs)
        shown = repr(session().quote(Q, epsilon="0.1"))
        assert "10 like this one fit" in shown
        assert "10 % of the budget" in shown

    def test_no_running_epsilon_is_shown(self) -> None:
        """No running epsilon of an adaptive session is ever shown."""
        asked = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        asked.sql(Q, epsilon="0.1")
        names = [name for name in dir(asked) if not name.startswith("_")]
        assert not {"epsilon", "delta", "rho", "loss"} & set(names)
        assert "epsilon" not in repr(asked)


def test_a_plan_is_asked_as_it_is() -> None:
    """`ask(plan)`: what SQL comes to, over the tables of the session and no others."""
    asked = session()
    plan = asked._bounded(Q, None, None, None).plan
    answer = asked.ask(plan, epsilon="0.1")
    assert asked.sql(Q, epsilon="0.1").to_bytes() == answer.to_bytes()
    with pytest.raises(dc.InvalidParameter, match="over the tables of its session"):
        session(dc.Table(ROWS, columns=COLUMNS, name="t")).ask(plan, epsilon="0.1")
