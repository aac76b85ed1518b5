"""Measure everything once: the effects of the cliques of a workload, with noise that is fixed before a row is read.

Measuring everything once leaves nothing to choose: what is spent is known before it is spent, and all of it measures.
What the noise leaves open is settled by greatest entropy and by `belief`, which ask the data nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian_curve import GaussianLoss, greatest_mu
from discreet.dp.loss import Approximate, Loss, Zcdp
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import NotSupported
from discreet.release.belief import Believer, normal
from discreet.release.distances import MeasuredDistances
from discreet.release.effects import Effects, MeasuredEffects
from discreet.release.progress import Progress
from discreet.release.synthesized import SynthesizedModel
from discreet.release.threads import one_thread

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]
Histogram: TypeAlias = NDArray[np.int64]

# How mu^2 is shared among the orders of effects (the number of rows, single columns, pairs, ...), and how fast each is
# believed. Chosen on the NLTCS table, and kept.
SHARES = (0.05, 0.25, 0.55, 0.15, 0.10, 0.05)
_PACE = (1.0, 1.0, 0.5, 0.2, 0.1, 0.05)


@dataclass(frozen=True, slots=True, eq=False)
class MeasureOnce:
    """What will be measured, with how much noise, and what it will cost: known before any row is read.

    Guarantee: `loss`, that of `MeasuredEffects` and `MeasuredDistances` together. The caller must ensure what they ask.
    Source: as they.
    """

    universe: Universe
    measurement: MeasuredEffects
    checks: MeasuredDistances | None
    reason: str

    @classmethod
    def of(
        cls, universe: Universe, cliques: tuple[Axes, ...], *, loss: Loss, sensitivity: Sensitivity,
        remeasure: Fraction = Fraction(0), reason: str = "",
    ) -> MeasureOnce:  # fmt: skip
        """Plan to measure the effects of some cliques within a loss, and to measure the errors with a share of it."""
        effects, whole = Effects(universe.shape, cliques, np.float32), mu_squared(loss)
        measured = MeasuredEffects.sharing(
            effects, sensitivity, mu_squared=(1 - remeasure) * whole, shares=shares(effects)
        )
        checks = None
        if remeasure:
            checks = MeasuredDistances.within(universe.shape, cliques, sensitivity, mu_squared=remeasure * whole)
        return cls(universe, measured, checks, reason)

    @property
    def loss(self) -> Loss:
        """The loss of all of it."""
        return self.measurement.loss + self.checks.loss if self.checks is not None else self.measurement.loss

    @one_thread()
    def learn(self, histogram: Histogram, progress: Progress, stream: Stream) -> SynthesizedModel:
        """Return the model of a histogram, drawing all noise from a stream. Whoever calls this accounts for `loss`."""
        model = self.fit(self.measurement._release(histogram, stream), progress)
        return model if self.checks is None else checked(model, self.checks, histogram, stream)

    @one_thread()
    def fit(self, measured: Reals, progress: Progress) -> SynthesizedModel:
        """Return the model that agrees best with released effects; interrupted, the best one so far."""
        effects = self.measurement.effects
        sigmas = np.array([float(sigma) for sigma in self.measurement.sigmas])
        variances = dict(zip(effects.sets, (sigmas**2).tolist(), strict=True))
        return believed(self.universe, effects, measured, variances, self.loss, self.reason, progress)


def checked(
    model: SynthesizedModel, checks: MeasuredDistances, histogram: Histogram, stream: Stream
) -> SynthesizedModel:
    """Return a model with its distances measured; interrupted, as it was."""
    try:
        return model.with_distances(checks.drawn(histogram, model.marginal, stream))
    except KeyboardInterrupt:  # what was paid for is kept
        model.interrupted = True
        return model


def believed(
    universe: Universe, effects: Effects, measured: Reals, variances: Mapping[Axes, float], loss: Loss, reason: str,
    progress: Progress,
) -> SynthesizedModel:  # fmt: skip
    """Return the model that noisy effects are believed to be of. It looks at them and at public facts only."""
    each = np.array([variances[part] for part in effects.sets])[effects.owner]
    believer = Believer(effects, each, pace(effects), max(1.0, float(measured[0])), progress)
    found = believer.believe(measured, lambda: normal((len(measured),)))
    return SynthesizedModel(
        universe, found.fit.cells, loss=loss, reason=reason, missed=found.missed, interrupted=found.interrupted
    )


def mu_squared(loss: Loss) -> Fraction:
    """Return mu^2 of the normal noise that a loss buys."""
    match loss:
        case GaussianLoss(square):
            return square
        case Zcdp(rho):
            return 2 * rho
        case Approximate(epsilon, delta):
            return greatest_mu(epsilon, delta) ** 2
        case _:
            raise NotSupported(
                "synthesis measures with normal noise: its loss is dp.Loss.approximate(epsilon=, delta=), "
                "dp.Loss.zcdp(rho=) or dp.Loss.gaussian(mu=)."
            )


def shares(effects: Effects) -> Reals:
    """Return the share of mu^2 of every effect: by order, and inside one as suits the variance of all cells.

    With n_R coordinates each adding v_R to the variance of the workload, at noise sigma_R^2 = l_R / share_R, the sum of
    v_R l_R / share_R is least for shares proportional to the root of v_R l_R.
    """
    orders = np.array([min(len(part), len(SHARES) - 1) for part in effects.sets])
    found = np.zeros(len(orders))
    cost = np.sqrt(effects.leverage() * effects.spread())
    for order in set(orders.tolist()):
        same = orders == order
        total = cost[same].sum()
        found[same] = SHARES[order] * (cost[same] / total if total else 1 / same.sum())
    found[effects.sizes == 0] = 0  # a column of one value has no effect
    return np.asarray(found / found.sum())


def pace(effects: Effects) -> Reals:
    """Return how fast every coordinate is believed."""
    each = np.array([_PACE[min(len(part), len(_PACE) - 1)] for part in effects.sets])
    return np.asarray(each[effects.owner])
