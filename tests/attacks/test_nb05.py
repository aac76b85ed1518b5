"""NB-05: which rows of a unit count depends on that unit alone: not on the order of rows, not on who else is there."""

from __future__ import annotations

from random import Random

import pytest

from discreet import dp
from discreet.engine.plan import Rows
from tests.broken import engines as broken
from tests.plans import Case
from tests.recorder import declared, first_violation, oracle, pairs, record
from tests.reference import Oracle
from tests.small_cases import by_note, case, row

ADD = dp.Neighbours.ADD_REMOVE


def crowd(units: int) -> Case:
    """Every unit has one row in each of 20 private groups, in an order of its own, of which 2 count."""
    rows = [row(unit, note=f"n{i}") for unit in range(units) for i in Random(unit).sample(range(20), 20)]
    return case(rows, Rows(), keys=(by_note(),), rows_per_unit=2, groups_per_unit=2)


def test_the_front_unit_goes_and_nobody_else_moves() -> None:
    """Of 40 units with 20 groups each the first is removed: 2 cells change, and with a twin very many."""
    question = crowd(40)
    assert first_violation(question, question.without(0), ADD, oracle, declared) is None
    for twin in (broken.RankedByRow, broken.RankedByStream):
        found = first_violation(question, question.without(0), ADD, lambda q, r, t=twin: t(q).run(r), declared)  # type: ignore[misc]
        assert found is not None
        assert found.realised > 10 * found.declared or found.what == "l0"


def test_rows_in_another_order() -> None:
    question = crowd(10)
    query = question.query(ADD)
    assert query is not None
    for seed in range(5):
        shuffled = (Random(seed).sample(question.rows[0], len(question.rows[0])),)
        assert Oracle(query).run(shuffled) == Oracle(query).run(question.rows)
        assert broken.RankedByRow(query).run(shuffled) != broken.RankedByRow(query).run(question.rows)


@pytest.mark.parametrize("name", ["ranked by the number of a row", "ranked by one stream", "ties are all kept"])
def test_a_twin_is_rejected(name: str) -> None:
    with pytest.raises(AssertionError):
        record(pairs(range(2_000), ADD, each=3), ADD, lambda query, rows: broken.ENGINES[name](query).run(rows))
