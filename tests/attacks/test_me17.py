"""ME-17: Gaussian noise by the wrong formula. No sample sees it, so it is a check of numbers."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.accounting import exact, gaussian_truth
from tests.broken import accounting as broken
from tests.sizes import sized

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
SigmaOf = Callable[[float, float], Fraction | float]


def pairs(count: int, most: float) -> list[tuple[float, float]]:
    source = random.Random(1)
    return [
        (
            float(f"{math.exp(source.uniform(math.log(0.01), math.log(most))):.6g}"),
            float(f"{10 ** source.uniform(-12, -2):.6g}"),
        )
        for _ in range(count)
    ]


def check_sigma(sigma_of: SigmaOf, count: int, most: float = 20) -> None:
    """With this noise the exact delta at epsilon is at most delta, for a sensitivity of 1."""
    for epsilon, delta in pairs(count, most):
        sigma = sigma_of(epsilon, delta)
        assert gaussian_truth(1 / exact(sigma), exact(epsilon)) <= exact(delta), (epsilon, delta, float(sigma))


def ours(epsilon: float, delta: float) -> Fraction:
    return dp.Gaussian(sensitivity=ONE, epsilon=epsilon, delta=delta).sigma


def test_our_noise_is_enough_and_not_more_than_that() -> None:
    check_sigma(ours, sized(100, 10_000))
    with pytest.raises(AssertionError):
        check_sigma(lambda e, d: ours(e, d) * (1 - Fraction(1, 10**8)), 1)


@pytest.mark.parametrize(
    "twin",
    [broken.deviation_for_variance, broken.variance_for_deviation, broken.wrong_sign_sigma, broken.classical_sigma],
    ids=lambda twin: twin.__name__,
)
def test_the_wrong_formula_is_seen(twin: SigmaOf) -> None:
    with pytest.raises(AssertionError):
        check_sigma(twin, 100)


def test_the_classical_formula_holds_below_one_and_fails_at_eight() -> None:
    check_sigma(
        lambda e, d: dp.Gaussian.classical(sensitivity=ONE, epsilon=e, delta=d).sigma, sized(100, 10_000), most=0.999
    )
    sigma = broken.classical_sigma(8, 1e-3)
    assert gaussian_truth(1 / exact(sigma), exact(8.0)) > exact(1e-3)


@pytest.mark.parametrize("epsilon", [1, 1.0, "1.000000001", 8, 1e300])
def test_the_classical_formula_is_refused_from_one_on(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon < 1"):
        dp.Gaussian.classical(sensitivity=ONE, epsilon=epsilon, delta="1e-9")
