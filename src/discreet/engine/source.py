"""Where the rows of a table are: in a file, or in a frame that was copied when the table was declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet import dp
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS: dict[str, Literal["parquet", "csv"]] = {".parquet": "parquet", ".csv": "csv"}
_LISTED = 50  # columns that a message names
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
    frame, library = cast(Any, source), type(source).__module__.partition(".")[0]
    match library, type(source).__name__:
        case "pandas", "DataFrame":
            return _frame(frame, list(frame.columns), columns, _from_pandas)
        case "polars", "DataFrame":
            return _frame(frame, frame.columns, columns, lambda series, _: series.to_arrow())
        case "pyarrow", "Table":
            return _frame(frame, frame.column_names, columns, lambda array, _: array)
        case "polars", "LazyFrame":
            raise NotSupported("a polars LazyFrame is a plan, not a table: pass frame.collect().")
    raise InvalidParameter(
        f"a table is read from a Parquet or CSV path or a pandas, polars or Arrow table, not a {type(source).__name__}."
    )


def _file(path: Path) -> File:
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise InvalidParameter("a table is read from one .parquet or .csv file; give its path with that ending.")
    absolute = ""
    with suppress(OSError, ValueError, RuntimeError):  # links in a circle, or what is no text of the file system
        absolute = str(path.resolve()).encode().decode()
    if not absolute:
        raise InvalidParameter("this path leads to no file; give the path of one .parquet or .csv file.")
    if _GLOB & set(absolute):
        raise NotSupported(f"a path holds none of {' '.join(sorted(_GLOB))} here: one table is one file. Rename it.")
    return File(absolute, form)


def _frame(frame: Any, names: list[str], columns: Mapping[str, object], read: Callable[[Any, object], Any]) -> Frame:
    """Return the columns of a frame that can be grouped by, each as its declaration reads it."""
    import pyarrow as pa

    found = Counter(names)
    for column in columns:
        if not found[column]:
            raise InvalidParameter(f"the frame has no column {column!r}; {_instead_of(column, frame, names)}")
        if found[column] > 1:
            raise InvalidParameter(f"the frame has {found[column]} columns {column!r}; leave or rename all but one.")
    keys = [column for column, domain in columns.items() if isinstance(domain, tuple(_OBJECTS))]
    arrays = {column: _readable(frame[column], column, columns[column], read) for column in keys}
    return Frame(pa.table(arrays or {"row": pa.nulls(len(frame))}))


def _instead_of(column: str, frame: Any, names: list[str]) -> str:
    if column in getattr(getattr(frame, "index", None), "names", ()):
        return "it has an index of that name: frame.reset_index() makes it a column."
    listed = ", ".join(f"{name!s:.60}" for name in names[:_LISTED]) or "none"
    return f"it has {listed}{' and more' if len(names) > _LISTED else ''}."


def _readable(values: object, column: str, domain: object, read: Callable[[Any, object], Any]) -> Any:
    """Return a column as an Arrow array, or refuse one that its declaration does not read.

    It is refused here, where the curator declares it, and not when a question is asked: what type a frame gives to a
    column may come from its rows. For the same reason a column that holds nothing is of every type.
    """
    import pyarrow as pa

    array = None
    with suppress(ValueError, TypeError, NotImplementedError):  # their texts may hold a cell
        unchecked = read(values, domain)
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
    if not _reads(domain, kind):
        raise NeedsDeclaration(
            f"column {column!r} of the frame holds {kind!s:.60}, which {_spoken(domain)} does not read; "
            "declare it as what it holds, or convert it in the frame."
        )
    return array


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, of a column that holds each value once and numbers for the rows."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) or types.is_run_end_encoded(kind) else kind


def _reads(domain: object, kind: pa.DataType) -> bool:
    from pyarrow import types

    if isinstance(domain, dp.Boolean):
        return bool(types.is_boolean(kind))
    if holds_numbers(domain):
        unread = types.is_float16(kind) or types.is_decimal256(kind)
        return not unread and bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _spoken(domain: object) -> str:
    of = f" of {'numbers' if holds_numbers(domain) else 'texts'}" if isinstance(domain, dp.Category) else ""
    return f"a dc.{type(domain).__name__}{of}"


# What an object column of a frame may hold, by declaration and not by what is found in it: the rest is NULL.
_OBJECTS: dict[type, Callable[[object], bool]] = {
    dp.Category: lambda value: isinstance(value, str | int) and not isinstance(value, bool),
    dp.Integer: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    dp.Boolean: lambda value: isinstance(value, bool),
}


def _from_pandas(series: Any, domain: object) -> Any:
    import pyarrow as pa

    if series.dtype == object:
        return _from_objects(series.tolist(), domain)
    return pa.array(series.copy(deep=True), from_pandas=True)  # what happens to the frame later changes nothing here


def _from_objects(values: list[object], domain: object) -> Any:
    import pyarrow as pa

    holds = _OBJECTS[type(domain)]
    kept = [value if holds(value) else None for value in values]
    if isinstance(domain, dp.Boolean):
        return pa.array(kept, pa.bool_())
    if holds_numbers(domain):
        return pa.array([_float(value) for value in kept], pa.float64())
    return pa.array([value if has_utf8(value) else None for value in kept], pa.string())


def holds_numbers(domain: object) -> bool:
    """Return whether the declared values of a column are whole numbers."""
    return isinstance(domain, dp.Integer) or (isinstance(domain, dp.Category) and isinstance(domain.values[0], int))


def has_utf8(value: object) -> bool:
    """Return whether this is a text that has an encoding; one with a lone surrogate has none."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 2**53 else None
