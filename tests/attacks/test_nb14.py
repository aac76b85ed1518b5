"""NB-14: public facts that were computed from private rows: bounds, keys, sizes. Every one has a declared origin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.engine.draft import draft
from tests.sql_questions import COLUMNS, STORED, Row, hostile, plain, schema_of

ONE: list[Row] = [plain(Random(n), n % 5) for n in range(40)]
OTHER: list[Row] = [hostile(Random(n), n) for n in range(7)]
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT w, AVG(x) AS m, MEDIAN(n) AS q FROM visits GROUP BY w",
    "SELECT s, COUNT(*) AS n FROM visits GROUP BY s",
    "SELECT month(d) AS m, COUNT(DISTINCT c) AS n FROM visits WHERE x > 1 GROUP BY m",
)


def check_public(look: Callable[[list[Row]], object]) -> None:
    """What is shown of two tables with the same declaration and other rows is the same."""
    assert look(ONE) == look(OTHER) == look([])


def session_of(rows: list[Row]) -> dc.Session:
    schema = schema_of(rows_per_unit=3)
    budget = dc.Budget(epsilon=10, delta=1e-6, delta_add=1e-7)
    return dc.Session([schema.table(schema.arrow(rows))], budget=budget, ledger=dc.memory_ledger())


def test_what_is_free_is_public() -> None:
    """Descriptions, quotes with their errors, explanations: the same for any rows."""
    for text in QUESTIONS:
        check_public(lambda rows, text=text: repr(session_of(rows).quote(text, epsilon=1)))  # type: ignore[misc]
        check_public(lambda rows, text=text: repr(session_of(rows).explain(text)))  # type: ignore[misc]
    check_public(lambda rows: repr(session_of(rows).describe("visits")))
    check_public(lambda rows: session_of(rows)._tables["visits"].fingerprint)


@pytest.mark.parametrize("name", list(COLUMNS))
def test_a_column_without_a_declaration_is_not_there(name: str) -> None:
    """No domain is read from a column: it is declared, or a question cannot name it."""
    schema = schema_of()
    columns = {other: domain for other, domain in COLUMNS.items() if other != name}
    table = dc.Table(schema.arrow(ONE), columns=columns, unit="u", rows_per_unit=3, name="visits")
    with dc.Session([table], budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger()) as session:
        for text in (
            f"SELECT COUNT({name}) AS total FROM visits",
            f"SELECT {name}, COUNT(*) AS total FROM visits GROUP BY {name}",
        ):
            with pytest.raises(dc.NeedsDeclaration, match="declares no column"):
                session.quote(text, epsilon=1)


def test_a_bound_on_rows_is_not_read_off_the_rows() -> None:
    with pytest.raises(dc.NeedsDeclaration, match="rows_per_unit="):
        dc.Table(schema_of().arrow(ONE), columns=COLUMNS, unit="u", name="visits")


def test_a_draft_is_made_from_the_schema(tmp_path: Path) -> None:
    """`discreet describe` of a file: the same for other rows, and it cannot be loaded before somebody fills it in."""

    def text(rows: list[Row]) -> str:
        path = tmp_path / "visits.parquet"
        pq.write_table(schema_of().arrow(rows), path)
        return draft(path).to_toml()

    check_public(text)
    assert "FILL" in text(ONE).upper()


def test_bounds_from_the_data_are_seen() -> None:
    """The twin: a domain of the least and greatest value that are there, and a list of the texts that are there."""

    def look(rows: list[Row]) -> str:
        numbers = [row["n"] for row in rows if row["n"] is not None and abs(row["n"]) < 2**31]
        found = dc.Integer(min(numbers, default=0), max(numbers, default=1))
        frame = pa.table({"n": pa.array([row["n"] for row in rows], STORED["n"])})
        return repr(dc.Table(frame, columns={"n": found}, name="visits"))

    with pytest.raises(AssertionError):
        check_public(look)
