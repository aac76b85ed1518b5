"""Gaussian: the rounded law has the exact curve, by summing exact probabilities."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.gaussian import short_up
from discreet.dp.gaussian_samplers import LEAST_SIGMA
from discreet.errors import InvalidParameter
from tests import mechanism_checks as checks
from tests.broken import mechanisms as broken
from tests.closed_forms import gaussian_delta, mp, mpf
from tests.noise_laws import real, rounded_mass
from tests.statistics import chi_square, share

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
THREE = dp.Sensitivity(l1=3, l2=3, linf=3, neighbours=REPLACE)
SIGMAS = [F(3, 10), F(65025, 100000), F(1), F(10)]
BUDGETS = [("0.1", "50.210"), ("1", "5.4953"), ("10", "0.65025")]  # at delta = 1e-9, to 5 digits


def gaussian(sigma: Fraction, sensitivity: dp.Sensitivity = ONE) -> dp.Gaussian:
    return dp.Gaussian(sensitivity=sensitivity, sigma=sigma)


@pytest.mark.parametrize("sigma", [LEAST_SIGMA["rounded"], *SIGMAS])
def test_the_law(sigma: Fraction) -> None:
    checks.check_sums_to_one(gaussian(sigma).law(-3), mass=lambda k: rounded_mass(sigma, k + 3))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_loss_of_a_count(sigma: Fraction) -> None:
    """the loss is that of two unit normals mu = l2 / sigma apart, exactly: on integers the output is
    round(f + N(0, sigma^2)), which is post-processing of the normal mechanism."""
    mechanism = gaussian(sigma)
    epsilons = checks.epsilons_upto(3 / float(sigma))
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=epsilons, shifts=[1])
    orders = [F(101, 100), F(2), F(10)]
    checks.check_renyi(mechanism.law, mechanism.loss.renyi, orders=orders, shift=1)


@pytest.mark.parametrize("sigma", [F(65025, 100000), F(3), F(10)])
def test_the_loss_of_values_that_move_by_up_to_three(sigma: Fraction) -> None:
    mechanism = gaussian(sigma, THREE)
    epsilons = checks.epsilons_upto(9 / float(sigma))
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=epsilons, shifts=[1, 2, 3])


def test_the_curve_is_nearly_reached_on_a_fine_grid() -> None:
    """Rounding gives away little: at sigma = 50 a hundredth of delta at most."""
    mechanism = gaussian(F(50))
    for epsilon in (F(1, 100), F(1, 20), F(1, 10)):
        assert checks.worst_delta(mechanism.law, epsilon, 1) > gaussian_delta(real(epsilon), mpf(1) / 50) * mpf("0.99")


def test_claims_that_are_too_small_are_rejected() -> None:
    mechanism = gaussian(F(1))
    narrower, epsilons = dp.Loss.gaussian(mu=F(9, 10)), checks.epsilons_upto(3)
    with pytest.raises(AssertionError):
        checks.check_curve(mechanism.law, narrower, epsilons=epsilons, shifts=[1])
    with pytest.raises(AssertionError):
        checks.check_curve(mechanism.law, mechanism.loss, epsilons=epsilons, shifts=[1, 2])


@pytest.mark.parametrize(("epsilon", "sigma"), BUDGETS)
def test_sigma_is_the_least_that_the_exact_curve_allows_to_9_digits(epsilon: str, sigma: str) -> None:
    mechanism = dp.Gaussian(sensitivity=ONE, epsilon=epsilon, delta="1e-9")
    digits = len(sigma.partition(".")[2])
    assert abs(mechanism.sigma - F(sigma)) <= F(1, 2 * 10**digits)
    mu = 1 / real(mechanism.sigma)
    assert gaussian_delta(mpf(epsilon), mu) <= mpf("1e-9") < gaussian_delta(mpf(epsilon), mu * (1 + mpf("2e-9")))


def test_sigma_from_rho_and_mu() -> None:
    assert dp.Gaussian(sensitivity=ONE, mu=F(1, 4)).sigma == 4
    assert dp.Gaussian(sensitivity=ONE, rho=F(1, 8)).sigma == 2
    third = dp.Gaussian(sensitivity=THREE, mu=F(7, 10)).sigma
    assert F(30, 7) <= third <= F(30, 7) * (1 + F(1, 2**46))


def test_rounding_sigma_never_lowers_it() -> None:
    for value in (F(1, 3), F(10**30 + 1, 7), F(2**48 - 1, 2**48), F(5)):
        short = short_up(value)
        assert value <= short <= value * (1 + F(1, 2**46))
        odd = short.numerator // (short.numerator & -short.numerator)
        assert odd.bit_length() <= 49


@pytest.mark.parametrize("delta", ["1e-5", "0.01"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "0.99"])
def test_the_classical_theorem(epsilon: str, delta: str) -> None:
    """(epsilon, delta)-DP for epsilon < 1, and only there. Never less noise than `Gaussian(epsilon=, delta=)`."""
    classical = dp.Gaussian.classical(sensitivity=ONE, epsilon=epsilon, delta=delta)
    wanted = mp.sqrt(2 * mp.log(mpf("1.25") / mpf(delta))) / mpf(epsilon)
    assert wanted <= real(classical.sigma) <= wanted * (1 + mpf(2) ** -46)
    assert classical.sigma >= dp.Gaussian(sensitivity=ONE, epsilon=epsilon, delta=delta).sigma
    assert classical.loss.delta(epsilon=epsilon) <= float(delta)


@pytest.mark.parametrize("epsilon", ["1", "1.0001", "10"])
def test_the_classical_theorem_is_refused_where_it_is_false(epsilon: str) -> None:
    with pytest.raises(InvalidParameter):
        dp.Gaussian.classical(sensitivity=ONE, epsilon=epsilon, delta="1e-5")


def test_where_it_is_refused_it_is_false() -> None:
    mu = mpf(10) / mp.sqrt(2 * mp.log(mpf("1.25") / mpf("1e-5")))
    assert gaussian_delta(mpf(10), mu) > mpf("1e-5")


@pytest.mark.parametrize("sigma", [F(1, 2), F(1), F(9, 2)])
def test_accuracy(sigma: Fraction) -> None:
    checks.check_accuracy(gaussian(sigma).accuracy, lambda k: rounded_mass(sigma, k))


def test_errors_that_do_not_hold_or_are_not_the_least_are_rejected() -> None:
    mechanism, mass = gaussian(F(9, 2)), lambda k: rounded_mass(F(9, 2), k)
    for wrong in (gaussian(F(4)).accuracy, broken.union_accuracy(mechanism.accuracy)):
        with pytest.raises(AssertionError):
            checks.check_accuracy(wrong, mass)


def test_the_mechanism_of_an_accuracy() -> None:
    checks.check_for_accuracy(
        lambda **wanted: dp.Gaussian.for_accuracy(sensitivity=ONE, **wanted),
        lambda made: lambda k: rounded_mass(made.sigma, k),  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize("alpha", [10**4, 3 * 10**6, 10**9, 10**15])
def test_a_wide_error_can_be_asked_for(alpha: int) -> None:
    """P(|Z| > a) = 2 Phi(-(a + 1/2) / sigma): at sigma it is at most beta, at sigma (1 + 2^-30) above it."""
    for beta in (F(1, 20), F(1, 10**12), F(1, 10**400)):
        made = dp.Gaussian.for_accuracy(alpha=alpha, failure_probability=beta, sensitivity=ONE)
        for factor, holds in ((F(1), True), (1 + F(1, 2**30), False)):
            bar = (alpha + mpf(1) / 2) / real(made.sigma * factor)
            assert (mp.erfc(bar / mp.sqrt(2)) <= real(beta)) is holds


def test_accuracy_is_what_happens() -> None:
    mechanism, off = gaussian(F(10)), gaussian(F(11))
    alpha = int(mechanism.accuracy(failure_probability=F(1, 20)))
    beyond = float(2 * mp.ncdf(-(mpf(alpha) + mpf(1) / 2) / 10))
    check = share(lambda draws: np.abs(draws) > alpha, beyond, 400_000)
    check.run(lambda n: mechanism.release(np.zeros(n, int)), wrong={"1.1": lambda n: off.release(np.zeros(n, int))})


@pytest.mark.parametrize("sigma", [F(7, 10), F(1, 3)])
def test_what_is_released_has_the_law(sigma: Fraction) -> None:
    mechanism = gaussian(sigma)
    law = mechanism.law(7)
    inner = [law.probability(k) for k in (6, 7)]  # and all the others
    check = chi_square(lambda draws: np.where((draws - 6) >> 1, 2, draws - 6), [*inner, 1 - sum(inner)], 400_000)
    off = gaussian(sigma * F(11, 10))
    wrong = {"1.1": lambda n: off.release(np.full(n, 7)), "shifted": lambda n: mechanism.release(np.full(n, 8))}
    check.run(lambda n: mechanism.release(np.full(n, 7)), wrong=wrong)
    check.run(lambda n: np.array([mechanism.release(7) for _ in range(n)]), wrong=wrong)


def test_the_sampler_has_the_sigma_of_the_law() -> None:
    """A sigma of many digits is sampled as it is, not as a number near it."""
    for sigma in (F(7, 10), F(1, 3), F("0.123456789012345678901234567890")):
        mechanism = gaussian(sigma)
        assert mechanism.sigma == sigma == mechanism._sampler(mechanism._noise_scale).sigma
    made = dp.Gaussian(sensitivity=ONE, epsilon=1, delta="1e-9")
    assert made._sampler(made._noise_scale).sigma == made.sigma


@pytest.mark.parametrize(
    "given",
    [{}, {"epsilon": 1}, {"delta": 1e-9}, {"sigma": 1, "mu": 1}, {"rho": 1, "delta": 1e-9}, {"sigma": 1, "epsilon": 1}],
)
def test_exactly_one_way_to_say_how_much(given: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        dp.Gaussian(sensitivity=ONE, **given)  # type: ignore[arg-type]


def test_it_needs_a_sensitivity() -> None:
    with pytest.raises(InvalidParameter):
        dp.Gaussian(sensitivity=1, sigma=1)  # type: ignore[arg-type]
