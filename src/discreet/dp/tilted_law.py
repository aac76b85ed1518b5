"""A law of privacy losses as numbers, under a tilted measure, with a bound on everything that the numbers lose.

Under the tilted measure a loss l weighs exp(tilt * l) as much. What is off there by `error` is off in delta at epsilon
by `error` times E[exp(tilt * (loss - epsilon))] times the greatest (1 - e^-x) e^-tx, at most: no delta of a normal
release beside it is larger than that either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_UNDERFLOW = 2.0**-1000  # what 2^19 exponentials below 2^-1022 may lose
_FARTHEST = -1e8  # standard deviations, where a normal tail is no float any more


@dataclass(frozen=True)
class Tilted:
    """The law of the sum under the tilted measure, on grid losses, with what its errors can add."""

    tilt: float
    losses: Reals  # in increasing order
    logs: Reals  # ln of the masses under P
    log_chernoff: float  # ln E[exp(tilt * loss)], the normal part included
    mu_squared: float
    error: float  # of all masses together, under the tilted law
    relative: float  # and of every mass, beside it

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        losses, logs = (self.losses, self.logs) if self.mu_squared else self._above(epsilon)
        gap = epsilon - losses
        with np.errstate(under="ignore", divide="ignore"):
            log_each = self._log_normal_delta(gap) if self.mu_squared else np.log(-np.expm1(gap))
            value = float(np.sum(np.exp(np.minimum(log_each + logs, 1.0))))  # no delta is above 1
        return min(1.0, (value + self.slack(epsilon)) * (1 + self.relative) + _UNDERFLOW)

    def slack(self, epsilon: float) -> float:
        """Return what the errors of all masses can add to delta; far below the mean it is above 1, and says nothing."""
        if not self.error:
            return 0.0
        exponent = math.log(self.error) + self.log_chernoff - self.tilt * epsilon + log_most(self.tilt)
        return math.exp(min(exponent, 1.0))

    def epsilon(self, delta: float, high: float) -> float:
        """Return an upper bound on epsilon, given one; it is kept where the errors leave no room below it."""
        low, above, below = 0.0, self._excess(0.0, delta), self._excess(high, delta)
        if above <= 0:
            return 0.0
        side = 0
        while below < -(2.0**-24) and high - low > 2.0**-30 * high:
            share = above / (above - below) if math.isfinite(below) else 0.5
            middle = low + (high - low) * min(max(share, 2.0**-6), 1 - 2.0**-6)
            found = self._excess(middle, delta)
            if found <= 0:  # false position; an end that stays twice counts half (Dowell, Jarratt, 1971)
                high, below, above, side = middle, found, above / 2 if side < 0 else above, -1
            else:
                low, above, below, side = middle, found, below / 2 if side > 0 else below, 1
        return high

    def _excess(self, epsilon: float, delta: float) -> float:
        found = self.delta(epsilon)
        return math.log(found / delta) if found / delta > 0 else -math.inf

    def _above(self, epsilon: float) -> tuple[Reals, Reals]:
        first = int(np.searchsorted(self.losses, epsilon, "right"))
        return self.losses[first:], self.logs[first:]

    def _log_normal_delta(self, gap: Reals) -> Reals:
        """Return ln of Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu), from above, and within 2^-36 of its first term."""
        from scipy.special import log_ndtr

        mu = math.sqrt(self.mu_squared)
        with np.errstate(over="ignore"):
            place = np.maximum(mu / 2 - gap / mu, _FARTHEST)
        first, second = log_ndtr(place), gap + log_ndtr(place - mu)
        # where the two nearly cancel, the first alone is still a bound; this covers the error of their difference
        covered = 2.0**-36 - 2.0**-48 * np.minimum(first, 0.0)
        return np.asarray(first + np.log(-np.expm1(np.minimum(second - first, 0.0)) + covered))


def log_most(tilt: float) -> float:
    """Return ln of the greatest (1 - e^-x) e^-tx, which is t^t / (1 + t)^(1 + t): with E[e^tx] it bounds delta."""
    return -math.log1p(tilt) - tilt * math.log1p(1 / tilt)
