"""Private distinguishers: choose a query that the model answers almost as badly as any, without looking twice."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias, final

import numpy as np

from discreet.dp.exponential import Exponential, Selection
from discreet.dp.grid import in_steps
from discreet.dp.loss import Loss
from discreet.dp.noisy_max import NoisyMax
from discreet.dp.permute_and_flip import PermuteAndFlip
from discreet.dp.private import Exact
from discreet.dp.rational import Number, positive, probability, rational
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter
from discreet.release.database_update import Structure
from discreet.release.families import Family
from discreet.release.marginals import Marginals
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import moved, whole_histogram
from discreet.release.workload import Workload

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Truth: TypeAlias = Array
"""What a distinguisher keeps of the private table while a loop runs. Never shown."""

FINE = 2**10
"""Scores are whole multiples of 1 / FINE of the least step of a true answer; a model's answers are rounded to them."""
_SAFE = 2**61  # differences of two integers below it fit 64 bits


class Distinguisher(ABC):
    """A private choice of a query Q in a class C for which |Q(D) - Q(S)| is within F of the greatest.

    Guarantee: `loss(epsilon)` for one choice, whatever the model S is; with probability 1 - gamma the query chosen is
      wrong by at least the greatest error less `slack(epsilon, gamma)`, in counts. The caller must ensure that the
      histogram moves by at most `sensitivity` in l1 and, where units are replaced, that a unit has at most half as many
      rows as that.
    Source: Gupta, Roth, Ullman, 2012, Definition 3.4; Roth, lecture 7, 2011, Definition 3 and Theorem 6.
    """

    workload: Workload | Family
    sensitivity: Sensitivity

    rate_of_rho: ClassVar[Fraction]
    """A choice with epsilon is rho-zCDP for rho = this times epsilon^2."""

    @abstractmethod
    def loss(self, epsilon: Number) -> Loss:
        """Return the loss of one choice."""

    @abstractmethod
    def slack(self, epsilon: Number, failure_probability: Number) -> Fraction:
        """Return F: how far below the greatest error that of the query chosen may be, but for this probability."""

    @abstractmethod
    def truth(self, histogram: Array) -> Truth:
        """Return what is needed of a histogram for all choices."""

    @abstractmethod
    def _choose(self, truth: Truth, structure: Structure, epsilon: Fraction, stream: Stream) -> int:
        """Return the number of a query of the workload."""

    @abstractmethod
    def query(self, number: int) -> LinearQuery:
        """Return a query by its number."""

    def select(self, histogram: Array, structure: Structure, *, epsilon: Number) -> int:
        """Return the number of a query that the model answers badly. Whoever calls this accounts for `loss`.

        >>> from discreet import dp, release
        >>> universe = dp.Universe({"cell": 3})
        >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
        >>> workload = release.Workload([release.marginal(universe, "cell")])
        >>> distinguisher = ExponentialDistinguisher(workload, sensitivity=s)
        >>> model = release.MultiplicativeWeights(universe, rows=9000).start()
        >>> distinguisher.select(np.array([3000, 2800, 4000]), model, epsilon=1)
        2
        """
        from discreet.dp import randomness

        if isinstance(histogram, Exact):
            raise InvalidParameter("a private histogram is opened by open(exact, permit) of an IterativeConstruction.")
        return self._choose(self.truth(histogram), structure, positive(epsilon, "epsilon"), randomness.system())


class _OfAWorkload(Distinguisher):
    """What the distinguishers share that look at every query of a workload, a family at a time."""

    def _keep(self, workload: Workload | Family, sensitivity: Sensitivity) -> None:
        if not isinstance(workload, Workload | Family):
            raise InvalidParameter("workload is a release.Workload: the queries among which one is chosen.")
        moved(sensitivity)
        object.__setattr__(self, "workload", workload)
        object.__setattr__(self, "sensitivity", sensitivity)

    @abstractmethod
    def _mechanism(self, sensitivity: Sensitivity, epsilon: Number) -> Selection:
        """Return the selection for scores of this sensitivity."""

    def loss(self, epsilon: Number) -> Loss:
        """Return the loss of one choice."""
        return self._counting(epsilon).loss

    def slack(self, epsilon: Number, failure_probability: Number) -> Fraction:
        """Return F = (2 D / epsilon) ln(|C| / gamma) in counts, and what rounding the model's answers adds."""
        chance = probability(failure_probability, "failure_probability")
        selection = self._counting(epsilon).accuracy(failure_probability=chance, candidates=len(self.workload))
        return rational(selection, "slack") + Fraction(
            1, self._unit
        )  # half a step for the best query, half for the chosen one

    def truth(self, histogram: Array) -> Truth:
        """Return the exact answers to all queries, in steps."""
        shape = self.workload.shape
        marginals = Marginals(whole_histogram(histogram, math.prod(shape)), shape)
        if isinstance(self.workload, Family):
            return in_steps(self.workload.counts(marginals(self.workload.axes)), FINE)
        marginals.prepare(self.workload.cliques)
        return in_steps(self.workload.counts(marginals), FINE)

    def _choose(self, truth: Truth, structure: Structure, epsilon: Fraction, stream: Stream) -> int:
        sensitivity = _of_scores(self.sensitivity, self._unit)
        return self._mechanism(sensitivity, epsilon)._release(self._scores(truth, structure), stream)

    def _scores(self, truth: Truth, structure: Structure) -> Array:
        """Return |Q(D) - Q(S)| for every query, in whole steps: exactly, but that Q(S) is rounded to them."""
        return np.abs(difference(truth, rounded(structure.answers(self.workload), self._unit)))

    @property
    def _unit(self) -> int:
        return self.workload.scale * FINE

    def _counting(self, epsilon: Number) -> Selection:
        return self._mechanism(_of_scores(self.sensitivity, 1), epsilon)

    def query(self, number: int) -> LinearQuery:
        """Return a query by its number in the workload."""
        return self.workload.query(number)


def _of_scores(sensitivity: Sensitivity, unit: int) -> Sensitivity:
    far = moved(sensitivity) * unit
    return Sensitivity(l1=far, neighbours=sensitivity.neighbours)


def rounded(answers: Array, unit: int) -> Array:
    """Return a model's answers as whole multiples of 1 / unit."""
    scaled = np.rint(answers * float(unit))
    if bool((np.abs(scaled) < _SAFE).all()):
        return scaled.astype(np.int64)
    return np.array([int(value) for value in scaled.tolist()], dtype=object)


def difference(one: Array, other: Array) -> Array:
    """Return the difference of whole numbers, exactly."""
    return one - other if one.dtype == other.dtype else one.astype(object) - other.astype(object)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExponentialDistinguisher(_OfAWorkload):
    """The exponential mechanism on |Q(D) - Q(S)|.

    Guarantee: epsilon-DP and bounded-range for one choice; F = (2 D / epsilon) ln(|C| / gamma) counts, and a step of
      2^-10 for rounding. The caller must ensure what `Distinguisher` asks.
    Source: Roth, lecture 7, 2011, Theorem 6; McSherry, Talwar, 2007.
    """

    workload: Workload | Family
    sensitivity: Sensitivity

    rate_of_rho = Fraction(1, 8)

    def __init__(self, workload: Workload | Family, *, sensitivity: Sensitivity) -> None:
        self._keep(workload, sensitivity)

    def _mechanism(self, sensitivity: Sensitivity, epsilon: Number) -> Exponential:
        return Exponential(sensitivity=sensitivity, epsilon=epsilon)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyMaxDistinguisher(_OfAWorkload):
    """Report noisy max with Gumbel noise on |Q(D) - Q(S)|.

    Guarantee: the law, loss and F of `ExponentialDistinguisher`. The caller must ensure what `Distinguisher` asks.
    Source: Cesar, Rogers, 2021.
    """

    workload: Workload | Family
    sensitivity: Sensitivity

    rate_of_rho = Fraction(1, 8)

    def __init__(self, workload: Workload | Family, *, sensitivity: Sensitivity) -> None:
        self._keep(workload, sensitivity)

    def _mechanism(self, sensitivity: Sensitivity, epsilon: Number) -> NoisyMax:
        return NoisyMax(sensitivity=sensitivity, epsilon=epsilon)


@final
@dataclass(frozen=True, slots=True, eq=False)
class PermuteAndFlipDistinguisher(_OfAWorkload):
    """Permute and flip on |Q(D) - Q(S)|.

    Guarantee: epsilon-DP, and NOT bounded-range: epsilon^2 / 2 in zCDP, four times the exponential mechanism's. F is at
      most the exponential mechanism's, as the coin of a query is a head with at most exp(-epsilon gap / (2 D)). The
      caller must ensure what `Distinguisher` asks.
    Source: McKenna, Sheldon, 2020, Theorem 2.
    """

    workload: Workload | Family
    sensitivity: Sensitivity

    rate_of_rho = Fraction(1, 2)

    def __init__(self, workload: Workload | Family, *, sensitivity: Sensitivity) -> None:
        self._keep(workload, sensitivity)

    def _mechanism(self, sensitivity: Sensitivity, epsilon: Number) -> PermuteAndFlip:
        return PermuteAndFlip(sensitivity=sensitivity, epsilon=epsilon)
