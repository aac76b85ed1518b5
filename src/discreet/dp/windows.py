"""Local sensitivity at distance k as the widest of some windows of order statistics, for each relation.

Every proof here has the same two steps. Between neighbours the statistic moves by at most a gap y_u - y_v of order
statistics that stands at a *critical* place, and moves by it where one row goes to the right end. After k changes, the
critical gap of the best table is a window x_u - x_v of the table as it is: changes push order statistics that lie
between into the ends, each by one rank. So LS^(k) is the greatest x_u - x_v over the windows that k changes reach.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.dp.order_statistics import Ranked, Ranks
from discreet.dp.window_search import Search, Tasks, Window, staircase


class Windows(ABC):
    """The windows that belong to a statistic of one table under one relation."""

    ranked: Ranked

    @abstractmethod
    def at(self, distance: int) -> tuple[Ranks, Ranks]:
        """Return the windows (v, u) for one k: left and right ranks, of which the widest is LS^(k)."""

    @abstractmethod
    def search(self, beta: float, last: int) -> Window:
        """Return a window of which exp(-beta k) (x_u - x_v) is the greatest, with k up to `last`."""

    def widest(self, distance: int) -> int:
        """Return LS^(k) times the divisor, in steps."""
        left, right = self.at(distance)
        return int((self.ranked.take(right) - self.ranked.take(left)).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Replacing(Windows):
    """REPLACE: the mean of h order statistics, x_(a + 1) to x_(a + h), with a below them and c = n - h - a above.

    Proof. To replace a row is to take one out and to put one in; of the h in the middle one leaves and one comes in, so
    the sum grows by at most y_(a + h + 1) - y_(a + 1), reached by moving the row of rank a + 1 to the upper bound, and
    falls by at most y_(a + h) - y_a. After k replacements of rows in between, i of them to the lower bound and k - i to
    the upper, y_(a + 1) = x_(a + 1 - i) and y_(a + h + 1) = x_(a + h + 1 + k - i), and neither can be moved further:
    a replacement moves an order statistic by at most one rank, and not both ends outwards at once. So
    h LS^(k) = max x_(v + h + k) - x_v over a - k <= v <= a + 1. For h = 1 this is the formula of Nissim, Raskhodnikova
    and Smith (2007, Proposition 3.4) for the median, at any rank a + 1.
    """

    ranked: Ranked
    below: int
    kept: int

    def at(self, distance: int) -> tuple[Ranks, Ranks]:
        """Return the windows with a - k <= v <= a + 1 and u = v + h + k."""
        left = np.arange(max(self.below - distance, 0), self.below + 2)
        return left, left + self.kept + distance

    def search(self, beta: float, last: int) -> Window:
        """Search the row u = a + h with v <= a, and the rectangle u > a + h, v <= a + 1; k = u - v - h in both."""
        found, inner = Search(self.ranked, beta, mirrored=False), self.below + self.kept
        found.along(self._even, last)
        first, end = max(self.below - last, 0), min(inner + last + 1, self.ranked.count + 1)
        tasks = Tasks.of((inner, inner, first, self.below), (inner + 1, end, first, self.below + 1))
        found.inside(tasks, lambda u: u - inner, lambda v: self.below - v)
        return found.best

    def _even(self, distances: Ranks) -> tuple[Ranks, Ranks]:
        """Return the windows that reach as far to both sides; one is inside the next."""
        left = np.maximum(self.below - distances // 2, 0)
        return left, np.minimum(self.below + self.kept + (distances + 1) // 2, self.ranked.count + 1)


@dataclass(frozen=True, slots=True)
class AddingRemoving(Windows):
    """ADD_REMOVE: the order statistic of rank r(n) = max(1, ceil(q n)), and the lower bound (rank 0) where n = 0.

    Proof. r(m + 1) - r(m) is 0 or 1. If a row z joins a table y of m rows, the value stays between y_(r(m+1) - 1) and
    y_(r(m+1)), and z at one end moves it from one to the other: the critical gap has L = r(m + 1) - 1 rows at or below
    it (`joins`). If a row leaves a table of m rows, likewise with L = r(m - 1) (`leaves`). Let H = m - L. From a table
    x of n rows, the window with v rows at or below it and h = n + 1 - u at or above becomes such a gap when the
    n - v - h rows inside are taken out, L - v rows are put at the lower bound and H - h at the upper; nothing cheaper
    does it, and v > L or h > H is never wider at the same price. So k = n + m - 2 (v + h), v <= L, h <= H, and
    LS^(k) = max x_u - x_v over the sizes m = n - k + 2 i, i = 0 ... k, with v = L - j, u = L - j + k + 1 - i,
    j = 0 ... i. Let q <= 1/2; then L grows by 0 or 1 from m - 2 to m, and the windows of (i, j) lie in one of i - 1
    unless j = i. (For q > 1/2 all is `mirrored`.) For q = 1/2 it grows by 1, and only i = 0 is left: the one window
    of k + 1 gaps with floor((n - k) / 2) rows below it. With k >= n the whole range is reached.
    """

    ranked: Ranked
    q: Fraction

    @property
    def mirrored(self) -> bool:
        """Whether ranks are counted from above, and the lower bound is the upper."""
        return self.q > Fraction(1, 2)

    def _below(self, sizes: Ranks, path: str) -> Ranks:
        """Return L for tables of these sizes, counted from above if mirrored."""
        rows = ranks(self.q, sizes + 1) - 1 if path == "joins" else ranks(self.q, np.maximum(sizes - 1, 0))
        return sizes - rows if self.mirrored else rows

    def at(self, distance: int) -> tuple[Ranks, Ranks]:
        """Return the windows (i, i) of both paths."""
        n, k = self.ranked.count, distance
        if k >= n:
            return np.array([0]), np.array([n + 1])
        i = np.arange(1 if self.q == Fraction(1, 2) else k + 1)
        lefts = [self._below(n - k + 2 * i, path) - i for path in ("joins", "leaves")]
        left = np.concatenate(lefts)
        right = left + np.tile(k + 1 - i, 2)
        return (n + 1 - right, n + 1 - left) if self.mirrored else (left, right)

    def search(self, beta: float, last: int) -> Window:
        """Search the windows i = 0, and for q other than 1/2 the others, on both paths, as staircases.

        There j = i, so that h = H: for each u the v <= V(u), with k = n + m - 2 (v + h), where m is the least size with
        H >= h, and V its L, which falls with u. (A greater size with the same H has the window i = 0 besides.)
        """
        n = self.ranked.count
        found = Search(self.ranked, beta, mirrored=self.mirrored)
        found.along(partial(self._first, "joins"), min(last, n))
        if self.q != Fraction(1, 2):
            centre = int(self._below(np.array([n]), "joins")[0])
            first, end = max(centre - last - 1, 0), min(centre + last + 2, n + 1)
            for path in ("joins", "leaves"):
                found.along(partial(self._first, path), min(last, n - 1))
                least = int(path == "leaves" and not self.mirrored)  # H of the smallest size

                def most(u: Ranks, path: str = path, least: int = least) -> Ranks:
                    h = np.maximum(n + 1 - u, least)
                    return np.minimum(self._size(h, path) - h, n)

                def row_costs(u: Ranks, path: str = path) -> Ranks:
                    return n + self._size(n + 1 - u, path) - 2 * (n + 1 - u) - 2 * centre

                costs = row_costs, lambda v: 2 * (centre - v)
                column = max(centre - last - 2, 0)
                found.inside(staircase(found, first, end, column, most, costs), *costs)
        k, left, right = found.best
        return (k, n + 1 - right, n + 1 - left) if self.mirrored else found.best

    def _first(self, path: str, distances: Ranks) -> tuple[Ranks, Ranks]:
        """Return the windows i = 0 of a path, counted from above if mirrored; one is inside the next."""
        left = self._below(self.ranked.count - distances, path)
        return left, left + distances + 1

    def _size(self, beyond: Ranks, path: str) -> Ranks:
        """Return the least size at which this many rows lie at or above the critical gap, counted likewise."""
        top, bottom, h = self.q.numerator, self.q.denominator, beyond
        if path == "joins":
            if self.mirrored:  # ceil(q s) > h for s = m + 1
                return h * bottom // top
            return np.maximum(h, -(-h * bottom // (bottom - top)) - 1)  # s - max(1, ceil(q s)) >= h
        if self.mirrored:  # max(1, ceil(q (m - 1))) >= h
            return np.where(h < 1, 1, (h - 1) * bottom // top + 2)
        return np.where(h < 2, 1, np.maximum(h, -(-(h - 1) * bottom // (bottom - top))) + 1)


def rank(q: Fraction, count: int) -> int:
    """Return the rank of a quantile among `count` rows: max(1, ceil(q n)), and 0 where there are none."""
    return max(1, math.ceil(q * count)) if count else 0


def ranks(q: Fraction, counts: Ranks) -> Ranks:
    """Return the ranks for many counts."""
    return np.where(counts > 0, np.maximum(1, -(-q.numerator * counts // q.denominator)), 0)
