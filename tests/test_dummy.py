"""Fake rows: that they fit the declarations, cover them, and are made from nothing else."""

from collections import Counter
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.dp.randomness import system
from discreet.engine.dummy import _below, dummy
from discreet.engine.table import Table

DAY = date(2026, 1, 1)
COLUMNS: dict[str, Any] = {
    "ward": dc.Category(["north", "south", "icu"]),
    "code": dc.Category([7, -2]),
    "age": dc.Integer(-3, 3),
    "cost": dc.Real("0.26", "0.74", step="0.125"),
    "weight": dp.Bins([0, 1, 5]),
    "urgent": dc.Boolean(),
    "day": dc.Date(DAY, date(2026, 1, 3)),
    "seen": dc.Datetime(datetime(2026, 1, 1), datetime(2026, 1, 1, 2), zone="Asia/Tokyo", step="1h"),
    "note": dc.Text(),
}


def table(**options: Any) -> Table:
    return Table("no-such-file.parquet", **{"columns": COLUMNS, "name": "visits", **options})


def test_every_declared_value_appears_and_no_other() -> None:
    """They are a function of the declarations and of fresh randomness: the file of this table does not exist."""
    rows = dummy(table(), 2_000)  # the rarest value is one of seven: it is missed with probability below 10^-133
    assert rows.num_rows == 2_000
    values = {column: set(rows[column].to_pylist()) for column in rows.column_names}
    assert len(values.pop("note")) > 100
    assert values == {
        "ward": {"north", "south", "icu"},
        "code": {7, -2},
        "age": set(range(-3, 4)),
        "cost": {0.26, 0.375, 0.5, 0.625, 0.74},
        "weight": {0.5, 3.0},
        "urgent": {True, False},
        "day": {DAY, date(2026, 1, 2), date(2026, 1, 3)},
        "seen": {datetime(2026, 1, 1, hour) for hour in range(3)},
    }


def test_they_are_rows_of_the_same_declarations() -> None:
    options = {"unit": "who", "rows_per_unit": 3}
    rows = dummy(table(**options), 50)
    again = dc.Table(rows, columns=COLUMNS, name="visits", unit="who", rows_per_unit=3)
    assert again.fingerprint == table(**options).fingerprint


@pytest.mark.parametrize("most", [1, 3, 40])
def test_a_unit_has_at_most_its_rows(most: int) -> None:
    rows = dummy(table(unit="who", rows_per_unit=most), 20_000)
    sizes = Counter(rows["who"].to_pylist())
    assert max(sizes.values()) == most  # of 900 units and more, each has all of its rows with probability 1 / 40
    assert min(sizes.values()) == 1
    assert rows.num_rows == 20_000


def test_units_may_be_large() -> None:
    assert dummy(table(unit="who", rows_per_unit=2**20), 1_000)["who"].null_count == 0


@pytest.mark.parametrize("domain", [dc.Text(), dc.Integer(10, 10_000), dc.Category([f"u{i}" for i in range(5_000)])])
def test_a_unit_that_is_declared_keeps_its_domain(domain: Any) -> None:
    rows = dummy(table(columns={"who": domain, **COLUMNS}, unit="who", rows_per_unit=2), 500)
    assert rows.column_names[0] == "who"
    assert max(Counter(rows["who"].to_pylist()).values()) == 2
    if not isinstance(domain, dp.Text):
        assert all(domain.index(value) >= 0 for value in rows["who"].to_pylist())


def test_values_are_uniform() -> None:
    drawn = np.bincount(_below(system(), 5, 50_000), minlength=6)
    # chi squared with 4 degrees of freedom: above 41 once in 10^7
    assert ((drawn[:5] - 10_000.0) ** 2 / 10_000).sum() < 41
    assert drawn[5] == 0
    wrong = np.bincount(system().words(50_000, 8) % 5 % 4, minlength=5)
    assert ((wrong[:5] - 10_000.0) ** 2 / 10_000).sum() > 41


@pytest.mark.parametrize("size", [1, 2, 3, 2**20, 2**54 + 1])
def test_numbers_are_below_their_size(size: int) -> None:
    drawn = _below(system(), size, 200)
    assert len(drawn) == 200
    assert drawn.min() >= 0
    assert drawn.max() < size
    assert size < 2**20 or len(set(drawn.tolist())) > 150


def test_the_widest_domains_are_drawn() -> None:
    wide = {"a": dc.Integer(-(2**53), 2**53), "b": dc.Real(0, 1, step="1/1099511627776")}
    wide["c"] = dc.Date(date.min, date.max)  # type: ignore[assignment]
    wide["d"] = dc.Datetime(datetime.min, datetime.max, zone="UTC")  # type: ignore[assignment]
    rows = dummy(Table("x.parquet", columns=wide), 100)
    assert all(0 <= value <= 1 for value in rows["b"].to_pylist())
    assert all(isinstance(value, date) for value in rows["c"].to_pylist())
    assert rows["d"].type == pa.timestamp("us")
    assert all(isinstance(value, datetime) for value in rows["d"].to_pylist())


@pytest.mark.parametrize("rows", [0, -1, True, 1.0, "10", 1_000_001], ids=repr)
def test_a_number_of_rows_is_a_whole_number(rows: Any) -> None:
    with pytest.raises(dc.InvalidParameter, match="rows is a whole number from 1 to 1,000,000"):
        dummy(table(), rows)
