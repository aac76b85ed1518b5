"""DU-05: two servers on one ledger, one of which is paused in the middle and comes back late."""

import os
import signal
import time
from pathlib import Path

from discreet import dp
from discreet.ledger import Ledger, ledger_at
from tests.spenders import Spenders, go, seen


def test_a_writer_that_was_paused_spends_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "x"
    work = Spenders(str(path), each=20)
    workers = [work.start(name) for name in "ab"]
    go(workers)
    for _ in range(10):
        os.kill(workers[0].pid, signal.SIGSTOP)
        time.sleep(0.01)
        os.kill(workers[0].pid, signal.SIGCONT)
        time.sleep(0.005)
    shown = [key for worker in workers for key in seen(worker)]
    ledger = ledger_at(path)
    ledger.bind(dataset="t", budget=None)
    stored = {answer.decode() for answer in ledger.answers("q")}
    assert set(shown) == stored
    assert len(shown) == 40
    assert ledger.spent == dp.Charge(ledger.budget.cap.amount)


def test_two_objects_on_one_file_see_each_other_at_once(tmp_path: Path) -> None:
    first = Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
    second = Ledger.create(tmp_path / "x", dataset="t", budget=dp.Budget(epsilon=1))
    first.reserve(dp.Loss.pure(epsilon=0.6), key="a", question="q", analyst="curator")
    assert second.spent == first.spent != dp.Charge()
