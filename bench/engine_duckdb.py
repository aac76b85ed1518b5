"""Questions to DuckDB beside DuckDB alone: each row a unit, R rows of a unit, k rows of a unit in m groups."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import activity
from common import Report
from engine_jobs import (
    A_ROW,
    M_GROUPS,
    NAME,
    R_ROWS,
    WITH_UNITS,
    Asked,
    Cold,
    Warm,
    held,
    in_turn,
    question,
    raw,
    ready,
    rounds,
    scan,
    table,
)  # fmt: skip

import discreet as dc

OTHERS = "SUM(value) AS total, AVG(value) AS mean"  # of the same rows and groups, but another question


class InProcess:
    """One run of the figures."""

    def __init__(self, report: Report, file: Path, count: int) -> None:
        self.report, self.file, self.count = report, file, count
        self.source = scan(file)

    def run(self) -> None:
        """All of them."""
        for key in activity.GROUPS:
            self.rows(key)
        for key in (*activity.GROUPS, activity.TEXT):
            self.groups(key)

    def rows(self, key: str) -> None:
        """What a row as unit costs, and R rows of a unit, beside the plain query."""
        by_row, by_rows = table(str(self.file), key, A_ROW), table(str(self.file), key, R_ROWS)
        rows, later, alone = Asked(by_row), Asked(by_rows), raw()
        took = rounds(
            {
                "plain": ready(partial(alone, question(key, source=self.source))),
                "row": lambda: Warm(rows, question(key)),
                "first": lambda: Cold(by_rows, question(key)),
                "plain, one group less": in_turn(partial(partial, alone), key, self.source),
                "later": in_turn(partial(Warm, later), key, NAME),
                "again": lambda: Warm(later, question(key)),
            },
            self.count,
        )
        plain, less = f"DuckDB, {key}", f"DuckDB, {key}, the same WHERE"
        settled = [one.settled for one in took["first"] if one.settled is not None]
        held(self.report, ("each row a unit", plain), took["row"], took["plain"], 2.5)
        held(self.report, ("R rows of a unit, first, cold", plain), took["first"], took["plain"], 4)
        held(self.report, ("the same with what it keeps for later", plain), settled, took["plain"], None)
        held(self.report, ("R rows of a unit, later, the same", plain), took["again"], took["plain"], 1.5)
        held(self.report, ("R rows of a unit, later", less), took["later"], took["plain, one group less"], 1.5)
        for asked in (rows, later):
            asked.close()

    def groups(self, key: str) -> None:
        """What k rows in m groups cost, beside counting the units in each group; private keys are texts."""
        declared, alone = table(str(self.file), key, M_GROUPS), raw()
        form, bar = ("private keys", 3.5) if key == activity.TEXT else ("public keys", 2.5)
        took = rounds(
            {
                "units": ready(partial(alone, question(key, source=self.source, measures=WITH_UNITS))),
                "first": lambda: Cold(declared, question(key)),
                "second": lambda: _second(declared, key),
            },
            self.count,
        )
        against = f"DuckDB, {key}, COUNT(DISTINCT unit)"
        held(self.report, (f"k rows in m groups, {form}, cold", against), took["first"], took["units"], bar)
        second = f"k rows in m groups, {form}, second"
        held(self.report, (second, f"the first, {key}"), took["second"], took["first"], 0.5)


def _second(declared: dc.Table, key: str) -> Warm:
    asked = Asked(declared)
    asked.ask(question(key))
    asked.settle()
    return Warm(asked, question(key, measures=OTHERS), last=True)
