"""Synthetic tables: the marginals of a workload measured once, privately, and the model that agrees with them best.

Measuring everything once leaves nothing to choose: what is spent is known before it is spent, and all of it measures.
What the noise leaves open is settled by greatest entropy and by `belief`, which ask the data nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.gaussian_curve import GaussianLoss, greatest_mu
from discreet.dp.gaussian_samplers import gaussian_sampler
from discreet.dp.loss import Approximate, Loss, Zcdp
from discreet.dp.private import Exact, Permit
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.belief import Believed, Believer
from discreet.release.effects import Effects, MeasuredEffects
from discreet.release.model import DenseModel
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]

MOST_CELLS = 10**8
"""Cells of a dense model: 24 GB hold the arrays that fitting one needs."""

# How mu^2 is shared among the orders of effects (the number of rows, single columns, pairs, ...), and how fast each is
# believed. Chosen on the NLTCS table, and kept.
_SHARES = (0.05, 0.25, 0.55, 0.15, 0.10, 0.05)
_PACE = (1.0, 1.0, 0.5, 0.2, 0.1, 0.05)
_FINE = 1 << 20  # steps of a standard normal number for thinning


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What will be measured, with how much noise, and what it will cost: known before any row is read.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "smokes": 2})
    >>> plan = Plan.of(
    ...     universe, release.all_marginals(universe, order=2), loss=dp.Loss.zcdp(rho=0.1),
    ...     sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ... )
    >>> plan.loss.epsilon(delta=1e-6) <= dp.Loss.zcdp(rho=0.1).epsilon(delta=1e-6)
    True
    """

    universe: Universe
    measurement: MeasuredEffects

    @classmethod
    def of(cls, universe: Universe, workload: Workload, *, loss: Loss, sensitivity: Sensitivity) -> Plan:
        """Plan to measure the effects of the cliques of a workload within a loss."""
        if universe.size > MOST_CELLS:
            raise NotSupported(
                f"a dense model of {universe.size} cells does not fit, {MOST_CELLS} is the most: leave out columns or "
                "use coarser bins."
            )
        if workload.shape != universe.shape:
            raise InvalidParameter("the workload is about another universe; make it with this one.")
        effects = Effects(universe.shape, workload.maximal_cliques, np.float32)
        measured = MeasuredEffects.sharing(
            effects, sensitivity, mu_squared=mu_squared(loss), shares=shares(effects, sensitivity)
        )
        return cls(universe, measured)

    @property
    def loss(self) -> Loss:
        """The loss of all of it."""
        return self.measurement.loss

    def fit(self, measured: Reals, progress: Progress | None = None) -> SynthesizedModel:
        """Return the model that agrees best with released effects; interrupted, the best one so far."""
        effects = self.measurement.effects
        sigmas = np.array([float(sigma) for sigma in self.measurement.sigmas])
        variances = (sigmas**2)[effects.owner]
        rows = max(1.0, float(measured[0]))
        believer = Believer(effects, variances, pace(effects), rows, progress or (lambda step, steps: None))
        spread = gaussian_sampler(Fraction(_FINE), "rounded").draw(randomness.system(), len(measured))
        found = believer.believe(measured, np.asarray(spread, np.float64) / _FINE)
        return SynthesizedModel(self, found)


class SynthesizedModel(DenseModel):
    """A dense model with what it was learned from: the released effects, their loss, and errors estimated from them."""

    __slots__ = ("interrupted", "loss", "missed")

    def __init__(self, plan: Plan, found: Believed) -> None:
        super().__init__(plan.universe, found.fit.cells)
        self.loss, self.missed, self.interrupted = plan.loss, found.missed, found.interrupted

    def estimated_error(self, query: LinearQuery) -> float:
        """Return about how far off the answer of a query may be, 19 times in 20.

        It is an estimate, made from releases already paid for and averaged over the cells of a clique: Stein's unbiased
        estimate of risk, and one standard error. It promises nothing for one query.
        """
        if self.interrupted:
            raise NotSupported("the fit was interrupted, so its errors were not estimated; fit again: plan.fit(...).")
        holders = [axes for axes in self.missed if set(query.axes) <= set(axes)]
        if not holders:
            raise NotSupported("no measured clique holds the columns of this query, so its error cannot be estimated.")
        axes = min(holders, key=lambda one: self.missed[one])
        outside = math.prod(self.universe.shape[axis] for axis in axes if axis not in query.axes)
        squares = float(np.sum((query.weights() / query.scale) ** 2)) * outside
        return 1.96 * self.missed[axes] * math.sqrt(squares)


def synthesize(
    universe: Universe,
    histogram: NDArray[np.int64] | Exact,
    *,
    workload: Workload,
    loss: Loss,
    sensitivity: Sensitivity | None = None,
    permit: Permit | None = None,
    progress: Progress | None = None,
) -> SynthesizedModel:
    """Return a model of a table that answers a workload well, within a loss.

    Guarantee: the model, all that is asked of it and every row drawn from it have at most this loss together. The
      caller must ensure that a plain histogram moves by at most `sensitivity`; an `Exact` carries its own, and is
      opened with `permit`.
    Source: as `MeasuredEffects`; greatest entropy after McKenna, Sheldon, Miklau, "Graphical-model based estimation and
      inference for differential privacy", 2019.

    >>> import numpy as np
    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "smokes": 2})
    >>> model = synthesize(
    ...     universe, np.array([30, 10, 40, 20]), workload=release.all_marginals(universe, order=2),
    ...     loss=dp.Loss.gaussian(mu=5), sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ... )
    >>> 60 < model.rows < 140
    True
    """
    if isinstance(histogram, Exact):
        if sensitivity is not None or permit is None:
            raise InvalidParameter("an Exact is opened with permit=, and carries its own sensitivity.")
        plan = Plan.of(universe, workload, loss=loss, sensitivity=histogram.sensitivity)
        measured = np.asarray(plan.measurement.open(histogram, permit), np.float64)
    else:
        if sensitivity is None or permit is not None:
            raise InvalidParameter("a plain histogram needs sensitivity=; a permit is for an Exact.")
        plan = Plan.of(universe, workload, loss=loss, sensitivity=sensitivity)
        measured = plan.measurement.release(histogram)
    return plan.fit(measured, progress)


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


def shares(effects: Effects, sensitivity: Sensitivity) -> Reals:
    """Return the share of mu^2 of every effect: by order, and inside one as suits the variance of all cells.

    With n_R coordinates each adding v_R to the variance of the workload, at noise sigma_R^2 = l_R / share_R, the sum of
    v_R l_R / share_R is least for shares proportional to the root of v_R l_R.
    """
    orders = np.array([min(len(part), len(_SHARES) - 1) for part in effects.sets])
    found = np.zeros(len(orders))
    cost = np.sqrt(effects.leverage() * effects.spread())
    for order in set(orders.tolist()):
        same = orders == order
        total = cost[same].sum()
        found[same] = _SHARES[order] * (cost[same] / total if total else 1 / same.sum())
    found[effects.sizes == 0] = 0  # a column of one value has no effect
    return np.asarray(found / found.sum())


def pace(effects: Effects) -> Reals:
    """Return how fast every coordinate is believed."""
    each = np.array([_PACE[min(len(part), len(_PACE) - 1)] for part in effects.sets])
    return np.asarray(each[effects.owner])
