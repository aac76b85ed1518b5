"""The number of rows as the public knows it: stated, or measured at a price; never the true one in secret."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from discreet.dp.laplace import Laplace
from discreet.dp.loss import Loss
from discreet.dp.mechanism import Mechanism
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact
from discreet.dp.rational import Number, non_negative, positive, probability, sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter
from discreet.release.query import Array

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream


_SAFE = 1 << 62


@dataclass(frozen=True, slots=True)
class Rows:
    """A public estimate of the number of rows, and how far off it may be, but for a `failure_probability`.

    Guarantee: none of its own; what is certified with it holds if the number of rows is within `error` of `estimate`.
      The caller must ensure that neither was computed from the table, but by `RowCount`. Where rows are replaced and
      each falls into a cell, the number is public and the error is 0.

    >>> Rows(48_000, error=1000).normalised(Fraction(5000))
    Fraction(1, 12)
    """

    estimate: Fraction
    error: Fraction
    failure_probability: Fraction

    def __init__(self, estimate: Number, *, error: Number = 0, failure_probability: Number = 0) -> None:
        chance = non_negative(failure_probability, "failure_probability")
        if chance:
            probability(chance, "failure_probability")
        object.__setattr__(self, "estimate", non_negative(estimate, "estimate"))
        object.__setattr__(self, "error", non_negative(error, "error"))
        object.__setattr__(self, "failure_probability", chance)

    def normalised(self, level: Fraction) -> Fraction:
        """Return how far apart the shares q of the table and p of a model are, at least, if N p is off by `level`.

        It is (level - error) / N: with n rows, N (q - p) = (n q - N p) + q (N - n), and q is at most 1. (Dividing by n
        instead gives (level - error) / (N + error), as q and p change places: true too, and less.)
        """
        if level <= self.error:
            raise InvalidParameter(
                f"an error of {float(level):.4g} counts cannot be told from that of the number of rows, "
                f"{float(self.error):.4g}: measure the rows better, or ask for less."
            )
        return (level - self.error) / self.estimate

    @property
    def most(self) -> Fraction:
        """The greatest number of rows there may be: no answer of a model with `estimate` rows is further off."""
        return self.estimate + self.error


def public_rows(rows: Rows | int) -> Rows:
    """Return the rows as given, or refuse what is no public number of them."""
    if isinstance(rows, Rows):
        return rows
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer):
        raise InvalidParameter("rows is a whole number that is public, or release.Rows(estimate, error=...).")
    return Rows(int(rows))


def moved(sensitivity: Sensitivity) -> Fraction:
    """Return by how much one unit moves a query with weights in [0, 1], given how far it moves the histogram.

    Guarantee: where a unit comes or goes it is all of l1. Where one is replaced it is half of l1: l1 counts what leaves
      and what comes, and a query counts their difference. The caller must ensure that neither is above that half, so
      l1 is at least twice the most rows of a unit, though few cells may keep the histogram itself from moving so far:
      a unit with a row in each of two cells that is replaced by one with none moves it by 2, and a query by 2.
    """
    if not isinstance(sensitivity, Sensitivity):
        raise InvalidParameter(
            "sensitivity is a dp.Sensitivity, for instance dp.Sensitivity.histogram(neighbours=...)."
        )
    if sensitivity.l1 is None:
        raise InvalidParameter(
            "a histogram needs a sensitivity with l1: l2 does not bound how far a sum of cells moves."
        )
    if sensitivity.neighbours is Neighbours.ADD_REMOVE:
        return sensitivity.l1
    return max(sensitivity.l1 / 2, sensitivity.linf)


def of_marginals(sensitivity: Sensitivity) -> Sensitivity:
    """Return how far every marginal moves, given how far the histogram does.

    Cells that are added up may all move the same way, so l2 of the histogram bounds nothing here: what comes moves one
    cell by m at most, and so does what leaves.
    """
    most = moved(sensitivity)
    if sensitivity.neighbours is Neighbours.ADD_REMOVE:
        return Sensitivity(l1=most, neighbours=sensitivity.neighbours)
    return Sensitivity(l1=2 * most, l2=sqrt_up(2 * most**2), neighbours=sensitivity.neighbours)


def whole_histogram(histogram: object, cells: int) -> Array:
    """Return a dense histogram of whole numbers as a flat array, or refuse what is none of this universe.

    Guarantee: no sum of its cells overflows 64 bits, and neighbours are no further apart than before: a count of which
      that would not be sure, above 2^62 by the number of cells, counts as so many.
    """
    if isinstance(histogram, Exact):
        raise InvalidParameter("a private histogram is opened by open(exact, permit).")
    if not isinstance(histogram, np.ndarray) or histogram.dtype.kind not in "iu" or histogram.size != cells:
        raise InvalidParameter(
            f"a histogram is an array of whole numbers, one for each of the {cells} cells of the universe, as "
            "universe.encode(frame) returns it."
        )
    flat, most = histogram.reshape(-1), _SAFE // cells
    if max(int(flat.max()), -int(flat.min())) <= most:
        return flat
    return np.maximum(np.minimum(flat, most).astype(np.int64), -most)


@dataclass(frozen=True, slots=True)
class RowCount(Mechanism):
    """Count the rows of a histogram with Laplace noise, for the loops that need a public number of rows.

    Guarantee: epsilon-DP; the rows are within `error` of the estimate, but for `failure_probability`. The caller must
      ensure that the histogram moves by at most `sensitivity`.
    Source: as `dp.Laplace`.

    >>> from discreet import dp
    >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
    >>> rows = RowCount(sensitivity=s, epsilon=1, failure_probability=0.01).release(np.array([700, 300]))
    >>> 980 < rows.estimate < 1020, rows.error
    (True, Fraction(4, 1))
    """

    sensitivity: Sensitivity
    noise: Laplace
    failure_probability: Fraction

    def __init__(self, *, sensitivity: Sensitivity, epsilon: Number, failure_probability: Number) -> None:
        far = moved(sensitivity)
        of_total = Sensitivity(l1=far, neighbours=sensitivity.neighbours)
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "noise", Laplace(sensitivity=of_total, epsilon=positive(epsilon, "epsilon")))
        object.__setattr__(self, "failure_probability", probability(failure_probability, "failure_probability"))

    @property
    def loss(self) -> Loss:
        """The loss of the count."""
        return self.noise.loss

    def release(self, histogram: Array) -> Rows:
        """Return the noisy number of rows. Whoever calls this has the histogram, and accounts for `loss`."""
        from discreet.dp import randomness

        if isinstance(histogram, Exact):
            raise InvalidParameter("a private value is released by open(exact, permit), not by release.")
        return self._release(histogram, randomness.system())

    def _release(self, values: object, stream: Stream) -> Rows:  # type: ignore[override]
        total = int(cast(Array, values).sum(dtype=object))
        noisy = cast(int, self.noise._release(total, stream))
        error = self.noise.accuracy(failure_probability=self.failure_probability)
        return Rows(max(0, noisy), error=error, failure_probability=self.failure_probability)

    def _covers(self, sensitivity: Sensitivity) -> bool:
        return sensitivity.l1 is not None and moved(sensitivity) <= moved(self.sensitivity)
