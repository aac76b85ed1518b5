"""Private quantiles: the exponential mechanism over a public grid, smooth sensitivity, or propose-test-release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp import randomness
from discreet.dp.local_sensitivity import LocalSensitivity
from discreet.dp.loss import BoundedRange, Loss
from discreet.dp.neighbours import Neighbours
from discreet.dp.order_statistics import PublicGrid, Ranked
from discreet.dp.propose_test_release import Answer, ProposeTestRelease, Unstable
from discreet.dp.rational import Number, float_up, non_negative, positive, probability
from discreet.dp.reals import ball
from discreet.dp.reals import upper as at_most
from discreet.dp.samplers import uniform_below
from discreet.dp.smooth_noise import SmoothNoise
from discreet.dp.smooth_sensitivity import SmoothBound, reach
from discreet.dp.statistics_of_ranks import HALF, OrderStatistic, check_quantile, relation
from discreet.dp.weights import Reals, Weights, mild
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from flint import arb

    from discreet.dp.inversion import Integers
    from discreet.dp.randomness import Stream

Method = Literal["exponential", "smooth", "propose-test-release"]


@dataclass(frozen=True)
class Runs(Weights):
    """Weights of runs of candidates: that of one candidate times the length of the run, scaled into (0, 1]."""

    lengths: NDArray[np.int64]

    @cached_property
    def _unit(self) -> Fraction:
        return Fraction(1, 1 << int(self.lengths.max()).bit_length())

    @cached_property
    def floats(self) -> Reals:
        """All weights."""
        each: Reals = self._weigh(self.scores)
        return each * (self.lengths * float(self._unit))

    def exact(self, candidate: int) -> arb:
        """Return the ball around one weight at the precision in force."""
        return Weights.exact(self, candidate) * ball(int(self.lengths[candidate]) * self._unit)

    def draw(self, stream: Stream) -> int:
        """Return a run with probability proportional to its weight, exactly."""
        return self._invert(stream)


@dataclass(frozen=True, slots=True)
class QuantileMechanism:
    """Choose a point y of a public grid with probability proportional to exp(rate * u(y)): a quantile, privately.

    u(y) is minus the number of rows by which y misses the quantile: -max(#{x < y} - q n, q n - #{x <= y}, 0). It is 0
    at the quantile itself, ties or not. All points of a run between two values have the same score, so a run is drawn
    by its length and then a point of it, exactly; the candidates are the grid, whatever the table.

    Guarantee: epsilon-DP for `neighbours`, with Renyi divergence at most a epsilon^2 / 8: between neighbours the scores
      move within an interval of length R, and the rate is epsilon / R. R is 2 under REPLACE and 2 max(q, 1 - q) under
      ADD_REMOVE, so 1 for the median; it is 1 for the minimum and the maximum, whose scores all move the same way.
    Source: McSherry, Talwar, 2007, Theorem 6; Smith, "Privacy-preserving statistical estimation with optimal
      convergence rates", 2011, Algorithm 2 (the intervals).

    >>> from discreet import dp
    >>> both = dp.Neighbours.ADD_REMOVE
    >>> median = dp.QuantileMechanism(q="0.5", neighbours=both, epsilon=1, lower=0, upper=100, step=1)
    >>> 20 <= median.release([20] * 200 + [50] + [80] * 200) <= 80
    True
    >>> round(median.accuracy(failure_probability=0.05), 2)
    7.61
    """

    q: Fraction
    neighbours: Neighbours
    epsilon: Fraction
    grid: PublicGrid

    def __init__(
        self,
        *,
        q: Number,
        neighbours: Neighbours,
        epsilon: Number,
        lower: Number,
        upper: Number,
        step: Number | None = None,
    ) -> None:
        object.__setattr__(self, "q", check_quantile(q))
        object.__setattr__(self, "neighbours", relation(neighbours))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "grid", PublicGrid.of(lower=lower, upper=upper, step=step))
        mild(self.rate / self.q.denominator)

    @property
    def loss(self) -> Loss:
        """The loss of one release."""
        return BoundedRange(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """The factor of the score, per row."""
        if self.q in (0, 1):
            return self.epsilon
        return self.epsilon / (2 * (1 if self.neighbours is Neighbours.REPLACE else max(self.q, 1 - self.q)))

    def accuracy(self, *, failure_probability: Number) -> float:
        """Return alpha with P(off by more than alpha rows) <= failure_probability: ln(points / beta) / rate.

        Off by so many rows: the quantile of some share within alpha / n of q is released, whatever the table.
        """
        share = probability(failure_probability, "failure_probability")
        return float_up(at_most(lambda: ball((self.grid.top + 1) / share).log() / ball(self.rate)))

    def release(self, data: ArrayLike) -> float:
        """Return a point of the grid. Whoever calls this has the data already, and accounts for `loss`."""
        return self._release(data, randomness.system())

    def _release(self, data: ArrayLike, stream: Stream) -> float:
        starts, runs = self._runs(data)
        run = runs.draw(stream)
        point = int(starts[run]) + int(uniform_below(stream, int(runs.lengths[run]), 1)[0])
        return float(self.grid.value(point))

    def law(self, data: ArrayLike) -> list[arb]:
        """Return the balls around the probabilities of all points of a small grid, at the precision in force."""
        if self.grid.top >= 1 << 12:
            raise InvalidParameter("the law of every point is for grids of at most 4,096 steps.")
        _, runs = self._runs(data)
        each = [runs.exact(i) for i in range(len(runs))]
        total = sum(each[1:], start=each[0])
        shares = [w / (total * int(k)) for w, k in zip(each, runs.lengths, strict=True)]
        return [share for share, k in zip(shares, runs.lengths, strict=True) for _ in range(int(k))]

    def _runs(self, data: ArrayLike) -> tuple[Integers, Runs]:
        """Return where the runs of equal score begin, and their weights; a value is a run of one point."""
        ranked = Ranked(data, self.grid)
        n = ranked.count
        ranked.keep(1, n)
        places = ranked.take(np.arange(1, n + 1)).astype(np.int64)
        last = np.flatnonzero(np.append(places[1:] != places[:-1], True)) if n else np.zeros(0, dtype=np.int64)
        values, up_to = places[last], last + 1
        starts = np.empty(2 * values.size + 1, dtype=np.int64)
        starts[0], starts[1::2], starts[2::2] = 0, values, values + 1
        below, at_most_here = np.empty_like(starts), np.empty_like(starts)
        below[0] = at_most_here[0] = 0
        at_most_here[1::2] = at_most_here[2::2] = below[2::2] = up_to
        below[1::2] = np.append(0, up_to[:-1])[: values.size]
        lengths = np.diff(np.append(starts, self.grid.top + 1))
        scores = self._scores(below, at_most_here, n)
        kept = lengths > 0
        return starts[kept], Runs(scores[kept], self.rate / self.q.denominator, lengths[kept])

    def _scores(self, below: Integers, up_to: Integers, count: int) -> NDArray[np.float64]:
        """Return the scores times the denominator of q: whole numbers."""
        target, unit = self.q.numerator * count, self.q.denominator
        scores: NDArray[np.float64] = -np.maximum(np.maximum(unit * below - target, target - unit * up_to), 0)
        return scores


def private_quantile(
    data: ArrayLike,
    *,
    q: Number,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number,
    lower: Number,
    upper: Number,
    step: Number | None = None,
    method: Method = "exponential",
    proposal: Number | None = None,
) -> Answer:
    """Return the quantile q of data clamped to public bounds, or UNSTABLE if it is proposed and tested.

    Guarantee: (epsilon, delta)-DP for `neighbours`, by any method; epsilon-DP by the exponential mechanism, and by
      smooth sensitivity with delta = 0 (with a delta it takes the noise that is nearer, see `smooth_noise`). The caller
      must ensure that bounds, step, method and proposal are public.
    Source: `QuantileMechanism`, `SmoothNoise` with `smooth_sensitivity`, `ProposeTestRelease` with `local_sensitivity`.

    >>> from discreet import dp
    >>> rows = list(range(1000))
    >>> ages = dict(neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, delta=1e-9, lower=0, upper=1000)
    >>> 800 < dp.private_quantile(rows, q=0.9, **ages) < 1000
    True
    """
    grid, place = PublicGrid.of(lower=lower, upper=upper, step=step), check_quantile(q)
    miss = _delta(delta)
    if (proposal is not None) != (method == "propose-test-release"):
        raise InvalidParameter("proposal= goes with method='propose-test-release', and with it alone.")
    if method == "exponential":
        mechanism = QuantileMechanism(
            q=place, neighbours=neighbours, epsilon=epsilon, lower=lower, upper=upper, step=grid.step
        )
        return mechanism.release(data)
    ranked = Ranked(data, grid)
    if method == "smooth":
        noise = smooth_noise(neighbours=neighbours, epsilon=epsilon, delta=miss, step=grid.step)
        found = OrderStatistic.of(ranked, place, relation(neighbours), reach=reach(grid, noise.beta))
        bound = SmoothBound.of(found, noise.beta, neighbours)
        return _clamped(noise.release(bound.value, Fraction(bound)), grid)
    if method == "propose-test-release" and proposal is not None:
        tested = ProposeTestRelease(
            neighbours=neighbours, proposal=proposal, epsilon=epsilon, delta=miss, step=grid.step
        )
        local = LocalSensitivity(OrderStatistic.of(ranked, place, relation(neighbours)), neighbours)
        return _clamped(tested.release(local.value, local.distance(proposal=proposal)), grid)
    raise InvalidParameter("method is 'exponential', 'smooth' or 'propose-test-release'.")


def private_median(
    data: ArrayLike,
    *,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number,
    lower: Number,
    upper: Number,
    step: Number | None = None,
    method: Method = "exponential",
    proposal: Number | None = None,
) -> Answer:
    """Return the median of data clamped to public bounds, the lower one of an even number of rows.

    Guarantee: that of `private_quantile` for q = 1/2.
    Source: `private_quantile`.

    >>> from discreet import dp
    >>> ages = dict(neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, delta=1e-9, lower=0, upper=1000)
    >>> 400 < dp.private_median(range(1000), **ages) < 600
    True
    """
    return private_quantile(
        data,
        q=HALF,
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        lower=lower,
        upper=upper,
        step=step,
        method=method,
        proposal=proposal,
    )


def smooth_noise(*, neighbours: Neighbours, epsilon: Number, delta: Number, step: Number) -> SmoothNoise:
    """Return the noise for a smooth bound: pure, or Laplace if there is a delta and 19 of 20 answers gain by it.

    The smooth bound of evenly spread rows is in proportion to 1 / beta, and pure noise has the greater beta: for a
    small delta so much greater that it makes up for heavier tails.
    """
    miss = _delta(delta)
    offers = [SmoothNoise(neighbours=neighbours, epsilon=epsilon, step=step)]
    if miss:
        offers.append(SmoothNoise(neighbours=neighbours, epsilon=epsilon, delta=miss, noise="laplace", step=step))
    return min(offers, key=_typical)


def _typical(noise: SmoothNoise) -> Fraction:
    """Return what 19 of 20 answers keep to, where the smooth bound is 1 / beta."""
    return noise.scale * at_most(lambda: noise.law.quantile(ball(Fraction(1, 20)))) / noise.beta


def _delta(delta: Number) -> Fraction:
    share = non_negative(delta, "delta")
    if share >= 1:
        raise InvalidParameter(f"delta is below 1; got {delta!r}.")
    return share


def _clamped(answer: Answer, grid: PublicGrid) -> Answer:
    """Return what was released within the public bounds."""
    if isinstance(answer, Unstable):
        return answer
    return min(max(float(answer), float(grid.lower)), float(grid.lower + grid.width))
