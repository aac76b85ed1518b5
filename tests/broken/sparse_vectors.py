"""Wrong sparse vectors that were published, or that one would really write. Each must fail the check that ours passes.

The six of Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy", 2017, come first: two
of them are right. All claim epsilon for values that move by 1, with c hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet import dp
from discreet.dp.hidden_threshold import HiddenThreshold
from discreet.dp.inversion import Integers
from discreet.dp.randomness import Stream
from tests.streams import Answers, Scales, Values

Case = tuple[Values, Values, Answers, int]


def v1(epsilon: Fraction, cutoff: int) -> Scales:
    """Theirs: right. Half of epsilon for the threshold, half for the values; the threshold is drawn once."""
    return Scales(2 / epsilon, 4 * cutoff / epsilon)


def v2(epsilon: Fraction, cutoff: int) -> Scales:
    """Dwork and Roth 2014: right. The threshold is redrawn after each hit."""
    return Scales(2 * cutoff / epsilon, 4 * cutoff / epsilon, redraw=True)


def v3(epsilon: Fraction, cutoff: int) -> Scales:
    """Roth's notes of 2011: a hit is answered by the noisy value that was compared."""
    return Scales(2 / epsilon, 2 * cutoff / epsilon, compared=True)


def v4(epsilon: Fraction, cutoff: int) -> Scales:
    """Lee and Clifton 2014: a quarter for the threshold; the noise of the values does not know of c."""
    return Scales(4 / epsilon, 4 / (3 * epsilon))


def v5(epsilon: Fraction, cutoff: int) -> Scales:
    """Stoddard, Chen, Machanavajjhala 2014: no noise on the values, and no cut-off."""
    return Scales(2 / epsilon, None)


def v6(epsilon: Fraction, cutoff: int) -> Scales:
    """Chen, Xiao, Zhang, Xu 2015: no cut-off."""
    return Scales(2 / epsilon, 2 / epsilon)


# Cases that show what is wrong with them, at a threshold of 0.


def misses_then_value(count: int) -> Iterator[Case]:
    """V3: misses of values that rise, then a value that tells how low the noisy threshold is."""
    yield (0,) * count + (0,), (1,) * count + (0,), (False,) * count + (0,), 0


def one_below_another() -> Iterator[Case]:
    """V5: values that change places; one order is impossible."""
    yield (0, 1), (1, 0), (False, True), 0


def misses_then_hits(count: int) -> Iterator[Case]:
    """V6: as many hits as misses, values that move apart."""
    yield (0,) * 2 * count, (1,) * count + (-1,) * count, (False,) * count + (True,) * count, 0


# Mistakes in the noise.


def query_noise_halved(epsilon: Fraction) -> Scales:
    """AboveThreshold with Lap(2 / epsilon) for both: 3/2 epsilon."""
    return Scales(2 / epsilon, 2 / epsilon)


def threshold_without_noise(epsilon: Fraction) -> Scales:
    """Every miss then costs as much as a hit."""
    return Scales(None, 4 / epsilon)


def not_shared(epsilon: Fraction) -> Scales:
    """Sparse in which every run has the whole epsilon: c epsilon. It is also AboveThreshold restarted for free."""
    return Scales(2 / epsilon, 4 / epsilon, redraw=True)


def compared_value_told(watch: dp.SparseVector) -> Scales:
    """The noisy value itself, taken to be as free as the gap."""
    return Scales(watch._threshold_noise.scale, watch._query_noise.scale, compared=True)


# Mistakes in the code.


class ThresholdKept(dp.Sparse):
    """The threshold is not redrawn after a hit."""

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool:
        return True


class OneHitMore(dp.Sparse):
    """Counts before it halts, and compares with the cut-off after."""

    def _begin(self, permit: dp.Permit | None) -> None:
        super()._begin(permit)
        self._hits_left = self.cutoff + 1


class OneHitLess(dp.Sparse):
    """Halts before the c-th hit is answered: it is answered by a miss."""

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool:
        super()._hit(excess, margin, stream)
        return not self.halted


class RedrawnOnEveryMiss(dp.Sparse):
    """The threshold is fresh for each value, as if misses were paid for."""

    def _margin(self, excess: int, stream: Stream) -> int:
        self._draw_threshold(stream)
        return super()._margin(excess, stream)


class StrictlyAbove(dp.SparseVector):
    """Equal is not above."""

    def _margin(self, excess: int, stream: Stream) -> int:
        return super()._margin(excess, stream) - 1

    def _bars(self, noise: Integers, offset: int | Integers) -> Integers:
        return super()._bars(noise, offset) + 1


class OneNoiseForAll(dp.SparseVector):
    """One draw for a chunk of values."""

    def _noise(self, count: int, stream: Stream) -> Integers:
        return np.full(count, int(self._query_noise.draw(stream, 1)[0]))

    def _used(self, count: int) -> None:
        pass


class NoiseUsedAgain(dp.SparseVector):
    """Noise that was used is not forgotten, and the next values get it again."""

    def _used(self, count: int) -> None:
        pass


class NoiseOfHitKept(dp.SparseVector):
    """The noise of a hit is left for the value after it."""

    def _used(self, count: int) -> None:
        super()._used(count - 1)


class HighestOfChunk(dp.SparseVector):
    """Reports the highest of a chunk where it should report the first."""

    def _first_hit(self, steps: Integers, offset: int | Integers, start: int, stream: Stream) -> tuple[int, int, int]:
        values = steps[start:]
        margins = values - self._bars(self._noise(values.size, stream), offset)
        place = int(margins.argmax())
        self._used(place + 1)
        return (start + place if margins[place] >= 0 else steps.size, int(values[place] + offset), int(margins[place]))


class GapWithoutThresholdNoise(dp.SparseVector):
    """Tells how far the noisy value is above the public threshold: what was compared, where the gap was to be told."""

    def _hit(self, excess: int, margin: int, stream: Stream) -> dp.Gap:
        return dp.Gap(margin + self._rho, self._level_of_hit, self.gap_law, self.step)


class ComparedNoiseTold(dp.NumericSparse):
    """The value with the noise that was compared, in place of fresh noise."""

    def _hit(self, excess: int, margin: int, stream: Stream) -> int | float:
        told = margin + self._rho + self._level_of_hit
        self._redraw_threshold(stream)
        return told


class Stored(dp.SparseVector):
    """Can be stored with its secret: each copy reports c hits against one threshold."""

    def stored(self) -> HiddenThreshold:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy


class LastReservationOnly(dp.PrivacyFilter):
    """Forgets what another stream has reserved."""

    def reserve(self, loss: dp.Loss, *, settlement: dp.Settlement = dp.Settlement.FULL) -> dp.Permit:
        permit = super().reserve(loss, settlement=settlement)
        self.spent = permit.reserved
        return permit
