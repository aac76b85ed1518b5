"""Choose, privately, the marginal that a model gets most wrong: the choice of AIM, drawn exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from discreet.dp.exponential import Exponential
from discreet.dp.loss import Loss
from discreet.dp.sensitivity import Sensitivity
from discreet.release.distances import GetMarginal, reach, steps_apart
from discreet.release.distinguisher import FINE

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]

MEAN_OF_NORMAL = Fraction(math.sqrt(2 / math.pi)).limit_denominator(10**6)  # of its absolute value


@dataclass(frozen=True, slots=True, eq=False)
class WorstMarginal:
    """The exponential mechanism over marginals C with the score w_C (|h_C - m_C|_1 - what noise would put there).

    The weight w_C is how many columns C shares with the cliques of the workload, counted over all of them; `noise` is
    the mean of |noise| in a cell of a marginal that would be measured next. Both are public.

    Guarantee: epsilon-DP and bounded-range for one choice, whatever the model is: a unit moves every distance by at
      most l1, so every score by at most l1 times the greatest weight, exactly, as scores are whole numbers of steps.
      The caller must ensure that the histogram moves by at most `sensitivity`.
    Source: McKenna, Mullins, Sheldon, Miklau, "AIM: an adaptive and iterative mechanism for differentially private
      synthetic data", 2022, Algorithm 2 (the score); McSherry, Talwar, 2007.
    """

    shape: Axes
    weights: dict[Axes, int]
    sensitivity: Sensitivity

    @classmethod
    def of(cls, shape: Axes, cliques: Iterable[Axes], sensitivity: Sensitivity) -> WorstMarginal:
        """Return the choice among the cliques of a workload and their subsets."""
        given = [frozenset(clique) for clique in cliques]
        every = {
            part for clique in given for k in range(1, len(clique) + 1) for part in combinations(sorted(clique), k)
        }
        candidates = sorted(every, key=lambda part: (len(part), part))
        reach(sensitivity)
        return cls(
            shape, {part: sum(len(clique.intersection(part)) for clique in given) for part in candidates}, sensitivity
        )

    @property
    def candidates(self) -> tuple[Axes, ...]:
        """The marginals there are to choose from."""
        return tuple(self.weights)

    def loss(self, epsilon: Fraction) -> Loss:
        """Return the loss of one choice."""
        return self.mechanism(epsilon).loss

    def mechanism(self, epsilon: Fraction) -> Exponential:
        """Return the choice among scores."""
        far = reach(self.sensitivity) * max(self.weights.values()) * FINE
        return Exponential(sensitivity=Sensitivity(l1=far, neighbours=self.sensitivity.neighbours), epsilon=epsilon)

    def scores(self, table: GetMarginal, model: GetMarginal, noise: Fraction) -> list[int]:
        """Return the score of every candidate, in steps. They are private."""
        found = []
        for axes, weight in self.weights.items():
            cells = math.prod(self.shape[axis] for axis in axes)
            found.append(weight * (steps_apart(table(axes), model(axes)) - round(noise * cells * FINE)))  # type: ignore[arg-type]
        return found

    def choose(
        self, table: GetMarginal, model: GetMarginal, *, noise: Fraction, epsilon: Fraction, stream: Stream
    ) -> Axes:
        """Return a marginal that is wrong, given the private table."""
        return self.candidates[self.mechanism(epsilon)._release(self.scores(table, model, noise), stream)]
