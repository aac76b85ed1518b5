"""Questions of units to PostgreSQL and to Spark, beside counting the units in each group on the same engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from common import Report
from engine_jobs import M_GROUPS, NAME, R_ROWS, WITH_UNITS, Cold, held, question, ready, rounds, table
from engine_servers import postgres_table, spark_session

KEY = "k100"
MOST = 2
BOUNDS = {"R rows of a unit": R_ROWS, "k rows in m groups": M_GROUPS}


def remote(report: Report, file: Path, small: Path, count: int) -> None:
    """PostgreSQL on a tenth of the table, Spark on all of it."""
    with postgres_table(small, NAME, "user_id", KEY, "value") as (address, alone):
        _beside(report, "PostgreSQL", alone, address, count, table=NAME)
    with spark_session() as spark:
        rows = spark.read.parquet(str(file))
        rows.createOrReplaceTempView(NAME)
        _beside(report, "Spark", lambda text: spark.sql(text).collect(), rows, min(count, 3))


def _beside(report: Report, engine: str, alone: Callable[[str], object], source: Any, count: int, **more: str) -> None:
    declared = {name: table(source, KEY, bounds, **more) for name, bounds in BOUNDS.items()}
    questions = {name: partial(Cold, one, question(KEY)) for name, one in declared.items()}
    took = rounds(
        {
            "plain": ready(partial(alone, question(KEY))),
            "units": ready(partial(alone, question(KEY, measures=WITH_UNITS))),
            **questions,
        },
        count,
    )
    for name in BOUNDS:
        units = f"{engine}, {KEY}, COUNT(DISTINCT unit)"
        held(report, (f"{engine}, {name}, cold", units), took[name], took["units"], MOST, in_process=False)
        plain = f"{engine}, {KEY}"
        held(report, (f"{engine}, {name}, cold", plain), took[name], took["plain"], None, in_process=False)
