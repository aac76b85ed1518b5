"""What every benchmark shares: interleaved timing, peers in interpreters of their own, the table and the JSON."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

Timer = Callable[[], float]
"""Does a piece of work once and returns its seconds per unit of work."""


def timer(work: Callable[[], object], *, units: int = 1, calls: int = 1, warm: int = 1) -> Timer:
    """Time `calls` calls of `work`, each of so many units, after `warm` calls that bring caches and clock to speed."""

    def once() -> float:
        for _ in range(warm):
            work()
        before = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - before) / (calls * units)

    return once


def interleaved(timers: dict[str, Timer], rounds: int) -> dict[str, list[float]]:
    """Time each in turn, round after round, so that all see the same load; a first round is thrown away."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(rounds + 1):
        for name, once in timers.items():
            seconds = once()
            if number:
                times[name].append(seconds)
    return times


class Peer:
    """A script in another interpreter that answers requests, one JSON line each; it lives as long as the block."""

    def __init__(self, python: str, script: Path) -> None:
        self._process = subprocess.Popen(
            [python, "-I", "-W", "ignore", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, task: str, *, limit: float | None = None, **arguments: object) -> Any:
        """Return the answer to one request; a peer that takes more than `limit` seconds is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"task": task, **arguments}) + "\n")
        self._process.stdin.flush()
        alarm = threading.Timer(limit or 0, self._process.kill)
        before = time.monotonic()
        if limit is not None:
            alarm.start()
        line = self._process.stdout.readline()
        alarm.cancel()
        if not line and limit is not None and time.monotonic() - before >= limit:
            raise TimeoutError(f"{task} took more than {limit:g} s.")
        if not line:
            raise RuntimeError(f"the peer stopped at {task} {arguments}; its own message is above.")
        return json.loads(line)

    def timer(self, task: str, *, units: int, **arguments: object) -> Timer:
        """Return a timer of a request that answers with seconds for so many units of work."""
        return lambda: float(self.ask(task, **arguments)) / units


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: two pieces of work of the same size, the ratio of their times, and the bar it is held against."""

    work: str
    against: str
    ours: list[float]  # seconds per unit, a number a round
    theirs: list[float]
    unit: str
    bar: float | None
    way: Literal["at least", "at most"] = "at least"  # as fast as them; as long as them

    def _quotient(self, ours: float, theirs: float) -> float:
        return theirs / ours if self.way == "at least" else ours / theirs

    @property
    def ratio(self) -> float:
        """The ratio of the medians."""
        return self._quotient(statistics.median(self.ours), statistics.median(self.theirs))

    @property
    def fastest(self) -> float:
        """The ratio of the fastest rounds, which other work on the machine slows down least."""
        return self._quotient(min(self.ours), min(self.theirs))

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest ratio within one round."""
        ratios = [self._quotient(*pair) for pair in zip(self.ours, self.theirs, strict=True)]
        return min(ratios), max(ratios)

    @property
    def verdict(self) -> str:
        """Whether the bar is met; empty for a figure that has none."""
        if self.bar is None:
            return ""
        return "pass" if (self.ratio >= self.bar if self.way == "at least" else self.ratio <= self.bar) else "MISS"

    def cells(self) -> list[str]:
        """Return the row as text."""
        sign = {"at least": ">=", "at most": "<="}[self.way]
        return [
            self.work,
            _amount(statistics.median(self.ours), self.unit),
            self.against,
            _amount(statistics.median(self.theirs), self.unit),
            f"{_short(self.ratio)}x",
            _short(self.fastest),
            "..".join(_short(ratio) for ratio in self.spread),
            f"{sign} {self.bar:,g}x" if self.bar is not None else "",
            self.verdict,
        ]

    def record(self) -> dict[str, object]:
        """Return the row for JSON, every round of it."""
        return {
            "work": self.work,
            "against": self.against,
            "unit": self.unit,
            "ours_seconds": self.ours,
            "theirs_seconds": self.theirs,
            "ratio": self.ratio,
            "ratio_of_fastest": self.fastest,
            "ratio_range": self.spread,
            "bar": self.bar,
            "way": self.way,
            "verdict": self.verdict,
        }


HEADINGS = ["work", "ours", "against", "theirs", "ratio", "fastest", "rounds", "bar", ""]
BAR = HEADINGS.index("bar")


def _short(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _amount(seconds: float, unit: str) -> str:
    """Return a rate for units that come by the million, a duration for the others."""
    if unit in ("value", "byte"):
        return f"{1 / seconds:.2e} {unit}s/s"
    for name, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text in columns."""
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@dataclass
class Report:
    """The figures of one subject, as they come in: progress while it runs, then the table, what is missed, the JSON."""

    subject: str
    versions: dict[str, object]
    rows: list[Row] = field(default_factory=list)
    facts: list[list[str]] = field(default_factory=list)  # figures that are no ratio of times

    def add(self, row: Row) -> None:
        """Keep a figure, and show it on the way."""
        self.rows.append(row)
        print("  ".join(cell for cell in row.cells() if cell), file=sys.stderr, flush=True)

    def fact(self, *cells: str) -> None:
        """Keep a figure that is no ratio of times: what, ours, theirs, aim, verdict."""
        self.facts.append(list(cells))
        print("  ".join(cell for cell in cells if cell), file=sys.stderr, flush=True)

    def show(self) -> None:
        """Print everything, and the bars that are missed."""
        print(f"\n{self.subject}; {_plain(machine())}; {_plain(self.versions)}\n")
        if self.rows:
            table(HEADINGS, [row.cells() for row in self.rows])
            print()
        if self.facts:
            table(["figure", "ours", "theirs", "aim", ""], self.facts)
        missed = [
            f"{row.work}, against {row.against}: {_short(row.ratio)}x, bar {row.cells()[BAR]}"
            for row in self.rows
            if row.verdict == "MISS"
        ]
        missed += [f"{what}: {ours}, aim {aim}" for what, ours, _, aim, verdict in self.facts if verdict == "MISS"]
        held = sum(bool(row.verdict) for row in self.rows) + sum(bool(fact[4]) for fact in self.facts)
        print(f"\n{held - len(missed)} of {held} bars are met." + (" Missed:" if missed else ""))
        for line in missed:
            print(f"  {line}")

    def write(self, path: str) -> None:
        """Write everything as JSON."""
        content = {
            "subject": self.subject,
            "versions": self.versions,
            "machine": machine(),
            "rows": [row.record() for row in self.rows],
            "facts": [dict(zip(("figure", "ours", "theirs", "aim", "verdict"), f, strict=True)) for f in self.facts],
        }
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, object]:
    """Return what the figures were taken on, and how busy it was."""
    return {"machine": platform.machine(), "cpus": os.cpu_count(), "load": [round(x, 2) for x in os.getloadavg()]}


def _plain(facts: dict[str, object]) -> str:
    pairs = ((name, f"({_plain(fact)})" if isinstance(fact, dict) else fact) for name, fact in facts.items())
    return ", ".join(f"{name} {fact}" for name, fact in pairs)


def versions(*names: str) -> dict[str, object]:
    """Return the versions of Python and of packages."""
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options that every benchmark has."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--json", metavar="FILE", help="write the figures there too")
    options.add_argument("--quick", action="store_true", help="fewer rounds and shorter histories")
    return options
