"""QE-05: what one question leaves in the engine, no other sees. A question cannot write any of this; if it could, the
fresh connection of the next one would not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pytest

import discreet as dc
from discreet.engine.duckdb import DuckDB
from discreet.engine.locked import Locked
from tests.asking import asked, bounded
from tests.broken.engines_duckdb import OneConnection

# What the lock does not stop, and what would tell that it was done: state of one connection.
STATES = [
    ("SET VARIABLE seen = 42", "SELECT getvariable('seen')", [(42,)]),
    ("CREATE TEMP TABLE seen AS SELECT 42 AS x", "SELECT x FROM seen", [(42,)]),
    ("CREATE TEMP VIEW seen AS SELECT 42 AS x", "SELECT x FROM seen", [(42,)]),
    ("CREATE TEMP MACRO sum(x) AS 42", "SELECT sum(1)", [(42,)]),
    ("CREATE TEMP SEQUENCE seen START 42", "SELECT nextval('seen')", [(42,)]),
    ("PREPARE seen AS SELECT 42", "EXECUTE seen", [(42,)]),
    ("SELECT setseed(0.42)", "SELECT random()", None),
]
# State of the whole instance: the lock does not stop it either. So no text of a question may reach the engine, and what
# does is written by us (QE-15, WS-10); these stand here to be known.
SHARED = [
    ("CREATE TABLE seen AS SELECT 42 AS x", "SELECT x FROM seen", [(42,)]),
    ("CREATE MACRO seen(x) AS 42", "SELECT seen(1)", [(42,)]),
    ("CREATE SEQUENCE seen START 42", "SELECT nextval('seen')", [(42,)]),
]
Cursor = Callable[[], duckdb.DuckDBPyConnection]


@pytest.fixture
def instance() -> Iterator[Locked]:
    made = Locked([], 500_000_000)
    yield made
    made.close()


def answer(connection: duckdb.DuckDBPyConnection, text: str) -> object:
    try:
        return connection.execute(text).fetchall()
    except duckdb.Error:
        return None


def leaks(cursor: Cursor, write: str, read: str, seen: object) -> bool:
    """Whether a second question finds what the first one left."""
    first = cursor()
    assert answer(first, write) is not None
    expected = seen if seen is not None else answer(first, read)
    if seen is None:  # the same seed, then the same number
        answer(first, write)
    found = answer(cursor(), read)
    assert expected is not None
    return found == expected


@pytest.mark.parametrize(("write", "read", "seen"), STATES, ids=[write for write, _, _ in STATES])
def test_no_state_of_a_question_is_seen_by_the_next(instance: Locked, write: str, read: str, seen: object) -> None:
    assert not leaks(instance.cursor, write, read, seen)
    assert leaks(OneConnection().cursor, write, read, seen)


@pytest.mark.parametrize(("write", "read", "seen"), SHARED, ids=[write for write, _, _ in SHARED])
def test_what_the_lock_does_not_stop_is_known(instance: Locked, write: str, read: str, seen: object) -> None:
    assert leaks(instance.cursor, write, read, seen)


def test_a_question_has_a_connection_of_its_own() -> None:
    """The engine's own questions: whatever the last connection was left with, the next has the same integers."""
    table = dc.census()
    engine = DuckDB((table,))
    want = asked(bounded(table, "sex"), engine)[0].tolist()
    assert engine._open is not None
    for write, _, _ in STATES:
        assert answer(engine._open.instance.cursor(), write) is not None
    assert asked(bounded(table, "sex"), engine)[0].tolist() == want
    engine.close()
