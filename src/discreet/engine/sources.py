"""FROM: which tables are read, how they are joined, and what their names mean.

A question reads rows of people: the first table is private, and every row that a join adds belongs to the same unit.
Subqueries and common table expressions that compute, rename and filter are written into the one question that they are
part of. Anything else between a table and its aggregates would change whose rows are whose, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from discreet.engine.constants import Parameters
from discreet.engine.expression import Column, Expression
from discreet.engine.joins import Matching
from discreet.engine.plan import Join, Relation
from discreet.engine.refusals import refusal, shown
from discreet.engine.syntax import Derived, Joined, Name, Select, Selected, Star, TableName
from discreet.engine.syntax import Source as From
from discreet.engine.table import Table
from discreet.engine.typed import Typer
from discreet.engine.visible import Meaning, Outputs, Owner, Scan, Scope, Source

MOST_TABLES = 16
_MOST_LEVELS = 40  # subqueries in each other

FanOut: TypeAlias = Callable[[Table, tuple[str, ...]], int]
"""How many rows of a public table have the same values in some columns, at most."""

Named: TypeAlias = Mapping[str, tuple[Select, "Named"]]  # common table expressions, and those that they can name


def _only_rows(select: Select) -> None:
    """Refuse a subquery that does more than compute, rename and filter."""
    parts = (
        (select.group_by, "GROUP BY", "group in the outer SELECT"),
        (select.having, "HAVING", "write it in the outer SELECT"),
        (select.order_by, "ORDER BY", "write it in the outer SELECT"),
        (select.limit, "LIMIT", "it would choose rows by their order; write it in the outer SELECT"),
        (select.offset, "OFFSET", "write it in the outer SELECT"),
    )
    for part, name, instead in parts:
        if part:
            raise refusal(f"a subquery has {name}, which is about more than one row", select.at, instead)


class Sources:
    """Everything that a question reads, in one relation."""

    def __init__(self, tables: Mapping[str, Table], parameters: Parameters, fan_out: FanOut) -> None:
        self._tables = {name.casefold(): table for name, table in tables.items()}
        self._parameters, self._fan_out = parameters, fan_out
        self._scans: list[Table] = []
        self._joins: list[Join] = []
        self._unsure: set[int] = set()  # scans after LEFT JOIN, which may have no row
        self._public: dict[int, bool] = {}
        self._used: set[int] = set()
        self._level = 0
        self.where: list[Expression] = []

    @property
    def relation(self) -> Relation:
        """The tables and joins, in order."""
        return Relation(tuple(self._scans), tuple(sorted(self._joins, key=lambda join: join.scan)))

    def may_lack(self, scan: int) -> bool:
        """Return whether a row may have no partner in this scan."""
        return scan in self._unsure

    def read(self, select: Select) -> Scope:
        """Read the FROM of a question, and return what its names mean."""
        named = self._names(select, {})
        sources = self._read(select.source, named)
        if self._scans[0].public:
            raise refusal(
                f"the table {self._scans[0].name!r} is public and no table about people is read with it",
                select.source.at,
                "read a public table with any tool; here, join it to a private one",
            )
        for name, (one, _) in named.items():
            if id(one) not in self._used:
                raise refusal(f"the subquery {shown(name)} of WITH is not used", one.at, "leave it out")
        return self.scope(sources)

    def scope(self, sources: tuple[Source, ...]) -> Scope:
        """Return the names of some sources."""
        seen: set[str] = set()
        for source in sources:
            alias = source.alias.casefold()
            if alias and alias in seen:
                raise refusal(f"two tables are called {shown(source.alias)}", None, "give each its own name with AS")
            seen.add(alias)
        return Scope(sources, tuple(self._scans))

    def _names(self, select: Select, outer: Named) -> Named:
        named = dict(outer)
        for name, one in select.named:
            named[name.casefold()] = one, dict(named)
        return named

    def _read(self, source: From, named: Named) -> tuple[Source, ...]:
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise refusal("there are too many subqueries in each other", source.at, "write the question in one SELECT")
        found = self._found(source, named)
        self._level -= 1
        return found

    def _found(self, source: From, named: Named) -> tuple[Source, ...]:
        match source:
            case TableName():
                return (self._table(source, named),)
            case Derived():
                return (self._outputs(source.select, source.alias or "", named),)
            case Joined():
                return self._joined(source, named)

    def _table(self, source: TableName, named: Named) -> Source:
        alias = source.alias or source.name
        known = named.get(source.name.casefold())
        if known is not None:
            self._used.add(id(known[0]))
            return self._outputs(known[0], alias, known[1])
        table = self._tables.get(source.name.casefold())
        if table is None:
            listed = ", ".join(one.name for one in self._tables.values())
            raise refusal(f"there is no table {shown(source.name)}", source.at, f"write one of: {listed}")
        if not table.public and any(one is table or one.name == table.name for one in self._scans):
            raise refusal(
                f"the table {table.name!r} is joined with itself, which would compare rows with each other",
                source.at,
                "read it once, and write conditions with CASE or FILTER (WHERE ...)",
            )
        if len(self._scans) == MOST_TABLES:
            raise refusal(f"a question reads at most {MOST_TABLES} tables", source.at, "leave some out")
        self._scans.append(table)
        return Scan(alias, table, len(self._scans) - 1)

    def _outputs(self, select: Select, alias: str, named: Named) -> Outputs:
        """Return a subquery as the expressions that it computes for each row."""
        _only_rows(select)
        scope = self.scope(self._read(select.source, self._names(select, named)))
        typer = Typer(scope.value, self._parameters, "a subquery")
        if select.where is not None:
            self.where.append(typer.condition(select.where, "WHERE"))
        meanings: dict[str, tuple[str, Meaning]] = {}
        for output in select.outputs:
            for name, meaning in self._expanded(output, scope, typer):
                if name.casefold() in meanings:
                    raise refusal(f"two outputs of a subquery are called {shown(name)}", output.at, "name each with AS")
                meanings[name.casefold()] = name, meaning
        return Outputs(alias, meanings)

    def _expanded(self, output: Selected, scope: Scope, typer: Typer) -> Iterator[tuple[str, Meaning]]:
        value = output.value
        if isinstance(value, Star):
            for source in scope.sources:
                yield from source.all(value.at)
        elif isinstance(value, Name):
            yield output.name or value.name, scope.meaning(value)
        elif output.name is None:
            raise refusal("an output of a subquery has no name", output.at or value.at, "name it with AS")
        else:
            yield output.name, typer(value)

    def _is_public(self, source: From, named: Named) -> bool:
        match source:
            case TableName():
                known = named.get(source.name.casefold())
                if known is not None:
                    return self._is_public(Derived(known[0], None), known[1])
                table = self._tables.get(source.name.casefold())
                return table is not None and table.public
            case Derived(select):
                if id(select) not in self._public:
                    self._public[id(select)] = self._is_public(select.source, self._names(select, named))
                return self._public[id(select)]
            case Joined():
                return self._is_public(source.left, named) and self._is_public(source.right, named)

    def _joined(self, source: Joined, named: Named) -> tuple[Source, ...]:
        first, second = source.left, source.right
        turned = source.kind == "inner" and self._is_public(first, named) and not self._is_public(second, named)
        if turned:
            first, second = second, first
        start = len(self._scans)
        left = self._read(first, named)
        middle, conditions = len(self._scans), len(self.where)
        right = self._read(second, named)
        if all(table.public for table in self._scans[start:middle]):
            raise refusal(
                "a join begins with a public table",
                source.at,
                "write the table about people first, then JOIN one public table after the other",
            )
        if source.kind == "left":
            self._check_left(source, right, middle, filtered=len(self.where) > conditions)
        Matching(self, source, left, right, middle).add()
        return (*right, *left) if turned else (*left, *right)

    def _check_left(self, source: Joined, right: tuple[Source, ...], middle: int, *, filtered: bool) -> None:
        """Refuse what would not be the same after the join as in it: then a row with no partner has NULL in all."""
        computed = any(
            not isinstance(meaning, Column | Owner)
            for one in right
            if isinstance(one, Outputs)
            for _, meaning in one.meanings.values()
        )
        if filtered or computed or len(self._scans) > middle + 1:
            raise refusal(
                "what stands after LEFT JOIN is more than a table",
                source.at,
                "write LEFT JOIN with the table itself, and conditions and expressions in the outer SELECT, or JOIN",
            )
        self._unsure.add(middle)

    # What `_Matching` adds to.

    def table(self, scan: int) -> Table:
        """Return the table of a scan."""
        return self._scans[scan]

    def typer(self, scope: Scope) -> Typer:
        """Return what gives expressions over these names a meaning."""
        return Typer(scope.value, self._parameters, "ON")

    def add(self, scan: int, kind: Literal["inner", "left"], on: list[tuple[Expression, Column]]) -> None:
        """Add a join: on the unit, or with a public table where all pairs are equal."""
        pairs = tuple(sorted(on, key=repr))
        fan_out = 1
        if on:
            fan_out = self._fan_out(self._scans[scan], tuple(sorted({key.name for _, key in on})))
        self._joins.append(Join(scan, kind, not on, pairs, fan_out))
