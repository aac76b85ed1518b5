"""Wrong samplers and wrong streams that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian_samplers import GaussianSampler
from discreet.dp.inversion import Integers, Inversion
from discreet.dp.randomness import Stream, Words, system
from discreet.dp.samplers import CHUNK, DiscreteLaplace, discrete_laplace, geometric

Draws = NDArray[np.int64]
Draw = Callable[[int], Draws]

# Tables.


class FloatBoundaries(Inversion):
    """Boundaries computed in floating point: right to 53 bits, and then wrong for good."""

    def __init__(self, right: Inversion) -> None:
        self.__dict__.update(right.__dict__, _arrays=None, _table=None)
        self._floors = [min(int(float(Fraction(f, 2**64)) * 2**64), 2**64 - 1) for f in right._floors]


class TiesGoDown(Inversion):
    """A word that ties with a boundary is taken to lie below it, without more bits."""

    def __init__(self, right: Inversion) -> None:
        self.__dict__.update(right.__dict__, _arrays=None, _table=None)

    def _settle(self, stream: Stream, word: int, outcome: int) -> int:
        return self._label(outcome)


class SixteenBits(Inversion):
    """Sixteen bits decide everything: probabilities are multiples of 2^-16, and the tail is cut off."""

    def __init__(self, right: Inversion) -> None:
        self.__dict__.update(right.__dict__, _arrays=None, _table=None)

    def _look_up(self) -> Integers:
        if self._table is None:
            floors, labels = self._numpy()
            self._table = labels[floors.searchsorted(np.arange(1 << 16, dtype=np.uint64) << np.uint64(48), "left")]
        return self._table


class NarrowLabels(Inversion):
    """Labels of rare outcomes wrap around in 16 bits."""

    def __init__(self, right: Inversion) -> None:
        self.__dict__.update(right.__dict__, _arrays=None, _table=None)

    def _locate(self, stream: Stream, words: Words) -> Integers:
        return super()._locate(stream, words).astype(np.int16)


class LateBits(Inversion):
    """Boundaries compared with `<=` for `<`: off by one word of 64 bits."""

    def __init__(self, right: Inversion) -> None:
        self.__dict__.update(right.__dict__, _arrays=None, _table=None)
        self._floors = [f + 1 for f in right._floors]


# Laws.


def laplace(scale: Fraction) -> Draw:
    """The right one, for comparison."""
    return lambda n: discrete_laplace(scale).draw(system(), n)


def gaussian(sigma: Fraction, law: str) -> Draw:
    """The right one, for comparison."""
    return lambda n: GaussianSampler(sigma, law).draw(system(), n)  # type: ignore[arg-type]


def double_zero(scale: Fraction) -> Draw:
    """A fair sign for a geometric magnitude, without rejecting the pair (minus, 0): zero comes twice as often."""

    def draw(n: int) -> Draws:
        return geometric(system(), scale, n) * np.random.default_rng().choice([-1, 1], n)

    return draw


def sign_bias(right: Draw, positive: Fraction) -> Draw:
    """More signs than half are positive."""
    return lambda n: np.abs(right(n)) * np.where(np.random.default_rng().random(n) < float(positive), 1, -1)


def sixteen_bits(scale: Fraction) -> Draw:
    """Every table of discrete Laplace cut to 16 bits."""
    sampler = DiscreteLaplace(scale)
    sampler._top = SixteenBits(sampler._top)
    sampler._blocks = [(shift, SixteenBits(block)) for shift, block in sampler._blocks]
    return lambda n: sampler.draw(system(), n)


def rounded_float_laplace(scale: Fraction) -> Draw:
    """The continuous law rounded to integers, which is not the discrete law."""
    return lambda n: np.rint(np.random.default_rng().laplace(0, float(scale), n)).astype(np.int64)


def coarse(right_of: Callable[[Fraction], Draw], scale: Fraction) -> Draw:
    """Half the scale, doubled: the right shape, and every value is even."""
    return lambda n: 2 * right_of(scale / 2)(n)


def sticky(right: Draw) -> Draw:
    """The lowest 8 bits of every second value are those of the value before."""

    def draw(n: int) -> Draws:
        drawn = right(n + n % 2)
        drawn[1::2] = (drawn[1::2] & ~255) | (drawn[::2] & 255)
        return drawn[:n]

    return draw


def twice(right: Draw) -> Draw:
    """Every draw is used for two answers."""
    return lambda n: np.repeat(right((n + 1) // 2), 2)[:n]


def same_chunk(right: Draw) -> Draw:
    """Every chunk repeats the first."""
    return lambda n: np.resize(right(min(n, CHUNK)), n)


def unthinned(sigma: Fraction, law: str) -> Draw:
    """Every proposal from the envelope is accepted: uniform within each cell."""
    sampler = GaussianSampler(sigma, law)  # type: ignore[arg-type]
    assert sampler._cells is not None
    cells = sampler._cells
    return lambda n: cells._propose(system(), n)[0]


def floored(sigma: Fraction) -> Draw:
    """The normal law rounded down instead of to the nearest."""
    return lambda n: np.floor(np.random.default_rng().normal(0, float(sigma), n)).astype(np.int64)


def modulo(bound: int) -> Draw:
    """A byte modulo the bound: small numbers come more often."""
    return lambda n: (system().words(n, 8) % bound).astype(np.int64)


def biased_coin(chance: float) -> Draw:
    return lambda n: (np.random.default_rng().random(n) < chance).astype(np.int64)


def one_at_a_time(draw_one: Callable[[Stream], int]) -> Draw:
    """What the scalar path draws."""
    return lambda n: np.array([draw_one(system()) for _ in range(n)], dtype=np.int64)


def slow_geometric(scale: int) -> Callable[[], int]:
    """A geometric variable by coins until the first failure: its time is its size."""
    stream = Stream()

    def draw_one() -> int:
        size = 0
        while stream.integer(32) >= 2**32 // scale:
            size += 1
        return size

    return draw_one


# Streams.

_process = Stream()


def stream_of_the_process() -> Stream:
    """One stream for all threads, and for the children of the process."""
    return _process


_waiting: list[int] = []


def drawn_ahead_for_the_process() -> list[int]:
    """Noise drawn ahead into a list that a child inherits."""
    if len(_waiting) < 600:
        _waiting.extend(discrete_laplace(Fraction(2**51)).draw(system(), 2000).tolist())
    return [_waiting.pop() for _ in range(300)]


class SharedBuffer(Stream):
    """A stream that eight threads use at once: it reads its position, and moves it afterwards."""

    def integer(self, bits: int) -> int:
        size = (bits + 7) // 8
        start = self._position if self._position + size <= len(self._buffer) else 0
        if start == 0:
            self._fill(memoryview(self._buffer))
        number = int.from_bytes(self._buffer[start : start + size], "little")
        time.sleep(0)  # another thread may run
        self._position = start + size
        return number


class Unwiped(Stream):
    """Keystream stays in the buffer after it was used."""

    def integer(self, bits: int) -> int:
        size = (bits + 7) // 8
        if self._position + size > len(self._buffer):
            self._fill(memoryview(self._buffer))
            self._position = 0
        start, self._position = self._position, self._position + size
        return int.from_bytes(self._buffer[start : start + size], "little") >> (8 * size - bits)
