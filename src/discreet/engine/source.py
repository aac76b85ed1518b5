"""Where the rows of a table are: in a file, or in a frame that was copied when the table was declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet import dp
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS: dict[str, Literal["parquet", "csv"]] = {".parquet": "parquet", ".csv": "csv"}
_GLOB = frozenset("*?[]{}")  # an engine would take such a path for a pattern over many files


@dataclass(frozen=True, slots=True)
class File:
    """One file. It is opened when a question is asked, not before."""

    path: str
    format: Literal["parquet", "csv"]

    @property
    def stem(self) -> str:
        """The name of the file without its ending."""
        return Path(self.path).stem


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """The declared columns of a frame, as an Arrow table of our own."""

    rows: pa.Table


def source_of(source: object, columns: Mapping[str, object]) -> File | Frame:
    """Return where the rows are, or refuse a source of another kind."""
    if isinstance(source, str | PathLike):
        return _file(Path(source))
    library = type(source).__module__.partition(".")[0]
    match library, type(source).__name__:
        case "pandas", "DataFrame":
            return Frame(_from_pandas(source, columns))
        case "polars", "DataFrame":
            frame = cast(Any, source)
            present = _present(columns, frame.columns)
            return Frame(frame.select(present).to_arrow())
        case "pyarrow", "Table":
            frame = cast(Any, source)
            return Frame(frame.select(_present(columns, frame.column_names)))
        case "polars", "LazyFrame":
            raise NotSupported("a polars LazyFrame is a plan, not a table: pass frame.collect().")
    raise InvalidParameter(
        f"a table is read from a Parquet or CSV path or a pandas, polars or Arrow table, not a {type(source).__name__}."
    )


def _file(path: Path) -> File:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise InvalidParameter("a table is read from one .parquet or .csv file; give its path with that ending.")
    absolute = str(path.resolve())
    if _GLOB & set(absolute):
        raise NotSupported(f"a path holds none of {' '.join(sorted(_GLOB))} here: one table is one file. Rename it.")
    return File(absolute, form)


def _present(columns: Mapping[str, object], found: list[str]) -> list[str]:
    for column in columns:
        if found.count(column) != 1:
            raise InvalidParameter(f"the frame has {found.count(column)} columns {column!r}; it needs exactly one.")
    return [column for column, domain in columns.items() if isinstance(domain, tuple(_OBJECTS))]


# What an object column of a frame may hold, by declaration and not by what is found in it: the rest is NULL.
_OBJECTS: dict[type, Callable[[object], bool]] = {
    dp.Category: lambda value: isinstance(value, str | int) and not isinstance(value, bool),
    dp.Integer: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    dp.Boolean: lambda value: isinstance(value, bool),
}


def _from_pandas(source: object, columns: Mapping[str, object]) -> pa.Table:
    import pyarrow as pa

    frame = cast(Any, source)
    arrays: dict[str, object] = {}
    for column in _present(columns, list(frame.columns)):
        series = frame[column].copy(deep=True)  # what the caller does to the frame later changes nothing here
        if series.dtype == object:
            arrays[column] = _from_objects(series.tolist(), columns[column])
        else:
            arrays[column] = pa.array(series, from_pandas=True)
    return pa.table(arrays) if arrays else pa.table({"row": pa.nulls(len(frame))})


def _from_objects(values: list[object], domain: object) -> object:
    import pyarrow as pa

    holds = _OBJECTS[type(domain)]
    kept = [value if holds(value) else None for value in values]
    if isinstance(domain, dp.Boolean):
        return pa.array(kept, pa.bool_())
    if holds_numbers(domain):
        return pa.array([_float(value) for value in kept], pa.float64())
    return pa.array([_utf8(value) for value in kept], pa.string())


def holds_numbers(domain: object) -> bool:
    """Return whether the declared values of a column are whole numbers."""
    return isinstance(domain, dp.Integer) or (isinstance(domain, dp.Category) and isinstance(domain.values[0], int))


def _utf8(value: object) -> str | None:
    """Return a text that has an encoding; a lone surrogate has none and is NULL."""
    return value if isinstance(value, str) and value.encode("utf-8", "replace").decode() == value else None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 2**53 else None
