"""How far a model is from the table, measured: an honest error for every clique, at a price fixed in advance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import short_up
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.grid import exact_sum, in_steps
from discreet.dp.loss import Loss
from discreet.dp.private import Exact
from discreet.dp.rational import sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter
from discreet.release.distinguisher import FINE, rounded
from discreet.release.marginals import Marginals
from discreet.release.synthesized import Distance

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Histogram: TypeAlias = NDArray[np.int64]
GetMarginal: TypeAlias = Callable[[Axes], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredDistances:
    """Measure the l1 distance between a table and a model on the marginal over every clique, with normal noise.

    Guarantee: the loss is Gaussian with mu^2 = k l1^2 / sigma^2 for k cliques, whatever the model, which is released
      before. A unit moves one marginal by at most l1 and so, by the triangle inequality, its distance to anything. The
      caller must ensure that the histogram moves by at most `sensitivity` and that the model was not chosen by looking.
    Source: Dong, Roth, Su, 2022 (the curve); the distance is the score of MWEM and AIM, released and not chosen by.
    """

    shape: Axes
    cliques: tuple[Axes, ...]
    sensitivity: Sensitivity
    sigma: Fraction

    @classmethod
    def within(
        cls, shape: Axes, cliques: tuple[Axes, ...], sensitivity: Sensitivity, *, mu_squared: Fraction
    ) -> MeasuredDistances:
        """Return the measurement that costs this mu^2, or a little less."""
        far = reach(sensitivity)
        return cls(shape, cliques, sensitivity, short_up(sqrt_up(len(cliques) * far**2 / mu_squared)))

    @property
    def loss(self) -> Loss:
        """The loss of all distances together."""
        return GaussianLoss(len(self.cliques) * reach(self.sensitivity) ** 2 / self.sigma**2)

    def release(self, histogram: Histogram, model: GetMarginal) -> dict[Axes, Distance]:
        """Return the noisy distances. Whoever calls this has the histogram, and accounts for `loss`."""
        from discreet.dp import randomness

        if isinstance(histogram, Exact):
            raise InvalidParameter("a private histogram is opened by the plan of a synthesis, with a permit.")
        return self.drawn(histogram, model, randomness.system())

    def drawn(self, histogram: Histogram, model: GetMarginal, stream: Stream) -> dict[Axes, Distance]:
        """Return the noisy distances, drawn from a stream."""
        table = Marginals(histogram, self.shape)
        table.prepare(self.cliques)
        exact = np.array([steps_apart(table(axes), model(axes)) for axes in self.cliques])
        noisy = exact_sum(exact, gaussian_sampler(self.sigma * FINE, "rounded").draw(stream, len(exact)))
        sigma = float(self.sigma)
        return {axes: Distance(int(n) / FINE, sigma) for axes, n in zip(self.cliques, noisy.tolist(), strict=True)}


def reach(sensitivity: Sensitivity) -> Fraction:
    """Return by how much one unit moves the l1 distance of a marginal to anything."""
    if sensitivity.l1 is None:
        raise InvalidParameter("a distance needs a histogram with an l1 sensitivity: l2 does not bound it.")
    return sensitivity.l1


def steps_apart(table: Histogram, model: NDArray[np.float64]) -> int:
    """Return the l1 distance in steps of 1 / FINE, exactly but that the model is rounded to them."""
    counts = in_steps(cast("NDArray[np.int64]", table.reshape(-1)), FINE)
    apart = np.abs(counts - rounded(np.asarray(model, np.float64).reshape(-1), FINE))
    return int(apart.sum(dtype=object)) if apart.dtype == object else sum_of(apart)


def sum_of(whole: Histogram) -> int:
    """Return the sum of whole numbers that may not fit 64 bits together."""
    least = math.prod(whole.shape) * int(whole.max(initial=0))
    return int(whole.sum()) if least < 2**62 else int(whole.sum(dtype=object))
