"""The same job by the peers, at most 10 rows of a unit; and whether as many rows count as should.

A peer that takes minutes runs once, when it is warm. PipelineDP, with rows as Python objects, gets a tenth of the rows,
and ours beside it the same tenth. Opening the table is in no time of a peer, unless that is said.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import activity
from common import Peer, Report, Row, Timer, interleaved
from engine_jobs import NAME, R_ROWS, Asked, Cold, Warm, in_turn, once, question, raw, scan, table
from engine_servers import MEMORY, WORKERS, java, spark_session

KEY = "k100"
RANGE: dict[str, Any] = {"low": activity.LOW, "high": activity.HIGH}
JOB: dict[str, Any] = {"key": KEY, "groups": activity.GROUPS[KEY], "epsilon": 1, **RANGE}
PER_UNIT = {"rows_per_unit": R_ROWS["rows_per_unit"]}
BARS = {"opendp": 8, "smartnoise": 30, "pipelinedp": 50, "tumult": 20}
PEERS = tuple(BARS)
FIRST, LATER = "R rows of a unit, first, cold", "R rows of a unit, later"
ROUNDS = 3
CLOSE = 0.01  # of the rows that count: a peer that bounds as it was told is not further off


class Peers:
    """The peers that are here, by the interpreter of each."""

    def __init__(self, pythons: dict[str, str], file: Path, small: Path, limit: float) -> None:
        self.pythons, self.file, self.small, self.limit = pythons, file, small, limit
        self._rows = 0.0  # that the last question to a peer counted

    @contextmanager
    def _peer(self, name: str) -> Iterator[Peer]:
        script = Path(__file__).parent / "peers" / f"{name}_groupby.py"
        with java(), Peer(self.pythons[name], script) as peer:
            yield peer

    def versions(self) -> dict[str, object]:
        """Return what runs there."""
        found = {}
        for name in self.pythons:
            with self._peer(name) as peer:
                found[name] = peer.ask("versions")
        return found

    def planning(self) -> str:
        """Return how long OpenDP takes to plan this job, in words; nothing where it is not run."""
        if "opendp" not in self.pythons:
            return ""
        with self._peer("opendp") as peer:
            times = [peer.ask("plan", file=str(self.small), **JOB, **PER_UNIT) for _ in range(1 + ROUNDS)]
        return f"{1e3 * statistics.median(times[1:]):,.0f} ms"

    def run(self, report: Report, count: int) -> None:
        """Run each in a process of its own; one that does not come to an end is left out, and that is said."""
        for name in self.pythons:
            try:
                getattr(self, f"_{name}")(report, min(count, ROUNDS))
            except TimeoutError:
                report.fact(f"the job by {name}", "", f"not finished in {self.limit:g} s", "", "")
            except RuntimeError as error:
                report.fact(f"the job by {name}", "", str(error), "", "")

    def _opendp(self, report: Report, count: int) -> None:
        with self._peer("opendp") as peer:
            theirs = partial(self._seconds, peer, file=str(self.file), **JOB, **PER_UNIT)
            took = interleaved({**self._ours(), "theirs": theirs}, count)
            for work in (FIRST, LATER):
                report.add(self._row("opendp", work, took[work], took["theirs"], "OpenDP Polars, everything"))
            self._check(report, "OpenDP Polars")

    def _smartnoise(self, report: Report, count: int) -> None:
        with self._peer("smartnoise") as peer:
            declared = {"key": KEY, "epsilon": 1, "delta": 1e-6, **RANGE, **PER_UNIT}
            opening = self._seconds(peer, task="load", file=str(self.file), **declared)
            took = interleaved({**self._ours(), "theirs": partial(self._seconds, peer, key=KEY)}, count)
            cold = [opening + seconds for seconds in took["theirs"]]
            report.add(self._row("smartnoise", FIRST, took[FIRST], cold, "SmartNoise SQL, opening and a question"))
            report.add(self._row("smartnoise", LATER, took[LATER], took["theirs"], "SmartNoise SQL, a question"))
            self._check(report, "SmartNoise SQL")

    def _pipelinedp(self, report: Report, count: int) -> None:
        declared = table(str(self.small), KEY, R_ROWS)
        ours = interleaved({"ours": lambda: once(Cold(declared, question(KEY))).wall}, count)["ours"]
        with self._peer("pipelinedp") as peer:
            self._seconds(peer, task="load", file=str(self.small), key=KEY)
            theirs = self._seconds(peer, **JOB, **PER_UNIT)
        work, against = f"{FIRST}, a tenth of the rows", "PipelineDP, a question"
        report.add(self._row("pipelinedp", work, [statistics.median(ours)], [theirs], against))
        self._check(report, "PipelineDP", self.small)

    def _tumult(self, report: Report, count: int) -> None:
        with self._peer("tumult") as peer:
            for file in (self.small, self.file):  # the first, so that Java is warm
                self._seconds(peer, task="load", file=str(file), key=KEY, workers=WORKERS, memory=MEMORY)
                theirs = self._seconds(peer, **JOB, **PER_UNIT)
        with spark_session() as spark:
            declared = table(spark.read.parquet(str(self.file)), KEY, R_ROWS)
            ours = interleaved({"ours": lambda: once(Cold(declared, question(KEY))).wall}, count)["ours"]
        work, against = "R rows of a unit, cold, on Spark", "Tumult Analytics, a question"
        report.add(self._row("tumult", work, [statistics.median(ours)], [theirs], against))
        self._check(report, "Tumult Analytics")

    def _seconds(self, peer: Peer, *, task: str = "release", **job: Any) -> float:
        found = peer.ask(task, limit=self.limit, **job)
        self._rows = found.get("rows", 0.0)
        return float(found["seconds"])

    def _ours(self) -> dict[str, Timer]:
        declared = table(str(self.file), KEY, R_ROWS)
        later = in_turn(partial(Warm, Asked(declared)), KEY, NAME)
        return {FIRST: lambda: once(Cold(declared, question(KEY))).wall, LATER: lambda: once(later()).wall}

    def _row(self, name: str, work: str, ours: list[float], theirs: list[float], against: str) -> Row:
        return Row(f"{work}, {KEY}", against, ours, theirs, "question", BARS[name])

    def _check(self, report: Report, name: str, file: Path | None = None) -> None:
        """Hold the number of rows that a peer counted against how many the bounds leave: did it do this job?"""
        of_unit = f"SELECT COUNT(*) AS n FROM {scan(file or self.file)} GROUP BY user_id"
        exact = float(raw()(f"SELECT SUM(LEAST(n, {PER_UNIT['rows_per_unit']})) AS n FROM ({of_unit})")["n"][0])
        verdict = "pass" if abs(self._rows - exact) <= CLOSE * exact else "MISS"
        report.fact(f"rows that count, {name}", f"{exact:,.0f}", f"{self._rows:,.0f}", f"+- {CLOSE:.0%}", verdict)
