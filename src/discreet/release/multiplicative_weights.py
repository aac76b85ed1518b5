"""Multiplicative weights: the cells that a wrong answer blames are made lighter or heavier, by a fixed step.

The model is a distribution p over the cells, times a public number of rows N. With q the table's distribution, the
potential is KL(q | p): at most ln |X| when p is uniform, never below 0. Each step says how much of it an update takes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import final

import numpy as np

from discreet.dp.rational import Number, non_negative, positive, probability, sqrt_up
from discreet.dp.reals import ball, upper
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.database_update import DatabaseUpdate, Structure, Tolerates, dense, spread
from discreet.release.families import Family
from discreet.release.model import DenseModel
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import Rows, public_rows
from discreet.release.workload import Workload


@final
@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Structure):
    """Logarithms of the shares of all cells, and the model that gives each its share of a number of rows."""

    logs: Array
    model: DenseModel

    @classmethod
    def of(cls, logs: Array, rows: float, universe: Universe) -> Distribution:
        """Return the distribution of these logarithms, up to a constant."""
        top = float(logs.max())
        shares = logs - (top + math.log(float(np.exp(logs - top).sum())))
        shares.flags.writeable = False
        return cls(shares, DenseModel(universe, np.exp(shares).ravel() * rows))

    @property
    def rows(self) -> float:
        """The number of rows that the cells share."""
        return self.model.rows

    def moved(self, by: Array) -> Distribution:
        """Return the distribution with something added to its logarithms."""
        return Distribution.of(self.logs + by, self.model.rows, self.model.universe)

    def answer(self, query: LinearQuery) -> float:
        """Return the answer to one query, in counts."""
        return self.model.answer(query)

    def answers(self, workload: Workload | Family) -> Array:
        """Return the answers to all queries of a workload, in counts."""
        if isinstance(workload, Family):
            return workload.answers(self.model.marginal(workload.axes))
        return self.model.answers(workload)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A public guess of the distribution, mixed with a share of the uniform one so that no cell is 0.

    Guarantee: the potential of any table is at most `potential`, max ln 1 / p(x), which is at most ln |X| + ln 1 / w
      and never below ln |X|: a good prior makes for fewer updates in fact, not for a smaller bound. The caller must
      ensure that the guess is not computed from the table, unless it was released.
    """

    weights: Array
    uniform_share: Fraction

    def __init__(self, weights: Array, *, uniform_share: Number) -> None:
        share, given = probability(uniform_share, "uniform_share"), np.asarray(weights, np.float64).ravel()
        if not given.size or not bool(np.isfinite(given).all()) or float(given.min()) < 0 or not given.any():
            raise InvalidParameter("a prior has a finite weight of at least 0 for every cell, and one above 0.")
        mixed = (1 - float(share)) * given / float(given.sum()) + float(share) / given.size
        object.__setattr__(self, "weights", mixed)
        object.__setattr__(self, "uniform_share", share)

    @property
    def potential(self) -> Fraction:
        """The greatest ln 1 / p(x), rounded up; the sum of the weights is off by less than 2^-30."""
        least = Fraction(float(self.weights.min())) * (1 - Fraction(1, 2**30))
        return upper(lambda: -ball(least).log())


class RelativeEntropy(DatabaseUpdate[Distribution]):
    """What the rules share whose potential is the relative entropy of the table's distribution to the model's."""

    rows: Rows
    prior: Prior | None

    def _keep(self, universe: Universe, rows: Rows | int, prior: Prior | None) -> None:
        if prior is not None and (not isinstance(prior, Prior) or prior.weights.size != dense(universe).size):
            raise InvalidParameter("prior is a release.Prior with a weight for every cell of the universe.")
        for name, value in (("universe", dense(universe)), ("rows", public_rows(rows)), ("prior", prior)):
            object.__setattr__(self, name, value)

    @property
    def potential(self) -> Fraction:
        """A public bound on the relative entropy at the start: ln |X|, or that of the prior; rounded up."""
        return upper(lambda: ball(self.universe.size).log()) if self.prior is None else self.prior.potential

    @property
    def known_rows(self) -> Rows:
        """The public number of rows."""
        return self.rows

    @property
    def settled(self) -> bool:
        """Whether there is one cell only, or no row."""
        return self.potential == 0 or self.rows.estimate == 0

    @property
    def first_error(self) -> Fraction:
        """The number of rows, at most; its own error where there is nothing to learn."""
        return self.rows.error if self.settled else self.rows.most

    def start(self) -> Distribution:
        """Return the uniform distribution, or the prior."""
        size, shape = self.universe.size, self.universe.shape
        logs = np.zeros(size) if self.prior is None else np.log(self.prior.weights)
        return Distribution.of(logs.reshape(shape), float(self.rows.estimate), self.universe)

    @abstractmethod
    def _gain(self, gap: Fraction) -> Fraction:
        """Return what an update takes off the potential at least, where shares are this far apart."""

    def _count(self, gap: Fraction) -> int:
        return 0 if self.settled else math.ceil(self.potential / self._gain(gap))

    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        """Return the least level at which the loop makes at most so many updates."""
        if self.settled:
            return self.rows.error
        return self.rows.estimate * sqrt_up(self.potential / (updates * self._gain(Fraction(1)))) + self.rows.error


class Step(Enum):
    """The step g of multiplicative weights, for shares at least u apart: cells are multiplied by exp(+-g Q).

    The potential drops by at least g u - g^2 / 8 (Hoeffding's lemma).

    NOTES: g = u / 2, which takes 15/32 u^2. The notes quote u^2 / 4, so 4 ln |X| / u^2 updates.
    FOURFOLD: g = 4 u, the best one, which takes 2 u^2, so ln |X| / (2 u^2) updates: an eighth of the notes' bound.
    """

    NOTES = "u / 2"
    FOURFOLD = "4 u"

    @property
    def factor(self) -> Fraction:
        """The step, in units of u."""
        return Fraction(1, 2) if self is Step.NOTES else Fraction(4)

    @property
    def gain(self) -> Fraction:
        """What the bound counts on for each update, in units of u^2."""
        return Fraction(1, 4) if self is Step.NOTES else Fraction(2)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MultiplicativeWeights(RelativeEntropy):
    """Multiply the cells of a query by exp(g Q) if the value released is above the model's answer, else by exp(-g Q).

    Guarantee: B(u) = 4 ln|X| / u^2 for the step of the notes and ln|X| / (2 u^2) for the fourfold one, u being the
      level as a share of the rows, for every value that is off by less than the level: only its sign is used. The
      caller must ensure that `rows` is public.
    Source: Hardt, Rothblum, 2010; Gupta, Roth, Ullman, 2012, Lemma A.5 (4 ln|X| / u^2); the fourfold step is the one
      that maximises g u - g^2 / 8.

    >>> from discreet import dp
    >>> update = MultiplicativeWeights(dp.Universe({"cell": 1000}), rows=100, step=Step.FOURFOLD)
    >>> update.bound(10), MultiplicativeWeights(update.universe, rows=100, step=Step.NOTES).bound(10)
    (346, 2764)
    """

    universe: Universe
    rows: Rows
    step: Step
    prior: Prior | None

    def __init__(
        self, universe: Universe, *, rows: Rows | int, step: Step = Step.FOURFOLD, prior: Prior | None = None
    ) -> None:
        if not isinstance(step, Step):
            raise InvalidParameter("step is release.Step.NOTES or release.Step.FOURFOLD.")
        self._keep(universe, rows, prior)
        object.__setattr__(self, "step", step)

    @property
    def tolerates(self) -> Tolerates:
        """Any noise below the level."""
        return Tolerates.LEVEL

    def _gain(self, gap: Fraction) -> Fraction:
        return self.step.gain * gap**2

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha), rounded up."""
        level = positive(alpha, "alpha")
        if non_negative(noise, "noise") >= level:
            raise InvalidParameter("noise is below alpha: a value that is off by more says nothing of the sign.")
        return self._count(Fraction(1) if self.settled else self.rows.normalised(level))

    def updated(
        self, state: Distribution, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction
    ) -> Distribution:
        """Return the model after one step in the direction of the value."""
        if self.settled:
            return state
        size = float(self.step.factor * self.rows.normalised(level))
        sign = 1 if value > state.answer(query) else -1
        return state.moved(sign * size * spread(query))
