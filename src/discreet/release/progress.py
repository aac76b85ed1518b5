"""How far a long fit is: a line on a terminal, with an estimate of the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many steps are done, and of how many."""

_WIDTH = 30
_QUIET = 0.5  # seconds before a line is shown at all, and
_PAUSE = 0.1  # between two


class ProgressBar:
    """A bar on a terminal; elsewhere, nothing. What it shows is a function of released values and of time.

    >>> import io
    >>> bar = ProgressBar("fit", io.StringIO())  # no terminal
    >>> bar(1, 2)
    """

    __slots__ = ("_clock", "_label", "_shown", "_start", "_stream")

    def __init__(self, label: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._label, self._stream, self._clock = label, sys.stderr if stream is None else stream, clock
        self._start, self._shown = clock(), float("-inf")

    def __call__(self, done: int, steps: int) -> None:
        """Show the bar, unless it was shown just now."""
        now = self._clock()
        finished = done >= steps
        if not self._stream.isatty() or now - self._start < _QUIET:
            return
        if not finished and now - self._shown < _PAUSE:
            return
        self._shown = now
        self._stream.write("\r" + self.line(done, steps, now - self._start) + ("\n" if finished else ""))
        self._stream.flush()

    def line(self, done: int, steps: int, spent: float) -> str:
        """Return the line: what is left is estimated from what the steps so far have taken."""
        full = _WIDTH * min(done, steps) // max(steps, 1)
        left = spent * (steps - done) / done if done else float("nan")
        told = f"about {clock(left)} left" if done else "just begun"
        return f"{self._label} [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{steps}, {told}   "


def clock(seconds: float) -> str:
    """Return a time as people say it.

    >>> clock(75.2), clock(3.4)
    ('1 min 15 s', '3 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
