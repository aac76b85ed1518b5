"""What a noisy tree of counts says: the one nearest table, how far off any sum of its bins is, and how likely that is.

The tree is a forest: `branching` nodes at the top, each with as many children, down to the bins. All nodes are counted
with independent noise of one law. Weighted least squares makes the counts of children add up to that of their parent:
with y the noisy count of a node and a_l the variance of its best estimate from its own subtree of l levels, in units
of the noise, a_1 = 1 and a_l = b a_(l-1) / (1 + b a_(l-1)) = (b^l - b^(l-1)) / (b^l - 1).

* Up: z = a_l y + (1 - a_l) (sum of z over the children). Down: x = z + (x of the parent - sum of z over its children)
  / b.
* A sum c of bins has the error sum of w Z over all nodes, where w is what the same two passes make of c alone, placed
  at the bins: with A the matrix that adds up bins, w = A (A'A)^-1 c. Its variance is that of the noise times v, the sum
  of w^2.
* For the bins up to a place, less a share of all, z differs from that of its siblings on the path to that place only;
  elsewhere x is that of the parent over b. So v and the greatest |w| are found along one path.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import Gaussian
from discreet.dp.laplace import Laplace

Reals: TypeAlias = NDArray[np.float64]

_TILTS = 96  # places at which Chernoff's bound is tried; it holds at every one


def own_share(branching: int, levels: int) -> Fraction:
    """Return a_l: the variance of a node's estimate from its subtree, and the weight of its own count in it."""
    whole = branching**levels
    return Fraction(whole - whole // branching, whole - 1) if levels > 1 else Fraction(1)


def consistent(levels: list[Reals], branching: int) -> list[Reals]:
    """Return the least-squares counts of all nodes, level by level from the top, in two passes.

    Source: Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through
      consistency", 2010, Theorem 3 (there with a root, which is not counted here: the total is the sum of the top).

    >>> [level.tolist() for level in consistent([np.array([4.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])], 2)]
    [[3.0, 0.0], [2.0, 1.0, 0.0, 0.0]]
    """
    depth, up = len(levels), list(levels)
    for i in range(depth - 2, -1, -1):
        share = float(own_share(branching, depth - i))
        up[i] = share * up[i] + (1 - share) * _families(up[i + 1], branching).sum(axis=1)
    for i in range(1, depth):
        families = _families(up[i], branching)
        left = (up[i - 1] - families.sum(axis=1)) / branching
        up[i] = (families + left[:, None]).ravel()
    return up


def _families(level: Reals, branching: int) -> Reals:
    return level.reshape(-1, branching)


def weights(question: Reals, branching: int, depth: int) -> list[Reals]:
    """Return the weight of the noise of every node in a sum of bins with these coefficients."""
    empty = [np.zeros(branching**level) for level in range(1, depth)]
    return consistent([*empty, question], branching)


def prefix_variances(branching: int, depth: int, bins: int, share: float) -> Reals:
    """Return v for the first k bins less a share of all, k = 0 ... bins, by a closed form at every level.

    With q whole children before place k in a node, r of the next one, and b children: q + r^2 - (q + r)^2 / b is what
    a level adds inside a node, times a_l of its children; at the top q + r^2 - 2 s (q + r) + b s^2 takes its place.
    """
    place, found = np.arange(bins + 1), np.zeros(bins + 1)
    for level in range(depth, 0, -1):  # of how many levels the nodes are that are counted off
        size = branching ** (level - 1)
        whole, place = np.divmod(place, size)
        part = place / size
        covered, squares = whole + part, whole + part**2
        if level == depth:
            inside = squares - 2 * share * covered + branching * share**2
        else:
            inside = squares - covered**2 / branching
        found += float(own_share(branching, level)) * inside
    return found


def prefix_weights(branching: int, depth: int, bins: int, share: float) -> Reals:
    """Return the greatest |w| for the first k bins less a share of all, k = 0 ... bins, along the path to bin k.

    A node before the path has z = c (1 - s) and one after it z = -c s, where c is 1 for a bin and grows by b (1 - a_l).
    """
    b, place = branching, np.arange(bins + 1)
    before = [place // b**level % b for level in range(depth)]  # siblings before the path, from the bins up
    up, scale = [np.full(bins + 1, -share)], [1.0]
    for level in range(depth - 1):
        kept = 1 - float(own_share(b, level + 2))
        up.append(kept * _family(before[level], up[level], scale[level], b, share))
        scale.append(scale[level] * b * kept)
    most, parent = np.zeros(bins + 1), np.zeros(bins + 1)
    for level in range(depth - 1, -1, -1):
        z, c = up[level], scale[level]
        shift = np.zeros(bins + 1) if level == depth - 1 else (parent - _family(before[level], z, c, b, share)) / b
        parent = z + shift
        first = np.where(before[level] > 0, abs(c * (1 - share) + shift), 0)
        last = np.where(before[level] < b - 1, abs(shift - c * share), 0)
        most = np.maximum.reduce([most, abs(parent), first, last])
    return most


def _family(before: NDArray[np.int64], path: Reals, scale: float, branching: int, share: float) -> Reals:
    """Return the sum of z over the siblings of a node on the path."""
    return np.asarray(path + scale * (before * (1 - share) - (branching - 1 - before) * share))


def within(variance: Reals, most: Reals, noise: Laplace | Gaussian, chance: float) -> Reals:
    """Return alpha with P(|sum of w Z| > alpha) <= chance, v = sum of w^2 and |w| <= most, by Chernoff's bound.

    Discrete Laplace noise of variance V has ln E exp(tZ) = -ln(1 - V (cosh t - 1)), which is convex in t^2 and 0 at 0:
    that of wZ is at most w^2 / most^2 times that of most Z. Rounded normal noise is sub-Gaussian (`proxy`).
    """
    odds = math.log(2 / chance)
    if isinstance(noise, Gaussian):
        return np.sqrt(2 * odds * variance * proxy(float(noise.sigma)))
    tilts = np.geomspace(1e-4, 1 - 1e-9, _TILTS) / float(noise.scale)
    inside = 1 - 2 * variance_of(noise) * np.sinh(tilts / 2) ** 2
    tilts, inside = tilts[inside > 0], inside[inside > 0]
    best = np.full(variance.shape, np.inf)
    relative = np.divide(variance, most**2, out=np.zeros_like(variance), where=most > 0)  # 0 for no bins, less none
    for tilt, log_moment in zip(tilts.tolist(), (-np.log(inside)).tolist(), strict=True):
        np.minimum(best, (relative * log_moment + odds) / tilt, out=best)
    return best * most


def variance_of(noise: Laplace | Gaussian) -> float:
    """Return the variance of one noisy count, for rounded normal noise from above."""
    if isinstance(noise, Gaussian):
        return proxy(float(noise.sigma))
    return 1 / (2 * math.sinh(1 / (2 * float(noise.scale))) ** 2)


def proxy(sigma: float) -> float:
    """Return s^2 with E exp(tZ) <= exp(s^2 t^2 / 2) for the rounded normal law: sigma^2 + 1/12, and next to nothing.

    By Poisson's formula E exp(tZ) = exp(sigma^2 t^2 / 2) sinh(t/2) / (t/2) (1 + sum over n of terms that are at most
    2 t^2 (sigma^2 + 1 / (2 pi n)^2) exp(-2 pi^2 n^2 sigma^2)), and sinh(x) / x <= exp(x^2 / 6).
    """
    terms = np.arange(1, 2 + int(4 / sigma), dtype=np.float64)
    rest = (sigma**2 + 1 / (2 * np.pi * terms) ** 2) * np.exp(-2 * (np.pi * terms * sigma) ** 2)
    return sigma**2 + 1 / 12 + 4 * float(rest.sum())
