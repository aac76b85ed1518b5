"""Which engine a session has, and one question from its text to its answer on each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.engine.duckdb import DuckDB
from discreet.engine.engines import engine_for
from discreet.session import Session
from tests.servers import Postgres
from tests.sessions import recorded

COLUMNS = {"sex": dc.Category(["f", "m"]), "age": dc.Integer(0, 9), "town": dc.Text()}
ROWS = pd.DataFrame(
    {
        "who": np.arange(3000) // 2,
        "sex": np.where(np.arange(3000) % 3 < 2, "m", "f"),
        "age": np.arange(3000) % 10,
        "town": np.where(np.arange(3000) % 5 < 4, "large", "small"),
    }
)
FLOORS = pd.DataFrame({"sex": ["f", "m"], "floor": [1, 2]})
FACTS: dict[str, Any] = {"columns": COLUMNS, "unit": "who", "rows_per_unit": 2, "name": "t"}
PUBLIC: dict[str, Any] = {
    "columns": {"sex": COLUMNS["sex"], "floor": dc.Integer(1, 2)},
    "public": True,
    "name": "floors",
}


@pytest.fixture(params=["files and frames", "PostgreSQL", "Spark"])
def tables(request: pytest.FixtureRequest) -> list[dc.Table]:
    match request.param:
        case "PostgreSQL":
            server: Postgres = request.getfixturevalue("postgres")
            kinds = {"who": "integer", "sex": "text", "age": "integer", "town": "text"}
            server.load("engines_t", kinds, ROWS.to_numpy().tolist())
            server.load("engines_floors", {"sex": "text", "floor": "integer"}, FLOORS.to_numpy().tolist())
            return [
                dc.Table(server.url, table="engines_t", **FACTS),
                dc.Table(server.url, table="engines_floors", **PUBLIC),
            ]
        case "Spark":
            spark = request.getfixturevalue("spark")
            return [
                dc.Table(spark.createDataFrame(ROWS.to_numpy().tolist(), list(ROWS.columns)), **FACTS),
                dc.Table(spark.createDataFrame(FLOORS.to_numpy().tolist(), list(FLOORS.columns)), **PUBLIC),
            ]
    return [dc.Table(ROWS, **FACTS), dc.Table(FLOORS, **PUBLIC)]


def test_from_text_to_answer_on_every_engine(tables: list[dc.Table]) -> None:
    budget = dc.Budget(epsilon=1000, delta=1e-9, delta_add=5e-10)
    with Session(tables, budget=budget, ledger=dc.memory_ledger()) as asked:
        answer = asked.sql(
            "SELECT sex, COUNT(*) AS n, AVG(age) AS age, MEDIAN(age) AS m FROM t GROUP BY sex", epsilon=40
        )
        assert answer.columns["n"] == pytest.approx((1000, 2000), abs=20)
        assert answer.columns["age"] == pytest.approx((4.5, 4.5), abs=0.2)
        assert set(answer.columns["m"]) <= {4, 5}
        joined = asked.sql(
            "SELECT floor, COUNT(*) AS n FROM t JOIN floors ON t.sex = floors.sex GROUP BY floor", epsilon=40
        )
        assert joined.columns["n"] == pytest.approx((1000, 2000), abs=20)
        towns = asked.sql("SELECT town, COUNT(DISTINCT who) AS people FROM t GROUP BY town ORDER BY 2 DESC", epsilon=40)
        assert towns.columns["town"] == ("large", "small")
        assert asked.spent < 1


def test_an_engine_is_opened_by_its_first_question_and_closed_with_its_session() -> None:
    with Session(dc.Table(ROWS, **FACTS), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger()) as asked:
        recorder = recorded(asked)
        asked.quote("SELECT COUNT(*) FROM t", epsilon="0.1")
        assert recorder.events == []
        asked.sql("SELECT COUNT(*) FROM t", epsilon="0.1")
    assert [event for event, _ in recorder.events] == ["schema", "run", "close"]


def test_files_and_frames_are_for_duckdb_which_has_public_tables_in_memory() -> None:
    engine = engine_for([dc.Table(ROWS, **FACTS)])
    assert isinstance(engine, DuckDB)
    assert engine.fan_out(dc.Table(FLOORS, **PUBLIC), ["sex"]) == 1


def test_tables_in_several_places_are_refused_and_leave_no_ledger(tmp_path: Any) -> None:
    far = dc.Table("postgresql://nowhere/x", table="u", columns={"age": dc.Integer(0, 9)}, public=True)
    with pytest.raises(dc.NotSupported, match="PostgreSQL and files and frames: copy the public ones"):
        Session([dc.Table(ROWS, **FACTS), far], budget=dc.Budget(epsilon=1), ledger=tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
