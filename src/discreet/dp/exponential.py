"""The exponential mechanism: choose one of finitely many, better ones with exponentially greater probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from discreet.dp.loss import BoundedRange, Loss, Pure
from discreet.dp.mechanism import Mechanism
from discreet.dp.rational import Number, float_up, positive, positive_integer, probability
from discreet.dp.reals import ball, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.weights import Given, Weights
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.randomness import Stream

Point = TypeVar("Point")


class Utility(Enum):
    """What is known of the scores, beyond how far one of them can move; each but the first is an obligation to prove.

    GENERAL: nothing more. Probabilities are proportional to exp(epsilon u / (2 D)).
    MONOTONE: between any two neighbours all scores move in the same direction, as counts do when a unit is added
      (never under REPLACE, never for a distance to an estimate). Then the 2 is not needed.
    CONSTANT_NORMALISER: the sum of exp(epsilon u / D) over all candidates is the same for every table, as for a
      distance in a group. Then the 2 is not needed either, but the log ratio ranges over 2 epsilon.
    """

    GENERAL = "general"
    MONOTONE = "monotone"
    CONSTANT_NORMALISER = "constant normaliser"


class Selection(Mechanism):
    """What the private selections share: candidates with scores, of which each moves by at most `sensitivity.linf`."""

    sensitivity: Sensitivity
    epsilon: Fraction
    utility: Utility

    @property
    def _rate(self) -> Fraction:
        """The factor of the score in the exponent."""
        return self.epsilon / ((2 if self.utility is Utility.GENERAL else 1) * self.sensitivity.linf)

    def release(self, scores: Given) -> int:
        """Return the index of the chosen candidate. Whoever calls this has the scores, and accounts for `loss`."""
        from discreet.dp import randomness

        return self._release(scores, randomness.system())

    def _release(self, scores: Given, stream: Stream) -> int:  # type: ignore[override]
        raise AssertionError("every selection defines its draw")

    def accuracy(self, *, failure_probability: Number, candidates: int) -> float:
        """Return alpha with P(score of the chosen < best - alpha) <= failure_probability: (ln R + ln 1/beta) / rate."""
        beta = probability(failure_probability, "failure_probability")
        count = positive_integer(candidates, "candidates")
        return float_up(upper(lambda: ball(count / beta).log() / ball(self._rate)))

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.linf <= self.sensitivity.linf


def check_selection(sensitivity: Sensitivity, epsilon: Number, utility: Utility) -> Fraction:
    """Return epsilon, or refuse the parameters of a selection."""
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidParameter("sensitivity is a dp.Sensitivity whose linf bounds how far one score can move.")
    if not isinstance(utility, Utility):
        raise InvalidParameter("utility is dp.Utility.GENERAL, MONOTONE or CONSTANT_NORMALISER.")
    return positive(epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class Exponential(Selection):
    """Choose candidate i with probability proportional to exp(epsilon u_i / (2 D)), D = sensitivity.linf.

    Guarantee: epsilon-DP, with Renyi divergence at most a epsilon^2 / 8 for GENERAL and MONOTONE scores (the log ratio
      ranges over an interval of length epsilon), and at most that of randomised response for a CONSTANT_NORMALISER.
      The caller must ensure that each score moves by at most D, and the obligation of the `utility` that is named.
    Source: McSherry, Talwar, 2007, Theorem 6; Dong, Durfee, Rogers, 2020, and Cesar, Rogers, 2021 (bounded range).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> dp.Exponential(sensitivity=s, epsilon=1).release([0, 10, 1000])
    2
    """

    sensitivity: Sensitivity
    epsilon: Fraction
    utility: Utility

    def __init__(self, *, sensitivity: Sensitivity, epsilon: Number, utility: Utility = Utility.GENERAL) -> None:
        object.__setattr__(self, "epsilon", check_selection(sensitivity, epsilon, utility))
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "utility", utility)

    @classmethod
    def over_metric(
        cls,
        points: Sequence[Point],
        *,
        distance: Callable[[Point, Point], float],
        sensitivity: Sensitivity,
        epsilon: Number,
        utility: Utility = Utility.GENERAL,
    ) -> MetricExponential[Point]:
        """Return the mechanism that publishes a point near a private one: score -distance(y, f(D)).

        Guarantee: as the mechanism itself, with D = sensitivity.linf the most by which f can move in this distance
          (by the triangle inequality every score then moves by at most as much).

        >>> from discreet import dp
        >>> s = dp.Sensitivity(l1=1, neighbours=dp.Neighbours.REPLACE)
        >>> near = dp.Exponential.over_metric(range(100), distance=lambda a, b: abs(a - b), sensitivity=s, epsilon=50)
        >>> abs(near.release(40) - 40) <= 5
        True
        """
        return MetricExponential(
            tuple(points), distance, cls(sensitivity=sensitivity, epsilon=epsilon, utility=utility)
        )

    @property
    def loss(self) -> Loss:
        """The loss of one choice."""
        return Pure(self.epsilon) if self.utility is Utility.CONSTANT_NORMALISER else BoundedRange(self.epsilon)

    def law(self, scores: Given) -> list[arb]:
        """Return the balls around the probabilities of all candidates, at the precision in force."""
        weights = Weights.of(scores, self._rate)
        each = [weights.exact(i) for i in range(len(weights))]
        total = sum(each[1:], start=each[0])
        return [weight / total for weight in each]

    def _release(self, scores: Given, stream: Stream) -> int:  # type: ignore[override]
        return Weights.of(scores, self._rate).draw(stream)


@dataclass(frozen=True, slots=True)
class MetricExponential(Generic[Point]):
    """The exponential mechanism over the points of a metric space."""

    points: tuple[Point, ...]
    distance: Callable[[Point, Point], float]
    mechanism: Exponential

    @property
    def loss(self) -> Loss:
        """The loss of one point."""
        return self.mechanism.loss

    def release(self, value: Point) -> Point:
        """Return a point near the value."""
        return self.points[self.mechanism.release(self.scores(value))]

    def scores(self, value: Point) -> list[float]:
        """Return the score of every point: minus its distance to the value."""
        return [-self.distance(point, value) for point in self.points]
