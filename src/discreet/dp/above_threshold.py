"""AboveThreshold: the first value of a stream that is above a threshold, at the price of one."""

from __future__ import annotations

from fractions import Fraction
from typing import Self

from discreet.dp.hidden_threshold import Cut
from discreet.dp.loss import Loss, Pure
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.dp.samplers import discrete_laplace
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.stream import on_grid, reach
from discreet.dp.threshold_accuracy import in_units, least_epsilon

# The scales of the noise in units of sensitivity / epsilon. Moving the threshold by D costs epsilon / 2; the value that
# hits then moves by up to 2 D against it, which costs the other half.
THRESHOLD, QUERY = 2, 4


class AboveThreshold(Cut):
    """Say of each value whether it is above the threshold, and halt at the first that is.

    Noise Lap(2 D / epsilon) is added to the threshold once and Lap(4 D / epsilon) to every value, D = sensitivity.linf.

    Guarantee: epsilon-DP, however many values are asked and however they are chosen, and tight. All of it is owed when
      the threshold is drawn, hit or not. The caller must ensure that each value moves by at most D between neighbours.
      Real values are snapped to the public grid of `step` first, and the noise grows by what snapping can add.
    Source: Dwork, Naor, Reingold, Rothblum, Vadhan, 2009; Dwork, Roth, 2014, Algorithm 1 and Theorem 3.23.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> watch = dp.AboveThreshold(threshold=1000, sensitivity=s, epsilon=1)
    >>> watch.ask(12), watch.ask_many([3, 5, 2000, 7]).tolist(), watch.halted
    (False, [False, False, True], True)
    """

    epsilon: Fraction

    def __init__(self, *, threshold: Number, sensitivity: Sensitivity, epsilon: Number, step: Number = 1) -> None:
        super().__init__(threshold=threshold, sensitivity=sensitivity, cutoff=1, step=step)
        self.epsilon = positive(epsilon, "epsilon")
        self._threshold_noise = discrete_laplace(THRESHOLD * self._apart / self.epsilon)
        self._query_noise = discrete_laplace(QUERY * self._apart / self.epsilon)
        self._begin(None)

    @classmethod
    def for_accuracy(
        cls,
        *,
        alpha: Number,
        failure_probability: Number,
        questions: int,
        threshold: Number,
        sensitivity: Sensitivity,
        step: Number = 1,
    ) -> Self:
        """Return the most private one that is this accurate, to 30 bits of epsilon.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> wanted = {"failure_probability": 0.05, "questions": 1000}
        >>> watch = dp.AboveThreshold.for_accuracy(alpha=100, threshold=0, sensitivity=s, **wanted)
        >>> int(watch.accuracy(**wanted)), round(float(watch.epsilon), 2)
        (100, 0.84)
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        steps, apart = on_grid(sensitivity, step)
        epsilon = least_epsilon(lambda e: in_units(steps, error(apart / e, beta, count)), positive(alpha, "alpha"))
        return cls(threshold=threshold, sensitivity=sensitivity, epsilon=epsilon, step=step)

    @property
    def loss(self) -> Loss:
        """The loss of the whole stream."""
        return Pure(self.epsilon)

    def accuracy(self, *, failure_probability: Number, questions: int) -> Fraction:
        """Return alpha, such that but for this probability a hit is at least T - alpha and a miss at most T + alpha.

        Guarantee: for any stream of so many values of which none but the last is as high as T - alpha; then it does not
          halt before the last either. Without such a promise nothing can be said. The halves of alpha bound the noise
          of the threshold and that of all values, in the law that is drawn: each is at most
          4 D (ln k + ln(2 / beta)) / epsilon, rounded up to steps. Real values may lie half a step further.
        Source: Dwork, Roth, 2014, Theorem 3.24, with the promise that its pseudo-code leaves out.
        """
        beta, count = probability(failure_probability, "failure_probability"), positive_integer(questions, "questions")
        return in_units(self._steps, error(self._apart / self.epsilon, beta, count))

    def _facts(self) -> dict[str, object]:
        return {"epsilon": self.epsilon}


def error(unit: Fraction, failure_probability: Fraction, questions: int) -> int:
    """Return the alpha of Theorem 3.24 in steps, where `unit` is sensitivity / epsilon in steps."""
    # the threshold has half the noise of one value, so what bounds the values bounds it too
    return 2 * reach(QUERY * unit, failure_probability=failure_probability / 2, draws=questions)
