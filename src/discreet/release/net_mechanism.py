"""The net mechanism: choose one of all small databases, each with a probability that falls with its worst error.

For toy sizes: it looks at every database of m rows. It is what the constructions are held against.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.dp.exponential import Exponential
from discreet.dp.loss import Loss
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Exact, Permit
from discreet.dp.rational import Number, positive, positive_integer, probability, rational, sqrt_up
from discreet.dp.reals import ball, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.database_update import Cells, dense
from discreet.release.families import Family
from discreet.release.median import all_databases, are_few, databases
from discreet.release.query import Array
from discreet.release.rows import moved, whole_histogram
from discreet.release.workload import Workload

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

_CHUNK = 2**22  # answers of databases held at a time
_GROWTH = Fraction(9, 8)  # of the number of rows from one candidate to the next
_SAFE = 2**61  # differences of two integers below it fit 64 bits


@final
@dataclass(frozen=True, slots=True, eq=False)
class NetMechanism:
    """The exponential mechanism over all databases of m rows, with score -max |Q(D) - Q(y)|.

    Guarantee: epsilon-DP and bounded-range. With probability 1 - failure_probability the database chosen is within
      `certified_error` of the table on every query: u / 2 + (2 D / epsilon) ln(number of databases / beta) counts, with
      m = 2 ln(2|C|) / u^2, u as a share of the rows, so that one of them is within u / 2. The caller must ensure that
      the histogram moves by at most `sensitivity`, and that `rows`, its number of rows, is public.
    Source: Blum, Ligett, Roth, 2008, Theorem 4.

    >>> from discreet import dp, release
    >>> universe = dp.Universe({"cell": 3})
    >>> s = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
    >>> workload = release.Workload([release.marginal(universe, "cell")])
    >>> net = NetMechanism(universe, workload, rows=40, sensitivity=s, epsilon=4, failure_probability=0.05)
    >>> net.rows_kept, int(net.certified_error)
    (365, 9)
    """

    universe: Universe
    workload: Workload | Family
    rows: int
    sensitivity: Sensitivity
    epsilon: Fraction
    failure_probability: Fraction
    rows_kept: int
    certified_error: Fraction
    _databases: Array = field(repr=False)

    def __init__(
        self,
        universe: Universe,
        workload: Workload | Family,
        *,
        rows: int,
        sensitivity: Sensitivity,
        epsilon: Number,
        failure_probability: Number,
    ) -> None:
        if not isinstance(workload, Workload | Family) or workload.shape != dense(universe).shape:
            raise InvalidParameter("workload is one over this universe.")
        moved(sensitivity)
        if sensitivity.neighbours is Neighbours.ADD_REMOVE:
            raise NotSupported("the net mechanism needs a public number of rows: neighbours that replace a row.")
        for name, value in (
            ("universe", universe),
            ("workload", workload),
            ("rows", positive_integer(rows, "rows")),
            ("sensitivity", sensitivity),
            ("epsilon", positive(epsilon, "epsilon")),
            ("failure_probability", probability(failure_probability, "failure_probability")),
        ):
            object.__setattr__(self, name, value)
        certified, kept = min((self._error(m), m) for m in self._sizes())
        if self.rows * kept * workload.scale >= _SAFE:
            raise NotSupported("the net mechanism is for toy sizes; use release.IterativeConstruction.")
        object.__setattr__(self, "rows_kept", kept)
        object.__setattr__(self, "certified_error", certified)
        object.__setattr__(self, "_databases", all_databases(universe.size, kept))

    def _sizes(self) -> Iterator[int]:
        """Yield numbers of rows, each an eighth above the last, for which all databases can be looked at."""
        size, kept = self.universe.size, 1
        if not are_few(size, kept):
            raise NotSupported("the net mechanism is for toy sizes; use release.IterativeConstruction.")
        while are_few(size, kept):
            yield kept
            if size == 1:
                return
            kept = max(kept + 1, int(kept * _GROWTH))

    def _error(self, kept: int) -> Fraction:
        """Return what databases of so many rows certify."""
        near = Fraction(0)
        if self.universe.size > 1:
            near = self.rows * sqrt_up(upper(lambda: 2 * ball(2 * len(self.workload)).log()) / kept) / 2
        count = databases(self.universe.size, kept)
        off = self._mechanism(1).accuracy(failure_probability=self.failure_probability, candidates=count)
        return near + rational(off, "error")

    def _mechanism(self, unit: int) -> Exponential:
        far = Sensitivity(l1=moved(self.sensitivity) * unit, neighbours=self.sensitivity.neighbours)
        return Exponential(sensitivity=far, epsilon=self.epsilon)

    @property
    def loss(self) -> Loss:
        """The loss of the choice."""
        return self._mechanism(1).loss

    def run(self, histogram: Array, *, sensitivity: Sensitivity) -> Cells:
        """Return the database chosen, scaled to the number of rows. Whoever calls this accounts for `loss`."""
        from discreet.dp import randomness

        self._check_sensitivity(sensitivity)
        return self._run(whole_histogram(histogram, self.universe.size), randomness.system())

    def open(self, exact: Exact, permit: Permit) -> Cells:
        """Run on a private histogram: the loss is taken from the permit first."""
        from discreet.dp import randomness

        if not isinstance(exact, Exact) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes an Exact and a Permit; for a plain histogram use run(histogram, ...).")
        self._check_sensitivity(exact.sensitivity)
        cells = whole_histogram(exact._value, self.universe.size)
        permit.take(self.loss)
        return self._run(cells, randomness.system())

    def _check_sensitivity(self, sensitivity: Sensitivity) -> None:
        theirs, ours = sensitivity, self.sensitivity
        if moved(theirs) > moved(ours) or theirs.neighbours is not ours.neighbours:
            raise InvalidParameter("the histogram is more sensitive than the net mechanism was made for.")

    def _run(self, cells: Array, stream: Stream) -> Cells:
        scores, unit = self._scores(cells)
        chosen = self._databases[self._mechanism(unit)._release(scores, stream)]
        return Cells(chosen * (self.rows / self.rows_kept), self.universe.shape)

    def _scores(self, cells: Array) -> tuple[Array, int]:
        """Return minus the worst error of every database in steps, exactly, and the number of steps in a count."""
        weights = _dense_weights(self.workload)  # whole numbers over the scale of the workload
        truth = (weights @ cells.astype(np.int64)) * self.rows_kept
        worst = np.zeros(len(self._databases), np.int64)
        step = max(1, _CHUNK // len(weights))
        for start in range(0, len(worst), step):
            part = slice(start, start + step)
            worst[part] = np.abs(truth - self._databases[part] @ weights.T * self.rows).max(axis=1)
        return -worst, self.workload.scale * self.rows_kept


def _dense_weights(workload: Workload | Family) -> Array:
    shape, size = workload.shape, math.prod(workload.shape)
    rows = []
    for query in workload:
        sizes = [n if axis in query.axes else 1 for axis, n in enumerate(shape)]
        whole = query.weights().astype(np.int64).reshape(sizes) * (workload.scale // query.scale)
        rows.append(np.broadcast_to(whole, shape).reshape(size))
    return np.array(rows, np.int64).reshape(-1, size)
