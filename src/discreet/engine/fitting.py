"""Whether a table of a server or a cluster is as it is declared, by its schema alone; what it returned, by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.dialect import Dialect, Form, Held, Origin
from discreet.engine.emit import Bindings, Writer
from discreet.engine.expression import Column
from discreet.engine.plan import Relation
from discreet.engine.reading import read
from discreet.engine.relation import Statement
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration, Unavailable

_UNITS: tuple[Form, ...] = ("integer", "text", "uuid", "null")


def origin_of(table: Table, rows: str, columns: Mapping[str, Held]) -> Origin:
    """Return a table as an engine reaches it, or say which declared column it has not, in the letters declared."""
    for column in (*table.columns, *([table.unit] if table.unit is not None else [])):
        if column not in columns:
            raise Unavailable(
                f"the source of table {table.name!r} has no column {column!r}, in these letters, that can be read. "
                "Nothing was spent."
            )
    unit = columns[table.unit] if table.unit is not None else None
    if unit is not None and unit.form not in _UNITS:
        raise NeedsDeclaration(
            f"the unit {table.unit!r} of table {table.name!r} holds {spoken(unit)}; a unit is a whole number, a text "
            "or a UUID: convert it in the source."
        )
    return Origin(rows, columns, unit, {})


def misfit(table: Table, column: str, held: Held) -> NeedsDeclaration:
    """Return the refusal of a column that its declaration does not read."""
    return NeedsDeclaration(
        f"column {column!r} of table {table.name!r} holds {spoken(held)}, which a "
        f"dc.{type(table.columns[column]).__name__} does not read; declare it as what it holds, or convert it in the "
        "source."
    )


def unknown_zone(table: Table, column: str, engine: str) -> NeedsDeclaration:
    """Return the refusal of a time zone that an engine does not know, or not by rules."""
    return NeedsDeclaration(
        f"column {column!r} of table {table.name!r} declares a time zone that {engine} does not know as a place; write "
        "for instance 'Europe/Zurich', or 'UTC'."
    )


def unreachable(table: Table) -> Unavailable:
    """Return the one reply for a source that cannot be reached, whatever the reason."""
    return Unavailable(f"the source of table {table.name!r} cannot be reached or read. Nothing was spent.")


def check_units(tables: Sequence[Table], origins: Sequence[Origin]) -> None:
    """Refuse tables whose units are of different kinds: 7 and '007' are not known to be one person."""
    units = [origin.unit for table, origin in zip(tables, origins, strict=True) if not table.public]
    forms = {unit.form for unit in units if unit is not None} - {"null"}
    if len(forms) > 1:
        named = " and ".join(table.name for table in tables if not table.public)
        raise NeedsDeclaration(
            f"the units of {named} are of different types ({', '.join(sorted(forms))}) and cannot be compared; convert "
            "them to one type in the sources."
        )


def spoken(held: Held) -> str:
    """Return what a column holds, as its own engine calls it."""
    return held.type if held.type.replace(" ", "").replace("_", "").isalnum() else "values of a type of its own"


def most_alike(table: Table, columns: Sequence[str], origin: Origin, dialect: Dialect) -> Statement:
    """Return the statement of how many rows of a public table have the same values in some columns, at most: `n`."""
    bindings = Bindings()
    writer = Writer(dialect, {}, bindings)
    raw = ", ".join(f"{origin.columns[column].sql} AS raw_{place}" for place, column in enumerate(columns))
    values = []
    for place, column in enumerate(columns):
        held = origin.columns[column]
        values.append(f"{read(table.columns[column], Held(f'raw_{place}', held.form, held.type), writer)} AS c{place}")
    names = [f"c{place}" for place in range(len(columns))]
    rows = f"SELECT {', '.join(values)} FROM ({writer.layered(f'SELECT {raw} FROM {origin.rows} AS s')}) AS r"
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    counted = f"SELECT COUNT(*) AS n FROM ({rows}) AS r WHERE {known} GROUP BY {', '.join(names)}"
    text = f"SELECT COALESCE(MAX(n), 1) AS n FROM ({counted}) AS r"
    return Statement(text, (), bindings.parameters | dict(origin.parameters), bindings.lists)


def public_joins(relation: Relation) -> Iterator[tuple[int, tuple[str, ...], int]]:
    """Yield each public table that is joined, on which of its columns, and how many of its rows one row may find.

    It was counted when the question was planned, and the bounds are those of what was counted then: where the table has
    changed since, the question fails.
    """
    for join in relation.joins:
        if not join.by_unit:
            yield join.scan, tuple(sorted({key.name for _, key in join.on if isinstance(key, Column)})), join.fan_out


def changed(table: Table) -> Unavailable:
    """Return what says that a public table is not what it was when the question was planned."""
    return Unavailable(f"the public table {table.name!r} changed after this question was planned; ask it again.")


def by_column(names: Sequence[str], columns: Iterable[Sequence[object]]) -> dict[str, NDArray[np.generic]]:
    """Return columns of Python values as arrays: whole numbers, or objects; masked where one is missing."""
    return {name: _column(values) for name, values in zip(names, columns, strict=True)}


def _column(values: Sequence[object]) -> NDArray[np.generic]:
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    missing = [value is None for value in values]
    filled = np.array([0 if value is None else value for value in values], dtype=object)
    return np.ma.masked_array(filled, missing) if any(missing) else filled
