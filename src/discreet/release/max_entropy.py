"""The table of greatest entropy among those that agree with noisy measurements as well as they deserve.

The table is p(x) = n exp(theta(x)) / Z, with theta in the span of what was measured. Measured numbers y of a vector of
linear statistics A p are weighed by a slack for each: the larger the slack, the less a number is believed. The dual,

    D(nu) = n ln Z(A' nu) - nu y + sum of slack nu^2 / 2,

is convex, and its gradient is A p - y + slack nu: at the least of it a statistic misses its number by slack times nu.
It is minimised by a limited-memory quasi-Newton method (L-BFGS) in single precision, and checked in double.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Report: TypeAlias = Callable[[int, float], None]

_MEMORY = 16  # steps that L-BFGS remembers
_CURVATURE = 0.1  # of the curvature at a uniform table: what a slack of 0 is scaled by


class Statistics(Protocol):
    """A linear map from dense cells to measured numbers, and its adjoint."""

    def forward(self, cells: Reals) -> Reals:
        """Return the statistics of dense cells."""

    def adjoint(self, vector: Reals) -> Reals:
        """Return the dense cells whose product with others is that of the vector with their statistics."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A table of greatest entropy, by the multipliers that make it; its cells are made when they are asked for."""

    multipliers: Reals
    statistics: Reals  # of the table
    gradient: float  # the root mean square of what is left of the gradient, in units of the noise
    table: Callable[[], Reals]

    @property
    def cells(self) -> Reals:
        """The cells of the table, made anew; they add up to the number of rows."""
        return self.table()


def fit(
    statistics: Statistics,
    measured: Reals,
    slack: Reals,
    *,
    rows: float,
    curvature: Reals,
    centre: Reals,
    rounds: int,
    prior: Reals | None = None,
    tolerance: float = 0.0,
    start: Reals | None = None,
) -> Fit:
    """Return the table of greatest entropy relative to `prior` (its logarithm; None is uniform).

    The search starts from the multipliers `start`, or from `centre`. `curvature` is about the second derivative of
    n ln Z in each multiplier: with `slack` it scales the steps.
    """
    from scipy.optimize import minimize

    scale = 1 / np.sqrt(slack + _CURVATURE * curvature)

    def table(multipliers: Reals) -> tuple[float, Reals]:
        return _table(statistics.adjoint(multipliers), rows, prior)

    def dual(scaled: Reals) -> tuple[float, Reals]:
        multipliers = scaled * scale
        log_total, cells = table(multipliers)
        moved = multipliers - centre
        gradient = statistics.forward(cells) - measured + slack * moved
        value = rows * log_total - float(multipliers @ measured) + float(slack @ moved**2) / 2
        return value, gradient * scale

    options = {"maxiter": rounds, "maxfun": 2 * rounds, "maxcor": _MEMORY, "ftol": 0.0, "gtol": tolerance}
    found = minimize(dual, (centre if start is None else start) / scale, jac=True, method="L-BFGS-B", options=options)
    multipliers, gradient = found.x * scale, found.jac / scale
    left = math.sqrt(float(np.mean(gradient**2 / slack)))
    reached = gradient + measured - slack * (multipliers - centre)
    return Fit(multipliers, reached, left, lambda: table(multipliers)[1])


def _table(theta: Reals, rows: float, prior: Reals | None) -> tuple[float, Reals]:
    """Return ln Z and the table; theta is overwritten."""
    if prior is not None:
        theta += prior
    top = float(theta.max())
    theta -= theta.dtype.type(top)
    np.exp(theta, out=theta)
    total = float(theta.sum(dtype=np.float64))
    theta *= theta.dtype.type(rows / total)
    return top + math.log(total), theta
