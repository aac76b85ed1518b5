"""The whole language through a session: every kind of measure, of key and of budget, from text to answer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.purchase import Purchase
from discreet.session import Session
from tests.sessions import CANARY, REFUSED, Q, recorded, session

MANY = 4000
AGES = np.arange(MANY) % 10
PEOPLE = pd.DataFrame(
    {
        "who": np.arange(MANY) // 2,  # two rows each
        "sex": np.where(np.arange(MANY) % 4 < 3, "Male", "Female"),
        "age": AGES,
        "cost": (np.arange(MANY) % 200) / 2,
        "town": [f"town {i % 3}" if i else CANARY for i in range(MANY)],
    }
)
TWICE_MEN = float(2 * AGES[PEOPLE["sex"] == "Male"].sum())
DELTA = dc.Budget(epsilon=1000, delta=1e-9, delta_add=5e-10)
BUDGETS = [dc.Budget(epsilon=1000), DELTA, dc.Budget(rho=1000)]


def people(budget: dc.Budget = DELTA, **options: Any) -> Session:
    table = dc.Table(PEOPLE, columns=session().describe("t").columns, name="t", unit="who", rows_per_unit=2)
    return session(table, budget=budget, **options)


def offer(budget: dc.Budget, share: int = 40) -> dict[str, Any]:
    """Less than a twentieth of a budget of 1,000, in its own words."""
    return {"rho": share} if budget.epsilon is None else {"epsilon": share}


TRUTHS: dict[str, tuple[str, list[float]]] = {
    "COUNT(*)": ("SELECT sex, COUNT(*) AS x FROM t GROUP BY sex", [MANY / 4, MANY * 3 / 4]),
    "COUNT(x)": ("SELECT COUNT(age) AS x FROM t WHERE age > 4", [MANY / 2]),
    "units": ("SELECT COUNT(DISTINCT who) AS x FROM t", [MANY / 2]),
    "distinct": ("SELECT COUNT(DISTINCT age) AS x FROM t WHERE cost < 50", [10]),
    "sum": ("SELECT SUM(cost) AS x FROM t", [float(PEOPLE["cost"].sum())]),
    "mean": ("SELECT AVG(age) AS x FROM t", [4.5]),
    "variance": ("SELECT VAR_POP(age) AS x FROM t", [float(AGES.var())]),
    "deviation": ("SELECT STDDEV(age) AS x FROM t", [float(AGES.std())]),
    "median": ("SELECT MEDIAN(age) AS x FROM t", [4.0]),
    "quantile": ("SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS x FROM t", [89.5]),
    "expression": ("SELECT SUM(CASE WHEN sex = 'Male' THEN age * 2 ELSE 0 END) AS x FROM t", [TWICE_MEN]),
    "arithmetic": ("SELECT 100.0 * COUNT(*) / COUNT(DISTINCT who) AS x FROM t", [200.0]),
}  # fmt: skip


class TestMeasures:
    @pytest.mark.parametrize("budget", BUDGETS)
    @pytest.mark.parametrize("what", TRUTHS)
    def test_the_answer_is_around_the_truth_and_its_error_is_small(self, what: str, budget: dc.Budget) -> None:
        text, truths = TRUTHS[what]
        asked = people(budget)
        answer = asked.sql(text, **offer(budget))
        assert len(answer.columns["x"]) == len(truths)
        for value, error, truth in zip(answer.columns["x"], answer.errors_of("x"), truths, strict=True):
            assert isinstance(value, int | float)
            assert error is not None
            assert error <= max(2, abs(truth) * 0.02)
            assert abs(value - truth) <= 10 * error + 1  # missed with probability below 1e-9
        assert answer.charged == asked.spent <= Fraction(1, 20)
        assert asked.quote(text, **offer(budget)).route == "cache"

    def test_private_keys_are_named_and_the_rare_one_is_not(self) -> None:
        asked = people()
        text = "SELECT town, COUNT(*) AS n, AVG(age) AS age FROM t GROUP BY town ORDER BY n DESC"
        answer = asked.sql(text, epsilon=40)
        assert sorted(map(str, answer.columns["town"])) == ["town 0", "town 1", "town 2"]
        assert list(answer.columns["n"]) == sorted(answer.columns["n"], reverse=True)  # type: ignore[type-var]
        assert CANARY not in repr(answer) + repr(asked.history()) + repr(asked.explain(text))
        assert asked.sql(text, epsilon=40).to_bytes() == answer.to_bytes()

    def test_an_answer_in_which_no_key_was_named_has_no_rows(self) -> None:
        """One person for each key: none of them is named but with probability 1e-9."""
        rows = pd.DataFrame({"who": [1, 2], "town": ["a", "b"], "age": [3, 4]})
        columns = {"town": dc.Text(), "age": dc.Integer(0, 9)}
        asked = session(dc.Table(rows, columns=columns, name="t", unit="who", rows_per_unit=1), budget=DELTA)
        text = "SELECT town, AVG(age) + 1 AS a, MEDIAN(age) AS m, COUNT(*) * 2 AS n FROM t GROUP BY town"
        text += " HAVING COUNT(*) > 1"
        answer = asked.sql(text + " ORDER BY n * 2 DESC, town LIMIT 3", epsilon=1)
        assert (answer.rows, list(answer.columns)) == (0, ["town", "a", "m", "n"])
        assert asked.sql(text, epsilon=1).charged == 0

    @pytest.mark.parametrize("rows", [0, 1], ids=["nobody", "one person"])
    def test_a_table_of_nobody_fails_nothing(self, rows: int) -> None:
        empty = dc.Table(
            PEOPLE.head(rows), columns=session().describe("t").columns, name="t", unit="who", rows_per_unit=2
        )
        asked = session(empty, budget=DELTA)
        for text in (*(text for text, _ in TRUTHS.values()), "SELECT town, MEDIAN(age) AS m FROM t GROUP BY town"):
            assert CANARY not in repr(asked.sql(text, epsilon=5))
        assert asked.spent > 0

    def test_a_question_in_python_is_the_same_question(self) -> None:
        asked = people()
        first = asked.sql("SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM t WHERE age > 2 GROUP BY sex", epsilon=5)
        question = asked.table("t").where(dc.col("age") > 2).group_by("sex").agg(n=dc.count(), age=dc.mean("age"))
        assert question.quote(epsilon=5).route == "cache"
        assert question.ask(epsilon=5).to_bytes() == first.to_bytes()

    def test_parameters_and_tighter_bounds(self) -> None:
        asked = people()
        one = asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > $least", parameters={"least": 4}, epsilon=40)
        assert asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > 4", epsilon=40).to_bytes() == one.to_bytes()
        tight = asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > 4", rows_per_group=1, epsilon=40)
        assert tight.route == "direct"
        with pytest.raises(dc.InvalidParameter, match="whole number of at least 1"):
            asked.sql("SELECT COUNT(*) AS n FROM t", rows_per_group=0, epsilon=40)


class TestOneReleaseManyAnswers:
    """What is stored is what was released: whatever else is shown of the same numbers is free."""

    @pytest.mark.parametrize(
        "text",
        [
            "SELECT AVG(age) AS mean, sex FROM t GROUP BY sex",
            "SELECT sex, AVG(age) AS a FROM t GROUP BY sex ORDER BY a DESC LIMIT 1",
            "SELECT sex, AVG(age) * 2 AS twice FROM t GROUP BY sex HAVING AVG(age) > 0",
        ],
    )
    def test_other_outputs_of_the_same_measures(self, text: str) -> None:
        asked = people()
        asked.sql("SELECT sex, AVG(age) AS age FROM t GROUP BY sex", epsilon=5)
        spent = asked.spent
        answer = asked.sql(text, epsilon=5)
        assert (answer.route, answer.charged, asked.spent) == ("cache", 0, spent)

    def test_another_measure_or_filter_is_another_question(self) -> None:
        asked = people()
        asked.sql("SELECT AVG(age) AS a FROM t", epsilon=5)
        for text in ("SELECT AVG(age) AS a, MEDIAN(age) AS m FROM t", "SELECT AVG(age) AS a FROM t WHERE age > 3"):
            assert asked.sql(text, epsilon=5).charged > 0


class TestCharges:
    def test_the_debit_is_the_sum_of_what_the_mechanisms_took(self, monkeypatch: pytest.MonkeyPatch) -> None:
        taken: list[dp.Charge] = []
        original = dp.Permit.take

        def noted(permit: dp.Permit, loss: dp.Loss) -> dp.Charge:
            taken.append(original(permit, loss))
            return taken[-1]

        monkeypatch.setattr(dp.Permit, "take", noted)
        for budget in BUDGETS:
            texts = [text for text, _ in TRUTHS.values()]
            texts += ["SELECT town, COUNT(*) AS n FROM t GROUP BY town"] if budget is DELTA else []
            for text in texts:
                asked = people(budget)
                taken.clear()
                asked.sql(text, **offer(budget))
                spent = asked._ledger.spent
                assert spent.amount == sum(charge.amount for charge in taken)
                assert spent.delta == sum(charge.delta for charge in taken)
                assert budget.share(spent) <= Fraction(1, 20)

    def test_a_session_that_reserves_less_than_the_sum_cannot_release(self) -> None:
        """The broken twin: it pays for its first measure alone, and the permit refuses the second."""

        class Undercharging(Session):
            def _reserve(self, query: BoundedQuery, purchase: Purchase, key: str) -> dp.Permit:
                return super()._reserve(query, replace(purchase, loss=purchase.mechanisms[0].loss), key)

        asked = people(kind=Undercharging)
        with pytest.raises(dc.Failed):
            asked.sql("SELECT COUNT(*) AS n, SUM(cost) AS c FROM t", epsilon=5)
        assert asked._ledger.answers(asked.history()[-1].body) == []

    @pytest.mark.parametrize("budget", [dc.Budget(epsilon=1), dc.Budget(epsilon=1, delta=1e-9), dc.Budget(rho=1)])
    def test_quotes_explanations_and_refusals_are_free(self, budget: dc.Budget) -> None:
        asked = session(budget=budget)
        for text in (*REFUSED, Q, "SELECT AVG(age) FROM t", "SELECT COUNT(*) + sex FROM t GROUP BY sex"):
            for ask in (asked.quote, asked.explain):
                try:
                    ask(text, **({} if ask == asked.explain else offer(budget, share=1)))  # type: ignore[operator]
                except dc.Refused:
                    assert text != Q
        with pytest.raises(dc.Refused):
            asked.sql("SELECT sqrt(sex) + COUNT(*) AS x FROM t GROUP BY sex", **offer(budget, share=1))
        assert asked.spent == 0
        assert [entry.kind for entry in asked.history() if entry.kind == "reserve"] == []

    def test_what_does_not_fit_is_refused_in_the_words_of_the_budget(self) -> None:
        asked = session(budget=dc.Budget(rho=1))
        asked.sql(Q, rho="0.75")
        with pytest.raises(dc.BudgetExceeded, match=r"Ask with rho=0\.25\d* or less"):
            asked.sql("SELECT COUNT(*) FROM t", rho="0.5")
        deltas = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        deltas.sql(Q, epsilon="0.9")
        with pytest.raises(dc.BudgetExceeded, match=r"Ask with epsilon=0\.\d+ or less") as refused:
            deltas.sql("SELECT COUNT(*) FROM t", epsilon="0.9")
        left = str(refused.value).partition("epsilon=")[2].partition(" ")[0]
        assert deltas.sql("SELECT COUNT(*) FROM t", epsilon=left).charged > 0

    def test_84_tenths_fit_a_budget_with_a_delta(self) -> None:
        asked = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        assert asked.quote(Q, epsilon="0.1").cost.fits == 84


class TestAround:
    def test_an_explanation_has_the_norms_of_each_measure(self) -> None:
        shown = repr(people().explain("SELECT sex, COUNT(*) AS n, SUM(cost) AS c FROM t GROUP BY sex"))
        assert "protects all rows of one who in t, added or removed" in shown
        assert "R = 2 rows" in shown
        assert "one unit moves 2 cells at most, l1 2, l2 2, linf 2" in shown
        assert "l1 200, l2 200, linf 200" in shown

    def test_an_answer_says_whom_it_protects(self) -> None:
        assert "protects all rows of one who in t, added or removed" in repr(people().sql(Q, epsilon=1))
        assert "protects one row of t, added or removed" in repr(session().sql(Q, epsilon=1))

    def test_quotes_of_means_are_formulas_in_the_number_of_rows(self) -> None:
        quote = people().quote("SELECT AVG(age) AS a, MEDIAN(age) AS m, VARIANCE(age) AS v FROM t", epsilon=40)
        assert "/ (n - " in str(quote.errors["a"])
        assert str(quote.errors["m"]).endswith(" rows")
        assert quote.errors["v"] == "told with the answer"
        assert "so " in repr(quote)

    def test_made_up_rows_have_the_declared_columns(self) -> None:
        rows = people().dummy("t", rows=7)
        assert rows.num_rows == 7
        assert CANARY not in repr(rows.to_pydict())
        with pytest.raises(dc.InvalidParameter, match="there is no table 'u'; there is 't'"):
            people().dummy("u")

    def test_a_session_closes_its_engine_and_can_be_asked_again(self) -> None:
        with people() as asked:
            recorder = recorded(asked)
            asked.sql(Q, epsilon=1)
        assert recorder.events[-1][0] == "close"
        assert asked.sql("SELECT COUNT(*) FROM t", epsilon=1).charged > 0

    def test_a_public_table_beside_a_private_one(self, tmp_path: Path) -> None:
        wards = pd.DataFrame({"sex": ["Male", "Female"], "floor": [1, 2]})
        columns = {"sex": dc.Category(["Female", "Male"]), "floor": dc.Integer(1, 3)}
        public = dc.Table(wards, columns=columns, name="floors", public=True)
        private = dc.Table(PEOPLE, columns=session().describe("t").columns, name="t", unit="who", rows_per_unit=2)
        asked = Session([private, public], budget=dc.Budget(epsilon=100), ledger=tmp_path / "x")
        text = "SELECT floor, COUNT(*) AS n FROM t JOIN floors ON t.sex = floors.sex GROUP BY floor"
        answer = asked.sql(text, epsilon=40)
        assert answer.columns["floor"] == (1, 2, 3)
        for value, truth in zip(answer.columns["n"], (MANY * 3 / 4, MANY / 4, 0), strict=True):
            assert value == pytest.approx(truth, abs=5)
        assert asked.tables == ("t", "floors")
