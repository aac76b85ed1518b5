"""How far noisy effects are believed, found from themselves: by thinning, without asking the data again.

A table of greatest entropy is fitted in steps. Each starts from the one before and moves its multipliers against a
slack that shrinks from step to step (iterated Tikhonov regularisation): what the measurements say clearly is reached
first, and without bias; what is nearly noise comes last. The question is when to stop.

Measured effects y with normal noise of variance v split into two independent measurements of the same table, y + a z
and y - z / a with z of variance v: variances (1 + a^2) v and (1 + 1/a^2) v. The steps are walked on the first, and the
second says which of them predicts best. Then they are walked on y as far. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.release.effects import Effects
from discreet.release.max_entropy import Fit, fit

Reals: TypeAlias = NDArray[np.float64]

_THINNED = 0.5  # a: a quarter more variance to fit on, five times the variance to compare with
_FIRST, _STEP = 10.0, 0.5  # the slack of the first step in units of the variance, and its factor from step to step
_STEPS = 24
_ROUNDS = 40  # of the quasi-Newton method, in one step
_CLOSE = 0.3  # of the noise: a step ends when no coordinate is further from where it should end
_PATIENCE = 3  # steps in a row that predict worse


@dataclass(frozen=True, slots=True, eq=False)
class Believer:
    """Fits tables to measured effects, walking from disbelief to belief."""

    effects: Effects
    variances: Reals
    rows: float
    progress: Callable[[int], None]

    def walk(self, measured: Reals, steps: int, seen: Callable[[int, Fit], bool]) -> Fit:
        """Walk up to so many steps, until `seen` has seen enough."""
        curvature = self.rows * self.effects.uniform_variance()
        found = Fit(np.empty(0), np.zeros(len(measured)), 0.0)
        for step in range(steps):
            found = fit(
                self.effects, measured, _FIRST * _STEP**step * self.variances, rows=self.rows, curvature=curvature,
                centre=found.multipliers, rounds=_ROUNDS, tolerance=_CLOSE,
            )  # fmt: skip
            self.progress(step)
            if seen(step, found):
                break
        return found

    def enough(self, one: Reals, other: Reals) -> int:
        """Return the number of steps on one measurement that predicts another one best."""
        weights = (self.effects.spread() / self.effects.sizes)[self.effects.owner]
        missed: list[float] = []

        def seen(step: int, found: Fit) -> bool:
            missed.append(float(weights @ (self.effects.forward(found.cells) - other) ** 2))
            return len(missed) - 1 - missed.index(min(missed)) >= _PATIENCE

        self.walk(one, _STEPS, seen)
        return missed.index(min(missed)) + 1

    def believe(self, measured: Reals, normal: Reals) -> Fit:
        """Return the table, given as many standard normal numbers as were measured."""
        spread = np.sqrt(self.variances) * normal
        steps = self.enough(measured + _THINNED * spread, measured - spread / _THINNED)
        return self.walk(measured, steps, lambda step, found: False)
