"""FP-03 (Jin, McMurtry, Rubinstein, Ohrimenko, "Are we there yet? Timing and floating-point attacks", 2022).

Gaussian noise in floating point is inverted: by how fine an output is, and by the second normal that Box and Muller's,
Marsaglia's or a ziggurat's state keeps for later. Ours is on a grid, and no draw says anything of the next.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import dp
from discreet.dp.randomness import Stream, system
from tests.attacks.test_fp02 import N, check_precision, events, finer_than
from tests.broken import mechanisms as broken
from tests.statistics import Check, pairs

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
WIDE = dp.Gaussian(sensitivity=ONE, sigma=1000)
MANY = 400_000


@pytest.mark.parametrize("mu", [Fraction(1), Fraction(1, 5)])
def test_how_fine_an_output_is_tells_no_more_than_it_may(mu: Fraction) -> None:
    """Between 0 and 1, at outputs below 1/4, the log ratio of the two laws is at most mu^2 (1/2 + 1/4)."""
    mechanism = dp.Gaussian(sensitivity=ONE, mu=mu)
    step = mechanism.grid(N)
    check_precision(mechanism.release, N, epsilon=float(mu**2 * Fraction(3, 4)), events=events(step))
    outputs = mechanism.release(np.zeros(N))
    assert not finer_than(float(step))(outputs).any()


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_sums_of_floats_are_rejected(sigma: float) -> None:
    step = dp.Gaussian(sensitivity=ONE, sigma=1).grid(N)
    with pytest.raises(AssertionError):
        check_precision(broken.float_gaussian(sigma), N, epsilon=0.75 / sigma**2, events=events(step))


def sizes(n: int) -> Check:
    """Whether the size of one draw, above or below the middle, is independent of the next one's."""
    middle = 674.4897501960817  # of N(0, 1000^2), beyond which lies half of it
    return pairs(lambda draws: (np.abs(draws) > middle).astype(np.int64), [0.5, 0.5], n, lag=1)


def cosine_twice(n: int) -> NDArray[np.int64]:
    """Box and Muller's pair, in which the second normal is made of the same cosine as the first."""
    rng = np.random.default_rng()
    radius, angle = 1000 * np.sqrt(-2 * np.log(rng.random(n // 2))), 2 * np.pi * rng.random(n // 2)
    return np.repeat(np.rint(radius * np.cos(angle)).astype(np.int64), 2) * np.resize([1, -1], n)


def test_one_draw_tells_nothing_of_the_next() -> None:
    check = sizes(MANY)
    wrong = {"the cosine twice": cosine_twice}
    check.run(lambda n: WIDE.release(np.zeros(n, dtype=np.int64)), wrong=wrong)
    check.run(lambda n: np.array([WIDE.release(0) for _ in range(n)]), wrong=wrong)


def test_the_bits_are_a_cipher_s_under_a_key_of_the_operating_system() -> None:
    assert isinstance(system(), Stream)
    assert type(system()._encryptor).__module__.startswith("cryptography.")
    assert Stream()._key() != Stream()._key()
    assert len(Stream()._key()) == 32
