"""Laplace: the law, the loss and the error, by summing exact probabilities."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.samplers import LEAST_SCALE
from discreet.errors import InvalidParameter
from tests import mechanism_checks as checks
from tests.broken import mechanisms as broken
from tests.closed_forms import mp, mpf, response_delta
from tests.noise_laws import laplace_mass, real
from tests.statistics import chi_square, share

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
TWO = dp.Sensitivity.histogram(neighbours=REPLACE)
EPSILONS = [F(1, 2), F(1), F(3), F(10)]


def laplace(epsilon: Fraction, sensitivity: dp.Sensitivity = ONE) -> dp.Laplace:
    return dp.Laplace(sensitivity=sensitivity, epsilon=epsilon)


@pytest.mark.parametrize("scale", [LEAST_SCALE, F(1, 2), F(1), F(7, 3), F(10)])
def test_the_law(scale: Fraction) -> None:
    law = dp.Laplace(sensitivity=ONE, scale=scale).law(5)
    checks.check_sums_to_one(law, mass=lambda k: laplace_mass(scale, k - 5))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_loss_of_a_count(epsilon: Fraction) -> None:
    """epsilon-DP for the relation of `sensitivity`, and tight: for counts that move by exactly l1 the worst
    log ratio is epsilon, and for l1 = 1 the curve is that of randomised response."""
    mechanism = laplace(epsilon)
    assert mechanism.loss.epsilon(delta=0) == float(epsilon)
    checks.check_pure(mechanism.law, epsilon=real(epsilon), shifts=[1], tight=True)
    for e in checks.epsilons_upto(float(epsilon)):
        low, high = checks.hockey_stick(*next(checks.laws(mechanism.law, [1])), e)
        assert low <= response_delta(real(e), real(epsilon), 1) <= high
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=checks.epsilons_upto(float(epsilon)), shifts=[1])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_loss_of_values_that_move_by_two(epsilon: Fraction) -> None:
    mechanism = laplace(epsilon, TWO)
    assert mechanism.scale == 2 / epsilon
    checks.check_pure(mechanism.law, epsilon=real(epsilon), shifts=[1, 2], tight=True)
    checks.check_curve(mechanism.law, mechanism.loss, epsilons=checks.epsilons_upto(float(epsilon)), shifts=[1, 2])


def test_the_loss_of_a_histogram_in_which_a_unit_moves() -> None:
    """Two cells move by one each: products of probabilities, both orders, every pair of outcomes."""
    mechanism = laplace(F(1), TWO)
    low, high = mp.ninf, mp.ninf
    for one, other in checks.laws(mechanism.law, [1]):
        first, second = checks.log_ratio(one, other), checks.log_ratio(other, one)
        low, high = max(low, first[0] + second[0]), max(high, first[1] + second[1])
    assert low <= 1 <= high


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_its_renyi_curve_is_that_of_the_integers(epsilon: Fraction) -> None:
    mechanism = laplace(epsilon)
    orders = [F(101, 100), F(3, 2), F(2), F(5), F(32)]
    checks.check_renyi(mechanism.law, mechanism.loss.renyi, orders=orders, shift=1)


def test_curves_of_another_law_are_rejected() -> None:
    mechanism = laplace(F(1))
    epsilons = checks.epsilons_upto(1)
    with pytest.raises(AssertionError):
        checks.check_curve(mechanism.law, broken.continuous_laplace(1.0), epsilons=epsilons, shifts=[1])
    claimed = broken.replaced_as_added(laplace(F(1), TWO))
    with pytest.raises(AssertionError):
        checks.check_curve(laplace(F(1), TWO).law, claimed, epsilons=epsilons, shifts=[1, 2])
    half = dp.Laplace(sensitivity=ONE, scale=F(1, 2))
    with pytest.raises(AssertionError):
        checks.check_pure(half.law, epsilon=mpf(1), shifts=[1], tight=False)
    with pytest.raises(AssertionError):
        checks.check_pure(laplace(F(1, 2)).law, epsilon=mpf(1), shifts=[1], tight=True)


def test_the_continuous_renyi_curve_is_rejected() -> None:
    """Mironov 2017: ln(a / (2a - 1) e^((a - 1) / b) + (a - 1) / (2a - 1) e^(-a / b)) / (a - 1)."""

    def continuous(order: Fraction) -> Fraction:
        a = real(order)
        total = a / (2 * a - 1) * mp.exp(a - 1) + (a - 1) / (2 * a - 1) * mp.exp(-a)
        return F(str(mp.nstr(mp.log(total) / (a - 1), 30)))

    with pytest.raises(AssertionError):
        checks.check_renyi(laplace(F(1)).law, continuous, orders=[F(2)], shift=1)


@pytest.mark.parametrize("scale", [F(1, 2), F(1), F(9, 2)])
def test_accuracy(scale: Fraction) -> None:
    mechanism = dp.Laplace(sensitivity=ONE, scale=scale)
    checks.check_accuracy(mechanism.accuracy, lambda k: laplace_mass(scale, k))


def test_errors_that_do_not_hold_or_are_not_the_least_are_rejected() -> None:
    scale = F(9, 2)
    mass = lambda k: laplace_mass(scale, k)  # noqa: E731
    mechanism = dp.Laplace(sensitivity=ONE, scale=scale)
    checks.check_accuracy(mechanism.accuracy, mass)
    for wrong in (broken.continuous_accuracy(scale), broken.union_accuracy(mechanism.accuracy)):
        with pytest.raises(AssertionError):
            checks.check_accuracy(wrong, mass)


def test_the_mechanism_of_an_accuracy() -> None:
    checks.check_for_accuracy(
        lambda **wanted: dp.Laplace.for_accuracy(sensitivity=ONE, **wanted),
        lambda made: lambda k: laplace_mass(made.scale, k),  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize("alpha", [10**4, 3 * 10**6, 10**9, 10**15])
def test_a_wide_error_can_be_asked_for(alpha: int) -> None:
    """P(|Z| > a) = 2 q^(a + 1) / (1 + q), q = exp(-1 / b): at b it is at most beta, at b (1 + 2^-30) above it."""
    for beta in (F(1, 20), F(1, 10**12), F(1, 10**400)):
        made = dp.Laplace.for_accuracy(alpha=alpha, failure_probability=beta, sensitivity=ONE)
        for factor, holds in ((F(1), True), (1 + F(1, 2**30), False)):
            rate = -1 / real(made.scale * factor)
            assert (2 * mp.exp(rate * (alpha + 1)) / (1 + mp.exp(rate)) <= real(beta)) is holds


def test_accuracy_is_what_happens() -> None:
    mechanism = laplace(F(1, 10))
    alpha, n = int(mechanism.accuracy(failure_probability=F(1, 20))), 400_000
    beyond = float(2 * mp.exp(-mpf(alpha + 1) / 10) / (1 + mp.exp(-mpf(1) / 10)))
    check = share(lambda draws: np.abs(draws) > alpha, beyond, n)
    off = dp.Laplace(sensitivity=ONE, scale=11)
    check.run(lambda m: mechanism.release(np.zeros(m, int)), wrong={"1.1": lambda m: off.release(np.zeros(m, int))})


def test_every_value_gets_its_own_noise() -> None:
    mechanism = laplace(F(1))
    equal = float(mp.fsum(laplace_mass(F(1), k) ** 2 for k in range(-200, 201)))
    check = share(lambda draws: draws[::2] == draws[1::2], equal, 200_000)
    check.run(
        lambda n: mechanism.release(np.zeros(n, int)),
        wrong={"one noise": lambda n: broken.one_noise_for_all(F(1))(np.zeros(n, int))},
    )


def test_what_is_released_has_the_law() -> None:
    mechanism = laplace(F(1))
    law = mechanism.law(7)
    inner = [law.probability(k) for k in range(3, 12)]
    outside = 1 - sum(inner)
    check = chi_square(lambda draws: np.where(abs(draws - 7) > 4, 9, draws - 3), [*inner, outside], 200_000)
    single = lambda n: np.array([mechanism.release(7) for _ in range(n)])  # noqa: E731
    off = dp.Laplace(sensitivity=ONE, scale=F(11, 10))
    wrong = {"1.1": lambda n: off.release(np.full(n, 7)), "shifted": lambda n: mechanism.release(np.full(n, 8))}
    check.run(lambda n: mechanism.release(np.full(n, 7)), wrong=wrong)
    check.run(single, wrong=wrong)


def test_simulated_draws_have_the_law() -> None:
    seeds = itertools.count(1)
    zero = float(laplace_mass(F(1), 0))
    draw = lambda scale, n: np.array(dp.simulate(dp.Laplace(sensitivity=ONE, scale=scale), 0, n, seed=next(seeds)))  # noqa: E731
    share(lambda draws: draws == 0, zero, 20_000).run(
        lambda n: draw(F(1), n), wrong={"1.2": lambda n: draw(F(6, 5), n)}
    )


@pytest.mark.parametrize("given", [{}, {"epsilon": 1, "scale": 1}])
def test_exactly_one_parameter(given: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter):
        dp.Laplace(sensitivity=ONE, **given)  # type: ignore[arg-type]


def test_it_needs_an_l1_sensitivity() -> None:
    with pytest.raises(InvalidParameter):
        dp.Laplace(sensitivity=dp.Sensitivity(l2=1, neighbours=ADD), epsilon=1)
    with pytest.raises(InvalidParameter):
        dp.Laplace(sensitivity=1, epsilon=1)  # type: ignore[arg-type]
