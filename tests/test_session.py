"""The main path, rule by rule. Each class quotes the promise that it tests."""

import pickle
import traceback
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.dp import Exact, Laplace, Sensitivity
from discreet.engine.bound import BoundedQuery
from discreet.engine.purchase import Purchase
from discreet.engine.released import Release
from discreet.session import Session
from tests.sessions import CANARY, REFUSED, ROWS, Q, crash, recorded, session, table


class TestPriceFirst:
    """1. Price first: a quote is a function of the question, public facts and answers already released."""

    def test_a_quote_costs_nothing_and_says_what_the_question_costs(self) -> None:
        asked = session()
        quote = asked.quote(Q, epsilon="0.1")
        assert (quote.cost.share, quote.cost.fits, quote.route) == (Fraction(1, 10), 10, "direct")
        assert quote.cost.loss == dc.dp.Loss.pure(epsilon="0.1")
        assert asked.spent == 0
        answer = asked.sql(Q, epsilon="0.1")
        assert (answer.errors, answer.charged) == (quote.errors, quote.cost.share)

    def test_a_quote_reads_nothing(self) -> None:
        asked = session(Path("no-such-file.parquet").resolve())
        assert asked.quote(Q, epsilon=0.1).cost.share == Fraction(1, 10)

    def test_the_error_is_that_of_the_law(self) -> None:
        histogram = Sensitivity.histogram(neighbours=dc.dp.Neighbours.ADD_REMOVE)
        law = Laplace(sensitivity=histogram, epsilon="0.1").law(0)
        error = session().quote(Q, epsilon="0.1").errors["n"]
        assert isinstance(error, int)
        within = [sum(law.probability(z) for z in range(-most, most + 1)) for most in (error - 1, error)]
        assert within[0] < 0.95 <= within[1]

    def test_neighbouring_tables_get_the_same_bytes(self) -> None:
        one, two = session(ROWS), session(ROWS.slice(2))
        for text in (Q, "SELECT COUNT(*) FROM t", "SELECT AVG(age) FROM t", *REFUSED):
            for epsilon in (0.1, 2):
                assert said(one, text, epsilon) == said(two, text, epsilon)

    def test_what_does_not_fit_is_quoted_with_what_does(self) -> None:
        asked = session()
        asked.sql(Q, epsilon="0.75")
        quote = asked.quote("SELECT COUNT(*) FROM t", epsilon="0.5")
        assert quote.cost.fits == 0
        assert "epsilon=0.25 or less" in quote.advice

    def test_a_stored_answer_is_quoted_as_free(self) -> None:
        asked = session()
        asked.sql(Q, epsilon=1)
        quote = asked.quote(Q, epsilon="0.5")
        assert (quote.route, quote.cost.share, quote.cost.fits) == ("cache", 0, None)


def said(asked: Session, text: str, epsilon: float) -> tuple[str, ...]:
    """Everything that a quote or a refusal of a quote shows."""
    try:
        return ("quote", repr(asked.quote(text, epsilon=epsilon)))
    except dc.Refused as refusal:
        return (type(refusal).__name__, str(refusal))


class ReadThenDebit(Session):
    """A broken twin: it reads the rows, then asks for the right to."""

    def _buy(self, query: BoundedQuery, purchase: Purchase, before: Release | None) -> Release:
        groups, engine = self._engine.run(query), self._engine

        class Ready:
            def run(self, query: BoundedQuery) -> Any:
                return groups

            def schema(self, relation: Any) -> None:
                engine.schema(relation)

            fan_out, close = engine.fan_out, engine.close

        self._engine = Ready()
        return super()._buy(query, purchase, before)


def spent_at_each_step(kind: type[Session], fail: Any = lambda: None) -> list[tuple[str, Fraction]]:
    asked = session(kind=kind)
    recorder = recorded(asked, fail)
    try:
        asked.sql(Q, epsilon="0.1")
    except Exception:  # noqa: BLE001
        recorder.events.append(("failed", asked._ledger.spent.amount))
    return recorder.events


def debits_before_it_reads(kind: type[Session]) -> bool:
    whole = [("schema", 0), ("run", Fraction(1, 10))]
    return spent_at_each_step(kind) == whole and spent_at_each_step(kind, crash) == [
        *whole,
        ("failed", Fraction(1, 10)),
    ]


class TestDebitThenRead:
    """2. Debit, then read: the debit is durable before a row is read, and what fails afterwards is not refunded."""

    def test_the_session_debits_before_it_reads(self) -> None:
        assert debits_before_it_reads(Session)

    def test_a_session_that_reads_first_is_rejected(self) -> None:
        assert not debits_before_it_reads(ReadThenDebit)

    def test_the_debit_is_on_disk_while_the_rows_are_read(self, tmp_path: Path) -> None:
        asked = session(ledger=tmp_path / "x")
        seen = []

        def look() -> None:
            other = Session(table(), ledger=tmp_path / "x")
            seen.append(other.spent)

        recorded(asked, look)
        asked.sql(Q, epsilon="0.1")
        assert seen == [Fraction(1, 10)]

    @pytest.mark.parametrize("step", ["run", "open", "error", "record"])
    def test_a_failure_at_each_step_is_charged_and_says_nothing(
        self, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """DU-01: named failpoints between the debit and the reply."""
        asked = session()

        def fails(*_: Any, **__: Any) -> Any:
            crash()

        with monkeypatch.context() as patch:
            match step:
                case "run":
                    recorded(asked, crash)
                case "open":
                    patch.setattr(Laplace, "open", fails)
                case "error":
                    patch.setattr(Release, "to_bytes", fails)
                case "record":
                    patch.setattr(asked._ledger, "record", fails)
            with pytest.raises(dc.Failed) as caught:
                asked.sql(Q, epsilon="0.1")
        assert str(caught.value) == str(dc.Failed())
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert CANARY not in "".join(traceback.format_exception(caught.value))
        assert asked.spent == Fraction(1, 10)
        assert asked._ledger.answers(asked.history()[-1].body) == []

    def test_a_failure_suspends_the_session_until_another_is_opened(self) -> None:
        asked = session()
        asked.sql("SELECT COUNT(*) FROM t", epsilon="0.1")
        recorder = recorded(asked, crash)
        with pytest.raises(dc.Failed):
            asked.sql(Q, epsilon="0.1")
        recorder.fail = lambda: None
        with pytest.raises(dc.NotSupported, match="suspended after a failure"):
            asked.sql(Q, epsilon="0.1")
        assert asked.sql("SELECT COUNT(*) FROM t", epsilon="0.1").charged == 0
        again = Session(table(), ledger=asked._ledger)
        assert again.sql(Q, epsilon="0.1").charged == Fraction(1, 10)
        assert again.spent == Fraction(3, 10)

    def test_an_interrupt_after_the_debit_is_charged(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        asked = session()
        recorded(asked, interrupt)
        with pytest.raises(KeyboardInterrupt) as stopped:
            asked.sql(Q, epsilon="0.1")
        assert asked.spent == Fraction(1, 10)
        assert "interrupt" not in [frame.name for frame in traceback.extract_tb(stopped.value.__traceback__)]
        assert stopped.value.__context__ is None  # a frame in which it struck may hold rows

    def test_an_unreachable_source_is_free(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        asked = session(path)
        for _ in range(2):
            with pytest.raises(dc.Unavailable, match="Nothing was spent"):
                asked.sql(Q, epsilon="0.1")
        assert asked.spent == 0
        pq.write_table(ROWS, path)
        assert asked.sql(Q, epsilon="0.1").charged == Fraction(1, 10)


class TestOneWayToANumber:
    """3. One way to a number: a private value exists only as Exact; only a mechanism opens it, with a permit."""

    def test_the_engine_gives_an_exact_that_cannot_be_looked_at(self) -> None:
        asked, taken = session(), []

        def keep(self: Laplace, exact: Exact, permit: Any) -> Any:
            taken.append((exact, permit))
            return original(self, exact, permit)

        original = Laplace.open
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Laplace, "open", keep)
            asked.sql(Q, epsilon="0.1")
        [(exact, permit)] = taken
        assert exact.unit == "one row of t"
        assert permit.left == 0
        for look in (int, float, list, len, bool, np.asarray, pickle.dumps):
            with pytest.raises((TypeError, ValueError)):
                look(exact)

    def test_noise_is_added(self) -> None:
        values = {session().sql("SELECT COUNT(*) FROM t", epsilon="0.01").value for _ in range(8)}
        assert len(values) > 1  # all equal has probability below 1e-14

    def test_the_numbers_are_around_the_truth(self) -> None:
        rows = pa.table({"sex": ["Male"] * 700 + ["Female"] * 300, "age": [1] * 1000})
        answer = session(rows, epsilon=10).sql(Q, epsilon=10)
        assert abs(answer.columns["n"][0] - 300) < 10  # off by 10 has probability below 1e-40
        assert abs(answer.columns["n"][1] - 700) < 10


class TestErrorsAreOutputs:
    """4. Errors are outputs: a refusal depends on the question and on public facts, names the line, and is free."""

    def test_every_refusal_is_free_and_refused(self) -> None:
        asked = session()
        for text in REFUSED:
            with pytest.raises(dc.Refused):
                asked.sql(text, epsilon="0.1")
        assert asked.spent == 0

    @pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0), ROWS.slice(4)], ids=["all", "none", "canary"])
    def test_no_reply_shows_a_cell(self, rows: pa.Table) -> None:
        asked = session(rows)
        replies = [repr(asked), repr(asked.describe("t")), repr(asked.history()), repr(asked.quote(Q, epsilon=1))]
        for text in (Q, *REFUSED):
            try:
                replies.append(repr(asked.sql(text, epsilon="0.001")))
            except dc.Refused as refusal:
                replies.append(str(refusal))
        assert CANARY not in "".join(replies)

    def test_a_value_outside_its_domain_counts_as_null_and_never_raises(self) -> None:
        odd = pd.DataFrame(
            {"sex": ["x", None, "Male", "", "male"], "age": [float("nan"), float("inf"), -1, 2.5, 1e300]}
        )
        asked = session(odd, epsilon=40)
        answer = asked.sql("SELECT sex, age, COUNT(*) AS n FROM t GROUP BY sex, age", epsilon=20)
        assert answer.rows == 20
        assert asked.sql(Q, epsilon=20).columns["n"][1] in (0, 1, 2)

    @pytest.mark.parametrize(("key", "others", "only"), [("sex", float("nan"), "Male"), ("age", None, 3)])
    def test_a_type_that_one_person_gave_to_a_column_is_not_seen(self, key: str, others: object, only: object) -> None:
        """A frame of pandas has the type of what is in it: without the last row the column holds other things."""
        replies = []
        for values in ([others, others, only], [others, others]):
            rows = pd.DataFrame({"sex": [None] * len(values), "age": 1} | {key: values})
            asked = session(rows)
            text = f"SELECT {key}, COUNT(*) AS n FROM t GROUP BY {key}"
            answer = asked.sql(text, epsilon="0.1")
            replies.append((answer.columns[key], answer.errors, asked.quote("SELECT COUNT(*) FROM t", epsilon=1)))
        assert replies[0] == replies[1]

    @pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0)])
    def test_the_rows_of_an_answer_come_from_declarations(self, rows: pa.Table) -> None:
        """QE-07, QE-08: all declared groups, in the order of the domain, whatever the table holds."""
        asked = session(rows)
        both = asked.sql("SELECT age, sex, COUNT(*) AS n FROM t GROUP BY sex, age", epsilon="0.1")
        assert both.columns["age"] == tuple(age for age in range(10) for _ in range(2))
        assert both.columns["sex"] == ("Female", "Male") * 10

    def test_the_budget_is_refused_with_what_fits(self) -> None:
        asked = session()
        asked.sql(Q, epsilon="0.9")
        with pytest.raises(
            dc.BudgetExceeded, match=r"costs 20 % of the budget and 10 % is left.*Ask with epsilon=0\.1 or less"
        ) as caught:
            asked.sql("SELECT COUNT(*) FROM t", epsilon="0.2")
        assert caught.value.__cause__ is None
        asked.sql("SELECT COUNT(*) FROM t", epsilon="0.1")
        with pytest.raises(dc.BudgetExceeded, match="Nothing is left, but you can ask again what was answered"):
            asked.sql("SELECT age, COUNT(*) FROM t GROUP BY age", epsilon=1e-6)
        assert asked.remaining == 0
