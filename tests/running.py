"""Real engines for the recorder: cases are put where an engine finds them, and what it returns is looked into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.engine.assemble import KeyedGroups
from discreet.engine.backend import Groups, PublicGroups
from discreet.engine.bound import BoundedQuery
from discreet.engine.engines import engine_for
from discreet.engine.table import Table
from tests.conformance import Place, duckdb_place, postgres_place, spark_place
from tests.plan_schemas import Row
from tests.plans import Case, Rows_
from tests.recorder import Engine
from tests.reference import Found, Sparse

SECRET = 20_261_120
"""One secret for all engines of a test: neighbours are compared under the same one."""


class Running:
    """An engine of the recorder that runs questions where a place has put their rows.

    It is opened once: what reaches an engine beside its rows comes with every question.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._engine: Any = None
        self._tables: list[Table] = []  # an engine keeps what it knows of a table for as long as there is one

    def of(self, case: Case) -> Engine:
        """The engine for the rows of a case. Public tables are put there once."""
        tables: dict[int, Table] = {}

        def table(scan: int, rows: list[Row]) -> Table:
            schema = case.schemas[scan]
            if not schema.public:
                return self.place.table(schema, rows)
            return tables.setdefault(scan, tables.get(scan) or self.place.table(schema, rows))

        def run(query: BoundedQuery, rows: Rows_) -> Found:
            scans = tuple(table(scan, part) for scan, part in enumerate(rows))
            self._tables.extend(scans)
            plan = replace(query.plan, relation=replace(query.plan.relation, scans=scans))
            return self.found(replace(query, plan=plan))

        return run

    def found(self, query: BoundedQuery) -> Found:
        """What an engine returns for a question over tables that it reaches."""
        if self._engine is None:
            self._engine = engine_for(query.plan.relation.scans)
            self._engine.schema(query.plan.relation)  # which opens it, and draws a secret
            self.secret()
        return opened(query, self._engine.run(query))

    def secret(self, secret: int = SECRET) -> None:
        """Rank by a known secret from here on."""
        assert isinstance(self._engine._secret, int)
        self._engine._secret = secret

    def __call__(self, query: BoundedQuery, rows: Rows_) -> Found:
        raise AssertionError("an engine is one of a case")

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self._engine is not None:
            self._engine.close()


def opened(query: BoundedQuery, groups: Groups) -> Found:
    """What an engine returned, opened: the integers that are not 0, and how many units private keys have."""
    if isinstance(groups, PublicGroups):
        return Found(tuple(sparse(np.asarray(exact._value)) for exact in groups.measures), {})
    assert isinstance(groups, KeyedGroups)
    keyed = groups.keys._keyed  # type: ignore[attr-defined]
    listed = keyed.keys if isinstance(keyed.keys, list) else keyed.keys.tolist()
    cells = [key if isinstance(key, tuple) else (key,) for key in listed]
    measures = []
    for exact in groups.select(listed):
        values = np.asarray(exact._value)
        measures.append(
            {
                (*cell, *place): int(values[(number, *place)])
                for number, cell in enumerate(cells)
                for place in np.ndindex(*values.shape[1:])
                if values[(number, *place)]
            }
        )
    units = {cell: int(count) for cell, count in zip(cells, keyed.counts.tolist(), strict=True)}
    return Found(tuple(measures), units)  # type: ignore[arg-type]


def sparse(values: np.ndarray) -> Sparse:
    return {tuple(place): int(values[tuple(place)]) for place in np.argwhere(values).tolist()}


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """Each engine in turn."""
    if request.param == "duckdb":
        place = duckdb_place()
    elif request.param == "postgres":
        place = postgres_place(request.getfixturevalue("postgres"))
    else:
        place = spark_place(request.getfixturevalue("spark"))
    with Running(place) as made:
        yield made


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Running]:
    """DuckDB alone."""
    with Running(duckdb_place()) as made:
        yield made
