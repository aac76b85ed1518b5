"""Quantiles and ranges of a measured column where a unit has many rows: noisy counts at every level of a tree of bins.

**What one unit moves.** It has at most R rows (`rows`), and a row is counted once at each of the h levels. When the
unit comes or goes, each level moves by R at most in l1, and in l2 too if all its rows are in one bin: l1 = h R and
l2 = sqrt(h) R. When it is replaced, R rows leave and R arrive, at each level elsewhere at worst: l1 = 2 h R and
l2 = sqrt(2 h) R. One count moves by R at most. There is no root: the total is the sum of the top.

**Beside the exponential mechanism** (`dp.private_quantile`). For one quantile that is nearer: over B bins the median
is off by R ln(B / beta) / epsilon rows, and a tree with Laplace noise by about 2 h R sqrt(v ln(2 B / beta)) / epsilon,
where v, the variance of a prefix, is at most (b - 1) h / 4. But k quantiles cost the mechanism k times as much, or
sqrt(k) times with a delta, and the tree answers all of them, every range and the total, from one release: it is nearer
from about 2 h sqrt(v / ln(B / beta)) quantiles on. `dp.best_quantile_tree` puts numbers to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.dp import randomness, tree_estimates
from discreet.dp.columns import Date, Integer
from discreet.dp.gaussian import Gaussian
from discreet.dp.grid import is_real, numbers
from discreet.dp.inversion import Integers
from discreet.dp.laplace import Laplace
from discreet.dp.loss import Loss
from discreet.dp.measured import Bins
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact, Permit
from discreet.dp.randomized_response import Estimate
from discreet.dp.rational import Number, float_up, positive_integer, probability, sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.smooth_exact import relation
from discreet.dp.statistics_of_ranks import check_quantile
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.grid import Reals
    from discreet.dp.values import Value

Ordered: TypeAlias = Bins | Integer | Date

_MOST_BINS = 1 << 22
_MOST_ROWS = 1 << 62  # of the whole table


class BinnedExact(Exact):
    """Private numbers of rows in public bins, where a unit has at most `rows` rows in all of them.

    Guarantee: that of `Exact`; its sensitivity is that of the bins. Its makers must ensure that which rows of a unit
      count depends on that unit's own rows alone.

    >>> from discreet import dp
    >>> dp.BinnedExact([5, 0, 2], rows=2, neighbours=dp.Neighbours.REPLACE, unit="patient").sensitivity.l1
    Fraction(4, 1)
    """

    __slots__ = ("rows",)

    rows: int

    def __init__(self, counts: Integers | Sequence[int], *, rows: int, neighbours: Neighbours, unit: str) -> None:
        most = positive_integer(rows, "rows")
        Exact.__init__(self, _counts(counts), sensitivity=of_levels(1, most, neighbours), unit=unit)
        object.__setattr__(self, "rows", most)


def of_levels(levels: int, rows: int, neighbours: Neighbours) -> Sensitivity:
    """Return the sensitivity of counts of rows at so many levels, where a unit has at most `rows` rows.

    >>> of_levels(4, 3, Neighbours.ADD_REMOVE).l2
    Fraction(6, 1)
    """
    most = positive_integer(rows, "rows")
    moved = levels * (1 if relation(neighbours) is Neighbours.ADD_REMOVE else 2)
    return Sensitivity(l1=moved * most, l2=most * sqrt_up(Fraction(moved)), linf=most, neighbours=neighbours)


@dataclass(frozen=True, slots=True)
class QuantileTree:
    """Count rows in bins, in groups of `branching` bins, in groups of these and so on, with noise on every count.

    Guarantee: the loss of its noise, for the sensitivity of all levels together: with `epsilon` alone epsilon-DP by
      Laplace noise, with `delta` or `rho` the exact curve of normal noise. The caller must ensure that a unit has at
      most `rows` rows, and that bins and branching are public.
    Source: Hay, Rastogi, Miklau, Suciu, 2010 (the tree, and consistency); Cormode, Procopiuc, Srivastava, Shen, Yu,
      "Differentially private spatial decompositions", 2012 (greater branching).

    >>> from discreet import dp
    >>> ages = dp.Integer(0, 99)
    >>> tree = QuantileTree(
    ...     bins=ages, rows=2, neighbours=dp.Neighbours.ADD_REMOVE, branching=10, epsilon=1, delta=1e-9
    ... )
    >>> released = tree.release([1000] * 100)
    >>> 45 < released.quantile("0.5").value < 54, 19_000 < released.between(20, 40).value < 21_000
    (True, True)
    """

    bins: Ordered
    rows: int
    neighbours: Neighbours
    branching: int
    levels: int
    noise: Laplace | Gaussian

    def __init__(
        self,
        *,
        bins: Ordered,
        rows: int,
        neighbours: Neighbours,
        branching: int,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        if not isinstance(bins, Ordered) or bins.extra:
            raise InvalidParameter("bins is a dp.Bins, dp.Integer or dp.Date, without cells for other and null values.")
        if not 2 <= bins.declared <= _MOST_BINS:
            raise InvalidParameter(f"a tree has 2 to {_MOST_BINS} bins; use dp.Real(...).bins(n) with another n.")
        arms = positive_integer(branching, "branching")
        if not 2 <= arms <= max(2, bins.declared):
            raise InvalidParameter(f"branching is at least 2 and at most the number of bins, {bins.declared}.")
        levels = 1
        while arms**levels < bins.declared:
            levels += 1
        moved = of_levels(levels, rows, neighbours)
        if rho is None and delta is None:
            noise: Laplace | Gaussian = Laplace(sensitivity=moved, epsilon=epsilon)
        else:
            noise = Gaussian(sensitivity=moved, epsilon=epsilon, delta=delta, rho=rho)
        for name, part in (
            ("bins", bins),
            ("rows", int(rows)),
            ("neighbours", neighbours),
            ("branching", arms),
            ("levels", levels),
            ("noise", noise),
        ):
            object.__setattr__(self, name, part)

    @property
    def sensitivity(self) -> Sensitivity:
        """That of the counts of all levels together."""
        return self.noise.sensitivity

    @property
    def loss(self) -> Loss:
        """The loss of one release, whatever is read from it."""
        return self.noise.loss

    def accuracy(self, *, q: Number, failure_probability: Number) -> float:
        """Return alpha with P(the quantile q is off by more than alpha rows) <= failure_probability.

        Off by so many rows: a bin is told that holds the quantile of some share within alpha / n of q, n rows.
        """
        share, chance = float(check_quantile(q)), probability(failure_probability, "failure_probability")
        edges = self.bins.declared - 1
        return float_up(Fraction(float(self._within(share, float(chance) / edges)[1:-1].max())))

    def release(self, counts: Integers | Sequence[int]) -> ReleasedTree:
        """Return the tree of plain numbers of rows in bins. Whoever calls this has them, and accounts for `loss`."""
        if isinstance(counts, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(_counts(counts), randomness.system())

    def open(self, exact: BinnedExact, permit: Permit) -> ReleasedTree:
        """Release private counts: the loss is taken from the permit first, then they are read.

        Guarantee: the output has the loss that was taken; counts of which a unit has more rows, or under another
          relation, are refused before anything is taken.
        """
        if not isinstance(exact, BinnedExact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes a BinnedExact and a Permit; for plain numbers use release(counts).")
        if exact.sensitivity.neighbours is not self.neighbours or exact.rows > self.rows:
            raise InvalidParameter(
                "these counts are for another relation or of more rows for a unit: make the tree with rows=exact.rows."
            )
        permit.take(self.loss)
        return self._release(np.asarray(exact._value), randomness.system())

    def _release(self, counts: Integers, stream: randomness.Stream) -> ReleasedTree:
        if counts.shape != (self.bins.declared,):
            raise InvalidParameter("counts has a whole number of rows of at least 0 for each bin.")
        bottom = np.zeros(self.branching**self.levels, dtype=np.int64)
        bottom[: counts.size] = np.minimum(counts, _MOST_ROWS // bottom.size)
        levels = [bottom]
        while levels[0].size > self.branching:
            levels.insert(0, levels[0].reshape(-1, self.branching).sum(axis=1))
        noisy = self.noise._release(np.concatenate(levels), stream)
        cuts = np.cumsum([level.size for level in levels])[:-1]
        measured = np.split(np.asarray(noisy, dtype=np.float64), cuts)
        return ReleasedTree(self, tree_estimates.consistent(measured, self.branching)[-1])

    def _within(self, share: float, chance: float) -> Reals:
        """Return how far off the first k bins less a share of all may be, for each k, but for this chance."""
        shape = self.branching, self.levels, self.bins.declared, share
        return tree_estimates.within(
            tree_estimates.prefix_variances(*shape), tree_estimates.prefix_weights(*shape), self.noise, chance
        )


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, and an interval that covers that of the table with this confidence, as wide as its bins at least."""

    value: Value
    lower: Value
    upper: Value
    confidence: float


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTree:
    """What was released: counts of all bins that agree with every level as well as can be. Reading it is free."""

    tree: QuantileTree
    counts: Reals

    def total(self, *, confidence: float = 0.95) -> Estimate:
        """Return the number of rows, unbiased, with an interval that covers it."""
        return self._sum(slice(0, self.counts.size), confidence)

    def between(self, low: Value | None, high: Value | None, *, confidence: float = 0.95) -> Estimate:
        """Return the number of rows from low up to but not including high, unbiased; None leaves an end open."""
        return self._sum(self.tree.bins.between(low, high), confidence)

    def _sum(self, span: slice[int, int, None], confidence: float) -> Estimate:
        question = np.zeros(self.counts.size)
        question[span] = 1
        parts = tree_estimates.weights(question, self.tree.branching, self.tree.levels)
        variance = np.array(sum(float((part**2).sum()) for part in parts))
        most = np.array(max(float(abs(part).max()) for part in parts))
        miss = float(1 - probability(confidence, "confidence"))
        half = float(tree_estimates.within(variance, most, self.tree.noise, miss))
        value = float(self.counts[span].sum())
        return Estimate(value, value - half, value + half, float(confidence))

    def quantile(self, q: Number, *, confidence: float = 0.95) -> Quantile:
        """Return the quantile q: the first bin up to which there is a share q of all rows, and an interval.

        Inside a bin of real numbers it is where that share lies if the rows of the bin lie evenly; the interval is of
        whole bins. It covers because the bin that holds the quantile stays in it unless the estimate at one of that
        bin's two ends is off by more than it is but for (1 - confidence) / 2.
        """
        share = float(check_quantile(q))
        miss = float(1 - probability(confidence, "confidence"))
        return self._quantile(share, self.tree._within(share, miss), float(confidence))

    def _quantile(self, share: float, off: Reals, confidence: float) -> Quantile:
        """Return a quantile where each prefix of bins is off by at most so much."""
        last = self.tree.bins.declared - 1
        sums = np.concatenate([[0.0], np.cumsum(self.counts)])
        over = sums[: last + 2] - share * sums[-1]
        over[0], over[-1] = -np.inf, np.inf  # no row is below the first bin, and none above the last
        found = int(np.argmax(over >= 0)) - 1
        able = np.flatnonzero((over[:-1] <= off[:-1]) & (over[1:] >= -off[1:]))
        lower, upper = int(min(able.min(), found)), int(max(able.max(), found))
        return Quantile(self._inside(found, over), self._ends(lower)[0], self._ends(upper)[1], confidence)

    def quantiles(self, shares: Sequence[Number], *, confidence: float = 0.95) -> list[Quantile]:
        """Return several quantiles, each with an interval that covers it with this confidence by itself."""
        return [self.quantile(share, confidence=confidence) for share in shares]

    def _ends(self, place: int) -> tuple[Value, Value]:
        bins = self.tree.bins
        if isinstance(bins, Bins):
            return float(bins.floats[place]), float(bins.floats[place + 1])
        return bins.value(place), bins.value(place)

    def _inside(self, place: int, over: Reals) -> Value:
        low, high = self._ends(place)
        before, after = float(over[place]), float(over[place + 1])
        if isinstance(low, float) and isinstance(high, float):
            known = np.isfinite(before) and np.isfinite(after) and after > before
            return low + (high - low) * (-before / (after - before) if known else 0.5)
        return low


def _counts(counts: Integers | Sequence[int]) -> Integers:
    found = numbers(counts)
    if is_real(found) or found.ndim != 1 or (found.size and found.min() < 0):
        raise InvalidParameter("counts has a whole number of rows of at least 0 for each bin.")
    return np.minimum(found, _MOST_ROWS).astype(np.int64)
