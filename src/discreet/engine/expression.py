"""What is computed for each row, in whole numbers: every value is an integer on a public grid, in a public range.

A column is read as an integer (`Column`), and from there on an expression knows three things at planning time: the
step that one stands for, the range it stays in, and that it is total, which means that no row can raise. What it is
not known to be is an engine's business no longer: `emit.py` writes the same integers for every engine.

| kind    | the integer i stands for                                         | as SQL   |
|---------|------------------------------------------------------------------|----------|
| Number  | i * step                                                         | BIGINT   |
| Coded   | the value at place i of a public list                            | BIGINT   |
| Day     | the day i days after 1970-01-01                                  | BIGINT   |
| Instant | i seconds after 1970-01-01 00:00 on the clock on the wall        | BIGINT   |
| Truth   | true or false                                                    | BOOLEAN  |
| Free    | any text                                                         | VARCHAR  |

A domain is left out of what an expression prints: the fingerprint of its table has it, and what is printed is the part
of a question that decides its numbers.

Every value may be NULL. Any function of NULL is NULL, except for `Coalesce`, `Extreme`, `IsNull`, `Case` and the
three-valued logic of SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet import dp

MOST = 2**62
"""No integer that is computed for a row, or on the way to it, is greater."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number on a grid: i * step, low <= i <= high."""

    step: Fraction
    low: int
    high: int

    @property
    def most(self) -> int:
        """The greatest magnitude of i."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Coded:
    """A place in a public list of values."""

    domain: dp.Category | dp.Bins = field(repr=False)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, counted from 1970-01-01."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Instant:
    """A second on the clock on the wall of a time zone, counted from 1970-01-01 00:00."""

    low: int
    high: int
    zone: str


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Free:
    """A text that is not public."""


Kind: TypeAlias = Number | Coded | Day | Instant | Truth | Free
TRUTH, FREE = Truth(), Free()


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column of the scan number `scan`, read into its kind; what is outside its domain is NULL."""

    scan: int
    name: str
    domain: dp.domain.Column = field(repr=False)
    kind: Kind


@dataclass(frozen=True, slots=True)
class Constant:
    """A public value: an integer of its kind, a truth value, a text, or NULL."""

    value: int | bool | str | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation on the integers of two numbers. `//` cuts toward zero and `%` has the sign of the left; by 0, NULL.

    The maker ensures that neither operand nor result is beyond MOST in magnitude.
    """

    operator: Literal["+", "-", "*", "//", "%"]
    left: Expression
    right: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two integers on one grid, of two truth values, or of two texts byte by byte."""

    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class Logical:
    """AND or OR, three-valued."""

    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class Not:
    """NOT, three-valued."""

    operand: Expression
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a value is NULL; never NULL itself."""

    operand: Expression
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class Member:
    """Whether an integer or a text is one of a list of constants, none of them NULL; of NULL it is NULL."""

    operand: Expression
    values: tuple[int, ...] | tuple[str, ...]
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class Prefix:
    """Whether a free text starts with a constant, byte by byte."""

    operand: Expression
    prefix: str
    kind: Kind = TRUTH


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, else `otherwise`; all of one kind of integer."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first operand that is not NULL."""

    operands: tuple[Expression, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or greatest of the operands that are not NULL, on one grid; NULL if all are."""

    operator: Literal["least", "greatest"]
    operands: tuple[Expression, ...]
    kind: Kind


PartName = Literal[
    "year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second"
]
UnitName = Literal["year", "quarter", "month", "week", "day", "hour", "minute"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a day or an instant. dayofweek counts from Sunday, 0; isodow from Monday, 1; week is the ISO week."""

    part: PartName
    operand: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Truncated:
    """The first day or second of the year, quarter, month, ISO week, day, hour or minute that holds a value."""

    unit: UnitName
    operand: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Binned:
    """The place of the bin that an integer falls into: from one edge up to but not including the next, the last one
    included with its upper edge; NULL outside. `edges` are integers on the grid of the operand.
    """

    operand: Expression
    edges: tuple[int, ...]
    kind: Coded


@dataclass(frozen=True, slots=True)
class AsDay:
    """The day of an instant."""

    operand: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Lookup:
    """The integer at the place of a finite public list that the operand, a place from 0, names; None there is NULL."""

    operand: Expression
    table: tuple[int | None, ...]
    kind: Kind


Expression: TypeAlias = (
    Column
    | Constant
    | Arithmetic
    | Comparison
    | Logical
    | Not
    | IsNull
    | Member
    | Prefix
    | Case
    | Coalesce
    | Extreme
    | Part
    | Truncated
    | Binned
    | AsDay
    | Lookup
)

EPOCH = date(1970, 1, 1)


def day_number(day: date) -> int:
    """Return a day as the number of days after 1970-01-01."""
    return (day - EPOCH).days


def day_of_number(number: int) -> date:
    """Return the day so many days after 1970-01-01."""
    return EPOCH + timedelta(days=number)
