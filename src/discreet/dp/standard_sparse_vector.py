"""SparseVector, the standard one: c hits against one noisy threshold, with the best split of epsilon."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp import randomness
from discreet.dp.gap import Gap, GapLaw
from discreet.dp.grid import is_real, numbers
from discreet.dp.hidden_threshold import HiddenThreshold
from discreet.dp.inversion import Integers
from discreet.dp.loss import Loss, Pure
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.reals import ball, lower
from discreet.dp.samplers import discrete_laplace
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.stream import on_grid, reach, together
from discreet.dp.threshold_accuracy import in_units, least_epsilon
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream


class Family(Enum):
    """What is known of the values of a stream taken together; the second is an obligation to prove.

    GENERAL: each moves by at most D, in any direction.
    MONOTONE: between any two neighbours all of them move in the same direction, as counts do when a row is added (never
      under REPLACE, never for a distance to an estimate). Then the values need half the noise.
    """

    GENERAL = "general"
    MONOTONE = "monotone"


class SparseVector(HiddenThreshold[bool | Gap, NDArray[np.bool_] | list[bool | Gap]]):
    """Say of each value whether it is above the threshold, which is drawn once, and halt after the c-th that is.

    Noise Lap(D / e1) is added to the threshold and Lap(2 c D / e2) to every value, or Lap(c D / e2) for a MONOTONE
    family, D = sensitivity.linf. Of epsilon = e1 + e2 the threshold gets 1 part and the values (2 c)^(2/3), or c^(2/3),
    which makes the noise that is compared least. Any question may have a threshold of its own. With `gap=True` a hit is
    answered by a `Gap`, which is true as True is, and tells how far above its noisy threshold the noisy value was.

    Guarantee: epsilon-DP, however many values and thresholds are asked and however they are chosen, gaps included, and
      tight. All of it is owed when the threshold is drawn. The caller must ensure that each value moves by at most D
      between neighbours, that thresholds depend on earlier answers and public facts alone, and the obligation of the
      `family` that is named.
    Source: Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy", 2017, Algorithm 7,
      Theorems 4 and 5; Ding, Wang, Zhang, Kifer, 2019 (the gap).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> watch = dp.SparseVector(threshold=1000, cutoff=2, sensitivity=s, epsilon=1)
    >>> watch.ask(2000), watch.ask(2000, threshold=3000), watch.ask_many([3, 2000, 7]).tolist(), watch.halted
    (True, False, [False, True], True)
    >>> hit = dp.SparseVector(threshold=1000, cutoff=2, sensitivity=s, epsilon=1, gap=True).ask(2000)
    >>> 0 < hit.gap < 2000
    True
    """

    epsilon: Fraction
    cutoff: int
    family: Family
    gap: bool

    _miss = False

    def __init__(
        self,
        *,
        threshold: Number,
        cutoff: int,
        sensitivity: Sensitivity,
        epsilon: Number,
        family: Family = Family.GENERAL,
        gap: bool = False,
        step: Number = 1,
    ) -> None:
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=cutoff, step=step)
        self.epsilon, self.cutoff = positive(epsilon, "epsilon"), positive_integer(cutoff, "cutoff")
        self.family, self.gap = _checked(family, sensitivity), bool(gap)
        scales = _scales(self._apart, self.epsilon, self.cutoff, self.family)
        self._threshold_noise, self._query_noise = discrete_laplace(scales[0]), discrete_laplace(scales[1])
        self.gap_law = GapLaw(*scales)
        self._begin(None)

    @classmethod
    def for_accuracy(
        cls,
        *,
        alpha: Number,
        failure_probability: Number,
        questions: int,
        threshold: Number,
        cutoff: int,
        sensitivity: Sensitivity,
        family: Family = Family.GENERAL,
        gap: bool = False,
        step: Number = 1,
    ) -> Self:
        """Return the most private one that is this accurate, to 30 bits of epsilon."""
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        c, (steps, apart) = positive_integer(cutoff, "cutoff"), on_grid(sensitivity, step)
        kind = _checked(family, sensitivity)

        def alpha_of(epsilon: Fraction) -> Fraction:
            return in_units(steps, _error(_scales(apart, epsilon, c, kind), beta, count))

        epsilon = least_epsilon(alpha_of, positive(alpha, "alpha"))
        return cls(
            threshold=threshold, cutoff=c, sensitivity=sensitivity, epsilon=epsilon, family=kind, gap=gap, step=step
        )

    @property
    def loss(self) -> Loss:
        """The loss of the whole stream."""
        return Pure(self.epsilon)

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha, such that but for this probability a hit is at least T - alpha and a miss at most T + alpha.

        Guarantee: for any stream of so many values of which fewer than c before the last are as high as T - alpha; then
          it does not halt before the last either. Half the probability goes to the noise of the threshold and half to
          that of all values, each bounded in the law that is drawn: at most (D / e1) ln(2 / beta) and
          (2 c D / e2) ln(2 k / beta), rounded up to steps; for a MONOTONE family the second is half as large.
        Source: the tails of the two laws; Lyu, Su, Li, 2017 (the scales).
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        scales = self.gap_law.threshold_scale, self.gap_law.query_scale
        return in_units(self._steps, _error(scales, beta, count))

    def ask(self, value: float | Fraction | Exact, *, threshold: Number | None = None) -> bool | Gap:
        """Return the answer for one value, against a threshold of its own if one is given."""
        level = self._level if threshold is None else self._steps.above(threshold)
        return self._ask(value, -level, randomness.system())

    def ask_many(
        self, values: ArrayLike | Exact, *, thresholds: ArrayLike | None = None, start: int = 0
    ) -> NDArray[np.bool_] | list[bool | Gap]:
        """Return the answers for values from `start` on, up to and including the first hit, with the law of `ask`.

        `thresholds`, if given, are as many as the values; a list is returned where hits have gaps.
        """
        offset = -self._level if thresholds is None else self._offsets(thresholds)
        return self._ask_many(values, offset, start, randomness.system())

    def _offsets(self, thresholds: ArrayLike) -> Integers:
        """Return minus the first steps at or above these thresholds."""
        array = numbers(thresholds).ravel()
        if self.step == 1 and not is_real(array):
            small = array.dtype != object and (
                array.size == 0 or -(2**62) < int(array.min()) <= int(array.max()) < 2**62
            )
            return -array.astype(np.int64) if small else -array.astype(object)
        return np.array([-self._steps.above(threshold) for threshold in array.tolist()], dtype=object)

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool | Gap:
        return Gap(margin, self._level_of_hit, self.gap_law, self.step) if self.gap else True

    def _together(self, misses: int, hit: bool | Gap | None) -> NDArray[np.bool_] | list[bool | Gap]:
        if not self.gap:
            return together(misses, cast("bool | None", hit))
        return [*[False] * misses, *([] if hit is None else [hit])]

    def _facts(self) -> dict[str, object]:
        return {"cutoff": self.cutoff, "epsilon": self.epsilon, "family": self.family.value}


def _scales(apart: Fraction, epsilon: Fraction, cutoff: int, family: Family) -> tuple[Fraction, Fraction]:
    """Return the scales of the noise of the threshold and of a value, which use up epsilon together."""
    moves = 2 * cutoff if family is Family.GENERAL else cutoff
    first = epsilon * _share(moves)
    return apart / first, moves * apart / (epsilon - first)


@lru_cache(maxsize=64)
def _share(moves: int) -> Fraction:
    """Return the threshold's share of epsilon, 1 / (1 + m^(2/3)), cut off after 64 bits.

    The variance of the difference of both noises, 2 (D / e1)^2 + 2 (m D / e2)^2, is least there.
    """
    share = lower(lambda: 1 / (1 + (2 * ball(moves).log() / 3).exp()))
    return Fraction(int(share * 2**64), 2**64)


def _error(scales: tuple[Fraction, Fraction], beta: Fraction, questions: int) -> int:
    return reach(scales[0], failure_probability=beta / 2) + reach(
        scales[1], failure_probability=beta / 2, draws=questions
    )


def _checked(family: Family, sensitivity: Sensitivity) -> Family:
    if not isinstance(family, Family):
        raise InvalidParameter("family is dp.Family.GENERAL or dp.Family.MONOTONE.")
    if family is Family.MONOTONE and sensitivity.neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidParameter(
            "under REPLACE no family is monotone: one row comes, another goes. Use dp.Family.GENERAL."
        )
    return family
