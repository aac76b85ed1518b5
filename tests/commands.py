"""A folder with a described table and a ledger, and how a command is run in this process."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main

TOML = """
[visits]
source = "visits.csv"
unit = "who"
rows_per_unit = 2
[visits.columns]
ward = { category = ["north", "south", "icu"] }
cost = { real = [0, 5000], step = 0.01 }
day = { date = [2026-01-01, 2026-01-03] }
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
ASK = ("--tables", "visits.toml", "--ledger", "visits.ledger")
CANARY = "canary-7f3a"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Stream(io.TextIOWrapper):
    """A standard stream in memory, which may say that it is a terminal."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    @property
    def written(self) -> bytes:
        self.flush()
        held: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return held


def run(*arguments: str, terminal: bool = False) -> Ran:
    out, err = Stream(terminal=terminal), Stream(terminal=terminal)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(arguments))
        except SystemExit as stopped:  # of the parser of arguments
            code = int(stopped.code or 0)
    return Ran(code, out.written, err.written.decode())


def write_table(folder: Path) -> None:
    lines = ["who,ward,cost,day"]
    lines += [f"p{i // 2},{('north', 'south', 'icu')[i % 3]},{i},2026-01-0{i % 3 + 1}" for i in range(600)]
    (folder / "visits.csv").write_text("\n".join([*lines, f"{CANARY},{CANARY},{CANARY},{CANARY}"]) + "\n")
    (folder / "visits.toml").write_text(TOML)


def folder_with_ledger(path: Path, monkeypatch: pytest.MonkeyPatch, *budget: str) -> Path:
    monkeypatch.chdir(path)
    write_table(path)
    made = run("ledger", "create", "visits.ledger", "--tables", "visits.toml", *(budget or ("--epsilon", "1")))
    assert made.code == 0
    return path
