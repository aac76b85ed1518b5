"""What every watch shares: two doors, the price at opening, halting, one process, a secret that is never written."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.hidden_threshold import HiddenThreshold
from discreet.dp.private import Exact
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.streams import plain

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
FAR = 10**6

MAKE: dict[str, Callable[..., HiddenThreshold]] = {
    "AboveThreshold": lambda **more: dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=1, **more),
    "Sparse": lambda **more: dp.Sparse(threshold=0, cutoff=3, sensitivity=ONE, epsilon=1, delta=0, **more),
    "Sparse, delta": lambda **more: dp.Sparse(threshold=0, cutoff=3, sensitivity=ONE, epsilon=1, delta=1e-6, **more),
    "NumericSparse": lambda **more: dp.NumericSparse(
        threshold=0, cutoff=3, sensitivity=ONE, epsilon=1, delta=0, **more
    ),
    "SparseVector": lambda **more: dp.SparseVector(threshold=0, cutoff=3, sensitivity=ONE, epsilon=1, **more),
    "gaps": lambda **more: dp.SparseVector(threshold=0, cutoff=3, sensitivity=ONE, epsilon=1, gap=True, **more),
}
every = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def exact(value: int | np.ndarray, sensitivity: dp.Sensitivity = ONE) -> Exact:
    return Exact(value, sensitivity=sensitivity, unit="row")


def is_hit(answer: object) -> bool:
    return plain(answer) is not False


@every
def test_it_halts_after_its_last_hit_and_refuses_from_then_on(make: Callable[..., HiddenThreshold]) -> None:
    watch = make()
    hits = watch.hits_left
    assert hits is not None
    for left in range(hits - 1, -1, -1):
        assert not is_hit(watch.ask(-FAR))
        assert is_hit(watch.ask(FAR))
        assert (watch.hits_left, watch.halted) == (left, left == 0)
    for refused in (lambda: watch.ask(-FAR), lambda: watch.ask_many([1]), lambda: watch.ask_many([])):
        with pytest.raises(NotSupported, match="halted after its last hit; open another"):
            refused()


@every
def test_many_are_answered_up_to_the_first_hit(make: Callable[..., HiddenThreshold]) -> None:
    values = np.full(5000, -FAR)
    values[[700, 4000]] = FAR
    watch = make()
    first = watch.ask_many(values)
    assert len(first) == 701
    assert [is_hit(answer) for answer in first[-2:]] == [False, True]
    if not watch.halted:
        assert len(watch.ask_many(values, start=701)) == 4000 - 700
        rest = watch.ask_many(values, start=4001)
        assert len(rest) == 999
        assert not any(is_hit(answer) for answer in rest)
        assert len(watch.ask_many(values, start=5000)) == len(watch.ask_many(values[:0])) == 0
        assert watch.hits_left == 1


@every
def test_the_whole_price_is_taken_when_it_is_opened_and_only_then(make: Callable[..., HiddenThreshold]) -> None:
    """What it owes is taken from the permit before anything is drawn, and plain values are refused."""
    plain = make()
    for budget in (dp.Budget(epsilon=1), dp.Budget(rho=1), dp.Budget(epsilon=2, delta=1e-6)):
        if budget.is_pure and plain.loss.epsilon(delta=0) > 1:
            continue
        permit = dp.PrivacyFilter(budget).reserve(plain.loss)
        watch = plain.opened(permit)
        assert permit.left == 0  # before a question is asked, hit or not
        assert watch.hits_left == plain.hits_left
        assert not is_hit(watch.ask(exact(-FAR)))
        assert is_hit(watch.ask_many(exact(np.array([-FAR, FAR])))[-1])
        assert permit.left == 0
    with pytest.raises(BudgetExceeded):
        plain.opened(permit)


@every
def test_a_permit_that_is_too_small_opens_nothing(make: Callable[..., HiddenThreshold]) -> None:
    plain = make()
    permit = dp.PrivacyFilter(dp.Budget(rho=1)).reserve(dp.Loss.zcdp(rho=F(1, 10**6)))
    with pytest.raises(BudgetExceeded):
        plain.opened(permit)
    assert permit.left == F(1, 10**6)
    with pytest.raises(InvalidParameter):
        plain.opened(dp.Loss.pure(epsilon=1))  # type: ignore[arg-type]


@every
def test_each_door_takes_its_own_kind_of_value(make: Callable[..., HiddenThreshold]) -> None:
    plain = make()
    opened = plain.opened(dp.PrivacyFilter(dp.Budget(rho=1)).reserve(plain.loss))
    for refused in (lambda: plain.ask(exact(1)), lambda: plain.ask_many(exact(np.array([1])))):
        with pytest.raises(InvalidParameter, match=r"watch.opened\(permit\)"):
            refused()
    for refused in (lambda: opened.ask(1), lambda: opened.ask_many([1])):
        with pytest.raises(InvalidParameter, match="takes an Exact"):
            refused()
    wider = dp.Sensitivity(l1=2, neighbours=ADD)
    for value in (exact(1, wider), exact(1, dp.Sensitivity.counting(neighbours=REPLACE))):
        with pytest.raises(InvalidParameter, match="more sensitive"):
            opened.ask(value)
    assert not is_hit(opened.ask(exact(-FAR, dp.Sensitivity(l1=5, l2=3, linf=1, neighbours=ADD))))


@every
def test_a_fresh_threshold_is_drawn_for_every_opening(make: Callable[..., HiddenThreshold]) -> None:
    plain = make()
    account = dp.PrivacyFilter(dp.Budget(rho=1000))
    drawn = {plain.opened(account.reserve(plain.loss))._rho for _ in range(60)}
    assert len(drawn) > 5


@every
def test_its_secret_is_never_copied_or_written(make: Callable[..., HiddenThreshold]) -> None:
    watch = make()
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never copied or stored"):
            way(watch)
    assert not hasattr(watch, "state")
    shown = repr(watch)
    watch._rho = 987654321
    assert repr(watch) == str(watch) == shown
    assert "987654321" not in shown


@every
def test_what_it_owes_cannot_be_changed_after_it_was_made(make: Callable[..., HiddenThreshold]) -> None:
    watch = make()
    for name, value in (("epsilon", F(1, 10**9)), ("threshold", F(5)), ("cutoff", 10**6), ("hits_left", 10**6)):
        with pytest.raises(AttributeError):
            setattr(watch, name, value)


def test_repr_says_what_is_public() -> None:
    assert repr(MAKE["AboveThreshold"]()) == "AboveThreshold(threshold=0, epsilon=1, hits_left=1)"
    assert repr(MAKE["Sparse"]()) == "Sparse(threshold=0, cutoff=3, epsilon=1, delta=0, hits_left=3)"


@every
def test_another_process_does_not_share_the_hits(make: Callable[..., HiddenThreshold]) -> None:
    watch = make()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            watch.ask(-FAR)
            os.write(writing, b"answered")
        except NotSupported:
            os.write(writing, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 20) == b"refused"
    os.close(reading)
    os.close(writing)
    assert not is_hit(watch.ask(-FAR))


def test_threads_share_the_hits() -> None:
    watch = dp.SparseVector(threshold=0, cutoff=50, sensitivity=ONE, epsilon=1)
    hits, start = [], threading.Barrier(8)

    def work() -> None:
        start.wait()
        try:
            while True:
                hits.append(watch.ask(FAR))
        except NotSupported:
            pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hits == [True] * 50


@every
def test_a_refused_value_changes_nothing(make: Callable[..., HiddenThreshold]) -> None:
    watch, real = make(), make(step=0.5)
    before = watch.hits_left
    with pytest.raises(InvalidParameter):
        watch.ask(True)
    for value in (float("nan"), float("inf"), 0.5, "1", None):
        with pytest.raises(InvalidParameter):
            watch.ask(value)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            watch.ask_many([FAR, value])  # type: ignore[list-item]
    for value in (float("nan"), float("inf")):
        with pytest.raises(InvalidParameter):
            real.ask_many([FAR * 1.0, value])
    for start in (-1, 3):
        with pytest.raises(InvalidParameter, match="start is a place among the 2 values"):
            watch.ask_many([FAR, 1], start=start)
    assert watch.hits_left == real.hits_left == before
    assert not is_hit(real.ask(-FAR + 0.3))


@every
@pytest.mark.parametrize("huge", [2**62, 2**63 - 1])
def test_integers_of_every_size_are_compared_exactly(make: Callable[..., HiddenThreshold], huge: int) -> None:
    watch = make()
    assert not is_hit(watch.ask(-(10**30)))
    assert len(watch.ask_many([-huge, -huge + 1])) == 2
    assert is_hit(watch.ask_many([-huge, huge, 0])[-1])
    above = dp.SparseVector(threshold=huge - FAR, cutoff=2, sensitivity=ONE, epsilon=1)
    assert above.ask_many([huge - 2 * FAR, huge, 0]).tolist() == [False, True]
    assert above.ask(10**30)
    under = dp.SparseVector(threshold=-huge, cutoff=2, sensitivity=ONE, epsilon=1)
    assert not under.ask(-huge - FAR)
    assert under.ask_many(np.array([0, 1]), thresholds=[huge, -huge]).tolist() == [False, True]


def test_arrays_of_every_kind_are_read() -> None:
    for values in (np.array([-FAR, FAR], dtype=np.int32), np.array([0, 2**63], dtype=np.uint64), (-FAR, FAR)):
        watch = dp.AboveThreshold(threshold=10**5, sensitivity=ONE, epsilon=1)
        assert watch.ask_many(values).tolist() == [False, True]
    watch = dp.AboveThreshold(threshold=10**5, sensitivity=ONE, epsilon=1)
    assert watch.ask(np.int64(FAR)) is True
