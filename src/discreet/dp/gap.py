"""The free gap: how far above its noisy threshold a hit was, what that says of the value, and what it does not.

The gap G = f + nu - (T + rho) is told on a hit only, so it is at least 0 and lies too high: by much where f is far
below T, by little where f is far above. Everything here is by its law given a hit, never by its plain variance. It is
all post-processing of answers and public facts, in floats that are good to ten digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.dp.grid import Steps
from discreet.dp.rational import Number, probability

if TYPE_CHECKING:
    from discreet.dp.gap_estimate import GapEstimate
    from discreet.dp.gaussian import Gaussian
    from discreet.dp.laplace import Laplace

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_FAR = 45  # beyond so many scales lies less than 1e-19
_CELLS = 1 << 14  # of gaps that are told apart in sums; where there are more, several count as one


@dataclass(frozen=True, slots=True)
class GapLaw:
    """The law of the gap given a hit, for a value `excess` steps above its threshold; scales are in steps.

    Guarantee: with W = nu - rho, P(G = g | hit) = P(W = g - excess) / P(W >= -excess), g >= 0. It is the law for a
      question whose predecessors told nothing about rho, such as values far from the threshold. Near misses before it
      make rho higher and the gap lower than this says; a hit that was a false alarm, against the same threshold, makes
      rho lower and the gap higher.
    Source: Ding, Wang, Zhang, Kifer, 2019 (the gap is free); the condition on a hit is elementary.

    >>> law = GapLaw(threshold_scale=Fraction(2), query_scale=Fraction(8))
    >>> [round(law.bias(excess), 1) for excess in (-20, 0, 10, 30)]
    [27.5, 8.0, 3.1, 0.5]
    """

    threshold_scale: Fraction
    query_scale: Fraction

    def log_mass(self, margin: Integers, excess: Integers) -> Reals:
        """Return ln P(G = margin | hit)."""
        return self._log_mass(margin - excess) - self.log_hit(excess)

    def log_at_least(self, margin: Integers, excess: Integers) -> Reals:
        """Return ln P(G >= margin | hit)."""
        return self._log_tail(np.maximum(margin, 0) - excess) - self.log_hit(excess)

    def log_hit(self, excess: Integers) -> Reals:
        """Return ln P(hit)."""
        return self._log_tail(-excess)

    def cells(self, excess: int) -> tuple[Integers, Reals]:
        """Return edges 0 = g_0 < g_1 < ... and the probabilities of [g_i, g_i+1), the last of which has no end."""
        reach = max(excess, 0) + int(_FAR * max(self.query_scale, self.threshold_scale)) + 2
        edges = np.arange(0, reach, max(1, reach // _CELLS))
        above = np.exp(self.log_at_least(edges, np.array(excess)))
        return edges, above - np.append(above[1:], 0.0)

    def moments(self, excess: int) -> tuple[float, float]:
        """Return mean and variance of the gap."""
        edges, chances = self.cells(excess)
        middles = edges + (edges[1] - edges[0] - 1) / 2
        mean = float((middles * chances).sum())
        return mean, float(((middles - mean) ** 2 * chances).sum())

    def bias(self, excess: int) -> float:
        """Return by how many steps the gap lies too high on average, given a hit."""
        return self.moments(excess)[0] - excess

    def _rates(self) -> tuple[float, float]:
        scales = sorted((self.threshold_scale, self.query_scale))
        return float(1 / scales[0]), float(1 / scales[1])

    def _log_mass(self, w: Integers) -> Reals:
        """Return ln P(W = w), proportional to (b^n + a^n) ab / (1 - ab) + (b^(n+1) - a^(n+1)) / (b - a), n = |w|.

        Here a and b are exp(-1 / scale), b the greater.
        """
        fast, slow = self._rates()
        n = np.abs(w).astype(np.float64)
        both = 1 / math.expm1(fast + slow)  # ab / (1 - ab)
        body = (1 + np.exp(-(fast - slow) * n)) * both + _ratio(fast - slow, n + 1)
        return np.asarray(np.log(math.tanh(fast / 2) * math.tanh(slow / 2) * body) - slow * n)

    def _log_tail(self, w: Integers) -> Reals:
        """Return ln P(W >= w): that of n = w where w > 0, and of 1 - P(W >= 1 - w) elsewhere."""
        fast, slow = self._rates()
        n = np.where(w > 0, w, 1 - w).astype(np.float64)
        off_a, off_b, both = -math.expm1(-fast), -math.expm1(-slow), 1 / math.expm1(fast + slow)
        body = (1 / off_b + np.exp(-(fast - slow) * n) / off_a) * both
        body += (1 + (math.exp(slow - fast) - math.exp(-fast)) * _ratio(fast - slow, n)) / (off_a * off_b)
        logs = np.log(math.tanh(fast / 2) * math.tanh(slow / 2) * body) - slow * n
        return np.where(w > 0, logs, np.log1p(-np.exp(np.minimum(logs, -math.log(2)))))


def _ratio(rate: float, n: Reals) -> Reals:
    """Return 1 + r + ... + r^(n - 1), r = exp(-rate)."""
    return n if rate == 0 else np.asarray(np.expm1(-rate * n) / math.expm1(-rate))


@dataclass(frozen=True, slots=True)
class Gap:
    """What a hit tells at no further cost: how far the noisy value lay above the noisy threshold.

    Guarantee: telling it costs nothing beyond the loss of the watch. `interval` holds the true value with at least the
      probability that is asked for, given a hit, under the law of `GapLaw`. Taken as a plain measurement the gap is
      wrong: given a hit it lies too high.
    Source: Ding, Wang, Zhang, Kifer, "Free gap information from the differentially private sparse vector and noisy max
      mechanisms", 2019.

    >>> far = Gap(margin=500, level=100, law=GapLaw(Fraction(2), Fraction(8)), step=Fraction(1))
    >>> far.value, far.gap, far.interval(failure_probability=0.1)
    (600, 500, (581.0, 619.0))
    >>> Gap(margin=2, level=100, law=far.law, step=far.step).interval(failure_probability=0.1)[0]
    -inf
    """

    margin: int
    level: int  # the threshold in steps
    law: GapLaw
    step: Fraction

    @property
    def gap(self) -> int | float:
        """The gap, in units of the values."""
        return Steps(self.step).value(self.margin)

    @property
    def value(self) -> int | float:
        """The threshold plus the gap: the value with the noise of both, which is at or above the threshold."""
        return Steps(self.step).value(self.level + self.margin)

    def likelihood(self, value: float | Fraction) -> float:
        """Return P(this gap | a hit, and this true value)."""
        excess = np.array(Steps(self.step).one(value) - self.level)
        return float(np.exp(self.law.log_mass(np.array(self.margin), excess)))

    def interval(self, *, failure_probability: Number) -> tuple[float, float]:
        """Return where the true value lies but for this chance, given a hit; the lower end may be minus infinity.

        Each end leaves out the values that would give gaps as extreme with at most half the chance.
        """
        from discreet.dp.gap_estimate import by_gap

        return by_gap(self, float(probability(failure_probability, "failure_probability")))

    def combined(self, measured: float, mechanism: Laplace | Gaussian, *, failure_probability: Number) -> GapEstimate:
        """Return the estimate from this gap and a fresh measurement of the same value by `mechanism`.

        Guarantee: the interval holds the true value with at least this probability, given a hit, under the law of
          `GapLaw` and for a measurement that was asked for because of the hit and for no other reason. The estimate
          maximises the joint likelihood; a gap that says nothing, as those of values far below the threshold do, has
          no weight in either.
        Source: as `Gap`, with the law given a hit in place of inverse variances.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> gap = Gap(margin=500, level=100, law=GapLaw(Fraction(2), Fraction(8)), step=Fraction(1))
        >>> best = gap.combined(612, dp.Laplace(sensitivity=s, scale=8), failure_probability=0.1)
        >>> best
        GapEstimate(value=612, lower=593.0, upper=619.0)
        """
        from discreet.dp.gap_estimate import combined

        return combined(self, measured, mechanism, float(probability(failure_probability, "failure_probability")))
