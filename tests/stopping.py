"""Processes that ask one question and stop at a named step, and what they leave: a ledger, and what was shown.

One process imports everything and forks a child for each step, so that a hundred stops take seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.engine import released
from discreet.ledger import ledger as ledger_module
from tests.broken import sessions as broken
from tests.sessions import COLUMNS, ROWS

SESSION_STEPS = [
    "ask: after the question was bounded",
    "ask: after the ledger was searched",
    "ask: after the mechanisms were chosen",
    "ask: after the source was reached",
    "buy: before the debit",
    "reserve: before the commit",
    "reserve: after the commit",
    "buy: after the debit",
    "buy: before a row is read",
    "buy: after the rows were read",
    "release: after the keys were named",
    "release: after a measure was opened",
    "buy: after the release",
    "buy: before the release is stored",
    "record: before the transaction",
    "record: before the commit",
    "record: after the commit",
    "buy: after the release was stored",
    "ask: before the answer is derived",
    "ask: after the answer was derived",
]
SPENDS = SESSION_STEPS.index("reserve: after the commit")  # from here on a stop is charged
STORES = SESSION_STEPS.index("record: after the commit")  # and from here on the answer is there
KEYS_ONLY = "release: after the keys were named"

KINDS = {
    "count": "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex",
    "sums": "SELECT sex, SUM(cost) AS c, AVG(age) AS a FROM t GROUP BY sex",
    "median": "SELECT MEDIAN(age) AS m FROM t",
    "keys": "SELECT town, COUNT(*) AS n FROM t GROUP BY town",
    "repeat": "SELECT COUNT(*) AS n FROM t",
}
FIRST, PRICE = "0.05", "0.1"  # what a repeat paid before, and what every question pays


def session_at(folder: Path, kind: str = "Session") -> dc.Session:
    """A session on the small table, on a ledger in a folder."""
    table = dc.Table(ROWS, columns=COLUMNS, name="t", unit="who", rows_per_unit=2)
    budget = dc.Budget(epsilon=1, delta=1e-3, delta_add=5e-4)
    made = dc.Session if kind == "Session" else getattr(broken, kind)
    return made(table, budget=budget, ledger=folder / "x.ledger")  # type: ignore[no-any-return]


def run(folder: Path, kind: str, text: str, step: str) -> None:
    """In a child: ask, and stop at a step. What is shown is written at once."""
    from discreet import session as session_module

    asked = session_at(folder, kind)
    asked.show = lambda shown: show(folder, shown)  # type: ignore[attr-defined]
    if text == KINDS["repeat"]:
        asked.sql(text, epsilon=FIRST)

    def stop(reached: str) -> None:
        if reached == step:
            os._exit(9)

    for module in (session_module, released, ledger_module, broken):
        module.reached = stop  # type: ignore[attr-defined]
    show(folder, asked.sql(text, epsilon=PRICE).to_bytes())


def show(folder: Path, shown: bytes) -> None:
    with (folder / "shown").open("ab") as file:
        file.write(shown)
        file.flush()


@dataclass(frozen=True, slots=True)
class Left:
    """What one process left."""

    folder: Path
    code: int

    @property
    def shown(self) -> bytes:
        path = self.folder / "shown"
        return path.read_bytes() if path.exists() else b""


def stopped(folder: Path, text: str, steps: list[str], kind: str = "Session") -> dict[str, Left]:
    """Ask in a process for each step, which stops there; with what code each ended, and what it left."""
    command = [sys.executable, "-m", "tests.stopping", str(folder), kind, text, json.dumps(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    codes = json.loads(done.stdout.splitlines()[-1])
    return {step: Left(folder / str(place), code) for place, (step, code) in enumerate(zip(steps, codes, strict=True))}


def main(folder: str, kind: str, text: str, steps: str) -> None:
    codes = []
    for place, step in enumerate(json.loads(steps)):
        here = Path(folder) / str(place)
        here.mkdir()
        child = os.fork()
        if child == 0:
            code: Any = 1
            try:
                run(here, kind, text, step)
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(json.dumps(codes))


if __name__ == "__main__":
    main(*sys.argv[1:])
