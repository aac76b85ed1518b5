"""Wrong trees of counts that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import norm

from discreet import dp
from discreet.dp.rational import sqrt_up
from discreet.dp.tree_estimates import variance_of


def of_one_level(levels: int, rows: int, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """That of the bins alone: every level is counted with the noise of one."""
    return dp.Sensitivity(
        l1=rows * (1 if neighbours is dp.Neighbours.ADD_REMOVE else 2),
        l2=rows * (Fraction(1) if neighbours is dp.Neighbours.ADD_REMOVE else sqrt_up(Fraction(2))),
        linf=rows,
        neighbours=neighbours,
    )


def without_rows(levels: int, rows: int, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """As if every row were a unit of its own."""
    return dp.Sensitivity.marginals(count=levels, neighbours=neighbours)


def spread_rows(levels: int, rows: int, neighbours: dp.Neighbours) -> dp.Sensitivity:
    """As if the rows of a unit were in different bins: l2 grows with the root of their number."""
    moved = levels * rows * (1 if neighbours is dp.Neighbours.ADD_REMOVE else 2)
    return dp.Sensitivity(l1=moved, l2=sqrt_up(Fraction(moved)), linf=1, neighbours=neighbours)


class ReadsTheTable:
    """Noise is drawn, and the quantile is read from the counts before it."""

    def __init__(self, tree: dp.QuantileTree) -> None:
        self.tree = tree

    def quantile(self, counts: list[int], q: str) -> object:
        self.tree.release(counts)
        sums = np.cumsum(counts)
        return self.tree.bins.value(int(np.argmax(sums >= float(q) * sums[-1])))


def normal_within(variance: np.ndarray, noise: dp.Laplace | dp.Gaussian, chance: float) -> np.ndarray:
    """As if the noise were normal: its tails are not."""
    return np.sqrt(variance * variance_of(noise)) * norm.isf(chance / 2)


def bins_alone(branching: int, depth: int, bins: int, share: float) -> np.ndarray:
    """The variance of a prefix less a share of all as a sum over bins: what the levels above say is not used."""
    place, every = np.arange(bins + 1), branching**depth
    return place * (1 - share) ** 2 + (every - place) * share**2
