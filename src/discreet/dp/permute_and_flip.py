"""Permute-and-flip: a pure private selection that is never worse than the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.exponential import Selection, Utility, check_selection
from discreet.dp.loss import Loss, Pure
from discreet.dp.rational import Number
from discreet.dp.reals import ball
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.weights import Given, Weights
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream

_MOST_ENUMERATED = 16  # the law sums over subsets


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Selection):
    """In random order, flip a coin of probability exp(-epsilon gap / (2 D)) for each candidate; the first head wins.

    It is report-noisy-max with one-sided exponential noise. All coins may be flipped at once: the first head in a
    random order is a uniform one of all heads.

    Guarantee: epsilon-DP, and no better in Renyi divergence than any epsilon-DP release: it is NOT bounded-range, so
      the a epsilon^2 / 8 of the exponential mechanism does not hold. The expected score is never below the exponential
      mechanism's. The caller must ensure that each score moves by at most D = sensitivity.linf, and that scores are
      monotone where MONOTONE drops the 2.
    Source: McKenna, Sheldon, 2020, Theorems 1 and 2; Ding, Kifer, Steinke, Xiao, Wang, Zhang, 2021 (the noise).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> dp.PermuteAndFlip(sensitivity=s, epsilon=1).release([0, 10, 1000])
    2
    """

    sensitivity: Sensitivity
    epsilon: Fraction
    utility: Utility

    def __init__(self, *, sensitivity: Sensitivity, epsilon: Number, utility: Utility = Utility.GENERAL) -> None:
        object.__setattr__(self, "epsilon", check_selection(sensitivity, epsilon, utility))
        if utility is Utility.CONSTANT_NORMALISER:
            raise InvalidParameter("permute-and-flip has no normaliser; its utility is GENERAL or MONOTONE.")
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "utility", utility)

    @property
    def loss(self) -> Loss:
        """The loss of one choice."""
        return Pure(self.epsilon)

    def law(self, scores: Given) -> list[arb]:
        """Return the balls around the probabilities of up to 16 candidates, at the precision in force.

        P(i) = w_i times the sum over subsets S of the others of prod (-w_j) / (|S| + 1): the uniform head.
        """
        weights = Weights.of(scores, self._rate)
        if len(weights) > _MOST_ENUMERATED:
            raise InvalidParameter(f"the exact law is summed over subsets, for at most {_MOST_ENUMERATED} candidates.")
        each = [weights.exact(i) for i in range(len(weights))]
        law = []
        for i, weight in enumerate(each):
            symmetric = [ball(1)]  # elementary symmetric sums of the others
            for other in each[:i] + each[i + 1 :]:
                longer = [*symmetric, ball(0)]
                symmetric = [a + (longer[k - 1] * other if k else 0) for k, a in enumerate(longer)]
            law.append(weight * sum((-1) ** k * e / (k + 1) for k, e in enumerate(symmetric)))
        return law

    def _release(self, scores: Given, stream: Stream) -> int:  # type: ignore[override]
        return Weights.of(scores, self._rate).pick(stream)
