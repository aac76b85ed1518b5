"""The private test of an online mechanism: is the model's answer to this question off by more than a threshold?

Budgets of epsilon and delta pay for the hits of logistic coins, one by one. Budgets in epsilon alone or in rho cannot,
and use the standard sparse vector, which owes all of its price when it is opened.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.dp.logistic import check_slope, coin
from discreet.dp.loss import Loss, Pure
from discreet.dp.rational import Number, probability
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.standard_sparse_vector import SparseVector
from discreet.dp.threshold_calibration import width
from discreet.dp.threshold_loss import ThresholdHit

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

_ROUNDING = 1.5  # counts: the estimate is rounded by up to a half, the distance down by less than one


class Gate(ABC):
    """Says of whole numbers that move by at most `apart` whether they look to be at or above a public threshold."""

    threshold: int

    @property
    @abstractmethod
    def loss_of_hit(self) -> Loss:
        """What each hit costs; a miss is free."""

    @abstractmethod
    def is_above(self, value: int, stream: Stream) -> bool:
        """Return whether a private value looks to be at or above the threshold."""

    @abstractmethod
    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha: but for this chance every hit has a value >= T - alpha, and every miss one < T + alpha."""

    @abstractmethod
    def bar(self, failure_probability: Number) -> float:
        """Return how large a value may be after a miss: from here on, a miss has at most this chance."""

    @property
    def stored(self) -> bool:
        """Whether it can go on after a restart: a hidden threshold is never written down."""
        return True


@final
class LogisticGate(Gate):
    """Coins that are hits with probability 1 / (1 + exp(-slope (value - T) / apart)), fresh for every question.

    Guarantee: for whole numbers that move by at most `apart`, a hit costs eta(a, slope) / (a - 1) at the order a of a
      budget and a miss nothing, as of `dp.ThresholdTest`. The caller must ensure that the price of a hit is taken
      before a coin is flipped, and that it is given back only when no more coins follow.
    Source: `docs/proofs/threshold-test.md`.

    >>> from discreet.dp.randomness import system
    >>> LogisticGate(threshold=500, slope=Fraction(1, 50), apart=1).is_above(10_000, system())
    True
    """

    def __init__(self, *, threshold: int, slope: Fraction, apart: int) -> None:
        self.threshold, self.slope, self._apart = threshold, slope, apart
        self._each = slope / apart
        check_slope(self._each)

    @property
    def loss_of_hit(self) -> Loss:
        """The loss of one hit."""
        return ThresholdHit(self.slope)

    def is_above(self, value: int, stream: Stream) -> bool:
        """Flip one coin."""
        return coin(stream, value - self.threshold, self._each)

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return ln(2 K / beta) apart / slope, rounded up."""
        return width(questions, failure_probability) / self._each

    def bar(self, failure_probability: Number) -> float:
        """Return the least value at which a miss has at most this chance: T + ln(1 / beta - 1) apart / slope."""
        beta = float(probability(failure_probability, "failure_probability"))
        return self.threshold + max(0.0, math.log(1 / beta - 1)) / float(self._each) + _ROUNDING


@final
class SparseGate(Gate):
    """The standard sparse vector: one hidden threshold, and so many hits, all owed when it is opened.

    Guarantee: `epsilon`-DP for all questions together, as `dp.SparseVector`. The caller must ensure that it is paid
      before this is made.
    Source: Lyu, Su, Li, 2017, Algorithm 7.
    """

    def __init__(self, *, threshold: int, epsilon: Fraction, hits: int, sensitivity: Sensitivity) -> None:
        self.threshold = threshold
        self._watch = SparseVector(threshold=threshold, cutoff=hits, sensitivity=sensitivity, epsilon=epsilon)

    @property
    def loss_of_hit(self) -> Loss:
        """Nothing more."""
        return Pure(Fraction(0))

    @property
    def halted(self) -> bool:
        """Whether it has reported its last hit."""
        return self._watch.halted

    @property
    def stored(self) -> bool:
        """It is not: another run would need another threshold, at its price."""
        return False

    def is_above(self, value: int, stream: Stream) -> bool:
        """Compare a noisy value with the hidden threshold."""
        return bool(self._watch.ask(value))

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return that of the watch."""
        return self._watch.accuracy(failure_probability=failure_probability, questions=questions)

    def bar(self, failure_probability: Number) -> float:
        """Return the threshold and what the noise of one comparison reaches."""
        return self.threshold + float(self.accuracy(failure_probability=failure_probability, questions=1)) + _ROUNDING
