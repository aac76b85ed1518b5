"""What the sparse vector family shares: a stream of values, asked one by one or many at a time, and cut at each hit.

A `Watch` knows how many hits are left and refuses after the last. It has two doors, as every mechanism: plain values
from whoever holds them; and, once it was `opened` with a permit, an `Exact` and nothing else.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp import randomness
from discreet.dp.grid import Steps, exact_sum
from discreet.dp.inversion import Integers
from discreet.dp.laplace import beyond
from discreet.dp.law import smallest
from discreet.dp.loss import Loss
from discreet.dp.mechanism import any_of
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, positive_integer, rational
from discreet.dp.reals import upper
from discreet.dp.samplers import CHUNK
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Answer = TypeVar("Answer")
"""What one question gets."""
Answers = TypeVar("Answers")
"""What many questions get: the answers up to and including the first hit."""

FIRST = 1 << 10  # values tried at once at first, so that an early hit in a long vector is cheap
GROWTH = 4


class Watch(ABC, Generic[Answer, Answers]):
    """Asks an adaptively chosen stream of values whether they lie above a public threshold."""

    threshold: Fraction
    sensitivity: Sensitivity
    step: Fraction
    _miss: Answer

    def __init__(self, *, threshold: Number, sensitivity: Sensitivity, cutoff: int | None, step: Number) -> None:
        """Keep what is public; whoever inherits ends its own constructor with `_begin(None)`."""
        self.threshold = rational(threshold, "threshold")
        self.sensitivity = sensitivity
        self._cutoff = None if cutoff is None else positive_integer(cutoff, "cutoff")
        self._steps, self._apart = on_grid(sensitivity, step)
        self.step = self._steps.step
        self._level = self._steps.above(self.threshold)

    def _begin(self, permit: Permit | None) -> None:
        """Start afresh, for plain values or with a permit for private ones."""
        self._permit, self._hits_left = permit, self._cutoff
        self._process, self._lock = os.getpid(), threading.Lock()

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and "_process" in self.__dict__:
            raise AttributeError(f"{name} is fixed when a watch is made: its noise and its price follow from it.")
        object.__setattr__(self, name, value)

    def opened(self, permit: Permit) -> Self:
        """Return a fresh watch with the same parameters, for values that are `Exact`: it spends from this permit.

        Guarantee: what it owes is taken from the permit before anything is drawn, and plain values are refused.
        """
        if not isinstance(permit, Permit):
            raise InvalidParameter("a watch for private values is opened with a Permit; reserve its loss first.")
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        fresh._begin(permit)
        return fresh

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of the whole stream, as stated when the watch was opened."""

    @abstractmethod
    def _margin(self, excess: int, stream: Stream) -> int:
        """Return the noisy margin of one value that exceeds the threshold by so many steps; from 0 on it is a hit."""

    def _margins(self, excess: Integers, stream: Stream) -> Integers:
        """Return the noisy margins of many values, each with fresh noise."""
        raise AssertionError("every watch defines its margins, or finds its hits without them")

    @abstractmethod
    def _hit(self, excess: int, margin: int, stream: Stream) -> Answer:
        """Return the answer to a hit; the count of hits has been brought up to date."""

    @abstractmethod
    def _together(self, misses: int, hit: Answer | None) -> Answers:
        """Return so many misses and, unless it is None, the hit after them."""

    @abstractmethod
    def _facts(self) -> dict[str, object]:
        """Return what may be shown, beyond threshold and hits left."""

    def _before(self) -> None:
        """Pay for what is about to be drawn."""

    def _missed(self) -> None:
        """Take back what a miss does not cost."""

    @property
    def hits_left(self) -> int | None:
        """How many more hits it may report; None if there is no such limit."""
        return self._hits_left

    @property
    def halted(self) -> bool:
        """Whether it has reported its last hit."""
        return self._hits_left == 0

    def ask(self, value: float | Fraction | Exact) -> Answer:
        """Return the answer for one value, which may depend on all earlier answers."""
        return self._ask(value, -self._level, randomness.system())

    def ask_many(self, values: ArrayLike | Exact, *, start: int = 0) -> Answers:
        """Return the answers for values from `start` on, up to and including the first hit, with the law of `ask`."""
        return self._ask_many(values, -self._level, start, randomness.system())

    def _ask(self, value: float | Fraction | Exact, offset: int, stream: Stream) -> Answer:
        """Return the answer for a value, once it is in steps and the offset (minus the threshold) is added."""
        self._check_process()
        with self._lock:
            self._check_open()
            excess = self._steps.one(cast(int, self._seen(value))) + offset
            self._before()
            margin = self._margin(excess, stream)
            if margin < 0:
                self._missed()
                return self._miss
            self._level_of_hit = -offset
            return self._counted(excess, margin, stream)

    def _ask_many(self, values: ArrayLike | Exact, offset: int | Integers, start: int, stream: Stream) -> Answers:
        """Return the answers for values, given an offset for all or one for each."""
        self._check_process()
        with self._lock:
            self._check_open()
            steps = self._steps.many(cast(ArrayLike, self._seen(values)))
            if not isinstance(offset, int) and offset.shape != steps.shape:
                raise InvalidParameter(f"{offset.size} thresholds for {steps.size} values: give one for each.")
            if not 0 <= start <= steps.size:
                raise InvalidParameter(f"start is a place among the {steps.size} values, from 0 on; got {start}.")
            self._before()
            place, excess, margin = self._first_hit(steps, offset, start, stream)
            if margin < 0:
                self._missed()
                return self._together(place - start, None)
            self._level_of_hit = -(offset if isinstance(offset, int) else int(offset[place]))
            return self._together(place - start, self._counted(excess, margin, stream))

    def _first_hit(self, steps: Integers, offset: int | Integers, start: int, stream: Stream) -> tuple[int, int, int]:
        """Return place, excess and margin of the first hit; the end and a margin below 0 if there is none.

        A growing number of values is tried at a time, and what was drawn beyond the first hit is dropped: it is
        independent of everything before, so fresh noise in its place has the same law.
        """
        size, offsets = FIRST, np.broadcast_to(np.asarray(offset), steps.shape)
        while start < steps.size:
            part = slice(start, start + size)
            excess = exact_sum(steps[part], offsets[part])
            margins = self._margins(excess, stream)
            hits = margins >= 0
            place = int(hits.argmax())
            if hits[place]:
                return start + place, int(excess[place]), int(margins[place])
            start, size = start + excess.size, min(GROWTH * size, CHUNK)
        return int(steps.size), 0, -1

    def _counted(self, excess: int, margin: int, stream: Stream) -> Answer:
        if self._hits_left is not None:
            self._hits_left -= 1
        return self._hit(excess, margin, stream)

    def _check_process(self) -> None:
        if os.getpid() != self._process:  # the parent still has its copy, and both would count the same hits
            raise NotSupported("this watch was opened in another process; open a watch in this one, at its own price.")

    def _check_open(self) -> None:
        if self._hits_left == 0:
            raise NotSupported(
                f"this {type(self).__name__} has halted after its last hit; open another, which costs its own loss."
            )

    def _seen(self, value: object) -> object:
        """Return the plain value behind the door that is open, and refuse at the other."""
        if not isinstance(value, Exact):
            if self._permit is not None:
                raise InvalidParameter(
                    "this watch was opened with a permit and takes an Exact; plain values need none."
                )
            return value
        if self._permit is None:
            raise InvalidParameter("a private value is asked of watch.opened(permit); reserve watch.loss for it first.")
        theirs = value.sensitivity
        if theirs.neighbours is not self.sensitivity.neighbours or theirs.linf > self.sensitivity.linf:
            raise InvalidParameter(
                "the value is more sensitive than this watch expects; build it from its sensitivity."
            )
        return value._value

    def __repr__(self) -> str:
        facts = {"threshold": self.threshold, **self._facts(), "hits_left": self._hits_left}
        return f"{type(self).__name__}({', '.join(f'{name}={fact}' for name, fact in facts.items())})"


def _secret(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(
        "the noise of this threshold is a secret that is never copied or stored: two that share it would tell it. "
        "Open another watch, which costs its own loss; dp.ThresholdTest has no such secret and can be stored."
    )


def together(misses: int, hit: bool | None) -> NDArray[np.bool_]:
    """Return so many times False, and True after them if there was a hit."""
    answers = np.zeros(misses + (hit is not None), dtype=bool)
    answers[misses:] = True
    return answers


def on_grid(sensitivity: Sensitivity, step: Number) -> tuple[Steps, Fraction]:
    """Return the public grid of this step, and how many of its steps one value can move."""
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidParameter("sensitivity is a dp.Sensitivity whose linf bounds how far one value can move.")
    steps = Steps.of(step)
    return steps, steps.apart(sensitivity.linf)


def reach(scale: Fraction, *, failure_probability: Fraction, draws: int = 1) -> int:
    """Return the least a with P(some of so many discrete Laplace draws is beyond a) <= failure_probability."""
    return smallest(lambda a: upper(lambda: any_of(beyond(a, scale), draws)) <= failure_probability)
