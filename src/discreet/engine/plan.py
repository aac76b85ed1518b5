"""What is asked, in our own words: a closed set of types that every front end is translated into.

A plan has two halves. `relation`, `where`, `keys` and `measures` say what is counted and summed, row by row: that half
is bounded, priced and run. `outputs`, `having`, `order_by`, `limit` and `offset` say what is shown of the released
numbers: that half is post-processing, costs nothing and never reaches an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet import dp
from discreet.dp.values import Value
from discreet.engine.expression import Expression
from discreet.engine.table import Table

# What is read.


@dataclass(frozen=True, slots=True)
class Join:
    """Scan number `scan` beside the scans before it.

    A private table is joined on the unit alone (`by_unit`, and `on` is empty). A public table is joined where each pair
    in `on`, an expression over the scans before it and a column of its own, is equal; `fan_out` is how many of its rows
    one row finds at most, which is public.
    """

    scan: int
    kind: Literal["inner", "left"]
    by_unit: bool
    on: tuple[tuple[Expression, Expression], ...]
    fan_out: int


@dataclass(frozen=True, slots=True)
class Relation:
    """The rows that are asked about: the first table, which is private, and what is joined to it, in this order."""

    scans: tuple[Table, ...]
    joins: tuple[Join, ...] = ()


# What the rows are grouped by, and what is measured in each group.


@dataclass(frozen=True, slots=True)
class Key:
    """Something that the rows are grouped by.

    A public key has a list of `values`, each the one of an integer in `codes` at the same place; all are returned, and
    a row with none of them is in no group. The values of a private key are not known before they are released: both are
    None, and the expression is a free text.
    """

    expression: Expression
    values: Sequence[Value] | None = field(repr=False)
    codes: Sequence[int] | None = field(repr=False)

    @property
    def is_private(self) -> bool:
        """Whether the values of this key have to be released, too."""
        return self.values is None


@dataclass(frozen=True, slots=True)
class Rows:
    """COUNT(*): the number of rows."""


@dataclass(frozen=True, slots=True)
class Present:
    """COUNT(x): the number of rows where x is not NULL."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Units:
    """COUNT(DISTINCT unit): the number of units that have a row."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """COUNT(DISTINCT x): the number of different values."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Total:
    """SUM(x): the sum of a number, in its steps."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of rows in each of `bins`; the integer of the expression is the place of the bin. For quantiles.

    The bins follow from the range of the expression, and are left out of what it prints.
    """

    expression: Expression
    bins: dp.Bins | dp.Integer | dp.Date = field(repr=False)


Measure: TypeAlias = Rows | Present | Units | Distinct | Total | Histogram

# What is computed from released numbers. An index is a place in `keys` or `measures`.


@dataclass(frozen=True, slots=True)
class KeyOf:
    """The value of a key."""

    key: int


@dataclass(frozen=True, slots=True)
class Released:
    """The released number of a measure, in its own unit: a count, or a sum of numbers."""

    measure: int


@dataclass(frozen=True, slots=True)
class MeanOf:
    """centre + total / present, where the total is that of (x - centre)."""

    total: int
    present: int
    centre: Fraction


@dataclass(frozen=True, slots=True)
class SpreadOf:
    """The variance of x from the totals of (x - c) and (x - c)^2, for any c, or its root.

    The sample's (divided by n - 1), or that of the whole population (divided by n).
    """

    total: int
    squares: int
    present: int
    population: bool
    root: bool


@dataclass(frozen=True, slots=True)
class QuantileOf:
    """A quantile of a histogram."""

    histogram: int
    share: Fraction


@dataclass(frozen=True, slots=True)
class Given:
    """A constant."""

    value: int | Fraction | str | bool | date | None


@dataclass(frozen=True, slots=True)
class Computed:
    """A function of released values, by its name in `syntax.py`. CASE is "case" of condition, value, ..., otherwise."""

    function: str
    operands: tuple[Formula, ...]


Formula: TypeAlias = KeyOf | Released | MeanOf | SpreadOf | QuantileOf | Given | Computed


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer."""

    name: str
    formula: Formula


@dataclass(frozen=True, slots=True)
class Order:
    """One part of ORDER BY."""

    formula: Formula
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole question."""

    relation: Relation
    where: Expression | None
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    outputs: tuple[Output, ...]
    having: Formula | None = None
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
