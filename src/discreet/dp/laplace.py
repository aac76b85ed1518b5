"""The Laplace mechanism, on the integers and on a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.law import Law
from discreet.dp.loss import Loss, Pure
from discreet.dp.mechanism import AdditiveNoise, greatest_scale
from discreet.dp.rational import Number, positive
from discreet.dp.reals import ball
from discreet.dp.samplers import DiscreteLaplace, discrete_laplace
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class Laplace(AdditiveNoise):
    """Add discrete Laplace noise of scale b = l1 / epsilon: P(Z = z) proportional to exp(-|z| / b).

    Guarantee: epsilon-DP for the relation of `sensitivity`, and tight: for counts that move by exactly l1 the worst
      log ratio is epsilon, and for l1 = 1 the curve is that of randomised response. The caller must ensure that the
      values move by at most `sensitivity.l1` in total. Real values are snapped to a public grid first, and the scale
      grows by what snapping can add, so the guarantee is the same.
    Source: Dwork, McSherry, Nissim, Smith, 2006, Theorem 1; Ghosh, Roughgarden, Sundararajan, 2012 (on the integers).

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> mechanism = Laplace(sensitivity=s, epsilon=0.5)
    >>> mechanism.loss.epsilon(delta=0), int(mechanism.accuracy(failure_probability=0.05))
    (0.5, 6)
    """

    sensitivity: Sensitivity
    scale: Fraction

    def __init__(self, *, sensitivity: Sensitivity, epsilon: Number | None = None, scale: Number | None = None) -> None:
        l1 = _l1(sensitivity)
        match epsilon, scale:
            case e, None if e is not None:
                wanted = l1 / positive(e, "epsilon")
            case None, b if b is not None:
                wanted = positive(b, "scale")
            case _:
                raise InvalidParameter("Laplace takes exactly one of epsilon= and scale=.")
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "scale", wanted)
        DiscreteLaplace.check(wanted)

    @classmethod
    def for_accuracy(
        cls, *, alpha: Number, failure_probability: Number, answers: int = 1, sensitivity: Sensitivity
    ) -> Laplace:
        """Return the most private Laplace of which no answer is off by more than alpha, but for this probability.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> m = Laplace.for_accuracy(alpha=50, failure_probability=0.05, answers=10, sensitivity=s)
        >>> int(m.accuracy(failure_probability=0.05, answers=10))
        50
        """
        return cls(
            sensitivity=sensitivity,
            scale=greatest_scale(beyond, alpha=alpha, failure_probability=failure_probability, answers=answers),
        )

    @property
    def epsilon(self) -> Fraction:
        """The loss in epsilon."""
        return _l1(self.sensitivity) / self.scale

    @property
    def loss(self) -> Loss:
        """The loss of one release, however many values it has."""
        return Pure(self.epsilon)

    def law(self, value: int) -> Law:
        """Return the exact law of the output at an integer value."""

        return Law(value, lambda outcome: mass(outcome - value, self.scale), lambda a: beyond(a, self.scale))

    @property
    def _noise_scale(self) -> Fraction:
        return self.scale

    def _norm(self, count: int) -> tuple[Fraction, Fraction]:
        return _l1(self.sensitivity), Fraction(count)

    def _sampler(self, scale: Fraction) -> DiscreteLaplace:
        return discrete_laplace(scale)

    def _beyond(self, steps: int, scale: Fraction) -> arb:
        return beyond(steps, scale)

    def _near(self, chance: float, scale: float) -> int:
        return int(scale * (math.log(2 / (1 + math.exp(-1 / scale))) - math.log(chance))) if chance > 0 else 0

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l1 is not None and sensitivity.l1 <= _l1(self.sensitivity)


def mass(steps: int, scale: Fraction) -> arb:
    """Return P(Z = a) = (1 - q) / (1 + q) q^|a|, q = exp(-1 / scale)."""
    q = ball(-1 / scale)
    return -q.expm1() / (1 + q.exp()) * (q * abs(steps)).exp()


def at_least(steps: int, scale: Fraction) -> arb:
    """Return P(Z >= a)."""
    q = ball(-1 / scale)
    tail = (q * max(steps, 1 - steps)).exp() / (1 + q.exp())
    return tail if steps > 0 else 1 - tail


def beyond(steps: int, scale: Fraction) -> arb:
    """Return P(|Z| > a) = 2 q^(a + 1) / (1 + q), q = exp(-1 / scale)."""
    q = ball(-1 / scale)
    return 2 * (q * (steps + 1)).exp() / (1 + q.exp())


def _l1(sensitivity: Sensitivity) -> Fraction:
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidParameter("sensitivity is a dp.Sensitivity, for instance dp.Sensitivity.counting(neighbours=...).")
    if sensitivity.l1 is None:
        raise InvalidParameter("Laplace noise needs the l1 sensitivity; state l1= or use Gaussian noise.")
    return sensitivity.l1
