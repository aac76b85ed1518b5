"""The Gaussian mechanism: the normal law rounded to the grid, so that its exact curve holds to the letter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from discreet.dp.gaussian_curve import GaussianLoss, greatest_mu
from discreet.dp.gaussian_samplers import GaussianSampler, gaussian_sampler
from discreet.dp.law import Law
from discreet.dp.loss import Loss
from discreet.dp.mechanism import AdditiveNoise, greatest_scale
from discreet.dp.rational import Number, positive, probability, sqrt_up
from discreet.dp.reals import ball, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

_SIGMA_BITS = 48  # sigma is rounded up to so many significant bits


@dataclass(frozen=True, slots=True)
class Gaussian(AdditiveNoise):
    """Add normal noise of standard deviation sigma and round to the nearest integer, or to the public grid.

    Guarantee: the loss is that of two unit normals mu = l2 / sigma apart, exactly: on integers the output is
      round(f + N(0, sigma^2)), which is post-processing of the normal mechanism. The caller must ensure that the
      values move by at most `sensitivity.l2`. Real values are snapped to the grid first, and sigma grows by what
      snapping can add. (The discrete Gaussian does not have this curve: see `DiscreteGaussian`.)
    Source: Balle, Wang, "Improving the Gaussian mechanism", 2018, Theorem 8; Dong, Roth, Su, 2022, Theorem 2.7.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> round(float(Gaussian(sensitivity=s, epsilon=1, delta=1e-9).sigma), 4)
    5.4953
    """

    sensitivity: Sensitivity
    sigma: Fraction

    def __init__(
        self,
        *,
        sensitivity: Sensitivity,
        epsilon: Number | None = None,
        delta: Number | None = None,
        sigma: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
    ) -> None:
        l2 = _l2(sensitivity)
        match epsilon, delta, sigma, rho, mu:
            case e, d, None, None, None if e is not None and d is not None:
                wanted = l2 / greatest_mu(positive(e, "epsilon"), probability(d, "delta"))
            case None, None, s, None, None if s is not None:
                wanted = positive(s, "sigma")
            case None, None, None, r, None if r is not None:
                wanted = sqrt_up(l2 * l2 / (2 * positive(r, "rho")))
            case None, None, None, None, m if m is not None:
                wanted = l2 / positive(m, "mu")
            case _:
                raise InvalidParameter("Gaussian takes epsilon= with delta=, or exactly one of sigma=, rho=, mu=.")
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "sigma", wanted if sigma is not None else short_up(wanted))
        GaussianSampler.check(self.sigma, "rounded")

    @classmethod
    def classical(cls, *, sensitivity: Sensitivity, epsilon: Number, delta: Number) -> Gaussian:
        """Return the mechanism of the classical theorem: sigma = l2 sqrt(2 ln(1.25 / delta)) / epsilon.

        Guarantee: (epsilon, delta)-DP for epsilon < 1, and only there: at larger epsilon the theorem is false, so it
          is refused. Never less noise than `Gaussian(epsilon=, delta=)`.
        Source: Dwork, Roth, "The algorithmic foundations of differential privacy", 2014, Theorem A.1.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> round(float(Gaussian.classical(sensitivity=s, epsilon=0.5, delta=1e-5).sigma), 3)
        9.69
        """
        e, d = positive(epsilon, "epsilon"), probability(delta, "delta")
        if e >= 1:
            raise InvalidParameter("the classical theorem holds for epsilon < 1 only; use Gaussian(epsilon=, delta=).")
        square = upper(lambda: 2 * (ball(Fraction(5, 4) / d)).log())
        return cls(sensitivity=sensitivity, sigma=short_up(_l2(sensitivity) * sqrt_up(square) / e))

    @classmethod
    def for_accuracy(
        cls, *, alpha: Number, failure_probability: Number, answers: int = 1, sensitivity: Sensitivity
    ) -> Gaussian:
        """Return the most private Gaussian of which no answer is off by more than alpha, but for this probability.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> m = Gaussian.for_accuracy(alpha=50, failure_probability=0.05, answers=10, sensitivity=s)
        >>> int(m.accuracy(failure_probability=0.05, answers=10))
        50
        """
        return cls(
            sensitivity=sensitivity,
            sigma=greatest_scale(_beyond, alpha=alpha, failure_probability=failure_probability, answers=answers),
        )

    @property
    def mu(self) -> float:
        """How far apart, in standard deviations, the outputs on two neighbours lie at most."""
        return float(_l2(self.sensitivity) / self.sigma)

    @property
    def loss(self) -> Loss:
        """The loss of one release, however many values it has."""
        return GaussianLoss((_l2(self.sensitivity) / self.sigma) ** 2)

    def law(self, value: int) -> Law:
        """Return the exact law of the output at an integer value."""

        def mass(outcome: int) -> arb:
            k, root = abs(outcome - value), 2 * ball(2).sqrt()
            inner, outer = (ball((2 * k + d) / self.sigma) / root for d in (-1, 1))
            return (inner.erfc() - outer.erfc()) / 2

        return Law(value, mass, lambda a: _beyond(a, self.sigma))

    @property
    def _noise_scale(self) -> Fraction:
        return self.sigma

    def _norm(self, count: int) -> tuple[Fraction, Fraction]:
        return _l2(self.sensitivity), sqrt_up(Fraction(count))

    def _sampler(self, scale: Fraction) -> GaussianSampler:
        return gaussian_sampler(scale, "rounded")

    def _scale_in_steps(self, step: Fraction, count: int) -> Fraction:
        return short_up(AdditiveNoise._scale_in_steps(self, step, count))

    def _beyond(self, steps: int, scale: Fraction) -> arb:
        return _beyond(steps, scale)

    def _near(self, chance: float, scale: float) -> int:
        return int(-scale * NormalDist().inv_cdf(chance / 2)) if chance > 1e-300 else 0

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l2 <= self.sensitivity.l2


def short_up(value: Fraction) -> Fraction:
    """Return a rational of 48 significant bits that is at least `value`."""
    shift = _SIGMA_BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    return Fraction(math.ceil(value * Fraction(2) ** shift)) / Fraction(2) ** shift


def _beyond(steps: int, sigma: Fraction) -> arb:
    """Return P(|Z| > a) = 2 Phi(-(a + 1/2) / sigma)."""
    return (ball((2 * steps + 1) / sigma) / (2 * ball(2).sqrt())).erfc()


def _l2(sensitivity: Sensitivity) -> Fraction:
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidParameter("sensitivity is a dp.Sensitivity, for instance dp.Sensitivity.counting(neighbours=...).")
    return sensitivity.l2
