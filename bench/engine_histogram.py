"""From 1e7 rows to a histogram of 1e7 cells, without noise: the engine, beside Arrow's codes counted with NumPy."""

from __future__ import annotations

from pathlib import Path

import activity
import duckdb
import numpy as np
from common import Report
from engine_jobs import held, ready, rounds, scan

import discreet as dc
from discreet import dp
from discreet.engine.engines import engine_for
from discreet.engine.histogram import histogram

COLUMNS = ("k100", "k100k")
MOST = 2


def dense(report: Report, file: Path, count: int) -> None:
    """Count the rows in each of 100 x 1e5 cells in both ways."""
    shape = [activity.GROUPS[name] for name in COLUMNS]
    domains = {name: dc.Integer(0, groups - 1) for name, groups in zip(COLUMNS, shape, strict=True)}
    declared = dc.Table(str(file), name="activity", columns=domains)
    engine, connection = engine_for([declared]), duckdb.connect()
    codes = f"SELECT {COLUMNS[0]} * {shape[1]} + {COLUMNS[1]} AS code FROM {scan(file)}"

    def ours() -> object:
        return histogram(engine, declared, COLUMNS, neighbours=dp.Neighbours.ADD_REMOVE)

    def counted() -> object:
        found = connection.sql(codes).to_arrow_table()["code"].to_numpy()
        return np.bincount(found, minlength=shape[0] * shape[1])

    took = rounds({"ours": ready(ours), "arrow": ready(counted)}, count)
    engine.close()
    what = f"histogram, {np.prod(shape):,} cells of {shape[0]} x {shape[1]:,}"
    held(report, (what, "DuckDB's codes by Arrow, np.bincount"), took["ours"], took["arrow"], MOST)
