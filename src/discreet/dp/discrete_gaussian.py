"""The discrete Gaussian mechanism: a little less noise than the rounded normal, for budgets kept in zCDP or RDP."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.gaussian_samplers import GaussianSampler, Sums, gaussian_sampler
from discreet.dp.law import Law
from discreet.dp.loss import Loss, Zcdp
from discreet.dp.mechanism import AdditiveNoise, greatest_scale
from discreet.dp.rational import Number, positive, sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(AdditiveNoise):
    """Add P(Z = z) proportional to exp(-z^2 / (2 sigma^2)) to integers.

    Guarantee: rho-zCDP with rho = l2^2 / (2 sigma^2), for integer values that move by at most `sensitivity.l2`. It does
      NOT have the exact Gaussian curve: at sigma = 0.65025 that curve would claim a delta 1.76 times too small.
    Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020, Theorem 4.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> DiscreteGaussian(sensitivity=s, rho=0.125).sigma
    Fraction(2, 1)
    """

    sensitivity: Sensitivity
    sigma: Fraction

    def __init__(self, *, sensitivity: Sensitivity, rho: Number | None = None, sigma: Number | None = None) -> None:
        if not isinstance(sensitivity, Sensitivity):
            raise InvalidParameter("sensitivity is a dp.Sensitivity, for instance dp.Sensitivity.counting(...).")
        match rho, sigma:
            case r, None if r is not None:
                wanted = sqrt_up(sensitivity.l2**2 / (2 * positive(r, "rho")))
            case None, s if s is not None:
                wanted = positive(s, "sigma")
            case _:
                raise InvalidParameter("DiscreteGaussian takes exactly one of rho= and sigma=.")
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "sigma", wanted)
        GaussianSampler.check(wanted, "discrete")

    @classmethod
    def for_accuracy(
        cls, *, alpha: Number, failure_probability: Number, answers: int = 1, sensitivity: Sensitivity
    ) -> DiscreteGaussian:
        """Return the most private such mechanism of which no answer is off by more than alpha, but for this chance.

        >>> from discreet import dp
        >>> s = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        >>> m = DiscreteGaussian.for_accuracy(alpha=50, failure_probability=0.05, answers=10, sensitivity=s)
        >>> int(m.accuracy(failure_probability=0.05, answers=10))
        50
        """
        return cls(
            sensitivity=sensitivity,
            sigma=greatest_scale(_beyond, alpha=alpha, failure_probability=failure_probability, answers=answers),
        )

    @property
    def loss(self) -> Loss:
        """The loss of one release, however many values it has."""
        return Zcdp((self.sensitivity.l2 / self.sigma) ** 2 / 2)

    def law(self, value: int) -> Law:
        """Return the exact law of the output at an integer value."""
        weights = Sums(self.sigma)

        def mass(outcome: int) -> arb:
            k = abs(outcome - value)
            terms, _, whole = weights.upto(k)
            return terms[k] / (2 * whole - 1)

        return Law(value, mass, lambda a: self._beyond(a, self.sigma))

    @property
    def _noise_scale(self) -> Fraction:
        return self.sigma

    def _norm(self, count: int) -> tuple[Fraction, Fraction]:
        raise InvalidParameter("the discrete Gaussian is for integers; use Gaussian for real numbers.")

    def _sampler(self, scale: Fraction) -> GaussianSampler:
        return gaussian_sampler(scale, "discrete")

    def _beyond(self, steps: int, scale: Fraction) -> arb:
        return _beyond(steps, scale)

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l2 <= self.sensitivity.l2


def _beyond(steps: int, sigma: Fraction) -> arb:
    """Return P(|Z| > a), summed."""
    _, sums, whole = Sums(sigma).upto(steps)
    return 2 * (whole - sums[steps]) / (2 * whole - 1)
