"""A watch with a secret that lasts from one question to the next: the noise of its threshold.

It owes its full price when that is drawn, and the secret is never written, copied or carried into another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp import stream as windows
from discreet.dp.grid import exact_sum
from discreet.dp.inversion import Integers
from discreet.dp.private import Permit
from discreet.dp.samplers import CHUNK, Sampler
from discreet.dp.stream import Answer, Answers, Watch, _secret, together

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

_NEAR = 1 << 62  # noise in 64 bits lies below it too, so their difference fits 64 bits


class HiddenThreshold(Watch[Answer, Answers]):
    """A watch whose threshold is noisy: one draw is compared with many, so it owes everything when that is drawn.

    Whoever inherits sets both samplers, in steps, before `_begin`.
    """

    _threshold_noise: Sampler
    _query_noise: Sampler

    def _begin(self, permit: Permit | None) -> None:
        super()._begin(permit)
        if permit is not None:
            permit.take(self.loss)
        self._ahead, self._block = np.empty(0, dtype=np.int64), 0
        self._draw_threshold(randomness.system())

    def _draw_threshold(self, stream: Stream) -> None:
        self._rho = self._threshold_noise.added_to(0, stream)

    def _margin(self, excess: int, stream: Stream) -> int:
        return self._query_noise.added_to(excess, stream) - self._rho

    def _first_hit(self, steps: Integers, offset: int | Integers, start: int, stream: Stream) -> tuple[int, int, int]:
        """Return the same by comparing each value with its own bar, T + rho - nu: no comparison can overflow.

        Noise beyond the first hit is kept for the questions to come, of which it is independent.
        """
        size, values = windows.FIRST, steps.astype(object) if steps.dtype == np.uint64 else steps
        while start < values.size:
            noise = self._noise(min(size, values.size - start), stream)
            part = slice(start, start + noise.size)
            bars = self._bars(noise, offset if isinstance(offset, int) else offset[part])
            hits = values[part] >= bars
            place = int(hits.argmax())
            if hits[place]:
                self._used(place + 1)
                start += place
                value, level = int(values[start]), offset if isinstance(offset, int) else int(offset[start])
                return start, value + level, value - int(bars[place])
            self._used(noise.size)
            start, size = start + noise.size, min(windows.GROWTH * size, CHUNK)
        return int(values.size), 0, -1

    def _bars(self, noise: Integers, offset: int | Integers) -> Integers:
        if isinstance(offset, int):
            bar = self._rho - offset
            if noise.dtype == np.int64 and -_NEAR < bar < _NEAR:
                return np.asarray(bar - noise)
            offset = np.array([offset])
        return exact_sum(-exact_sum(noise, offset), np.array([self._rho]))

    def _noise(self, count: int, stream: Stream) -> Integers:
        """Return noise that has not been used, drawn ahead in blocks that grow as it is needed."""
        missing = count - self._ahead.size
        if missing > 0:
            self._block = min(max(missing, 2 * self._block), CHUNK)
            drawn = self._query_noise.draw(stream, max(missing, self._block))
            self._ahead = np.concatenate([self._ahead, drawn]) if self._ahead.size else drawn
        return self._ahead[:count]

    def _used(self, count: int) -> None:
        self._ahead = self._ahead[count:]

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _secret

    def _redraw_threshold(self, stream: Stream) -> None:
        """Draw another threshold after a hit, unless it was the last."""
        if not self.halted:
            self._draw_threshold(stream)


class Cut(HiddenThreshold[bool, NDArray[np.bool_]]):
    """A watch with a hidden threshold that says whether, and nothing else."""

    _miss = False

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool:
        return True

    def _together(self, misses: int, hit: bool | None) -> NDArray[np.bool_]:
        return together(misses, hit)
