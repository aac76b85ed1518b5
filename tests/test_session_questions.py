"""The main path, rule by rule, continued: what is asked twice, what is not asked rightly, and what is shared."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import dp
from discreet.engine import derive
from discreet.engine.released import Release
from discreet.session import Session
from tests.sessions import COLUMNS, ROWS, Q, crash, session, table
from tests.sizes import sized


class TestTheSameQuestion:
    """5. The same question is the same answer: free the second time and equal to the byte."""

    def test_it_is_free_and_equal_to_the_byte(self) -> None:
        asked = session()
        first, second = asked.sql(Q, epsilon="0.1"), asked.sql(Q, epsilon="0.1")
        assert first.to_bytes() == second.to_bytes()
        assert (first.route, second.route, second.charged) == ("direct", "cache", 0)
        assert asked.spent == Fraction(1, 10)

    @pytest.mark.parametrize(
        "text",
        [
            "select COUNT(*) as n, SEX from T group by sex;",
            'SELECT x."sex" AS s, COUNT(*) AS a, COUNT(*) AS b FROM t AS x GROUP BY x.sex -- again',
        ],
    )
    def test_other_words_are_the_same_question(self, text: str) -> None:
        asked = session()
        first, second = asked.sql(Q, epsilon="0.1"), asked.sql(text, epsilon="0.1")
        assert second.charged == 0
        names = list(second.errors)
        assert all(second.columns[name] == first.columns["n"] for name in names)

    def test_the_order_of_the_keys_is_that_of_the_question(self) -> None:
        asked = session()
        one = asked.sql("SELECT sex, age, COUNT(*) AS n FROM t GROUP BY sex, age", epsilon="0.1").to_pandas()
        two = asked.sql("SELECT age, sex, COUNT(*) AS n FROM t GROUP BY age, sex", epsilon="0.1")
        assert two.charged == 0
        assert two.columns["age"][:3] == (0, 0, 1)
        merged = one.merge(two.to_pandas(), on=["sex", "age"], suffixes=("", "_two"))
        assert len(merged) == 20
        assert (merged["n"] == merged["n_two"]).all()

    def test_a_cheaper_question_takes_the_better_answer(self) -> None:
        asked = session()
        first = asked.sql(Q, epsilon="0.2")
        assert asked.sql(Q, epsilon="0.1").to_bytes() == first.to_bytes()
        assert asked.spent == Fraction(2, 10)

    def test_a_better_answer_is_bought_and_kept(self) -> None:
        asked = session()
        asked.sql(Q, epsilon="0.1")
        better = asked.sql(Q, epsilon="0.2")
        assert (better.charged, asked.spent) == (Fraction(2, 10), Fraction(3, 10))
        assert asked.sql(Q, epsilon="0.1").to_bytes() == better.to_bytes()

    def test_it_stays_free_with_an_empty_budget_a_missing_file_and_another_session(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pq.write_table(ROWS, path)
        asked = session(path, ledger=tmp_path / "x")
        first = asked.sql(Q, epsilon=1)
        path.unlink()
        for other in (asked, Session(table(path), ledger=tmp_path / "x", analyst="ben")):
            assert other.sql(Q, epsilon=1).to_bytes() == first.to_bytes()

    def test_another_version_or_domain_is_another_question(self) -> None:
        asked = session()
        asked.sql(Q, epsilon="0.1")
        wider = dc.Table(ROWS, columns={**COLUMNS, "sex": dc.Category(["Male", "Female"])}, name="t")
        for other in (table(version="2"), wider):
            assert Session(other, ledger=asked._ledger).sql(Q, epsilon="0.1").charged == Fraction(1, 10)

    def test_averaging_by_repeating_gains_nothing(self) -> None:
        """QE-11."""
        asked = session()
        assert len({asked.sql(Q, epsilon="0.1").to_bytes() for _ in range(sized(10, 100))}) == 1

    def test_threads_that_ask_the_same_pay_once(self) -> None:
        asked = session()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: asked.sql(Q, epsilon="0.1"), range(16)))
        assert len({answer.to_bytes() for answer in answers}) == 1
        assert asked.spent == Fraction(1, 10)


class TestEveryNumberCarriesItsError:
    """6. Every number carries its error; within= asks the other way round."""

    def test_within_buys_what_is_needed(self) -> None:
        asked = session()
        answer = asked.sql(Q, within=50)
        assert answer.errors == {"n": 50}
        assert answer.charged == asked.quote("SELECT COUNT(*) FROM t", within=50).cost.share
        assert 0.05 < answer.charged < 0.07  # ln(20) / 50
        assert asked.sql(Q, within=60).charged == 0

    def test_several_counts_are_one_release(self) -> None:
        answer = session().sql("SELECT COUNT(*) AS a, COUNT(*) AS b FROM t", epsilon="0.1")
        assert answer.columns["a"] == answer.columns["b"]
        assert answer.charged == Fraction(1, 10)

    def test_the_relation_is_named(self) -> None:
        assert "one row of t, added or removed" in repr(session().sql(Q, epsilon=1))


class TestNothingIsPrivateByAccident:
    """8. Nothing is private by accident: what is unknown or left out is refused."""

    @pytest.mark.parametrize(
        ("offer", "message"),
        [
            ({}, "give exactly one"),
            ({"epsilon": 1, "within": 3}, "give exactly one"),
            ({"rho": 1}, "sells no rho; write epsilon="),
            ({"loss": dc.dp.Loss.gaussian(mu=1)}, "sells no such loss"),
            ({"epsilon": 0}, "above 0"),
            ({"epsilon": -1}, "above 0"),
            ({"epsilon": float("nan")}, "finite"),
            ({"epsilon": float("inf")}, "finite"),
            ({"epsilon": "x"}, "finite"),
            ({"epsilon": True}, "number"),
            ({"within": 0}, "above 0|at least 1"),
            (
                {"within": 0.5},
                r"within= is at least 1, because noise is whole steps, and at most 2\^52 of them; got 0\.5",
            ),
            ({"within": 1e300}, r"and at most 2\^52 of them; got 1e\+300"),
            ({"epsilon": 1e-300}, "below which an answer is all noise; got epsilon=1e-300"),
            ({"epsilon": 46}, "noise at this price cannot be drawn: .* less if it is large"),
            ({"within": float("nan")}, "within is a finite number"),
            ({"within": np.array([1, 2])}, "within is a number, not a ndarray"),
            ({"within": pd.NA}, "within is a number"),
            ({"within": pd.Series([50])}, "within is a number"),
        ],
    )
    def test_a_price_is_stated(self, offer: dict[str, Any], message: str) -> None:
        asked = session()
        for ask in (asked.sql, asked.quote):
            with pytest.raises(dc.Refused, match=message):
                ask(Q, **offer)
        assert asked.spent == 0

    def test_extreme_prices_are_answered_or_refused(self) -> None:
        """FP-10."""
        for epsilon in (5e-324, 1e-300, 1e-30, 1e-9, 1e9, 1e300):
            asked = session(epsilon="1e300")
            try:
                answer = asked.sql(Q, epsilon=epsilon)
            except dc.Refused:
                assert asked.spent == 0
            else:
                assert answer.charged > 0

    @pytest.mark.parametrize("epsilon", ["1e-16", "1e-300", "1e-400"])
    def test_a_budget_that_buys_nothing_is_refused(self, epsilon: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="a budget below 2e-16 buys no question"):
            session(epsilon=epsilon)

    def test_unknown_options_are_refused(self) -> None:
        with pytest.raises(TypeError):
            session().sql(Q, epsilom=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            session().sql(Q, 1)  # type: ignore[misc]
        with pytest.raises(TypeError):
            Session(table(), budget=dc.Budget(epsilon=1))  # type: ignore[call-arg]

    def test_wrong_parts_are_refused(self) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"a session has tables, made by dc\.Table"):
            Session(["t"], budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())  # type: ignore[arg-type]
        for ledger in (None, 3, b"x", "a\0b"):
            with pytest.raises(dc.InvalidParameter, match="a ledger is a file"):
                Session(table(), budget=dc.Budget(epsilon=1), ledger=ledger)  # type: ignore[arg-type]
        with pytest.raises(dc.InvalidParameter, match=r"budget is a dc\.Budget"):
            Session(table(), budget=1, ledger=dc.memory_ledger())  # type: ignore[arg-type]
        with pytest.raises(dc.InvalidParameter, match="analyst"):
            Session(table(), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger(), analyst="a\nb")
        with pytest.raises(dc.InvalidParameter, match="there is 't'"):
            session().describe("u")


class TestAPriceIsAShare:
    """9. A price is a share: questions whose epsilons add up to the budget always fit."""

    def test_ten_tenths_fit_and_the_eleventh_does_not(self) -> None:
        asked = session()
        for version in range(10):
            Session(table(version=str(version)), ledger=asked._ledger).sql(Q, epsilon=0.1)
        assert (asked.spent, asked.remaining) == (1, 0)
        with pytest.raises(dc.BudgetExceeded):
            Session(table(version="10"), ledger=asked._ledger).sql(Q, epsilon=0.1)

    def test_one_question_may_take_the_whole_budget(self) -> None:
        assert session(epsilon="0.3").sql(Q, epsilon=0.3).charged == 1

    def test_threads_share_one_budget(self, tmp_path: Path) -> None:
        """DU-04."""
        asked = session(ledger=tmp_path / "x")

        def ask(number: int) -> int:
            other = Session(table(version=str(number)), ledger=tmp_path / "x")
            try:
                return int(other.sql(Q, epsilon="0.2").charged > 0)
            except dc.BudgetExceeded:
                return 0

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(ask, range(12))) == 5
        assert asked.remaining == 0


class TestTheLedgerOfASession:
    def test_a_later_session_has_the_budget_on_record(self, tmp_path: Path) -> None:
        session(ledger=tmp_path / "x").sql(Q, epsilon="0.1")
        later = Session(table(), ledger=str(tmp_path / "x"))
        assert later.spent == Fraction(1, 10)
        with pytest.raises(
            dc.LedgerError, match=r"has the budget dc\.Budget\(epsilon=1\), not dc\.Budget\(epsilon=2\)"
        ):
            Session(table(), budget=dc.Budget(epsilon=2), ledger=tmp_path / "x")

    def test_a_first_session_needs_a_budget(self, tmp_path: Path) -> None:
        with pytest.raises(dc.LedgerError, match="give its budget="):
            Session(table(), ledger=tmp_path / "x")

    def test_the_history_has_every_debit(self) -> None:
        asked = session()
        asked.sql(Q, epsilon="0.1")
        kinds = [(entry.kind, entry.analyst, entry.share) for entry in asked.history()]
        assert kinds[0] == ("open", "curator", 0)
        assert kinds[-2:] == [("reserve", "curator", Fraction(1, 10)), ("answer", "curator", 0)]

    def test_the_session_says_what_it_is_on(self, tmp_path: Path) -> None:
        assert repr(session()) == "Session on 't' for 'curator', <ledger in memory: forgotten with this process>"
        assert "x.ledger" in repr(session(ledger=tmp_path / "x.ledger"))
        assert session().tables == ("t",)


def test_the_public_names_stand_in_the_order_of_the_main_path() -> None:
    names = dc.__dir__()
    places = [names.index(name) for name in ("Table", "Category", "Budget", "Session", "Answer", "Refused")]
    assert places == sorted(places)


def test_no_connection_or_folder_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = session()
    asked.sql(Q, epsilon="0.1")
    asked.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_public_cannot_fail_after_the_debit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session()
    for target, name in ((dp.Laplace, "accuracy"), (derive.Rows, "shown"), (Release, "blank")):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, lambda *_, **__: crash())
            with pytest.raises(RuntimeError):
                asked.sql(Q, epsilon="0.1")
    assert asked.spent == 0
