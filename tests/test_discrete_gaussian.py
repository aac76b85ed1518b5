"""DiscreteGaussian: it has its Renyi curve, and it does not have the exact Gaussian one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.gaussian_samplers import LEAST_SIGMA
from discreet.errors import InvalidParameter
from tests import mechanism_checks as checks
from tests.broken import mechanisms as broken
from tests.closed_forms import gaussian_delta, mpf
from tests.noise_laws import discrete_mass, real
from tests.statistics import chi_square

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
TWO = dp.Sensitivity(l1=2, l2=2, linf=2, neighbours=REPLACE)
SIGMAS = [F(3, 10), F(65025, 100000), F(1), F(10)]
ORDERS = [F(101, 100), F(5, 4), F(3, 2), F(2), F(3), F(5), F(10), F(33), F(64)]


def gaussian(sigma: Fraction, sensitivity: dp.Sensitivity = ONE) -> dp.DiscreteGaussian:
    return dp.DiscreteGaussian(sensitivity=sensitivity, sigma=sigma)


@pytest.mark.parametrize("sigma", [LEAST_SIGMA["discrete"], *SIGMAS])
def test_the_law(sigma: Fraction) -> None:
    checks.check_sums_to_one(gaussian(sigma).law(4), mass=lambda k: discrete_mass(sigma, k - 4))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_renyi_curve(sigma: Fraction) -> None:
    """rho-zCDP with rho = l2^2 / (2 sigma^2), for integer values that move by at most `sensitivity.l2`."""
    mechanism = gaussian(sigma)
    assert mechanism.loss.renyi(F(2)) == 2 / (2 * sigma**2)
    orders = [a for a in ORDERS if a * a / sigma**2 < 2000]  # beyond, outcomes left out would matter
    checks.check_renyi(mechanism.law, mechanism.loss.renyi, orders=orders, shift=1)
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=checks.epsilons_upto(4 / float(sigma)), shifts=[1])


@pytest.mark.parametrize("sigma", [F(1), F(5)])
def test_values_that_move_by_two(sigma: Fraction) -> None:
    mechanism = gaussian(sigma, TWO)
    for shift in (1, 2):
        checks.check_renyi(mechanism.law, mechanism.loss.renyi, orders=ORDERS[:6], shift=shift)
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=checks.epsilons_upto(8 / float(sigma)), shifts=[1, 2])


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_renyi_curve_is_reached(sigma: Fraction) -> None:
    """For an integer shift and an integer order it is an equality (Canonne, Kamath, Steinke, 2020, Proposition 5)."""
    less = gaussian(sigma * (1 + F(1, 10**6))).loss
    with pytest.raises(AssertionError):
        checks.check_renyi(gaussian(sigma).law, less.renyi, orders=[F(2)], shift=1)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "digits", "unit"), [("0.65025", 10, "1.76", "1e-9"), ("5.4953", 1, "1.037", "1e-9")]
)
def test_the_exact_gaussian_curve_is_not_its_curve(sigma: str, epsilon: int, digits: str, unit: str) -> None:
    """It does NOT have the exact Gaussian curve: at sigma = 0.65025 that would claim a delta 1.76 times too small."""
    mechanism = gaussian(F(sigma))
    worst = checks.worst_delta(mechanism.law, F(epsilon), 1)
    half = mpf(10) ** -len(digits.partition(".")[2]) / 2
    assert abs(worst / mpf(unit) - mpf(digits)) <= half
    assert gaussian_delta(mpf(epsilon), 1 / mpf(sigma)) <= mpf(unit) < worst
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=[F(epsilon)], shifts=[1])
    with pytest.raises(AssertionError):
        checks.check_curve(mechanism.law, broken.exact_gaussian(mechanism), epsilons=[F(epsilon)], shifts=[1])


def test_the_rounded_law_passes_what_this_one_fails() -> None:
    rounded = dp.Gaussian(sensitivity=ONE, sigma="0.65025")
    checks.check_curve(rounded.law, rounded.loss, epsilons=[F(10)], shifts=[1])


@pytest.mark.parametrize("sigma", [F(1, 2), F(1), F(9, 2)])
def test_accuracy(sigma: Fraction) -> None:
    checks.check_accuracy(gaussian(sigma).accuracy, lambda k: discrete_mass(sigma, k))


def test_errors_that_do_not_hold_or_are_not_the_least_are_rejected() -> None:
    mechanism, mass = gaussian(F(9, 2)), lambda k: discrete_mass(F(9, 2), k)
    for wrong in (gaussian(F(4)).accuracy, broken.union_accuracy(mechanism.accuracy)):
        with pytest.raises(AssertionError):
            checks.check_accuracy(wrong, mass)


def test_the_mechanism_of_an_accuracy() -> None:
    checks.check_for_accuracy(
        lambda **wanted: dp.DiscreteGaussian.for_accuracy(sensitivity=ONE, **wanted),
        lambda made: lambda k: discrete_mass(made.sigma, k),  # type: ignore[attr-defined]
    )


def test_what_is_released_has_the_law() -> None:
    mechanism, other = gaussian(F(65, 100)), dp.Gaussian(sensitivity=ONE, sigma=F(65, 100))
    law = mechanism.law(7)
    inner = [law.probability(k) for k in range(6, 9)]
    check = chi_square(lambda draws: np.where(abs(draws - 7) > 1, 3, draws - 6), [*inner, 1 - sum(inner)], 400_000)
    wrong = {"the rounded one": lambda n: other.release(np.full(n, 7))}
    check.run(lambda n: mechanism.release(np.full(n, 7)), wrong=wrong)
    check.run(lambda n: np.array([mechanism.release(7) for _ in range(n)]), wrong=wrong)


def test_sigma_from_rho_is_rounded_up() -> None:
    for rho in (F(1, 8), F(1, 3), F(7)):
        mechanism = dp.DiscreteGaussian(sensitivity=ONE, rho=rho)
        assert 1 / (2 * mechanism.sigma**2) <= rho
        assert real(1 / (2 * mechanism.sigma**2)) > real(rho) * (1 - mpf(2) ** -70)


def test_real_numbers_are_refused() -> None:
    for values in (0.5, [0.5, 1.5], np.zeros(3)):
        with pytest.raises(InvalidParameter):
            gaussian(F(1)).release(values)


@pytest.mark.parametrize("given", [{}, {"rho": 1, "sigma": 1}])
def test_exactly_one_parameter(given: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        dp.DiscreteGaussian(sensitivity=ONE, **given)  # type: ignore[arg-type]


def test_it_needs_a_sensitivity() -> None:
    with pytest.raises(InvalidParameter):
        dp.DiscreteGaussian(sensitivity=1, sigma=1)  # type: ignore[arg-type]


def test_a_law_too_wide_to_sum_is_refused_and_not_waited_for() -> None:
    with pytest.raises(InvalidParameter):
        gaussian(F(10**9)).accuracy(failure_probability=F(1, 20))
    with pytest.raises(InvalidParameter):
        gaussian(F(10**9)).law(0).bounds(0)
