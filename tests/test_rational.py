"""`rational`: what was typed, exactly; and which way each rounding goes."""

import math
import time
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.dp.rational import (
    float_down,
    float_up,
    non_negative,
    positive,
    positive_integer,
    probability,
    quantise_up,
    rational,
    sqrt_up,
)
from discreet.errors import InvalidParameter
from tests.accounting import examples
from tests.broken import accounting as broken
from tests.sizes import sized

fractions = st.fractions() | st.builds(
    lambda top, bottom, power: Fraction(top, bottom) * Fraction(10) ** power,
    st.integers(-(10**30), 10**30),
    st.integers(1, 10**30),
    st.integers(-330, 310),
)
many = examples(max_examples=sized(200, 5_000))


class Level(IntEnum):
    HIGH = 3


class Liar(float):
    def __repr__(self) -> str:
        return "0.0"

    __str__ = __repr__


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-9, Fraction(1, 10**9)),
        (5e-324, Fraction(5, 10**324)),
        (1.7976931348623157e308, Fraction(17976931348623157) * 10**292),
        (-0.0, Fraction(0)),
        (3, Fraction(3)),
        (Level.HIGH, Fraction(3)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("-2/6", Fraction(-1, 3)),
        ("1e-300", Fraction(1, 10**300)),
        (" 1 ", Fraction(1)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(7), Fraction(7)),
        (np.uint8(7), Fraction(7)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.array(0.1), Fraction(1, 10)),
        (Liar(0.1), Fraction(1, 10)),
    ],
)
def test_a_number_is_what_its_writer_meant(typed: object, meant: Fraction) -> None:
    found = rational(typed, "epsilon")
    assert found == meant
    assert type(found) is Fraction


JUNK = (
    *(True, False, np.True_, None, 1j, b"1", [1], (1,), {1}, object(), np.arange(2), np.array([1.0]), np.array("1")),
    *(math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), Decimal("NaN"), Decimal("sNaN")),
    *(Decimal("Infinity"), "", " ", "nan", "inf", "-Infinity", "one", "1/0", "1/2/3", "1e5/2", "0x10", "1;1", "1 2"),
    *("1e999999999", "-1e999999999", "1e-999999999", "1e401", Decimal("1e999999"), "9" * 500, "1/" + "9" * 500),
    *(10**100_000, -(10**100_000), Fraction(1, 10**100_000)),
)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
@pytest.mark.parametrize("reader", [rational, positive, non_negative, probability, positive_integer])
def test_what_is_no_number_or_far_too_long_is_refused_at_once(reader: object, junk: object) -> None:
    assert callable(reader)
    before = time.process_time()
    with pytest.raises(InvalidParameter) as refused:
        reader(junk, "epsilon")
    assert time.process_time() - before < 1  # written out, 1e999999999 would take hours
    assert str(refused.value).startswith("epsilon ")
    assert len(str(refused.value)) < 300


def test_each_range_refuses_what_lies_outside_and_takes_its_edge() -> None:
    tiny = Fraction(1, 10**300)
    assert (positive(tiny, "x"), non_negative(0, "x"), positive_integer(1.0, "x")) == (tiny, 0, 1)
    assert (probability(tiny, "x"), probability(1 - tiny, "x")) == (tiny, 1 - tiny)
    for reader, bad in (
        (positive, (0, -tiny, -1)),
        (non_negative, (-tiny, -5e-324)),
        (probability, (0, 1, -tiny, 1 + tiny, 2)),
        (positive_integer, (0, -1, 0.5, 1 + tiny)),
    ):
        for value in bad:
            with pytest.raises(InvalidParameter, match=r"^x (is|lies)"):
                reader(value, "x")


@pytest.mark.parametrize("value", [-(10**2000), "-1e400", Fraction(-1, 10**2000)])
@pytest.mark.parametrize("reader", [positive, non_negative, probability, positive_integer])
def test_a_refusal_is_short_however_long_the_number(reader: object, value: object) -> None:
    assert callable(reader)
    with pytest.raises(InvalidParameter) as refused:
        reader(value, "epsilon")
    assert len(str(refused.value)) < 120


def check_up(up: object, value: Fraction) -> None:
    """The least float whose decimal is at least the value."""
    assert callable(up)
    found = up(value)
    if math.isinf(found):
        assert found > 0
        assert value > Fraction(repr(1.7976931348623157e308))
        return
    assert Fraction(repr(found)) >= value
    before = math.nextafter(found, -math.inf)
    assert math.isinf(before) or Fraction(repr(before)) < value


@many
@given(fractions)
def test_float_up_is_the_least_float_above(value: Fraction) -> None:
    check_up(float_up, value)


@many
@given(fractions)
def test_float_down_is_the_greatest_float_below(value: Fraction) -> None:
    check_up(lambda mirrored: -float_down(-mirrored), value)


@many
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_that_was_typed_comes_back(typed: float) -> None:
    assert float_up(rational(typed, "x")) == typed == float_down(rational(typed, "x"))


def test_rounding_to_nearest_is_not_rounding_up() -> None:
    below = [Fraction(1, d) for d in range(3, 60) if Fraction(repr(1 / d)) < Fraction(1, d)]
    assert len(below) > 10
    for value in below:
        check_up(float_up, value)
        with pytest.raises(AssertionError):
            check_up(broken.nearest, value)


def check_quantised(quantise: object, value: Fraction) -> None:
    assert callable(quantise)
    found = quantise(value)
    assert 10**40 % found.denominator == 0
    assert 0 <= found - value < Fraction(1, 10**40)


@many
@given(fractions)
def test_quantise_up_is_the_next_multiple_of_1e_40(value: Fraction) -> None:
    check_quantised(quantise_up, value)


def test_quantising_to_the_nearest_multiple_is_not_rounding_up() -> None:
    with pytest.raises(AssertionError):
        check_quantised(broken.rounded_half_to_even, Fraction(1, 3))


def check_root(root: object, value: Fraction) -> None:
    """At least the root, within 2^-79 of it, and the root itself where that is rational."""
    assert callable(root)
    found = root(value)
    assert value <= found * found <= value * (1 + Fraction(1, 2**78))


@many
@given(fractions)
def test_sqrt_up_is_at_least_the_root(value: Fraction) -> None:
    check_root(sqrt_up, abs(value))
    assert sqrt_up(value * value) == abs(value)


def test_the_nearest_float_is_not_at_least_the_root() -> None:
    with pytest.raises(AssertionError):
        check_root(broken.sqrt_nearest, Fraction(3))
