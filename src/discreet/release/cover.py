"""One histogram, measured once, that answers every linear query of a small universe as well as was asked.

Where the error that is allowed is large beside the root of the number of cells, no cache, no test and no learning is
worth its price: measure the table once, and ask it for nothing any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.dp.laplace import Laplace
from discreet.dp.loss import Loss
from discreet.dp.mechanism import Mechanism
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact
from discreet.dp.rational import Number, positive, probability
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.query import Array
from discreet.release.rows import whole_histogram

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Reals: TypeAlias = NDArray[np.float64]

_PARTS = 4096  # shares of cells that are looked at, one by one or in intervals
_LEAST = Fraction(1, 20)  # about the least scale that is any noise
_BITS = 40  # of a scale that is searched for
_ROUNDING = 1e-9  # of the logarithm of a chance: far above what adding up doubles can lose


@dataclass(frozen=True, slots=True, eq=False)
class Cover(Mechanism):
    """Add discrete Laplace noise to every cell once; with a public number of `rows`, spread what is too much evenly.

    Guarantee: the loss is pure, epsilon = l1 / scale, for all queries that are ever asked of the cells. Any one linear
      query of the universe, with weights in [0, 1], is off by more than alpha with a chance of at most
      `chance_beyond(alpha)`. The caller must ensure that the histogram moves by at most `sensitivity`, and that `rows`,
      if given, is public: it is so only where rows are replaced.
      Proof of the second. The error is the sum of (w_x - c) Z_x with c the mean weight, or 0 if rows are private. By
      Markov, P(error >= a) <= exp(-s a) times the product of M(s (w_x - c)) for every s, with M the moment generating
      function of Z; by symmetry twice that bounds both sides. The logarithm of the product is convex in w, so it is
      greatest where all weights are 0 or 1, and there depends only on how many of N are 1: all of that is maximised.
    Source: the loss, `dp.Laplace`; the bound, Chernoff, 1952, with the M of the discrete law.

    >>> from discreet import dp
    >>> universe = dp.Universe({"positive": 2, "gender": 2, "age": 4, "ethnicity": 8})
    >>> cover = Cover.for_accuracy(
    ...     universe, alpha=50_000, failure_probability=0.001, rows=1_000_000,
    ...     sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE))
    >>> cover.loss.epsilon(delta=0) < 0.0013
    True
    """

    universe: Universe
    noise: Laplace
    rows: int | None

    def __post_init__(self) -> None:
        if self.rows is not None and self.sensitivity.neighbours is not Neighbours.REPLACE:
            raise InvalidParameter("the number of rows is public only under Neighbours.REPLACE; leave out rows=.")
        if self.rows is not None and (not isinstance(self.rows, int) or self.rows < 0):
            raise InvalidParameter("rows is the public number of rows, a whole number of at least 0.")

    @classmethod
    def for_accuracy(
        cls,
        universe: Universe,
        *,
        alpha: Number,
        failure_probability: Number,
        sensitivity: Sensitivity,
        rows: int | None = None,
    ) -> Cover:
        """Return the most private cover of which any one query is within alpha, but for this chance."""
        error, chance = positive(alpha, "alpha"), probability(failure_probability, "failure_probability")

        def accurate(scale: Fraction) -> bool:
            return cls(universe, Laplace(sensitivity=sensitivity, scale=scale), rows)._beyond(error) <= chance

        if not accurate(_LEAST):
            raise InvalidParameter("no cover is that accurate; ask for a larger alpha or failure_probability.")
        return cls(universe, Laplace(sensitivity=sensitivity, scale=_greatest(accurate, _LEAST)), rows)

    @property
    def sensitivity(self) -> Sensitivity:  # type: ignore[override]
        """That of the histogram."""
        return self.noise.sensitivity

    @property
    def loss(self) -> Loss:
        """The loss of the cells, and of everything that is asked of them."""
        return self.noise.loss

    def chance_beyond(self, alpha: Number) -> float:
        """Return a bound on the chance that a query, whichever it is, is off by more than alpha."""
        return self._beyond(positive(alpha, "alpha"))

    def _beyond(self, alpha: Fraction) -> float:
        """Minimise the bound over s: whatever s is found, it is a bound."""
        from scipy.optimize import minimize_scalar

        steepest, error = float(1 / self.noise.scale), float(alpha)

        def logarithm(share: float) -> float:
            return self._log_product(share * steepest) - share * steepest * error

        found = minimize_scalar(logarithm, bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
        return min(1.0, 2 * math.exp(min(0.0, float(found.fun)) + _ROUNDING))

    def _log_product(self, s: float) -> float:
        """Return the logarithm of the product of M(s (w_x - c)), for the worst weights."""
        cells = self.universe.size
        if self.rows is None:
            return cells * float(self._log_moment(np.array([s]))[0])
        ones = np.arange(cells // 2 + 1)
        least = most = ones / cells  # the part of the cells with weight 1; the other half is the same, mirrored
        if len(ones) > _PARTS:
            edges = np.linspace(0, 0.5, _PARTS + 1)
            least, most = edges[:-1], edges[1:]  # M grows away from 0: the ends bound what is between them
        ones_part = most * self._log_moment(s * (1 - least))
        zeros_part = (1 - least) * self._log_moment(s * most)
        return cells * float(np.max(ones_part + zeros_part))

    def _log_moment(self, s: Reals) -> Reals:
        """Return ln E exp(s Z) = -ln(1 - sinh^2(s / 2) / sinh^2(1 / 2b)); infinite from s = 1 / b on."""
        half = float(1 / (2 * self.noise.scale))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.log1p(-((np.sinh(s / 2) / math.sinh(half)) ** 2))
        return np.where(s < 2 * half, found, math.inf)

    def release(self, histogram: Array) -> Reals:
        """Return the cells, some below 0 perhaps; ask them through `Marginals(cells, universe.shape)`.

        Whoever calls this has the histogram, and accounts for `loss`.
        """
        from discreet.dp import randomness

        if isinstance(histogram, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(histogram, randomness.system())

    def _release(self, values: object, stream: Stream) -> Reals:
        exact = whole_histogram(cast("Array", values), self.universe.size)
        noisy = np.asarray(self.noise._release(exact, stream))
        if self.rows is None:
            return noisy.astype(np.float64)
        return noisy - (int(noisy.sum()) - self.rows) / self.universe.size

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return self.noise._covers(sensitivity)


def _greatest(holds: Callable[[Fraction], bool], low: Fraction) -> Fraction:
    """Return the greatest scale at which a claim holds, to 40 bits, given one at which it does."""
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    while (high - low) * 2**_BITS > high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
