"""Histograms for `discreet.release`: the counts of `Universe.encode`, with the sensitivity of the bounds of a table."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.duckdb import DuckDB
from discreet.engine.histogram import histogram
from tests.asking import ADD

COLUMNS = {
    "ward": dc.Category(["z", "a"]),
    "age": dc.Integer(-2, 3),
    "ok": dc.Boolean(),
    "day": dc.Date(date(2026, 1, 1), date(2026, 1, 3)),
    "cost": dp.Bins([0, 1, 10]),
}


def rows(many: int = 500) -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "u": random.integers(0, 50, many),
            "ward": random.choice(["z", "a", "?"], many).tolist(),
            "age": random.integers(-3, 5, many),
            "ok": [None if value == 2 else bool(value) for value in random.integers(0, 3, many)],
            "day": [date(2026, 1, int(day)) for day in random.integers(1, 6, many)],
            "cost": random.uniform(-1, 12, many),
        }
    )


def test_it_is_what_the_universe_counts() -> None:
    table = dc.Table(rows(), columns=COLUMNS, name="t")
    engine = DuckDB((table,))
    for names in (("ward",), ("age", "ok"), ("cost", "ward", "day"), tuple(COLUMNS)):
        found = histogram(engine, table, names, neighbours=ADD)
        values = np.asarray(found.exact._value)
        assert values.shape == found.universe.shape
        assert values.reshape(-1).tolist() == found.universe.encode(rows()).tolist()
        assert (found.step, found.exact.sensitivity.l1, found.exact.sensitivity.linf) == (1, 1, 1)
    engine.close()


def test_a_unit_moves_it_by_its_rows() -> None:
    """the sensitivity of `exact` is that of the bounds of its table: one row, or the rows of a unit that count"""
    source = rows()
    units = np.asarray(source["u"])
    counts = []
    for unit in (None, 0, 1):
        kept = source if unit is None else source.filter(pa.array(units != unit))
        table = dc.Table(kept, unit="u", rows_per_unit=4, columns=COLUMNS, name="t")
        engine = DuckDB((table,))
        found = histogram(engine, table, ("age", "ward"), neighbours=ADD)
        engine.close()
        counts.append(np.asarray(found.exact._value))
        stated = found.exact.sensitivity.l1
    assert stated is not None
    for other in counts[1:]:
        moved = int(np.abs(counts[0] - other).sum())
        assert 0 < moved <= stated == 4 / found.step


def test_what_cannot_be_listed_is_refused() -> None:
    table = dc.Table(rows(), columns={"cost": dc.Real(0, 1), "age": dc.Integer(0, 2**30)}, name="t")
    engine = DuckDB((table,))
    with pytest.raises(dc.NeedsDeclaration, match="a list of values"):
        histogram(engine, table, ("cost",), neighbours=ADD)
    with pytest.raises(dc.NotSupported, match="cells, and"):
        histogram(engine, table, ("age",), neighbours=ADD)
