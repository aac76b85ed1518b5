"""The mean of independent draws: how far off it is, by summation over all outcomes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.engine.combined import MOST_DRAWS, PARTS, Averaged, Noise, averaged

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
CHANCES = [Fraction(1, 20), Fraction(1, 3), Fraction(1, 1000)]


def laplace(scale: object) -> dp.Laplace:
    return dp.Laplace(sensitivity=ONE, scale=scale)  # type: ignore[arg-type]


def normal(sigma: object) -> dp.Gaussian:
    return dp.Gaussian(sensitivity=ONE, sigma=sigma)  # type: ignore[arg-type]


def probabilities(noise: Noise) -> dict[int, float]:
    """The law of one draw, out to where what is left is below 1e-9."""
    if isinstance(noise, dp.Laplace):
        q = math.exp(-1 / float(noise.scale))
        reach = math.ceil(21 * float(noise.scale))
        return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)}
    sigma = float(noise.sigma) * math.sqrt(2)
    reach = math.ceil(7 * float(noise.sigma)) + 1
    return {z: (math.erf((z + 0.5) / sigma) - math.erf((z - 0.5) / sigma)) / 2 for z in range(-reach, reach + 1)}


def beyond(law: Averaged, steps: int) -> float:
    """P(the rounded mean of fresh draws is off by more than so many steps), by summation."""
    whole = PARTS**2
    total, chances = np.zeros(1, dtype=np.int64), np.ones(1)
    for noise, weight in law.draws:
        draws = probabilities(noise)
        total = np.add.outer(total, int(weight * whole) * np.array(list(draws))).ravel()
        chances = np.multiply.outer(chances, np.array(list(draws.values()))).ravel()
    return float(chances[abs((2 * total + whole) // (2 * whole)) > steps].sum())


def mean(*laws: Noise) -> Averaged:
    """The mean of draws of these laws, one after the other, as if it were always better than each alone."""
    whole = Averaged(((laws[0], Fraction(1)),))
    for fresh in laws[1:]:
        found = averaged(whole, fresh)
        assert found is not None
        whole = found[0]
    return whole


MEANS = [
    mean(laplace(10), laplace(5)),
    mean(laplace(6), laplace(6)),
    mean(laplace(9), laplace(Fraction(17, 2))),
    mean(normal(10), normal(5)),
    mean(normal(7), normal(6)),
    mean(laplace(4), laplace(4), laplace(3)),
    mean(normal(9), normal(8), normal(6)),
]


@pytest.mark.parametrize("law", MEANS, ids=str)
@pytest.mark.parametrize("chance", CHANCES)
def test_the_mean_is_off_by_more_no_oftener_than_is_said(law: Averaged, chance: Fraction) -> None:
    steps = law.accuracy(failure_probability=chance)
    assert steps.denominator == 1
    assert beyond(law, int(steps)) <= chance


@pytest.mark.parametrize("law", MEANS, ids=str)
def test_what_is_said_is_near_the_least(law: Averaged) -> None:
    """Rounding may cost two steps, and no more."""
    steps = int(law.accuracy(failure_probability=CHANCES[0]))
    assert beyond(law, steps - 3) > CHANCES[0]


def test_a_draw_that_is_counted_twice_is_seen() -> None:
    """The twin: the mean of a release with itself has its error, whatever independent draws would have."""
    law = mean(laplace(6), laplace(6))
    steps = int(law.accuracy(failure_probability=CHANCES[0]))
    again = sum(chance for z, chance in probabilities(laplace(6)).items() if abs(z) > steps)
    assert again > 2 * CHANCES[0]


def test_weights_are_those_of_inverse_variance() -> None:
    law = mean(normal(3000), normal(1000))
    assert [float(weight) for _, weight in law.draws] == pytest.approx([0.1, 0.9], abs=1e-4)
    assert law.variance == pytest.approx(1 / (1 / 3000**2 + 1 / 1000**2), rel=1e-4)
    three = mean(normal(3000), normal(1000), normal(500))
    assert three.variance == pytest.approx(1 / (1 / 3000**2 + 1 / 1000**2 + 1 / 500**2), rel=1e-4)
    assert sum(weight for _, weight in three.draws) == 1


@pytest.mark.parametrize("kind", [laplace, normal])
def test_large_scales_are_those_of_the_limit(kind: object) -> None:
    """Where a step is nothing: a normal mean has sigma / sqrt(2), one of two Laplace draws another tail."""
    scale = 10**9
    steps = float(mean(kind(scale), kind(scale)).accuracy(failure_probability=CHANCES[0]))  # type: ignore[operator]
    if kind is normal:
        assert steps == pytest.approx(1.959964 * scale / math.sqrt(2), rel=2e-3)
    else:
        x = 2 * steps / scale
        assert (1 + x / 2) * math.exp(-x) == pytest.approx(0.05, rel=5e-3)


def test_a_mean_that_is_no_better_for_sure_is_not_made() -> None:
    assert averaged(laplace(1000), laplace(Fraction(1, 2))) is None
    assert averaged(normal(10**6), normal(1)) is None
    assert averaged(laplace(8), normal(7)) is None
    law = mean(*(laplace(50 - n) for n in range(MOST_DRAWS)))
    assert averaged(law, laplace(20)) is None
    assert len(law.draws) == MOST_DRAWS
