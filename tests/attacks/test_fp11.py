"""FP-11: the noise against its exact law, by chi-square at 1e6 draws (`make test-full`) and a significance of 1e-6.

Exactness is proved in test_inversion, test_samplers and test_gaussian_samplers. What is seen here is that the parts run
together on a real stream: fast path, slow path, chunks, signs, low digits, one value after another.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from discreet.dp.gaussian_samplers import GaussianSampler, gaussian_sampler
from discreet.dp.samplers import CHUNK, discrete_laplace
from tests.broken import noise
from tests.closed_forms import mp
from tests.noise_laws import (
    around,
    discrete_below,
    discrete_mass,
    laplace_below,
    laplace_mass,
    real,
    rounded_below,
    rounded_mass,
)
from tests.sizes import sized
from tests.statistics import Draws, binned, chi_square, pairs, share

F = Fraction
N = 1_000_000
SCALAR = sized(20_000, 200_000)
SCALES = [F(1, 2), F(1), F(10), F(10**4), F(10**6), F(10**10)]
SIGMAS = [F(3, 10), F(65, 100), F(1), F(10), F(639, 10), F(641, 10), F(10**4), F(10**6)]
LARGE = [F(10**4), F(10**6), F(10**10)]
LAWS = ["rounded", "discrete"]


def below_laplace(scale: Fraction) -> Callable[[int], float]:
    return lambda k: float(laplace_below(scale, k))


def below_gaussian(sigma: Fraction, law: str) -> Callable[[int], float]:
    return (lambda k: float(rounded_below(sigma, k))) if law == "rounded" else discrete_below(sigma)


def reach(scale: Fraction) -> int:
    return int(8 * scale) + 4


@pytest.mark.parametrize("scale", SCALES)
def test_laplace(scale: Fraction) -> None:
    check = binned(below_laplace(scale), list(around(0, reach(scale), 200)), N)
    wrong = {"scale 1.1 times off": noise.laplace(scale * F(11, 10))}
    if scale <= 10:
        wrong["double zero"] = noise.double_zero(scale)
    if scale <= 1:
        wrong["rounded floats"] = noise.rounded_float_laplace(scale)
    check.run(noise.laplace(scale), wrong=wrong)


@pytest.mark.parametrize("scale", SCALES)
def test_the_sign_of_laplace(scale: Fraction) -> None:
    check = share(lambda draws: draws < 0, below_laplace(scale)(0), N)
    odd = F(51, 100) if scale > 1 else F(55, 100)  # where most values are 0, few have a sign
    check.run(noise.laplace(scale), wrong={f"{odd} positive": noise.sign_bias(noise.laplace(scale), odd)})


@pytest.mark.parametrize("scale", [F(1, 2), F(1), F(10)])
def test_the_zeros_of_laplace(scale: Fraction) -> None:
    check = share(lambda draws: draws == 0, float(laplace_mass(scale, 0)), N)
    check.run(noise.laplace(scale), wrong={"double zero": noise.double_zero(scale)})


@pytest.mark.parametrize("scale", LARGE)
def test_the_low_digits_of_laplace(scale: Fraction) -> None:
    q = mp.exp(-1 / real(scale))
    chances = [float((q**r + q ** (256 - r)) / (1 + q) * (1 - q) / (1 - q**256)) for r in range(256)]
    check = chi_square(lambda draws: draws % 256, chances, N)
    check.run(noise.laplace(scale), wrong={"even": noise.coarse(noise.laplace, scale)})


def test_the_tail_of_laplace_is_not_cut_off() -> None:
    """Sixteen bits give no value a probability below 2^-16: with them nothing lies beyond this one."""
    far = next(a for a in range(1000) if 2 * laplace_below(F(10), -a) <= mp.mpf(2) ** -17)
    n = sized(4_000_000, 16_000_000)
    check = share(lambda draws: np.abs(draws) > far, float(2 * laplace_below(F(10), -far)), n)
    check.run(noise.laplace(F(10)), wrong={"16 bits": noise.sixteen_bits(F(10))})


def bits(draws: Draws) -> Draws:
    """The sign and the three lowest bits."""
    return 8 * (draws < 0) + (draws & 7)


@pytest.mark.parametrize("lag", [1, 2, CHUNK])
def test_values_of_laplace_are_independent(lag: int) -> None:
    scale, right = F(10**6), noise.laplace(F(10**6))
    q = mp.exp(-1 / real(scale))
    plus = [float(q**r * (1 - q) / (1 + q) / (1 - q**8)) for r in range(8)]
    minus = [float(q ** (8 - r) * (1 - q) / (1 + q) / (1 - q**8)) for r in range(8)]
    twin = {1: noise.twice(right), 2: noise.twice, CHUNK: noise.same_chunk(right)}[lag]
    if lag == 2:
        twin = lambda n: np.tile(right(2 * ((n + 3) // 4)).reshape(-1, 2), 2).ravel()[:n]  # noqa: E731
    check = pairs(bits, [*plus, *minus], N, lag=lag)
    wrong = {"drawn once, used twice": twin}
    if lag == 1:
        wrong["sticky low bits"] = noise.sticky(right)
    check.run(right, wrong=wrong)


@pytest.mark.parametrize("scale", [F(1), F(10), F(10**6)])
def test_laplace_one_at_a_time(scale: Fraction) -> None:
    check = binned(below_laplace(scale), list(around(0, reach(scale), 40)), SCALAR)
    right, off = (noise.one_at_a_time(partial(discrete_laplace(scale * f).added_to, 0)) for f in (F(1), F(12, 10)))
    check.run(right, wrong={"scale 1.2 times off": off})


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("law", LAWS)
def test_gaussian(law: str, sigma: Fraction) -> None:
    check = binned(below_gaussian(sigma, law), list(around(0, reach(sigma), 200)), N)
    wrong = {"sigma 1.1 times off": noise.gaussian(sigma * F(11, 10), law)}
    if sigma < 1:
        wrong["the other Gaussian"] = noise.gaussian(sigma, LAWS[law == "rounded"])
    if sigma <= 10:
        wrong["rounded down"] = noise.floored(sigma)
    check.run(noise.gaussian(sigma, law), wrong=wrong)


@pytest.mark.parametrize("sigma", [F(641, 10), F(10**6)])
@pytest.mark.parametrize("law", LAWS)
def test_proposals_of_large_gaussians_are_thinned(law: str, sigma: Fraction) -> None:
    """What is not rejected would be uniform in each cell: seen in the high bits of the place in the cell."""
    cells = GaussianSampler(sigma, law)._cells  # type: ignore[arg-type]
    assert cells is not None
    width, below = 1 << cells._digits, below_gaussian(sigma, law)
    edges = [h * width // 2 for h in range(2 * 24, 2 * 320)]  # halves of outer cells, which weigh unequally
    late = float(sum(below(e + width // 2) - below(e) for e in edges[1::2])) * 2
    n = sized(10_000_000, 20_000_000)

    def in_late_half(draws: Draws) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        size = np.abs(draws)
        return (size >= edges[0]) & (size < 320 * width) & (size % width >= width // 2)

    check = share(in_late_half, late, n)
    check.run(noise.gaussian(sigma, law), wrong={"all accepted": noise.unthinned(sigma, law)})


@pytest.mark.parametrize("sigma", [F(3, 10), F(1), F(10), F(641, 10)])
@pytest.mark.parametrize("law", LAWS)
def test_the_zeros_and_signs_of_gaussians(law: str, sigma: Fraction) -> None:
    zero = float((rounded_mass if law == "rounded" else discrete_mass)(sigma, 0))
    right = noise.gaussian(sigma, law)
    zeros = share(lambda draws: draws == 0, zero, N)
    off = F(11, 10) if sigma < 64 else F(15, 10)
    zeros.run(right, wrong={"sigma off": noise.gaussian(sigma * off, law), "none": lambda n: right(n) | 1})
    signs = share(lambda draws: draws < 0, (1 - zero) / 2, N)
    signs.run(right, wrong={"51 of 100": noise.sign_bias(lambda n: 3 * right(n) - 1, F(51, 100))})


@pytest.mark.parametrize("sigma", [F(10**4), F(10**6)])
@pytest.mark.parametrize("law", LAWS)
def test_the_low_digits_of_gaussians(law: str, sigma: Fraction) -> None:
    """Modulo 256 both laws are uniform, up to exp(-2 pi^2 sigma^2 / 256^2) (Poisson's formula)."""
    assert mp.exp(-2 * (mp.pi * real(sigma) / 256) ** 2) < mp.mpf(10) ** -100
    right = noise.gaussian(sigma, law)
    chi_square(lambda draws: draws % 256, [1 / 256] * 256, N).run(
        right, wrong={"even": noise.coarse(lambda s: noise.gaussian(s, law), sigma)}
    )
    pairs(lambda draws: draws % 16, [1 / 16] * 16, N, lag=1).run(
        right, wrong={"drawn once, used twice": noise.twice(right), "sticky": noise.sticky(right)}
    )
    pairs(lambda draws: draws % 16, [1 / 16] * 16, N, lag=CHUNK).run(right, wrong={"same": noise.same_chunk(right)})


@pytest.mark.parametrize("sigma", [F(1), F(10), F(10**4)])
@pytest.mark.parametrize("law", LAWS)
def test_gaussian_one_at_a_time(law: str, sigma: Fraction) -> None:
    check = binned(below_gaussian(sigma, law), list(around(0, reach(sigma), 40)), SCALAR)
    right, off = (noise.one_at_a_time(partial(gaussian_sampler(sigma * f, law).added_to, 0)) for f in (F(1), F(12, 10)))  # type: ignore[arg-type]
    check.run(right, wrong={"sigma 1.2 times off": off})
