"""Entropy projections: multiplicative weights with the step at which the model agrees with what was released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.dp.rational import Number, non_negative, positive
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.database_update import Tolerates, spread
from discreet.release.multiplicative_weights import Distribution, Prior, RelativeEntropy
from discreet.release.query import Array, LinearQuery
from discreet.release.rows import Rows

_EDGE = 2.0**-40  # a projection keeps shares this far from the least and the greatest weight, so that no cell is lost
_HALVINGS = 200  # of the interval in which a tilt is searched: beyond the digits of a float


class _Projection(RelativeEntropy):
    """What both projections share: the distribution nearest to the model's among those that have a given share."""

    def _gain(self, gap: Fraction) -> Fraction:
        return 2 * gap**2  # KL of distributions that a query with weights in [0, 1] tells apart by `gap`

    def _project(self, state: Distribution, query: LinearQuery, share: float) -> Distribution:
        weights = spread(query)
        tilt = _tilt(state.model.marginal(query.axes), query, share)
        return state if tilt is None else state.moved(tilt * weights)


def _tilt(cells: Array, query: LinearQuery, share: float) -> float | None:
    """Return g such that cells multiplied by exp(g Q) have this share of Q, or the nearest that is kept to.

    None if all cells have one weight.
    """
    held, weights = cells.ravel(), query.weights().ravel() / query.scale
    kept = held > 0
    held, weights = held[kept] / float(held.sum()), weights[kept]
    least, most = float(weights.min(initial=1)), float(weights.max(initial=0))
    if least >= most:
        return None
    share = min(max(share, least + _EDGE * (most - least)), most - _EDGE * (most - least))
    if query.range == (0, query.scale) and bool(((weights == 0) | (weights == 1)).all()):
        have = float(held[weights == 1].sum())
        rest = float(held[weights == 0].sum())
        return math.log(share / (1 - share)) - math.log(have / rest)

    def excess(tilt: float) -> float:
        exponents = np.log(held) + tilt * weights
        tilted = np.exp(exponents - exponents.max())
        return float(tilted @ (weights - share))

    low, high = -1.0, 1.0
    while excess(low) > 0:
        low *= 2
    while excess(high) < 0:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return (low + high) / 2


@final
@dataclass(frozen=True, slots=True, eq=False)
class EntropyProjection(_Projection):
    """Make the model agree with the value: the distribution of least relative entropy to it that does.

    Guarantee: B(u) = ln|X| / (2 u^2) for EXACT values only. With noise an update can move away from the table, and no
      bound holds: values off by a little less than the level make hundreds of updates where eighteen are allowed. It
      certifies nothing that is private; `ShortenedProjection` does.
    Source: Csiszar, 1975, Theorem 2.2 (the Pythagorean identity); Pinsker's inequality.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 4})
    >>> update, query = EntropyProjection(universe, rows=100), release.where(universe, cell=[0])
    >>> model = update.updated(update.start(), query, Fraction(70), level=Fraction(10), noise=Fraction(0))
    >>> round(model.answer(query), 9)
    70.0
    """

    universe: Universe
    rows: Rows
    prior: Prior | None

    def __init__(self, universe: Universe, *, rows: Rows | int, prior: Prior | None = None) -> None:
        self._keep(universe, rows, prior)

    @property
    def tolerates(self) -> Tolerates:
        """No noise."""
        return Tolerates.NOTHING

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha) for exact values, rounded up."""
        if non_negative(noise, "noise"):
            raise InvalidParameter("the plain projection has no bound under noise; use release.ShortenedProjection.")
        level = positive(alpha, "alpha")
        return self._count(Fraction(1) if self.settled else self.rows.normalised(level))

    def updated(
        self, state: Distribution, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction
    ) -> Distribution:
        """Return the projection of the model on what was released."""
        return state if self.settled else self._project(state, query, float(value / self.rows.estimate))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShortenedProjection(_Projection):
    """Make the model agree with the value moved towards the model's answer by `noise`, so that it never overshoots.

    Guarantee: B(u) = ln|X| / (2 (u - 2 noise)^2) for values off by at most `noise` < u / 2, all as shares of the rows.
      The moved value lies between the model's answer and the true one and is u - 2 noise from the model's, so the
      potential drops by the relative entropy of the step, at least twice its square. In the loop, which updates only
      where the value is u + noise from the model's answer, it is u from it, and B is ln|X| / (2 u^2).
    Source: as `EntropyProjection`; the shortening is ours.

    >>> from discreet import dp
    >>> ShortenedProjection(dp.Universe({"cell": 1000}), rows=100).bound(10, noise=2)
    960
    """

    universe: Universe
    rows: Rows
    prior: Prior | None

    def __init__(self, universe: Universe, *, rows: Rows | int, prior: Prior | None = None) -> None:
        self._keep(universe, rows, prior)

    @property
    def tolerates(self) -> Tolerates:
        """Noise that is named in advance."""
        return Tolerates.DECLARED

    def bound(self, alpha: Number, *, noise: Number = 0) -> int:
        """Return B(alpha) for values off by at most `noise`, rounded up."""
        left = positive(alpha, "alpha") - 2 * non_negative(noise, "noise")
        if left <= self.rows.error:
            raise InvalidParameter("noise is below half of alpha, less the error of the rows: a shorter step is none.")
        return self._count(Fraction(1) if self.settled else self.rows.normalised(left))

    def updated(
        self, state: Distribution, query: LinearQuery, value: Fraction, *, level: Fraction, noise: Fraction
    ) -> Distribution:
        """Return the projection on the value after it was moved by the noise and the error of the rows."""
        if self.settled:
            return state
        answer, off = Fraction(state.answer(query)), noise + self.rows.error
        if abs(value - answer) <= off:
            return state
        nearer = value - off if value > answer else value + off
        return self._project(state, query, float(nearer / self.rows.estimate))
