"""`threshold_state`: what a threshold test writes down, and how it goes on."""

from __future__ import annotations

import copy
import json
import os
import pickle
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.threshold_objects import BUDGET, FAR, THREE, logistic_test

F = Fraction


def test_a_state_is_public_and_goes_on_where_it_was() -> None:
    test = dp.ThresholdTest(threshold="12.5", sensitivity=THREE, slope=F(1, 70), cutoff=5, step="0.5")
    for _ in range(2):
        assert test.ask(float(FAR))
    state = test.state()
    shown = json.loads(state)
    assert shown["version"] == 1
    assert set(shown) == {
        "kind",
        "version",
        "threshold",
        "slope",
        "step",
        "l1",
        "l2",
        "linf",
        "neighbours",
        "cutoff",
        "hits",
    }
    again = dp.ThresholdTest.resume(state)
    assert again.state() == state
    assert (again.hits_left, again._slope, again._level) == (3, test._slope, test._level)
    for _ in range(3):
        assert again.ask(float(FAR))
    assert again.halted
    ended = dp.ThresholdTest.resume(again.state())
    assert ended.halted
    with pytest.raises(NotSupported, match="halted"):
        ended.ask(float(FAR))


def test_a_state_that_spends_an_account_or_a_permit_goes_on_too() -> None:
    session = dp.PrivacyFilter(BUDGET)
    test = logistic_test(account=session)
    assert test.ask(FAR)
    again = dp.ThresholdTest.resume(test.state(), account=session)
    assert again.hits_left == test.hits_left
    opened = dp.ThresholdTest.resume(test.state()).opened(session.reserve(2 * test.hit_loss))
    assert opened.hits_left == 2
    assert json.loads(again.state())["hits"] == 1


def test_an_old_state_gains_nothing_where_a_filter_keeps_the_account() -> None:
    """A crash between an answer and the writing of the state, again and again: the hits are paid for all the same."""
    session = dp.PrivacyFilter(BUDGET)
    old = logistic_test(account=session)
    most, state, hits = old.hits_left, old.state(), 0
    for _ in range(100):
        test = dp.ThresholdTest.resume(state, account=session)
        try:
            hits += test.ask(FAR)
        except BudgetExceeded:
            break
    assert hits == most


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        '{"kind": "discreet.dp.ThresholdTest", "version": 2}',
        b'{"version": 1}',
        7,
        None,
    ],
)
def test_what_is_no_state_is_refused(junk: object) -> None:
    with pytest.raises(InvalidParameter, match="no state"):
        dp.ThresholdTest.resume(junk)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [("hits", -1), ("hits", 1.5), ("hits", True), ("slope", "0"), ("slope", 1), ("cutoff", 0), ("neighbours", "X"),
     ("threshold", "nan"), ("linf", "9"), ("cutoff", "5"), ("step", None)],
)  # fmt: skip
def test_a_state_that_was_changed_by_hand_is_refused(name: str, value: object) -> None:
    content = json.loads(logistic_test(cutoff=3).state()) | {name: value}
    with pytest.raises(InvalidParameter):
        dp.ThresholdTest.resume(json.dumps(content).encode())


def test_it_is_not_copied_or_carried_into_another_process() -> None:
    test = logistic_test(cutoff=3)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="state"):
            duplicate(test)
    child = os.fork()
    if not child:
        try:
            test.ask(0)
        except NotSupported:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
