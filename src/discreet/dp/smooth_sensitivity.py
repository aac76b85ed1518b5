"""Smooth sensitivity: the least smooth bound of the local sensitivity, S = max over k of exp(-beta k) LS^(k).

What is returned is private, like the data: it depends on the table, and may stand in no error bar and no log. It is
fit for `SmoothNoise` with the same beta, and nothing else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NoReturn

from numpy.typing import ArrayLike

from discreet.dp.neighbours import Neighbours
from discreet.dp.order_statistics import PublicGrid, Ranked
from discreet.dp.rational import Number, positive
from discreet.dp.reals import ball
from discreet.dp.reals import upper as at_most
from discreet.dp.smooth_exact import SmoothExact
from discreet.dp.statistics_of_ranks import (
    HALF,
    Between,
    OrderStatistic,
    Statistic,
    TrimmedMean,
    check_quantile,
    check_trim,
    relation,
)
from discreet.errors import InvalidParameter

_LEAST_BETA, _MOST_BETA = Fraction(1, 2**20), Fraction(16)
_SLACK = Fraction(1, 2**33)  # taken from beta, for what the search and the last rounding may add
_FOUND = 1 + Fraction(1, 2**35)  # what the search may have missed


class SmoothBound(Fraction):
    """A smooth bound of the local sensitivity, a number that does not print; and the statistic that it is of.

    Guarantee: between neighbours the statistic moves by at most the smaller of the two bounds, and the bound by a
      factor of at most exp(beta). Both are private.
    Source: Nissim, Raskhodnikova, Smith, 2007, Definitions 2.1 and 2.2, Lemma 2.3.

    >>> from discreet import dp
    >>> bound = dp.smooth_sensitivity.median(
    ...     [1, 4, 5, 7, 30], lower=0, upper=100, beta="0.1", neighbours=dp.Neighbours.REPLACE
    ... )
    >>> bound
    SmoothBound(beta=Fraction(1, 10), neighbours=Neighbours.REPLACE)
    >>> float(bound.value), round(float(bound), 3)
    (5.0, 77.779)
    """

    __slots__ = ("beta", "neighbours", "value")

    value: Fraction
    beta: Fraction
    neighbours: Neighbours

    @classmethod
    def of(cls, statistic: Statistic, beta: Fraction, neighbours: Neighbours) -> SmoothBound:
        """Return the bound, rounded up, and at least one step of the grid."""
        made = cls(max(_greatest(statistic, beta), Fraction(1)) * statistic.grid.step)
        made.value, made.beta, made.neighbours = statistic.value, beta, neighbours
        return made

    def exact(self, *, unit: str) -> SmoothExact:
        """Return the statistic and its bound closed together, for `open` of a mechanism inside a session."""
        return SmoothExact(
            self.value, smooth_sensitivity=Fraction(self), beta=self.beta, neighbours=self.neighbours, unit=unit
        )

    def __repr__(self) -> str:
        return f"SmoothBound(beta={self.beta!r}, neighbours={self.neighbours!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _stays(self, *_: object) -> NoReturn:
        raise TypeError("a smooth bound is private: it is not copied or stored.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _stays  # type: ignore[assignment]


def _greatest(statistic: Statistic, beta: Fraction) -> Fraction:
    """Return R with S(beta) <= R, smooth at beta, in steps; it may be 0.

    With b = beta - 2^-33, S(b) <= R <= (1 + 2^-34) S(b), so R(D) <= (1 + 2^-34) e^b R(D') <= e^beta R(D'). Beyond
    `last` no window is worth a step.
    """
    rate, last = beta - _SLACK, reach(statistic.grid, beta)
    worth = [steps * _weight(rate * k) for k, steps in statistic.best(rate, last) if steps]
    return max(worth, default=Fraction(0)) * _FOUND


def _weight(exponent: Fraction) -> Fraction:
    return at_most(lambda: ball(-exponent).exp())


def reach(grid: PublicGrid, beta: Fraction) -> int:
    """Return a distance beyond which no window is worth a step, or refuse beta."""
    if not _LEAST_BETA <= beta <= _MOST_BETA:
        raise InvalidParameter("beta lies between 2^-20 and 16; a smaller one asks for more epsilon or more delta.")
    return math.ceil(math.log(grid.top + 1) / float(beta - _SLACK)) + 1


def _place(lower: Number, upper: Number, step: Number | None, beta: Number) -> tuple[PublicGrid, Fraction, int]:
    """Return the grid, beta, and how far from the middle ranks can matter."""
    share, grid = positive(beta, "beta"), PublicGrid.of(lower=lower, upper=upper, step=step)
    return grid, share, reach(grid, share)


def quantile(
    data: ArrayLike,
    *,
    q: Number,
    lower: Number,
    upper: Number,
    beta: Number,
    neighbours: Neighbours,
    step: Number | None = None,
) -> SmoothBound:
    """Return the smooth sensitivity of the quantile q, the row of rank max(1, ceil(q n))."""
    grid, share, reach = _place(lower, upper, step, beta)
    found = OrderStatistic.of(Ranked(data, grid), check_quantile(q), relation(neighbours), reach=reach)
    return SmoothBound.of(found, share, neighbours)


def median(
    data: ArrayLike, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours, step: Number | None = None
) -> SmoothBound:
    """Return the smooth sensitivity of the median, the lower one of an even number of rows."""
    return quantile(data, q=HALF, lower=lower, upper=upper, beta=beta, neighbours=neighbours, step=step)


def minimum(
    data: ArrayLike, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours, step: Number | None = None
) -> SmoothBound:
    """Return the smooth sensitivity of the minimum."""
    return quantile(data, q=0, lower=lower, upper=upper, beta=beta, neighbours=neighbours, step=step)


def maximum(
    data: ArrayLike, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours, step: Number | None = None
) -> SmoothBound:
    """Return the smooth sensitivity of the maximum."""
    return quantile(data, q=1, lower=lower, upper=upper, beta=beta, neighbours=neighbours, step=step)


def interquartile_range(
    data: ArrayLike, *, lower: Number, upper: Number, beta: Number, neighbours: Neighbours, step: Number | None = None
) -> SmoothBound:
    """Return a smooth bound for the interquartile range: the smooth sensitivity under REPLACE."""
    grid, share, reach = _place(lower, upper, step, beta)
    found = Between.quartiles(Ranked(data, grid), relation(neighbours), reach=reach)
    return SmoothBound.of(found, share, neighbours)


def trimmed_mean(
    data: ArrayLike,
    *,
    trim: Number,
    lower: Number,
    upper: Number,
    beta: Number,
    neighbours: Neighbours,
    step: Number | None = None,
) -> SmoothBound:
    """Return a smooth bound for the trimmed mean: the smooth sensitivity under REPLACE."""
    grid, share, _ = _place(lower, upper, step, beta)
    cut, ranked = check_trim(trim), Ranked(data, grid)
    trimmed = OrderStatistic.trimmed if relation(neighbours) is Neighbours.REPLACE else TrimmedMean.of
    return SmoothBound.of(trimmed(ranked, cut), share, neighbours)
