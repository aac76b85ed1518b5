"""A tree of bins for each of many groups, at the loss of one: what one unit moves is bounded over all of them.

A unit has at most R rows in all bins of all groups together. Each is counted once at each level of one tree, so the
levels of all trees move by as much as those of one: l1 = h R, and l2 = sqrt(h) R at most, if all are in one bin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.dp import randomness, tree_estimates
from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers
from discreet.dp.private import Exact, Permit
from discreet.dp.quantile_tree import Quantile, QuantileTree, ReleasedTree, of_levels
from discreet.dp.rational import Number, probability
from discreet.dp.statistics_of_ranks import check_quantile
from discreet.errors import InvalidParameter

_MOST_ROWS = 1 << 62  # of a group


def release_trees(tree: QuantileTree, counts: Integers | Sequence[Sequence[int]]) -> Reals:
    """Return the trees of plain numbers of rows, one row of bins for each group. For whoever has them already.

    >>> from discreet import dp
    >>> tree = QuantileTree(
    ...     bins=dp.Integer(0, 9), rows=1, neighbours=dp.Neighbours.ADD_REMOVE, branching=10, epsilon=20
    ... )
    >>> found = release_trees(tree, [[0] * 9 + [500], [500] + [0] * 9])
    >>> [quantile.value for quantile in quantiles_of(tree, found, "0.5", confidence=0.95)]
    [9, 0]
    """
    return _released(tree, np.asarray(counts, dtype=np.int64), randomness.system())


def open_trees(tree: QuantileTree, exact: Exact, permit: Permit) -> Reals:
    """Release private numbers of rows in groups and bins, whose axis is the last; the loss of one tree is taken first.

    Guarantee: the output has the loss that was taken; counts that are more sensitive, or under another relation, are
      refused before anything is taken. The caller must ensure that the sensitivity is that of all groups together.
    """
    if not isinstance(exact, Exact) or not isinstance(permit, Permit):
        raise InvalidParameter("open_trees takes an Exact and a Permit; for plain numbers use release_trees.")
    one = of_levels(1, tree.rows, tree.neighbours)
    theirs, most = exact.sensitivity, one.l1
    fits = theirs.l1 is not None and most is not None and theirs.l1 <= most and theirs.l2 <= one.l2
    if theirs.neighbours is not tree.neighbours or not fits:
        raise InvalidParameter(
            "these counts are for another relation or of more rows for a unit: make the tree with their rows."
        )
    permit.take(tree.loss)
    return _released(tree, np.asarray(exact._value).reshape(-1, tree.bins.declared), randomness.system())


def quantiles_of(tree: QuantileTree, counts: Reals, q: Number, *, confidence: Number) -> list[Quantile]:
    """Return the quantile q of each group, with an interval that covers it with this confidence by itself."""
    share = float(check_quantile(q))
    level = float(probability(confidence, "confidence"))
    off = tree._within(share, float(1 - probability(confidence, "confidence")))
    return [ReleasedTree(tree, row)._quantile(share, off, level) for row in counts]


def _released(tree: QuantileTree, counts: Integers, stream: randomness.Stream) -> Reals:
    if counts.ndim != 2 or counts.shape[1] != tree.bins.declared or (counts.size and counts.min() < 0):
        raise InvalidParameter("counts has, for each group, a whole number of rows of at least 0 for each bin.")
    width = tree.branching**tree.levels
    bottom = np.zeros((counts.shape[0], width), dtype=np.int64)
    if not counts.shape[0]:
        return bottom.astype(np.float64)
    bottom[:, : counts.shape[1]] = np.minimum(counts, _MOST_ROWS // width)
    levels = [bottom]
    while levels[0].shape[1] > tree.branching:
        levels.insert(0, levels[0].reshape(counts.shape[0], -1, tree.branching).sum(axis=2))
    noisy = np.asarray(tree.noise._release(np.concatenate(levels, axis=1), stream), dtype=np.float64)
    cuts = np.cumsum([level.shape[1] for level in levels])[:-1]
    trees = [tree_estimates.consistent(np.split(row, cuts), tree.branching)[-1] for row in noisy]
    return np.array(trees, dtype=np.float64).reshape(counts.shape[0], width)
