"""What a list of numbers is read as: the types in it decide, and no value, or neighbours could be told apart by it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import grid
from discreet.errors import InvalidParameter

MOST, LEAST = 2**63 - 1, -(2**63)
WIDE = np.longdouble(1) if np.longdouble(1).itemsize > 8 else 1j  # on some machines it is a float like another


def test_integers_in_a_list_are_not_rounded_to_floats() -> None:
    """NumPy makes floats of [2**63, -1]: neighbours one apart would then be 2,048 apart, or not at all."""
    array = grid.numbers([2**62 + 1025, -1, 2**63])
    assert array.dtype == np.int64
    assert array.tolist() == [2**62 + 1025, -1, MOST]


EDGES = [MOST - 1, MOST, 2**63, 2**64 - 1, 2**64, 2**70, LEAST + 1, LEAST, LEAST - 1, -(2**70)]


def check_kind(numbers: Callable[[object], np.ndarray]) -> None:
    """What a list of integers comes out as does not tell what is in it: NumPy chooses a type by the values."""
    for one in EDGES:
        for values in ([one], [one, -1], [one, 2**63], [[one], [5]], (one, 0)):
            array = numbers(values)
            assert array.dtype == np.int64
            assert array.ravel()[0] == min(max(one, LEAST), MOST)  # clamped, which moves no two values apart


def test_the_type_of_a_list_is_public() -> None:
    check_kind(grid.numbers)
    with pytest.raises(AssertionError):
        check_kind(np.asarray)
    assert grid.numbers(np.array([2**70], dtype=object)).tolist() == [2**70]  # here the type was chosen by the caller


def check_mixed(numbers: Callable[[object], np.ndarray]) -> None:
    """Among real numbers an integer is clamped to +-2^53, up to which floats hold all: integers one apart stay so."""
    for one in [*EDGES, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**1100, 0, True, np.uint64(2**64 - 1), np.int64(5)]:
        for real in (0.5, 1e300, -0.0, np.float32(0.5), np.float64(2.0**60)):
            for values in ([one, real], [real, one], [[real], [one]], (one, 2**53, real)):
                array = numbers(values)
                assert array.dtype == np.float64
                assert array.ravel().tolist() == [
                    float(v) if isinstance(v, float | np.floating) else min(max(int(v), -(2**53)), 2**53)
                    for v in np.array(values, dtype=object).ravel()
                ]


def refuses_by_value(values: object) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if (np.abs(array) >= 2**53).any():
        raise InvalidParameter("beyond 2^53")
    return array


def test_integers_among_real_numbers_are_treated_by_their_type_alone() -> None:
    check_mixed(grid.numbers)
    for wrong in (np.asarray, refuses_by_value):
        with pytest.raises((AssertionError, InvalidParameter)):
            check_mixed(wrong)
    one = dp.Sensitivity.counting(neighbours=dp.Neighbours.REPLACE)
    released = dp.Laplace(sensitivity=one, epsilon=1).release([2**60, 0.5])
    assert abs(released[0] - 2.0**53) < 100


@pytest.mark.parametrize("others", [[True, 5], [np.uint64(5), 1], [np.int8(5), 7], [np.uint64(5), -1, True]])
def test_a_list_of_whole_numbers_stays_whole_whatever_they_are(others: list[object]) -> None:
    for most in (0, 2**53, 2**63, 2**70):
        array = grid.numbers([*others, most])
        assert array.dtype == np.int64
        assert array.tolist() == [int(v) for v in others] + [min(most, MOST)]  # type: ignore[call-overload]


@pytest.mark.parametrize("other", [None, "a", 1j, Fraction(1, 2), WIDE, [1.0, 2.0], np.array(5)])
@pytest.mark.parametrize("whole", [5, 2**53, 2**64, 2**70])
def test_a_list_with_anything_else_is_refused_whatever_its_integers_are(other: object, whole: int) -> None:
    for values in ([whole, other, 0.5], [0.5, other, whole]):
        with pytest.raises(InvalidParameter, match="integers or real numbers"):
            grid.numbers(values)
