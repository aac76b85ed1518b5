"""Randomised response: privacy that the respondent applies, before anyone else has the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers, Inversion
from discreet.dp.law import Law
from discreet.dp.loss import Loss, Pure
from discreet.dp.mechanism import Mechanism, Values
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact
from discreet.dp.rational import Number, float_up, positive, positive_integer, probability, rational
from discreet.dp.reals import ball, upper
from discreet.dp.samplers import bernoulli, uniform_below
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream

_NOISELESS = 44  # at a larger epsilon an answer would be false with probability below 2^-63: no protection at all


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased estimate, for instance of the share of each answer, with an interval that covers the truth."""

    value: float | Reals
    lower: float | Reals
    upper: float | Reals
    confidence: float

    @property
    def error(self) -> float | Reals:
        """Half the width of the interval."""
        return (self.upper - self.lower) / 2


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Tell the truth with probability `truth`, and otherwise say one of `choices` answers at random.

    Guarantee: each respondent's report of one answer is epsilon-DP in that answer (relation: replace), with
      e^epsilon = (p + (1 - p) / k) / ((1 - p) / k), so ln((1 + p) / (1 - p)) for two choices and ln 3 for a fair coin;
      it is tight. A respondent who reports `answers` answers has `answers` times that loss, whatever the answers.
    Source: Warner, "Randomized response", 1965; Kairouz, Bonawitz, Ramage, 2016 (k choices).

    >>> coin = RandomizedResponse(truth=0.5)
    >>> round(coin.loss.epsilon(delta=0), 6)  # ln 3
    1.098612
    """

    truth: Fraction | None
    stated_epsilon: Fraction | None
    choices: int
    answers: int

    def __init__(
        self, *, truth: Number | None = None, epsilon: Number | None = None, choices: int = 2, answers: int = 1
    ) -> None:
        if (truth is None) == (epsilon is None):
            raise InvalidParameter("RandomizedResponse takes exactly one of truth= and epsilon=.")
        k = positive_integer(choices, "choices")
        if not 2 <= k <= 2**31:
            raise InvalidParameter(f"choices lies between 2 and 2^31; got {choices!r}.")
        share = None if truth is None else rational(truth, "truth")
        if share is not None and not (share >= 0 and share * 2**62 <= 2**62 - k):
            raise InvalidParameter("truth is at least 0 and below 1 - 2^-62 k: nearer to 1, nobody is protected.")
        each = None if epsilon is None else positive(epsilon, "epsilon") / positive_integer(answers, "answers")
        if each is not None and each > _NOISELESS:
            raise InvalidParameter(f"epsilon is at most {_NOISELESS} for each answer: beyond, nobody is protected.")
        object.__setattr__(self, "truth", share)
        object.__setattr__(self, "stated_epsilon", each)
        object.__setattr__(self, "choices", k)
        object.__setattr__(self, "answers", positive_integer(answers, "answers"))

    @property
    def sensitivity(self) -> Sensitivity:  # type: ignore[override]
        """As many answers may change as a report has; one that changes moves by at least 1."""
        return Sensitivity(l1=self.answers, neighbours=Neighbours.REPLACE)

    @property
    def epsilon(self) -> Fraction:
        """The loss of one answer, rounded up where it is a logarithm."""
        if self.stated_epsilon is not None:
            return self.stated_epsilon
        assert self.truth is not None
        if self.truth == 0:
            return Fraction(0)
        odds = 1 + self.choices * self.truth / (1 - self.truth)
        return upper(lambda: ball(odds).log())

    @property
    def loss(self) -> Loss:
        """The loss of one respondent's whole report."""
        return Pure(self.epsilon * self.answers)

    def honest(self) -> arb:
        """Return the ball around the probability that the report is the true answer."""
        if self.truth is not None:
            return ball(self.truth + (1 - self.truth) / self.choices)
        assert self.stated_epsilon is not None
        return 1 / (1 + (self.choices - 1) * ball(-self.stated_epsilon).exp())

    def law(self, value: int) -> Law:
        """Return the exact law of one report of this answer."""
        if not 0 <= value < self.choices:
            raise InvalidParameter(f"answers are whole numbers from 0 to {self.choices - 1}.")

        def mass(outcome: int) -> arb:
            return self.honest() if outcome == value else (1 - self.honest()) / (self.choices - 1)

        return Law(value, mass, lambda _: 1 - self.honest(), support=range(self.choices))

    def release(self, values: Values) -> Values:
        """Return one report for each answer; answers are 0, 1, ..., choices - 1 (or booleans, for two choices)."""
        if isinstance(values, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(values, randomness.system())

    def _release(self, values: Values, stream: Stream) -> Values:
        array = np.asarray(values)
        if array.dtype.kind not in "iub" or (
            array.size and not 0 <= int(array.min()) <= int(array.max()) < self.choices
        ):
            raise InvalidParameter(f"answers are whole numbers from 0 to {self.choices - 1}.")
        kept = self._honest_coins(stream, array.size).reshape(array.shape)
        truth = array.astype(np.int64)
        moved = truth + 1
        if self.choices > 2:
            moved += uniform_below(stream, self.choices - 1, array.size).reshape(array.shape)
        reports = np.where(kept, truth, moved % self.choices)
        return int(reports) if reports.ndim == 0 else reports

    def _honest_coins(self, stream: Stream, count: int) -> NDArray[np.bool_]:
        if self.truth is not None:
            return bernoulli(stream, self.truth + (1 - self.truth) / self.choices, count)
        return _honest_coin(self).draw(stream, count).astype(bool)

    def accuracy(self, *, failure_probability: Number, respondents: int) -> float:
        """Return alpha with P(|estimated share - true share| > alpha) <= failure_probability.

        By Hoeffding's inequality over the reports, which are independent.
        """
        beta, n = probability(failure_probability, "failure_probability"), positive_integer(respondents, "respondents")
        gap, _ = self._gap_and_other()
        return _hoeffding(beta, n) / gap

    @classmethod
    def for_accuracy(
        cls, *, alpha: Number, failure_probability: Number, respondents: int, choices: int = 2
    ) -> RandomizedResponse:
        """Return the most private response whose estimate is off by more than alpha with at most this probability."""
        beta, n = probability(failure_probability, "failure_probability"), positive_integer(respondents, "respondents")
        gap = Fraction(_hoeffding(beta, n)) / positive(alpha, "alpha")
        if gap >= 1:
            raise InvalidParameter(
                "even the truth from so few respondents is not that accurate; ask more, or for less."
            )
        return cls(truth=Fraction(math.nextafter(float(gap), 1)), choices=choices)

    def estimate(self, reports: Integers | list[int], *, confidence: float = 0.95) -> Estimate:
        """Return the unbiased estimate of the share of ones (of every answer, for more than two choices).

        The interval is Clopper and Pearson's on the reported share, which covers reports that are not identically
        distributed too (Hoeffding, 1956), carried to the true share; it may reach beyond [0, 1], as the estimate may.
        """
        array = np.asarray(reports).ravel()
        if array.size == 0 or array.dtype.kind not in "iub" or not 0 <= array.min() <= array.max() < self.choices:
            raise InvalidParameter(f"estimate needs at least one report, each from 0 to {self.choices - 1}.")
        miss = float(1 - probability(confidence, "confidence"))
        from scipy.special import betaincinv

        counts, n = np.bincount(array, minlength=self.choices), array.size
        gap, other = self._gap_and_other()
        low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), n - counts + 1, miss / 2))
        high = np.where(counts == n, 1.0, betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - miss / 2))
        value, low, high = ((x - other) / gap for x in (counts / n, low, high))
        if self.choices == 2:
            return Estimate(float(value[1]), float(low[1]), float(high[1]), float(confidence))
        return Estimate(value, low, high, float(confidence))

    def _gap_and_other(self) -> tuple[float, float]:
        """Return how much likelier the true answer is to be reported than another, and the chance of another."""
        gap = float(upper(lambda: (self.choices * self.honest() - 1) / (self.choices - 1)))
        if gap == 0:
            raise InvalidParameter("reports with truth=0, or as good as 0, say nothing about the answers.")
        return gap, float(upper(lambda: (1 - self.honest()) / (self.choices - 1)))

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l1 is not None and sensitivity.l1 <= self.answers


def _hoeffding(beta: Fraction, n: int) -> float:
    """Return sqrt(ln(2 / beta) / 2n), also where beta or n is beyond a float."""
    log_ratio = math.log(2 * beta.denominator) - math.log(beta.numerator)
    return math.sqrt(float_up(Fraction(log_ratio) / (2 * n)))


@lru_cache(maxsize=32)
def _honest_coin(response: RandomizedResponse) -> Inversion:
    return Inversion(lambda _: 1 - response.honest(), stored=1, outcomes=2, label=lambda i: i)
