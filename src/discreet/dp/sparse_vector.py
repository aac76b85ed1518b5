"""Sparse and NumericSparse: the first c values of a stream that are above a threshold, as the notes have them.

They are compositions: c runs of AboveThreshold, each with a threshold of its own, and in NumericSparse c releases by
the Laplace mechanism. `standard_sparse_vector` draws its threshold once and is more accurate; these are the reference.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from discreet.dp.above_threshold import QUERY, THRESHOLD, error
from discreet.dp.composition import advanced_share
from discreet.dp.hidden_threshold import Cut, HiddenThreshold
from discreet.dp.loss import Loss, Pure
from discreet.dp.rational import Number, non_negative, positive, positive_integer, probability
from discreet.dp.reals import ball, lower
from discreet.dp.samplers import discrete_laplace
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.stream import on_grid, reach
from discreet.dp.threshold_accuracy import in_units, least_epsilon
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream


class Sparse(Cut):
    """Say of each value whether it is above the threshold, and halt after the c-th that is.

    It is AboveThreshold run `cutoff` times: the threshold is redrawn after each hit. Each run has epsilon / c where
    delta is 0, and epsilon / sqrt(8 c ln(1 / delta)) otherwise. The c-th hit is answered, then it halts.

    Guarantee: (epsilon, delta)-DP, however many values are asked and however they are chosen; `loss` is that of the c
      runs, which is no more. All of it is owed when the watch is opened. The caller must ensure that each value moves
      by at most D = sensitivity.linf between neighbours. Where the condition of advanced composition fails the
      parameters are refused.
    Source: Dwork, Roth, 2014, Algorithm 2 and Theorem 3.25.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> watch = dp.Sparse(threshold=1000, cutoff=2, sensitivity=s, epsilon=1, delta=0)
    >>> watch.ask(2000), watch.ask_many([3, 5, 2000, 7]).tolist(), watch.halted
    (True, [False, False, True], True)
    """

    epsilon: Fraction
    delta: Fraction
    cutoff: int

    def __init__(
        self,
        *,
        threshold: Number,
        cutoff: int,
        sensitivity: Sensitivity,
        epsilon: Number,
        delta: Number,
        step: Number = 1,
    ) -> None:
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=cutoff, step=step)
        self.epsilon, self.delta = positive(epsilon, "epsilon"), _below_one(delta)
        self.cutoff = positive_integer(cutoff, "cutoff")
        self.epsilon_of_run = _each(self.epsilon, self.delta, self.cutoff)
        self._threshold_noise = discrete_laplace(THRESHOLD * self._apart / self.epsilon_of_run)
        self._query_noise = discrete_laplace(QUERY * self._apart / self.epsilon_of_run)
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
        delta: Number,
        step: Number = 1,
    ) -> Self:
        """Return the most private one that is this accurate, to 30 bits of epsilon."""
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        steps, apart = on_grid(sensitivity, step)
        c, d = positive_integer(cutoff, "cutoff"), _below_one(delta)

        def alpha_of(epsilon: Fraction) -> Fraction:
            return in_units(steps, error(apart / _each(epsilon, d, c), beta / c, count))

        epsilon = least_epsilon(alpha_of, positive(alpha, "alpha"))
        return cls(threshold=threshold, cutoff=c, sensitivity=sensitivity, epsilon=epsilon, delta=d, step=step)

    @property
    def loss(self) -> Loss:
        """The loss of the whole stream: that of c runs of AboveThreshold."""
        return Pure(self.epsilon_of_run) * self.cutoff

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha, such that but for this probability a hit is at least T - alpha and a miss at most T + alpha.

        Guarantee: for any stream of so many values of which fewer than c before the last are as high as T - alpha; then
          it does not halt before the last either. Each run fails with beta / c, so alpha is that of AboveThreshold,
          8 D (ln k + ln(2 c / beta)) / (epsilon of one run), in the law that is drawn.
        Source: Dwork, Roth, 2014, Theorem 3.26.
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        return in_units(self._steps, error(self._apart / self.epsilon_of_run, beta / self.cutoff, count))

    def _hit(self, excess: int, margin: int, stream: Stream) -> bool:
        self._redraw_threshold(stream)
        return True

    def _facts(self) -> dict[str, object]:
        return {"cutoff": self.cutoff, "epsilon": self.epsilon, "delta": self.delta}


class Split(Enum):
    """How NumericSparse divides epsilon between tests and values: as the published versions do. Neither is better.

    NINTHS: 8/9 for the tests, 1/9 for the values.
    ROOT: sqrt(512) / (sqrt(512) + 1) and 1 / (sqrt(512) + 1).
    """

    NINTHS = "8/9 : 1/9"
    ROOT = "sqrt(512) : 1"

    @property
    def tests(self) -> Fraction:
        """The share of the tests; a root is cut off after 64 bits, and the values get the rest, so they add up."""
        return Fraction(8, 9) if self is Split.NINTHS else _root_share()


@lru_cache(maxsize=1)
def _root_share() -> Fraction:
    share = lower(lambda: ball(512).sqrt() / (ball(512).sqrt() + 1))
    return Fraction(int(share * 2**64), 2**64)


class NumericSparse(HiddenThreshold[int | float | None, list[int | float | None]]):
    """Answer each value that is above the threshold with that value plus noise, others with None; halt after the c-th.

    The tests are those of `Sparse`. The noise of an answer is fresh: what was compared with the threshold is not told.
    Of epsilon the tests get epsilon1 and the values epsilon2 / 2: 8/9 and (2/9) / 2 where delta is 0; otherwise, with
    half of delta each, sqrt(512) / (sqrt(512) + 1) and (2 / (sqrt(512) + 1)) / 2, or what `split` says.

    Guarantee: (epsilon, delta)-DP, however many values are asked and however they are chosen; `loss` is that of c runs
      of AboveThreshold and c Laplace mechanisms, which is no more. All of it is owed when the watch is opened. The
      caller must ensure that each value moves by at most D = sensitivity.linf between neighbours. Where the condition
      of advanced composition fails the parameters are refused.
    Source: Dwork, Roth, 2014, Algorithm 3 and Theorem 3.27, whose second share is printed without its epsilon.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> watch = dp.NumericSparse(threshold=1000, cutoff=2, sensitivity=s, epsilon=1, delta=0)
    >>> watch.ask(12) is None, 1800 < watch.ask(2000) < 2200
    (True, True)
    """

    epsilon: Fraction
    delta: Fraction
    cutoff: int
    split: Split

    _miss = None

    def __init__(
        self,
        *,
        threshold: Number,
        cutoff: int,
        sensitivity: Sensitivity,
        epsilon: Number,
        delta: Number,
        split: Split | None = None,
        step: Number = 1,
    ) -> None:
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=cutoff, step=step)
        self.epsilon, self.delta = positive(epsilon, "epsilon"), _below_one(delta)
        self.cutoff, self.split = positive_integer(cutoff, "cutoff"), _split(split, self.delta)
        self.epsilon_of_run, self.epsilon_of_value = _parts(self.epsilon, self.delta, self.cutoff, self.split)
        self._threshold_noise = discrete_laplace(THRESHOLD * self._apart / self.epsilon_of_run)
        self._query_noise = discrete_laplace(QUERY * self._apart / self.epsilon_of_run)
        self._value_noise = discrete_laplace(self._apart / self.epsilon_of_value)
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
        delta: Number,
        split: Split | None = None,
        step: Number = 1,
    ) -> Self:
        """Return the most private one that is this accurate, to 30 bits of epsilon."""
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        steps, apart = on_grid(sensitivity, step)
        c, d = positive_integer(cutoff, "cutoff"), _below_one(delta)
        chosen = _split(split, d)

        def alpha_of(epsilon: Fraction) -> Fraction:
            return in_units(steps, _numeric_error(apart, _parts(epsilon, d, c, chosen), beta / c, count))

        epsilon = least_epsilon(alpha_of, positive(alpha, "alpha"))
        return cls(
            threshold=threshold, cutoff=c, sensitivity=sensitivity, epsilon=epsilon, delta=d, split=chosen, step=step
        )

    @property
    def loss(self) -> Loss:
        """The loss of the whole stream: that of c runs of AboveThreshold and of c values."""
        return Pure(self.epsilon_of_run) * self.cutoff + Pure(self.epsilon_of_value) * self.cutoff

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha, such that but for this probability answers are within alpha and a miss is at most T + alpha.

        Guarantee: for any stream of so many values of which fewer than c before the last are as high as T - alpha; then
          it does not halt before the last either. A test and its value fail with beta / (2 c) each, so alpha is the
          greater of 8 D (ln k + ln(4 c / beta)) / (epsilon of one run) and D ln(2 c / beta) / (epsilon of one value),
          in the law that is drawn. For delta = 0 and D = 1 that is 9 c (ln k + ln(4 c / beta)) / epsilon.
        Source: Ziani, Lectures 7-8, Theorem 10, whose proof leaves an epsilon out; Dwork, Roth, 2014, Theorem 3.28.
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        epsilons = self.epsilon_of_run, self.epsilon_of_value
        return in_units(self._steps, _numeric_error(self._apart, epsilons, beta / self.cutoff, count))

    def _hit(self, excess: int, margin: int, stream: Stream) -> int | float:
        self._redraw_threshold(stream)
        return self._steps.value(self._value_noise.added_to(excess + self._level_of_hit, stream))

    def _together(self, misses: int, hit: float | None) -> list[int | float | None]:
        return [None] * misses if hit is None else [*[None] * misses, hit]

    def _facts(self) -> dict[str, object]:
        return {"cutoff": self.cutoff, "epsilon": self.epsilon, "delta": self.delta, "split": self.split.value}


def _each(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """Return the epsilon of each of so many pure mechanisms that are to be (epsilon, delta)-DP together."""
    return advanced_share(epsilon=epsilon, delta=delta, count=count) if delta else epsilon / count


def _parts(epsilon: Fraction, delta: Fraction, cutoff: int, split: Split) -> tuple[Fraction, Fraction]:
    """Return the epsilon of one test and that of one value."""
    tests, values = split.tests * epsilon, (1 - split.tests) * epsilon
    return _each(tests, delta / 2, cutoff), _each(values, delta / 2, cutoff)


def _numeric_error(apart: Fraction, epsilons: tuple[Fraction, Fraction], beta: Fraction, questions: int) -> int:
    run, value = epsilons
    return max(error(apart / run, beta / 2, questions), reach(apart / value, failure_probability=beta / 2))


def _below_one(delta: Number) -> Fraction:
    share = non_negative(delta, "delta")
    return probability(share, "delta") if share else share


def _split(split: Split | None, delta: Fraction) -> Split:
    if split is None:
        return Split.ROOT if delta else Split.NINTHS
    if not isinstance(split, Split):
        raise InvalidParameter("split is dp.Split.NINTHS or dp.Split.ROOT.")
    return split
