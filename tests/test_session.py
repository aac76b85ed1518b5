"""The main path, rule by rule. Each class quotes the promise that it tests."""

import gc
import pickle
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.answer import Answer
from discreet.dp import Exact, Laplace, Sensitivity
from discreet.engine.bound import BoundedQuery
from discreet.engine.duckdb import DuckDB
from discreet.session import Session
from tests.sizes import sized
from tests.test_sql import REFUSED

Q = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
COLUMNS = {"sex": dc.Category(["Female", "Male"]), "age": dc.Integer(0, 9)}
CANARY = "canary-7f3a"
ROWS = pa.table({"sex": ["Male", "Female", "Male", None, CANARY], "age": [1, 2, 3, 4, 99]})


def table(rows: Any = ROWS, **options: Any) -> dc.Table:
    return dc.Table(rows, columns=COLUMNS, name="t", **options)


def session(rows: Any = ROWS, *, epsilon: Any = 1, ledger: Any = None, kind: type[Session] = Session) -> Session:
    return kind(table(rows), budget=dc.Budget(epsilon=epsilon), ledger=ledger or dc.memory_ledger())


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
        one, two = session(ROWS), session(ROWS.slice(1))
        for text in (Q, "SELECT COUNT(*) FROM t", *REFUSED):
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


class Recorder:
    """A backend that records how much is spent when the rows are read, and may fail there."""

    def __init__(self, ledger: dc.Ledger, fail: Callable[[], None] = lambda: None) -> None:
        self.ledger, self.fail, self.events = ledger, fail, []  # type: ignore[var-annotated]

    @contextmanager
    def reach(self, query: BoundedQuery) -> Iterator[Any]:
        self.events.append(("reach", self.ledger.spent.amount))
        with DuckDB().reach(query) as source:
            recorder = self

            class Recorded:
                def run(self) -> Exact:
                    recorder.events.append(("run", recorder.ledger.spent.amount))
                    recorder.fail()
                    return source.run()

            yield Recorded()


class ReadThenDebit(Session):
    """A broken twin: it reads the rows, then asks for the right to."""

    def _buy(self, query: BoundedQuery, mechanism: Laplace, source: Any) -> Answer:
        exact = source.run()

        class Ready:
            def run(self) -> Exact:
                return exact

        return super()._buy(query, mechanism, Ready())


def spent_at_each_step(kind: type[Session], fail: Callable[[], None] = lambda: None) -> list[tuple[str, Fraction]]:
    ledger = dc.memory_ledger()
    asked = session(kind=kind, ledger=ledger)
    recorder = Recorder(ledger, fail)
    asked._backend = recorder
    try:
        asked.sql(Q, epsilon="0.1")
    except Exception:  # noqa: BLE001
        recorder.events.append(("failed", ledger.spent.amount))
    return recorder.events


def debits_before_it_reads(kind: type[Session]) -> bool:
    whole = [("reach", 0), ("run", Fraction(1, 10))]
    return spent_at_each_step(kind) == whole and spent_at_each_step(kind, crash) == [
        *whole,
        ("failed", Fraction(1, 10)),
    ]


def crash() -> None:
    raise RuntimeError(f"could not convert {CANARY}")


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

        asked._backend = Recorder(asked._ledger, look)
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
                    asked._backend = Recorder(asked._ledger, crash)
                case "open":
                    patch.setattr(Laplace, "open", fails)
                case "error":
                    patch.setattr(Answer, "to_bytes", fails)
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
        asked._backend = Recorder(asked._ledger, crash)
        with pytest.raises(dc.Failed):
            asked.sql(Q, epsilon="0.1")
        asked._backend = DuckDB()
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
        asked._backend = Recorder(asked._ledger, interrupt)
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

    def test_the_backend_gives_an_exact_that_cannot_be_looked_at(self) -> None:
        asked, taken = session(), []

        def keep(self: Laplace, exact: Exact, permit: Any) -> Any:
            taken.append((exact, permit))
            return original(self, exact, permit)

        original = Laplace.open
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Laplace, "open", keep)
            asked.sql(Q, epsilon="0.1")
        [(exact, permit)] = taken
        assert exact.unit == "row"
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
                asked.sql(text.replace("census", "t"), epsilon="0.1")
        assert asked.spent == 0

    @pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0), ROWS.slice(4)], ids=["all", "none", "canary"])
    def test_no_reply_shows_a_cell(self, rows: pa.Table) -> None:
        asked = session(rows)
        replies = [repr(asked), repr(asked.describe("t")), repr(asked.history()), repr(asked.quote(Q, epsilon=1))]
        for text in (Q, *(text.replace("census", "t") for text in REFUSED)):
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
            ({"rho": 1}, r"rho= and loss= are not offered here; write epsilon="),
            ({"loss": dc.dp.Loss.pure(epsilon=1)}, "are not offered here"),
            ({"epsilon": 0}, "above 0"),
            ({"epsilon": -1}, "above 0"),
            ({"epsilon": float("nan")}, "finite"),
            ({"epsilon": float("inf")}, "finite"),
            ({"epsilon": "x"}, "finite"),
            ({"epsilon": True}, "number"),
            ({"within": 0}, "above 0|at least 1"),
            ({"within": 0.5}, "within= is at least 1, because noise is whole numbers, and at most 2\\^52; got 0.5"),
            ({"within": 1e300}, r"and at most 2\^52; got 1e\+300"),
            ({"epsilon": 1e-300}, "below which an answer is all noise, and 45, above which it has none; got epsilon="),
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

    @pytest.mark.parametrize("budget", [dc.Budget(epsilon=1, delta=1e-9), dc.Budget(rho=1)])
    def test_a_budget_with_delta_is_refused_and_leaves_no_ledger(self, tmp_path: Path, budget: dc.Budget) -> None:
        with pytest.raises(dc.NotSupported, match=r"write dc\.Budget\(epsilon=1\)"):
            Session(table(), budget=budget, ledger=tmp_path / "x")
        assert list(tmp_path.iterdir()) == []

    def test_wrong_parts_are_refused(self) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"one dc\.Table"):
            Session([table()], budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())  # type: ignore[arg-type]
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
        assert kinds == [("open", "curator", 0), ("reserve", "curator", Fraction(1, 10)), ("answer", "curator", 0)]

    def test_the_session_says_what_it_is_on(self, tmp_path: Path) -> None:
        assert repr(session()) == "Session on 't' for 'curator', <ledger in memory: forgotten with this process>"
        assert "x.ledger" in repr(session(ledger=tmp_path / "x.ledger"))
        assert session().tables == ("t",)


def test_the_public_names_stand_in_the_order_of_the_main_path() -> None:
    assert dc.__dir__()[:2] == ["Table", "census"]


def test_no_connection_or_folder_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = session()
    asked.sql(Q, epsilon="0.1")
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_is_public_cannot_fail_after_the_debit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session()
    for target, name in ((Laplace, "accuracy"), (BoundedQuery, "keys_of_cells")):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, lambda *_, **__: crash())
            with pytest.raises(RuntimeError):
                asked.sql(Q, epsilon="0.1")
    assert asked.spent == 0
