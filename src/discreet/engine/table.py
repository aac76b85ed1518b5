"""A table with the public facts about it: its name, its version and what its columns may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from discreet import dp
from discreet.engine.source import File, Frame, has_utf8, source_of
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Readable: TypeAlias = str | PathLike[str] | pd.DataFrame | pl.DataFrame | pa.Table

Domain = dp.Category | dp.Integer | dp.Real | dp.Boolean | dp.Date | dp.Datetime | dp.Text

COUNT = "COUNT(*)"  # what a count is called inside; no column may have that name
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_LONGEST = 200  # characters of a column name
_LISTED = 50  # columns that a message names


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """The public facts about a table."""

    name: str
    version: str
    columns: Mapping[str, Domain]

    def __repr__(self) -> str:
        columns = "".join(f"\n  {name}: {_short(repr(domain))}" for name, domain in self.columns.items())
        return f"table {self.name}, version {self.version}; every row is its own unit; columns:{columns}"


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Table:
    """A table about people: where its rows are, and everything about it that is public.

    Guarantee: what is protected is one row, added or removed; every row is its own unit. Columns that are not
      declared are invisible. A value outside its declared domain counts as NULL and never raises.
      The caller must ensure that the declarations are public facts and were not read off the rows, and that a CSV
      file was written by a program that quotes its cells: a quote that is never closed takes the next rows with it,
      and a line break of any kind that is not in quotes begins another row.

    `source` is the path of a Parquet or CSV file, or a pandas, polars or Arrow frame, which is copied. `name` is the
    stem of the file unless given; a frame needs one. Another `version` says that the rows have changed.
    """

    source: File | Frame
    columns: Mapping[str, Domain]
    name: str
    version: str

    def __init__(
        self,
        source: Readable,
        *,
        columns: Mapping[str, Domain],
        unit: str | None = None,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        rows_per_group: int | None = None,
        public: bool = False,
        name: str | None = None,
        version: str = "1",
    ) -> None:
        _every_row_is_a_unit(
            unit=unit,
            rows_per_unit=rows_per_unit,
            groups_per_unit=groups_per_unit,
            rows_per_group=rows_per_group,
        )
        if public is not False:
            raise NotSupported("public= is not offered here: every table is private; leave public= out.")
        declared = _declared(columns)
        origin = source_of(source, declared)
        object.__setattr__(self, "source", origin)
        object.__setattr__(self, "columns", MappingProxyType(declared))
        object.__setattr__(self, "name", _named(name, origin))
        object.__setattr__(self, "version", _versioned(version))

    def column(self, written: str) -> str:
        """Return the declared column that a question calls `written`: SQL names ignore case."""
        for column in self.columns:
            if column.casefold() == written.casefold():
                return column
        listed = ", ".join(islice(self.columns, _LISTED)) + (" and more" if len(self.columns) > _LISTED else "")
        raise NeedsDeclaration(
            f"table {self.name!r} declares no column {written[:60]!r}; it declares {listed}. Use one of these, or add "
            "the column to columns= of the table."
        )

    @property
    def description(self) -> Description:
        """What anyone may know about it."""
        return Description(self.name, self.version, self.columns)

    def __repr__(self) -> str:
        return repr(self.description)


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


def _every_row_is_a_unit(**bounds: object) -> None:
    for name, value in bounds.items():
        if value is not None:
            raise NotSupported(
                f"{name}={value!r:.60} is not offered here: every row is its own unit, and one row is what is "
                f"protected. Leave {name}= out if no person has two rows; do not use this table otherwise."
            )


def _declared(columns: Mapping[str, Domain]) -> dict[str, Domain]:
    if not isinstance(columns, Mapping) or not columns:
        raise NeedsDeclaration('a table declares its columns: columns={"sex": dc.Category(["Female", "Male"])}.')
    seen: set[str] = set()
    for column, domain in columns.items():
        if not isinstance(column, str) or not column.isprintable() or not 0 < len(column) <= _LONGEST:
            raise InvalidParameter(f"a column name is 1 to {_LONGEST} printable characters, not {column!r:.60}.")
        if column == COUNT:
            raise InvalidParameter(f"a column cannot be called {COUNT!r}; rename it in the source.")
        if column.casefold() in seen:
            raise InvalidParameter(f"two columns are called {column!r}: SQL names ignore case; rename one of them.")
        if not isinstance(domain, Domain):
            raise InvalidParameter(
                f"column {column!r} is declared as {domain!r:.60}; write for instance dc.Category([...]), "
                "dc.Integer(lo, hi) or dc.Boolean()."
            )
        if isinstance(domain, dp.Category | dp.Integer | dp.Boolean | dp.Date) and domain.extra:
            raise NotSupported(
                f"column {column!r} declares cells with other= or null=, which a universe counts and SQL does not; "
                "leave them out here."
            )
        if isinstance(domain, dp.Category) and not all(
            isinstance(value, int) or has_utf8(value) for value in domain.values
        ):
            raise InvalidParameter(f"column {column!r} declares a value that is no Unicode text; leave it out.")
        seen.add(column.casefold())
    return dict(columns)


def _named(name: str | None, origin: File | Frame) -> str:
    found = name if name is not None or isinstance(origin, Frame) else origin.stem
    if found is None:
        raise InvalidParameter('a frame has no name: add name="visits", which questions then use in FROM.')
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise InvalidParameter(
            f'the table would be called {found!r:.60}; give it a name of letters, digits and _: name="visits".'
        )
    return found


def _versioned(version: str) -> str:
    if not isinstance(version, str) or not version.isprintable() or not 0 < len(version) <= _LONGEST:
        raise InvalidParameter(f'version is a short text such as "2", not {version!r:.60}.')
    return version
