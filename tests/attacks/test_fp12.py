"""FP-12: which way conversions round. Against a reference at 256 bits, none is ever on the side of less privacy."""

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.gaussian_curve import greatest_mu
from discreet.dp.rational import float_up, sqrt_up
from discreet.dp.renyi import allowed_renyi
from tests.accounting import (
    FLOATS,
    NOISE,
    check_upper,
    exact,
    gaussian_truth,
    log_uniform,
    mp,
    mpf,
    precise,
    pure_truth,
    renyi_exponent,
)
from tests.broken import accounting as broken
from tests.sizes import sized

DeltaOf = Callable[[Fraction, Fraction], Fraction | float]
TRUTHS = {"pure": pure_truth, "gaussian": gaussian_truth}
OURS: dict[str, DeltaOf] = {
    "pure": lambda parameter, epsilon: dp.Loss.pure(epsilon=parameter).delta(epsilon=epsilon),
    "gaussian": lambda parameter, epsilon: dp.Loss.gaussian(mu=parameter).delta(epsilon=epsilon),
}


def check_outward(kind: str, delta_of: DeltaOf, count: int) -> None:
    """Delta as a float is at least the curve, and the next float or nearly."""
    source = random.Random(1)
    for _ in range(count):
        parameter = log_uniform(source, 1e-2, 10)
        epsilon = parameter * Fraction(source.randint(1, 999), 1000)
        truth = TRUTHS[kind](exact(parameter), exact(epsilon))
        check_upper(delta_of(parameter, epsilon), truth, within=FLOATS)


@precise
def nearest_delta(kind: str) -> DeltaOf:
    return lambda parameter, epsilon: float(TRUTHS[kind](exact(parameter), exact(epsilon)))


@pytest.mark.parametrize("kind", TRUTHS)
def test_delta_is_rounded_up(kind: str) -> None:
    check_outward(kind, OURS[kind], sized(200, 10_000))
    with pytest.raises(AssertionError):
        check_outward(kind, nearest_delta(kind), 50)


def check_epsilons(epsilon_of: Callable[[dp.Loss, Fraction], float], count: int) -> None:
    """At the reported epsilon the curve of a pure loss is at most delta."""
    source = random.Random(2)
    for _ in range(count):
        whole, delta = log_uniform(source, 1e-2, 10), log_uniform(source, 1e-12, 1e-3)
        epsilon = epsilon_of(dp.Loss.pure(epsilon=whole), delta)
        assert pure_truth(exact(whole), exact(epsilon)) <= exact(delta) * (1 + NOISE), (whole, delta, epsilon)


def nearest_epsilon(loss: dp.Loss, delta: Fraction) -> float:
    whole = exact(loss.epsilon_bound(Fraction(0)))
    return float(mp.log(mp.exp(whole) - exact(delta) * (1 + mp.exp(whole))))


def test_epsilon_is_rounded_up() -> None:
    check_epsilons(lambda loss, delta: loss.epsilon(delta=delta), sized(200, 10_000))
    with pytest.raises(AssertionError):
        check_epsilons(nearest_epsilon, 50)


def check_budgets(allowed: Callable[[Fraction, Fraction, Fraction], Fraction], count: int) -> None:
    """What may be spent at an order proves no more than delta."""
    source = random.Random(3)
    for _ in range(count):
        epsilon, delta = log_uniform(source, 1e-2, 10), log_uniform(source, 1e-12, 1e-3)
        order = 1 + log_uniform(source, 1, 1e3)
        proved = mp.exp(renyi_exponent(exact(order), exact(allowed(epsilon, delta, order)), exact(epsilon)))
        assert proved <= exact(delta) * (1 + NOISE), (epsilon, delta, order)


def test_budgets_are_rounded_down() -> None:
    check_budgets(allowed_renyi, sized(200, 10_000))
    with pytest.raises(AssertionError):
        check_budgets(lambda e, d, a: Fraction(broken.nearest(allowed_renyi(e, d, a))), 50)


def check_noise(sigma_of: Callable[[Fraction, Fraction], Fraction], count: int) -> None:
    """Noise is rounded up: the exact delta at epsilon is at most what was asked."""
    source = random.Random(4)
    for _ in range(count):
        epsilon, delta = log_uniform(source, 1e-2, 10), log_uniform(source, 1e-12, 1e-3)
        mu = 1 / exact(sigma_of(epsilon, delta))
        assert gaussian_truth(mu, exact(epsilon)) <= exact(delta), (epsilon, delta)


ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)


def test_noise_is_rounded_up() -> None:
    check_noise(lambda e, d: dp.Gaussian(sensitivity=ONE, epsilon=e, delta=d).sigma, sized(60, 10_000))
    with pytest.raises(AssertionError):  # nine digits, to the nearest
        check_noise(lambda e, d: Fraction(f"{float(1 / greatest_mu(e, d)):.9g}"), 30)


def test_there_and_back_never_gains() -> None:
    """epsilon -> delta -> epsilon and rho -> epsilon -> rho: each step is against us."""
    source = random.Random(5)
    for _ in range(sized(60, 2_000)):
        parameter = log_uniform(source, 1e-2, 3)
        for loss in (dp.Loss.gaussian(mu=parameter), dp.Loss.pure(epsilon=parameter)):
            delta = loss.delta(epsilon=parameter / 3)
            assert exact(delta) >= TRUTHS["gaussian" if loss == dp.Loss.gaussian(mu=parameter) else "pure"](
                exact(parameter), exact(loss.epsilon(delta=delta))
            )
    for k in range(2, 200):
        assert sqrt_up(Fraction(k, 7)) ** 2 >= Fraction(k, 7)
        assert Fraction(repr(float_up(Fraction(k, 7)))) >= Fraction(k, 7)
        assert mpf(1) / 7 * k <= exact(float_up(Fraction(k, 7))) * (1 + NOISE)
