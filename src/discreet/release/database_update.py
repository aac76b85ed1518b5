"""Database updates: how a model learns from one query that it answered wrongly, and how often that can happen.

An update sequence of level u is: a model S, a query Q with |Q(D) - Q(S)| >= u, a value v with |v - Q(D)| < u, the next
model U(S, Q, v), and so on. An update rule with bound B has no such sequence of more than B(u) steps, whatever the
table, the queries and the values are. All errors are in counts of rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Generic, TypeVar, final

import numpy as np

from discreet.dp.rational import Number
from discreet.dp.universe import MOST_CELLS, Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.families import Family
from discreet.release.marginals import Marginals
from discreet.release.model import Model
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import Rows
from discreet.release.workload import Workload


class Tolerates(Enum):
    """What the bound of an update rule allows the released value to be off by.

    NOTHING: the value is the true answer, so the bound certifies nothing that is private.
    DECLARED: at most `noise`, which is named in advance and below what the rule says.
    LEVEL: anything below the level of the sequence, as in the definition: the rule uses the sign alone.
    """

    NOTHING = "no noise"
    DECLARED = "noise named in advance"
    LEVEL = "any noise below the level"


class Structure(ABC):
    """What an update rule learns, D^t of the notes: it answers every linear query, in counts. It does not change."""

    __slots__ = ()

    @property
    def model(self) -> Model | Structure:
        """What a run hands out: a `Model` with rows and files where it is a table of counts, or else itself."""
        return self

    @abstractmethod
    def answer(self, query: LinearQuery) -> float:
        """Return the answer to one query."""

    @abstractmethod
    def answers(self, workload: Workload | Family) -> Array:
        """Return the answers to all queries of a workload, in order."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cells(Structure):
    """A dense vector, one number for each cell, which may be negative; and the marginals that were asked for.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "age": 3})
    >>> Cells(np.ones(6), universe.shape).answer(release.where(universe, age=[0, 1]))
    4.0
    """

    cells: Array
    shape: tuple[int, ...]
    marginals: Marginals = field(init=False)

    def __post_init__(self) -> None:
        self.cells.flags.writeable = False
        object.__setattr__(self, "marginals", Marginals(self.cells, self.shape))

    def answer(self, query: LinearQuery) -> float:
        """Return the answer to one query."""
        return query.answer(self.marginals(query.axes))

    def answers(self, workload: Workload | Family) -> Array:
        """Return the answers to all queries of a workload, in order."""
        if isinstance(workload, Family):
            return workload.answers(self.marginals(workload.axes))
        self.marginals.prepare(workload.cliques)
        return workload.answers(self.marginals)


State = TypeVar("State", bound=Structure)


class DatabaseUpdate(ABC, Generic[State]):
    """An update rule U with its bound B: pure, from a model, a query and a released value to the next model.

    Guarantee: no update sequence of level u, with values off by less than u (by at most `noise`, for a rule that
      tolerates declared noise only), has more than `bound(u, noise=...)` updates. A rule sees the table through the
      values alone; it takes no number that was computed from the table in any other way.
    Source: Gupta, Roth, Ullman, 2012, Definition 3.2; Roth, lecture 7, 2011, Definition 2.
    """

    universe: Universe

    @property
    @abstractmethod
    def tolerates(self) -> Tolerates:
        """What the bound allows the released values to be off by."""

    @property
    def known_rows(self) -> Rows | None:
        """The public number of rows that it counts on; None if it needs none."""
        return None

    @property
    def known_workload(self) -> Workload | Family | None:
        """The queries that its bound is for; None if it holds for all."""
        return None

    @property
    @abstractmethod
    def first_error(self) -> Fraction:
        """How far off an answer of the first model can be, by public facts."""

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether public facts leave no room for an update: the first model is all there is to learn."""

    @abstractmethod
    def start(self) -> State:
        """Return the first model, which holds public facts only."""

    @abstractmethod
    def updated(self, state: State, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction) -> State:
        """Return the next model: `query` was answered wrongly by at least `level`, and released as `value`."""

    @abstractmethod
    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha): the most updates of a sequence of this level, in counts, rounded up."""

    @abstractmethod
    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        """Return the least level u, rounded up, at which the loop makes at most so many updates.

        The loop updates only where |v - Q(S)| >= u + noise, with |v - Q(D)| <= noise. That is an update sequence of
        level u, and a little more is known of it.
        """


def dense(universe: Universe) -> Universe:
    """Return a universe whose cells can be held in memory, or refuse it."""
    if not isinstance(universe, Universe):
        raise InvalidParameter(
            "universe is a dp.Universe: the columns and their values are declared, not read off data."
        )
    if universe.size > MOST_CELLS:
        raise NotSupported(
            f"a dense model of {universe.size} cells is too large, {MOST_CELLS} is the most: leave out columns, or use "
            "coarser bins."
        )
    return universe


def spread(query: LinearQuery) -> Array:
    """Return the weights of a query in [0, 1], as floats in a shape that broadcasts over the universe."""
    sizes = [size if axis in query.axes else 1 for axis, size in enumerate(query.shape)]
    return (query.weights().astype(np.float64) / query.scale).reshape(sizes)


def square(query: LinearQuery) -> Fraction:
    """Return the sum of the squares of the weights over all cells of the universe."""
    rest = math.prod(size for axis, size in enumerate(query.shape) if axis not in query.axes)
    weights = query.weights()
    if query.scale == 1:
        return Fraction(int(weights.sum()) * rest)
    return Fraction(sum(int(w) ** 2 for w in weights.ravel().tolist()) * rest, query.scale**2)
