"""Which noise is cheapest for a wanted error: Laplace, Gaussian, or discrete Gaussian, in every currency."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.discrete_gaussian import DiscreteGaussian
from discreet.dp.explain import rounded_up
from discreet.dp.gaussian import Gaussian
from discreet.dp.laplace import Laplace
from discreet.dp.mechanism import AdditiveNoise
from discreet.dp.neighbours import Neighbours
from discreet.dp.rational import Number, float_up, non_negative, positive, positive_integer
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to reach the wanted error, and what it costs."""

    accounting: str
    mechanism: AdditiveNoise
    epsilon: float
    rho: float


@dataclass(frozen=True, slots=True)
class NoiseChoice:
    """All offers, cheapest first; prints as a table, in which costs are rounded up."""

    alpha: Fraction
    answers: int
    delta: Fraction
    offers: tuple[Offer, ...]

    @property
    def best(self) -> Offer:
        """The offer with the least epsilon at this delta."""
        return self.offers[0]

    def __str__(self) -> str:
        named = "1 answer" if self.answers == 1 else f"{self.answers} answers"
        head = f"{named}, none off by more than {float(self.alpha):g}, at delta = {float(self.delta):g}"
        rows = [f"{'noise':<18}{'accounting':<16}{'scale':>12}{'epsilon':>12}{'rho':>12}"]
        for offer in self.offers:
            scale = float(offer.mechanism._noise_scale)
            rows.append(
                f"{type(offer.mechanism).__name__:<18}{offer.accounting:<16}{scale:>12.4g}"
                f"{rounded_up(offer.epsilon, digits=4):>12}{rounded_up(offer.rho, digits=4):>12}"
            )
        return "\n".join([head, *rows])


def cheapest_noise(
    *,
    alpha: Number,
    failure_probability: Number,
    answers: int,
    delta: Number,
    neighbours: Neighbours,
    sensitivity: Sensitivity | None = None,
) -> NoiseChoice:
    """Return what it costs to answer so many counting questions with no error above alpha, by each noise.

    `sensitivity` is that of all answers together; left out, they are counting questions of which one unit may move
    every one. With delta = 0 only pure offers are made.

    >>> choice = cheapest_noise(
    ...     alpha=100, failure_probability=0.05, answers=100, delta=1e-9, neighbours=Neighbours.REPLACE
    ... )
    >>> choice.best.accounting
    'exact'
    """
    count, share = positive_integer(answers, "answers"), non_negative(delta, "delta")
    if share >= 1:
        raise InvalidParameter(f"delta is below 1; got {delta!r}.")
    together = Sensitivity.counting(neighbours=neighbours, queries=count) if sensitivity is None else sensitivity
    if not isinstance(together, Sensitivity):
        raise InvalidParameter("sensitivity is a dp.Sensitivity, of all answers together, or left out.")
    if together.neighbours is not neighbours:
        raise InvalidParameter("the sensitivity is stated for another relation than neighbours.")
    if together.l1 is None and not share:
        raise InvalidParameter("with delta = 0 only Laplace noise is pure, and it needs the l1 sensitivity.")
    offers: list[Offer] = []
    if together.l1 is not None:
        laplace = Laplace.for_accuracy(
            alpha=alpha, failure_probability=failure_probability, answers=count, sensitivity=together
        )
        offers.append(_offer("pure", laplace, Fraction(0)))
        if share:
            offers.append(_offer("pure, at delta", laplace, share))
    if share:
        gaussian = Gaussian.for_accuracy(
            alpha=alpha, failure_probability=failure_probability, answers=count, sensitivity=together
        )
        discrete = DiscreteGaussian.for_accuracy(
            alpha=alpha, failure_probability=failure_probability, answers=count, sensitivity=together
        )
        offers += [_offer("exact", gaussian, share), _offer("zCDP", discrete, share)]
    return NoiseChoice(positive(alpha, "alpha"), count, share, tuple(sorted(offers, key=lambda offer: offer.epsilon)))


def _offer(accounting: str, mechanism: AdditiveNoise, delta: Fraction) -> Offer:
    rho = mechanism.loss.rho_bound()
    assert isinstance(rho, Fraction)  # additive noise has a rho, whatever its law
    return Offer(accounting, mechanism, mechanism.loss.epsilon(delta=delta), float_up(rho))
