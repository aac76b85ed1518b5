"""ME-07: a sparse vector that goes on after a hit as if nothing had been spent: redrawn for free, kept, or restored."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, NotSupported
from tests.broken import sparse_vectors as broken
from tests.streams import Scales, check_pure, extreme_cases, extreme_runs
from tests.tapes import check_code

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)
SURE = 10**6


def sparse(kind: type[dp.Sparse] = dp.Sparse) -> dp.Sparse:
    return kind(threshold=0, cutoff=2, sensitivity=ONE, epsilon=EPSILON, delta=0)


@pytest.mark.parametrize("twin", [broken.ThresholdKept, broken.RedrawnOnEveryMiss, broken.OneHitMore])
def test_a_threshold_is_redrawn_after_each_hit_and_hits_are_counted(
    twin: type[dp.Sparse], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_code(sparse(), monkeypatch, cutoff=2, redraw=True, count=3, chunks=[(8, 4)])
    with pytest.raises(AssertionError):
        check_code(sparse(twin), monkeypatch, cutoff=2, redraw=True, count=3, chunks=[(8, 4)])


def test_a_threshold_that_is_redrawn_for_free_costs_epsilon_for_each_hit() -> None:
    cases = list(extreme_runs(2, misses=30, low=150))
    with pytest.raises(AssertionError):
        check_pure(broken.not_shared(EPSILON).chance, EPSILON, cases, tight=False)
    check_pure(broken.not_shared(EPSILON).chance, 2 * EPSILON, cases, tight=True)


def test_another_opening_costs_its_price_again() -> None:
    plain = dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=EPSILON)
    account = dp.PrivacyFilter(dp.Budget(epsilon=2))
    for _ in range(2):
        watch = plain.opened(account.reserve(plain.loss))
        assert watch.ask(dp.Exact(SURE, sensitivity=ONE, unit="row"))
        with pytest.raises(NotSupported):
            watch.ask(dp.Exact(SURE, sensitivity=ONE, unit="row"))
    with pytest.raises(BudgetExceeded):
        account.reserve(plain.loss)
    with pytest.raises(NotSupported):  # and what was opened is never settled below it
        account.settle(dp.PrivacyFilter(dp.Budget(epsilon=2)).reserve(plain.loss))


def test_what_was_restored_would_report_its_hits_again() -> None:
    """A copy made before the hits reports them once more against the same threshold: that costs more than epsilon."""
    stored = broken.Stored(threshold=0, cutoff=2, sensitivity=ONE, epsilon=EPSILON)
    again = stored.stored()
    for watch in (stored, again):
        assert [watch.ask(SURE), watch.ask(SURE)] == [True, True]
    both = Scales.of(stored).chance
    with pytest.raises(AssertionError):
        check_pure(both, EPSILON, extreme_cases(4, misses=(30,), thresholds=(0,), low=250), tight=False)
    check_pure(both, EPSILON, extreme_cases(2, misses=(30,), thresholds=(0,), low=250), tight=True)


def test_so_nothing_with_a_secret_is_stored() -> None:
    for watch in (
        dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=EPSILON),
        sparse(),
        dp.NumericSparse(threshold=0, cutoff=2, sensitivity=ONE, epsilon=EPSILON, delta=0),
        dp.SparseVector(threshold=0, cutoff=2, sensitivity=ONE, epsilon=EPSILON),
    ):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                way(watch)
        assert not {"state", "resume"} & set(dir(watch))
