"""DU-07: a full disk, and one that fails: no answer, and nothing that was admitted is lost."""

import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import apsw
import pytest

from discreet import dp
from discreet.errors import LedgerError
from discreet.ledger import Ledger, ledger_at, sqlite
from discreet.ledger.sqlite import Driver
from tests.disk import Disk, recorded

TENTH = dp.Loss.pure(epsilon=0.1)

FILLS = textwrap.dedent(
    """
    import resource, signal, sys
    from discreet import dp
    from discreet.errors import LedgerError
    from discreet.ledger import Ledger

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    ledger = Ledger.create(sys.argv[1], dataset="t", budget=dp.Budget(epsilon=1000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    refused = 0
    for number in range(400):
        try:
            ledger.reserve(dp.Loss.pure(epsilon=0.1), key=str(number), question="q" * 100, analyst="curator")
            print(number, flush=True)
        except LedgerError as error:
            refused += 1
    sys.exit(0 if refused else 1)
    """
)


@pytest.mark.parametrize("room", [200_000, 300_000])
def test_a_full_disk_admits_nothing_that_it_does_not_keep(tmp_path: Path, room: int) -> None:
    assert resource.RLIM_INFINITY == -1
    done = subprocess.run(
        [sys.executable, "-c", FILLS, str(tmp_path / "x"), str(room)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ledger = ledger_at(tmp_path / "x")
    ledger.bind(dataset="t", budget=None)
    kept = sum(entry.kind == "reserve" for entry in ledger.history())
    assert 0 < len(done.stdout.split()) <= kept


def failing(disk: Disk, driver: Driver, after: int) -> Driver:
    """A driver whose disk fails at its every sync from some moment on."""

    class Connection:
        def __init__(self, path: str) -> None:
            self._connection = driver.connect(path)

        def execute(self, sql: str, *values: object) -> object:
            if sql == "COMMIT" and sum(each.kind == "sync" for each in disk.operations) >= after:
                self._connection.execute("ROLLBACK")
                raise apsw.IOError("IOError: disk I/O error")
            return self._connection.execute(sql, *values)

        def close(self) -> None:
            self._connection.close()

    return Driver(Connection, driver.error)


def spend_on(ledger: Ledger, admitted: list[int]) -> None:
    for number in range(10):
        ledger.reserve(TENTH, key=str(number), question="q", analyst="curator")
        admitted.append(number)


def test_after_a_failed_sync_nothing_is_served(tmp_path: Path) -> None:
    with recorded() as (disk, driver):
        Ledger(sqlite.SqliteStore(tmp_path / "x", driver=driver)).bind(dataset="t", budget=dp.Budget(epsilon=1))
        now = sum(each.kind == "sync" for each in disk.operations)
        ledger = Ledger(sqlite.SqliteStore(tmp_path / "x", driver=failing(disk, driver, now + 2)))
        ledger.bind(dataset="t", budget=None)
        admitted: list[int] = []
        with pytest.raises(LedgerError, match="disk I/O error"):
            spend_on(ledger, admitted)
        with pytest.raises(LedgerError, match="start a new process"):
            ledger.reserve(TENTH, key="next", question="q", analyst="curator")
        ledger.close()
    again = ledger_at(tmp_path / "x")
    again.bind(dataset="t", budget=None)
    assert sum(entry.kind == "reserve" for entry in again.history()) == len(admitted) > 0
