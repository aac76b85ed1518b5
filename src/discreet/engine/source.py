"""Where the rows of a table are: in files, in a frame that was copied, on a PostgreSQL server, or in Spark."""

from __future__ import annotations

import csv
import glob
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.engine.frame import FRAMES, rows_of
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.dp.domain import Column

Format = Literal["parquet", "csv"]

_FORMATS: dict[str, Format] = {".parquet": "parquet", ".csv": "csv"}
_PATTERN = frozenset("*?[")  # what makes a pattern of a path
_UNREAD = frozenset("*?[]{}")  # an engine would take a path with one of these for a pattern of its own
_SERVER = ("postgresql://", "postgres://")
_LONGEST = 4_096  # characters of a path, a URL or the name of a table


@dataclass(frozen=True, slots=True)
class File:
    """Files of one format, each once, by their full paths. They are opened when a question is asked, not before.

    A pattern is expanded once, when the table is declared; where nothing matched there are no paths.
    """

    paths: tuple[str, ...]
    format: Format
    stem: str | None = field(default=None, compare=False)  # the name of a single file without its ending


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """The declared columns of a frame and its unit, as an Arrow table of our own."""

    rows: pa.Table
    notes: tuple[str, ...] = ()

    @property
    def stem(self) -> None:
        """A frame has no name."""


@dataclass(frozen=True, slots=True)
class Database:
    """A table or view of a PostgreSQL server, in the letters of its catalog. The URL is a secret and never shown."""

    url: str = field(repr=False)
    table: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that lead to it, the last one its own."""
        return tuple(self.table.split("."))

    @property
    def stem(self) -> str:
        """Its own name."""
        return self.parts[-1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SparkTable:
    """A DataFrame of the caller's Spark session, or a table of its catalog: one of `frame` and `table` is None."""

    session: Any
    frame: Any
    table: str | None

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that lead to a table of the catalog, the last one its own."""
        return tuple(self.table.split(".")) if self.table else ()

    @property
    def stem(self) -> str | None:
        """The name of a table of the catalog."""
        return self.parts[-1] if self.table else None


Source = File | Frame | Database | SparkTable


def source_of(
    source: object, columns: Mapping[str, Column], *, unit: str | None = None, table: str | None = None
) -> Source:
    """Return where the rows are, or refuse a source of another kind."""
    if isinstance(source, str) and source.startswith(_SERVER):
        return _database(source, table)
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__}
    if ("pyspark", "SparkSession") in kinds:
        return SparkTable(source, None, _table_name(table, most=3))
    if table is not None:
        raise InvalidParameter(
            "table= names a table of a PostgreSQL server or of a Spark session; leave it out for files and frames."
        )
    if isinstance(source, str | PathLike):
        return file_of(Path(source))
    if ("pyspark", "DataFrame") in kinds:
        return _spark(source)
    if ("polars", "LazyFrame") in kinds:
        raise NotSupported("a polars LazyFrame is a plan, not a table: pass frame.collect().")
    found = next((kind for kind in FRAMES if kind in kinds), None)
    if found is not None:
        return Frame(*rows_of(source, found[0], columns, unit))
    raise InvalidParameter(
        "a table is read from a path of Parquet or CSV files, a postgresql:// URL, or a pandas, polars, Arrow or Spark "
        f"table, not a {type(source).__name__}."
    )


def file_of(path: Path) -> File:
    """Return the files of a path or of a pattern."""
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise InvalidParameter(
            "a table is read from .parquet or .csv files, a postgresql:// URL, or a frame; give a path or a pattern "
            'with one of these endings, for instance "visits/*.parquet".'
        )
    is_pattern = bool(_PATTERN & set(str(path)))
    written = glob.glob(str(path), recursive=True) if is_pattern and "\0" not in str(path) else [str(path)]  # noqa: PTH207  pathlib has no patterns with a root
    found = [Path(one) for one in written]
    resolved = {_resolved(one) for one in found if not is_pattern or one.is_file()}  # a link is not a second file
    return File(tuple(sorted(resolved)), form, None if is_pattern else path.stem)


def _resolved(path: Path) -> str:
    absolute = ""
    with suppress(OSError, ValueError, RuntimeError):  # links in a circle, or what is no text of the file system
        absolute = str(path.resolve()).encode().decode()
    if not absolute:
        raise InvalidParameter("this path leads to no file; give the path of a .parquet or .csv file.")
    if _UNREAD & set(absolute):
        raise NotSupported(f"a file and its folders have none of {' '.join(sorted(_UNREAD))} in their names; rename.")
    return absolute


def header_of(path: str) -> list[str]:
    """Return the column names of a CSV file: its first line, which is public. ValueError if it is no header."""
    with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file), [])
    if not names or len(set(map(str.casefold, names))) != len(names):
        raise ValueError
    return names


def _database(url: str, table: str | None) -> Database:
    if len(url) > _LONGEST or not url.isprintable():
        raise InvalidParameter("a URL of a server is one line of printable characters: postgresql://user@host/name.")
    return Database(url, _table_name(table, most=2))


def _table_name(table: str | None, *, most: int) -> str:
    parts = table.split(".") if isinstance(table, str) else []
    if not 1 <= len(parts) <= most or not all(part and part.isprintable() for part in parts) or len(str(table)) > 500:
        wanted = "schema.visits" if most == 2 else "database.visits"
        raise InvalidParameter(
            f'add table="{wanted}": the name of a table or view, in the letters that its catalog has, with at most '
            f"{most - 1} dots."
        )
    return ".".join(parts)


def _spark(frame: Any) -> SparkTable:
    if type(frame).__module__.startswith("pyspark.pandas"):
        raise NotSupported("a table of pandas on Spark has an index: pass frame.to_spark().")
    if getattr(frame, "isStreaming", False):
        raise NotSupported("a stream has no end: pass a Spark DataFrame of a table.")
    return SparkTable(frame.sparkSession, frame, None)
