"""NB-07: who is one person must not depend on the engine: collations, blanks at the end, 7 and '007', 1 and 1.0.

An id is compared byte by byte. Two ids that a collation takes for one would count as one person with the rows of two;
two ids that are one would be two persons with the bound of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import bound
from discreet.engine.dialect import Held
from discreet.engine.engines import engine_for
from discreet.engine.plan import Join, Plan, Relation, Rows, Units
from discreet.engine.postgres_sql import PostgresDialect
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration
from tests.conformance import Place, duckdb_place, postgres_place, spark_place
from tests.plan_schemas import Field, Row, Schema
from tests.servers import Postgres

TEXTS = ["ada", "Ada", "ADA", "ada ", " ada", "", " ", "  ", "7", "07", "7.0", "\u00e9", "e\u0301", "E\u0301", "\u00df"]
TEXTS += [
    "ss",
    "\u0131",
    "i",
    "I",
    "\ufb01",
    "fi",
    "NULL",
    "null",
    "a\u200b",
    "a",
    "\u212a",
    "k",
    "K",
    "\N{GRINNING FACE}",
]
WHOLE = [0, 1, -1, 7, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
X = Field("x", dp.Integer(0, 1), pa.int8(), lambda _: 0)


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    match request.param:
        case "duckdb":
            yield duckdb_place()
        case "postgres":
            yield postgres_place(request.getfixturevalue("postgres"))
        case _:
            yield spark_place(request.getfixturevalue("spark"))


def people(place: Place, ids: list[Any], kind: pa.DataType) -> int:
    """How many people an engine sees, each with three rows of which one counts; of nobody's rows it sees none."""
    rows: list[Row] = [{"u": one, "x": n % 2} for one in [*ids, None] for n in range(3)]
    return counted(place, place.table(Schema("people", (X,), kind, rows_per_unit=1), rows))


def counted(place: Place, table: Table) -> int:
    query = bound(Plan(Relation((table,)), None, (), (Units(), Rows()), ()), neighbours=dp.Neighbours.ADD_REMOVE)
    groups = place.run(query)
    assert isinstance(groups, PublicGroups)
    units, rows = (
        int(np.asarray(exact._value)) // each.scale for exact, each in zip(groups.measures, query.measures, strict=True)
    )
    assert units == rows
    return units


def test_every_id_is_one_person(place: Place) -> None:
    assert people(place, TEXTS, pa.string()) == len(TEXTS)
    assert people(place, WHOLE, pa.int64()) == len(WHOLE)


@pytest.mark.parametrize("folded", [str.casefold, str.rstrip, lambda text: "".join(text.split()), str.upper])
def test_an_engine_that_folds_ids_would_be_seen(folded: Any) -> None:
    """The twins: ids compared without case, as CHAR(n), or under a collation are fewer people."""
    assert people(duckdb_place(), [folded(text) for text in TEXTS], pa.string()) < len(TEXTS)


def test_ids_that_join(place: Place) -> None:
    """A join on the unit finds the same id and no other."""
    made = [Schema(name, (X,), pa.string(), rows_per_unit=1) for name in ("one", "other")]
    tables = [place.table(each, [{"u": text, "x": 0} for text in [*TEXTS, None]]) for each in made]  # type: ignore[list-item]
    plan = Plan(Relation(tuple(tables), (Join(1, "inner", True, (), 1),)), None, (), (Rows(),), ())
    query = bound(plan, neighbours=dp.Neighbours.ADD_REMOVE)
    groups = place.run(query)
    assert isinstance(groups, PublicGroups)
    assert int(np.asarray(groups.measures[0]._value)) == len(TEXTS) * query.measures[0].scale


def test_numbers_and_texts_are_not_compared(place: Place) -> None:
    """7 = '007' is true on one engine, false on another, and an error on the third."""
    held: list[tuple[str, pa.DataType, object]] = [("one", pa.int64(), 7), ("other", pa.string(), "007")]
    tables = [place.table(Schema(name, (X,), kind, rows_per_unit=1), [{"u": one, "x": 0}]) for name, kind, one in held]
    with pytest.raises(NeedsDeclaration, match="different types"):
        engine_for(tables).schema(Relation(tuple(tables), (Join(1, "inner", True, (), 1),)))


def test_fractions_are_no_ids(place: Place) -> None:
    """1 and 1.0 are one number, -0.0 and 0.0 are equal and NaN is not even itself: a float is refused."""
    with pytest.raises(NeedsDeclaration, match="unit"):
        people(place, [1.0, 2.0], pa.float64())


def test_a_collation_of_a_column_of_postgres_is_not_used(postgres: Postgres) -> None:
    """A collation may say that 'ada' and 'ADA' are equal. Whatever a column has, a unit has that of bytes, and keeps it
    where it is grouped. One of Spark without case is tried in test_spark.py.
    """
    postgres.execute("DROP TABLE IF EXISTS folded")
    postgres.execute('CREATE TABLE folded (u text COLLATE "ucs_basic")')
    postgres.execute("INSERT INTO folded VALUES ('ada')")
    unit, column = PostgresDialect().unit(Held("s.u", "text", "text")), "s.u"
    for read, collation in ((unit, '"C"'), (column, "ucs_basic")):
        inner = f"SELECT {read} AS u FROM folded AS s"
        assert postgres.execute(f"SELECT pg_collation_for(u) FROM ({inner}) AS b GROUP BY u") == [(collation,)]
