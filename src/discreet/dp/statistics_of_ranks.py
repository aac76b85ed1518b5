"""The statistics whose local sensitivity is known: their value, LS^(k), and the greatest exp(-beta k) LS^(k)."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.dp.neighbours import Neighbours
from discreet.dp.order_statistics import PublicGrid, Ranked, Ranks
from discreet.dp.rational import Number, rational
from discreet.dp.window_search import powers
from discreet.dp.windows import AddingRemoving, Replacing, Windows, rank
from discreet.errors import InvalidParameter

HALF = Fraction(1, 2)
_QUARTILES = Fraction(1, 4), Fraction(3, 4)
_MOST = 2**31  # a denominator and a number of rows below it have a product within 64 bits

Worth = tuple[int, Fraction]
"""A distance k and LS^(k) in steps."""


class Statistic(ABC):
    """A statistic of one table, in steps of its grid."""

    @property
    @abstractmethod
    def grid(self) -> PublicGrid:
        """The public grid."""

    @property
    @abstractmethod
    def value(self) -> Fraction:
        """The statistic."""

    @property
    @abstractmethod
    def last(self) -> int:
        """A distance from which on LS^(k) grows no more."""

    @abstractmethod
    def steps_at(self, distance: int) -> Fraction:
        """Return LS^(k), or a bound U^(k) >= LS^(k) with U^(k)(D) <= U^(k + 1)(D'), in steps."""

    @abstractmethod
    def best(self, beta: Fraction, last: int) -> list[Worth]:
        """Return distances up to `last` of which one is worth most, up to a relative 2^-35."""


@dataclass(frozen=True, slots=True, repr=False)
class OrderStatistic(Statistic):
    """An order statistic, or under REPLACE the mean of several: `windows` has the proof."""

    ranked: Ranked
    middle: Fraction  # the value in steps
    windows: Windows | None  # None for a table without rows, of which none can be replaced
    divisor: int

    @classmethod
    def of(cls, ranked: Ranked, q: Fraction, neighbours: Neighbours, *, reach: int | None = None) -> OrderStatistic:
        """Return the quantile q; only windows up to the distance `reach` will be asked for, if it is given."""
        n, place = _rows(ranked), rank(q, ranked.count)
        windows: Windows | None
        if neighbours is Neighbours.REPLACE:
            windows = Replacing(ranked, place - 1, 1) if n else None
        else:
            windows = AddingRemoving(ranked, q)
        reach = n if reach is None else reach
        ranked.keep(place - 2 * reach - 8, place + 2 * reach + 8)
        return cls(ranked, Fraction(ranked.one(place)), windows, 1)

    @classmethod
    def trimmed(cls, ranked: Ranked, trim: Fraction) -> OrderStatistic:
        """Return the trimmed mean under REPLACE."""
        n = _rows(ranked.keep(1, ranked.count))
        cut = int(trim * n)
        kept = max(1, n - 2 * cut)
        mean = Fraction(ranked.total(cut + 1, cut + kept), kept) if n else Fraction(0)
        return cls(ranked, mean, Replacing(ranked, cut, kept) if n else None, kept)

    @property
    def grid(self) -> PublicGrid:
        """The public grid."""
        return self.ranked.grid

    @property
    def value(self) -> Fraction:
        """The statistic."""
        return self.grid.value(self.middle)

    @property
    def last(self) -> int:
        """Every row changed."""
        return self.ranked.count + 1

    def steps_at(self, distance: int) -> Fraction:
        """Return LS^(k), exactly."""
        return Fraction(self.windows.widest(distance) if self.windows else 0, self.divisor)

    def best(self, beta: Fraction, last: int) -> list[Worth]:
        """Return the best window, and the local sensitivity itself."""
        if self.windows is None:
            return []
        k, left, right = self.windows.search(float(beta), min(last, self.last))
        width = self.ranked.one(right) - self.ranked.one(left)
        return [(0, self.steps_at(0)), (k, Fraction(width, self.divisor))]


@dataclass(frozen=True, slots=True, repr=False)
class Between(Statistic):
    """The difference of two quantiles, and the greater of their LS^(k).

    Proof. Under REPLACE with two rows or more, the quartiles have different ranks, and the row of one of them can be
    moved out, or one beyond it in, while the other stays; where both move they move the same way. So the local
    sensitivity is the greater one of the two, exactly so at every distance; of one row the range is always 0.
    Under ADD_REMOVE a row that comes or goes moves both the same way, or one of them alone, so the greater of the two
    is a bound. It is above the local sensitivity only where both ranks grow at once, or neither does: there a table
    moves by max(g1, g3 - g1) or max(g3, g1 - g3) for the gaps g1, g3 of the two quartiles, at least half of the bound;
    and where no row or one is left, of which the range is 0.
    """

    low: OrderStatistic
    high: OrderStatistic
    neighbours: Neighbours

    @classmethod
    def quartiles(cls, ranked: Ranked, neighbours: Neighbours, *, reach: int | None = None) -> Between:
        """Return the interquartile range."""
        other = ranked.copy()
        low, high = (
            OrderStatistic.of(part, q, neighbours, reach=reach)
            for part, q in zip((ranked, other), _QUARTILES, strict=True)
        )
        return cls(low, high, neighbours)

    @property
    def grid(self) -> PublicGrid:
        """The public grid."""
        return self.low.grid

    @property
    def value(self) -> Fraction:
        """The statistic."""
        return self.high.value - self.low.value

    @property
    def last(self) -> int:
        """Every row changed."""
        return self.low.last

    def steps_at(self, distance: int) -> Fraction:
        """Return the greater of the two."""
        if self._is_constant:
            return Fraction(0)
        return max(self.low.steps_at(distance), self.high.steps_at(distance))

    def best(self, beta: Fraction, last: int) -> list[Worth]:
        """Return the best of both."""
        return [] if self._is_constant else [*self.low.best(beta, last), *self.high.best(beta, last)]

    @property
    def _is_constant(self) -> bool:
        return self.neighbours is Neighbours.REPLACE and self.low.ranked.count < 2


@dataclass(frozen=True, slots=True, repr=False)
class TrimmedMean(Statistic):
    """The trimmed mean under ADD_REMOVE, where t(n) = floor(trim n) rows go at each end and h(n) = n - 2 t(n) stay.

    Proof. Let y have s rows, t = t(s), h = h(s), mean f. A row that joins and is let in, or leaves and is replaced by
    one trimmed before, moves f by (c - f) / (h + 1) with y_t <= c <= y_(s - t + 1); one that makes two others trimmed,
    or leaves for good, by (f - c) / (h - 1) with y_(t + 1) <= c <= y_(s - t). Both are at most
    (y_(s - t + 1) - y_t) / h, which is at most twice (1 + 1 / h) times what the better c of the two kinds gives. After
    k changes, a of them additions, s = n - k + 2 a, and the window has v >= t(s) - a rows at or below it and together
    v + w >= 2 t(s) - a at or beyond its ends. U^(k) takes the widest window with v + w at least the least of these
    over a, and divides by the least h(s) over all sizes within k. For a neighbour, its k + 1 takes in all of these.
    Nor does the mean move by more than k U^(k), so that no c is farther from it than from the mean of x, and as much
    again: that bound, divided by the least h(s) - 1, takes its place where it is less. U^(0) is the local sensitivity.
    """

    ranked: Ranked
    trim: Fraction
    mean: Fraction  # in steps

    @classmethod
    def of(cls, ranked: Ranked, trim: Fraction) -> TrimmedMean:
        """Return the trimmed mean."""
        n = _rows(ranked.keep(1, ranked.count))
        cut = int(trim * n)
        return cls(ranked, trim, Fraction(ranked.total(cut + 1, n - cut), n - 2 * cut) if n else Fraction(0))

    @property
    def grid(self) -> PublicGrid:
        """The public grid."""
        return self.ranked.grid

    @property
    def value(self) -> Fraction:
        """The statistic."""
        return self.grid.value(self.mean)

    @property
    def last(self) -> int:
        """Every row removed."""
        return self.ranked.count

    def _cut(self, sizes: Ranks) -> Ranks:
        return self.trim.numerator * sizes // self.trim.denominator

    def steps_at(self, distance: int) -> Fraction:
        """Return the bound U^(k)."""
        n, k = self.ranked.count, distance
        if k >= n:
            return Fraction(self.grid.top)
        if k == 0:
            return self._moves()
        added = np.arange(k + 1)
        cut = self._cut(n - k + 2 * added)
        sizes = np.arange(n - k, n + k + 1)
        kept = int((sizes - 2 * self._cut(sizes)).min())
        left = np.arange(max(0, int((cut - added).min())), int(cut.max()) + 1)
        beyond = np.maximum(int((2 * cut - added).min()) - left, 0)
        width = self.ranked.take(n + 1 - beyond) - self.ranked.take(left)
        most, mean, least = Fraction(int(width.max()), kept), self.mean, int(left[0])
        farthest = max(mean - self.ranked.one(least), self.ranked.one(n + 1 - least) - mean)
        return min(most, (farthest + k * most) / max(kept - 1, 1))

    def _moves(self) -> Fraction:
        """Return the local sensitivity itself, of one row or more."""
        n, mean = self.ranked.count, self.mean
        before, cut, after = (int(self.trim * size) for size in (n - 1, n, n + 1))
        kept, most = n - 2 * cut, Fraction(0)
        if after == cut or before < cut:  # one more counts
            ends = self.ranked.one(cut), self.ranked.one(n - cut + 1)
            most = max(mean - ends[0], ends[1] - mean) / (kept + 1)
        if n == 1:
            return max(most, mean)  # of no row it is the lower bound
        if after > cut or before == cut:  # one fewer does
            ends = self.ranked.one(cut + 1), self.ranked.one(n - cut)
            most = max(most, max(mean - ends[0], ends[1] - mean) / (kept - 1))
        return most

    def best(self, beta: Fraction, last: int) -> list[Worth]:
        """Return the best distance: between two, a bound is the weight at the nearer times the width at the farther."""
        most = min(last, self.last)
        weights = powers(float(beta), np.arange(most + 1)).tolist()
        known = {k: self.steps_at(k) for k in (0, most)}
        worth = {k: float(steps) * weights[k] for k, steps in known.items()}
        open_parts = [(-float(known[most]) * weights[min(1, most)], 0, most)]
        while open_parts and -open_parts[0][0] > max(worth.values()):
            _, low, high = heapq.heappop(open_parts)
            if high - low < 2:
                continue
            middle = (low + high) // 2
            known[middle] = self.steps_at(middle)
            worth[middle] = float(known[middle]) * weights[middle]
            for near, far in ((low, middle), (middle, high)):
                heapq.heappush(open_parts, (-float(known[far]) * weights[near + 1], near, far))
        found = max(worth, key=lambda k: worth[k])
        return [(0, known[0]), (found, known[found])]


def relation(neighbours: Neighbours) -> Neighbours:
    """Return the relation, or refuse what is none."""
    if not isinstance(neighbours, Neighbours):
        raise InvalidParameter("neighbours is dp.Neighbours.ADD_REMOVE or dp.Neighbours.REPLACE.")
    return neighbours


def check_quantile(q: Number) -> Fraction:
    """Return the rational q in [0, 1]."""
    share = rational(q, "q")
    if not 0 <= share <= 1 or share.denominator >= _MOST:
        raise InvalidParameter(f"q lies in [0, 1] and has at most nine digits; got {q!r}.")
    return share


def check_trim(trim: Number) -> Fraction:
    """Return the rational share of rows trimmed at each end, in [0, 1/2)."""
    share = rational(trim, "trim")
    if not 0 <= share < HALF or share.denominator >= _MOST:
        raise InvalidParameter(
            f"trim lies in [0, 1/2), is cut off at each end, and has at most nine digits; got {trim!r}."
        )
    return share


def _rows(ranked: Ranked) -> int:
    if ranked.count >= _MOST:
        raise InvalidParameter("a table of 2^31 rows or more is not ranked here; release a quantile by its counts.")
    return ranked.count
