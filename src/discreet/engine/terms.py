"""Expressions written in Python: columns, operators, CASE and aggregates, with the same tree as SQL.

In an operator a text is a text: `dc.col("ward") == "north"`. Where a column is expected, a text is the name of one:
`dc.mean("cost")`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NoReturn

from discreet.engine.syntax import Call, Literal, Name, Ordered, flattened
from discreet.engine.term_values import Constant, Number, Written, name_of, node_of
from discreet.engine.written import text
from discreet.errors import InvalidParameter


class Term(Written):
    """An expression over the rows of a table, or over what is released of them.

    >>> from discreet.engine.terms import col
    >>> (col("age") >= 60) & (col("ward") == "north")
    <((age >= 60) AND (ward = 'north'))>
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == makes a comparison, so no term is equal to another
    __array_ufunc__ = None  # an array beside a term is refused, and not taken apart

    def __repr__(self) -> str:
        return f"<{text(self._node)}>"

    def __bool__(self) -> NoReturn:
        raise InvalidParameter(
            f"{self!r:.80} is a condition on rows and neither true nor false; combine conditions with &, | and ~ "
            "in place of and, or and not, and write x.between(a, b) for a <= x <= b."
        )

    def __iter__(self) -> NoReturn:
        raise InvalidParameter(f"{self!r:.80} is not a list; name several columns one by one.")

    # Arithmetic.

    def __add__(self, other: Term | Number) -> Term:
        return _call("add", self, other)

    def __radd__(self, other: Number) -> Term:
        return _call("add", other, self)

    def __sub__(self, other: Term | Number | date) -> Term:
        return _call("sub", self, other)

    def __rsub__(self, other: Number | date) -> Term:
        return _call("sub", other, self)

    def __mul__(self, other: Term | Number) -> Term:
        return _call("mul", self, other)

    def __rmul__(self, other: Number) -> Term:
        return _call("mul", other, self)

    def __truediv__(self, other: Term | Number) -> Term:
        return _call("div", self, other)

    def __rtruediv__(self, other: Number) -> Term:
        return _call("div", other, self)

    def __floordiv__(self, other: Term | Number) -> Term:
        return _call("intdiv", self, other)

    def __rfloordiv__(self, other: Number) -> Term:
        return _call("intdiv", other, self)

    def __mod__(self, other: Term | Number) -> Term:
        return _call("mod", self, other)

    def __rmod__(self, other: Number) -> Term:
        return _call("mod", other, self)

    def __pow__(self, other: Term | Number) -> Term:
        return _call("power", self, other)

    def __neg__(self) -> Term:
        return _call("neg", self)

    def __abs__(self) -> Term:
        return _call("abs", self)

    # Comparisons and logic.

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        return _compared("eq", self, other)

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return _compared("ne", self, other)

    def __lt__(self, other: Term | Constant) -> Term:
        return _compared("lt", self, other)

    def __le__(self, other: Term | Constant) -> Term:
        return _compared("le", self, other)

    def __gt__(self, other: Term | Constant) -> Term:
        return _compared("gt", self, other)

    def __ge__(self, other: Term | Constant) -> Term:
        return _compared("ge", self, other)

    def __and__(self, other: Term | bool) -> Term:
        return Term(flattened("and", (self._node, node_of(other))))

    def __rand__(self, other: bool) -> Term:
        return Term(flattened("and", (node_of(other), self._node)))

    def __or__(self, other: Term | bool) -> Term:
        return Term(flattened("or", (self._node, node_of(other))))

    def __ror__(self, other: bool) -> Term:
        return Term(flattened("or", (node_of(other), self._node)))

    def __invert__(self) -> Term:
        return _call("not", self)

    def is_null(self) -> Term:
        """Whether the value is missing, or outside its declared domain."""
        return _call("is_null", self)

    def is_true(self) -> Term:
        """Whether a condition is true: not false, and not NULL."""
        return _call("is_true", self)

    def is_false(self) -> Term:
        """Whether a condition is false: not true, and not NULL."""
        return _call("is_false", self)

    def is_same_as(self, other: Term | Constant) -> Term:
        """Whether two values are equal, or both are missing."""
        return _call("is_not_distinct", self, other)

    def is_in(self, values: Iterable[Term | Constant]) -> Term:
        """Whether the value is one of a list."""
        listed = () if isinstance(values, str | bytes | Term) else tuple(values)
        if not listed:
            raise InvalidParameter('is_in takes a list of at least one value, for instance .is_in(["a", "b"]).')
        return _call("in", self, *listed)

    def between(self, low: Term | Constant, high: Term | Constant) -> Term:
        """Whether low <= value <= high."""
        return _call("between", self, low, high)

    def starts_with(self, prefix: str) -> Term:
        """Whether a text starts with another."""
        if not isinstance(prefix, str) or set("%_\\") & set(prefix):
            raise InvalidParameter("starts_with takes a text without %, _ and \\.")
        return _call("like", self, prefix + "%")

    # Functions.

    def bin(self, width: Number) -> Term:
        """Return the bin of this width that a number falls into, counted from 0: a key to group by."""
        return _call("bin", self, width)

    def part(self, part: str) -> Term:
        """Return a part of a date: "year", "quarter", "month", "week", "day", "isodow", "hour" and others."""
        return Term(Call("date_part", (Literal(_word(part)), self._node)))

    def truncated(self, unit: str) -> Term:
        """Return the first day or second of the year, quarter, month, week, day, hour or minute of a date."""
        return Term(Call("date_trunc", (Literal(_word(unit)), self._node)))

    def coalesce(self, *values: Term | Constant) -> Term:
        """Return the value, or the first of `values` that is not missing."""
        return _call("coalesce", self, *values)

    def null_if(self, value: Term | Constant) -> Term:
        """Return the value, or NULL if it is equal to the given one."""
        return _call("nullif", self, value)

    def at_least(self, low: Term | Number) -> Term:
        """Return the greater of two values."""
        return _call("greatest", self, low)

    def at_most(self, high: Term | Number) -> Term:
        """Return the lesser of two values."""
        return _call("least", self, high)

    def floor(self) -> Term:
        """Return the greatest whole number that is not above."""
        return _call("floor", self)

    def ceil(self) -> Term:
        """Return the least whole number that is not below."""
        return _call("ceil", self)

    def round(self, digits: int | None = None) -> Term:
        """Return the nearest whole number, or the nearest with so many digits after the point."""
        return _call("round", self) if digits is None else _call("round", self, digits)

    def trunc(self) -> Term:
        """Return the number without what is after its point."""
        return _call("trunc", self)

    def sign(self) -> Term:
        """Return -1, 0 or 1."""
        return _call("sign", self)

    def sqrt(self) -> Term:
        """Return the square root of a released number."""
        return _call("sqrt", self)

    def ln(self) -> Term:
        """Return the natural logarithm of a released number."""
        return _call("ln", self)

    def exp(self) -> Term:
        """Return e to the power of a released number."""
        return _call("exp", self)

    def as_integer(self) -> Term:
        """Return CAST(x AS BIGINT)."""
        return _call("cast_integer", self)

    def as_real(self) -> Term:
        """Return CAST(x AS DOUBLE)."""
        return _call("cast_real", self)

    def as_date(self) -> Term:
        """Return CAST(x AS DATE): the day of an instant."""
        return _call("cast_date", self)

    # Order.

    def ascending(self, *, nulls_first: bool = False) -> Ordered:
        """Sort by this, the least first."""
        return Ordered(self._node, descending=False, nulls_first=nulls_first)

    def descending(self, *, nulls_first: bool = False) -> Ordered:
        """Sort by this, the greatest first."""
        return Ordered(self._node, descending=True, nulls_first=nulls_first)


def col(name: str, *, table: str | None = None) -> Term:
    """Return a column, of a given table where several have it.

    >>> col("age") + 1
    <(age + 1)>
    """
    return Term(Name(name_of(name), None if table is None else name_of(table)))


def _word(word: object) -> str:
    return name_of(word).lower()


def _call(function: str, *arguments: object) -> Term:
    return Term(Call(function, tuple(node_of(argument) for argument in arguments)))


def _compared(function: str, left: Term, right: object) -> Term:
    if right is None:
        raise InvalidParameter("nothing is equal to NULL, nor less or greater; write .is_null().")
    return _call(function, left, right)
