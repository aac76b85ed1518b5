"""The grid is public, every output lies on it, and what snapping adds to the sensitivity is paid for."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import dp
from discreet.dp import grid
from discreet.dp.inversion import Integers
from discreet.dp.mechanism import AdditiveNoise
from discreet.dp.randomness import Stream, system
from discreet.dp.samplers import CHUNK, Sampler
from discreet.errors import InvalidParameter
from tests.broken import mechanisms as broken
from tests.sizes import sized

F = Fraction
MOST, LEAST = 2**63 - 1, -(2**63)
ADD = dp.Neighbours.ADD_REMOVE
ONE = dp.Sensitivity.counting(neighbours=ADD)

Reals = NDArray[np.float64]


class Chosen(Sampler):
    """Noise that the test chooses."""

    def __init__(self, *noise: int) -> None:
        self._noise = itertools.cycle(noise)

    def draw(self, stream: Stream, count: int) -> Integers:
        values = list(itertools.islice(self._noise, count))
        wide = any(not -(2**63) <= v < 2**63 for v in values)
        return np.array(values, dtype=object if wide else np.int64)

    def added_to(self, value: int, stream: Stream) -> int:
        return value + next(self._noise)


def add_integers(values: Integers, *noise: int) -> Integers:
    return grid.release_integers(values, Chosen(*noise), system())


class TestIntegers:
    @pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint8, np.uint32, np.int64, np.uint64])
    def test_sums_are_exact(self, kind: type) -> None:
        values = np.array([0, 1, 100], dtype=kind)
        released = add_integers(values, -7, 2**40, 3)
        assert released.dtype == np.int64
        assert released.tolist() == [-7, 2**40 + 1, 103]

    @pytest.mark.parametrize("noise", [-(2**70), LEAST, -(2**62), -5, -1, 0, 1, 5, 2**62, MOST, 2**63, 2**70])
    def test_what_leaves_64_bits_is_clamped(self, noise: int) -> None:
        check_no_wrap(lambda values: add_integers(values, noise), noise)

    def test_wrapping_is_rejected(self) -> None:
        with pytest.raises(AssertionError), np.errstate(over="ignore"):
            check_no_wrap(lambda values: values.astype(np.int64) + np.int64(5), 5)

    def test_unsigned_values_are_not_taken_for_negative_ones(self) -> None:
        assert add_integers(np.array([2**64 - 1, 2**63, 5], dtype=np.uint64), -1).tolist() == [MOST, MOST, 4]

    def test_python_integers_of_any_size_stay_exact(self) -> None:
        values = np.array([2**200, -(2**200), 5], dtype=object)
        assert add_integers(values, 3).tolist() == [2**200 + 3, -(2**200) + 3, 8]


def check_no_wrap(release: Callable[[Integers], Integers], noise: int) -> None:
    values = [LEAST, LEAST + 1, -(2**62), -1, 0, 1, 2**62, MOST - 1, MOST]
    wanted = [min(max(v + noise, LEAST), MOST) for v in values]
    assert release(np.array(values, dtype=np.int64)).tolist() == wanted


AWKWARD = [
    *(0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-300, 0.1, -0.1, 0.5, 1.5, 2.5, -2.5, 1 / 3, math.pi),
    *(
        2.0**31 + 0.5,
        2.0**52 + 1,
        -(2.0**53),
        2.0**62,
        2.0**63,
        -(2.0**80),
        1e22,
        1e300,
        -1e300,
        1.7976931348623157e308,
    ),
]
STEPS = [F(1, 2**60), F(1, 2**20), F(1, 4), F(1), F(1024), F(2) ** 70, F(1, 2**1070)]


def nearest(value: float, step: Fraction, noise: int) -> float:
    """The float nearest to what exact arithmetic gives."""
    exact = (round(Fraction(value) / step) + noise) * step
    try:
        return float(exact)
    except OverflowError:
        return 1.7976931348623157e308 if exact > 0 else -1.7976931348623157e308


class TestReals:
    @pytest.mark.parametrize("noise", [0, 1, -1, 12345, -(2**50), 2**61, 2**62, -(2**70)])
    @pytest.mark.parametrize("step", STEPS)
    def test_sums_on_the_grid_are_exact(self, step: Fraction, noise: int) -> None:
        wanted = [nearest(v, step, noise) for v in AWKWARD]
        for values in ([v] for v in AWKWARD):
            assert grid.release_real(np.array(values), step, Chosen(noise), system()).tolist() == [
                nearest(values[0], step, noise)
            ]
        together = grid.release_real(np.array(AWKWARD), step, Chosen(noise), system())
        assert together.tolist() == wanted
        assert [grid.release_one_real(v, step, Chosen(noise), system()) for v in AWKWARD] == wanted
        assert not np.signbit(together[together == 0]).any()

    def test_random_values_are_snapped_to_the_nearest_and_ties_to_even(self) -> None:
        rng = np.random.default_rng()
        values = np.concatenate([rng.normal(0, 1e3, 2000), rng.integers(-999, 999, 2000) / 8, rng.normal(0, 1e-3, 500)])
        for step in (F(1, 2**20), F(1, 4), F(1)):
            released = grid.release_real(values, step, Chosen(0), system())
            assert released.tolist() == [float(round(F(v) / step) * step) for v in values.tolist()]

    def test_long_vectors_keep_their_order(self) -> None:
        values = np.arange(2 * CHUNK + 5, dtype=np.float64)
        assert np.array_equal(grid.release_real(values, F(1, 2), Chosen(0), system()), values)


MECHANISMS: dict[str, Callable[[], AdditiveNoise]] = {
    "laplace": lambda: dp.Laplace(sensitivity=ONE, epsilon=1),
    "laplace-odd": lambda: dp.Laplace(sensitivity=dp.Sensitivity(l1="1.99999", neighbours=ADD), epsilon="0.07"),
    "laplace-private": lambda: dp.Laplace(sensitivity=ONE, epsilon="1e-6"),
    "gaussian": lambda: dp.Gaussian(sensitivity=ONE, epsilon=1, delta="1e-9"),
    "gaussian-odd": lambda: dp.Gaussian(sensitivity=dp.Sensitivity(l2="1.99999", neighbours=ADD), mu="0.3"),
}


class TestStep:
    @pytest.mark.parametrize("name", MECHANISMS)
    @pytest.mark.parametrize("count", [1, 2, 10, 1000, 10**6])
    def test_the_step_is_a_power_of_two_and_fine(self, name: str, count: int) -> None:
        mechanism = MECHANISMS[name]()
        step = mechanism.grid(count)
        norm, reach = mechanism._norm(count)
        assert step.numerator & (step.numerator - 1) == 0 == step.denominator & (step.denominator - 1)
        assert 1 in (step.numerator, step.denominator)
        by_sensitivity, by_scale = norm / reach / 2**20, mechanism._noise_scale / 2**48
        assert max(by_sensitivity, by_scale) / 2 < step <= max(by_sensitivity, by_scale)
        assert reach * step <= norm
        assert mechanism._scale_in_steps(step, count) < 2**50

    def test_the_step_is_a_function_of_public_facts_alone(self) -> None:
        """The step depends on the sensitivity, the scale of the noise and the number of values, never on a value."""
        assert set(inspect.signature(AdditiveNoise.grid).parameters) == {"self", "count"}
        assert set(inspect.signature(grid.step_for).parameters) == {"norm", "reach", "scale"}

    def test_a_grid_that_would_be_coarser_than_the_sensitivity_is_refused(self) -> None:
        mechanism = dp.Laplace(sensitivity=ONE, epsilon="1e-9")
        assert mechanism.grid(1000) > 0
        with pytest.raises(InvalidParameter):
            mechanism.grid(10**6)
        with pytest.raises(InvalidParameter):
            mechanism.release(np.zeros(10**6))


def check_on_grid(release: Callable[[Reals], Reals], values: Reals, step: Fraction) -> None:
    """Not one output is off the grid."""
    steps = np.ldexp(release(values), -(step.numerator.bit_length() - step.denominator.bit_length()))
    assert int((steps != np.rint(steps)).sum()) == 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_output_is_on_the_public_grid(name: str) -> None:
    mechanism, n = MECHANISMS[name](), sized(200_000, 1_000_000)
    step, rng = mechanism.grid(n), np.random.default_rng()
    for values in (np.zeros(n), rng.normal(0, 1e6, n), rng.random(n) * 1e-9):
        check_on_grid(mechanism.release, values, step)
    check_on_grid(mechanism.release, np.array([1e15 / 3, 1e-300, 1e290] * 100), mechanism.grid(300))


def test_outputs_off_the_public_grid_are_rejected() -> None:
    mechanism, values = MECHANISMS["laplace"](), np.random.default_rng().random(1000) * 1e-6
    step = mechanism.grid(1000)
    check_on_grid(mechanism.release, values, step)
    for wrong in (broken.float_laplace(1.0), broken.grid_of_the_data(1.0), broken.snapped_after(1.0, 2.0**-40)):
        with pytest.raises(AssertionError):
            check_on_grid(wrong, values, step)


def neighbours(norm: Fraction, count: int, step: Fraction, power: int) -> Iterator[tuple[Reals, Reals]]:
    """Pairs as far apart as the sensitivity allows, each value crossing as many rounding boundaries as it can."""
    reach = count if power == 1 else math.isqrt(count - 1) + 1
    each = norm / reach
    unit = F(1, 2**12) * step
    rng = np.random.default_rng(0)
    for start in (F(1, 2) * step - unit, F(-1, 2) * step + unit, step * 1000 + step / 2 - unit):
        moved = start + math.floor(each / unit) * unit
        yield np.full(count, float(start)), np.full(count, float(moved))
        first = np.full(count, float(start))
        alone = first.copy()
        alone[0] = float(start + math.floor(norm / unit) * unit)
        yield first, alone
    for _ in range(50):
        one = np.rint(rng.normal(0, 3, count) / float(unit)) * float(unit)
        shares = rng.dirichlet(np.ones(count)) if power == 1 else rng.normal(size=count)
        move = shares / np.linalg.norm(shares, power) * rng.choice([-1, 1], count)
        yield one, one + np.trunc(move * float(norm) / float(unit) * (1 - 2.0**-40)) * float(unit)


def check_growth(mechanism: AdditiveNoise, count: int) -> None:
    """However neighbours straddle the rounding, the noise covers the steps that they are apart after it."""
    norm, _ = mechanism._norm(count)
    power = 1 if isinstance(mechanism, dp.Laplace) else 2
    step = mechanism.grid(count)
    loss_per_scale = norm / mechanism._noise_scale  # epsilon of Laplace, mu of the Gaussian
    covered = mechanism._scale_in_steps(step, count) * loss_per_scale
    for one, other in neighbours(norm, count, step, power):
        before = [abs(F(a) - F(b)) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
        assert sum(d**power for d in before) <= norm**power, "the search left the neighbourhood"
        snapped = [grid.release_real(v, step, Chosen(0), system()).tolist() for v in (one, other)]
        apart = [abs(F(a) - F(b)) / step for a, b in zip(*snapped, strict=True)]
        assert sum(d**power for d in apart) <= covered**power


@pytest.mark.parametrize("count", [1, 4, 9, 64])
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_grows_by_what_snapping_adds(name: str, count: int) -> None:
    """Real values are snapped to a public grid first, and the scale grows by what snapping can add, so the guarantee
    is the same. Real values are snapped to the grid first, and sigma grows by what snapping can add."""
    check_growth(MECHANISMS[name](), count)


def test_noise_that_does_not_grow_is_rejected() -> None:
    odd = dp.Sensitivity(l1="1.99999", neighbours=ADD)
    check_growth(dp.Laplace(sensitivity=odd, epsilon=1), 9)
    for wrong in (broken.NoGrowth, broken.OneSnap):
        with pytest.raises(AssertionError):
            check_growth(wrong(sensitivity=odd, epsilon=1), 9)
    with pytest.raises(AssertionError):
        check_growth(broken.NoGrowthGaussian(sensitivity=odd, mu=1), 9)
