"""DU-01: stop the process at every step between a question and its answer, for every kind of spend."""

import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import dp
from discreet.ledger import Ledger, ledger_at
from tests.spenders import Spenders, go, seen

LEDGER_STEPS = ["reserve: before the commit", "reserve: after the commit"]
LEDGER_STEPS += ["record: before the transaction", "record: before the commit", "record: after the commit"]
ANCHOR_STEPS = ["anchor: before it is written", "anchor: after it took its place"]


def stopped(path: Path, step: str, *, kind: str = "Ledger", tmp: Path | None = None) -> tuple[list[str], Ledger]:
    """What was shown by a process that stopped at a step, and the ledger that it left."""
    if tmp is not None:
        Ledger.create(path, dataset="t", budget=dp.Budget(epsilon=1)).anchor(tmp / "x.anchor")
    process = Spenders(str(path), kind=kind, each=3, step=step).start("a")
    go([process])
    shown = seen(process)
    assert process.returncode == 9
    ledger = ledger_at(path)
    ledger.bind(dataset="t", budget=None)
    return shown, ledger


def free_answers(shown: list[str], ledger: Ledger) -> list[str]:
    stored = [answer.decode() for answer in ledger.answers("q")]
    charged = sum(entry.kind == "reserve" for entry in ledger.history())
    assert ledger.spent.amount == Fraction(charged, 40)
    return [key for key in shown if key not in stored] + ["more answers than charges"] * (len(stored) > charged)


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_no_answer_without_a_charge_and_no_second_charge(tmp_path: Path, step: str) -> None:
    shown, ledger = stopped(tmp_path / "x", step)
    assert free_answers(shown, ledger) == []
    keys = [entry.number for entry in ledger.history() if entry.kind == "reserve"]
    assert len(keys) == (0 if step == "reserve: before the commit" else 1)


@pytest.mark.parametrize("step", ANCHOR_STEPS)
def test_a_stop_at_the_anchor_leaves_a_ledger_that_serves(tmp_path: Path, step: str) -> None:
    shown, ledger = stopped(tmp_path / "x", step, tmp=tmp_path)
    assert free_answers(shown, ledger) == []
    ledger.reserve(dp.Loss.pure(epsilon="1/40"), key="next", question="q", analyst="curator")


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("AnswersFirst", "reserve: before the commit"),
        ("ShowsBeforeItStores", "record: before the transaction"),
        ("ShowsInside", "record: before the commit"),
    ],
)
def test_each_wrong_order_is_rejected(tmp_path: Path, kind: str, step: str) -> None:
    shown, ledger = stopped(tmp_path / "x", step, kind=kind)
    assert free_answers(shown, ledger) != []


def test_a_step_that_is_never_reached_would_be_seen(tmp_path: Path) -> None:
    process = Spenders(str(tmp_path / "x"), each=1, step="no such step").start("a")
    go([process])
    assert seen(process) == ["a-0-0"]
    assert isinstance(process, subprocess.Popen)
    assert process.returncode == 0
