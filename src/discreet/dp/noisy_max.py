"""Report noisy max and noisy top-k, with Gumbel noise: the exponential mechanism, once or k times."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.dp.exponential import Exponential, Selection, Utility, check_selection
from discreet.dp.loss import BoundedRange, Loss
from discreet.dp.rational import Number, positive_integer, probability
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.weights import Given, Weights
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream


_REPEATS = 8  # draws of a candidate already chosen before the others are weighed alone


@dataclass(frozen=True, slots=True)
class NoisyMax(Selection):
    """Add Gumbel noise of scale 2 D / epsilon to every score and report which is largest: the index, never the value.

    Its law is the exponential mechanism's, from which it is drawn.

    Guarantee: epsilon-DP, with Renyi divergence at most a epsilon^2 / 8. The noisy value itself is not covered: it must
      be measured again. The caller must ensure that each score moves by at most D = sensitivity.linf, and that scores
      are monotone where MONOTONE drops the 2.
    Source: Dwork, Roth, 2014, Section 3.3 (report noisy max); Cesar, Rogers, 2021 (Gumbel noise, bounded range).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> dp.NoisyMax(sensitivity=s, epsilon=1).release([0, 10, 1000])
    2
    """

    sensitivity: Sensitivity
    epsilon: Fraction
    utility: Utility

    def __init__(self, *, sensitivity: Sensitivity, epsilon: Number, utility: Utility = Utility.GENERAL) -> None:
        object.__setattr__(self, "epsilon", check_gumbel(sensitivity, epsilon, utility))
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "utility", utility)

    @property
    def loss(self) -> Loss:
        """The loss of one choice."""
        return BoundedRange(self.epsilon)

    def law(self, scores: Given) -> list[arb]:
        """Return the balls around the probabilities of all candidates, at the precision in force."""
        return Exponential(sensitivity=self.sensitivity, epsilon=self.epsilon, utility=self.utility).law(scores)

    def _release(self, scores: Given, stream: Stream) -> int:  # type: ignore[override]
        return Weights.of(scores, self._rate).draw(stream)


@dataclass(frozen=True, slots=True)
class NoisyTopK(Selection):
    """Report the k candidates with the largest Gumbel-noisy scores, in that order: k choices without replacement.

    Guarantee: the composition of k exponential mechanisms of `epsilon` / k each, so epsilon-DP in total, with Renyi
      divergence at most a epsilon^2 / (8 k). The caller must ensure what `NoisyMax` asks.
    Source: Durfee, Rogers, 2019, Lemma 4.2 (Gumbel top-k is peeling).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> dp.NoisyTopK(sensitivity=s, epsilon=2, k=2).release([0, 1000, 5000])
    [2, 1]
    """

    sensitivity: Sensitivity
    epsilon: Fraction
    k: int
    utility: Utility

    def __init__(
        self, *, sensitivity: Sensitivity, epsilon: Number, k: int, utility: Utility = Utility.GENERAL
    ) -> None:
        object.__setattr__(self, "epsilon", check_gumbel(sensitivity, epsilon, utility))
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "k", positive_integer(k, "k"))
        object.__setattr__(self, "utility", utility)

    @property
    def loss(self) -> Loss:
        """The loss of all k choices."""
        return BoundedRange(self.epsilon / self.k) * self.k

    @property
    def _rate(self) -> Fraction:
        return super(NoisyTopK, self)._rate / self.k

    def accuracy(self, *, failure_probability: Number, candidates: int) -> float:
        """Return alpha with P(some chosen score < the k-th best - alpha) <= failure_probability.

        It is (ln R + ln k/beta) / rate: each choice has one of the k best before it, and all R candidates at most.
        """
        each = probability(failure_probability, "failure_probability") / self.k
        return Selection.accuracy(self, failure_probability=each, candidates=candidates)

    def release(self, scores: Given) -> list[int]:  # type: ignore[override]
        """Return the indices of the k chosen candidates, best noisy score first."""
        from discreet.dp import randomness

        return self._release(scores, randomness.system())

    def _release(self, scores: Given, stream: Stream) -> list[int]:  # type: ignore[override]
        weights = Weights.of(scores, self._rate)
        if self.k > len(weights):
            raise InvalidParameter(f"{self.k} candidates cannot be chosen of {len(weights)}.")
        chosen: list[int] = []
        names, repeats = np.arange(len(weights)), 0
        while len(chosen) < self.k:
            candidate = int(names[weights.draw(stream)])
            if candidate not in chosen:  # drawing until it is a new one gives the law among the others
                chosen.append(candidate)
                continue
            repeats += 1
            if repeats % _REPEATS == 0:  # those chosen have nearly all the weight: weigh the others alone
                left = ~np.isin(names, chosen)
                names, weights = names[left], weights.among(left)
        return chosen


def check_gumbel(sensitivity: Sensitivity, epsilon: Number, utility: Utility) -> Fraction:
    """Return epsilon, or refuse the parameters of a selection by Gumbel noise."""
    if utility is Utility.CONSTANT_NORMALISER:
        raise InvalidParameter("a constant normaliser is an obligation of dp.Exponential; noisy max has no normaliser.")
    return check_selection(sensitivity, epsilon, utility)
