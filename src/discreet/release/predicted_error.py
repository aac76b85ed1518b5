"""Whether to measure everything once or to choose what to measure, decided before anything is read.

Both ways are known by what they do on one public example. What differs from universe to universe, and from loss to
loss, is how far the noise reaches: the mean total variation that it would make in a marginal over two columns, if all
effects are measured once, or if one marginal a round is. The errors that each way had at such noise on the example are
kept here, and read off between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np

from discreet.dp.sensitivity import Sensitivity
from discreet.release.effects import Effects
from discreet.release.measure_once import shares
from discreet.release.worst_marginal import MEAN_OF_NORMAL

Axes: TypeAlias = tuple[int, ...]

# Mean total variation of all marginals over three of the 16 columns of NLTCS, at noise that makes this total variation.
_ONCE = ((0.00022, 0.00074), (0.0019, 0.0039), (0.0173, 0.0204), (0.055, 0.049), (0.158, 0.132), (0.499, 0.41))
_ADAPTIVE = ((0.00038, 0.0045), (0.0032, 0.0059), (0.0297, 0.0337), (0.095, 0.235), (0.273, 0.30), (0.867, 0.345))
_MOST = 1.0  # of a total variation


@dataclass(frozen=True, slots=True)
class Prediction:
    """What each way is predicted to miss, in total variation, and the reason to take one of them."""

    once: float
    adaptive: float

    @property
    def adaptively(self) -> bool:
        """Whether choosing what to measure is predicted to win."""
        return self.adaptive < self.once

    @property
    def reason(self) -> str:
        """The choice in words."""
        chosen, other = ("adaptively", "once") if self.adaptively else ("once", "adaptively")
        low, high = sorted((self.once, self.adaptive))
        return (
            f"measured {chosen}: the error predicted is {low:.2g} in total variation, and {high:.2g} if measured "
            f"{other}"
        )


def predicted(
    shape: Axes, cliques: tuple[Axes, ...], sensitivity: Sensitivity, *, rows: Fraction, mu_squared: Fraction,
    variance_of_round: float,
) -> Prediction:  # fmt: skip
    """Return what to expect of both ways, from public facts alone; `rows` is public or was released."""
    pairs = tuple({pair for clique in cliques for pair in combinations(clique, min(2, len(clique)))})
    effects = Effects(shape, cliques)
    each = dict(zip(effects.sets, shares(effects).tolist(), strict=True))
    leverage = dict(zip(effects.sets, effects.leverage().tolist(), strict=True))
    sizes = dict(zip(effects.sets, effects.sizes.tolist(), strict=True))
    once, adaptive = [], []
    far = float(sensitivity.l2) ** 2
    for pair in pairs:
        cells = math.prod(shape[axis] for axis in pair)
        total = 0.0
        for part in (part for k in range(1, len(pair) + 1) for part in combinations(pair, k)):
            outside = math.prod(shape[axis] for axis in pair if axis not in part)
            if each[part]:
                total += far * leverage[part] / (each[part] * float(mu_squared)) * sizes[part] / outside
        once.append(_variation(total / cells, cells, rows))
        adaptive.append(_variation(variance_of_round, cells, rows))
    return Prediction(_read(_ONCE, float(np.mean(once))), _read(_ADAPTIVE, float(np.mean(adaptive))))


def _variation(variance: float, cells: int, rows: Fraction) -> float:
    """Return the mean total variation that noise of this variance makes in so many cells."""
    return float(MEAN_OF_NORMAL) / 2 * cells * math.sqrt(variance) / max(1.0, float(rows))


def _read(curve: tuple[tuple[float, float], ...], noise: float) -> float:
    """Return the error at this noise, between those that were seen; with more noise than any, in proportion to it.

    With less noise than any it stays: what rounds have left out is no matter of noise.
    """
    at, error = (np.log(np.array(column)) for column in zip(*curve, strict=True))
    x = math.log(max(noise, 1e-300))
    return min(_MOST, math.exp(float(np.interp(x, at, error)) + max(0.0, x - at[-1])))
