"""Frieze-Kannan updates in counts: the model is a vector, and an update moves it along the query that was wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.dp.rational import Number, non_negative, positive, sqrt_up
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.database_update import Cells, DatabaseUpdate, Tolerates, dense, spread, square
from discreet.release.families import Family, Marginal, Prefixes, Ranges
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload


class _SquaredDistance(DatabaseUpdate[Cells]):
    """What both rules share: the potential is the squared distance to the histogram, from the origin at the start."""

    workload: Workload | Family
    square_bound: Fraction
    longest: Fraction

    def _keep(self, universe: Universe, workload: Workload | Family, square_bound: Number) -> None:
        if not isinstance(workload, Workload | Family) or workload.shape != dense(universe).shape:
            raise InvalidParameter("workload is one over this universe: its longest query is part of the bound.")
        object.__setattr__(self, "universe", universe)
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "square_bound", non_negative(square_bound, "square_bound"))
        object.__setattr__(self, "longest", longest_square(workload))

    @property
    def known_workload(self) -> Workload | Family:
        """The queries whose length is part of the bound."""
        return self.workload

    @property
    def potential(self) -> Fraction:
        """The bound on |h|^2, times the greatest |Q|^2 of the workload."""
        return self.square_bound * self.longest

    @property
    def settled(self) -> bool:
        """Whether every answer is 0."""
        return self.potential == 0

    @property
    def first_error(self) -> Fraction:
        """The greatest |h| |Q|: no answer is above it."""
        return sqrt_up(self.potential)

    def start(self) -> Cells:
        """Return the origin: all cells 0."""
        return Cells(np.zeros(self.universe.size), self.universe.shape)

    def _moved(self, state: Cells, query: LinearQuery, by: Fraction) -> Cells:
        length = square(query)
        if not length:
            return state
        step = float(by / length) * np.broadcast_to(spread(query), self.universe.shape)
        return Cells(state.cells + step.ravel(), self.universe.shape)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FriezeKannan(_SquaredDistance):
    """Move the model by u Q / |Q|^2 towards the value released, a step of the same length whatever the value.

    Guarantee: B(u) = H max|Q|^2 / u^2 in counts, for every value off by less than u: only its sign is used. The
      squared distance to the histogram drops by u^2 / |Q|^2 at least. The caller must ensure that `square_bound`, H, is
      a PUBLIC bound on the sum of the squares of all counts, such as the square of the most rows there can be; the sum
      itself is private. Answers may be negative: nothing keeps the counts of the model above 0.
    Source: Frieze, Kannan, 1999; Gupta, Roth, Ullman, 2012, Theorem 5.6; it is Kaczmarz's method, 1937.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 1000})
    >>> FriezeKannan(universe, release.Workload([release.marginal(universe, "cell")]), square_bound=50**2).bound(10)
    25
    """

    universe: Universe
    workload: Workload | Family
    square_bound: Fraction
    longest: Fraction

    def __init__(self, universe: Universe, workload: Workload | Family, *, square_bound: Number) -> None:
        self._keep(universe, workload, square_bound)

    @property
    def tolerates(self) -> Tolerates:
        """Any noise below the level."""
        return Tolerates.LEVEL

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha), rounded up."""
        level = positive(alpha, "alpha")
        if non_negative(noise, "noise") >= level:
            raise InvalidParameter("noise is below alpha: a value that is off by more says nothing of the sign.")
        return math.ceil(self.potential / level**2)

    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        """Return the least level at which the loop makes at most so many updates."""
        return sqrt_up(self.potential / updates)

    def updated(self, state: Cells, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction) -> Cells:
        """Return the model one step nearer."""
        return self._moved(state, query, level if value > state.answer(query) else -level)


@final
@dataclass(frozen=True, slots=True, eq=False)
class KaczmarzProjection(_SquaredDistance):
    """Move the model the shortest way to where it agrees with the value released.

    Guarantee: B(u) = H max|Q|^2 / (u^2 - noise^2) in counts, for values off by at most `noise` < u: the squared
      distance drops by (u^2 - noise^2) / |Q|^2 at least. The caller must ensure what `FriezeKannan` asks.
    Source: Kaczmarz, 1937; the bound under noise is d^2 - (d - r)^2 for a step r where d was due.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 1000})
    >>> workload = release.Workload([release.marginal(universe, "cell")])
    >>> KaczmarzProjection(universe, workload, square_bound=50**2).bound(10, noise=6)
    40
    """

    universe: Universe
    workload: Workload | Family
    square_bound: Fraction
    longest: Fraction

    def __init__(self, universe: Universe, workload: Workload | Family, *, square_bound: Number) -> None:
        self._keep(universe, workload, square_bound)

    @property
    def tolerates(self) -> Tolerates:
        """Noise that is named in advance."""
        return Tolerates.DECLARED

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha) for values off by at most `noise`, rounded up."""
        level, off = positive(alpha, "alpha"), non_negative(noise, "noise")
        if off >= level:
            raise InvalidParameter("noise is below alpha: a step that is off by more may lead away.")
        return math.ceil(self.potential / (level**2 - off**2))

    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        """Return the least level at which the loop makes at most so many updates."""
        return sqrt_up(self.potential / updates + noise**2)

    def updated(self, state: Cells, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction) -> Cells:
        """Return the nearest vector that answers the query with the value."""
        return self._moved(state, query, value - Fraction(state.answer(query)))


def longest_square(workload: Workload | Family) -> Fraction:
    """Return the greatest sum of squared weights of a query of the workload, over all cells of the universe."""
    families = [workload] if isinstance(workload, Family) else workload.families
    return max(_longest(family) for family in families)


def _longest(family: Family) -> Fraction:
    match family:
        case Marginal():
            return Fraction(math.prod(family.shape), family.size)
        case Prefixes() | Ranges():
            return Fraction(math.prod(family.shape))  # the last prefix, and the widest range, hold every row
        case _:
            return max(square(query) for query in dict.fromkeys(family))
