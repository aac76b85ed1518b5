"""A stream that hands out chosen bits, and a table whose rare outcomes are within reach. Only tests can use them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet.dp.inversion import Inversion
from discreet.dp.randomness import Stream, Words
from discreet.dp.reals import ball

APART = 5000


class Scripted(Stream):
    """Each request takes the next entry of the script; `then` answers those beyond its end, or they are an error."""

    def __init__(self, *script: ArrayLike, then: Iterable[ArrayLike] = ()) -> None:
        self._script, self._then = list(script), iter(then)
        self.handed_out: list[Words] = []
        self.requests: list[tuple[int, int]] = []

    def _next(self) -> ArrayLike:
        return self._script.pop(0) if self._script else next(self._then)

    def words(self, count: int, bits: int) -> Words:
        wanted: NDArray[np.object_] = np.array(np.broadcast_to(np.asarray(self._next(), dtype=object), count))
        assert all(0 <= int(w) < 1 << bits for w in wanted[:: max(1, count // 64)]), (
            "the script does not fit the request"
        )
        words = wanted.astype(f"<u{bits // 8}")
        self.handed_out.append(words)
        self.requests.append((count, bits))
        return words

    def integer(self, bits: int) -> int:
        number = int(self._next())  # type: ignore[arg-type]
        assert 0 <= number < 1 << bits, "the script does not fit the request"
        self.requests.append((1, bits))
        return number

    @property
    def finished(self) -> bool:
        return not self._script


class Watched(Stream):
    """A true stream that keeps what it handed out, to see whether it was overwritten."""

    def __init__(self) -> None:
        self.handed_out: list[Words] = []
        super().__init__()

    def words(self, count: int, bits: int) -> Words:
        words = super().words(count, bits)
        self.handed_out.append(words)
        return words


def rare_table() -> Inversion:
    """P(outcome > i) = 2^-i / 3, with labels so far apart that a word reaches those beyond 16 bits."""

    def cumulative(i: int) -> arb:
        return 1 - ball(Fraction(1, 3 * 2**i))

    return Inversion(cumulative, stored=3, outcomes=None, label=lambda i: APART * i)


def rare_word(i: int) -> int:
    """A word of 64 bits whose real lies in outcome i of that table: 1 - 2^-i / 2."""
    return 2**64 - 2**63 // 2**i
