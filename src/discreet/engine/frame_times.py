"""Days and instants of a frame in one form each, whatever unit a library counts them in.

An engine that turns seconds into microseconds raises where they do not fit. So it never has to: a day becomes a day of
the years 1 to 9999, an instant a number of microseconds in them, and what lies outside becomes NULL.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import dp

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = date(1970, 1, 1)
_FIRST, _LAST = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_DAY, _MICRO = 86_400, 1_000_000
_PER_SECOND = {"s": 1, "ms": 1_000, "us": _MICRO, "ns": 1_000_000_000}


def in_time(array: Any, kind: pa.DataType, domain: dp.Date | dp.Datetime) -> pa.Array:
    """Return a column of dates or timestamps of the type `kind` as days, or as microseconds with or without a zone."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_run_end_encoded(array.type):
        array = compute.run_end_decode(array)
    counted = array.cast(kind).cast(pa.int32() if types.is_date32(kind) else pa.int64())
    numbers = counted.fill_null(0).to_numpy().astype(np.int64)
    known = np.array(counted.is_valid(), np.bool_)
    if isinstance(domain, dp.Date):
        days, rest = np.divmod(numbers, _per_day(kind))
        known &= (rest == 0) & (days >= _FIRST) & (days <= _LAST)
        return pa.array(np.where(known, days, 0).astype(np.int32), mask=~known).view(pa.date32())
    per = _PER_SECOND[kind.unit]
    known &= (numbers >= _FIRST * _DAY * per) & (numbers < (_LAST + 1) * _DAY * per)
    numbers = np.where(known, numbers, 0)
    micro = numbers * (_MICRO // per) if per <= _MICRO else numbers // (per // _MICRO)
    return pa.array(micro, mask=~known).view(pa.timestamp("us", tz="UTC" if kind.tz else None))


def _per_day(kind: pa.DataType) -> int:
    from pyarrow import types

    if types.is_timestamp(kind):
        return _DAY * _PER_SECOND[kind.unit]
    return 1 if types.is_date32(kind) else _DAY * 1_000  # the other dates are counted in milliseconds
