"""How far off a model is where nothing was ever measured, told from what was measured last.

Rounds choose what a model gets most wrong. What the last one released of its choice is off the model before it by the
model's error and new noise of known variance, so their squares less that variance tell the error, without bias. What
was not chosen was not as bad then, but for the chance in the choice. It is taken to be as far off as that, counted in
the errors of chance: if rows were drawn from a model, an effect over N cells would be n / N off in the mean square.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.release.effects import MeasuredEffects, coordinates
from discreet.release.workload import GetMarginal

Axes: TypeAlias = tuple[int, ...]
Reals: TypeAlias = NDArray[np.float64]


def times_chance(measurement: MeasuredEffects, values: Reals, model: GetMarginal, rows: float) -> float:
    """Return how many times further than chance a model was from what was released after it, in squares.

    One standard error of the noise is added; no table is taken to be nearer than one drawn from the model.
    """
    effects, square, fourth, chance = measurement.effects, 0.0, 0.0, 0.0
    parts = np.split(values, np.cumsum(effects.sizes)[:-1])
    for part, value, sigma in zip(effects.sets, parts, measurement.sigmas, strict=True):
        if sigma:
            cells, variance = effects.cells(part), float(sigma) ** 2
            square += float(np.sum((value - coordinates(model(part), cells)) ** 2)) - value.size * variance
            fourth += 2 * value.size * variance**2
            chance += value.size * rows / math.prod(cells)
    return max(1.0, (max(0.0, square) + math.sqrt(fourth)) / chance)


def errors_of_the_rest(
    shape: Axes, cliques: Iterable[Axes], known: Iterable[Axes], rows: float, times: float
) -> dict[Axes, float]:
    """Return the mean square error of a coordinate for every set of columns in a clique of which nothing is known.

    >>> errors_of_the_rest((2, 2, 4), [(0, 1), (0, 2)], [(), (0,), (1,), (2,), (0, 1)], rows=800, times=3)
    {(0, 2): 300.0}
    """
    sets = {part for clique in cliques for k in range(len(clique) + 1) for part in combinations(clique, k)}
    return {part: times * rows / math.prod(shape[axis] for axis in part) for part in sorted(sets - set(known))}
