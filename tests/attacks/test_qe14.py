"""QE-14: a function with effects of its own, or of the analyst's making, never reaches an engine."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc
from discreet.session import Session
from tests.sessions import recorded, session

CALLS = (
    "error(town)",
    "getenv('HOME')",
    "nextval('s')",
    "setseed(0.5)",
    "random()",
    "read_text('x')",
    "query('SELECT 1')",
    "pg_sleep(1)",
    "system('ls')",
    "udf(age)",
    "list_transform([age], x -> error(x))",
    "current_setting('threads')",
    "txid_current()",
    "now()",
    "write_log('x')",
)
PLACES = (
    "SELECT SUM({}) AS s FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE {} > 0",
    "SELECT {} AS k, COUNT(*) AS n FROM t GROUP BY {}",
    "SELECT COUNT(*) AS n FROM t HAVING {} > 0",
    "SELECT COUNT(*) AS n FROM t ORDER BY {}",
)


class PassesOn(Session):
    """The twin: what it does not know it leaves to the engine."""

    def sql(self, question: Any, **offer: Any) -> Any:
        try:
            return super().sql(question, **offer)
        except dc.Refused:
            self._engine.schema(question)
            raise


def check_refused(kind: type[Session]) -> None:
    asked = session(kind=kind)
    recorder = recorded(asked)
    for call in CALLS:
        for place in PLACES:
            with pytest.raises(dc.Refused):
                asked.sql(place.format(call, call), epsilon=0.1)
    assert recorder.events == []
    assert asked.spent == 0


def test_calls_are_refused_before_an_engine_sees_them() -> None:
    check_refused(Session)


def test_a_session_that_passes_them_on_is_seen() -> None:
    with pytest.raises((AssertionError, AttributeError)):
        check_refused(PassesOn)


@pytest.mark.parametrize("made", [lambda age: age + 1, print, object(), {"age": 3}, b"x"])
def test_a_parameter_is_a_value_and_runs_nothing(made: Any) -> None:
    asked = session()
    with pytest.raises(dc.Refused):
        asked.sql("SELECT COUNT(*) AS n FROM t WHERE age > $a", epsilon=0.1, parameters={"a": made})
    assert asked.spent == 0


def test_a_term_takes_no_function_of_the_caller() -> None:
    for name in ("map", "apply", "map_elements", "pipe", "transform"):
        with pytest.raises(AttributeError):
            getattr(dc.col("age"), name)(print)
