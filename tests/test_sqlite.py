"""The ledger in a file: what SQLite is told, processes, forks, crashes, and files that are no ledger."""

import functools
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, ledger_at, memory_ledger, sqlite
from tests.sizes import sized

TENTH = dp.Loss.pure(epsilon=0.1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    made = ledger_at(path)
    made.bind(dataset="t", budget=dp.Budget(epsilon=1))
    return made


class TestDurability:
    def test_the_settings_are_those_that_durability_needs(self, ledger: Ledger, path: Path) -> None:
        with closing(sqlite._opened(path, sqlite.STANDARD, may_be_new=False)) as connection:
            read = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name, _ in sqlite._PRAGMAS}
        assert read["journal_mode"] == "wal"
        assert read["synchronous"] == 2  # FULL

    def test_a_setting_that_does_not_hold_is_refused(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite, "_PRAGMAS", (("synchronous", ("OFF", "2")),))
        ledger.close()
        with pytest.raises(LedgerError, match="would not be durable"):
            assert ledger.spent

    def test_a_file_with_two_names_is_refused(self, ledger: Ledger, path: Path) -> None:
        """Each name has a log of its own: two processes would each spend the whole budget."""
        other = path.with_name("y.ledger")
        other.hardlink_to(path)
        for name in (path, other):
            with pytest.raises(LedgerError, match="has two names"):
                ledger_at(name).bind(dataset="t", budget=None)
        with pytest.raises(LedgerError, match="has two names"):
            ledger.reserve(TENTH, key="a", question="q", analyst="curator")
        other.unlink()
        assert ledger.spent == dp.Charge()

    def test_a_symbolic_link_is_the_file_that_it_leads_to(self, ledger: Ledger, path: Path) -> None:
        other = path.with_name("y.ledger")
        other.symlink_to(path)
        linked = ledger_at(other)
        linked.bind(dataset="t", budget=None)
        for number, each in enumerate((ledger, linked) * 5):
            each.reserve(TENTH, key=str(number), question="q", analyst="curator")
        assert ledger.spent == linked.spent == dp.Charge(Fraction(1))

    def test_an_old_sqlite_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
        with pytest.raises(LedgerError, match=r"needs SQLite 3\.37"):
            memory_ledger()

    def test_after_a_failed_commit_the_process_uses_the_ledger_no_more(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """DU-07: a sync that failed is not tried again; it may say yes and have lost what it said no to."""

        class FullDisk(sqlite3.Connection):
            def execute(self, sql: str, *values: object) -> sqlite3.Cursor:  # type: ignore[override]
                if sql == "COMMIT":
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, *values)  # type: ignore[arg-type]

        ledger.close()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=FullDisk))
            with pytest.raises(LedgerError, match="disk I/O error"):
                ledger.reserve(TENTH, key="a", question="q", analyst="curator")
        with pytest.raises(LedgerError, match="start a new process"):
            ledger.reserve(TENTH, key="b", question="q", analyst="curator")


class TestOtherFiles:
    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="folder of the ledger does not exist"):
            ledger_at(tmp_path / "no" / "x").bind(dataset="t", budget=dp.Budget(epsilon=1))

    @pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 30, b"\x00" * 5000])
    def test_a_file_of_something_else_is_refused_and_left_alone(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(LedgerError):
            ledger_at(path).bind(dataset="t", budget=dp.Budget(epsilon=1))
        assert path.read_bytes() == content

    def test_a_database_of_another_program_is_refused_and_left_alone(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (x)")
        content = path.read_bytes()
        with pytest.raises(LedgerError, match="not a ledger"):
            ledger_at(path).bind(dataset="t", budget=dp.Budget(epsilon=1))
        assert path.read_bytes() == content

    def test_a_newer_format_is_refused(self, ledger: Ledger, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 3")
        ledger.close()
        with pytest.raises(LedgerError, match="format 3"):
            assert ledger.spent

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
    def test_a_read_only_file_is_refused(self, ledger: Ledger, path: Path) -> None:
        path.chmod(0o444)
        with pytest.raises(LedgerError):
            ledger.reserve(TENTH, key="a", question="q", analyst="curator")

    @pytest.mark.parametrize("left", [None, b""])
    def test_a_ledger_that_is_gone_is_not_begun_anew(self, ledger: Ledger, path: Path, left: bytes | None) -> None:
        ledger.reserve(TENTH, key="a", question="q", analyst="curator")
        ledger.close()
        kept = path.read_bytes()
        path.unlink()
        if left is not None:
            path.write_bytes(left)
        for use in (lambda: ledger.spent, lambda: ledger.reserve(TENTH, key="b", question="q", analyst="curator")):
            with pytest.raises(LedgerError, match="file of the ledger is gone"):
                use()
        assert (path.read_bytes() if path.exists() else None) == left
        path.write_bytes(kept)
        assert ledger.spent == dp.Charge(Fraction(1, 10))

    def test_a_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(LedgerError, match="is a folder; give a file in it"):
            ledger_at(tmp_path).bind(dataset="t", budget=dp.Budget(epsilon=1))


SPENDER = textwrap.dedent(
    """
    import sys
    from discreet import dp
    from discreet.errors import BudgetExceeded
    from discreet.ledger import ledger_at

    path, worker, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ledger = ledger_at(path)
    ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))  # the first to come creates it
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(each):
        key = f"{worker}-{i}"
        try:
            ledger.reserve(dp.Loss.pure(epsilon="1/40"), key=key, question="q", analyst="curator")
        except BudgetExceeded:
            continue
        ledger.record(key, key.encode())
        print(key, flush=True)
    """
)


def start(path: Path, worker: int, each: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SPENDER, str(path), str(worker), str(each)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


class TestProcesses:
    def test_four_processes_admit_exactly_the_budget(self, path: Path) -> None:
        """DU-04: they create the file together, start together, and share forty reservations."""
        each = sized(20, 200)
        workers = [start(path, worker, each) for worker in range(4)]
        for process in workers:
            go(process)
        answered = [line for process in workers for line in process.communicate(timeout=120)[0].split()]
        assert [process.returncode for process in workers] == [0] * 4
        assert len(answered) == len(set(answered)) == 40
        opened = ledger_at(path)
        opened.bind(dataset="t", budget=None)
        assert opened.spent.amount == 1

    def test_what_was_shown_before_a_kill_was_charged(self, path: Path) -> None:
        """DU-02: kill -9 at any moment; each answer that was seen is in the ledger, with its debit."""
        for attempt in range(sized(3, 40)):
            process = start(path, attempt, 1000)
            go(process)
            assert process.stdout is not None
            seen = [process.stdout.readline().strip()]
            process.send_signal(signal.SIGKILL)
            seen += process.communicate(timeout=60)[0].split()
            ledger = ledger_at(path)
            ledger.bind(dataset="t", budget=None)
            stored = {answer.decode() for answer in ledger.answers("q")}
            assert {key for key in seen if key} <= stored
            assert len(stored) * Fraction(1, 40) <= ledger.spent.amount <= 1


def in_a_child(work: object) -> object:
    """What a forked child returns, or the error that it raises."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        try:
            sender.send(work())  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001
            sender.send(type(error).__name__)

    process = context.Process(target=run)
    process.start()
    result = receiver.recv()
    process.join()
    return result


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
class TestFork:
    def test_parent_and_child_share_the_budget_of_a_file(self, ledger: Ledger) -> None:
        def spend() -> str:
            ledger.reserve(dp.Loss.pure(epsilon="0.6"), key="child", question="q", analyst="curator")
            return "admitted"

        assert in_a_child(spend) == "admitted"
        assert ledger.spent.amount == Fraction(3, 5)
        assert in_a_child(lambda: spend()) == "LedgerError"  # the key is spent

    def test_a_ledger_in_memory_does_not_follow_into_a_child(self) -> None:
        ledger = memory_ledger()
        ledger.bind(dataset="t", budget=dp.Budget(epsilon=1))
        spend = lambda: ledger.reserve(TENTH, key="a", question="q", analyst="curator")  # noqa: E731
        assert in_a_child(spend) == "LedgerError"
