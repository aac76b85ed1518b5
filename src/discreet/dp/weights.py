"""Weights exp(-rate * gap) of many candidates, certified: the arithmetic under every private selection.

The gap of a candidate is how far its score lies below the best. Scores may be any finite numbers; the weights are
bounded from below and above, by additions, multiplications and divisions only (each correctly rounded), and whatever
those bounds leave open is decided with exact gaps and more digits.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.reals import ball, precision
from discreet.dp.samplers import CHUNK, uniform_below
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream

Scores = NDArray[np.float64]
"""Scores as an array: of floats, of integers, or of fractions in an object array."""
Given = NDArray[np.float64] | NDArray[np.int64] | Sequence[int | float | Fraction]
"""Scores as they may be given."""
Reals = NDArray[np.float64]

_TRIES = 4096  # candidates tried before all are weighed
_FAR = 90.0  # beyond it a weight is known to be below exp(-90) only
_FINE = 64  # entries of the table in one factor of 2
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1") / _FINE  # ln 2 / 64 to 32 bits: its products with integers are exact
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33") / _FINE  # the rest
_MILD = Fraction(2) ** 900  # from its inverse up to it, a rate times a gap is certainly far or near where a float ends
_SLACK = 2.0**-42  # relative: above the error of a weight, 2^-44 (90 times three roundings of its exponent)
_SUMMED = 2.0**-36  # the same for sums of up to CHUNK weights in any order
_BOOLEAN = frozenset({bool, np.bool_})  # which NumPy reads as numbers among numbers
_NO_LIST = "selection takes a list of at least one score."
_NOTHING = 2.0**-129  # above exp(-90)
_WORD = 2.0**-63  # above what the first 64 bits of a coin leave open, and _NOTHING


@dataclass(frozen=True)
class Weights:
    """Weights in (0, 1], the best candidate's being 1, each within a relative 2^-42 of `floats`, or below 2^-129."""

    scores: Scores  # as `_numbers` returns them
    rate: Fraction

    @classmethod
    def of(cls, scores: Given, rate: Fraction) -> Weights:
        """Return the weights of these scores, refused unless all are finite numbers."""
        return cls(_numbers(scores), mild(rate))

    @cached_property
    def floats(self) -> Reals:
        """All weights."""
        weights = np.empty(len(self))
        for start in range(0, len(self), CHUNK):
            part = slice(start, start + CHUNK)
            weights[part] = self._weigh(self.scores[part])
        return weights

    def _weigh(self, scores: Scores) -> Reals:
        with np.errstate(over="ignore", invalid="ignore"):
            return exp_minus(_gaps(self._highest, scores) * float(self.rate))

    def among(self, kept: NDArray[np.bool_]) -> Weights:
        """Return the weights of some of the candidates alone."""
        return Weights(self.scores[kept], self.rate)

    def exact(self, candidate: int) -> arb:
        """Return the ball around one weight at the precision in force."""
        return ball(-self.rate * (self._best - Fraction(_plain(self.scores[candidate])))).exp()

    @cached_property
    def _highest(self) -> np.float64:
        highest: np.float64 = self.scores.max()
        return highest

    @cached_property
    def _best(self) -> Fraction:
        return Fraction(_plain(self._highest))

    def __len__(self) -> int:
        return len(self.scores)

    def draw(self, stream: Stream) -> int:
        """Return a candidate with probability proportional to its weight, exactly.

        Among many candidates, some are tried first: one drawn uniformly and kept with its weight as the probability
        has the wanted law, and where scores are close one of the first is kept.
        """
        if len(self) > _TRIES:
            tried, heads = self._try_some(stream)
            if heads.size:
                return int(tried[heads[0]])
        return self._invert(stream)

    def pick(self, stream: Stream) -> int:
        """Return the first candidate whose coin shows a head, in random order: `permute and flip`, exactly."""
        left = np.arange(len(self))
        if len(self) > _TRIES:
            tried, heads = self._try_some(stream, once=True)
            if heads.size:
                return int(tried[heads[0]])
            left = np.delete(left, tried)  # their coins have been flipped
        flipped = np.concatenate([left[at : at + CHUNK][self._flip(stream, left[at : at + CHUNK])]
                                  for at in range(0, left.size, CHUNK)])  # fmt: skip
        return int(flipped[uniform_below(stream, flipped.size, 1)[0]])  # the first head is a uniform one of all

    def _try_some(self, stream: Stream, *, once: bool = False) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return candidates in random order (each once, if asked), and the places of those whose coin shows a head."""
        tried = uniform_below(stream, len(self), _TRIES)
        if once:
            tried = tried[np.sort(np.unique(tried, return_index=True)[1])]
        return tried, np.flatnonzero(self._flip(stream, tried))

    def _invert(self, stream: Stream) -> int:
        """Return a draw by inversion: the part of the candidates it falls into, then the place in that part."""
        sums = [float(self.floats[start : start + CHUNK].sum()) for start in range(0, len(self), CHUNK)]
        ends = [0.0, *accumulate(sums)]
        word, total = stream.integer(64), ends[-1]
        place, error = word / 2**64 * total, (_SUMMED + 2.0**-48) * total + len(self) * _NOTHING
        chunk = min(bisect_right(ends, place), len(sums)) - 1
        start, below = chunk * CHUNK, ends[chunk]
        inside = np.cumsum(self.floats[start : start + CHUNK])
        found = int(np.searchsorted(inside, place - below, "right"))
        left = place - below - (inside[found - 1] if found else 0.0)
        if found < inside.size and error < left < self.floats[start + found] - error:
            return start + found
        bits = 64
        while (candidate := self._locate(word, bits)) is None:
            word, bits = word << 64 | stream.integer(64), bits + 64
        return candidate

    def _locate(self, word: int, bits: int) -> int | None:
        """Return the candidate that a uniform number in [word, word + 1) / 2^bits falls on, if that is certain."""
        with precision(2 * bits + 64):
            weights = [self.exact(i) for i in range(len(self))]
            total = sum(weights[1:], start=weights[0])
            below, place = total - total, ball(Fraction(word, 1 << bits)) * total
            end = ball(Fraction(word + 1, 1 << bits)) * total
            for candidate, weight in enumerate(weights):
                above = below + weight
                if below <= place and (end <= above or candidate == len(weights) - 1):
                    return candidate
                below = above
        return None

    def _flip(self, stream: Stream, candidates: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return independent coins, each True with the weight of its candidate as its probability, exactly."""
        weights, words = self._weigh(self.scores[candidates]), stream.words(candidates.size, 64)
        coins = words * 2.0**-64  # to 53 bits, correctly rounded
        slack = _SLACK * weights + _WORD
        heads = coins < weights - slack
        for i in np.flatnonzero(~heads & (coins <= weights + slack)):
            heads[i] = self._flip_one(stream, int(candidates[i]), int(words[i]))
        words.fill(0)
        return heads

    def _flip_one(self, stream: Stream, candidate: int, word: int) -> bool:
        bits = 64
        while True:
            with precision(2 * bits + 64):
                weight = self.exact(candidate) * (1 << bits)
                if ball(word + 1) <= weight:
                    return True
                if ball(word) >= weight:
                    return False
            word, bits = word << 64 | stream.integer(64), bits + 64


def mild(rate: Fraction) -> Fraction:
    """Return a rate, refused if products with it may leave the range of a float unnoticed."""
    if not 1 / _MILD <= rate <= _MILD:
        raise InvalidParameter("epsilon is too far from the sensitivity of a score: their ratio is out of range.")
    return rate


def _numbers(scores: Given) -> NDArray[np.float64]:
    """Return scores as an array of floats, of integers, or of fractions where neither holds them."""
    if isinstance(scores, np.ma.MaskedArray):
        raise InvalidParameter("selection refuses masked scores: leave candidates without a score out.")
    if isinstance(scores, list) and all(type(score) is float for score in scores):
        scores = np.array(scores)
    try:
        array = np.asarray(scores)
    except ValueError:  # lists of different lengths
        raise InvalidParameter(_NO_LIST) from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(_NO_LIST)
    if not hasattr(scores, "__array__") and (array.dtype.kind == "f" or not _BOOLEAN.isdisjoint(map(type, scores))):
        array = np.array([_plain(score) for score in scores], dtype=object)  # NumPy may have rounded an integer
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise InvalidParameter("selection refuses scores that are NaN or infinite.")
        return array.astype(np.float64, copy=False)
    if array.dtype.kind in "iu":
        return array.astype(np.uint64 if array.dtype.kind == "u" else np.int64, copy=False)
    if array.dtype.kind == "O":
        plain = [_plain(score) for score in array]
        if not all(math.isfinite(score) for score in plain if isinstance(score, float)):
            raise InvalidParameter("selection refuses scores that are NaN or infinite.")
        return np.array([Fraction(score) for score in plain], dtype=object)
    raise InvalidParameter("selection takes whole numbers, real numbers or fractions as scores.")


def _plain(score: object) -> int | float | Fraction:
    item = getattr(score, "item", None)  # a NumPy scalar is the Python number that it holds
    value = item() if callable(item) else score
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InvalidParameter("selection takes whole numbers, real numbers or fractions as scores.")
    return value


def _gaps(best: np.float64, part: Scores) -> Reals:
    """Return how far each score lies below the best, correctly rounded; infinite if that is beyond a float."""
    if part.dtype.kind == "f":
        return np.asarray(best - part, dtype=np.float64)
    if part.dtype.kind in "iu":
        return (best - part).view(np.uint64).astype(np.float64)  # a difference that wrapped is right when unsigned
    return np.array([_as_float(gap) for gap in best - part])


def _as_float(gap: Fraction) -> float:
    try:
        return float(gap)
    except OverflowError:
        return math.inf


@lru_cache(maxsize=1)
def _table() -> Reals:
    """Return 2^(-n / 64), each the nearest float."""
    with precision(128):
        root = (-ball(2).log() / _FINE).exp()
        return np.array([float((root**n).mid()) for n in range(int(_FAR * _FINE / math.log(2)) + 2)])


def exp_minus(x: Reals) -> Reals:
    """Return exp(-x) for x >= 0 within a relative 2^-50, if x is exact, up to 90; 0 beyond."""
    near = x <= _FAR
    if not near.any():
        return np.zeros(x.size)
    few = near.sum() < x.size // 4
    inside = x[near] if few else np.minimum(x, _FAR)
    n = np.rint(inside * (_FINE / math.log(2)))
    r = inside - n * _LN2_HIGH
    r -= n * _LN2_LOW  # |r| <= ln 2 / 128: six terms leave 2^-54
    power = 1.0 - r * (1.0 - r * (0.5 - r * (1 / 6 - r * (1 / 24 - r * (1 / 120)))))
    power *= _table().take(n.astype(np.intp))
    if few:
        weights = np.zeros(x.size)
        weights[near] = power
        return weights
    return np.where(near, power, 0.0)
