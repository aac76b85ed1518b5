"""A distinguisher is an agnostic learner: the worst of all intervals, found without listing them.

Label the rows of the table with 1 and those of the model with -1. The query that tells the two apart best is the
concept that agrees best with the labels, whether or not any concept agrees with all of them. So whoever can learn a
class privately can distinguish with it, and the class may be far too large to be listed: an ordered column of a
million values has five hundred thousand million intervals, and here one of them is chosen with one pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.dp.exponential import Exponential
from discreet.dp.grid import in_steps
from discreet.dp.loss import Loss
from discreet.dp.rational import Number, probability, rational
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.dp.weights import Weights
from discreet.errors import InvalidParameter
from discreet.release.database_update import Structure, dense
from discreet.release.distinguisher import FINE, Distinguisher, Truth, difference, rounded
from discreet.release.families import Prefixes, Ranges
from discreet.release.marginals import Marginals
from discreet.release.predicates import axis_of
from discreet.release.query import Array, LinearQuery, Product
from discreet.release.rows import moved, whole_histogram

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream


@final
@dataclass(frozen=True, slots=True, eq=False)
class IntervalDistinguisher(Distinguisher):
    """The exponential mechanism over all intervals of an ordered column of n values, drawn in time n.

    Let G_i be by how much the table has more rows than the model among the first i values, G_0 = 0. The interval from
    i to j - 1 is wrong by |G_j - G_i|, so an interval is a pair of the n + 1 numbers, with the weight exp(rate |G_j -
    G_i|). Draw x with weights exp(rate G_x) and, independently, y with weights exp(-rate G_y), and draw both again
    unless (G_x, x) > (G_y, y): every pair is then kept in one order of the two, with its weight. At least a quarter of
    the draws are kept.

    Guarantee: epsilon-DP and bounded-range for one choice, the law of the exponential mechanism over all n (n + 1) / 2
      intervals, exactly; F = (2 D / epsilon) ln(n (n + 1) / (2 gamma)) counts, and two steps of 2^-10 for rounding. The
      caller must ensure what `Distinguisher` asks.
    Source: Roth, lecture 7, 2011, after Definition 3 (the remark); Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith,
      2011 (private agnostic learning by the exponential mechanism); the sampler is ours.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 100_000})
    >>> histogram = np.ones(universe.size, int); histogram[40_000:50_000] += 5
    >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
    >>> intervals = release.IntervalDistinguisher(universe, "cell", sensitivity=s)
    >>> len(intervals.workload), round(float(intervals.slack(1, 0.05)))  # so many intervals; F, in rows
    (5000050000, 51)
    >>> model = release.MultiplicativeWeights(universe, rows=150_000).start()
    >>> first, last = intervals.interval(intervals.select(histogram, model, epsilon=1))
    >>> abs(first - 40_000) < 50, abs(last - 49_999) < 50
    (True, True)
    """

    workload: Ranges
    sensitivity: Sensitivity

    rate_of_rho = Fraction(1, 8)

    def __init__(self, universe: Universe, column: str, *, sensitivity: Sensitivity) -> None:
        moved(sensitivity)
        object.__setattr__(self, "workload", Ranges(dense(universe).shape, (axis_of(universe, column),)))
        object.__setattr__(self, "sensitivity", sensitivity)

    @property
    def values(self) -> int:
        """The number of values of the column."""
        return self.workload.cells[0]

    def loss(self, epsilon: Number) -> Loss:
        """Return the loss of one choice."""
        return self._mechanism(epsilon, 1).loss

    def slack(self, epsilon: Number, failure_probability: Number) -> Fraction:
        """Return F in counts: that of the exponential mechanism over all intervals, and what rounding adds."""
        chance = probability(failure_probability, "failure_probability")
        selection = self._mechanism(epsilon, 1).accuracy(failure_probability=chance, candidates=len(self.workload))
        return rational(selection, "slack") + Fraction(2, FINE)  # two ends, of the best interval and of the chosen one

    def _mechanism(self, epsilon: Number, unit: int) -> Exponential:
        far = Sensitivity(l1=moved(self.sensitivity) * unit, neighbours=self.sensitivity.neighbours)
        return Exponential(sensitivity=far, epsilon=epsilon)

    def truth(self, histogram: Array) -> Truth:
        """Return how many rows hold each value or one before it, in steps."""
        shape = self.workload.shape
        column = Marginals(whole_histogram(histogram, math.prod(shape)), shape)(self.workload.axes)
        return in_steps(np.cumsum(column, dtype=np.int64), FINE)

    def _choose(self, truth: Truth, structure: Structure, epsilon: Fraction, stream: Stream) -> int:
        gaps = self._gaps(truth, structure)
        rate = self._mechanism(epsilon, FINE)._rate
        above, below = Weights.of(gaps, rate), Weights.of(-gaps, rate)
        while True:
            one, other = above.draw(stream), below.draw(stream)
            if is_kept(gaps, one, other):
                return self.number(min(one, other), max(one, other) - 1)

    def _gaps(self, truth: Truth, structure: Structure) -> Array:
        """Return G_0, ..., G_n in steps, those of the model rounded."""
        model = structure.answers(Prefixes(self.workload.shape, (self.workload.axes[0],)))
        gaps = difference(truth, rounded(model, FINE))
        return np.concatenate([np.zeros(1, gaps.dtype), gaps])

    def number(self, first: int, last: int) -> int:
        """Return the number of an interval, both ends included: by first value, then by last."""
        if not 0 <= first <= last < self.values:
            raise InvalidParameter(f"an interval has two ends in order, from 0 to {self.values - 1}.")
        return first * self.values - first * (first - 1) // 2 + last - first

    def interval(self, number: int) -> tuple[int, int]:
        """Return the ends of an interval, both included."""
        n = self.values
        if not 0 <= number < len(self.workload):
            raise InvalidParameter(f"an interval has a number from 0 to {len(self.workload) - 1}.")
        back = len(self.workload) - 1 - number  # counted from the end, row r from below has r + 1 intervals
        row = (math.isqrt(8 * back + 1) - 1) // 2
        first = n - 1 - row
        return first, first + number - self.number(first, first)

    def query(self, number: int) -> LinearQuery:
        """Return the query that counts the rows in an interval."""
        first, last = self.interval(number)
        inside = np.zeros(self.values, np.int64)
        inside[first : last + 1] = 1
        return Product.of(self.workload.shape, {self.workload.axes[0]: inside})


def is_kept(gaps: Array, one: int, other: int) -> bool:
    """Return whether a pair is in the order in which it is kept: that of the gaps, and of the places where they tie."""
    high, low = gaps[one], gaps[other]
    return bool(high > low or (high == low and one > other))
