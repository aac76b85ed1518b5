"""Aggregates written in Python: `dc.count()`, `dc.mean("cost")`, each with `.where(...)` for some of the rows."""

from __future__ import annotations

from discreet.engine.syntax import Call, Star, flattened
from discreet.engine.term_values import Number, column_of, condition_of, node_of
from discreet.engine.terms import Term


class Aggregate(Term):
    """A number for each group: a count, a sum, a mean."""

    __slots__ = ()

    def where(self, condition: Term) -> Aggregate:
        """Return the same of the rows for which a condition is true, as FILTER (WHERE ...) does.

        >>> from discreet.engine.terms import col
        >>> count().where(col("age") >= 60)
        <COUNT(*) FILTER (WHERE (age >= 60))>
        """
        if isinstance(self._node, Call) and self._node.function == "filter":
            inner, before = self._node.arguments
            return Aggregate(Call("filter", (inner, flattened("and", (before, condition_of(condition))))))
        return Aggregate(Call("filter", (self._node, condition_of(condition))))


def count(column: str | Term | None = None) -> Aggregate:
    """Count rows, or the rows in which a column is not NULL.

    >>> count(), count("cost")
    (<COUNT(*)>, <COUNT(cost)>)
    """
    return Aggregate(Call("count", (Star() if column is None else column_of(column),)))


def count_distinct(column: str | Term) -> Aggregate:
    """Count the different values of a column; of the unit, the people."""
    return Aggregate(Call("count_distinct", (column_of(column),)))


def sum(column: str | Term) -> Aggregate:  # noqa: A001  the name that it has in SQL
    """Add up a column."""
    return Aggregate(Call("sum", (column_of(column),)))


def mean(column: str | Term) -> Aggregate:
    """Return the mean of a column, which SQL calls AVG."""
    return Aggregate(Call("avg", (column_of(column),)))


def variance(column: str | Term) -> Aggregate:
    """Return the variance of a column, divided by n - 1."""
    return Aggregate(Call("variance", (column_of(column),)))


def stddev(column: str | Term) -> Aggregate:
    """Return the standard deviation of a column, the root of `variance`."""
    return Aggregate(Call("stddev", (column_of(column),)))


def median(column: str | Term) -> Aggregate:
    """Return the median of a column."""
    return Aggregate(Call("median", (column_of(column),)))


def quantile(column: str | Term, q: Number) -> Aggregate:
    """Return the value that a share q of a column is below.

    >>> quantile("age", 0.9)
    <PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)>
    """
    return Aggregate(Call("percentile_cont", (column_of(column), node_of(q))))
