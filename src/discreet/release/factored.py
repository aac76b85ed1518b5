"""Synthetic tables of more cells than can be written down: a survey of the rows, and a mixture that agrees with it.

A clique tree of greatest entropy is exact for the marginals that it holds, but its tables grow with the product of the
columns that hang together: for 14 columns of up to 100 values it holds a tree of pairs, and little more. A mixture of
products has no such bound: all pairs and triples are fitted at once, at a cost that grows with their cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import mixture_fit
from discreet.release.belief import THINNED, normal
from discreet.release.measure_once import mu_squared
from discreet.release.mixture import MixtureModel
from discreet.release.mixture_fit import Evidence, Found
from discreet.release.progress import Progress
from discreet.release.query import LinearQuery
from discreet.release.separable import contrasts
from discreet.release.survey import Axes, Grouping, Integers, Level, Survey, columns, total
from discreet.release.threads import one_thread
from discreet.release.workload import Workload

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Reals: TypeAlias = NDArray[np.float64]

COMPONENTS = 128
"""Products in a mixture: on the tables it was tried on, twice as many fitted no better."""
_REASON = "measured as a survey: the cells are too many to be written down"
_JITTER = 0.2  # of the logits that a fit starts from: without any, all components would stay alike


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What will be measured and what it will cost: known before any row is read.

    >>> from discreet import dp, release
    >>> universe = dp.Universe(dict.fromkeys("abcdefgh", 100))
    >>> plan = Plan.of(
    ...     universe, release.all_marginals(universe, order=3), loss=dp.Loss.zcdp(rho=0.1),
    ...     sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ... )
    >>> plan.loss.epsilon(delta=1e-6) <= dp.Loss.zcdp(rho=0.1).epsilon(delta=1e-6)
    True
    """

    universe: Universe
    survey: Survey

    @classmethod
    def of(cls, universe: Universe, workload: Workload, *, loss: Loss, sensitivity: Sensitivity) -> Plan:
        """Plan a survey of the cliques of a workload within a loss."""
        if workload.shape != universe.shape:
            raise InvalidParameter("the workload is about another universe; make it with this one.")
        return cls(universe, Survey(universe, workload.maximal_cliques, sensitivity, mu_squared(loss)))

    @property
    def loss(self) -> Loss:
        """The loss of all of it."""
        return self.survey.loss

    @property
    def reason(self) -> str:
        """Why it is measured this way, from public facts."""
        return _REASON

    @one_thread()
    def learn(self, rows: Integers, progress: Progress, stream: Stream) -> FactoredModel:
        """Return the model of plain rows. Whoever calls this has them, and accounts for `loss`."""
        return self.fit(self.survey._release(rows, stream), progress)

    @one_thread()
    def fit(self, levels: Sequence[Level], progress: Progress | None = None) -> FactoredModel:
        """Return the mixture that agrees with a survey; interrupted, the best one so far.

        A second one is fitted to the same survey with more noise, to see how far it is from what it was not told.
        """
        steps = 2 * mixture_fit.STEPS
        report = progress or (lambda step, steps: None)
        start = _JITTER * normal((COMPONENTS, sum(self.universe.shape)))
        latest, missed = alike(levels), None
        try:
            for step, found in enumerate(mixture_fit.fit(Evidence.of(levels), start), start=1):
                latest = found
                report(step, steps)
            one, other = thinned(levels)
            second = latest
            for step, found in enumerate(mixture_fit.fit(Evidence.of(one), start), start=mixture_fit.STEPS + 1):
                second = found
                report(step, steps)
            missed = distances(second, other)
            report(steps, steps)
        except KeyboardInterrupt:  # what was paid for is kept
            pass
        return FactoredModel(
            self.universe, total(levels[0]), latest, loss=self.loss, missed=missed or {}, interrupted=missed is None,
            grids=[level.grid for level in levels], columns=columns(levels[0]),
        )  # fmt: skip


class FactoredModel(MixtureModel):
    """A mixture with what it was learned from: its loss, the survey's grids and columns, and estimated errors."""

    __slots__ = ("_columns", "_grids", "interrupted", "loss", "misfit", "missed")

    def __init__(
        self, universe: Universe, rows: float, found: Found, *, loss: Loss, missed: dict[Axes, float],
        interrupted: bool, grids: Sequence[tuple[Grouping, ...]], columns: list[Reals],
    ) -> None:  # fmt: skip
        super().__init__(universe, rows, found.weights, found.shares)
        self.loss, self.misfit, self.missed, self.interrupted = loss, found.misfit, missed, interrupted
        self._grids, self._columns = tuple(grids), columns

    def estimated_error(self, query: LinearQuery) -> float:
        """Return about how far off the answer of a query may be, 19 times in 20.

        It is an estimate from releases already paid for: effects are taken to be as far off as those of a second fit
        were from a part of the survey that it was not told, alike in all directions of an effect, and values in one
        group to share its rows as they do in the column. It promises nothing for one query.
        """
        if self.interrupted:
            raise NotSupported("the fit was interrupted, so its errors were not estimated; fit again: plan.fit(...).")
        if query.shape != self.universe.shape:
            raise InvalidParameter("the query is about another universe than the model.")
        wanted = {axis for axis in query.axes if self.universe.shape[axis] > 1}
        if wanted and not any(wanted <= set(axes) for axes in self.missed):
            raise NotSupported("no measured set holds the columns of this query, so its error cannot be estimated.")
        grid = self._grids[max(1, len(wanted)) - 1]
        weights = np.asarray(query.weights(), np.float64) / query.scale
        shares = self._columns
        squares = sum(
            self.missed[axis,] * inside(weights, place, query.axes, grid[axis], shares)
            for place, axis in enumerate(query.axes)
            if axis in wanted
        )
        for axis in query.axes:  # the first axis becomes the last
            weights = np.tensordot(weights, within(grid[axis], shares[axis]), axes=(0, 1))
        for axes, missed in self.missed.items():
            if set(axes) <= wanted:
                own = self._grids[max(1, len(axes)) - 1]
                finer = np.prod([(own[axis].max() + 1) / (grid[axis].max() + 1) for axis in axes])
                squares += missed * float(finer) * slope(weights, [axis in axes for axis in query.axes])
        return 1.96 * float(np.sqrt(squares))

    def estimated_errors(self, workload: Workload) -> Reals:
        """Return the estimated error of every query of a workload, in order."""
        return np.array([self.estimated_error(query) for query in workload])

    @property
    def reason(self) -> str:
        """Why it was measured this way, from public facts."""
        return _REASON

    def save(self, path: str | Path) -> None:
        """Write the model to a file, with what it was learned from; `Model.load` of it reads it back."""
        from discreet.release.files import write
        from discreet.release.learned import of_factored

        survey = {"grids": np.array([np.concatenate(grid) for grid in self._grids], np.int64)}
        write(
            path, self.universe, self._arrays() | survey | {"columns": np.concatenate(self._columns)}, of_factored(self)
        )


def within(groups: NDArray[np.int64], shares: Reals) -> Reals:
    """Return the matrix from weights of values to weights of groups: their means, as a column shares its rows."""
    inside = np.zeros((int(groups.max()) + 1, len(groups)))
    inside[groups, np.arange(len(groups))] = shares
    return np.asarray(inside / inside.sum(axis=1, keepdims=True))


def inside(weights: Reals, place: int, axes: Axes, groups: NDArray[np.int64], shares: list[Reals]) -> float:
    """Return the square of how far an answer moves with the values of one column inside their groups.

    Only the column by itself was measured there: other columns are taken to have nothing to do with it.
    """
    for other in reversed(range(len(axes))):
        if other != place:
            weights = np.tensordot(weights, shares[axes[other]], axes=(other, 0))
    return float(np.sum((weights - (within(groups, shares[axes[place]]) @ weights)[groups]) ** 2))


def slope(weights: Reals, along: list[bool]) -> float:
    """Return the square of how far an answer moves with an effect, in the direction that moves it most.

    Along a column of the effect that is the weights of its groups, in coordinates; along another one, their mean.
    """
    for size, kept in zip(weights.shape, along, strict=True):
        matrix = contrasts(size)[1:] if kept else np.full((1, size), 1 / size)
        weights = np.tensordot(weights, matrix, axes=(0, 1))
    return float(np.sum(weights**2))


def alike(levels: Sequence[Level]) -> Found:
    """Return the mixture before any step: one product of the columns as they were released."""
    return Found(np.ones(1), [shares[None, :] for shares in columns(levels[0])], float("inf"))


def thinned(levels: Sequence[Level]) -> tuple[list[Level], list[Level]]:
    """Return two independent surveys of the same table out of one, with more noise in each; post-processing.

    Measured y with noise of variance v splits into y + a z and y - z / a, with z of variance v.
    """
    one: list[Level] = []
    other: list[Level] = []
    for level in levels:
        sigmas = level.measurement.sigmas
        spread = np.array([float(sigma) for sigma in sigmas])[level.measurement.effects.owner] * normal(
            (level.values.size,)
        )
        for found, part in ((one, THINNED), (other, -1 / THINNED)):
            wider = tuple(sigma * Fraction(float(np.sqrt(1 + part**2))) for sigma in sigmas)
            measurement = replace(level.measurement, sigmas=wider)
            found.append(replace(level, measurement=measurement, values=level.values + part * spread))
    return one, other


def distances(found: Found, levels: Sequence[Level]) -> dict[Axes, float]:
    """Return for each set the mean square of its coordinates' distances from the truth, and one standard error.

    The mixture knows nothing of the noise of these levels, so the squares of what it misses them by are those of what
    it misses the truth by, plus the variance of the noise, in the mean.
    """
    rows, missed = total(levels[0]), {}
    for level in levels:
        bases = level.bases()
        for axes, (part, sigma) in level.measured.items():
            if not axes:
                missed[axes] = sigma**2
                continue
            points = [found.shares[axis] @ bases[axis].T for axis in axes]
            first = rows * found.weights[:, None]
            both = reduce(
                lambda held, point: (held[:, :, None] * point[:, None, :]).reshape(len(held), -1), points, first
            )
            square = float(np.mean((both.sum(axis=0).reshape(part.shape) - part) ** 2))
            missed[axes] = max(0.0, square - sigma**2) + sigma**2 * float(np.sqrt(2 / part.size))
    return missed


def synthesize_rows(
    universe: Universe,
    rows: Integers | Exact,
    *,
    workload: Workload,
    loss: Loss,
    sensitivity: Sensitivity | None = None,
    permit: Permit | None = None,
    progress: Progress | None = None,
) -> FactoredModel:
    """Return a model of a table that answers a workload well, within a loss, however many cells its universe has.

    `rows` has a row for each row and the place of its value in each column: `survey.places(universe, frame)`.

    Guarantee: the model, all that is asked of it and every row drawn from it have at most this loss together. The
      caller must ensure that the histogram of plain rows moves by at most `sensitivity`; an `Exact` carries its own,
      and is opened with `permit`.
    Source: as `Survey`; Aydore and others, "Differentially private query release through adaptive projection", 2021,
      and Liu, Vietri, Wu, "Iterative methods for private synthetic data", 2021 (mixtures of products as models).

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"sex": 2, "smokes": 2, "age": 85})
    >>> rows = np.array([[0, 1, 30], [1, 0, 41], [1, 1, 30]] * 100)
    >>> model = synthesize_rows(
    ...     universe, rows, workload=release.all_marginals(universe, order=2), loss=dp.Loss.gaussian(mu=5),
    ...     sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    ... )
    >>> 250 < model.rows < 350, len(model.sample(10)["age"])
    (True, 10)
    """
    if isinstance(rows, Exact):
        if sensitivity is not None or permit is None:
            raise InvalidParameter("an Exact is opened with permit=, and carries its own sensitivity.")
        plan = Plan.of(universe, workload, loss=loss, sensitivity=rows.sensitivity)
        levels = cast("list[Level]", plan.survey.open(rows, permit))
    else:
        if sensitivity is None or permit is not None:
            raise InvalidParameter("plain rows need sensitivity=; a permit is for an Exact.")
        plan = Plan.of(universe, workload, loss=loss, sensitivity=sensitivity)
        levels = plan.survey.release(rows)
    return plan.fit(levels, progress)
