"""Wrong offers, explanations and splittings that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet import dp
from discreet.dp.noise_choice import NoiseChoice

# Choices of noise, with the arguments of `cheapest_noise`.


def for_one_answer(*, answers: int, **wanted: object) -> NoiseChoice:
    """Each answer keeps within alpha, and nobody asked about all of them."""
    together = dp.Sensitivity.counting(neighbours=wanted["neighbours"], queries=answers)  # type: ignore[arg-type]
    choice = dp.cheapest_noise(**{**wanted, "sensitivity": together, "answers": 1})  # type: ignore[arg-type]
    return replace(choice, answers=answers)


def as_if_each_moved_one(*, answers: int, **wanted: object) -> NoiseChoice:
    """The sensitivity of one answer, for all of them."""
    one = dp.Sensitivity.counting(neighbours=wanted["neighbours"])  # type: ignore[arg-type]
    return dp.cheapest_noise(**{**wanted, "sensitivity": one, "answers": answers})  # type: ignore[arg-type]


def one_curve_for_all_gaussians(**wanted: object) -> NoiseChoice:
    """The exact normal curve, claimed for the discrete Gaussian too."""
    choice = dp.cheapest_noise(**wanted)  # type: ignore[arg-type]
    offers = [
        replace(offer, epsilon=dp.Loss.gaussian(mu=math.sqrt(2 * offer.rho) * (1 - 1e-15)).epsilon(delta=choice.delta))
        if isinstance(offer.mechanism, dp.DiscreteGaussian)
        else offer
        for offer in choice.offers
    ]
    return replace(choice, offers=tuple(sorted(offers, key=lambda offer: offer.epsilon)))


def least_noise_first(**wanted: object) -> NoiseChoice:
    """Takes the smallest scale for the cheapest."""
    choice = dp.cheapest_noise(**wanted)  # type: ignore[arg-type]
    return replace(choice, offers=tuple(sorted(choice.offers, key=lambda offer: offer.mechanism._noise_scale)))


def nearest(value: float, *, digits: int) -> str:
    """A number with so many digits that is below the value every second time."""
    return f"{value:.{digits}g}"


# Explanations.


class Explained:
    """Wrong ones, with the names of the right one."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon, self.delta = epsilon, delta

    def belief(self, before: float) -> float:
        return dp.Explanation(self.epsilon, self.delta).belief(before)

    @property
    def odds(self) -> float:
        return dp.Explanation(self.epsilon, self.delta).odds

    @property
    def guess(self) -> float:
        return dp.Explanation(self.epsilon, self.delta).guess


class EpsilonIsAPercentage(Explained):
    """Odds that move by 1 + epsilon."""

    @property
    def odds(self) -> float:
        return 1 + self.epsilon


class BeliefsMoveByOneAndEpsilon(Explained):
    """A belief that grows by the share epsilon."""

    def belief(self, before: float) -> float:
        return min(1.0, before * (1 + self.epsilon))


class BeliefsMoveByTheFactor(Explained):
    """The factor of the odds, put on the belief: too much, and above 1."""

    def belief(self, before: float) -> float:
        return min(1.0, before * math.exp(self.epsilon))


class GuessWithoutDelta(Explained):
    """The share of guesses that are right without the delta."""

    @property
    def guess(self) -> float:
        return dp.Explanation(self.epsilon, 0.0).guess


class InFloats(Explained):
    """Formulas in floats, rounded to nearest."""

    def belief(self, before: float) -> float:
        return before * math.exp(self.epsilon) / (1 - before + before * math.exp(self.epsilon))

    @property
    def odds(self) -> float:
        return math.exp(self.epsilon)

    @property
    def guess(self) -> float:
        return 1 - (1 - self.delta) / (1 + math.exp(self.epsilon))


def in_words_to_nearest(explained: dp.Explanation) -> str:
    """The plain words with numbers rounded to nearest."""
    lines = [
        f"odds move by a factor of at most {explained.odds:.4g}.",
        f"is right at most {explained.guess:.2%} of the time; a coin is right 50 %.",
        "",
        *(f"  {p:>16.3%}   {explained.belief(p):.3%}" for p in (0.001, 0.01, 0.1, 0.5, 0.9)),
    ]
    if explained.delta:
        lines.append(f"an event of probability at most {explained.delta:.3g}.")
    return "\n".join(lines)


# Splittings: alpha, in rows or as a share of them.


def of_any_one(*, questions: int, epsilon: Fraction, failure_probability: Fraction) -> Fraction:
    """That of one answer at its share: the slides' k / epsilon without the ln k of the worst."""
    one = dp.Sensitivity.counting(neighbours=dp.Neighbours.REPLACE)
    return dp.Laplace(sensitivity=one, epsilon=epsilon / questions).accuracy(failure_probability=failure_probability)


def one_n_for_both(*, questions: int, epsilon: Fraction, failure_probability: Fraction, rows: int) -> Fraction:
    """E0.3: n rows and n questions cancel, so the error does not depend on how many are asked."""
    return dp.splitting.renormalised(
        questions=rows, epsilon=epsilon, failure_probability=failure_probability, rows=rows
    )


def advanced_of_half(*, questions: int, epsilon: Fraction, delta: Fraction, failure_probability: Fraction) -> Fraction:
    """sqrt(2 k ln(1/delta)), the whole epsilon in the first term, as if there were no second."""
    share = epsilon / Fraction(math.sqrt(2 * questions * math.log(1 / delta)))
    one = dp.Sensitivity.counting(neighbours=dp.Neighbours.REPLACE)
    return dp.Laplace(sensitivity=one, epsilon=share).accuracy(
        failure_probability=failure_probability, answers=questions
    )
