"""Columns of released values on their way in and out: from public values, and to cells that are shown and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers
from discreet.dp.values import Value
from discreet.engine import interval
from discreet.engine.interval import Numeric, Plain, Truths
from discreet.engine.plan import Order

Cell: TypeAlias = Value | None
Column: TypeAlias = Numeric | Plain


def legible(error: Reals) -> tuple[Integers, Reals]:
    """Return to how many digits numbers with these errors are shown, and the errors with what rounding adds, upwards.

    A thousandth of the error is the last digit: below it there is only noise.

    >>> digits, said = legible(np.array([359.4878, 0.0123]))
    >>> digits.tolist(), said.tolist()
    ([0, 4], [360.0, 0.01236])
    """
    known = (error > 0) & np.isfinite(error)
    some = np.where(known, error, 1.0)
    digits = np.clip(3 - np.ceil(np.log10(some)), 0, 300).astype(np.int64)
    tenths = 10.0 ** (digits + 1)
    said = np.ceil((some * tenths + 5) * (1 + 1e-12)) / tenths  # above what floats round in it
    return np.where(known, digits, 15), np.where(known, said, error)


def legibly(column: Numeric, kept: Any) -> tuple[tuple[Cell, ...], tuple[int | float | None, ...]]:
    """Return numbers and their errors as they are shown; NULL has none, and an error without an end is not known."""
    errors, cells = column.error[kept], cells_of(column, kept)
    digits, said = legible(errors)
    if column.whole:
        said = np.ceil(errors)
    else:
        pairs = zip(cells, digits.tolist(), strict=True)
        cells = tuple(None if cell is None else round(cell, to) for cell, to in pairs)  # type: ignore[arg-type]
    lost = (column.null[kept] | ~np.isfinite(errors)).tolist()
    shown = (
        int(error) if column.whole and not none else error for error, none in zip(said.tolist(), lost, strict=True)
    )
    return cells, tuple(None if none else error for error, none in zip(shown, lost, strict=True))


def listed(values: Sequence[Cell | Fraction]) -> Column:
    """Return public values as a column: numbers as floats, anything else as it is."""
    null = np.array([value is None for value in values], dtype=bool)
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int | float | Fraction) and not isinstance(value, bool) for value in known):
        whole = all(isinstance(value, int) for value in known)
        numbers = np.array([0.0 if value is None else float(value) for value in values], dtype=np.float64)  # type: ignore[arg-type]
        return interval.exact(numbers, whole=whole, null=null)
    if known and all(isinstance(value, bool) for value in known):
        return Plain(np.array([bool(value) for value in values], dtype=bool), null)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return Plain(out, null)


def taken(column: Column, places: Sequence[int]) -> Column:
    """Return the values at some places: of the kind that the list of all of them has, even if there are none."""
    at = np.array(places, dtype=np.intp)
    if isinstance(column, Plain):
        return Plain(column.value[at], column.null[at], column.noisy)
    return Numeric(column.value[at], column.low[at], column.high[at], column.null[at], column.whole)


def cells_of(column: Column, kept: Any) -> tuple[Cell, ...]:
    """Return the values of some rows, with None for NULL."""
    values, nulls = column.value[kept], column.null[kept].tolist()
    if isinstance(column, Numeric) and column.whole:
        found: list[Any] = [int(value) for value in values.tolist()]
    else:
        found = values.tolist()
    return tuple(None if null else value for value, null in zip(found, nulls, strict=True))


def ranks_of(column: Column, order: Order) -> Any:
    """Return integers by which rows are sorted: NULL before or after everything else."""
    null: Truths = column.null
    if isinstance(column, Numeric) or column.value.dtype == bool:
        _, ranks = np.unique(column.value, return_inverse=True)
    else:
        known = sorted({value for value, lost in zip(column.value.tolist(), null.tolist(), strict=True) if not lost})
        places = {value: place for place, value in enumerate(known)}
        ranks = np.array([places.get(value, 0) for value in column.value.tolist()], dtype=np.int64)
    ranks = -ranks if order.descending else ranks
    outside = -(1 << 62) if order.nulls_first else 1 << 62
    return np.where(null, outside, ranks)
