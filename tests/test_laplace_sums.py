"""Sums of Laplace noises stay within the bound, one noise nearly reaches it, and normal quantiles do not hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from discreet import dp, release
from discreet.release.laplace_sums import chance_beyond, deviations
from tests.sizes import sized

ALPHA = 1e-6
CELLS = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)


def beyond(t: float, variances: np.ndarray) -> float:
    """The exact chance for independent Laplace noises of different variances, by partial fractions."""
    squares = variances / 2
    parts = [math.prod(b / (b - other) for j, other in enumerate(squares) if j != i) for i, b in enumerate(squares)]
    return float(np.sum(parts * np.exp(-t / np.sqrt(squares))))


def majorised(t: float) -> float:
    """E h of one exponential, h as the proof makes it, by quadrature."""
    turn = t**2 / 3
    end, slope = 2 * stats.norm.sf(math.sqrt(3)), stats.norm.pdf(math.sqrt(3)) * t * turn**-1.5
    before = integrate.quad(lambda v: 2 * stats.norm.sf(t / math.sqrt(v)) * math.exp(-v), 1e-12, turn)[0]
    return float(before + math.exp(-turn) * (end + slope))


def test_no_sum_is_beyond_the_bound_and_one_noise_nearly_is() -> None:
    """It bounds every weighted sum of independent Laplace noises, however many there are, and is above the chance of a
    single one by a tenth at most from t = 2 standard deviations on."""
    source = np.random.default_rng(5)
    for t in (0.5, 1.0, 1.5, 2.0, 2.5, 4.0, 8.0):
        bound = chance_beyond(t)
        assert bound == pytest.approx(min(1.0, majorised(t)), rel=1e-6)
        assert bound >= math.exp(-math.sqrt(2) * t)
        if t >= 2:
            assert bound <= 1.1 * math.exp(-math.sqrt(2) * t)
        for _ in range(200):
            variances = source.dirichlet(np.full(source.integers(2, 6), source.choice([0.3, 1, 3])))
            if np.diff(np.sort(variances)).min() > 1e-2:
                assert beyond(t, variances) <= bound


def test_a_normal_quantile_is_too_small() -> None:
    for chance in (0.05, 0.01, 0.001, 1e-9):
        assert chance_beyond(deviations(chance)) <= chance * (1 + 1e-6)
        normal = -stats.norm.ppf(chance / 2)
        assert math.exp(-math.sqrt(2) * normal) > 1.2 * chance
    assert math.isfinite(deviations(1e-300))


def missed(sigmas: float | None, confidence: float) -> tuple[int, int]:
    """How many cells, measured with Laplace noise, are off by more than their bars, on fresh releases."""
    universe, table = dp.Universe({"a": 30}), np.random.default_rng(3).integers(0, 3000, 30)
    count = asked = 0
    for _ in range(sized(200, 2000)):
        online = release.Interactive(
            universe, table, sensitivity=CELLS, loss=dp.Loss.pure(epsilon=1), questions=100, confidence=confidence
        )
        if sigmas is not None:
            online._sigmas = sigmas
        for place in range(30):
            reply = online.ask(release.where(universe, a=place))
            assert reply.error is not None
            count, asked = count + (abs(reply.value - table[place]) > reply.error), asked + 1
    return count, asked


def test_bars_of_a_pure_budget_hold_as_often_as_they_say() -> None:
    """alpha = 1e-6, n = 6000: bars of 99.9 % are missed 6 times at most; those of a normal law about 66 times."""
    count, asked = missed(None, 0.999)
    assert stats.binom.sf(count - 1, asked, 0.001) > ALPHA
    normal, asked = missed(-float(stats.norm.ppf(0.0005)), 0.999)
    assert stats.binom.sf(normal - 1, asked, 0.001) < ALPHA
