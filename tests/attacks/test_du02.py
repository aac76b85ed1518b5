"""DU-02: kill -9 under load, at random moments, with an observer outside who remembers every answer."""

import random
import signal
import time
from fractions import Fraction
from pathlib import Path

from discreet.ledger import ledger_at
from tests.sizes import sized
from tests.spenders import Spenders, go, whole_lines

ROUNDS = sized(4, 500)  # of two processes, so of two kills each


def test_what_was_seen_is_charged_and_stored(tmp_path: Path) -> None:
    source, shown = random.Random(7), set()
    work = Spenders(str(tmp_path / "x"), threads=2, budget="100000")
    for number in range(ROUNDS):
        workers = [work.start(f"{number}{name}") for name in "ab"]
        go(workers)
        time.sleep(0.02 + source.random() * 0.2)
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
        shown.update(key for worker in workers for key in whole_lines(worker))
    ledger = ledger_at(tmp_path / "x")
    ledger.bind(dataset="t", budget=None)
    ledger.verify()
    stored = {answer.decode() for answer in ledger.answers("q")}
    charged = sum(entry.kind == "reserve" for entry in ledger.history())
    assert len(shown) > ROUNDS  # there was a load
    assert shown <= stored
    assert len(stored) <= charged
    assert ledger.spent.amount == Fraction(charged, 40)
