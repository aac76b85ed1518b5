"""A table with the public facts about it: its name, its version, whom it is about and what its columns may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.dp.domain import Column
from discreet.engine.declared import checked_columns, checked_name, checked_unit, checked_version
from discreet.engine.description import Description
from discreet.engine.source import Frame, Source, source_of
from discreet.errors import NeedsDeclaration

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Readable: TypeAlias = str | PathLike[str] | pd.DataFrame | pl.DataFrame | pa.Table | Any  # Any is one of Spark's

Domain = Column

_LISTED = 50  # columns that a message names


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Table:
    """A table about people: where its rows are, and everything about it that is public.

    Guarantee: what is protected is all rows of one unit, the owner of what stands in the column `unit`; without `unit`
      it is one row. A unit has as many rows as it likes: what counts of them is bounded by `rows_per_unit`,
      `groups_per_unit` and `rows_per_group`, which change noise and bias and never what is protected. A row without a
      unit is dropped. Columns that are not declared are invisible. A value outside its declared domain counts as NULL
      and never raises. A table with `public=True` protects nobody.
      The caller must ensure that the declarations are public facts and were not read off the rows, that no person has
      two values of `unit` (and, without `unit`, no two rows), and that a CSV file was written by a program that quotes
      its cells: a quote that is never closed takes the next rows with it, and a line break of any kind that is not in
      quotes begins another row.

    `source` is the path of a Parquet or CSV file or a pattern such as "visits/*.parquet"; a pandas, polars or Arrow
    frame, which is copied; a postgresql:// URL with `table=`; a Spark DataFrame, or a SparkSession with `table=`.
    `name` is that of the file or the table unless given; a frame or a pattern needs one. Another `version` says that
    the rows have changed.

    >>> from discreet import dp
    >>> visits = Table("visits.parquet", unit="patient_id", rows_per_unit=20, columns={"age": dp.Integer(0, 110)})
    >>> visits.name, visits.unit, visits.rows_per_unit
    ('visits', 'patient_id', 20)
    """

    source: Source
    columns: Mapping[str, Column]
    name: str
    version: str
    unit: str | None
    rows_per_unit: int | None
    groups_per_unit: int | None
    rows_per_group: int | None
    public: bool
    fingerprint: str = field(init=False)

    def __init__(
        self,
        source: Readable,
        *,
        columns: Mapping[str, Column],
        unit: str | None = None,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        rows_per_group: int | None = None,
        public: bool = False,
        name: str | None = None,
        version: str = "1",
        table: str | None = None,
    ) -> None:
        declared = checked_columns(columns)
        given = {
            "rows_per_unit": rows_per_unit,
            "groups_per_unit": groups_per_unit,
            "rows_per_group": rows_per_group,
        }
        bounds = checked_unit(unit, declared, given, public=public)
        origin = source_of(source, declared, unit=unit, table=table)
        attributes = {
            "source": origin,
            "columns": MappingProxyType(declared),
            "name": checked_name(name, origin.stem),
            "version": checked_version(version),
            "unit": unit,
            "public": public,
            **bounds,
        }
        for attribute, value in attributes.items():
            object.__setattr__(self, attribute, value)
        object.__setattr__(self, "fingerprint", self.description.fingerprint)

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
        return Description(
            name=self.name,
            version=self.version,
            public=self.public,
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
            groups_per_unit=self.groups_per_unit,
            rows_per_group=self.rows_per_group,
            columns=self.columns,
            notes=self.source.notes if isinstance(self.source, Frame) else (),
        )

    def __repr__(self) -> str:
        return repr(self.description)
