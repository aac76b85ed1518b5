"""QE-08: an empty table or group, NULL in a key, '' or 'a ' or 'A' beside 'a': the same cells, and true zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.backend import PublicGroups
from discreet.engine.plan import Key, Present, Rows
from tests.differences import ADD, check_same
from tests.plan_schemas import Field
from tests.plans import Case
from tests.recorder import engine_of
from tests.reference import Found
from tests.running import Running
from tests.small_cases import by_note, by_ward, case, row
from tests.sql_questions import Row, case_of, plain, schema_of

AGGREGATES = (
    *("COUNT(*)", "COUNT(x)", "COUNT(DISTINCT u)", "COUNT(DISTINCT n)", "SUM(x)", "AVG(x)", "VARIANCE(n)"),
    *("STDDEV(x)", "MEDIAN(n)", "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)", "SUM(x) FILTER (WHERE b)"),
)
NULLS: Row = dict.fromkeys(("n", "k", "x", "y", "b", "w", "c", "d", "t", "s", "g")) | {"u": 1}
TABLES: dict[str, list[Row]] = {
    "nothing": [],
    "nobody": [plain(Random(3), 1) | {"u": None}],
    "NULL": [NULLS] * 3,
    "outside": [NULLS | {"w": "west", "n": 99, "x": 1e9}],
    "one": [plain(Random(3), 1) | {"w": "north"}],
}


def asked_of(running: Running) -> str:
    """All aggregates in one question; of Spark, which takes seconds for each statement, those of one statement."""
    chosen = AGGREGATES[:2] if running.place.name == "spark" else AGGREGATES
    return f"SELECT w, {', '.join(f'{text} AS a{place}' for place, text in enumerate(chosen))} FROM visits GROUP BY w"


def check_cells(cells: Callable[[list[Row]], int], names: tuple[str, ...] = tuple(TABLES)) -> None:
    """How many numbers an answer has says nothing of the table."""
    assert len({cells(TABLES[name]) for name in names}) == 1


def test_every_aggregate_of_nothing(running: Running) -> None:
    """The numbers of the oracle, which are zeros where nobody is in a group; and the cells are those declared."""
    names = ("nothing", "one") if running.place.name == "spark" else tuple(TABLES)
    for name in names:
        question = case_of(asked_of(running), TABLES[name], rows_per_unit=2, groups_per_unit=1)
        query = question.query(ADD)
        assert query is not None
        found = engine_of(running, question)(query, question.rows)
        check_same(query, question.rows, found)
        assert any(found.measures) == (name == "one")
    bounds = {"rows_per_unit": 2, "groups_per_unit": 1}
    check_cells(lambda rows: returned(running, case_of(asked_of(running), rows, **bounds)), names)


def returned(running: Running, question: Case) -> int:
    """How many numbers an engine returns."""
    query = running.place.query(question, ADD)
    assert query is not None
    groups = running.place.run(query)
    assert isinstance(groups, PublicGroups)
    return sum(exact._value.size for exact in groups.measures)  # type: ignore[union-attr]


def test_groups_as_they_come_are_rejected() -> None:
    """The twin: GROUP BY in DuckDB returns the groups that are there."""

    def cells(rows: list[Row]) -> int:
        import duckdb

        with duckdb.connect() as connection:
            connection.register("visits", schema_of().arrow(rows))
            return len(connection.execute("SELECT w, COUNT(*) FROM visits GROUP BY w").fetchall())

    with pytest.raises(AssertionError):
        check_cells(cells)


TEXTS = ("", "a", "A", "a ", " a", "á", None)


def test_texts_are_equal_byte_by_byte(running: Running) -> None:
    """As private keys and as declared values: '' is a text and NULL is none; 'a ' is not 'a'."""
    rows = [row(unit, note=text) for unit, text in enumerate(TEXTS) for _ in range(2)]
    question = case(rows, Rows(), keys=(by_note(),), rows_per_unit=2)
    found = asked(running, question)
    assert found.units == {(text,): 1 for text in TEXTS if text is not None}
    assert found.measures[0] == {(text,): 2 for text in TEXTS if text is not None}
    declared = with_category(question, dp.Category([text for text in TEXTS if text is not None]))
    query = declared.query(ADD)
    assert query is not None
    assert asked(running, declared).measures[0] == {(place,): 2 * query.measures[0].scale for place in range(6)}


def asked(running: Running, question: Case) -> Found:
    query = question.query(ADD)
    assert query is not None
    return engine_of(running, question)(query, question.rows)


def with_category(question: Case, domain: dp.Category) -> Case:
    """The same question with the key declared as a list of values."""
    (schema,) = question.schemas
    fields = (*schema.fields[:2], Field("note", domain, pa.string(), lambda _: None))
    public = replace(schema, fields=fields)
    key = Key(ex.Column(0, "note", domain, ex.Coded(domain)), domain.values, range(domain.declared))
    relation = replace(question.plan.relation, scans=(public.table(public.arrow([])),))
    return replace(question, schemas=(public,), plan=replace(question.plan, keys=(key,), relation=relation))


def test_a_private_key_of_nobody_is_not_there(running: Running) -> None:
    """No group without a unit: none of NULL, none of a unit that is NULL, and none that WHERE left empty."""
    ward = by_ward().expression
    rows = [row(1, note=None), row(None, note="lost"), row(2, note="kept"), row(3, "b", note="filtered")]
    in_a = ex.Comparison("=", ward, ex.Constant(0, ward.kind))
    question = case(rows, Rows(), Present(ward), keys=(by_note(),), where=in_a, rows_per_unit=2)
    assert asked(running, question).units == {("kept",): 1}
