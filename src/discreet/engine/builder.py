"""A question put together in Python, step by step, with the same tree that SQL has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from discreet import dp
from discreet.dp.rational import Number
from discreet.engine import syntax
from discreet.engine.syntax import (
    Derived,
    Joined,
    Name,
    Node,
    Ordered,
    Select,
    Selected,
    Source,
    Star,
    TableName,
    flattened,
)
from discreet.engine.term_values import column_of, condition_of, name_of
from discreet.engine.terms import Term
from discreet.engine.written import sql_of
from discreet.errors import InvalidParameter


class Asker(Protocol):
    """Whoever can answer a question: a session."""

    @property
    def ask(self) -> Callable[..., Any]: ...

    @property
    def quote(self) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Query:
    """A question about a table. Every method returns a new one.

    >>> import discreet as dc
    >>> visits = table_query(None, "visits")
    >>> visits.where(dc.col("age") >= 60).group_by("ward").agg(n=dc.count(), cost=dc.mean("cost"))
    Query("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE (age >= 60) GROUP BY ward")
    """

    _asker: Asker
    _source: Source
    _conditions: tuple[Node, ...] = ()
    _keys: tuple[Selected, ...] = ()
    _measures: tuple[Selected, ...] = ()
    _having: tuple[Node, ...] = ()
    _order: tuple[Ordered, ...] = ()
    _limit: int | None = None
    _offset: int | None = None

    def __repr__(self) -> str:
        if not (self._keys or self._measures):
            return f'Query("FROM {sql_of(self._tree((Selected(Star(), None),))).partition(" FROM ")[2]}")'
        return f'Query("{sql_of(self.select_tree())}")'

    # What is asked.

    def where(self, *conditions: Term) -> Query:
        """Take only the rows for which every condition is true."""
        return replace(self, _conditions=(*self._conditions, *(condition_of(one) for one in conditions)))

    def alias(self, name: str) -> Query:
        """Give the table, or this whole question, a name to tell it from others in a join."""
        if self._is_table and isinstance(self._source, TableName):
            return replace(self, _source=TableName(self._source.name, name_of(name)))
        return Query(self._asker, Derived(self.select_tree(), name_of(name)))

    def join(
        self,
        other: str | Query,
        *,
        on: str | Iterable[str] | Term,
        how: Literal["inner", "left"] = "inner",
    ) -> Query:
        """Join another table where columns of the same name, or two expressions, are equal.

        >>> import discreet as dc
        >>> visits = table_query(None, "visits")
        >>> visits.join("wards", on="ward").group_by("floor").agg(n=dc.count())
        Query("SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor")
        """
        if how not in ("inner", "left"):
            raise InvalidParameter(f'how is "inner" or "left", not {how!r:.60}.')
        if self._conditions or self._keys or self._measures:
            raise InvalidParameter("join comes before where, group_by and agg; join first.")
        right = other._as_source() if isinstance(other, Query) else TableName(name_of(other), None)
        if isinstance(on, Term):
            return replace(self, _source=Joined(self._source, right, how, on.node, ()))
        using = (name_of(on),) if isinstance(on, str) else tuple(name_of(one) for one in on)
        if not using:
            raise InvalidParameter('on names at least one column: on="ward".')
        return replace(self, _source=Joined(self._source, right, how, None, using))

    def group_by(self, *keys: str | Term, **named: str | Term) -> Query:
        """Ask for each value of the keys; `decade=dc.col("age").bin(10)` gives a key its name."""
        added = [Selected(column_of(key), key if isinstance(key, str) else None) for key in keys]
        added += [Selected(column_of(key), name_of(name)) for name, key in named.items()]
        return replace(self, _keys=(*self._keys, *added))

    def agg(self, *measures: Term, **named: Term) -> Query:
        """Ask for numbers of each group, each under its name: `n=dc.count()`."""
        added = [Selected(_measure_of(one), None) for one in measures]
        added += [Selected(_measure_of(one), name_of(name)) for name, one in named.items()]
        return replace(self, _measures=(*self._measures, *added))

    def having(self, *conditions: Term) -> Query:
        """Show only the groups whose released numbers fulfil every condition. It costs nothing."""
        return replace(self, _having=(*self._having, *(condition_of(one) for one in conditions)))

    def order_by(self, *by: str | Term | Ordered, descending: bool = False) -> Query:
        """Sort by outputs, by their names, or by expressions over them. It costs nothing."""
        added = [one if isinstance(one, Ordered) else Ordered(column_of(one), descending, False) for one in by]
        return replace(self, _order=(*self._order, *added))

    def limit(self, rows: int, *, offset: int | None = None) -> Query:
        """Show only so many rows of the answer, after the first `offset`. It costs nothing."""
        for number in (rows, 0 if offset is None else offset):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise InvalidParameter(f"limit and offset are whole numbers from 0, not {number!r:.60}.")
        return replace(self, _limit=rows, _offset=offset)

    # The question itself.

    def select_tree(self) -> Select:
        """Return the question as a tree, equal to that of the same question in SQL."""
        if not (self._keys or self._measures):
            raise InvalidParameter("the question asks for nothing; add .agg(n=dc.count()).")
        return self._tree((*self._keys, *self._measures))

    def sql(self) -> str:
        """Return the question as SQL text."""
        return sql_of(self.select_tree())

    def ask(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        loss: dp.Loss | None = None,
        within: Number | Mapping[str, Number] | None = None,
        relative: Number | None = None,
        confidence: Number = 0.95,
        joint: bool = False,
        groups_per_unit: int | None = None,
        rows_per_group: int | None = None,
    ) -> Any:
        """Ask the question at a price, as `session.sql` does: `epsilon=0.1`, or for an error, `within=50`."""
        return self._asker.ask(
            self.select_tree(), epsilon=epsilon, rho=rho, loss=loss, within=within, relative=relative,
            confidence=confidence, joint=joint, groups_per_unit=groups_per_unit, rows_per_group=rows_per_group,
        )  # fmt: skip

    def quote(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        loss: dp.Loss | None = None,
        within: Number | Mapping[str, Number] | None = None,
        relative: Number | None = None,
        confidence: Number = 0.95,
        joint: bool = False,
        groups_per_unit: int | None = None,
        rows_per_group: int | None = None,
    ) -> Any:
        """Return what `ask` with the same arguments would cost. It reads no row and is free."""
        return self._asker.quote(
            self.select_tree(), epsilon=epsilon, rho=rho, loss=loss, within=within, relative=relative,
            confidence=confidence, joint=joint, groups_per_unit=groups_per_unit, rows_per_group=rows_per_group,
        )  # fmt: skip

    @property
    def _is_table(self) -> bool:
        rest = (self._conditions, self._keys, self._measures, self._having, self._order)
        return not any(rest) and self._limit is None

    def _as_source(self) -> Source:
        if self._is_table and not isinstance(self._source, Joined):
            return self._source
        raise InvalidParameter("a question inside a join needs a name; write .alias(...) at its end.")

    def _tree(self, outputs: tuple[Selected, ...]) -> Select:
        def number(value: int | None) -> Node | None:
            return None if value is None else syntax.Literal(value)

        return Select(
            tuple(_unnamed(one) for one in outputs),
            self._source,
            where=flattened("and", self._conditions) if self._conditions else None,
            group_by=tuple(key.value for key in self._keys),
            having=flattened("and", self._having) if self._having else None,
            order_by=self._order,
            limit=number(self._limit),
            offset=number(self._offset),
        )


def table_query(asker: Asker, table: str) -> Query:
    """Return the question about a table that nothing is asked of yet."""
    return Query(asker, TableName(name_of(table), None))


def _measure_of(written: object) -> Node:
    """Return the node of a number of each group."""
    if not isinstance(written, Term):
        raise InvalidParameter(f"agg takes aggregates such as n=dc.count(), not {written!r:.60}.")
    return written.node


def _unnamed(output: Selected) -> Selected:
    """Return an output without the name that it has anyway."""
    if isinstance(output.value, Name) and output.name == output.value.name:
        return Selected(output.value, None)
    return output
