"""Questions to 1e7 rows: beside the engines alone, beside peers, in memory, and from text to a price.

Each question is COUNT, SUM and AVG by group, of a table in one Parquet file with 1e6 units. Times are those of
interleaved rounds on the wall; where these vary too much and all work is in this process, CPU seconds ("CPU"). "Cold"
includes opening the session; "later" is another question to a session that was asked before.
"""

from __future__ import annotations

import time

import activity
from common import Report, parser, versions
from engine_duckdb import InProcess
from engine_histogram import dense
from engine_memory import memory
from engine_peers import PEERS, Peers
from engine_planning import planning
from engine_remote import remote

PARTS = ("duckdb", "histogram", "memory", "planning", "remote", "peers")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="the parts to run")
    options.add_argument("--peers", nargs="+", choices=("none", "all", *PEERS), default=["all"], metavar="NAME",
                         help=f"none, all, or some of {', '.join(PEERS)}")  # fmt: skip
    options.add_argument("--rows", type=int, default=activity.ROWS, help="a smaller table, for a trial")
    options.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="after which a peer is stopped")
    for name in PEERS:
        options.add_argument(f"--{name}-python", metavar="PYTHON", help=f"an interpreter that has {name}")
    chosen = options.parse_args()
    count = 2 if chosen.quick else 5
    file, small = activity.path(chosen.rows), activity.path(chosen.rows // 10)
    interpreters = {name: getattr(chosen, f"{name}_python") for name in PEERS}
    wanted = [name for name in PEERS if {"all", name} & set(chosen.peers) and "none" not in chosen.peers]
    peers = Peers({name: interpreters[name] for name in wanted if interpreters[name]}, file, small, chosen.limit)
    found = versions("duckdb", "numpy", "pyarrow", "sqlglot", "psycopg", "pyspark")
    report = Report("questions", {**found, "rows": chosen.rows, "peers": peers.versions() or "none"})
    parts = {
        "duckdb": InProcess(report, file, count).run,
        "histogram": lambda: dense(report, file, count),
        "memory": lambda: memory(report, file, min(count, 3)),
        "planning": lambda: planning(report, peers),
        "remote": lambda: remote(report, file, small, count),
        "peers": lambda: peers.run(report, count),
    }
    for name in PARTS:
        if name in chosen.only:
            before = time.perf_counter()
            parts[name]()
            report.fact(f"{name}: seconds in all", f"{time.perf_counter() - before:.0f}", "", "", "")
    report.show()
    if chosen.json:
        report.write(chosen.json)


if __name__ == "__main__":
    main()
