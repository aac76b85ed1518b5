"""Local sensitivity: how far a statistic of *this* table can move, after k changes too. It is private.

LS^(k) is the greatest local sensitivity of a table within k changes of this one. It never falls with k, and
LS^(k)(D) <= LS^(k + 1)(D') for neighbours D, D'. Smooth sensitivity and propose-test-release rest on these two facts.

Data are clamped to public bounds and snapped to a public grid. The quantile q of n rows is the one of rank
max(1, ceil(q n)): the median is the lower one, 0 gives the minimum, 1 the maximum. Of no rows it is the lower bound.
"""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from discreet.dp.neighbours import Neighbours
from discreet.dp.order_statistics import PublicGrid, Ranked
from discreet.dp.rational import Number, non_negative, positive
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


class LocalSensitivity:
    """A statistic of one table and its local sensitivity at every distance. It prints neither.

    Guarantee: `at_distance(k)` is at least the greatest local sensitivity of a table within k changes, and equal to it
      where the function that made it says so; `distance(proposal=)` moves by at most 1 between neighbours and is above
      0 only where the local sensitivity is at most the proposal. Both are private, as is `value`: whoever calls this
      holds the data already.
    Source: Nissim, Raskhodnikova, Smith, 2007, Definition 3.1; Dwork, Lei, 2009 (the distance).

    >>> from discreet import dp
    >>> found = dp.local_sensitivity.median([1, 4, 5, 7, 30], lower=0, upper=100, neighbours=dp.Neighbours.REPLACE)
    >>> found
    LocalSensitivity(neighbours=Neighbours.REPLACE)
    >>> float(found.value), [float(found.at_distance(k)) for k in range(4)], found.distance(proposal=25)
    (5.0, [2.0, 25.0, 95.0, 96.0], 2)
    """

    __slots__ = ("_statistic", "neighbours")

    def __init__(self, statistic: Statistic, neighbours: Neighbours) -> None:
        self._statistic, self.neighbours = statistic, neighbours

    @property
    def value(self) -> Fraction:
        """The statistic itself."""
        return self._statistic.value

    def at_distance(self, k: int) -> Fraction:
        """Return LS^(k), or the bound of it that is documented; k = 0 is the local sensitivity itself."""
        distance = non_negative(k, "k")
        if distance.denominator != 1:
            raise InvalidParameter(f"k is a whole number of at least 0; got {k!r}.")
        return self._at(int(distance))

    def _at(self, distance: int) -> Fraction:
        return self._statistic.steps_at(min(distance, self._statistic.last)) * self._statistic.grid.step

    def distance(self, *, proposal: Number) -> int:
        """Return the least k with LS^(k) > proposal: the distance to instability, which propose-test-release needs.

        The proposal is below the width of the range: otherwise no table is unstable, and there is nothing to test.
        """
        wanted = positive(proposal, "proposal")
        if wanted >= self._statistic.grid.width:
            raise InvalidParameter(
                "no table moves by more than its range, so there is nothing to test; propose less, or use dp.Laplace "
                "with a sensitivity of upper - lower."
            )
        stable, unstable = -1, self._statistic.last + 1  # where it grows no more and is stable still, it is so for all
        while unstable - stable > 1:
            middle = (stable + unstable) // 2
            stable, unstable = (stable, middle) if self._at(middle) > wanted else (middle, unstable)
        return unstable

    def __repr__(self) -> str:
        return f"LocalSensitivity(neighbours={self.neighbours!r})"

    def __reduce__(self) -> str:
        raise TypeError("a local sensitivity is private: it is not stored.")


def quantile(
    data: ArrayLike, *, q: Number, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the quantile q, the row of rank max(1, ceil(q n)); its LS^(k) is exact."""
    grid = PublicGrid.of(lower=lower, upper=upper, step=step)
    share = check_quantile(q)
    return LocalSensitivity(OrderStatistic.of(Ranked(data, grid), share, relation(neighbours)), neighbours)


def median(
    data: ArrayLike, *, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the median, the lower one of an even number of rows; its LS^(k) is exact."""
    return quantile(data, q=HALF, lower=lower, upper=upper, neighbours=neighbours, step=step)


def minimum(
    data: ArrayLike, *, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the minimum; its LS^(k) is exact."""
    return quantile(data, q=0, lower=lower, upper=upper, neighbours=neighbours, step=step)


def maximum(
    data: ArrayLike, *, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the maximum; its LS^(k) is exact."""
    return quantile(data, q=1, lower=lower, upper=upper, neighbours=neighbours, step=step)


def interquartile_range(
    data: ArrayLike, *, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the third quartile minus the first; LS^(k) is exact under REPLACE, and bounded by `Between` otherwise."""
    grid = PublicGrid.of(lower=lower, upper=upper, step=step)
    return LocalSensitivity(Between.quartiles(Ranked(data, grid), relation(neighbours)), neighbours)


def trimmed_mean(
    data: ArrayLike, *, trim: Number, lower: Number, upper: Number, neighbours: Neighbours, step: Number | None = None
) -> LocalSensitivity:
    """Return the mean without the floor(trim n) least and as many greatest rows.

    LS^(k) is exact under REPLACE; under ADD_REMOVE, where the number of rows that count changes, it is the bound of
    `TrimmedMean`.
    """
    grid = PublicGrid.of(lower=lower, upper=upper, step=step)
    share = check_trim(trim)
    ranked = Ranked(data, grid)
    made: Statistic
    if relation(neighbours) is Neighbours.REPLACE:
        made = OrderStatistic.trimmed(ranked, share)
    else:
        made = TrimmedMean.of(ranked, share)
    return LocalSensitivity(made, neighbours)
