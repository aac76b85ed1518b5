"""Synthetic tables: the marginals of a workload measured privately, and the model that agrees with them best."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, non_negative, positive
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import factored
from discreet.release.factored import FactoredModel
from discreet.release.measure_adaptively import MeasureAdaptively, affordable_rho
from discreet.release.measure_once import MeasureOnce, mu_squared
from discreet.release.predicted_error import predicted
from discreet.release.progress import Progress, ProgressBar
from discreet.release.rows import of_marginals, whole_histogram
from discreet.release.synthesized import SynthesizedModel
from discreet.release.workload import Workload

__all__ = ["MOST_CELLS", "SynthesisPlan", "mu_squared", "synthesis_plan", "synthesize"]

SynthesisPlan: TypeAlias = MeasureOnce | MeasureAdaptively | factored.Plan

MOST_CELLS = 10**8
"""Cells of a dense model: 24 GB hold the arrays that fitting one needs."""


def synthesize(
    universe: Universe,
    histogram: NDArray[np.int64] | Exact,
    *,
    workload: Workload,
    loss: Loss,
    sensitivity: Sensitivity | None = None,
    permit: Permit | None = None,
    rows: Number | None = None,
    remeasure: Number = 0,
    progress: Progress | None = None,
) -> SynthesizedModel | FactoredModel:
    """Return a model of a table that answers a workload well, within a loss.

    Beyond MOST_CELLS cells no histogram is written down: then `histogram` is the rows, `release.places(universe,
    frame)`, and the model is one that factors.

    With `rows`, a number of rows that is public or was released before, it also weighs choosing what to measure; the
    model has the `reason`. `remeasure` is a share of the loss that is set aside to measure the errors of the model.
    Without `progress`, a bar is shown on a terminal. Interrupted, it returns the best model so far: what was paid for
    is kept.

    Guarantee: the model, all that is asked of it and every row drawn from it have at most this loss together. The
      caller must ensure that a plain histogram moves by at most `sensitivity`; an `Exact` carries its own, and is
      opened with `permit`; and that `rows` is not the private number of rows.
    Source: as `MeasureOnce` and `MeasureAdaptively`; greatest entropy after McKenna, Sheldon, Miklau, "Graphical-model
      based estimation and inference for differential privacy", 2019.

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
        if sensitivity is not None or not isinstance(permit, Permit):
            raise InvalidParameter("an Exact is opened with permit=, and carries its own sensitivity.")
        known = histogram.sensitivity
    elif sensitivity is None or permit is not None:
        raise InvalidParameter("a plain histogram needs sensitivity=; a permit is for an Exact.")
    else:
        known = sensitivity
    plan = synthesis_plan(universe, workload, loss=loss, sensitivity=known, rows=rows, remeasure=remeasure)
    if isinstance(histogram, Exact):
        assert permit is not None  # it was looked at above
        permit.take(plan.loss)  # before the table is read
        histogram = histogram._value  # type: ignore[assignment]
    bar = ProgressBar("synthesis") if progress is None else progress
    if isinstance(plan, factored.Plan):
        return plan.learn(histogram, bar, randomness.system())  # type: ignore[arg-type]
    return plan.learn(whole_histogram(histogram, universe.size), bar, randomness.system())


def synthesis_plan(
    universe: Universe,
    workload: Workload,
    *,
    loss: Loss,
    sensitivity: Sensitivity,
    rows: Number | None = None,
    remeasure: Number = 0,
) -> SynthesisPlan:
    """Return what will be measured and why, what it costs at most, and which model will be learned from it.

    It depends on public facts only: nothing was read yet.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "smokes": 2})
    >>> plan = synthesis_plan(
    ...     universe, release.all_marginals(universe, order=2), loss=dp.Loss.zcdp(rho=0.1), rows=1000,
    ...     sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ... )
    >>> plan.reason.split(":")[0]
    'measured once'
    >>> plan.loss.epsilon(delta=1e-6) <= dp.Loss.zcdp(rho=0.1).epsilon(delta=1e-6)
    True
    """
    if workload.shape != universe.shape:
        raise InvalidParameter("the workload is about another universe; make it with this one.")
    sensitivity, share = of_marginals(sensitivity), non_negative(remeasure, "remeasure")
    if share >= 1:
        raise InvalidParameter("remeasure is a share of the loss, below 1: something has to be left to measure with.")
    if universe.size > MOST_CELLS:
        if share:
            raise NotSupported("remeasure= is for tables whose cells can be written down; leave it out.")
        return factored.Plan.of(universe, workload, loss=loss, sensitivity=sensitivity)
    cliques, whole = workload.maximal_cliques, mu_squared(loss)
    reason = "measured once: without rows=, a public or released number of rows, no error can be predicted"
    if rows is not None:
        about = positive(rows, "rows")
        if isinstance(loss, GaussianLoss):
            reason = "measured once: a choice has no Gaussian loss"
        else:
            choosing = MeasureAdaptively(universe, cliques, sensitivity, affordable_rho(loss), share, "")
            prediction = predicted(
                universe.shape, cliques, sensitivity, rows=about, mu_squared=(1 - share) * whole,
                variance_of_round=choosing.variance_of_round,
            )  # fmt: skip
            reason = prediction.reason
            if prediction.adaptively:
                return MeasureAdaptively(universe, cliques, sensitivity, choosing.rho, share, reason)
    return MeasureOnce.of(universe, cliques, loss=loss, sensitivity=sensitivity, remeasure=share, reason=reason)
