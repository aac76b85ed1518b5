"""`scale_bound`: the logarithm of a smooth bound costs epsilon, by enumeration, and what it promises holds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_mass, real
from tests.sizes import sized
from tests.statistics import share

F = Fraction
REPLACE = dp.Neighbours.REPLACE
TENTH, ONE = F(1, 10), F(1)


def scale_bound(beta: Fraction = TENTH, epsilon: Fraction = ONE) -> dp.ScaleBound:
    return dp.ScaleBound(neighbours=REPLACE, beta=beta, epsilon=epsilon, step=F(1, 8))


def pairs(beta: Fraction, count: int) -> list[tuple[Fraction, Fraction]]:
    """Bounds that differ by at most exp(beta), many of them as much as that, and some below one step."""
    source, found = random.Random(3), []
    for _ in range(count):
        one = F(math.exp(source.uniform(-4, 12)))
        found.append((one, one * F(str(mp.nstr(mp.exp(real(beta)), 40))) * (1 - F(1, 10**38))))
        found.append((one, one * F(math.exp(source.uniform(0, 0.999) * float(beta)))))
    return found


@pytest.mark.parametrize("beta", [F(1, 100), F(1, 10), F(2)])
def test_the_logarithm_moves_by_at_most_64_steps(beta: Fraction) -> None:
    made = scale_bound(beta)
    moved = [made.steps(max(s, t)) - made.steps(min(s, t)) for s, t in pairs(beta, sized(200, 5000))]
    assert min(moved) >= 0
    assert max(moved) == 64


@pytest.mark.parametrize("epsilon", [F(1, 4), F(3)])
def test_its_loss(epsilon: Fraction) -> None:
    """epsilon-DP for `neighbours`: 64 steps apart the worst log ratio is epsilon, and that is reached."""
    made = scale_bound(epsilon=epsilon)
    assert made.loss == dp.Loss.pure(epsilon=epsilon)
    noise = 64 / epsilon
    ratios = [mp.log(laplace_mass(noise, j) / laplace_mass(noise, j - 64)) for j in range(-100, 200)]
    assert mp.almosteq(max(ratios), real(epsilon), 1e-40)
    assert mp.almosteq(min(ratios), -real(epsilon), 1e-40)


def test_what_it_draws() -> None:
    made, true = scale_bound(), F(3)
    n = sized(20_000, 200_000)
    center = made.steps(true)
    draw = lambda bound: lambda n: np.array([bound.release(true).noisy_steps - center for _ in range(n)])  # noqa: E731
    near = share(lambda draws: abs(draws) <= 20, sum(float(laplace_mass(F(64), k)) for k in range(-20, 21)), n)
    near.run(draw(made), wrong={"half the noise": draw(scale_bound(epsilon=F(2)))})


def check_bound(steps_of: Callable[[dp.ScaleBound, Fraction], int]) -> None:
    """Noise at its worst that still counts as no failure leaves the bound above the truth: for many scales."""
    made = scale_bound()
    source = random.Random(4)
    for _ in range(50):
        true = F(math.exp(source.uniform(-1, 10)))
        for failure in (F(1, 4), F(1, 100)):
            missed, reach = mpf(1), 0
            while missed > real(failure):  # P(Z < -reach)
                reach += 1
                missed = mp.exp(-mpf(reach + 1) / 64) / (1 + mp.exp(-mpf(1) / 64))
            released = dp.ReleasedScale(steps_of(made, true) - reach, made.beta, made.epsilon, made.step)
            assert released.at_most(failure_probability=failure) >= true


def test_the_bound_holds_but_for_its_failure_probability() -> None:
    check_bound(lambda made, true: made.steps(true))
    with pytest.raises(AssertionError):
        check_bound(broken.logarithm_to_nearest)


def test_the_bound_is_as_wide_as_it_has_to_be() -> None:
    """exp(beta ln(1 / 2p) / epsilon) above what is released, but for two steps of its grid."""
    released = dp.ReleasedScale(1000, F(1, 10), F(1), F(1, 8))
    for failure in (F(1, 4), F(1, 10**6)):
        wide = mp.exp(mpf(1000) / 640 + mp.log(1 / (2 * real(failure))) / 10) / 8
        ratio = real(released.at_most(failure_probability=failure)) / wide
        assert mp.exp(-mpf(2) / 640) < ratio < mp.exp(mpf(2) / 640)


def test_open_takes_the_loss() -> None:
    made = scale_bound()
    exact = dp.SmoothExact(31, smooth_sensitivity=2, beta=made.beta, neighbours=REPLACE, unit="row")
    permit = dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(made.loss)
    assert isinstance(made.open(exact, permit), dp.ReleasedScale)
    with pytest.raises(BudgetExceeded):
        made.open(exact, permit)
    for other in ({"beta": F(1, 5)}, {"neighbours": dp.Neighbours.ADD_REMOVE}):
        given = {"beta": made.beta, "neighbours": REPLACE} | other
        wrong = dp.SmoothExact(31, smooth_sensitivity=2, unit="row", **given)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            made.open(wrong, permit)
    with pytest.raises(InvalidParameter):
        made.release(exact)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"beta": 0}, {"epsilon": 0}, {"epsilon": math.nan}, {"step": -1}, {"neighbours": None}]
)
def test_refusals(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        dp.ScaleBound(**{"neighbours": REPLACE, "beta": 1, "epsilon": 1, "step": 1} | given)  # type: ignore[arg-type]
