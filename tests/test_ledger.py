"""The ledger: reserve, record, replay; the chain; and that no check would pass a ledger that overspends."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Ledger, ledger_at, memory_ledger
from discreet.ledger.ledger import Row, Rows
from tests.sizes import sized

TENTH = dp.Loss.pure(epsilon=0.1)


@pytest.fixture(params=["file", "memory", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    match request.param:
        case "file":
            made = ledger_at(tmp_path / "x.ledger")
        case "memory":
            made = memory_ledger()
        case _:
            made = ledger_at(request.getfixturevalue("durable_postgres")())
    made.bind(dataset="t", budget=dp.Budget(epsilon=1))
    return made


def reserve(ledger: Ledger, key: str, *, question: str = "q", loss: dp.Loss = TENTH) -> dp.Permit | bytes:
    return ledger.reserve(loss, key=key, question=question, analyst="curator")


def admitted(ledger: Ledger, keys: Iterator[str]) -> int:
    count = 0
    for key in keys:
        try:
            reserve(ledger, key)
        except BudgetExceeded:
            continue
        count += 1
    return count


class TestReserve:
    def test_ten_tenths_fit_a_budget_of_one_and_nothing_after_them(self, ledger: Ledger) -> None:
        assert admitted(ledger, iter([f"k{i}" for i in range(11)])) == 10
        assert ledger.spent == dp.Charge(Fraction(1))
        for tiny in (1e-17, 5e-324):
            with pytest.raises(BudgetExceeded):
                reserve(ledger, f"tiny{tiny}", loss=dp.Loss.pure(epsilon=tiny))

    def test_the_permit_covers_the_loss_once(self, ledger: Ledger) -> None:
        permit = reserve(ledger, "a")
        assert isinstance(permit, dp.Permit)
        permit.take(TENTH)
        with pytest.raises(BudgetExceeded):
            permit.take(TENTH)

    def test_a_loss_without_a_charge_in_this_currency_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExceeded):
            reserve(ledger, "a", loss=dp.Loss.zcdp(rho=0.001))
        assert ledger.spent == dp.Charge()

    def test_a_refusal_leaves_no_row(self, ledger: Ledger) -> None:
        before = ledger.history()
        with pytest.raises(BudgetExceeded):
            reserve(ledger, "a", loss=dp.Loss.pure(epsilon=2))
        assert ledger.history() == before


class TestReplay:
    """One key is one debit: an answered key returns its bytes, an unanswered one is spent."""

    def test_the_same_key_returns_the_stored_bytes_and_costs_nothing(self, ledger: Ledger) -> None:
        reserve(ledger, "a")
        assert ledger.record("a", b"answer") == b"answer"
        assert [reserve(ledger, "a") for _ in range(3)] == [b"answer"] * 3
        assert ledger.spent.amount == Fraction(1, 10)

    def test_a_key_without_an_answer_is_spent(self, ledger: Ledger) -> None:
        reserve(ledger, "a")
        with pytest.raises(LedgerError, match="spent and has no answer"):
            reserve(ledger, "a")
        assert ledger.spent.amount == Fraction(1, 10)

    @pytest.mark.parametrize("other", [{"question": "other"}, {"loss": dp.Loss.pure(epsilon=0.01)}])
    def test_the_same_key_for_something_else_is_refused(self, ledger: Ledger, other: dict[str, object]) -> None:
        reserve(ledger, "a")
        ledger.record("a", b"answer")
        with pytest.raises(LedgerError, match="another question or price"):
            reserve(ledger, "a", **other)  # type: ignore[arg-type]

    def test_the_first_answer_stands(self, ledger: Ledger) -> None:
        reserve(ledger, "a")
        assert ledger.record("a", b"one") == ledger.record("a", b"two") == b"one"
        assert ledger.answers("q") == [b"one"]

    def test_an_answer_without_a_reservation_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="no reservation"):
            ledger.record("a", b"answer")

    def test_answers_are_those_of_the_question_oldest_first(self, ledger: Ledger) -> None:
        for key, question in (("a", "q"), ("b", "other"), ("c", "q")):
            reserve(ledger, key, question=question)
            ledger.record(key, key.encode())
        assert ledger.answers("q") == [b"a", b"c"]


class TestBind:
    def test_a_new_ledger_needs_a_budget(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="give its budget="):
            ledger_at(tmp_path / "x").bind(dataset="t", budget=None)

    def test_the_budget_on_record_is_kept_and_shown(self, tmp_path: Path) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=dp.Budget(epsilon="1/3"))
        again = ledger_at(tmp_path / "x")
        again.bind(dataset="t", budget=None)
        assert again.budget == dp.Budget(epsilon="1/3")
        with pytest.raises(LedgerError, match=r"dc.Budget\(epsilon='1/3'\), not dc.Budget\(epsilon=2\)"):
            again.bind(dataset="t", budget=dp.Budget(epsilon=2))

    @pytest.mark.parametrize("budget", [dp.Budget(epsilon=1, delta="1e-9", delta_add="1e-10"), dp.Budget(rho=0.1)])
    def test_every_budget_is_written_and_read(self, tmp_path: Path, budget: dp.Budget) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=budget)
        again = ledger_at(tmp_path / "x")
        again.bind(dataset="t", budget=budget)
        assert again.budget == budget

    def test_a_ledger_has_one_dataset(self, tmp_path: Path) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=dp.Budget(epsilon=1))
        with pytest.raises(LedgerError, match="that of 't', not of 'u'"):
            ledger_at(tmp_path / "x").bind(dataset="u", budget=None)

    def test_a_ledger_that_is_not_open_reserves_nothing(self) -> None:
        with pytest.raises(LedgerError, match="not open"):
            reserve(memory_ledger(), "a")

    def test_a_memory_ledger_says_so(self) -> None:
        assert "forgotten" in repr(memory_ledger())


class TestTwoTotals:
    def test_the_total_is_durable_across_openings(self, tmp_path: Path) -> None:
        for round_ in range(3):
            ledger = ledger_at(tmp_path / "x")
            ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
            reserve(ledger, f"k{round_}")
        assert ledger_at_of(tmp_path / "x").spent.amount == Fraction(3, 10)

    def test_verify_recomputes_the_spending(self, ledger: Ledger) -> None:
        admitted(ledger, iter("abc"))
        ledger.verify()
        assert sum((entry.share for entry in ledger.history()), Fraction(0)) == Fraction(3, 10)


def ledger_at_of(path: Path) -> Ledger:
    ledger = ledger_at(path)
    ledger.bind(dataset="t", budget=None)
    return ledger


class CheckThenInsert(Ledger):
    """A broken twin: it looks at the total in one transaction and debits in the next."""

    def reserve(self, loss: dp.Loss, *, key: str, question: str, analyst: str) -> dp.Permit | bytes:
        held = dp.PrivacyFilter(self.budget, spent=self.spent).reserve(loss)
        self._meet()
        with self._store.writing() as rows:
            self._append(rows, "reserve", key=key, analyst=analyst, body=question, charge=held.reserved)
        return held

    _meet: Callable[[], object] = staticmethod(lambda: None)


def race(make: Callable[[], Ledger], *, threads: int, each: int, meet: bool = False) -> int:
    """How many of threads * each reservations of a tenth are admitted on one store."""
    barrier = threading.Barrier(threads)

    def run(worker: int) -> int:
        ledger = make()
        if meet and isinstance(ledger, CheckThenInsert):
            ledger._meet = lambda: barrier.wait(30)  # type: ignore[method-assign]
        barrier.wait(30)
        return admitted(ledger, iter([f"{worker}-{i}" for i in range(each)]))

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(run, range(threads)))


class TestThreads:
    """Eight threads, each with its own ledger object on one file, or all on one object."""

    threads, each = 8, sized(4, 100)

    def test_exactly_ten_tenths_are_admitted(self, tmp_path: Path) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=dp.Budget(epsilon=1))
        assert race(lambda: ledger_at_of(tmp_path / "x"), threads=self.threads, each=self.each) == 10
        assert ledger_at_of(tmp_path / "x").spent.amount == 1

    def test_one_object_may_be_shared(self, ledger: Ledger) -> None:
        assert race(lambda: ledger, threads=self.threads, each=self.each) == 10

    def test_check_then_insert_is_rejected(self, tmp_path: Path) -> None:
        first = ledger_at(tmp_path / "x")
        first.bind(dataset="t", budget=dp.Budget(epsilon="0.1"))

        def broken() -> Ledger:
            ledger = CheckThenInsert(ledger_at(tmp_path / "x")._store)
            ledger.bind(dataset="t", budget=None)
            return ledger

        assert race(broken, threads=2, each=1, meet=True) == 2  # a budget for one


def put_in_place(path: Path, content: bytes) -> None:
    """Puts another file where a ledger is, as a restored backup does, while the ledger is open."""
    (beside := path.with_name("restored")).write_bytes(content)
    for log in ("-wal", "-shm"):
        path.with_name(path.name + log).unlink(missing_ok=True)
    beside.replace(path)


class TestDamage:
    """DU-08: what was changed is seen, and nothing more is spent."""

    def spoiled(self, tmp_path: Path, change: str) -> Path:
        path = tmp_path / "x.ledger"
        ledger = ledger_at(path)
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
        for key in "ab":
            reserve(ledger, key)
            ledger.record(key, b"answer " + key.encode())
        connection = sqlite3.connect(path)
        for trigger in ("entry_stays", "entry_remains"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(change)
        connection.commit()
        connection.close()
        return path

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE entry SET amount = '1/100' WHERE number = 2",
            "UPDATE entry SET total = '1/10' WHERE number = 5",
            "UPDATE entry SET answer = x'00' WHERE number = 3",
            "UPDATE entry SET body = 'other' WHERE number = 4",
            "UPDATE entry SET analyst = 'ben' WHERE number = 4",
            "UPDATE entry SET moment = '' WHERE number = 4",
            "UPDATE entry SET amount = 'x' WHERE number = 4",
            """UPDATE entry SET body = replace(body, '"1"', '"9"') WHERE number = 1""",
            "DELETE FROM entry WHERE number = 3",
            "DELETE FROM entry WHERE number = 1",
        ],
    )
    def test_a_changed_row_is_refused_at_opening(self, tmp_path: Path, change: str) -> None:
        path = self.spoiled(tmp_path, change)
        with pytest.raises(LedgerError, match="does not fit"):
            ledger_at_of(path)

    def test_an_unchanged_file_is_accepted(self, tmp_path: Path) -> None:
        assert len(ledger_at_of(self.spoiled(tmp_path, "SELECT 1")).history()) == 5

    @pytest.mark.parametrize(
        "body",
        [
            "no JSON",
            "[]",
            "{}",
            '{"dataset": "t", "budget": []}',
            '{"dataset": "t", "budget": {"epsilon": "x"}}',
            "[" * 99_999,
        ],
    )
    def test_a_first_row_that_says_nothing_is_refused(self, tmp_path: Path, body: str) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=dp.Budget(epsilon=1))
        connection = sqlite3.connect(tmp_path / "x", isolation_level=None)
        connection.execute("DROP TRIGGER entry_stays")
        found = Row(*connection.execute("SELECT * FROM entry").fetchone())
        hashed = replace(found, body=body).digest("")
        connection.execute("UPDATE entry SET body = ?, hash = ?", (body, hashed))
        connection.close()
        with pytest.raises(LedgerError, match="row 1 of the ledger, 'open', says nothing") as caught:
            ledger_at(tmp_path / "x").bind(dataset="t", budget=None)
        assert caught.value.__context__ is None

    def test_rows_cannot_be_changed_through_sql(self, tmp_path: Path) -> None:
        ledger_at(tmp_path / "x").bind(dataset="t", budget=dp.Budget(epsilon=1))
        connection = sqlite3.connect(tmp_path / "x")
        for change in ("UPDATE entry SET amount = '0'", "DELETE FROM entry"):
            with pytest.raises(sqlite3.IntegrityError, match="append only"):
                connection.execute(change)
        connection.close()

    def test_an_old_copy_put_back_is_seen_by_who_has_seen_more(self, tmp_path: Path) -> None:
        path = tmp_path / "x"
        ledger = ledger_at(path)
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
        ledger.close()
        old = path.read_bytes()
        reserve(ledger, "a")
        assert ledger.spent.amount == Fraction(1, 10)
        put_in_place(path, old)
        with pytest.raises(LedgerError, match="fewer rows"):
            reserve(ledger, "b")

    def test_another_history_put_in_place_is_seen(self, tmp_path: Path) -> None:
        for name in ("x", "y"):
            ledger = ledger_at(tmp_path / name)
            ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
            reserve(ledger, name)
            ledger.close()
        assert ledger.spent.amount == Fraction(1, 10)
        put_in_place(tmp_path / "y", (tmp_path / "x").read_bytes())
        with pytest.raises(LedgerError, match="changed under our feet"):
            reserve(ledger, "b")

    def test_every_flipped_byte_is_refused_or_changes_nothing(self, tmp_path: Path) -> None:
        path = self.spoiled(tmp_path, "SELECT 1")
        whole, expected = path.read_bytes(), ledger_at_of(path).history()
        answers = ledger_at_of(path).answers("q")
        refused = 0
        for place in range(0, len(whole), sized(61, 1)):
            other = tmp_path / "flipped"
            other.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            try:
                ledger = ledger_at_of(other)
                assert ledger.history() == expected
                assert ledger.answers("q") == answers
            except LedgerError:
                refused += 1
            for suffix in ("-wal", "-shm"):
                Path(f"{other}{suffix}").unlink(missing_ok=True)
        assert refused > 0

    def test_a_file_that_was_cut_short_is_refused(self, tmp_path: Path) -> None:
        whole = self.spoiled(tmp_path, "SELECT 1").read_bytes()
        for length in range(0, len(whole), sized(4096, 512)):
            cut = tmp_path / f"cut{length}"
            cut.write_bytes(whole[:length])
            with pytest.raises(LedgerError):
                ledger_at_of(cut)


class Forgetful:
    """A broken twin: a chain whose hash leaves out the amount."""

    @staticmethod
    def digest(row: Row, before: str) -> str:
        return replace(row, amount="", total="").digest(before)


def test_a_hash_without_the_amount_would_not_see_a_change() -> None:
    row = Row(1, "reserve", "k", "ana", "1", "q", "1/10", "0", "1/10", "0", "0", "0", "", b"", "")
    cheaper = replace(row, amount="1/100", total="1/100")
    assert row.digest("") != cheaper.digest("")
    assert Forgetful.digest(row, "") == Forgetful.digest(cheaper, "")


def test_every_field_is_in_the_hash() -> None:
    row = Row(1, "reserve", "k", "ana", "1", "q", "1/10", "0", "1/10", "0", "0", "0", "", b"", "")
    others = {"number": 2, "answer": b"x"}
    for name in Row.__slots__:
        if name != "hash":
            assert replace(row, **{name: others.get(name, "x")}).digest("") != row.digest("")  # type: ignore[arg-type]
    assert row.digest("x") != row.digest("")


def test_the_history_is_plain() -> None:
    ledger = memory_ledger()
    ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
    reserve(ledger, "a")
    opened, reserved = ledger.history()
    assert json.loads(opened.body)["dataset"] == "t"
    assert (reserved.kind, reserved.analyst, reserved.share) == ("reserve", "curator", Fraction(1, 10))


def test_the_rows_are_a_protocol(ledger: Ledger) -> None:
    with ledger._store.reading() as rows:
        checked: Rows = rows
        assert checked.last() is not None
