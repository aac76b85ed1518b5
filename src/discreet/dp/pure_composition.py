"""The exact curve of the worst pure releases together: independent randomised responses, by enumeration.

The loss of one is +e or -e; that of a thousand equal ones has a thousand and one values. What is summed over them are
balls, so the curve is certified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.reals import ball, upper

if TYPE_CHECKING:
    from flint import arb

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Responses:
    """Independent randomised responses, each epsilon `count` times.

    Guarantee: no composition of pure releases with these epsilons, adaptively chosen mechanisms included, has a larger
      delta, and randomised response has this one.
    Source: Kairouz, Oh, Viswanath, 2015, Theorem 3.3 (equal epsilons) and Section 3.3 (mixed, by enumeration).

    >>> float(Responses(((2, Fraction(1)),)).delta(Fraction(2)))
    0.0
    """

    epsilons: tuple[tuple[int, Fraction], ...]

    @property
    def outcomes(self) -> int:
        """How many there are at most, if equal epsilons are counted together."""
        return math.prod(count + 1 for count, _ in self.epsilons)

    @property
    def most(self) -> Fraction:
        """The sum of the epsilons, which no loss exceeds."""
        return sum((count * e for count, e in self.epsilons), start=_ZERO)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return a rational at least the exact delta, and relatively within 2^-64 of it."""
        return max(_ZERO, upper(lambda: self._delta(epsilon)))

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return a rational at least the exact epsilon at a delta above 0, and relatively within 2^-64 of it."""
        return min(self.most, upper(lambda: self._epsilon(delta)))

    def _outcomes(self) -> Iterator[tuple[Fraction, arb, arb]]:
        """Return the losses, greatest first, with the probability under each table that the loss is as great."""
        from flint import arb

        unit = math.lcm(*(e.denominator for _, e in self.epsilons))
        masses: dict[int, arb] = {0: arb(1)}
        for k, exact in self.epsilons:
            e, odds = int(exact * unit), ball(exact).exp()
            mass, longer = (1 / (1 + odds)) ** k, dict[int, arb]()
            for i in range(k + 1):
                for place, before in masses.items():
                    at = place + (2 * i - k) * e
                    longer[at] = longer[at] + before * mass if at in longer else before * mass
                mass = mass * odds * (k - i) / (i + 1)
            masses = longer
        one = other = arb(0)
        for place in sorted(masses, reverse=True):
            one, other = one + masses[place], other + masses[-place]
            yield Fraction(place, unit), one, other

    def _delta(self, epsilon: Fraction) -> arb:
        one = other = ball(0)
        for loss, p, q in self._outcomes():
            if loss <= epsilon:
                break
            one, other = p, q
        return one - ball(epsilon).exp() * other

    def _epsilon(self, delta: Fraction) -> arb:
        """Return the most that any event p <= e^epsilon q + delta of large losses asks for: there, delta is met."""
        odds, lost = ball(0), ball(delta)
        for _, p, q in self._outcomes():
            odds = odds.max((p - lost) / q)
        return odds.max(ball(1)).log()
