"""Covers whose promise of accuracy is wrong: each is rejected by the check that the right one passes."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.release.cover import Cover


class OneSided(Cover):
    """Forgets that an answer can be too low as well as too high."""

    def _beyond(self, alpha: Fraction) -> float:
        return super()._beyond(alpha) / 2


class Normal(Cover):
    """Takes a sum of few Laplace numbers for a normal one, whose tails are thinner."""

    def _beyond(self, alpha: Fraction) -> float:
        cells = self.universe.size
        variance = 2 * float(self.noise.scale) ** 2 * (cells / 4 if self.rows is not None else cells)
        return math.erfc(float(alpha) / math.sqrt(2 * variance))


class Spread(Cover):
    """Promises what a public number of rows would make of the cells, when there is none to spread the rest by."""

    def _log_product(self, s: float) -> float:
        return Cover._log_product(Cover(self.universe, self.noise, None), s / 2)
