"""ME-08: a hit that tells more than was paid for: the noisy value itself, taken to be as free as the gap."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.broken import sparse_vectors as broken
from tests.streams import Scales, check_pure
from tests.tapes import check_code

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
EPSILON = Fraction(1)


def watch(kind: type[dp.SparseVector] = dp.SparseVector) -> dp.SparseVector:
    return kind(threshold=0, cutoff=1, sensitivity=ONE, epsilon=EPSILON, gap=True)


def told(count: int, number: int) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[object, ...], int]]:
    return [
        ((0,) * count + (last,), (1,) * count + (last - 1,), (False,) * count + (number,), 0) for last in (-9, 0, 5)
    ]


@pytest.mark.parametrize("count", [0, 5, 40])
@pytest.mark.parametrize("number", [0, 3, 50])
def test_the_gap_is_free(count: int, number: int) -> None:
    """Telling it costs nothing beyond the loss of the watch."""
    check_pure(Scales.of(watch()).chance, EPSILON, told(count, number), tight=False)


def test_and_reaches_epsilon() -> None:
    check_pure(Scales.of(watch()).chance, EPSILON, told(40, 10), tight=True)


def test_the_value_that_was_compared_is_not() -> None:
    with pytest.raises(AssertionError):
        check_pure(broken.compared_value_told(watch()).chance, EPSILON, told(40, 0), tight=False)


def test_a_gap_from_the_public_threshold_is_that_value(monkeypatch: pytest.MonkeyPatch) -> None:
    check_code(watch(), monkeypatch, cutoff=1, redraw=False, answer="gap", chunks=[(8, 4)])
    with pytest.raises(AssertionError):
        check_code(
            watch(broken.GapWithoutThresholdNoise), monkeypatch, cutoff=1, redraw=False, answer="gap", chunks=[(8, 4)]
        )


def test_a_value_is_told_with_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {"threshold": 0, "cutoff": 1, "sensitivity": ONE, "epsilon": EPSILON, "delta": 0}
    check_code(dp.NumericSparse(**wanted), monkeypatch, cutoff=1, redraw=True, answer="value", count=3, chunks=[])
    with pytest.raises(AssertionError):
        check_code(
            broken.ComparedNoiseTold(**wanted), monkeypatch, cutoff=1, redraw=True, answer="value", count=3, chunks=[]
        )
