"""Several tables together: read from a TOML description, and checked to protect one kind of unit."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from discreet import dp
from discreet.dp.domain import Column
from discreet.engine.table import Table
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported, Refused, Unavailable

TO_FILL_IN = "FILL IN"
"""What a draft has where someone who knows has to write a public fact."""

_BOUNDS = ("rows_per_unit", "groups_per_unit", "rows_per_group")
_TABLE_KEYS = ("source", "table", "unit", *_BOUNDS, "public", "version", "columns")
_SERVERS = ("postgresql://", "postgres://")

# What stands beside the type of a column, and how the two make a domain.
_TYPES: dict[str, tuple[tuple[str, ...], Callable[..., Column]]] = {
    "category": ((), lambda values: dp.Category(values)),
    "integer": ((), lambda ends: dp.Integer(*_two(ends))),
    "real": (("step",), lambda ends, **step: dp.Real(*_two(ends), **step)),
    "bins": ((), lambda edges: dp.Bins(edges)),
    "boolean": ((), lambda flag: _flag(flag, dp.Boolean())),
    "date": ((), lambda ends: dp.Date(*_two(ends))),
    "datetime": (("zone", "step"), lambda ends, **more: dp.Datetime(*_two(ends), **more)),
    "text": ((), lambda flag: _flag(flag, dp.Text())),
}


def load_tables(path: str | PathLike[str], *, spark: Any = None) -> tuple[Table, ...]:
    """Return the tables that a TOML file describes, in its order; each is called what its heading says.

    The path of a source starts at the folder of the file. A number with a fraction means the decimal as it is written.
    A table of Spark has `source = "spark"` and `table`, and is reached through the session `spark`.
    """
    where = Path(path)
    try:
        text = where.read_text("utf-8")
    except (OSError, ValueError):
        raise Unavailable(f"the description {where.name!r} cannot be read as UTF-8 text.") from None
    return tables_of(text, where, spark=spark)


def tables_of(text: str, where: Path, *, spark: Any = None) -> tuple[Table, ...]:
    """Return the tables of a description that stands in the file `where`."""
    try:
        facts = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(f"{where.name} is no TOML: {error!s:.200}.") from None
    _refuse_drafts(text, facts, where.name)
    if not facts or not all(isinstance(entry, dict) for entry in facts.values()):
        raise NeedsDeclaration(f"{where.name} describes tables under their names: write [visits] above its facts.")
    return tuple(
        _within(f"[{name}] in {where.name}", _table, name, entry, where, spark) for name, entry in facts.items()
    )


def catalog(tables: Table | Iterable[Table]) -> dict[str, Table]:
    """Return tables by name, or say why they cannot share a session and its budget.

    Guarantee: all private tables have one unit, so that whoever is protected in one of them is protected in all
      together; the caller must ensure that the column of that name means the same everywhere.
    """
    listed = [tables] if isinstance(tables, Table) else list(tables) if isinstance(tables, Iterable) else [tables]
    named: dict[str, Table] = {}
    for table in listed:
        if not isinstance(table, Table):
            raise InvalidParameter(
                f"a session has tables, made by dc.Table(source, ...), not a {type(table).__name__}."
            )
        if table.name.casefold() in (name.casefold() for name in named):
            raise InvalidParameter(f"two tables are called {table.name!r}: SQL names ignore case; rename one of them.")
        named[table.name] = table
    private = [table for table in named.values() if not table.public]
    if not private:
        raise InvalidParameter("a session protects someone: give it a table that is not public=True.")
    if len(private) > 1:
        _share_a_unit(private)
    return named


def _share_a_unit(private: list[Table]) -> None:
    for table in private:
        if table.unit is None:
            raise NotSupported(
                f"every row of table {table.name!r} is its own unit, and there are other private tables: one person "
                "may have rows in several, and nothing says which. Declare unit= and rows_per_unit= on each, mark "
                "what protects nobody public=True, or open a session for each table."
            )
        if table.unit != private[0].unit:
            raise NotSupported(
                f"the unit of table {private[0].name!r} is {private[0].unit!r} and that of {table.name!r} is "
                f"{table.unit!r}: private tables share a unit, by the same name. Rename the column in one of them."
            )


def _within(place: str, make: Callable[..., Any], *arguments: object) -> Any:
    """Return what is made, or a refusal that says in which part of the description."""
    try:
        return make(*arguments)
    except Refused as error:
        raise type(error)(f"{place}: {error}") from None


def _table(name: str, entry: Mapping[str, Any], where: Path, spark: object) -> Table:
    _refuse_unknown(entry, _TABLE_KEYS)
    if not isinstance(entry.get("source"), str):
        raise NeedsDeclaration('add source = "visits.parquet", the path of the rows from the folder of this file.')
    if not isinstance(entry.get("columns"), dict):
        raise NeedsDeclaration(f"add [{name}.columns] and below it a line for each column.")
    columns = {column: _within(column, _column, facts) for column, facts in entry["columns"].items()}
    others = {key: value for key, value in entry.items() if key not in ("source", "columns")}
    return Table(_source(entry["source"], where, spark), columns=columns, name=name, **others)


def _source(written: str, where: Path, spark: object) -> object:
    if written == "spark":
        if spark is None:
            raise NeedsDeclaration("a table of Spark is reached through a session: load_tables(path, spark=session).")
        return spark
    return written if written.startswith(_SERVERS) else where.parent / written


def _column(facts: object) -> Column:
    found = [key for key in facts if key in _TYPES] if isinstance(facts, dict) else []
    if not isinstance(facts, dict) or not facts:
        raise NeedsDeclaration("a column has a type: write for instance { integer = [0, 110] }.")
    if len(found) != 1:
        _refuse_unknown(facts, (*_TYPES, "step", "zone"))
        raise InvalidParameter(f"a column has one type of {', '.join(_TYPES)}; here are {len(found)}.")
    beside, make = _TYPES[found[0]]
    _refuse_unknown(facts, (found[0], *beside))
    if found == ["datetime"] and "zone" not in facts:
        raise NeedsDeclaration('add zone = "Europe/Zurich", the time zone in which instants are read.')
    return make(facts[found[0]], **{key: facts[key] for key in beside if key in facts})


def _refuse_unknown(entry: Mapping[str, object], known: tuple[str, ...]) -> None:
    for key in entry:
        if key not in known:
            nearest = get_close_matches(key, known, n=1, cutoff=0)[0]
            raise InvalidParameter(f"{key!r:.60} means nothing here; did you mean {nearest!r}?")


def _two(ends: object) -> tuple[Any, Any]:
    if not isinstance(ends, list) or len(ends) != 2:
        raise InvalidParameter(f"a range has two ends, for instance [0, 110]; got {ends!r:.60}.")
    return ends[0], ends[1]


def _flag(flag: object, domain: Column) -> Column:
    if flag is not True:
        raise InvalidParameter(f"this type has no facts: write {type(domain).__name__.lower()} = true.")
    return domain


def _refuse_drafts(text: str, facts: object, name: str) -> None:
    if not _holds_mark(facts):
        return
    lines, marks = text.split("\n"), (f'"{TO_FILL_IN}"', f"'{TO_FILL_IN}'")
    marked = (at for at, line in enumerate(lines, 1) if any(mark in line.partition("#")[0] for mark in marks))
    at = next(marked, len(lines))
    raise NeedsDeclaration(
        f"{name}, line {at}, is not filled in: {lines[at - 1].partition('#')[0].strip():.100}. Replace "
        f'"{TO_FILL_IN}" by a public fact, from someone who knows it and not from the rows, or remove the line.'
    )


def _holds_mark(facts: object) -> bool:
    if isinstance(facts, dict):
        return any(map(_holds_mark, facts.values()))
    return any(map(_holds_mark, facts)) if isinstance(facts, list) else facts == TO_FILL_IN
