"""What a name in a question means: a declared column of a table, an output of a subquery, or the unit of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from discreet.engine.expression import Column, Expression
from discreet.engine.kinds import column
from discreet.engine.refusals import located, refusal, shown, undeclared
from discreet.engine.syntax import Name, Position
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration

_LISTED = 50  # names that a message holds


@dataclass(frozen=True, slots=True)
class Owner:
    """The unit of a scan: it is counted and joined on, and it is no value of a row."""

    scan: int
    name: str


Meaning: TypeAlias = Expression | Owner


@dataclass(slots=True)
class Scan:
    """A table in FROM, and what stands before the dot of its columns."""

    alias: str
    table: Table
    number: int
    hidden: set[str] = field(default_factory=set)  # names that USING has merged into those of an earlier table

    def meaning(self, name: str, at: Position | None) -> Meaning | None:
        """Return what a name means here, if anything."""
        wanted = name.casefold()
        for declared, domain in self.table.columns.items():
            if declared.casefold() == wanted:
                return column(self.number, declared, domain, at)
        unit = self.table.unit
        return Owner(self.number, unit) if unit is not None and unit.casefold() == wanted else None

    def all(self, at: Position | None) -> Iterator[tuple[str, Meaning]]:
        """Yield all columns, for SELECT * in a subquery."""
        for name in dict.fromkeys((*self.table.columns, *([self.table.unit] if self.table.unit else []))):
            if name.casefold() not in self.hidden and (found := self.meaning(name, at)) is not None:
                yield name, found

    def missing(self, name: Name) -> NeedsDeclaration:
        """Return the refusal of a name that means nothing here."""
        try:
            self.table.column(name.name)
        except NeedsDeclaration as refused:
            what, sign, rest = str(refused).partition(";")
            return NeedsDeclaration(f"{what}{located(name.at)}{sign}{rest}")
        raise AssertionError(name)


@dataclass(slots=True)
class Outputs:
    """A subquery in FROM: its outputs, each an expression over what it reads."""

    alias: str
    meanings: Mapping[str, tuple[str, Meaning]]
    hidden: set[str] = field(default_factory=set)

    def meaning(self, name: str, at: Position | None) -> Meaning | None:
        """Return what a name means here, if anything."""
        found = self.meanings.get(name.casefold())
        return None if found is None else found[1]

    def all(self, at: Position | None) -> Iterator[tuple[str, Meaning]]:
        """Yield all outputs, for SELECT * in a subquery around it."""
        yield from (found for name, found in self.meanings.items() if name not in self.hidden)

    def missing(self, name: Name) -> NeedsDeclaration:
        """Return the refusal of a name that means nothing here."""
        listed = ", ".join(written for written, _ in islice(self.meanings.values(), _LISTED))
        called = f"the subquery {shown(self.alias)}" if self.alias else "the subquery"
        return undeclared(f"{called} has no output {shown(name.name)}", name.at, f"it has {listed}: select it there")


Source: TypeAlias = Scan | Outputs


class Scope:
    """All names of a FROM."""

    def __init__(self, sources: tuple[Source, ...], scans: tuple[Table, ...]) -> None:
        self.sources, self._scans = sources, scans

    def meaning(self, name: Name) -> Meaning:
        """Return what a name means, or a refusal that says which there are."""
        if name.qualifier is not None:
            return self._qualified(name, name.qualifier.casefold())
        wanted = name.name.casefold()
        found = [
            (source, meaning)
            for source in self.sources
            if wanted not in source.hidden and (meaning := source.meaning(name.name, name.at)) is not None
        ]
        if len(found) > 1:
            choices = " or ".join(f"{source.alias}.{name.name[:60]}" for source, _ in found)
            raise refusal(f"{shown(name.name)} is a column of several tables", name.at, f"write {choices}")
        if found:
            return found[0][1]
        if len(self.sources) == 1:
            raise self.sources[0].missing(name)
        known = ", ".join(source.alias for source in self.sources if source.alias)
        raise undeclared(f"none of the tables {known} declares a column {shown(name.name)}", name.at, "declare it")

    def _qualified(self, name: Name, qualifier: str) -> Meaning:
        for source in self.sources:
            if source.alias.casefold() == qualifier:
                found = source.meaning(name.name, name.at)
                if found is None:
                    raise source.missing(name)
                return found
        known = ", ".join(source.alias for source in self.sources if source.alias)
        what = f"no table is called {shown(name.qualifier)} in this question"
        raise refusal(what, name.at, f"leave out what is before the dot{f', or write one of {known}' if known else ''}")

    def value(self, name: Name) -> Expression:
        """Return the column that a name means; a unit has no value for the other rows to be compared with."""
        found = self.meaning(name)
        if isinstance(found, Owner):
            raise undeclared(
                f"{found.name!r} is the unit, whose values are private, and no declared column",
                name.at,
                f"write COUNT(DISTINCT {found.name}), or declare it in columns=, for instance as dc.Text()",
            )
        return found

    def unit_of(self, name: Name) -> Owner | None:
        """Return the scan whose unit a name means, whether or not it is a declared column, too."""
        return self.as_unit(self.meaning(name))

    def as_unit(self, found: Meaning) -> Owner | None:
        """Return the scan whose unit this is."""
        if isinstance(found, Owner):
            return found
        if isinstance(found, Column):
            unit = self._scans[found.scan].unit
            if unit is not None and unit == found.name:
                return Owner(found.scan, unit)
        return None
