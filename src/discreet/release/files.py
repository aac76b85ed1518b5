"""Models as files: a NumPy archive of arrays, and the universe as JSON. They hold what is public already."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from discreet.dp.columns import Boolean, Category, Date, Integer
from discreet.dp.measured import Bins
from discreet.dp.universe import Finite, Universe
from discreet.errors import InvalidParameter
from discreet.release import learned
from discreet.release.mixture import MixtureModel
from discreet.release.model import DenseModel, Model
from discreet.release.query import Array

Json: TypeAlias = dict[str, Any]

_FORMAT = "discreet model 2"
_MOST_BYTES = 10**9  # of the arrays of one file: 1e8 cells in double precision, and some
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the ways in which NumPy packs
_ENCRYPTED = 1
_BROKEN = (
    ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, EOFError, RecursionError, MemoryError,
    zipfile.BadZipFile, zlib.error, NotImplementedError,
)  # fmt: skip


def write(path: str | Path, universe: Universe, arrays: dict[str, Array], told: Json | None = None) -> None:
    """Write the arrays of a model, its universe, and what it was `learned` from."""
    about = json.dumps({"format": _FORMAT, "columns": described(universe), "learned": told})
    with Path(path).open("wb") as file:
        savez: Callable[..., None] = np.savez_compressed
        savez(file, about=np.frombuffer(about.encode(), np.uint8), **arrays)


def load(path: str | Path) -> Model:
    """Read a model from a file that `save` wrote."""
    try:
        with Path(path).open("rb") as source, np.load(source, allow_pickle=False) as file:
            parts = file.zip.infolist()
            if sum(part.file_size for part in parts) > _MOST_BYTES:
                raise ValueError(_MOST_BYTES)
            if any(part.compress_type not in _PACKED or part.flag_bits & _ENCRYPTED for part in parts):
                raise ValueError(_PACKED)
            about, arrays = json.loads(file["about"].tobytes().decode()), {name: file[name] for name in file}
        if about["format"] != _FORMAT:
            raise KeyError(_FORMAT)
        universe, told = read(about["columns"]), about["learned"]
        if told is not None and "weights" in arrays:
            return learned.factored(universe, arrays, told)
        if told is not None:
            return learned.synthesized(universe, arrays["cells"], told)
        if "weights" in arrays:
            return MixtureModel.of_arrays(universe, arrays["rows"], arrays["weights"], arrays["shares"])
        return DenseModel(universe, arrays["cells"])
    except FileNotFoundError:
        raise InvalidParameter(f"there is no file {str(path)!r}.") from None
    except _BROKEN:
        raise InvalidParameter(f"{str(path)!r} is not a model that this version can read.") from None


def described(universe: Universe) -> list[Json]:
    """Return the columns of a universe as JSON can hold them."""
    return [{"name": name, **_described(column)} for name, column in universe.columns.items()]


def read(columns: list[Json]) -> Universe:
    """Return the universe that `described` described."""
    return Universe({column["name"]: _read(column) for column in columns})


def _described(column: Finite) -> Json:
    names = {"other": _plain(column.other), "null": _plain(column.null)}
    match column:
        case Category():
            return {"category": list(column.values), **names}
        case Integer():
            return {"integer": [column.lower, column.upper], **names}
        case Boolean():
            return {"boolean": [], **names}
        case Date():
            return {"date": [column.first.isoformat(), column.last.isoformat()], **names}
        case Bins():
            return {"bins": [str(edge) for edge in column.edges], **names}


def _read(column: Json) -> Finite:
    names = {"other": _valued(column["other"]), "null": _valued(column["null"])}
    match column:
        case {"category": values}:
            return Category(values, **names)
        case {"integer": [low, high]}:
            return Integer(low, high, **names)
        case {"boolean": _}:
            return Boolean(**names)
        case {"date": [first, last]}:
            return Date(date.fromisoformat(first), date.fromisoformat(last), **names)
        case {"bins": edges}:
            return Bins(edges, **names)
        case _:
            raise KeyError("column")


def _plain(name: object) -> object:
    return {"day": name.isoformat()} if isinstance(name, date) else name


def _valued(name: Any) -> Any:
    return date.fromisoformat(name["day"]) if isinstance(name, dict) else name
