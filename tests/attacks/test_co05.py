"""CO-05: sums of spends that floats lose. Ten tenths, what comes after exhaustion, and a million of next to nothing."""

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from tests.accounting import Spender, check_sums_are_exact
from tests.broken import accounting as broken
from tests.sizes import sized


class Ours(Spender):
    def __init__(self) -> None:
        self.filter = dp.PrivacyFilter(dp.Budget(epsilon=1))

    def spend(self, epsilon: object) -> bool:
        return self.filter.admit(dp.Loss.pure(epsilon=epsilon))


def test_spends_add_up_exactly() -> None:
    check_sums_are_exact(Ours, count=sized(2_000, 1_000_000))


def test_a_sum_of_floats_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_sums_are_exact(broken.FloatFilter, count=10)


def check_against_rationals(make: Callable[[], Spender], count: int) -> None:
    """Decimals of every size, in random order: what is admitted is what fits, by a sum of rationals."""
    source, spender, total, refused = random.Random(1), make(), Fraction(0), 0
    for _ in range(count):
        typed = round(source.random(), source.randint(1, 15)) * 10.0 ** -source.randint(0, 6)
        if typed:
            meant = Fraction(repr(typed))
            assert spender.spend(typed) is (total + meant <= 1), typed
            total += meant if total + meant <= 1 else 0
            refused += total + meant > 1
    assert spender.spend(1 - total) is (total <= 1)
    assert refused
    assert not spender.spend(Fraction(1, 10**30))


def test_what_is_admitted_is_what_fits() -> None:
    check_against_rationals(Ours, sized(1_000, 100_000))
    with pytest.raises(AssertionError):
        check_against_rationals(broken.FloatFilter, 1_000)
