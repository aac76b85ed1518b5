"""Hostile questions with a victim present and absent: whatever is not noise has the same bytes, and the same charge.

A refusal, a quote, an explanation and the shape of an answer depend on the question and on public facts. What is
compared is everything that a caller sees of a question but for its noisy numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from random import Random

import pytest

import discreet as dc
from discreet.answer import Answer
from discreet.engine.backend import Engine
from tests.sizes import sized
from tests.sql_questions import Row, Texts, hostile, plain, question, schema_of

PARTS = sized(1, 10)
QUESTIONS = sized(40, 100)  # of each part: 1,000 at full size
VICTIM = 999
SHOWN = 6
Seen = tuple[object, ...]


def hostile_questions(rng: Random, many: int) -> Iterator[str]:
    """Questions that are refused, that just pass, and that would raise on an engine that is not total."""
    for _ in range(many):
        made, number = Texts(rng), rng.randint(0, 9)
        asked = question(rng, unit=rng.random() < 0.9)
        match number:
            case 0:
                yield asked[: rng.randint(1, len(asked))]  # cut anywhere
            case 1:
                yield asked.replace(rng.choice("xnks"), rng.choice(("nowhere", "'", "(", ";", "--", "u")))
            case 2:
                yield f"SELECT COUNT(*) AS c FROM visits WHERE ABS(CASE WHEN n = 9 THEN {2**63} ELSE 1 END) > 0"
            case 3:
                yield f"SELECT SUM(1 / ({made.number(1)} - {made.number(1)})) AS c FROM visits"
            case 4:
                yield f"SELECT COUNT(*) AS c FROM visits WHERE CAST(s AS INTEGER) = {rng.randint(0, 9)}"
            case 5:
                yield f"SELECT SUM(n * {10 ** rng.randint(1, 30)}) AS c FROM visits WHERE {made.truth(2)}"
            case _:
                yield asked


def seen(ask: Callable[[], object]) -> Seen:
    """What a caller sees of a question, but for its noise."""
    try:
        answer = ask()
    except Exception as error:  # noqa: BLE001  all of it is an answer
        return type(error).__name__, str(error), error.__cause__, error.__context__ is None
    if not isinstance(answer, Answer):
        return (repr(answer),)
    plain_keys = [(name, tuple(values)) for name, values in answer.columns.items() if name.startswith("key")]
    return tuple(answer.columns), plain_keys, tuple(answer.errors), answer.route, answer.charged, answer.relation


def session_of(rows: list[Row]) -> dc.Session:
    schema = schema_of(rows_per_unit=3)
    budget = dc.Budget(epsilon=100_000, delta=1e-6, delta_add=1e-7)
    return dc.Session([schema.table(schema.arrow(rows))], budget=budget, ledger=dc.memory_ledger())


REFUSED = ("NotSupported", "InvalidParameter", "NeedsDeclaration")


def check_text(text: str, pair: list[dc.Session]) -> bool:
    """Ask two sessions one question, and return whether it was answered."""
    asked = [seen(partial(one.sql, text, epsilon=1)) for one in pair]
    answered = len(asked[0]) == len(asked[1]) == SHOWN
    if not (answered and "s AS key" in text):  # which private keys are released is noise
        assert asked[0] == asked[1], (text, asked)
    assert "Failed" not in (asked[0][0], asked[1][0]), text
    assert seen(partial(pair[0].explain, text)) == seen(partial(pair[1].explain, text)), text
    if asked[0][0] in REFUSED:  # a quote of what was answered already shows its noisy numbers
        assert seen(partial(pair[0].quote, text, epsilon=2)) == seen(partial(pair[1].quote, text, epsilon=2)), text
    assert pair[0].spent == pair[1].spent, text
    return answered


def check_same(texts: list[str], pair: list[dc.Session]) -> int:
    """Ask two sessions, and return how many questions were answered."""
    answered = sum(check_text(text, pair) for text in texts)
    listed = [[(entry.kind, entry.analyst, entry.share) for entry in one.history()] for one in pair]
    assert listed[0] == listed[1]
    return answered


def pair_of(seed: int) -> list[list[Row]]:
    """Rows without a victim and with one, who has what trips engines."""
    absent = [plain(Random(n), n % 9) for n in range(25)]
    return [absent, [*absent, *(hostile(Random(seed + n), VICTIM) for n in range(4))]]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_victim_changes_no_byte(part: int) -> None:
    with ExitStack() as stack:
        pair = [stack.enter_context(session_of(rows)) for rows in pair_of(part)]
        answered = check_same(list(hostile_questions(Random(part), QUESTIONS)), pair)
        assert QUESTIONS // 4 < answered < QUESTIONS


def test_an_engine_that_tells_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: an engine that raises where a row trips it, though nothing of the error is shown."""
    with ExitStack() as stack:
        present = pair_of(1)[1]
        pair = [stack.enter_context(session_of(rows)) for rows in (present[:-4], present)]
        run: Callable[[Engine, object], object] = type(pair[1]._engine).run  # type: ignore[assignment]

        def raising(self: Engine, query: object) -> object:
            if self is pair[1]._engine:
                raise ArithmeticError("999")
            return run(self, query)

        monkeypatch.setattr(type(pair[1]._engine), "run", raising)
        with pytest.raises(AssertionError):
            check_same(["SELECT COUNT(*) AS c FROM visits"], pair)
