"""ME-12: permute-and-flip at the exponential mechanism's zCDP cost; Renyi-2 of [0, 0] against [1, -1]."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import dp
from tests.accounting import precise
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.selecting import ONE, check_renyi, divergence, law_of

PAIR = ((0, 0), (1, -1))
EPSILON = Fraction(2)  # rho = epsilon^2 / 8 = 1/2 for the exponential mechanism
EXPONENTIAL = dp.Exponential(sensitivity=ONE, epsilon=EPSILON)
FLIP = dp.PermuteAndFlip(sensitivity=ONE, epsilon=EPSILON)


@precise
def test_the_probabilities_and_divergences_in_closed_form() -> None:
    """P(first) on [1, -1]: 0.881 and 0.932. Renyi-2: 0.869 <= 2 rho = 1, and 1.377, which is more."""
    exponential, flip = law_of(EXPONENTIAL), law_of(FLIP)
    assert abs(exponential(PAIR[1])[0] - 1 / (1 + mp.exp(-2))) < mpf(10) ** -40
    assert abs(flip(PAIR[1])[0] - (1 - mp.exp(-2) / 2)) < mpf(10) ** -40
    assert [mp.nstr(law(PAIR[1])[0], 3) for law in (exponential, flip)] == ["0.881", "0.932"]
    twice_rho = 2 * EPSILON**2 / 8
    assert divergence(exponential(PAIR[0]), exponential(PAIR[1]), Fraction(2)) <= int(twice_rho)
    assert divergence(flip(PAIR[0]), flip(PAIR[1]), Fraction(2)) > mpf("1.37") > int(twice_rho)


def test_each_claims_its_own_curve() -> None:
    check_renyi(law_of(EXPONENTIAL), EXPONENTIAL.loss.renyi, [PAIR])
    check_renyi(law_of(EXPONENTIAL), broken.bounded_range(EPSILON), [PAIR])
    check_renyi(law_of(FLIP), FLIP.loss.renyi, [PAIR])
    with pytest.raises(AssertionError):
        check_renyi(law_of(FLIP), broken.bounded_range(EPSILON), [PAIR])


def test_the_charge_in_rho() -> None:
    assert EXPONENTIAL.loss.rho_bound() == EPSILON**2 / 8
    assert FLIP.loss.rho_bound() == EPSILON**2 / 2
    budget = dp.Budget(rho=EPSILON**2 / 8)
    assert dp.PrivacyFilter(budget).admit(EXPONENTIAL.loss)
    assert not dp.PrivacyFilter(budget).admit(FLIP.loss)
