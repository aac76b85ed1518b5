"""Frames of other libraries, column by column: what is declared is copied into an Arrow table, as it was declared.

What type a frame gives to a column may come from its rows. So types are settled here, where the curator declares the
table, and never when a question is asked; and a column of Python objects is read by its declaration, never by what is
found in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np

from discreet import dp
from discreet.dp.values import day_of, is_missing, whole
from discreet.engine.frame_times import in_time
from discreet.errors import InvalidParameter, NeedsDeclaration

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.dp.domain import Column

FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"))
_LISTED = 50  # columns that a message names


def rows_of(
    frame: Any, library: str, columns: Mapping[str, Column], unit: str | None
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the declared columns and the unit of a frame as an Arrow table, with notes on what was left out."""
    import pyarrow as pa

    names = list(frame.column_names if library == "pyarrow" else frame.columns)
    found = Counter(names)
    wanted = list(dict.fromkeys([*columns, *([unit] if unit is not None else [])]))
    for column in wanted:
        if not found[column]:
            raise InvalidParameter(f"the frame has no column {column!r}; {_instead_of(column, frame, names)}")
        if found[column] > 1:
            raise InvalidParameter(f"the frame has {found[column]} columns {column!r}; leave or rename all but one.")
    arrays = {
        column: _readable(frame[column], library, column, columns.get(column), is_unit=column == unit)
        for column in wanted
    }
    index = [str(name) for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    notes = (f"the index of the frame ({', '.join(index):.100}) is ignored; reset_index() makes it a column",)
    return pa.table(arrays), notes if index else ()


def _instead_of(column: str, frame: Any, names: list[str]) -> str:
    if column in getattr(getattr(frame, "index", None), "names", ()):
        return "it has an index of that name: frame.reset_index() makes it a column."
    listed = ", ".join(f"{name!s:.60}" for name in names[:_LISTED]) or "none"
    return f"it has {listed}{' and more' if len(names) > _LISTED else ''}."


def _readable(values: Any, library: str, column: str, domain: Column | None, *, is_unit: bool) -> Any:
    """Return a column as an Arrow array, or refuse one that its declaration does not read.

    A column that holds nothing is of every type.
    """
    import pyarrow as pa

    array = None
    with suppress(ValueError, TypeError, NotImplementedError, ArithmeticError):  # their texts may hold a cell
        unchecked = _arrow(values, library, domain)
        unchecked.validate(full=True)
        array = unchecked
    if array is None:
        raise InvalidParameter(
            f"column {column!r} of the frame cannot be read: its type or its bytes are unusual. Convert it first, in "
            "pandas for instance with astype(object)."
        )
    if array.null_count == len(array):
        return pa.nulls(len(array))
    kind = _plain(array.type)
    if is_unit and not _names_units(kind):
        raise NeedsDeclaration(
            f"the unit {column!r} of the frame holds {kind!s:.60}, and a unit is known by a whole number, a text or a "
            'UUID; convert it in the frame, in pandas for instance with astype("Int64").'
        )
    if domain is not None and not _reads(domain, kind):
        raise NeedsDeclaration(
            f"column {column!r} of the frame holds {kind!s:.60}, which {spoken(domain)} does not read; "
            "declare it as what it holds, or convert it in the frame."
        )
    return in_time(array, kind, domain) if isinstance(domain, dp.Date | dp.Datetime) else array


def _arrow(values: Any, library: str, domain: Column | None) -> Any:
    import pyarrow as pa

    if library == "pandas":
        if values.dtype == object:
            return _from_objects(values.tolist(), domain)
        return pa.array(values.copy(deep=True), from_pandas=True)  # what happens to the frame later changes nothing
    if library == "polars":
        return _from_objects(values.to_list(), domain) if str(values.dtype) == "Object" else values.to_arrow()
    return values


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, of a column that holds each value once and numbers for the rows."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) or types.is_run_end_encoded(kind) else kind


def _names_units(kind: pa.DataType) -> bool:
    import pyarrow as pa
    from pyarrow import types

    return bool(types.is_integer(kind)) or _is_text(kind) or isinstance(kind, pa.UuidType)


def _reads(domain: Column, kind: pa.DataType) -> bool:
    from pyarrow import types

    if isinstance(domain, dp.Boolean):
        return bool(types.is_boolean(kind))
    if holds_numbers(domain):
        unread = types.is_float16(kind) or types.is_decimal256(kind) or (types.is_decimal(kind) and kind.scale < 0)
        return not unread and bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
    if isinstance(domain, dp.Date):
        return bool(types.is_date(kind)) or (types.is_timestamp(kind) and kind.tz is None)
    if isinstance(domain, dp.Datetime):
        return bool(types.is_timestamp(kind))
    return _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def spoken(domain: Column) -> str:
    """Return what a message calls a column type."""
    of = f" of {'numbers' if holds_numbers(domain) else 'texts'}" if isinstance(domain, dp.Category) else ""
    return f"a dc.{type(domain).__name__}{of}"


def holds_numbers(domain: Column) -> bool:
    """Return whether a column is read from numbers."""
    if isinstance(domain, dp.Category):
        return isinstance(domain.values[0], int)
    return isinstance(domain, dp.Integer | dp.Real | dp.Bins)


def has_utf8(value: object) -> bool:
    """Return whether this is a text that has an encoding; one with a lone surrogate has none."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value


def _from_objects(values: list[object], domain: Column | None) -> Any:
    """Return Python objects as their declaration reads them; the rest is NULL, whatever it is."""
    import pyarrow as pa

    read, kind = _reader(domain)
    return pa.array([_kept(value, read) for value in values], kind)


def _kept(value: object, read: Callable[[object], object]) -> object:
    try:
        return None if is_missing(value) else read(value)
    except Exception:  # noqa: BLE001  an object may be anything, and no value may raise
        return None


def _reader(domain: Column | None) -> tuple[Callable[[object], object], pa.DataType]:
    import pyarrow as pa

    if domain is None:
        return _identifier, pa.string()
    if isinstance(domain, dp.Boolean):
        return lambda value: bool(value) if isinstance(value, bool | np.bool_) else None, pa.bool_()
    if isinstance(domain, dp.Real | dp.Bins):
        return _float, pa.float64()
    if holds_numbers(domain):
        return _whole, pa.int64()
    if isinstance(domain, dp.Date):
        return day_of, pa.date32()
    if isinstance(domain, dp.Datetime):
        zone = ZoneInfo(domain.zone)
        return lambda value: _on_the_wall(value, zone), pa.timestamp("us")
    return _text, pa.string()


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str) and has_utf8(value) else None


def _identifier(value: object) -> str | None:
    """A unit is known by its text: 12 and "12" are one unit, as a UUID and its text are."""
    if isinstance(value, str):
        return _text(value)
    number = whole(value) if isinstance(value, int | np.integer) else None
    return str(number) if number is not None else str(value) if isinstance(value, UUID) else None


def _whole(value: object) -> int | None:
    number = whole(value)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _float(value: object) -> float | None:
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        return None
    return float(value) if isinstance(value, int | float | np.integer | np.floating | Decimal) else None


def _on_the_wall(value: object, zone: ZoneInfo) -> datetime | None:
    """Return what a clock on the wall of the zone shows; an instant without a zone is what it shows."""
    if isinstance(value, np.datetime64):
        item = value.astype("M8[us]").item()
        return item if isinstance(item, datetime) else None  # far days are none
    if not isinstance(value, datetime):
        return None
    local = value if value.tzinfo is None else value.astimezone(zone)
    return datetime(local.year, local.month, local.day, local.hour, local.minute, local.second, local.microsecond)
