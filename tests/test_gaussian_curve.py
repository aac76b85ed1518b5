"""`gaussian_curve`: the exact curve of normal noise and its inverse, against 256 bits."""

import random
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.gaussian_curve import GaussianLoss, greatest_mu
from discreet.errors import InvalidParameter
from tests.accounting import check_epsilon, check_upper, exact, gaussian_truth, log_uniform, mp, mpf
from tests.sizes import sized


def test_delta_is_never_below_the_truth_and_within_1e_9_of_it() -> None:
    source = random.Random(1)
    for _ in range(sized(400, 10_000)):
        mu = log_uniform(source, 1e-6, 1e3)
        epsilon = max(Fraction(0), mu * mu / 2 + mu * Fraction(source.randint(-4000, 36_000), 1000))
        check_upper(
            dp.Loss.gaussian(mu=mu).delta(epsilon=epsilon), gaussian_truth(exact(mu), exact(epsilon)), within="1e-9"
        )


def test_epsilon_is_never_below_the_truth_and_within_1e_9_of_it() -> None:
    source = random.Random(2)
    for _ in range(sized(80, 10_000)):
        mu, delta = log_uniform(source, 1e-5, 1e2), log_uniform(source, 1e-300, 0.9)
        epsilon = dp.Loss.gaussian(mu=mu).epsilon(delta=delta)
        check_epsilon(epsilon, lambda e, mu=mu: gaussian_truth(exact(mu), e), delta, within="1e-9")


@pytest.mark.parametrize("mu", [1e4, 1e5, 1e6])
def test_far_out_delta_is_still_not_below_the_truth(mu: float) -> None:
    """Where epsilon / mu is large but mu / 2 is larger, nearly everything is lost."""
    loss = dp.Loss.gaussian(mu=mu)
    for ratio in (1, 4000, 4097, 5000):
        check_upper(
            loss.delta_bound(Fraction(ratio) * Fraction(mu)), gaussian_truth(mpf(mu), ratio * mpf(mu)), within="1e-9"
        )


def test_beyond_every_digit_delta_is_small_and_still_above_the_truth() -> None:
    loss = GaussianLoss(Fraction(1))
    assert 0 < loss.delta_bound(Fraction(10_000)) <= Fraction(1, 2**4096)
    assert loss.epsilon(delta="1e-400") < 50


@pytest.mark.parametrize(
    ("epsilon", "mu", "sigma"),
    [("0.1", "0.019916", "50.210"), ("1", "0.181975", "5.4953"), ("10", "1.537877", "0.65025")],
)
def test_the_reference_budgets_to_five_digits(epsilon: str, mu: str, sigma: str) -> None:
    found = greatest_mu(Fraction(epsilon), Fraction("1e-9"))
    assert f"{float(found):.6f}" == mu
    assert mp.nstr(1 / exact(found), 5, strip_zeros=False) == sigma


def test_greatest_mu_keeps_delta_and_is_the_greatest_to_nine_digits() -> None:
    source = random.Random(3)
    for _ in range(sized(80, 5_000)):
        epsilon, delta = log_uniform(source, 1e-4, 50), log_uniform(source, 1e-100, 0.5)
        mu = exact(greatest_mu(epsilon, delta))
        assert (
            gaussian_truth(mu, exact(epsilon))
            <= exact(delta)
            < gaussian_truth(mu * (1 + mpf("1.00001e-9")), exact(epsilon))
        )


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(10**13), Fraction(1, 2)), (Fraction(1, 10**20), Fraction(1, 10**20))]
)
def test_what_no_noise_can_reach_is_refused(epsilon: Fraction, delta: Fraction) -> None:
    with pytest.raises(InvalidParameter):
        greatest_mu(epsilon, delta)


def test_many_together_are_one() -> None:
    """Gaussians compose to one Gaussian: mu^2 adds up."""
    one = dp.Loss.gaussian(mu="0.3")
    assert 4 * one == one + one + one + one == dp.Loss.gaussian(mu="0.6")
    assert one + dp.Loss.gaussian(mu="0.4") == dp.Loss.gaussian(mu="0.5")


def test_no_noise_at_all_and_nothing_to_see() -> None:
    nothing = dp.Loss.gaussian(mu=0)
    assert (nothing.epsilon(delta=0), nothing.delta(epsilon=0)) == (0, 0)
    assert dp.Loss.gaussian(mu=1).epsilon(delta=0) == float("inf")
    assert dp.Loss.gaussian(mu=1e9).delta(epsilon=0) == 1


def test_renyi_and_rho_are_half_mu_squared() -> None:
    loss = dp.Loss.gaussian(mu="0.5")
    assert loss.renyi(Fraction(6)) == Fraction(6, 8)
    assert loss.group(3) == dp.Loss.gaussian(mu="1.5")
