"""What an engine keeps from one question to the next changes no answer: each is what the oracle says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.parser import parse
from discreet.engine.resolve import plan_of
from discreet.engine.table import Table
from discreet.errors import Refused
from tests.differences import check_same
from tests.plan_schemas import Row
from tests.running import opened
from tests.sizes import sized
from tests.sql_questions import hostile, plain, question, schema_of

ADD = dp.Neighbours.ADD_REMOVE


def rows_of(rng: Random) -> list[Row]:
    return [(plain if rng.random() < 0.8 else hostile)(rng, rng.randint(1, 7)) for _ in range(40)]


def questions(rng: Random, table: Table, many: int) -> Iterator[BoundedQuery]:
    """Random questions over one table, with bounds of their own, some of them the same but for what they measure."""
    last = None
    while many:
        text = question(rng)
        tighter = {"groups_per_unit": rng.choice((None, 1, 2)), "rows_per_group": rng.choice((None, 1, 2))}
        try:
            plan = plan_of(parse(text), {"visits": table})
            if last is not None and rng.random() < 0.5:
                plan = replace(plan, where=last.where, keys=last.keys)
            made = bound(plan, neighbours=ADD, **tighter)
        except Refused:
            continue
        last, many = plan, many - 1
        yield made


def asked(engine: Any, query: BoundedQuery, rows: list[Row]) -> None:
    check_same(query, (rows,), opened(query, engine.run(query)))


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_no_answer_depends_on_what_was_asked_before(seed: int) -> None:
    """n = 24 questions on one table, each twice and in another order, on one engine; and on a new one each alone."""
    rng = Random(seed)
    rows = rows_of(rng)
    schema = schema_of(rows_per_unit=rng.choice((1, 3, 6)))
    table = schema.table(schema.arrow(rows))
    engine = DuckDB([table])
    try:
        made = list(questions(rng, table, 24))
        for query in [*made, *rng.sample(made, len(made))]:
            asked(engine, query, rows)
            if rng.random() < 0.3:
                engine.settle()
    finally:
        engine.close()


def test_private_keys_are_chosen_alike_in_every_question() -> None:
    """One secret for as long as an engine is open: two questions of one unit keep the same groups of it."""
    rows = [plain(Random(n), n % 3) | {"s": f"s{n}"} for n in range(60)]
    schema = schema_of(rows_per_unit=4)
    table = schema.table(schema.arrow(rows))
    engine = DuckDB([table])
    try:
        texts = ("COUNT(*)", "COUNT(*), SUM(n)", "COUNT(DISTINCT u)", "COUNT(DISTINCT n)", "MEDIAN(n)")
        found = []
        for text in texts:
            plan = plan_of(
                parse(f"SELECT s, {text} FROM visits GROUP BY s".replace("), ", ") AS a, ")), {"visits": table}
            )
            query = bound(plan, neighbours=ADD, groups_per_unit=4)
            found.append(opened(query, engine.run(query)).units)
        assert sum(found[0].values()) == 12
        assert all(units == found[0] for units in found)
    finally:
        engine.close()
