"""Measure what the model gets wrong: choose a marginal, measure the effects in it that are not yet known, fit, again.

Single columns are measured first. Then each round spends the same, until what it learns drowns in its noise: from there
on rounds are fewer and larger. What is done next depends on what was released, never on the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.budget import Budget
from discreet.dp.loss import Approximate, Loss, Zcdp
from discreet.dp.rational import sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import NotSupported
from discreet.release.distances import MeasuredDistances
from discreet.release.effects import Effects, MeasuredEffects
from discreet.release.marginals import Marginals
from discreet.release.max_entropy import fit
from discreet.release.measure_once import SHARES, believed, checked
from discreet.release.model import DenseModel
from discreet.release.progress import Progress
from discreet.release.synthesized import SynthesizedModel
from discreet.release.threads import one_thread
from discreet.release.unchosen import errors_of_the_rest, times_chance
from discreet.release.worst_marginal import MEAN_OF_NORMAL, WorstMarginal

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]
Histogram: TypeAlias = NDArray[np.int64]

# Chosen on the NLTCS table, and kept.
_FIRST = Fraction(3, 10)  # of the loss: the number of rows and the single columns
_MEASURED = Fraction(4, 5)  # of a round: the rest chooses
_ROUNDS = 2  # a column, if all are alike
_LARGER = 4  # times the loss of a round, once a round has learned nothing but noise
_SLACK = 0.1  # of the variance, in the fits between rounds
_STEPS = 60  # of the quasi-Newton method, in those


@dataclass(slots=True)
class _Known:
    """What has been released so far: for each set its effect, put together by inverse variance, and the multipliers.

    `times_chance` is how far off the last choice was, once there was one.
    """

    effects: dict[Axes, Reals] = field(default_factory=dict)
    variances: dict[Axes, float] = field(default_factory=dict)
    multipliers: dict[Axes, Reals] = field(default_factory=dict)
    times_chance: float | None = None

    @property
    def rows(self) -> float:
        """The number of rows as released, or 1 if it is less."""
        return max(1.0, float(self.effects[()][0]))

    def add(self, measurement: MeasuredEffects, values: Reals) -> None:
        """Take what a measurement released."""
        effects = measurement.effects
        parts = np.split(values, np.cumsum(effects.sizes)[:-1])
        for part, value, sigma in zip(effects.sets, parts, measurement.sigmas, strict=True):
            if not sigma:
                continue
            new = 1 / float(sigma) ** 2
            old = 1 / self.variances[part] if part in self.variances else 0.0
            before = self.effects.get(part, np.zeros(len(value)))
            self.variances[part] = 1 / (old + new)  # first: interrupted here, no effect is without a variance
            self.effects[part] = (old * before + new * value) / (old + new)

    def vector(self, effects: Effects) -> Reals:
        """Return all that is known as one vector."""
        return np.concatenate([self.effects[part] for part in effects.sets])


@dataclass(frozen=True, slots=True, eq=False)
class MeasureAdaptively:
    """What a synthesis that chooses what to measure may spend, and how.

    Guarantee: `loss`, rho-zCDP for the rho in it. Every round spends a part of rho that released values determine, on a
      choice that is bounded-range and on a normal release, and no round is begun that what is left does not pay; the
      sum is at most rho for every course it may take. The caller must ensure that the histogram moves by at most
      `sensitivity`.
    Source: McKenna, Mullins, Sheldon, Miklau (AIM), 2022; Cesar, Rogers, 2021 (epsilon^2 / 8); Feldman, Zrnic, 2021,
      and Whitehouse, Ramdas, Rogers, Wu, 2023 (rounds whose loss is chosen along the way).
    """

    universe: Universe
    cliques: tuple[Axes, ...]
    sensitivity: Sensitivity
    rho: Fraction
    remeasured: Fraction  # of rho
    reason: str

    @property
    def loss(self) -> Loss:
        """The loss of all of it, whatever it chooses."""
        return Zcdp(self.rho)

    @property
    def rounds(self) -> int:
        """How many rounds there are at most."""
        return _ROUNDS * len(self.universe.shape)

    @property
    def variance_of_round(self) -> float:
        """The variance that a round of the first size adds to every cell it measures."""
        return float(self.sensitivity.l2) ** 2 / float(2 * _MEASURED * self._first_round)

    @property
    def _cliques(self) -> tuple[Axes, ...]:
        """The cliques without the columns of one value, which have no effects to measure."""
        shape = self.universe.shape
        return tuple(tuple(axis for axis in clique if shape[axis] > 1) for clique in self.cliques)

    @property
    def _rounds_rho(self) -> Fraction:
        return self.rho * (1 - self.remeasured)

    @property
    def _first_round(self) -> Fraction:
        return self._rounds_rho * (1 - _FIRST) / self.rounds

    @one_thread()
    def learn(self, histogram: Histogram, progress: Progress, stream: Stream) -> SynthesizedModel:
        """Return the model of a histogram, drawing all noise from a stream. Whoever calls this accounts for `loss`.

        Interrupted, it stops to measure, and returns the model of what it has.
        """
        table, known = Marginals(histogram, self.universe.shape), _Known()
        interrupted = False
        try:
            for spent in self._measure(table, known, stream):
                progress(math.floor(50 * spent / self._rounds_rho), 100)
        except KeyboardInterrupt:  # what was paid for is kept
            interrupted = True
        if not known.effects:
            return self._nothing()
        effects = self._effects(known)
        model = believed(
            self.universe, effects, known.vector(effects), known.variances, self.loss, self.reason,
            lambda done, steps: progress(50 + 50 * done // steps, 100),
        )  # fmt: skip
        if model.missed and known.times_chance is not None:  # it may have been interrupted before either
            model.missed |= errors_of_the_rest(
                self.universe.shape, self._cliques, known.effects, known.rows, known.times_chance
            )
        model.interrupted |= interrupted
        if not self.remeasured or interrupted:
            return model
        checks = MeasuredDistances.within(
            self.universe.shape, self.cliques, self.sensitivity, mu_squared=2 * self.rho * self.remeasured
        )
        return checked(model, checks, histogram, stream)

    def _measure(self, table: Marginals, known: _Known, stream: Stream) -> Iterator[Fraction]:
        """Measure in rounds, into `known`, and yield what has been spent after each."""
        choice = WorstMarginal.of(self.universe.shape, self._cliques, self.sensitivity)
        table.prepare(choice.candidates)
        spent = self._rounds_rho * _FIRST
        singles = self._singles(spent)
        known.add(singles, singles._measure(table, stream))
        yield spent
        each, model = self._first_round, self._fitted(known)
        while choice.candidates and (left := self._rounds_rho - spent) > 0:
            each = left if 2 * each > left else each
            epsilon = _sqrt_down(8 * (1 - _MEASURED) * each)
            sigma = float(self.sensitivity.l2) / math.sqrt(2 * float(_MEASURED * each))
            noise = MEAN_OF_NORMAL * Fraction(sigma)
            spent += each  # before the table is looked at
            worst = choice.choose(table, model.marginal, noise=noise, epsilon=epsilon, stream=stream)
            inside = self._inside(worst, _MEASURED * each, known)
            released = inside._measure(table, stream)
            known.times_chance = times_chance(inside, released, model.marginal, known.rows)
            known.add(inside, released)
            yield spent
            before, model = model.marginal(worst), self._fitted(known)
            if float(np.abs(model.marginal(worst) - before).sum()) < float(noise) * before.size:
                each *= _LARGER

    def _singles(self, rho: Fraction) -> MeasuredEffects:
        """Return the measurement of the number of rows and of every column that a clique has."""
        columns = sorted({axis for clique in self._cliques for axis in clique})
        effects = Effects(self.universe.shape, [(axis,) for axis in columns] or [()])
        cost = np.sqrt(effects.leverage() * effects.spread())
        cost[0] = 0
        cost *= SHARES[1] / max(float(cost.sum()), 1e-300)
        cost[0] = SHARES[0]
        return MeasuredEffects.sharing(effects, self.sensitivity, mu_squared=2 * rho, shares=cost / cost.sum())

    def _inside(self, clique: Axes, rho: Fraction, known: _Known) -> MeasuredEffects:
        """Return the measurement of those effects of a clique that are not known better than it would tell them.

        Noise that is equal on all cells of the clique makes a variance in proportion to the cells that are summed.
        """
        effects = Effects(self.universe.shape, [clique])
        outside = [math.prod(self.universe.shape[axis] for axis in clique if axis not in part) for part in effects.sets]
        cost = effects.leverage() / np.array(outside)
        far = float(self.sensitivity.l2) ** 2
        kept = (effects.sizes > 0) & (np.array([len(part) for part in effects.sets]) > 0)
        for _ in effects.sets:  # each one left out makes the others more exact
            variances = far * np.array(outside) * cost[kept].sum() / (2 * float(rho))
            better = np.array([known.variances.get(part, math.inf) for part in effects.sets]) < variances
            if not (kept & better).any() or (kept & ~better).sum() == 0:
                break
            kept &= ~better
        shares = np.where(kept, cost, 0)
        return MeasuredEffects.sharing(effects, self.sensitivity, mu_squared=2 * rho, shares=shares / shares.sum())

    def _effects(self, known: _Known) -> Effects:
        return Effects(self.universe.shape, self.cliques, np.float32, among=known.effects)

    def _fitted(self, known: _Known) -> DenseModel:
        """Return a table for what is known so far, from the multipliers of the one before."""
        effects = self._effects(known)
        measured = known.vector(effects)
        slack = _SLACK * np.array([known.variances[part] for part in effects.sets])[effects.owner]
        rows = known.rows
        parts = zip(effects.sets, effects.sizes, strict=True)
        centre = np.concatenate([known.multipliers.get(part, np.zeros(size)) for part, size in parts])
        found = fit(
            effects, measured, slack, rows=rows, curvature=rows * effects.uniform_variance(), centre=centre,
            rounds=_STEPS, tolerance=0.3,
        )  # fmt: skip
        pieces = np.split(found.multipliers, np.cumsum(effects.sizes)[:-1])
        known.multipliers |= dict(zip(effects.sets, pieces, strict=True))
        return DenseModel(self.universe, found.cells)

    def _nothing(self) -> SynthesizedModel:
        """Return the model of no release at all: one row, anywhere."""
        cells = np.full(self.universe.size, 1 / self.universe.size)
        return SynthesizedModel(self.universe, cells, loss=self.loss, reason=self.reason, missed={}, interrupted=True)


def affordable_rho(loss: Loss) -> Fraction:
    """Return the rho that a loss pays, for releases whose noise is chosen along the way."""
    match loss:
        case Zcdp(rho):
            return rho
        case Approximate(epsilon, delta):
            bought = Budget(epsilon=epsilon, delta=delta).price(epsilon=epsilon)
            assert isinstance(bought, Zcdp)
            return bought.rho
        case _:
            raise NotSupported(
                "choosing what to measure is paid in zCDP: its loss is dp.Loss.approximate(epsilon=, delta=) or "
                "dp.Loss.zcdp(rho=)."
            )


def _sqrt_down(value: Fraction) -> Fraction:
    """Return a rational at most the root."""
    return value / sqrt_up(value)
