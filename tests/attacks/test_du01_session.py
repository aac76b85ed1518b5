"""DU-01: stop the process at every step between a question and its answer, for every kind of spend of a session."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.stopping import FIRST, KEYS_ONLY, KINDS, PRICE, SESSION_STEPS, SPENDS, STORES, Left, session_at, stopped


def check(left: Left, step: str, kind: str, text: str) -> None:
    """No answer without a charge, no second charge, and what was stored is free and the same bytes."""
    before = 1 if kind == "repeat" else 0
    place = len(SESSION_STEPS) if step == KEYS_ONLY and kind != "keys" else SESSION_STEPS.index(step)
    charged, kept = place >= SPENDS, place >= STORES
    with session_at(left.folder) as after:
        after._ledger.verify()
        entries = [entry for entry in after.history() if entry.kind == "reserve"]
        stored = [entry for entry in after.history() if entry.kind == "answer"]
        assert len(entries) == before + charged, "charges"
        assert len(stored) == before + kept, "answers"
        assert after.spent <= Fraction(PRICE) + (Fraction(FIRST) if before else 0)
        assert not left.shown or kept, "an answer without a charge, or that is not there any more"
        again = after.sql(text, epsilon=PRICE)
        assert (again.charged == 0) == kept, "a second charge"
        assert not left.shown or left.shown == again.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_without_a_charge_and_no_second_charge(tmp_path: Path, kind: str) -> None:
    for step, left in stopped(tmp_path, KINDS[kind], SESSION_STEPS).items():
        reached = step != KEYS_ONLY or kind == "keys"
        assert left.code == (9 if reached else 0), step
        check(left, step, kind, KINDS[kind])


@pytest.mark.parametrize(
    ("twin", "step"),
    [
        ("AnswersFirst", "reserve: before the commit"),
        ("ShowsBeforeItStores", "buy: before the release is stored"),
        ("PaysTwice", "buy: after the release was stored"),
    ],
)
def test_each_wrong_order_is_rejected(tmp_path: Path, twin: str, step: str) -> None:
    [left] = stopped(tmp_path, KINDS["count"], [step], twin).values()
    assert left.code == 9
    with pytest.raises(AssertionError):
        check(left, step, "count", KINDS["count"])


def test_a_step_that_is_never_reached_would_be_seen(tmp_path: Path) -> None:
    [left] = stopped(tmp_path, KINDS["count"], ["no such step"]).values()
    assert left.code == 0
    assert left.shown != b""
