"""Which way to a private quantile is the most accurate: told from public facts, for rows spread evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.neighbours import Neighbours
from discreet.dp.order_statistics import PublicGrid
from discreet.dp.propose_test_release import ProposeTestRelease
from discreet.dp.quantiles import Method, QuantileMechanism, _delta, smooth_noise
from discreet.dp.rational import Number, positive, positive_integer, probability
from discreet.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class QuantileOffer:
    """One method and the error to expect of it; for propose-test-release, what to propose."""

    method: Method
    error: float
    proposal: Fraction | None = None


@dataclass(frozen=True, slots=True)
class QuantileChoice:
    """All offers, the most accurate first; prints as a table."""

    rows: int
    spread: Fraction
    failure_probability: Fraction
    offers: tuple[QuantileOffer, ...]

    @property
    def best(self) -> QuantileOffer:
        """The offer with the least error."""
        return self.offers[0]

    def __str__(self) -> str:
        share = float(1 - self.failure_probability)
        head = f"error kept with probability {share:g} if {self.rows} rows lie evenly over {float(self.spread):g}"
        lines = [
            f"{offer.method:<24}{offer.error:>12.4g}"
            + (f"   proposal={float(offer.proposal):.4g}" if offer.proposal is not None else "")
            for offer in self.offers
        ]
        return "\n".join([head, *lines])


def best_quantile(
    *,
    rows: int,
    spread: Number,
    q: Number,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Number,
    lower: Number,
    upper: Number,
    failure_probability: Number,
    step: Number | None = None,
) -> QuantileChoice:
    """Return what error to expect of each method: a forecast, and no error bar.

    `rows` and `spread` (how far apart the bulk of the rows lies) are declared, or were released and paid for; the
    table is not looked at. If they are wrong the forecast is, and the guarantee is not. Rows are taken to lie evenly:
    a gap is spread / rows, LS^(k) is k + 1 gaps, and the range is reached with the nearer end: public arithmetic.

    >>> from discreet import dp
    >>> facts = dict(rows=100_000, spread=10, q="0.5", neighbours=dp.Neighbours.ADD_REMOVE, failure_probability=0.05)
    >>> dp.best_quantile(**facts, epsilon=1, delta=1e-9, lower=0, upper=10_000).best.method
    'exponential'
    """
    count, width_of_bulk = positive_integer(rows, "rows"), positive(spread, "spread")
    share = probability(failure_probability, "failure_probability")
    mechanism = QuantileMechanism(q=q, neighbours=neighbours, epsilon=epsilon, lower=lower, upper=upper, step=step)
    grid, miss = mechanism.grid, _delta(delta)
    if width_of_bulk > grid.width:
        raise InvalidParameter("spread is at most upper - lower: the data are clamped to these bounds.")
    gap, nearer = width_of_bulk / count, max(1, int(min(mechanism.q, 1 - mechanism.q) * count))
    offers = [QuantileOffer("exponential", _exponential(mechanism, gap, nearer, share))]
    noise = smooth_noise(neighbours=neighbours, epsilon=epsilon, delta=miss, step=grid.step)
    beta, k = float(noise.beta), max(0, math.ceil(1 / float(noise.beta)) - 1)
    local = max(float(gap) * (k + 1) * math.exp(-beta * k), float(grid.width) * math.exp(-beta * nearer))
    offers.append(
        QuantileOffer(
            "smooth",
            float(min(grid.width, noise.accuracy(failure_probability=share, smooth_sensitivity=local))),
        )
    )
    if miss:
        offers += _tested(gap, nearer, share, grid, neighbours, epsilon, miss)
    return QuantileChoice(count, width_of_bulk, share, tuple(sorted(offers, key=lambda offer: offer.error)))


def _exponential(mechanism: QuantileMechanism, gap: Fraction, nearer: int, share: Fraction) -> float:
    """Return the error that is exceeded with this probability: exp(-rate a) of the mass, and what lies outside."""
    rate, width = float(mechanism.rate), float(mechanism.grid.width)
    outside = width * math.exp(-rate * nearer) * rate / (2 * float(gap))
    if outside >= float(share) / 2:
        return width
    return min(width, float(gap) * (1 - math.log(float(share) - outside) / rate))


def _tested(
    gap: Fraction,
    nearer: int,
    share: Fraction,
    grid: PublicGrid,
    neighbours: Neighbours,
    epsilon: Number,
    delta: Fraction,
) -> list[QuantileOffer]:
    """Return the offer with a proposal twice as great as evenly spread rows need to be stable, if they can be."""

    def made(proposal: Fraction) -> ProposeTestRelease:
        return ProposeTestRelease(
            neighbours=neighbours, proposal=proposal, epsilon=epsilon, delta=delta, step=grid.step
        )

    distance = made(grid.step).sure_distance(failure_probability=share / 2)
    proposal = max(2 * (distance + 1) * gap, grid.step)
    if distance >= nearer or proposal >= grid.width:
        return []
    error = made(proposal).accuracy(failure_probability=share / 2)
    return [QuantileOffer("propose-test-release", float(min(error, grid.width)), proposal)]
