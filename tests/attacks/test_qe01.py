"""QE-01: an error that depends on a row: division by zero, overflow, casts, far dates, NaN. Nothing may raise.

Each function and operator of the language is asked about a victim that would trip it, present and absent, on each
engine; both return numbers, and those of the oracle.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from discreet import dp
from discreet.engine.expression import Constant
from discreet.engine.parser import parse
from discreet.engine.syntax import FUNCTIONS, OPERATORS, Call, Node
from discreet.engine.syntax import Case as Written
from tests.attacks.test_fp09 import meaning
from tests.differences import check_same
from tests.plans import Rows_
from tests.recorder import Engine, engine_of
from tests.reference import Found
from tests.running import Running
from tests.sizes import sized
from tests.sql_questions import COLUMNS, DAYS, FLOATS, INSTANTS, TEXTS, WHOLES, Row, Texts, case_of, plain

EXPRESSIONS = (
    *("n + x", "n - x", "n * x", "n / k", "x / 0", "n // k", "n % k", "-n", "n // 0", "n % 0", "k / x"),
    *("n = x", "n <> x", "n < x", "n <= x", "n > x", "n >= x", "b AND n > 0", "b OR n > 0", "NOT b"),
    *("x IS NULL", "n IN (1, 2)", "x BETWEEN 0 AND 1", "s LIKE 'x0%'", "w LIKE 'n%'", "b IS TRUE", "b IS FALSE"),
    *("n IS NOT DISTINCT FROM k", "COALESCE(n, 3)", "NULLIF(n, k)", "LEAST(n, x)", "GREATEST(n, x)", "ABS(n)"),
    *("FLOOR(x)", "CEIL(x)", "ROUND(x)", "ROUND(y, 1)", "TRUNC(x)", "SIGN(x)", "bin(x, 3)", "bin(n, 2)"),
    *("DATE '2024-01-01'", "TIMESTAMP '2024-03-31 02:30:00' < t", "CAST(t AS DATE)", "CAST(n AS INTEGER)"),
    *("CAST(b AS INTEGER)", "CAST(n AS DOUBLE)", "d + 1", "d - DATE '2024-01-01'", "d > CAST(t AS DATE)", "y", "g"),
    *(f"date_trunc('{unit}', {of})" for unit in ("year", "quarter", "month", "week", "day") for of in ("d", "t")),
    *("date_trunc('hour', t)", "date_trunc('minute', t)", "hour(t)", "minute(t)", "second(t)"),
    *(f"{part}({of})" for part in ("year", "quarter", "month", "week", "day", "dayofweek") for of in ("d", "t")),
    *("isodow(d)", "dayofyear(t)", "CASE WHEN n > 1 THEN x ELSE 1 / k END", "s = 'x0'", "s", "w", "c", "d", "t"),
)
TRIPS = {"n": WHOLES, "c": WHOLES, "k": FLOATS, "x": FLOATS, "y": FLOATS, "g": FLOATS, "w": TEXTS, "s": TEXTS}
TRIPS |= {"d": DAYS, "t": INSTANTS, "b": (None, True)}  # type: ignore[dict-item]


def victims() -> Iterator[Row]:
    """Rows that trip: each value in its column, beside values of the others."""
    for place in range(max(map(len, TRIPS.values()))):
        yield {name: values[place % len(values)] for name, values in TRIPS.items()} | {"u": 99}


def calls(node: Node) -> Iterator[str]:
    if isinstance(node, Call):
        yield node.function
        for argument in node.arguments:
            yield from calls(argument)
    if isinstance(node, Written):
        for pair in node.branches:
            for part in pair:
                yield from calls(part)


def check(engine: Engine, text: str, absent: list[Row], victim: Row) -> None:
    """With the victim and without: numbers both times, and the right ones."""
    for rows in (absent, [*absent, victim]):
        case = case_of(text, rows, rows_per_unit=3)
        query = case.query(dp.Neighbours.ADD_REMOVE)
        assert query is not None
        outcome: Found | str
        try:
            outcome = engine_of(engine, case)(query, case.rows)
        except Exception as error:  # noqa: BLE001  whatever an engine raises, a row made it
            outcome = str(error)
        assert isinstance(outcome, Found), outcome
        check_same(query, case.rows, outcome)


def test_every_function_is_asked() -> None:
    trees = (parse(f"SELECT {text} AS z, COUNT(*) AS m FROM visits GROUP BY 1") for text in EXPRESSIONS)
    seen = {name for tree in trees for name in calls(tree.outputs[0].value)}
    assert {*OPERATORS, *FUNCTIONS} - seen <= {"timestamp", "date", "cast_real"}  # a constant is read at once
    assert {column for victim in victims() for column in victim} == {*COLUMNS, "u"}


def questions(rng: Random, many: int) -> Iterator[str]:
    """All expressions in a few questions: counted, filtered by and summed."""
    listed = [text for text in EXPRESSIONS if not isinstance(meaning(text), Constant)]  # one of these is not counted
    for start in range(0, len(listed), many):
        part = [f"COUNT({text}) AS c{place}" for place, text in enumerate(listed[start : start + many])]
        yield f"SELECT {', '.join(part)} FROM visits"
    for _ in range(sized(2, 300)):
        made = Texts(rng)
        yield f"SELECT COUNT(*) AS n, SUM({made.number(2)} + n) AS v FROM visits WHERE {made.truth(2)}"


def test_a_victim_makes_nothing_raise(running: Running) -> None:
    """All functions and operators on each engine, with each of the rows that trip."""
    absent = [plain(Random(seed), seed) for seed in range(6)]
    tripping = list(victims())
    is_fast = running.place.name == "duckdb"
    for number, text in enumerate(questions(Random(1), 40 if running.place.name == "spark" else 12)):
        chosen = tripping if is_fast and number < 3 else [tripping[number % len(tripping)]]
        for victim in chosen[: sized(2, 20)]:
            check(running, text, absent, victim)


class Raw:
    """The twin: what an analyst wrote goes to DuckDB as it is."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def __call__(self, query: object, rows: Rows_) -> Found:
        import duckdb

        from tests.sql_questions import schema_of

        connection = duckdb.connect()
        connection.register("visits", schema_of().arrow(rows[0]))
        (count,) = connection.execute(f"SELECT COUNT({self.expression}) FROM visits").fetchone() or (0,)
        return Found(({(): count} if count else {},), {})


@pytest.mark.parametrize("expression", ["ABS(n)", "CAST(s AS INTEGER)", "CAST(x AS INTEGER)", "n * n * n"])
def test_a_raw_question_raises_for_a_victim(expression: str) -> None:
    victim = plain(Random(1), 9) | {"n": -(2**63), "s": "x0", "x": 1e308}
    with pytest.raises(AssertionError, match=r"-9223372036854775808|x0|1e\+308"):  # and says what the row holds
        check(Raw(expression), "SELECT COUNT(*) AS n FROM visits", [], victim)
