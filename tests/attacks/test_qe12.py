"""QE-12: a canary among the rows, everything logged, and every file read: in none of them, and in no exact total."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dc
from discreet.engine.backend import Groups
from discreet.engine.bound import BoundedQuery
from tests.sessions import CANARY, COLUMNS, REFUSED, Recorder, crash, recorded

TOTAL = 5_482_917_036  # of the costs: noise is a few thousand wide, and no draw of it hits this
TEXTS = (
    "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM t GROUP BY sex",
    "SELECT town, COUNT(*) AS n FROM t GROUP BY town",
    "SELECT COUNT(*) AS n FROM t WHERE town = 'b'",
    "SELECT MEDIAN(age) AS m FROM t",
    "SELECT SUM(pay) AS s FROM t",
)


class Telling(Recorder):
    """The twin: an engine that logs what it found."""

    def run(self, query: BoundedQuery) -> Groups:
        logging.getLogger("engine").debug("found a row of %s with pay %d", CANARY, TOTAL)
        return super().run(query)


def everything_written(folder: Path, make: Callable[[dc.Session], object]) -> bytes:
    """All bytes of all files below a folder, in which logs, temporary files and the ledger lie, before and after."""
    rows = {"who": [1, 2, 3], "sex": ["Male", CANARY, None], "age": [1, 2, 99], "town": [CANARY, "b", CANARY]}
    rows["pay"] = [TOTAL, None, None]  # type: ignore[list-item]
    table = dc.Table(
        pa.table(rows),
        columns={name: COLUMNS[name] for name in ("sex", "age", "town")} | {"pay": dc.Integer(0, 2 * TOTAL)},
        name="t",
        unit="who",
        rows_per_unit=2,
    )
    budget = dc.Budget(epsilon=9, delta=1e-3, delta_add=5e-4)
    found = b""
    with dc.Session(table, budget=budget, ledger=folder / "x.ledger") as asked:
        make(asked)
        for text in (*TEXTS, *REFUSED):
            with suppress(dc.Refused, dc.Failed):
                asked.quote(text, epsilon=1)
                logging.getLogger("caller").debug("%r", asked.sql(text, epsilon=1))
        recorded(asked, crash)
        with suppress(dc.Failed):
            asked.sql("SELECT SUM(age) AS s FROM t WHERE sex = 'Male'", epsilon=1)
        found += b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return found + b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def check_canary(folder: Path, make: Callable[[dc.Session], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    handler = logging.FileHandler(folder / "log")
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        written = everything_written(folder, make)
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()
    assert b"sex" in written  # the answers of the caller's own log: it does log
    assert CANARY.encode() not in written
    assert str(TOTAL).encode() not in written


def test_no_file_holds_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    check_canary(tmp_path, lambda _: None, monkeypatch)
    sys.stdout.flush()
    shown = "".join(capfd.readouterr())
    assert CANARY not in shown
    assert str(TOTAL) not in shown


def test_an_engine_that_logs_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(asked: dc.Session) -> None:
        asked._engine = Telling(asked._engine, asked._ledger)

    with pytest.raises(AssertionError):
        check_canary(tmp_path, tell, monkeypatch)
