"""What a budget means for one person, in odds and in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.rational import Number, float_up, non_negative
from discreet.dp.reals import ball, upper
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.budget import Budget

_SURE = 10_000  # an epsilon at which e^epsilon makes a certainty of the least belief that can be written

# Chances anybody can recompute, so that a small delta can be felt.
_CHANCES = (
    (Fraction(1, 36), "two dice both showing six"),
    (Fraction(1, 649_740), "a royal flush in five cards"),
    (Fraction(1, 13_983_816), "the jackpot with one ticket of 6 in 49"),
    (Fraction(1, 2**30), "a fair coin falling heads thirty times in a row"),
    (Fraction(1, 13_983_816**2), "that jackpot twice in a row"),
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The most that everything a budget allows can move anybody's belief about one person.

    Guarantee: an observer who gives an event about one person the probability p, and who knows everything else, learns
      no more than from an answer after which it has at most e^epsilon p / (1 - p + e^epsilon p), but for an event of
      probability delta. (With a delta, the odds in the hands of an observer can pass that more often than delta, by
      little: at epsilon = 1 and delta = 1e-9, Gaussian noise moves them by more than e with probability 3.3e-8.)
    Source: Dwork, McSherry, Nissim, Smith, 2006; Wasserman, Zhou, 2010 (odds and tests); Kairouz, Oh, Viswanath, 2015
      (every release of this epsilon and delta is a function of such an answer).
    """

    epsilon: float
    delta: float

    def belief(self, before: Number) -> float:
        """Return the most that a belief of this probability can become, rounded up."""
        p = non_negative(before, "before")
        if p > 1:
            raise InvalidParameter(f"a belief is a probability, at most 1; got {before!r}.")
        if p in (0, 1) or self.epsilon > _SURE:
            return 1.0 if p else 0.0
        e = Fraction(repr(self.epsilon))
        return float_up(min(Fraction(1), upper(lambda: 1 / (1 + ball((1 - p) / p) * ball(-e).exp()))))

    @property
    def odds(self) -> float:
        """The factor by which odds can move, e^epsilon, rounded up."""
        if self.epsilon > _SURE:
            return math.inf
        return float_up(upper(lambda: ball(Fraction(repr(self.epsilon))).exp()))

    @property
    def guess(self) -> float:
        """The most often that a guess whether one person is in the table, at even odds, can be right."""
        if self.epsilon > _SURE:
            return 1.0
        e, d = Fraction(repr(self.epsilon)), Fraction(repr(self.delta))
        return float_up(min(Fraction(1), upper(lambda: 1 - ball(1 - d) / (1 + ball(e).exp()))))

    def __str__(self) -> str:
        lines = [
            f"Whatever is asked, the odds of anything that can be said of one person move by a factor of at most "
            f"{rounded_up(self.odds, digits=4)}.",
            f"Whoever guesses whether a person is in the table, at even odds, is right at most "
            f"{_percent_up(self.guess, places=2)} of the time; a coin is right 50 %.",
            "",
            f"  {'who believed':>16}   can believe at most",
        ]
        lines += [f"  {p:>16.3%}   {_percent_up(self.belief(p), places=3)}" for p in (0.001, 0.01, 0.1, 0.5, 0.9)]
        if self.delta:
            name = next((text for chance, text in reversed(_CHANCES) if chance > Fraction(repr(self.delta))), "")
            lines += [
                "",
                "No more is told than by an answer that holds to this but for an event of probability at most "
                f"{rounded_up(self.delta, digits=3)}" + (f", rarer than {name}." if name else "."),
            ]
        else:
            lines += ["", "This holds without exception."]
        return "\n".join(lines)


def rounded_up(value: float, *, digits: int) -> str:
    """Return a number with so many significant digits that is at least the value."""
    if not math.isfinite(value):
        return "infinity"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value))
    return f"{rounded:f}" if 1 <= rounded < 10**9 else f"{rounded:.{digits}g}"


def _percent_up(value: float, *, places: int) -> str:
    """Return a percentage with so many decimals that is at least the value."""
    return f"{(100 * Decimal(repr(value))).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)}%"


def explain(budget: Budget, *, delta: Fraction = Fraction(1, 10**9)) -> Explanation:
    """Return what a budget means; one in rho is read at this delta."""
    from discreet.dp.loss import Zcdp

    if budget.rho is not None:
        return Explanation(Zcdp(budget.rho).epsilon(delta=delta), float_up(delta))
    assert budget.epsilon is not None
    return Explanation(float_up(budget.epsilon), float_up(budget.delta))
