"""`hit_value`: what a noisy value says given that it is a hit, summed over every reading."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.dp.hit_value import HitValue
from discreet.errors import InvalidParameter
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.threshold_truth import chance, mass

F = Fraction


def at_least(v: int, d: int, slope: Fraction) -> mpf:
    """P(V >= v | a hit)."""
    return chance(d - v, slope) / chance(d, slope)


def covered(value: Callable[[int], tuple[float, float]], d: int, slope: Fraction) -> mpf:
    """The chance, given a hit, of a reading whose interval holds d: every reading, summed."""
    reach = max(0, d) + int(60 / slope)
    held = [v for v in range(reach) if value(v)[0] <= d <= value(v)[1]]
    return mp.fsum(mass(v, d, slope) for v in held)


@pytest.mark.parametrize("slope", [F(1, 2), F(1, 10)], ids=str)
def test_the_interval_covers_given_a_hit_and_that_of_the_variance_does_not(slope: Fraction) -> None:
    """Guarantee: `interval` holds the true value with probability at least 1 - failure_probability given that there
    was a hit, whatever the true value is.
    """
    beta = F(1, 5)

    def ours(v: int) -> tuple[float, float]:
        return HitValue(v, 0, slope, F(1)).interval(failure_probability=beta)

    places = [-200, -10, -3, 0, 1, 5, 20, 60]
    chances = [covered(ours, d, slope) for d in places]
    assert min(chances) >= real(1 - beta)
    assert min(chances[-3:]) < real(1 - beta) + mpf("0.06")  # far above, as short as steps allow
    half = float(mp.log(2 / real(beta) - 1) / real(slope))  # that of Z, whether there is a hit or not
    assert min(covered(lambda v: (v - half, v + half + 1), d, slope) for d in places) < mpf("0.01")


def test_the_estimate_has_as_many_readings_above_as_below() -> None:
    slope = F(1, 200)
    for d in (-100, 0, 300, 900):
        middle = min(range(2_000), key=lambda v: abs(at_least(v, d, slope) - mpf(1) / 2))
        estimate = HitValue(middle, 50, slope, F(1)).estimate
        assert estimate is not None
        assert abs(estimate - 50 - d) < 20 * (1 if d > -1 else 3)
    assert HitValue(100, 0, slope, F(1)).estimate is None
    far = HitValue(10**9, 0, F(1), F(1))
    assert far.estimate == 10**9 + 0.5
    assert far.interval(failure_probability=0.01)[0] > 10**9 - 10


def test_the_likelihood_is_the_law_and_the_grid_is_respected() -> None:
    reading = HitValue(7, 40, F(1, 3), F(1, 4))
    assert reading.value == 11.75
    assert abs(reading.likelihood(10.5) - float(mass(7, 2, F(1, 3)))) < 1e-15
    low, high = reading.interval(failure_probability=0.5)
    assert (low * 8) % 2 == 1 == (high * 8) % 2  # half a step beyond the grid, to hold what was snapped


def test_refusals() -> None:
    for junk in (0, 1, -1, float("nan"), True, None):
        with pytest.raises(InvalidParameter):
            HitValue(7, 40, F(1, 3), F(1)).interval(failure_probability=junk)  # type: ignore[arg-type]
