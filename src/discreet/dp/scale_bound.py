"""A bound of a private scale that has been paid for: what an error bar of smooth-sensitivity noise may be made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.dp import randomness
from discreet.dp.grid import Steps
from discreet.dp.laplace import at_least
from discreet.dp.law import smallest
from discreet.dp.loss import Loss, Pure
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Permit
from discreet.dp.rational import Number, positive, probability
from discreet.dp.reals import ball, precision, upper
from discreet.dp.samplers import discrete_laplace
from discreet.dp.smooth_exact import Real, SmoothExact, check_smooth, relation, smooth_bound
from discreet.errors import InvalidParameter

_FINENESS = 64  # steps of the logarithm in one beta: its grid costs 1/64 of a beta


@dataclass(frozen=True, slots=True)
class ReleasedScale:
    """What is public of a scale: the logarithm of its smooth bound with noise, in steps of beta / 64."""

    noisy_steps: int
    beta: Fraction
    epsilon: Fraction
    step: Fraction

    def at_most(self, *, failure_probability: Number) -> Fraction:
        """Return a bound that the smooth bound exceeds with at most this probability: exp(beta ln(1/2p)/e) wider."""
        share = probability(failure_probability, "failure_probability")
        noise = _FINENESS / self.epsilon
        reach = smallest(lambda c: upper(lambda: at_least(c + 1, noise)) <= share)
        exponent = max(0, self.noisy_steps + reach) * self.beta / _FINENESS
        return upper(lambda: ball(self.step) * ball(exponent).exp())


@dataclass(frozen=True, slots=True)
class ScaleBound:
    """Release the logarithm of a smooth bound, which moves by at most beta, with discrete Laplace noise.

    Guarantee: epsilon-DP for `neighbours`. The caller must ensure that the bound moves by a factor of at most exp(beta)
      between neighbours; a bound below one step is taken as one step, which keeps that. Its logarithm is rounded up to
      a public grid of beta / 64, on which it moves by at most 64 steps.
    Source: Nissim, Raskhodnikova, Smith, 2007, Definition 2.1 (ln S has global sensitivity beta); Dwork, McSherry,
      Nissim, Smith, 2006.

    >>> from discreet import dp
    >>> paid = ScaleBound(neighbours=dp.Neighbours.REPLACE, beta="0.1", epsilon=1, step="0.01").release(3.5)
    >>> paid.at_most(failure_probability=1e-9) > 3.5
    True
    """

    neighbours: Neighbours
    beta: Fraction
    epsilon: Fraction
    step: Fraction

    def __init__(self, *, neighbours: Neighbours, beta: Number, epsilon: Number, step: Number) -> None:
        object.__setattr__(self, "neighbours", relation(neighbours))
        object.__setattr__(self, "beta", positive(beta, "beta"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "step", Steps.of(step).step)
        discrete_laplace(_FINENESS / self.epsilon)  # refuses what cannot be drawn

    @property
    def loss(self) -> Loss:
        """The loss of one release."""
        return Pure(self.epsilon)

    def steps(self, smooth_sensitivity: Fraction) -> int:
        """Return the logarithm of a bound, in units of one step of the answer, rounded up to the grid of beta / 64."""
        if smooth_sensitivity <= self.step:
            return 0
        bits = 64 + (smooth_sensitivity / self.step).numerator.bit_length()
        while True:
            with precision(bits):
                exact = ball(smooth_sensitivity / self.step).log() * _FINENESS / ball(self.beta)
                whole = exact.ceil().unique_fmpz()
            if whole is not None:
                return int(whole)
            bits *= 2

    def release(self, smooth_sensitivity: Real) -> ReleasedScale:
        """Return a paid-for bound of a plain number. Whoever calls this has it, and accounts for `loss`."""
        if isinstance(smooth_sensitivity, SmoothExact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        check_smooth(smooth_sensitivity, beta=self.beta, neighbours=self.neighbours)
        return self._release(smooth_bound(smooth_sensitivity), randomness.system())

    def open(self, exact: SmoothExact, permit: Permit) -> ReleasedScale:
        """Release the scale of a private value: the loss is taken from the permit first, then the bound is read."""
        if not isinstance(exact, SmoothExact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes a SmoothExact and a Permit; for plain numbers use release(...).")
        check_smooth(exact, beta=self.beta, neighbours=self.neighbours)
        permit.take(self.loss)
        return self._release(exact._smooth, randomness.system())

    def _release(self, smooth_sensitivity: Fraction, stream: randomness.Stream) -> ReleasedScale:
        noisy = discrete_laplace(_FINENESS / self.epsilon).added_to(self.steps(smooth_sensitivity), stream)
        return ReleasedScale(noisy, self.beta, self.epsilon, self.step)
