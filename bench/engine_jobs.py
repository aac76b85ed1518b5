"""COUNT, SUM and AVG by group, the job of the engine's figures: as SQL, as declared to a session, and on two clocks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import activity
import duckdb
from common import Report, Row

import discreet as dc

NAME = "activity"
BUDGET = dc.Budget(epsilon=20, delta=1e-6, delta_add=5e-7)  # a part of delta for keys that are private
EPSILON = 0.5
NOISY, BUSY = 0.3, 1.5  # a spread as a share of the median, and load on a core: beyond either CPU seconds are taken
MEASURES = "COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean"
WITH_UNITS = "COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean, COUNT(DISTINCT user_id) AS units"

# What is declared about units: nothing, at most R rows of one, at most k rows in each of m groups.
A_ROW: dict[str, Any] = {}
R_ROWS: dict[str, Any] = {"unit": "user_id", "rows_per_unit": 10}
M_GROUPS: dict[str, Any] = {**R_ROWS, "groups_per_unit": 5, "rows_per_group": 2}


def question(key: str, *, source: str = NAME, measures: str = MEASURES, without: int | None = None) -> str:
    """Return the job as SQL; `without` one group, so that it is another question."""
    where = "" if without is None else f" WHERE {key} <> {without}"
    return f"SELECT {key}, {measures} FROM {source}{where} GROUP BY {key}"


def table(source: Any, key: str, bounds: dict[str, Any], **more: Any) -> dc.Table:
    """Return what a curator declares."""
    domain = dc.Text() if key == activity.TEXT else dc.Integer(0, activity.GROUPS[key] - 1)
    value = dc.Real(activity.LOW, activity.HIGH)
    return dc.Table(source, name=NAME, columns={key: domain, "value": value}, **bounds, **more)


def opened(declared: dc.Table | list[dc.Table]) -> dc.Session:
    """Open a session whose budget lasts for all rounds."""
    return dc.Session(declared, budget=BUDGET, ledger=dc.memory_ledger())


def settle(session: dc.Session) -> None:
    """Wait for what DuckDB does beside the next lines of a program: it keeps columns for later questions."""
    getattr(session._engine, "settle", lambda: None)()


class Cold:
    """A session that is opened to ask one question."""

    def __init__(self, declared: dc.Table, text: str) -> None:
        self._declared, self._text = declared, text

    def __call__(self) -> None:
        self._session = opened(self._declared)
        self._session.sql(self._text, epsilon=EPSILON)

    def settle(self) -> None:
        """Wait for what goes on beside."""
        settle(self._session)

    def close(self) -> None:
        """Give back what it holds."""
        self._session.close()


class Asked:
    """An engine that lasts, and is asked one question after another, each for a new ledger, so that none is free."""

    def __init__(self, declared: dc.Table) -> None:
        self._declared, self._session = declared, opened(declared)

    def ask(self, text: str) -> None:
        """Ask."""
        session = opened(self._declared)
        session._engine = self._session._engine
        session.sql(text, epsilon=EPSILON)

    def close(self) -> None:
        """Give back what it holds."""
        self._session.close()

    def settle(self) -> None:
        """Wait for what goes on beside."""
        settle(self._session)


class Warm:
    """A question to a session that lasts, or lasts until it is asked."""

    def __init__(self, asked: Asked, text: str, *, last: bool = False) -> None:
        self._asked, self._text, self._last = asked, text, last

    def __call__(self) -> None:
        self._asked.ask(self._text)

    def settle(self) -> None:
        """Wait for what goes on beside."""
        self._asked.settle()

    def close(self) -> None:
        """Give back what it holds, if nothing more is asked."""
        if self._last:
            self._asked.close()


def raw() -> Callable[[str], dict[str, Any]]:
    """Return DuckDB alone, on a connection of its own that stays open."""
    connection = duckdb.connect()
    return lambda text: connection.execute(text).fetchnumpy()


def scan(file: Path) -> str:
    """Return a file as DuckDB reads it."""
    return f"read_parquet('{file}')"


# Two clocks.


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds on the clock on the wall, and of all threads of this process; and both with what is done beside."""

    wall: float
    cpu: float
    settled: Took | None = None


Prepared = Callable[[], Callable[[], object]]
"""Does what is not timed, and returns what is."""


def ready(work: Callable[[], object]) -> Prepared:
    """Return work that needs no preparation."""
    return lambda: work


def rounds(works: dict[str, Prepared], count: int, *, warm: bool = True) -> dict[str, list[Took]]:
    """Time each in turn, round after round, so that all see the same load; a first round is thrown away."""
    found: dict[str, list[Took]] = {name: [] for name in works}
    for number in range(count + warm):
        for name, prepare in works.items():
            took = once(prepare())
            if number >= warm:
                found[name].append(took)
    return found


def once(work: Callable[[], object]) -> Took:
    """Time a piece of work, and apart from it what it does beside."""
    before = Took(time.perf_counter(), time.process_time())
    work()
    done = Took(time.perf_counter(), time.process_time())
    getattr(work, "settle", lambda: None)()
    settled = Took(time.perf_counter() - before.wall, time.process_time() - before.cpu)
    getattr(work, "close", lambda: None)()
    return Took(done.wall - before.wall, done.cpu - before.cpu, settled)


def held(
    report: Report,
    what: tuple[str, str],
    ours: list[Took],
    theirs: list[Took],
    bar: float | None,
    *,
    in_process: bool = True,
) -> None:
    """Add a row by the clock on the wall, or by CPU seconds where that is noisy and all work is in this process."""
    work, against = what
    times = [[took.wall for took in side] for side in (ours, theirs)]
    if in_process and (is_busy() or any(spread(side) > NOISY for side in times)):
        times = [[took.cpu for took in side] for side in (ours, theirs)]
        work += ", CPU"
    report.add(Row(work, against, *times, "question", bar, "at most"))


def is_busy() -> bool:
    """Whether so much else runs here that the clock on the wall says little."""
    return os.getloadavg()[0] > BUSY * (os.cpu_count() or 1)


def spread(times: list[float]) -> float:
    """Return how far times lie apart, as a share of their median."""
    ordered = sorted(times)
    return (ordered[-1] - ordered[0]) / ordered[len(ordered) // 2]


def in_turn(asking: Callable[[str], object], key: str, source: str) -> Prepared:
    """Return a question that is another one each time: it leaves out one group after another."""
    turns = count()
    return lambda: asking(question(key, source=source, without=next(turns)))
