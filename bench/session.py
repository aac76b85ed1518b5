"""What the promises of a session cost in time: quote, debit, record, answer; beside the bare query and the bare disk.

The table is the census that ships with discreet; the ledger is a file with every commit synced, on the disk of the
system's temporary folder. A bare commit is one row of about that size, inserted into a table of SQLite of its own with
the same settings on the same disk. Each round asks another question.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from common import Report, parser, versions

import discreet as dc
from discreet.engine.bound import bound
from discreet.engine.engines import engine_for
from discreet.engine.parser import parse
from discreet.engine.resolve import plan_of

ALLOWED = 0.005  # seconds beside two commits
CACHED = 0.001
TEXT = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM census WHERE hours_per_week < {} GROUP BY sex"


def bare_commits(folder: Path, count: int) -> list[float]:
    """Return the seconds of single durable commits."""
    connection = sqlite3.connect(folder / "bare", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT, answer BLOB)")
    times = []
    for number in range(count):
        before = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (number, "q" * 500, b"a" * 1000))
        connection.execute("COMMIT")
        times.append(time.perf_counter() - before)
    connection.close()
    return times


def bare_queries(table: dc.Table, count: int) -> list[float]:
    """Return the seconds of bounded queries that were planned before: the engine alone, with no noise and no ledger."""
    tables = {table.name: table}
    engine = engine_for((table,))
    times = []
    for number in range(count + 1):
        query = bound(plan_of(parse(TEXT.format(number + 1)), tables), neighbours=dc.dp.Neighbours.ADD_REMOVE)
        before = time.perf_counter()
        engine.schema(query.plan.relation)
        engine.run(query)
        times.append(time.perf_counter() - before)
    engine.close()
    return times[1:]


def questions(session: dc.Session, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of a quote and its question, and those of the same question again."""
    new, again = [], []
    for number in range(count + 1):
        text = TEXT.format(number + 1)
        before = time.perf_counter()
        session.quote(text, epsilon="0.0001")
        session.sql(text, epsilon="0.0001")
        middle = time.perf_counter()
        session.sql(text, epsilon="0.0001")
        new.append(middle - before)
        again.append(time.perf_counter() - middle)
    return new[1:], again[1:]


def main() -> None:
    chosen = parser(__doc__).parse_args()
    count = 10 if chosen.quick else 60
    report = Report("sessions", versions("duckdb", "sqlglot"))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as name:
        folder, table = Path(name), dc.census()
        with dc.Session(table, budget=dc.Budget(epsilon=1), ledger=folder / "x.ledger") as session:
            asked, cached = questions(session, count)
        commit = statistics.median(bare_commits(folder, 5 * count))
        query = statistics.median(bare_queries(table, count))
    whole, hit = statistics.median(asked), statistics.median(cached)
    beside, aim = whole - query, 2 * commit + ALLOWED
    verdict = "pass" if beside <= aim else "MISS"
    report.fact("bare durable commit, p50", "", f"{1e3 * commit:.3f} ms", "", "")
    report.fact("bare bounded query, p50", "", f"{1e3 * query:.2f} ms", "", "")
    report.fact("quote, question and answer, p50", f"{1e3 * whole:.2f} ms", "", "", "")
    report.fact("beside the bare query", f"{1e3 * beside:.2f} ms", "", f"<= {1e3 * aim:.2f} ms", verdict)
    report.fact("cached question, p50", f"{1e3 * hit:.3f} ms", "", "<= 1 ms", "pass" if hit <= CACHED else "MISS")
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
