"""DU-13: cancel at any moment: what was read is charged, and what was recorded can be had again for nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import discreet as dc
from discreet import session as session_module
from discreet.engine import released
from discreet.ledger import ledger as ledger_module
from discreet.session import Session
from tests.sessions import Q, recorded, session
from tests.sizes import sized
from tests.stopping import KEYS_ONLY, SESSION_STEPS, SPENDS, STORES
from tests.test_session import ReadThenDebit

STEPS = [step for step in SESSION_STEPS if step != KEYS_ONLY]
CANCELS = (KeyboardInterrupt, SystemExit)


@contextmanager
def cancelled_at(step: str, error: type[BaseException]) -> Iterator[None]:
    def reached(here: str) -> None:
        if here == step:
            raise error

    with pytest.MonkeyPatch.context() as patch:
        for module in (session_module, released, ledger_module):
            patch.setattr(module, "reached", reached)
        yield


def check_left(asked: Session, ledger: Path, events: list[tuple[str, object]]) -> tuple[bool, bool]:
    """A row was read only after a debit, and a stored answer is free; whether it was charged, and stored."""
    with session(ledger=ledger) as after:
        kinds = [entry.kind for entry in after.history()]
        charged, stored = kinds.count("reserve"), kinds.count("answer")
        assert stored <= charged <= 1
        assert charged or not any(event == "run" for event, _ in events), "rows were read for nothing"
        again = after.sql(Q, epsilon="0.1")
        assert (again.charged == 0) == bool(stored)
    asked.close()
    return bool(charged), bool(stored)


def check_cancelled(path: Path, kind: type[Session], error: type[BaseException]) -> None:
    for place, step in enumerate(STEPS):
        ledger = path / f"{place}.ledger"
        asked = session(ledger=ledger, kind=kind)
        recorder = recorded(asked)
        with cancelled_at(step, error), pytest.raises(error) as caught:
            asked.sql(Q, epsilon="0.1")
        assert caught.value.__context__ is None or not isinstance(caught.value.__context__, Exception)
        whole = SESSION_STEPS.index(step)
        assert check_left(asked, ledger, recorder.events) == (whole >= SPENDS, whole >= STORES), step


@pytest.mark.parametrize("error", CANCELS)
def test_a_cancel_at_each_step_is_charged_and_what_is_stored_is_there(
    tmp_path: Path, error: type[BaseException]
) -> None:
    check_cancelled(tmp_path, Session, error)


def test_a_session_that_reads_first_is_seen(tmp_path: Path) -> None:
    """The twin: cancelled between its reading and its debit, it has read for nothing."""
    with pytest.raises(AssertionError):
        check_cancelled(tmp_path, ReadThenDebit, KeyboardInterrupt)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """A real signal, wherever the process is by then."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds_of(ask: Callable[[], object]) -> float:
    before = time.perf_counter()
    ask()
    return time.perf_counter() - before


def test_a_signal_at_any_moment(tmp_path: Path) -> None:
    """n = 15 signals over the time that a question takes, whatever they strike."""
    with session(ledger=tmp_path / "first") as first:
        lasts = seconds_of(lambda: first.sql(Q, epsilon="0.1"))
    many, struck = sized(15, 300), 0
    for place in range(many):
        ledger = tmp_path / f"{place}.ledger"
        asked = session(ledger=ledger)
        recorder = recorded(asked)
        try:
            with interrupted_after(lasts * (place + 1) / many):
                asked.sql(Q, epsilon="0.1")
        except (KeyboardInterrupt, RuntimeError, dc.Unavailable, dc.Failed):  # DuckDB makes an error of it
            struck += 1
        check_left(asked, ledger, recorder.events)
    assert struck > 0
