"""The peak memory of questions beside that of the plain query: each in a process of its own, its children included."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import activity
from common import Report
from engine_jobs import A_ROW, M_GROUPS, R_ROWS, WITH_UNITS, Asked, question, scan, table

EVERY = 0.01  # seconds
MOST = 3
PAGE = 4096
BOUNDS = {"each row a unit": A_ROW, "R rows of a unit": R_ROWS, "k rows in m groups": M_GROUPS}
ALONE = "import sys, duckdb; duckdb.connect().execute(sys.argv[1]).fetchnumpy()"


def memory(report: Report, file: Path, count: int) -> None:
    """Measure each work, a process a round, and hold questions against the queries without privacy."""
    for key in activity.GROUPS:
        source = scan(file)
        plain = _typical([sys.executable, "-c", ALONE, question(key, source=source)], count)
        units = _typical([sys.executable, "-c", ALONE, question(key, source=source, measures=WITH_UNITS)], count)
        for name in BOUNDS:
            ours = _typical([sys.executable, __file__, name, str(file), key], count)
            of_groups = name == "k rows in m groups"
            _compare(report, f"{name}, {key}; plain query", ours, plain, bar=not of_groups)
            if of_groups:
                _compare(report, f"{name}, {key}; COUNT(DISTINCT unit)", ours, units, bar=True)


def _typical(command: list[str], count: int) -> int:
    return sorted(peak(command) for _ in range(count))[count // 2]


def _compare(report: Report, what: str, ours: int, theirs: int, *, bar: bool) -> None:
    verdict = "" if not bar else "pass" if ours <= MOST * theirs else "MISS"
    shown = [f"{size / 1e6:,.0f} MB" for size in (ours, theirs)]
    aim = f"<= {MOST}x" if bar else ""
    report.fact(f"peak memory, {what}: {ours / theirs:.2f}x", *shown, aim, verdict)


def work(name: str, file: Path, key: str) -> None:
    """Do what a process is started for: two questions, so that what is kept for the second one counts."""
    asked = Asked(table(str(file), key, BOUNDS[name]))
    asked.ask(question(key))
    asked.settle()
    asked.ask(question(key, without=0))


def peak(command: list[str]) -> int:
    """Run a command; return the greatest sum of what it and its children hold in memory, in bytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    greatest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(EVERY):
            greatest[0] = max(greatest[0], sum(map(held_by, tree(process.pid))))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        failed = process.wait()
    finally:
        done.set()
        watching.join()
    if failed:
        raise RuntimeError(f"{' '.join(command)} failed; its own message is above.")
    return greatest[0]


def tree(process: int) -> list[int]:
    """Return a process and all that it started."""
    found = [process]
    for parent in found:
        for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, _read(tasks).split())
    return found


def held_by(process: int) -> int:
    """Return the bytes of one process that are in memory; 0 where it has ended."""
    fields = _read(Path(f"/proc/{process}/statm")).split()
    return int(fields[1]) * PAGE if fields else 0


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has ended
        return ""


if __name__ == "__main__":
    name, file, key = sys.argv[1:]
    work(name, Path(file), key)
    time.sleep(2 * EVERY)
