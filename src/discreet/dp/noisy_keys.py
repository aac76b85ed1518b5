"""Private group keys with their numbers of units: a key is named if its noisy count reaches a threshold.

Why the two deltas do not add up, and why a replaced unit pays for m keys and not for 2m:

Let one unit's coming, going or replacement move K counts by 1 each: at most m of them up and m of them down. Of these
keys let a have no unit but this one before, and b no unit but this one after; a and b are at most m. Such a key is
named with probability p on its own table, and on the other it never is. Given that none of them is named, both tables
release the noisy counts of at most K - max(a, b) keys that move by 1; and on either this has probability at least
(1 - p)^j for j = max(a, b). So the two outputs are one mixture: anything at all with probability 1 - (1 - p)^j, and
otherwise two releases of noise that differ in K - j counts. With D_k(e) the exact delta of noise for k counts, delta(e)
is at most the greatest, over j = 0 ... m, of

    f(j) = 1 - (1 - p)^j (1 - D_(K - j)(e)).

All of delta goes to noise at j = 0, and nearly all to the threshold at j = m: it is the greater that counts. For normal
noise D_k(e) is a call price as a function of the total variance v = k / sigma^2, and convex where v^2 + 4v <= 4e^2 (its
derivative phi(d) / (2 sqrt(v)), d = sqrt(v) / 2 - e / sqrt(v), grows there). Then ln(1 - f) is concave in j, and the
greatest f is f(0) or f(m).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.dp import laplace
from discreet.dp.exact_keys import Key, Keyed
from discreet.dp.gaussian import Gaussian, short_up
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.grid import release_integers
from discreet.dp.laplace import Laplace
from discreet.dp.law import smallest
from discreet.dp.loss import Approximate, Bound, Loss, Pure
from discreet.dp.loss_sum import LossSum, summed
from discreet.dp.mechanism import any_of
from discreet.dp.neighbours import Neighbours
from discreet.dp.partition_selection import KeyRelease, _units, counts_of_units, epsilon_of_a_key
from discreet.dp.randomness import Stream
from discreet.dp.rational import Number, positive, positive_integer, probability, sqrt_up
from discreet.dp.reals import ball, bounds, upper
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True, slots=True)
class GaussianKeys(LossSum):
    """Normal noise on counts, and a chance of naming a key that only one unit has: of two deltas, the greater.

    As a sum it is the noise and the chance, which bounds it: sums with it, and the accounts of a budget, take that.
    `beside` is mu^2 of the counts that still move where a unit has m such keys.
    """

    beside: Fraction

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the greater of f(0) and f(m), where the proof holds; else the sum."""
        whole = LossSum.delta_bound(self, epsilon)
        v, chance = self._variance_and_chance
        if v * v + 4 * v > 4 * epsilon * epsilon:
            return whole
        noise, rest = GaussianLoss(v).delta_bound(epsilon), GaussianLoss(self.beside).delta_bound(epsilon)
        return min(whole, max(noise, chance + (1 - chance) * Fraction(rest)))

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return an epsilon at which both are at most delta, and the proof holds."""
        whole = LossSum.epsilon_bound(self, delta)
        v, chance = self._variance_and_chance
        if delta < chance:
            return whole
        rest = GaussianLoss(self.beside).epsilon_bound((delta - chance) / (1 - chance))
        return min(whole, max(GaussianLoss(v).epsilon_bound(delta), rest, sqrt_up(v * v + 4 * v) / 2))

    @property
    def _variance_and_chance(self) -> tuple[Fraction, Fraction]:
        (_, lost), (_, noise) = self.parts
        assert isinstance(lost, Approximate)
        assert isinstance(noise, GaussianLoss)
        return noise.mu_squared, lost.base_delta


@dataclass(frozen=True, slots=True)
class NoisyKeys(KeyRelease[dict[Key, int]]):
    """Add noise to the number of units of each key, and tell key and noisy number where it is at least `threshold`.

    The threshold is the least at which what delta allows is kept; it is compared with "at least", and so is the tail
    that it is computed from. A key without units is never told, whatever its noise.

    Guarantee: (epsilon, delta)-DP for `neighbours`, the noisy numbers included. Discrete Laplace noise of scale
      K / epsilon, where one unit moves K counts (m, or 2m under REPLACE), is lost with probability 1 - (1 - p)^m and
      otherwise K randomised responses, p being the chance that a single unit names a key. Normal noise has all of
      delta, and so has the threshold: the greater of the two counts, not their sum. With `rho` in place of epsilon
      delta is the threshold's alone, beside noise of so much rho. The caller must ensure that a unit is counted at most
      once in a key, and in at most `groups`.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks privately", 2009 (Laplace);
      Desfontaines, Voss, Gipson, Mandayam, 2022, Section 3 (both noises); the proof above (that the greater counts).

    >>> from discreet import dp
    >>> both = dp.Neighbours.ADD_REMOVE
    >>> noisy = NoisyKeys(noise="gaussian", groups=10, neighbours=both, epsilon=1, delta=1e-9)
    >>> noisy.threshold, noisy.release(["flu", "rare"], [5000, 1]).keys()
    (113, dict_keys(['flu']))
    """

    noise: Noise
    groups: int
    neighbours: Neighbours
    delta: Fraction
    mechanism: Laplace | Gaussian
    threshold: int

    def __init__(
        self,
        *,
        noise: Noise,
        groups: int,
        neighbours: Neighbours,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        moved, share = counts_of_units(groups, neighbours), probability(delta, "delta")
        each = epsilon_of_a_key(moved, epsilon, rho)
        beside = Fraction(0)
        match noise:
            case "laplace":
                made: Laplace | Gaussian = Laplace(sensitivity=moved, scale=short_up(1 / each))
            case "gaussian" if epsilon is None:
                made = Gaussian(sensitivity=moved, rho=rho)
            case "gaussian":
                made = Gaussian(sensitivity=moved, epsilon=epsilon, delta=share)
                v = (moved.l2 / made.sigma) ** 2
                if v * v + 4 * v > 4 * positive(epsilon, "epsilon") ** 2:
                    raise InvalidParameter("delta is too large for this epsilon to share it; ask for less of it.")
                beside = Fraction(_left(made, neighbours).delta_bound(positive(epsilon, "epsilon")))
            case _:
                raise InvalidParameter("noise is 'laplace' or 'gaussian'.")
        for name, part in (
            ("noise", noise),
            ("groups", positive_integer(groups, "groups")),
            ("neighbours", neighbours),
            ("delta", share),
            ("mechanism", made),
        ):
            object.__setattr__(self, name, part)
        allowed = (share - beside) / (1 - beside)
        object.__setattr__(self, "threshold", smallest(lambda t: self._lost(t) <= allowed))

    def _above(self, threshold: int, count: int) -> arb:
        """Return P(count + noise >= threshold)."""
        steps = threshold - count
        if isinstance(self.mechanism, Laplace):
            return laplace.at_least(steps, self.mechanism.scale)
        return (ball(Fraction(2 * steps - 1) / (2 * self.mechanism.sigma)) / ball(2).sqrt()).erfc() / 2

    def _lost(self, threshold: int) -> Fraction:
        """Return the chance that one of `groups` keys of a single unit is named, rounded up."""
        return upper(lambda: any_of(self._above(threshold, 1), self.groups))

    @property
    def loss(self) -> Loss:
        """The loss of one release: what the threshold lets through may be less than the delta that was asked for."""
        lost = Approximate(Fraction(0), self._lost(self.threshold))
        if isinstance(self.mechanism, Laplace):
            assert self.sensitivity.l1 is not None
            return summed([(1, lost), (int(self.sensitivity.l1), Pure(1 / self.mechanism.scale))])
        noise = self.mechanism.loss
        assert isinstance(noise, GaussianLoss)
        return GaussianKeys(((1, lost), (1, noise)), _left(self.mechanism, self.neighbours).mu_squared)

    def keep_bounds(self, count: int) -> tuple[Fraction, Fraction]:
        """Return rationals around the probability that a key with so many units is named."""
        units = _units(count)
        return bounds(lambda: self._above(self.threshold, units)) if units else (Fraction(0), Fraction(0))

    def accuracy(self, *, failure_probability: Number, keys: int = 1) -> Fraction:
        """Return alpha with P(some of `keys` is told a number that is off by more than alpha) <= this probability.

        It says nothing of a number given that it was told: near the threshold only the high ones are.
        """
        return self.mechanism.accuracy(failure_probability=failure_probability, answers=keys)

    def _release(self, keyed: Keyed, stream: Stream) -> dict[Key, int]:
        noisy = release_integers(keyed.counts, self.mechanism._sampler(self.mechanism._noise_scale), stream)
        keys, places = keyed.sorted((noisy >= self.threshold) & (keyed.counts > 0))
        return dict(zip(keys, noisy[places].tolist(), strict=True))


def _left(mechanism: Gaussian, neighbours: Neighbours) -> GaussianLoss:
    """Return the loss of the counts that still move where a unit has m keys to itself: none, or the other m."""
    whole = (mechanism.sensitivity.l2 / mechanism.sigma) ** 2
    return GaussianLoss(whole / 2 if neighbours is Neighbours.REPLACE else Fraction(0))
