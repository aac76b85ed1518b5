"""The oracle: what an engine has to return for a bounded query, in pure Python.

    found = exact(query, tables)         # for each measure, {(place of each key, ...[, bin]): integer}, zeros left out
    dense(query, found)                  # for each measure, an array like that of PublicGroups
    units(query, tables)                 # for private keys: {(text or place of each key, ...): how many units}

`tables` has the rows of each scan as dicts of Python values, the column of the unit among them. Private keys depend on
a secret order: another `rank` may be given, and every one obeys the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Histogram
from tests.reference_expressions import Record, cut, evaluate, read
from tests.reference_forms import Cell, Found, Oracle, Rank, Sparse, Tables, by_hash, exact, joined, units

__all__ = [
    "Cell",
    "Found",
    "Oracle",
    "Rank",
    "Record",
    "Sparse",
    "Tables",
    "by_hash",
    "cut",
    "dense",
    "evaluate",
    "exact",
    "joined",
    "read",
    "units",
]

MOST = 2**62


def dense(query: BoundedQuery, found: Sequence[Sparse]) -> tuple[NDArray[np.int64], ...]:
    """The arrays of all declared cells, each clamped to 62 bits."""
    arrays = []
    for measure, sparse in zip(query.measures, found, strict=True):
        bins = (measure.measure.bins.declared,) if isinstance(measure.measure, Histogram) else ()
        array = np.zeros(query.shape + bins, np.int64)
        for cell, value in sparse.items():
            array[cell] = min(max(value, -MOST), MOST)
        arrays.append(array)
    return tuple(arrays)
