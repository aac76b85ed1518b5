"""QE-17: whatever is free and no answer has the same bytes for neighbouring tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from tests.sessions import REFUSED, ROWS, Q, session

Door = Callable[[dc.Session], object]
DOORS: dict[str, Door] = {
    "repr": repr,
    "tables": lambda asked: asked.tables,
    "describe": lambda asked: repr(asked.describe("t")),
    "explain": lambda asked: repr(asked.explain(Q)),
    "quote": lambda asked: repr(asked.quote(Q, epsilon="0.2")),
    "quote of a mean": lambda asked: repr(asked.quote("SELECT AVG(cost) AS c FROM t", epsilon="0.2")),
    "quote of a median": lambda asked: repr(asked.quote("SELECT MEDIAN(age) AS m FROM t", epsilon="0.2")),
    "spent": lambda asked: (asked.spent, asked.remaining),
    "history": lambda asked: [(entry.kind, entry.body, entry.share) for entry in asked.history()],
    "dummy": lambda asked: (asked.dummy("t", rows=7).schema, asked.dummy("t", rows=7).num_rows),
    "builder": lambda asked: repr(asked.table("t").group_by("sex").agg(n=dc.count())),
    "refusals": lambda asked: [refusal(asked, text) for text in REFUSED],
}


def refusal(asked: dc.Session, text: str) -> str:
    with pytest.raises(dc.Refused) as caught:
        asked.quote(text, epsilon=0.1)
    return str(caught.value)


def neighbours() -> list[pa.Table]:
    """All rows, those without one person, and those without anyone."""
    return [ROWS, ROWS.slice(2), ROWS.slice(0, 4), ROWS.slice(0, 0)]


def check_same(door: Door) -> None:
    made = [session(rows) for rows in neighbours()]
    first = [door(asked) for asked in made]
    assert all(told == first[0] for told in first)
    for asked in made:
        asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > 3", epsilon="0.1")
    after = [door(asked) for asked in made]
    assert all(told == after[0] for told in after)


@pytest.mark.parametrize("name", DOORS)
def test_neighbours_are_told_the_same(name: str) -> None:
    check_same(DOORS[name])


def rows_told(asked: dc.Session) -> Any:
    """The twin: a health endpoint that says how large the table is."""
    return {"tables": asked.tables, "rows": asked._tables["t"].source.rows.num_rows}  # type: ignore[union-attr]


def test_an_endpoint_that_counts_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_same(rows_told)
