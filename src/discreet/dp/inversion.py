"""Exact draws from a law on the integers, a million at a time: inversion of its cumulative distribution.

A uniform real X in [0, 1) is drawn digit by digit, and the outcome is the number of cumulative probabilities at or
below X. The first 16 bits decide nearly always, by one look-up in a table; the first 64 almost surely; what is still
open draws more bits, against the law evaluated with more digits, until it is decided. So the law of the outcome is
the stated law exactly, and no float takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.randomness import Stream, Words
from discreet.dp.reals import ball, floor_scaled, precision

if TYPE_CHECKING:
    from flint import arb

Integers = NDArray[np.int64]
"""Integers of any width; in the rarest draws, Python integers in an object array."""

_OPEN = -(2**15)  # the entry of a 16-bit cell in which the outcome is not decided
_NARROW = 2**13  # greater labels are Python integers, so that shifting the others by 49 digits fits 64 bits
_FEW = 256  # below it, 64-bit words and a binary search beat the table


class Inversion:
    """A law on the outcomes 0, 1, 2, ... given by its cumulative probabilities, and the label of each outcome.

    Guarantee: `draw` returns `label(i)` with probability cumulative(i) - cumulative(i - 1), exactly; labels are of
      no influence on the law. The caller must ensure that `cumulative` is increasing, reaches 1, and is a ball around
      the true value at every precision. `outcomes` is their number, or None where they never end.
    Source: Knuth, Yao, "The complexity of nonuniform random number generation", 1976.
    """

    def __init__(
        self,
        cumulative: Callable[[int], arb],
        *,
        stored: int,
        outcomes: int | None,
        label: Callable[[int], int],
    ) -> None:
        """Store the first `stored` outcomes as a table; later ones are searched for, one by one, when they occur."""
        self._cumulative, self._outcomes, self._label = cumulative, outcomes, label
        boundaries = stored if outcomes is None else min(stored, outcomes - 1)
        self._floors = _floors(cumulative, boundaries)
        self._labels = [label(i) for i in range(boundaries + 1)]
        self._arrays: tuple[NDArray[np.uint64], Integers] | None = None
        self._table: Integers | None = None

    def draw(self, stream: Stream, count: int) -> Integers:
        """Return `count` independent draws, as 16-bit integers, or Python integers where a label needs them."""
        if count < _FEW:
            words = stream.words(count, 64)
            drawn = self._locate(stream, words)
            words.fill(0)
            return drawn
        words = stream.words(count, 16)
        drawn = self._look_up().take(words)
        undecided = np.flatnonzero(drawn == _OPEN)
        if undecided.size:
            longer = stream.words(undecided.size, 64)
            longer >>= np.uint64(16)
            longer |= words[undecided].astype(np.uint64) << np.uint64(48)
            found = self._locate(stream, longer)
            longer.fill(0)
            drawn = drawn.astype(object) if found.dtype == object else drawn
            drawn[undecided] = found
        words.fill(0)
        return drawn

    def _locate(self, stream: Stream, words: Words) -> Integers:
        """Return the labels of 64-bit words."""
        floors, labels = self._numpy()
        below, at_most = floors.searchsorted(words, "left"), floors.searchsorted(words, "right")
        located = labels[below]
        for place in np.flatnonzero((below < at_most) | (below == floors.size)):
            value = self._settle(stream, int(words[place]), int(below[place]))
            if not -_NARROW < value < _NARROW:
                located = located.astype(object)
            located[place] = value
        return located

    def _settle(self, stream: Stream, word: int, outcome: int) -> int:
        """Return the label of a word that ties with a boundary or lies above all that are stored."""
        bits = 64
        while outcome != self._last():
            with precision(2 * bits + 64):
                boundary = self._cumulative(outcome)
                if ball(word) >= boundary * (1 << bits):
                    outcome += 1
                    continue
                if ball(word + 1) <= boundary * (1 << bits):
                    break
            word, bits = word << 64 | stream.integer(64), bits + 64
        return self._label(outcome)

    def _last(self) -> int | None:
        return None if self._outcomes is None else self._outcomes - 1

    def _numpy(self) -> tuple[NDArray[np.uint64], Integers]:
        if self._arrays is None:
            labels: Sequence[int] = self._labels
            self._arrays = np.array(self._floors, dtype=np.uint64), np.array(labels, dtype=np.int16)
        return self._arrays

    def _look_up(self) -> Integers:
        """Return the label of each 16-bit cell that contains no boundary, and OPEN for the others."""
        if self._table is None:
            floors, labels = self._numpy()
            starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
            below = floors.searchsorted(starts, "left")
            table = labels[below]
            table[below != np.append(below[1:], floors.size)] = _OPEN  # a boundary lies inside the cell
            if self._outcomes is None:
                table[below == floors.size] = _OPEN  # the law goes on beyond what is stored
            self._table = table
        return self._table


def _floors(cumulative: Callable[[int], arb], count: int) -> list[int]:
    """Return the floors of 2^64 times the first `count` cumulative probabilities, each certified."""
    with precision(192):
        guesses = [(cumulative(i) * (1 << 64)).floor().unique_fmpz() for i in range(count)]
    return [
        floor_scaled(partial(cumulative, i), 64) if guess is None else int(guess) for i, guess in enumerate(guesses)
    ]
