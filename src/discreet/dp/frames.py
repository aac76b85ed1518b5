"""Tables of other libraries, read column by column without importing them, and rows given back as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    import pandas as pd

Bits: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.float64]
"""An array of numbers, truth values or instants of any NumPy type; floats stand for them all."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A part of a column that NumPy holds as numbers, truth values or instants, and where it is missing."""

    array: Numbers
    missing: Bits | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """A part of a column that holds each value once, and its number for every row; -1 is missing."""

    numbers: NDArray[np.int64]
    keys: list[object]


@dataclass(frozen=True, slots=True)
class Objects:
    """A part of a column as Python objects."""

    values: Sequence[object]


@dataclass(frozen=True, slots=True)
class Foreign:
    """A part of a column of a kind that no declared value has."""

    missing: Bits


Part: TypeAlias = Plain | Keyed | Objects | Foreign


class Rows(dict[str, Numbers]):
    """Rows, as an array of declared values for each column."""

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a pandas frame."""
        try:
            import pandas as pd
        except ImportError:
            raise NotSupported("a frame needs pandas: install discreet[pandas], or use the arrays.") from None
        return pd.DataFrame(dict(self))


class _Arrow(Protocol):
    type: object
    indices: _Arrow
    dictionary: _Arrow
    chunks: list[_Arrow]

    def is_null(self) -> _Arrow: ...
    def fill_null(self, value: object) -> _Arrow: ...
    def to_numpy(self, *, zero_copy_only: bool) -> Numbers: ...
    def to_pylist(self) -> list[object]: ...
    def dictionary_encode(self) -> _Arrow: ...
    def as_py(self) -> object: ...
    def __iter__(self) -> Iterator[_Arrow]: ...


class _Codes(Protocol):
    codes: _Series
    categories: _Series


class _Series(Protocol):
    dtype: np.dtype[np.void]
    array: _Series
    cat: _Codes

    def to_numpy(self) -> Numbers: ...
    def isna(self) -> _Series: ...
    def tolist(self) -> list[object]: ...
    def to_list(self) -> list[object]: ...
    def to_arrow(self) -> _Arrow: ...
    def __arrow_array__(self) -> _Arrow: ...


class _Frame(Protocol):
    columns: Sequence[str]
    column_names: Sequence[str]

    def __getitem__(self, name: str) -> object: ...
    def select(self, names: list[str]) -> _Frame: ...
    def collect_schema(self) -> Mapping[str, object]: ...
    def collect(self) -> _Frame: ...


def columns_of(frame: object, names: Sequence[str]) -> Iterator[list[Part]]:
    """Yield the parts of each named column of a pandas, polars or Arrow table, or of a mapping of arrays."""
    kinds = {(base.__module__.partition(".")[0], base.__name__) for base in type(frame).__mro__}
    table = cast(_Frame, frame)
    if ("polars", "LazyFrame") in kinds:
        _named_once(names, list(table.collect_schema()))
        table = table.select(list(names)).collect()
    elif kinds & {("pandas", "DataFrame"), ("polars", "DataFrame")}:
        _named_once(names, list(table.columns))
    elif kinds & {("pyarrow", "Table"), ("pyarrow", "RecordBatch")}:
        _named_once(names, list(table.column_names))
    elif isinstance(frame, Mapping):
        _named_once(names, list(frame))
    else:
        raise InvalidParameter(
            "rows are a pandas, polars or Arrow table, or a mapping of column names to arrays, not a "
            f"{type(frame).__name__}."
        )
    return (_parts(table[name]) for name in names)


def _named_once(names: Sequence[str], found: list[object]) -> None:
    for name in names:
        if found.count(name) != 1:
            raise InvalidParameter(f"the rows have {found.count(name)} columns {name!r}; it needs exactly one.")


def _parts(values: object) -> list[Part]:
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow":
        return _arrow_parts(cast(_Arrow, values))
    if library == "pandas":
        return _pandas_parts(cast(_Series, values))
    if library == "polars":
        series = cast(_Series, values)
        foreign = str(series.dtype) in ("Object", "Int128", "UInt128")  # kinds that Arrow does not have
        return [Objects(series.to_list())] if foreign else _arrow_parts(series.to_arrow())
    if isinstance(values, np.ndarray):
        return [_numpy_part(values)]
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return [Objects(values)]
    raise InvalidParameter(f"a column is an array or a list, not a {type(values).__name__}.")


def _numpy_part(array: Numbers) -> Part:
    if array.ndim != 1:
        raise InvalidParameter(f"a column is an array with one axis; got {array.ndim}.")
    missing = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    plain = np.asarray(array)
    if plain.dtype.kind in "biufM":
        return Plain(plain, missing)
    if plain.dtype.kind in "OUT":
        held: list[object] = plain.tolist()
        return Objects(held if missing is None else [None if m else v for v, m in zip(held, missing, strict=True)])
    return Foreign(np.zeros(len(plain), np.bool_) if missing is None else missing)


def _pandas_parts(series: _Series) -> list[Part]:
    if isinstance(series.dtype, np.dtype):
        return [_numpy_part(series.to_numpy())]
    kind = str(series.dtype)
    if kind == "category":
        return [
            Keyed(series.cat.codes.to_numpy().astype(np.int64), list(series.cat.categories.to_numpy()))
        ]  # tolist refuses far dates
    if hasattr(series.array, "__arrow_array__"):
        return _arrow_parts(series.array.__arrow_array__())
    if kind.startswith("datetime64"):  # in a time zone: an instant, and no day
        return [Foreign(series.isna().to_numpy().astype(np.bool_))]
    return [_numpy_part(np.asarray(series.array))]


def _arrow_parts(values: _Arrow) -> list[Part]:
    return [_arrow_part(chunk) for chunk in (values.chunks if hasattr(values, "chunks") else [values])]


def _arrow_part(chunk: _Arrow) -> Part:
    missing = chunk.is_null().to_numpy(zero_copy_only=False).astype(np.bool_)
    kind = str(chunk.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        return Plain(chunk.fill_null(0).to_numpy(zero_copy_only=False), missing)
    if kind == "bool":
        return Plain(chunk.fill_null(False).to_numpy(zero_copy_only=False), missing)
    if kind.startswith("date") or (kind.startswith("timestamp") and "tz=" not in kind):
        return Plain(chunk.to_numpy(zero_copy_only=False), missing)
    if kind.startswith("dictionary") or kind in ("string", "large_string", "string_view"):
        encoded = chunk if kind.startswith("dictionary") else chunk.dictionary_encode()
        numbers = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return Keyed(np.where(missing, -1, numbers), _values(encoded.dictionary))
    if kind.startswith(("decimal", "run_end_encoded")):
        return Objects(_values(chunk))
    return Foreign(missing)


def _values(array: _Arrow) -> list[object]:
    try:
        return array.to_pylist()
    except (ValueError, TypeError, NotImplementedError, OverflowError):  # text that is not UTF-8, among others
        return [_value(one) for one in array]


def _value(scalar: _Arrow) -> object:
    try:
        return scalar.as_py()
    except (ValueError, TypeError, NotImplementedError, OverflowError):
        return NotImplemented  # something that no column declares
