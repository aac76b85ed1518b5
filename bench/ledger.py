"""A ledger with a million entries: what a reservation takes beside one at the start, and how long it takes to verify.

The entries are appended in one transaction, which no session does, and are in the chain like any other.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from common import Report, parser

from discreet import dp
from discreet.ledger import Ledger, ledger_at
from discreet.ledger.rows import RESERVE

LOSS = dp.Loss.pure(epsilon=0.1)
SLOWER, MINUTE = 2, 60


def reservations(ledger: Ledger, name: str, count: int) -> float:
    """Return the median seconds of a reservation."""
    times = []
    for number in range(count):
        before = time.perf_counter()
        ledger.reserve(LOSS, key=f"{name}{number}", question="q" * 100, analyst="curator")
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def filled(ledger: Ledger, count: int) -> None:
    """Append many entries."""
    charge = ledger.budget.charge(LOSS)
    with ledger._writing() as rows:
        for number in range(count):
            ledger._append(rows, RESERVE, key=f"many{number}", body="q" * 100, charge=charge)


def main() -> None:
    chosen = parser(__doc__).parse_args()
    count = 20_000 if chosen.quick else 1_000_000
    report = Report("ledgers", {"entries": count})
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        path = Path(folder) / "x.ledger"
        ledger = Ledger.create(path, dataset="t", budget=dp.Budget(epsilon=10**6))
        first = reservations(ledger, "first", 200)
        filled(ledger, count)
        reservations(ledger, "between", 5)  # the first of them verifies what was appended
        last = reservations(ledger, "last", 200)
        ledger.close()
        before = time.perf_counter()
        ledger_at(path).bind(dataset="t", budget=None)
        opened = time.perf_counter() - before
    verdict = "pass" if last <= SLOWER * first else "MISS"
    report.fact("a reservation, the last of all", f"{1e3 * last:.3f} ms", f"{1e3 * first:.3f} ms", "<= 2x", verdict)
    report.fact("verified when it is opened", f"{opened:.1f} s", "", "<= 60 s", "pass" if opened <= MINUTE else "MISS")
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
