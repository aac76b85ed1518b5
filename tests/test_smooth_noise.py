"""`smooth_noise`: the law that is drawn, what it costs on neighbours by enumeration, and that no scale is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import system
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, PolynomialLaw, SmoothLaw
from discreet.errors import InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.broken.noise import slow_geometric
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.sizes import sized
from tests.smooth_truth import TRUTHS, Truth, rounded_masses, told_apart
from tests.statistics import binned, share, time_and_size

F = Fraction
REPLACE = dp.Neighbours.REPLACE
ONE, EIGHTH = F(1), F(1, 8)
LAWS: dict[str, SmoothLaw] = {
    "laplace": LaplaceLaw(),
    "gaussian": GaussianLaw(),
    "polynomial-2": PolynomialLaw(2),
    "polynomial-4": PolynomialLaw(4),
}
CANARY = 31337.03125


def noise(
    name: str, *, epsilon: Fraction = ONE, step: Fraction = EIGHTH, beta: Fraction | None = None
) -> dp.SmoothNoise:
    kind, _, exponent = name.partition("-")
    pure = kind == "polynomial"
    return dp.SmoothNoise(
        neighbours=REPLACE,
        epsilon=epsilon,
        delta=None if pure else F(1, 1000),
        noise=kind,  # type: ignore[arg-type]
        exponent=int(exponent or 4),
        beta=beta,
        step=step,
    )


# What is drawn.


@pytest.mark.parametrize("name", LAWS)
def test_what_is_released_has_the_law(name: str) -> None:
    """the law of the result is that of the continuous sum, rounded, exactly."""
    mechanism, value, bound, n = noise(name), F(1000, 3), F(5, 7), sized(2_000, 50_000)
    center, scale = real(value * 8), real(mechanism.scale * bound * 8)
    edges = [int(center + scale * mpf(i) / 4) for i in range(-40, 41)]
    check = binned(lambda k: float(TRUTHS[name].below((k - mpf(1) / 2 - center) / scale)), edges, n)

    def draws(made: dp.SmoothNoise, value: Fraction) -> Callable[[int], np.ndarray]:
        return lambda n: np.array([int(made._release(value, bound, system()) * 8) for _ in range(n)])

    wider = dp.SmoothNoise(neighbours=REPLACE, epsilon=F(3, 4), beta=F(1, 100), step=F(1, 8))
    moved = value + mechanism.scale * bound / 4
    check.run(draws(mechanism, value), wrong={"moved": draws(mechanism, moved), "another scale": draws(wider, value)})


# What it costs.


def law_on_grid(truth: Truth, made: dp.SmoothNoise, value: Fraction, bound: Fraction, reach: int) -> list[mpf]:
    floored = max(bound, made.step)
    return list(rounded_masses(truth, real(value / made.step), real(made.scale * floored / made.step), reach))


def neighbours(made: dp.SmoothNoise) -> list[tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]]:
    """Pairs (value, bound) that differ as much as smoothness allows: 10 steps or so apart, stretched either way."""
    ratio = F(str(mp.nstr(mp.exp(real(made.beta)), 15))) * (1 - F(1, 10**12))
    pairs = []
    for stretch in (ratio, F(1), 1 / ratio):
        for bound in (F(1), F(1, 5)):
            other = bound * stretch
            apart = min(bound, other)
            pairs += [((F(0), bound), (sign * apart, other)) for sign in (1, -1)]
    return pairs


def check_price(truth: Truth, made: dp.SmoothNoise, claim: dp.Loss, reach: int) -> mpf:
    """On the worst neighbours, by enumeration in both orders, the loss is what is claimed; returns the worst delta."""
    worst = mpf(0)
    for (f, s), (g, t) in neighbours(made):
        one, other = law_on_grid(truth, made, f, s, reach), law_on_grid(truth, made, g, t, reach)
        for p, q in ((one, other), (other, one)):
            worst = max(worst, told_apart(p, q, real(made.epsilon)))
    assert worst <= real(F(repr(claim.delta(epsilon=made.epsilon))))
    return worst


@pytest.mark.parametrize("name", LAWS)
def test_the_loss_on_the_worst_neighbours(name: str) -> None:
    """epsilon-DP with polynomial noise, and (epsilon, delta)-DP with Laplace or Gaussian noise, for one release."""
    made = noise(name, epsilon=F(2))
    worst = check_price(TRUTHS[name], made, made.loss, sized(60, 600))
    if made.delta:
        assert worst > real(made.delta) / 3  # rounding to an eighth hides the rest
        assert made.loss == dp.Loss.approximate(epsilon=2, delta=F(1, 1000))
    else:
        assert made.loss == dp.Loss.pure(epsilon=2)
    less = broken.replace_step(made, made.step)
    object.__setattr__(less, "scale", made.scale * F(2, 3))
    with pytest.raises(AssertionError):
        check_price(TRUTHS[name], less, made.loss, 60)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_noise_with_a_delta_is_not_pure(name: str) -> None:
    made = noise(name)
    with pytest.raises(AssertionError):
        check_price(TRUTHS[name], made, broken.called_pure(made), 80)


@pytest.mark.parametrize("name", ["polynomial-4", "laplace"])
def test_a_bound_below_one_step_counts_as_one_step(name: str) -> None:
    """A maximum with a constant is as smooth; without it a scale of 0 would publish the value."""
    made = noise(name)
    zero = {made.release(3, 0) for _ in range(200)}
    assert len(zero) > 3
    published = object.__new__(broken.NoFloor)
    for field in dp.SmoothNoise.__slots__:
        object.__setattr__(published, field, getattr(made, field))
    assert {published.release(3, 0) for _ in range(20)} == {3}
    for p in (law_on_grid(TRUTHS[name], made, F(0), F(0), 50),):
        assert p == law_on_grid(TRUTHS[name], made, F(0), made.step, 50)


# What it shows.


def test_the_grid_does_not_depend_on_the_scale() -> None:
    made = noise("polynomial-4", step=F(1, 8))

    def finest(release: Callable[[float, float], float], bound: float) -> int:
        return max(F(release(0.3, bound)).denominator for _ in range(60))

    assert finest(made.release, 1e-3) <= 8
    assert finest(made.release, 1e9) <= 8
    twin = broken.GridOfTheScale(made)
    assert finest(twin.release, 1e-3) > 8
    assert finest(twin.release, 1e9) == 1
    assert finest(twin.release, 1.0) != finest(twin.release, 64.0)


def shown(made: dp.SmoothNoise, value: float, bound: float) -> set[str]:
    """Everything of a release that can be looked at, but for the number itself."""
    answer = made.release(value, bound)
    exact = dp.SmoothExact(value, smooth_sensitivity=bound, beta=made.beta, neighbours=REPLACE, unit="row")
    texts = {repr(made), str(made), repr(made.loss), repr(exact), str(exact), f"{exact}", " ".join(dir(exact))}
    return texts | {type(answer).__name__, repr(made.accuracy(failure_probability=F(1, 20), smooth_sensitivity=100))}


def test_nothing_that_is_shown_depends_on_the_table() -> None:
    made = noise("gaussian")
    assert shown(made, 0.0, 1.0) == shown(made, CANARY, CANARY / 7)
    printed = broken.PrintedScale(made)
    bars = {printed.answer(0.0, bound).split("+-")[1] for bound in (1.0, 2.0)}
    assert len(bars) == 2


def test_messages_hold_no_number_of_the_table() -> None:
    made = noise("gaussian")
    for wrong in (lambda: made.release(CANARY, -CANARY), lambda: made.release(CANARY, math.nan)):
        with pytest.raises(InvalidParameter) as caught:
            wrong()
        assert "31337" not in str(caught.value)


# Accuracy.


@pytest.mark.parametrize("name", LAWS)
def test_the_error_from_a_public_bound(name: str) -> None:
    """P(off by more than alpha) <= failure_probability, where the smooth bound is at most what is stated."""
    made = noise(name)
    for beta in (F(1, 2), F(1, 20), F(1, 10**4)):
        alpha = real(made.accuracy(failure_probability=beta, smooth_sensitivity=F(7, 2)))
        without_rounding = (alpha - real(made.step) / 2) / real(made.scale * F(7, 2))
        assert mp.almosteq(2 * TRUTHS[name].tail(without_rounding), real(beta), 1e-15)
        assert 2 * TRUTHS[name].tail(without_rounding) <= real(beta)


def test_the_error_from_a_bound_that_is_paid_for() -> None:
    made, true = noise("laplace"), F(3)
    paid = dp.ScaleBound(neighbours=REPLACE, beta=made.beta, epsilon=1, step=made.step)
    n, beta = sized(400, 10_000), F(1, 5)

    def misses(factor: float) -> Callable[[int], np.ndarray]:
        def draw(n: int) -> np.ndarray:
            off = []
            for _ in range(n):
                reach = made.accuracy(failure_probability=beta, smooth_sensitivity=paid.release(true))
                off.append(abs(made.release(7, true) - 7) > factor * reach)
            return np.array(off, dtype=np.int64)

        return draw

    share_missed = misses(1.0)(n).mean()
    assert share_missed <= float(beta)
    check = share(lambda off: off == 1, float(beta) / 2, n)
    assert check.p_value(misses(0.2)(n)) < 1e-6  # a fifth of the error is seen to be too little


@pytest.mark.parametrize("name", ["polynomial-4", "laplace"])
def test_the_time_of_a_release_does_not_tell_its_noise(name: str) -> None:
    """QE-04: the digits of Z are drawn a block ahead."""
    made = noise(name, step=F(1, 2**20))
    correlations = (abs(time_and_size(lambda: abs(made.release(0, 1)), 1500)) for _ in range(8))
    assert any(correlation < 0.05 for correlation in correlations)
    assert all(abs(time_and_size(slow_geometric(20), 1500)) > 0.2 for _ in range(2))


def test_the_classical_mechanisms() -> None:
    """epsilon-DP, with the constants of the theorem; (epsilon, delta)-DP, with the constants of the theorem, where the
    exact price confirms it."""
    pure = dp.SmoothNoise.classical_polynomial(neighbours=REPLACE, epsilon=2, exponent=2, step=F(1, 8))
    check_price(TRUTHS["polynomial-2"], pure, dp.Loss.pure(epsilon=2), 80)
    for made, name in (
        (dp.SmoothNoise.classical_laplace(neighbours=REPLACE, epsilon=1, delta=F(1, 1000), step=F(1, 8)), "laplace"),
        (dp.SmoothNoise.classical_gaussian(neighbours=REPLACE, epsilon=1, delta=F(1, 1000), step=F(1, 8)), "gaussian"),
    ):
        check_price(TRUTHS[name], made, dp.Loss.approximate(epsilon=1, delta=F(1, 1000)), 80)
        assert made.scale > noise(name, beta=made.beta).scale


def test_every_release_has_its_own_noise() -> None:
    made = noise("laplace", step=F(1, 2**20))
    draws = [made.release(0, 1) for _ in range(100)]
    assert all(one != other for one, other in pairwise(draws))
