"""What the noisy value of a hit says about the true value: its law given a hit, an estimate, and an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.grid import Steps
from discreet.dp.logistic import mass_of_hit
from discreet.dp.rational import Number, float_down, float_up, probability
from discreet.dp.reals import ball, bounds


@dataclass(frozen=True, slots=True)
class HitValue:
    """A noisy value f + Z that came with a hit, Z logistic: it is at or above the threshold, because it is a hit.

    Guarantee: `interval` holds the true value with probability at least 1 - failure_probability given that there was
      a hit, whatever the true value is. The variance of Z says nothing here: given a hit the value lies too high, by
      more the further f lies below the threshold, so one just above the threshold excludes nothing below it.
    Source: Ding, Wang, Zhang, Kifer, 2019 (the gap); the law given a hit is that of `mass_of_hit`.

    >>> far = HitValue(margin=500, level=100, slope=Fraction(1, 10), step=Fraction(1))
    >>> far.value, round(far.estimate), far.interval(failure_probability=0.1)
    (600, 600, (571.0, 630.0))
    >>> HitValue(margin=2, level=100, slope=Fraction(1, 10), step=Fraction(1)).interval(failure_probability=0.1)[0]
    -inf
    """

    margin: int
    level: int  # the threshold in steps
    slope: Fraction  # per step
    step: Fraction

    @property
    def value(self) -> int | float:
        """The noisy value, rounded down to the public grid; free to use as any released number."""
        return Steps(self.step).value(self.level + self.margin)

    @property
    def estimate(self) -> float | None:
        """The true value under which a hit is as often read higher as lower; None where every one is read higher.

        P(V >= v | V >= 0) = (1 + q^d) / (1 + q^(d - v)) is 1/2 at d = ln(q^-v - 2) / e; v + 1/2 stands for the step
        that the reading was rounded down from.
        """
        exponent = self.slope * (2 * self.margin + 1) / 2
        if exponent < Fraction(7, 10):  # ln 2 = 0.693...: below it, or so near that the estimate is far down
            return None
        low, high = bounds(lambda: (ball(exponent) + (1 - 2 * ball(-exponent).exp()).log()) / ball(self.slope))
        return float((self.level + (low + high) / 2) * self.step)

    def interval(self, *, failure_probability: Number) -> tuple[float, float]:
        """Return where the true value lies but for this chance, given a hit; the lower end may be minus infinity.

        Each end leaves out what would give readings this extreme with half the chance. The upper end is never below
        the threshold, where readings near it would exclude everything.
        """
        share = probability(failure_probability, "failure_probability") / 2
        low, high = self._least(share), max(self._most(share), 0)
        rounding = Fraction(0) if self.step == 1 else self.step / 2  # real values are snapped to the grid
        least = -math.inf if low is None else float_down((self.level + low) * self.step - rounding)
        return least, float_up((self.level + high) * self.step + rounding)

    def likelihood(self, value: float | Fraction) -> float:
        """Return P(this reading | a hit, and this true value)."""
        steps = Steps(self.step).one(value) - self.level
        low, high = bounds(lambda: mass_of_hit(self.margin, steps, self.slope))
        return float((low + high) / 2)

    def _least(self, share: Fraction) -> int | None:
        """Return the least d with P(V >= v | d) > share; None if there is none.

        (1 + x) / (1 + x q^-v) = share at x = q^d = (1 - share) / (share q^-v - 1), if that is positive.
        """
        found = self._where(self.margin, share, 1 - share)
        return None if found is None else math.floor(found[0]) + 1

    def _most(self, share: Fraction) -> int:
        """Return the greatest d with P(V <= v | d) > share, or 0 if there is none.

        1 - (1 + x) / (1 + x q^-(v + 1)) = share at x = share / ((1 - share) q^-(v + 1) - 1), if that is positive.
        """
        found = self._where(self.margin + 1, 1 - share, share)
        return 0 if found is None else math.ceil(found[1]) - 1

    def _where(self, margin: int, factor: Fraction, rest: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return rationals around ln[(factor q^-margin - 1) / rest] / e; None where that has no value."""
        power = self.slope * margin
        if bounds(lambda: ball(factor).log() + ball(power))[1] <= 0:
            return None
        return bounds(
            lambda: (ball(power) + ((ball(factor) - ball(-power).exp()) / ball(rest)).log()) / ball(self.slope)
        )
