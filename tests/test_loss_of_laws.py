"""`loss`: the curve belongs to the law that is sampled, found by summing its probabilities in both orders."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from tests.accounting import (
    NOISE,
    check_curve_of_law,
    check_upper,
    delta_of_law,
    discrete_gaussian,
    discrete_laplace,
    exact,
    mp,
    mpf,
    renyi_of_law,
    rounded_gaussian,
)
from tests.broken import accounting as broken

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)


def test_integer_laplace_noise_is_randomised_response_and_not_the_continuous_law() -> None:
    law, loss = discrete_laplace(mpf(1), 200), dp.Laplace(sensitivity=ONE, epsilon=1).loss
    check_curve_of_law(lambda e: loss.delta(epsilon=e), law)
    check_upper(loss.delta(epsilon="0.5"), delta_of_law(law, 1, mpf("0.5")), within="1e-9")
    assert round(loss.delta(epsilon="0.5"), 3) == 0.288
    with pytest.raises(AssertionError):
        check_curve_of_law(broken.continuous_laplace_delta, law)
    assert round(broken.continuous_laplace_delta(Fraction(1, 2)), 3) == 0.221


def check_renyi_of_laplace(renyi: Callable[[Fraction], Fraction | float]) -> None:
    law = discrete_laplace(mpf(1), 400)
    for order in (Fraction(3, 2), Fraction(2), Fraction(10)):
        assert exact(renyi(order)) * (1 + NOISE) >= max(renyi_of_law(law, one, exact(order)) for one in (1, -1)), order


def test_integer_laplace_noise_has_the_renyi_curve_of_randomised_response() -> None:
    check_renyi_of_laplace(dp.Laplace(sensitivity=ONE, epsilon=1).loss.renyi)
    with pytest.raises(AssertionError):
        check_renyi_of_laplace(broken.continuous_laplace_renyi)


@pytest.mark.parametrize(("sigma", "reach"), [("5.4953", 150), ("0.65025", 25), ("2", 60)])
def test_the_discrete_gaussian_is_not_charged_the_exact_gaussian_curve(sigma: str, reach: int) -> None:
    law, loss = discrete_gaussian(mpf(sigma), reach), dp.DiscreteGaussian(sensitivity=ONE, sigma=sigma).loss
    check_curve_of_law(lambda e: loss.delta(epsilon=e), law)
    with pytest.raises(AssertionError):
        check_curve_of_law(lambda e: broken.gaussian_delta_for_any_law(e, sigma), law)


def test_the_discrete_gaussian_of_the_reference_budget_does_not_reach_1e_9() -> None:
    truth = delta_of_law(discrete_gaussian(mpf("5.4953"), 150), 1, mpf(1))
    assert mp.nstr(truth, 4) == "1.037e-9"
    assert dp.DiscreteGaussian(sensitivity=ONE, sigma="5.4953").loss.delta(epsilon=1) >= truth > mpf("1e-9")


@pytest.mark.parametrize(("sigma", "reach"), [("5.4953", 150), ("0.65025", 25)])
def test_the_rounded_gaussian_keeps_the_exact_gaussian_curve(sigma: str, reach: int) -> None:
    loss = dp.Gaussian(sensitivity=ONE, sigma=sigma).loss
    check_curve_of_law(lambda e: loss.delta(epsilon=e), rounded_gaussian(mpf(sigma), reach))
