"""An answer as a frame of pandas, polars or Arrow. Each column has one type, whatever its rows happen to hold.

| values          | pandas                         | polars         | Arrow             |
|-----------------|--------------------------------|----------------|-------------------|
| whole numbers   | int64; Int64 if some are NULL  | Int64          | int64             |
| other numbers   | float64, NULL as NaN           | Float64        | double            |
| truth values    | bool; boolean if some are NULL | Boolean        | bool              |
| days            | objects of datetime.date       | Date           | date32            |
| instants        | datetime64[us], NULL as NaT    | Datetime("us") | timestamp("us")   |
| texts           | as pandas has them             | String         | string            |

Whole numbers beyond 64 bits are shown as the nearest other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Kind: TypeAlias = Literal["whole", "number", "truth", "day", "instant", "text"]
Columns: TypeAlias = Mapping[str, Sequence[Any]]


def kind_of(values: Sequence[Any], *, number: bool) -> tuple[Kind, bool]:
    """Return what a column holds, and whether NULL is among it; what holds nothing is a number or a text."""
    types = set(map(type, values))
    null, types = NoneType in types, types - {NoneType}
    if not types:
        return ("number" if number else "text"), null
    if types == {int}:
        known = [value for value in values if value is not None] if null else values
        return ("whole" if min(known) >= -(1 << 63) and max(known) < 1 << 63 else "number"), null
    kinds: dict[type, Kind] = {bool: "truth", date: "day", datetime: "instant"}
    if len(types) == 1:
        (only,) = types
        return kinds.get(only, "number" if only is float else "text"), null
    return ("number" if types == {int, float} else "text"), null


def to_pandas(columns: Columns, numbers: frozenset[str]) -> pd.DataFrame:
    """Return a pandas frame with a RangeIndex."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install 'discreet[pandas]'") from None
    return pd.DataFrame({name: _pandas(pd, values, number=name in numbers) for name, values in columns.items()})


def _pandas(pd: Any, values: Sequence[Any], *, number: bool) -> Any:
    kind, null = kind_of(values, number=number)
    match kind:
        case "whole":
            return pd.array(list(values), dtype="Int64") if null else np.array(values, dtype=np.int64)
        case "number":
            return np.array(values, dtype=np.float64)  # NumPy makes NaN of None
        case "truth":
            return pd.array(list(values), dtype="boolean") if null else np.array(values, dtype=bool)
        case "instant":
            return np.array(values, dtype="datetime64[us]")
        case "day":
            out = np.empty(len(values), dtype=object)
            out[:] = values
            return out
    return list(values)


def to_polars(columns: Columns, numbers: frozenset[str]) -> pl.DataFrame:
    """Return a polars frame."""
    try:
        import polars as pl
    except ImportError:
        raise ImportError("to_polars() needs polars: pip install 'discreet[polars]'") from None
    types: dict[Kind, Any] = {
        "whole": pl.Int64,
        "number": pl.Float64,
        "truth": pl.Boolean,
        "day": pl.Date,
        "instant": pl.Datetime("us"),
        "text": pl.String,
    }
    return pl.DataFrame(
        [
            pl.Series(name, _floats(values) if kind == "number" else list(values), dtype=types[kind])
            for name, values in columns.items()
            for kind, _ in [kind_of(values, number=name in numbers)]
        ]
    )


def to_arrow(columns: Columns, numbers: frozenset[str]) -> pa.Table:
    """Return an Arrow table."""
    import pyarrow as pa

    types = {
        "whole": pa.int64(),
        "number": pa.float64(),
        "truth": pa.bool_(),
        "day": pa.date32(),
        "instant": pa.timestamp("us"),
        "text": pa.string(),
    }
    out = {}
    for name, values in columns.items():
        kind, _ = kind_of(values, number=name in numbers)
        out[name] = pa.array(_floats(values) if kind == "number" else list(values), type=types[kind])
    return pa.table(out)


def _floats(values: Sequence[Any]) -> list[float | None]:
    """Return numbers of one type: a column of whole and other numbers is refused by libraries that look closely."""
    return [None if value is None else float(value) for value in values]
