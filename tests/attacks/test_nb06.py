"""NB-06: rows without a unit: 1,000 of them are neither one huge unit nor 1,000 units. They are dropped."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Key, Rows, Total, Units
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration
from tests.plans import Rows_
from tests.recorder import declared, engine_of, first_violation, oracle
from tests.reference import Found, Oracle
from tests.running import Running
from tests.small_cases import age_of, by_note, by_ward, case, row

ADD = dp.Neighbours.ADD_REMOVE
AGE = dp.Integer(-10, 40)
BOUNDS = {"rows_per_unit": 3, "groups_per_unit": 1}
NOBODY = [row(None, "abc"[i % 3], i % 40, f"n{i % 9}") for i in range(1_000)]


@pytest.mark.parametrize("key", [by_ward(), by_note()])
def test_rows_of_nobody_count_nowhere(running: Running, key: Key) -> None:
    measures = (Rows(), Units(), Total(age_of(AGE)))
    question = case([row(1), *NOBODY, row(2)], *measures, keys=(key,), **BOUNDS)
    query = question.query(ADD)
    assert query is not None
    expected = oracle(query, ([row(1), row(2)],))
    assert oracle(query, question.rows) == expected
    found = engine_of(running, question)(query, question.rows)
    assert found == (expected if query.is_private else replace(expected, units={}))


def test_an_empty_text_is_a_unit() -> None:
    """And so are "a", "A" and "a ": they are compared byte by byte."""
    question = case([row(unit) for unit in ("", "a", "A", "a ")], Units(), **BOUNDS)
    query = question.query(ADD)
    assert query is not None
    assert oracle(query, question.rows).measures[0][()] == 4 * query.measures[0].scale


def test_a_float_is_no_unit() -> None:
    """NaN is equal to nothing and 1.0 to 1: a column of floats names nobody."""
    frame = pa.table({"u": [1.0, float("nan")], "ward": ["a", "b"]})
    with pytest.raises(NeedsDeclaration, match="a unit is known by a whole number, a text or a UUID"):
        Table(frame, unit="u", rows_per_unit=1, columns={"ward": dp.Category(["a", "b"])}, name="visits")


def test_twins_are_rejected() -> None:
    """NULL as a unit of its own whose rows are not bounded: one row more moves what was declared for one unit of 3."""

    def as_many(query: BoundedQuery, rows: Rows_) -> Found:  # each row without a unit counts, and none is bounded
        found = [
            [{**one, "u": -1 - n if one["u"] is None else one["u"]} for n, one in enumerate(part)] for part in rows
        ]
        return Oracle(query).run(tuple(found))

    question = case([*NOBODY, row(2)], Rows(), keys=(by_ward(),), **BOUNDS)
    nobody_gone = ([row(2)],)
    assert first_violation(question, nobody_gone, ADD, oracle, declared) is None
    assert first_violation(question, nobody_gone, ADD, as_many, declared) is not None
