"""CO-06: a negative, NaN or infinite spend that gives budget back, or is not counted."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import NOT_A_SPEND, Spender, check_nothing_refills
from tests.broken import accounting as broken


class Ours(Spender):
    def __init__(self, budget: dp.Budget, loss: Callable[[object], dp.Loss]) -> None:
        self.filter, self.loss = dp.PrivacyFilter(budget), loss

    def spend(self, epsilon: object) -> bool:
        return self.filter.admit(self.loss(epsilon))


REFERENCE = dp.Budget(epsilon=1, delta="1e-9")
SPENDERS = {
    "pure": lambda: Ours(dp.Budget(epsilon=1), lambda e: dp.Loss.pure(epsilon=e)),
    "zcdp": lambda: Ours(dp.Budget(rho=1), lambda e: dp.Loss.zcdp(rho=e)),
    "a price": lambda: Ours(REFERENCE, lambda e: REFERENCE.price(epsilon=e)),
    "a pure price": lambda: Ours(dp.Budget(epsilon=1), lambda e: dp.Budget(epsilon=1).price(epsilon=e)),
}


@pytest.mark.parametrize("name", SPENDERS)
def test_nothing_refills_a_budget(name: str) -> None:
    check_nothing_refills(SPENDERS[name])


@pytest.mark.parametrize("twin", [broken.TrustingFilter, broken.NanFilter])
def test_a_filter_that_takes_any_number_is_seen(twin: Callable[[], Spender]) -> None:
    with pytest.raises(AssertionError):
        check_nothing_refills(twin)


@pytest.mark.parametrize("bad", NOT_A_SPEND)
def test_no_way_in_takes_it(bad: object) -> None:
    """Every constructor that a spend passes through refuses it by itself."""
    for make in (
        lambda: dp.Loss.pure(epsilon=bad),
        lambda: dp.Loss.approximate(epsilon=bad, delta="1e-9"),
        lambda: dp.Loss.approximate(epsilon="0.1", delta=bad),
        lambda: dp.Loss.zcdp(rho=bad),
        lambda: dp.Loss.gaussian(mu=bad),
        lambda: dp.Loss.rdp(orders=[2], values=[bad]),
        lambda: dp.Loss.rdp(orders=[bad], values=[1]),
        lambda: bad * dp.Loss.pure(epsilon="0.1"),
        lambda: dp.Loss.pure(epsilon="0.1").group(bad),
        lambda: dp.Charge(bad),
        lambda: dp.Charge(Fraction(0), bad),
        lambda: dp.Budget(epsilon=bad),
        lambda: dp.PrivacyFilter(dp.Budget(epsilon=1)).admit(bad),
        lambda: dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(bad),
        lambda: dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(dp.Loss.pure(epsilon="0.1")).take(bad),
    ):
        with pytest.raises(InvalidParameter):
            make()


def test_no_loss_made_by_hand_is_below_zero() -> None:
    from discreet.dp import loss

    for kind in (loss.Pure, loss.Zcdp, loss.BoundedRange):
        for bad in (Fraction(-1, 10), -0.1, math.nan, -1):
            with pytest.raises(InvalidParameter):
                kind(bad)
