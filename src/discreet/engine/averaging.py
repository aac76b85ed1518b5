"""A question that is asked again at a higher price: its new release is averaged with the best one before.

Both are released numbers of the same table, so their mean is post-processing and costs nothing; weights go by inverse
variance. What is stored and shown from then on is the mean, with the error of the mean (`combined.py`).

* **Trees.** Counts that agree with every level are linear in the noisy counts, so the mean of two trees of one shape
  is the tree of the mean noise. With weights w of independent noise that has, at every tilt, no greater moments than
  noise of the variance V = sum of w_i^2 V_i: for normal noise by definition, and for Laplace noise because the product
  of 1 - V_i (cosh(w_i t) - 1) is at least 1 - V (cosh t - 1). A tree's errors use these moments alone.
* **Private keys.** Two releases name different keys, so the new one stands alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import dp
from discreet.dp.inversion import Integers
from discreet.dp.tree_estimates import variance_of
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.combined import PARTS, averaged
from discreet.engine.plan import Histogram
from discreet.engine.price import FAILURE
from discreet.engine.purchase import steps_off, tree
from discreet.engine.released import Bins, Numbers, Part, Release

_SAFE = 1 << 45  # numbers below it, times a weight in parts of 2^16, fit 62 bits


def mean_of(before: Release | None, fresh: Release, query: BoundedQuery) -> Release:
    """Return the mean of the best release before and a new one; of the two, whatever is better alone stays alone."""
    if before is None or before.keys is not None or fresh.keys is not None:
        return fresh
    parts = zip(before.parts, fresh.parts, query.measures, strict=True)
    return Release(None, tuple(_mean(old, new, of) for old, new, of in parts), before.amount + fresh.amount)


def _mean(old: Part, new: Part, of: BoundedMeasure) -> Part:
    if isinstance(old, Bins) and isinstance(new, Bins):
        return _mean_tree(old, new, of)
    assert isinstance(old, Numbers)
    assert isinstance(new, Numbers)
    assert isinstance(new.noise, dp.Laplace | dp.Gaussian)
    found = averaged(old.noise, new.noise)
    if found is None:
        return old if steps_off(old.noise, FAILURE) < steps_off(new.noise, FAILURE) else new
    law, weight = found
    return Numbers(_rounded(old.values, new.values, weight), new.step, law)


def _rounded(old: Integers, new: Integers, weight: int) -> Integers:
    """Return the nearest whole numbers to the weighted mean, halves upwards, in exact arithmetic."""
    most = max((int(abs(values).max()) for values in (old, new) if values.size), default=0)
    a, b = (values if most < _SAFE else values.astype(object) for values in (old, new))
    sums: Any = 2 * (weight * a + (PARTS - weight) * b) + PARTS
    return np.asarray(sums // (2 * PARTS), dtype=np.int64)


def _mean_tree(old: Bins, new: Bins, of: BoundedMeasure) -> Bins:
    ours, theirs = new.tree, old.tree
    if ours.branching != theirs.branching or type(ours.noise) is not type(theirs.noise):
        return new
    before, after = variance_of(theirs.noise), variance_of(ours.noise)
    weight = Fraction(round(PARTS * after / (before + after)), PARTS)
    counts = float(weight) * old.counts + float(1 - weight) * new.counts
    return Bins(counts, _tree(old, new, weight, of))


def _tree(old: Bins, new: Bins, weight: Fraction, of: BoundedMeasure) -> dp.QuantileTree:
    """Return the tree whose noise has at least the moments of the mean's."""
    assert isinstance(of.measure, Histogram)
    bins, arms = of.measure.bins, new.tree.branching
    one, two = old.tree.noise, new.tree.noise
    if isinstance(one, dp.Gaussian) and isinstance(two, dp.Gaussian):
        squared = weight**2 * one.sigma**2 + (1 - weight) ** 2 * two.sigma**2
        rho = new.tree.sensitivity.l2**2 / (2 * squared)
        return tree(of, bins, arms, epsilon=None, rho=_short_down(rho))
    moments = float(weight) ** 2 * variance_of(one) + float(1 - weight) ** 2 * variance_of(two)
    scale = (1 + 1e-9) / (2 * math.asinh(1 / math.sqrt(2 * moments)))  # above what floats round in it
    assert new.tree.sensitivity.l1 is not None
    return tree(of, bins, arms, epsilon=_short_down(new.tree.sensitivity.l1 / Fraction(scale)), rho=None)


def _short_down(value: Fraction) -> Fraction:
    """Return a rational of 64 bits just below."""
    shift = 64 - value.numerator.bit_length() + value.denominator.bit_length()
    scaled = value * Fraction(2) ** shift
    return Fraction(math.floor(scaled)) / Fraction(2) ** shift
