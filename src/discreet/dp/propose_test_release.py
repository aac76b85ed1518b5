"""Propose-test-release: propose a sensitivity, test in private that it holds around this table, then release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

from discreet.dp import gaussian, laplace, randomness
from discreet.dp.gaussian_curve import greatest_mu
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.grid import Steps
from discreet.dp.law import smallest
from discreet.dp.loss import Approximate, Loss
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Closed, Permit
from discreet.dp.rational import Number, positive, probability, sqrt_up
from discreet.dp.reals import ball, upper
from discreet.dp.rounded_noise import rounded
from discreet.dp.samplers import Sampler, discrete_laplace
from discreet.dp.smooth_exact import Real, real, relation
from discreet.dp.smooth_laws import GaussianLaw, LaplaceLaw, SmoothLaw
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

TestNoise = Literal["laplace", "gaussian"]


class Unstable(Enum):
    """The answer that no number is released: it is an output like any other, and has been paid for."""

    UNSTABLE = "unstable"

    def __repr__(self) -> str:
        return "UNSTABLE"

    def __bool__(self) -> bool:
        raise TypeError("UNSTABLE is no number and no truth value; write `answer is dp.UNSTABLE`.")


UNSTABLE: Final = Unstable.UNSTABLE
"""The charged answer of a table too close to one on which the proposal is too small."""

Answer = int | float | Literal[Unstable.UNSTABLE]


class TestedExact(Closed):
    """A private value and its distance to instability for one proposal, both private.

    Guarantee: nothing but `open` of `ProposeTestRelease`, with a permit, lets anything out of it. Its makers
      must ensure that `distance_to_instability` is what `ProposeTestRelease` asks, for this `proposal`.

    >>> from discreet import dp
    >>> TestedExact(31, distance_to_instability=40, proposal=2, neighbours=dp.Neighbours.REPLACE, unit="row")
    TestedExact(unit='row')
    """

    __slots__ = ("_distance", "_value", "neighbours", "proposal", "unit")
    __test__ = False  # not a test, whatever its name begins with

    _value: Fraction
    _distance: int | None
    proposal: Fraction
    neighbours: Neighbours
    unit: str

    def __init__(
        self, value: Real, *, distance_to_instability: float, proposal: Number, neighbours: Neighbours, unit: str
    ) -> None:
        for name, part in (
            ("_value", real(value, "value")),
            ("_distance", _distance(distance_to_instability)),
            ("proposal", positive(proposal, "proposal")),
            ("neighbours", relation(neighbours)),
            ("unit", unit),
        ):
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        return f"TestedExact(unit={self.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:  # what browses an object by its names does not come upon the value
        return ["neighbours", "proposal", "unit"]


@dataclass(frozen=True, slots=True)
class ProposeTestRelease:
    """Release a value with noise for sensitivity `proposal`, if this table is far from any where that is too little.

    The distance to instability is the least number of neighbour steps to a table whose local sensitivity exceeds the
    proposal; it moves by at most 1. (The distance printed in lecture notes, to a table whose *value* is far, does not:
    errata E1.7.) Noise is added to it, and the value is released if the sum exceeds `bar`; otherwise UNSTABLE is.

    Guarantee: (epsilon, delta)-DP for `neighbours`, whichever answer comes: UNSTABLE is charged like any other. A pair
      of tables with a stable one costs epsilon, a pair of unstable ones delta, so delta is not added but the greater of
      the two. The caller must ensure that the distance is to instability as above, for this proposal and relation.
      With Laplace noise epsilon is the sum of the test's and the release's; with Gaussian noise both together are one
      normal release, mu^2 = 1 / s1^2 + proposal^2 / s2^2. The noisy value is rounded to the multiples of `step`.
    Source: Dwork, Lei, "Differential privacy and robust statistics", 2009, Section 3 and Theorem 2; Brunel,
      Avella-Medina, "Propose, test, release", 2020.

    >>> from discreet import dp
    >>> tested = dp.ProposeTestRelease(neighbours=dp.Neighbours.REPLACE, proposal=2, epsilon=2, delta=1e-6, step=1)
    >>> tested.bar, tested.release(31, distance_to_instability=0)
    (13, UNSTABLE)
    """

    neighbours: Neighbours
    proposal: Fraction
    epsilon: Fraction
    delta: Fraction
    noise: TestNoise
    step: Fraction
    test_scale: Fraction
    noise_scale: Fraction
    bar: int

    def __init__(
        self,
        *,
        neighbours: Neighbours,
        proposal: Number,
        epsilon: Number,
        delta: Number,
        noise: TestNoise = "laplace",
        step: Number,
        test_share: Number = Fraction(1, 2),
    ) -> None:
        """Calibrate both parts; `test_share` of epsilon (of mu^2, for Gaussian noise) goes to the test."""
        whole, miss = positive(epsilon, "epsilon"), probability(delta, "delta")
        share, eta = probability(test_share, "test_share"), positive(proposal, "proposal")
        match noise:
            case "laplace":
                test, release = 1 / (share * whole), eta / ((1 - share) * whole)
            case "gaussian":
                mu = greatest_mu(whole, miss)
                test = gaussian.short_up(sqrt_up(1 / share) / mu)
                release = gaussian.short_up(eta * sqrt_up(1 / (1 - share)) / mu)
            case _:
                raise InvalidParameter("noise is 'laplace' or 'gaussian'.")
        for name, part in (
            ("neighbours", relation(neighbours)),
            ("proposal", eta),
            ("epsilon", whole),
            ("delta", miss),
            ("noise", noise),
            ("step", Steps.of(step).step),
            ("test_scale", test),
            ("noise_scale", release),
        ):
            object.__setattr__(self, name, part)
        object.__setattr__(self, "bar", smallest(lambda t: upper(lambda: self._above(t, 0)) <= miss))
        self._test_noise()  # refuses what cannot be drawn

    def _above(self, bar: int, distance: int) -> arb:
        """Return P(distance + noise > bar)."""
        steps = bar + 1 - distance
        if self.noise == "laplace":
            return laplace.at_least(steps, self.test_scale)
        return (ball((2 * steps - 1) / (2 * self.test_scale)) / ball(2).sqrt()).erfc() / 2

    def _test_noise(self) -> Sampler:
        scale = self.test_scale
        return discrete_laplace(scale) if self.noise == "laplace" else gaussian_sampler(scale, "rounded")

    @property
    def _law(self) -> SmoothLaw:
        return LaplaceLaw() if self.noise == "laplace" else GaussianLaw()

    @property
    def loss(self) -> Loss:
        """The loss of one answer, UNSTABLE or not. Its delta is taken from the `delta_add` of a budget."""
        return Approximate(self.epsilon, self.delta)

    def release_chance(self, distance_to_instability: int) -> arb:
        """Return the ball around the probability that a table at this distance gets a number."""
        return self._above(self.bar, distance_to_instability)

    def sure_distance(self, *, failure_probability: Number) -> int:
        """Return the least distance at which UNSTABLE is answered with at most this probability."""
        share = probability(failure_probability, "failure_probability")
        return smallest(lambda g: upper(lambda: 1 - self.release_chance(g)) <= share)

    def accuracy(self, *, failure_probability: Number) -> Fraction:
        """Return alpha with P(off by more than alpha) <= failure_probability, of a number if one is released."""
        share = probability(failure_probability, "failure_probability")
        return self.noise_scale * upper(lambda: self._law.quantile(ball(share))) + self.step / 2

    def release(self, value: Real, distance_to_instability: float) -> Answer:
        """Return a plain value with fresh noise, or UNSTABLE; a distance without end is `math.inf`.

        Whoever calls this has the value and the distance already, and accounts for `loss`, whichever answer comes.
        """
        if isinstance(value, Closed):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(real(value, "value"), _distance(distance_to_instability), randomness.system())

    def open(self, exact: TestedExact, permit: Permit) -> Answer:
        """Test and release a private value: the loss is taken from the permit first, whichever answer comes.

        Guarantee: the output has the loss that was taken; a distance for another proposal or relation is refused before
          anything is taken.
        """
        if not isinstance(exact, TestedExact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes a TestedExact and a Permit; for plain numbers use release(...).")
        if exact.neighbours is not self.neighbours or exact.proposal > self.proposal:
            raise InvalidParameter("the distance is for another relation, or for a greater proposal.")
        permit.take(self.loss)
        return self._release(exact._value, exact._distance, randomness.system())

    def _release(self, value: Fraction, distance: int | None, stream: randomness.Stream) -> Answer:
        # Both are drawn in either case, so that the time is the same.
        noisy = rounded(self._law, value / self.step, self.noise_scale / self.step, stream)
        tested = self._test_noise().added_to(0 if distance is None else distance, stream)
        if distance is not None and tested <= self.bar:
            return UNSTABLE
        return Steps(self.step).value(noisy)


def _distance(distance: float) -> int | None:
    """Return a distance as a whole number; None where there is no unstable table at any distance."""
    item = getattr(distance, "item", None)
    plain = item() if callable(item) else distance
    if isinstance(plain, float) and plain == math.inf:
        return None
    if isinstance(plain, bool) or not isinstance(plain, int) or plain < 0:
        raise InvalidParameter("distance_to_instability is a whole number of at least 0, or math.inf.")
    return plain
