"""What differs from engine to engine in the SQL that we write: a few small methods each.

Everything that they return is total: no value of a row makes an engine raise. SQL is put together here and in
`emit.py`, `reading.py` and `statements.py` from declared names, which are quoted, names that we make, and whole
numbers; a text is a parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from discreet.engine.expression import PartName, UnitName

if TYPE_CHECKING:
    from discreet.engine.emit import Writer

Form: TypeAlias = Literal[
    "integer",
    "decimal",
    "float",
    "boolean",
    "text",
    "cell",
    "uuid",
    "date",
    "timestamp",
    "instant",
    "null",
    "read",
    "other",
]
"""How an engine holds a column: a `cell` is the text of anything, in a CSV file; an `instant` has a time zone; `null`
is a column of nothing else; `read` is already the integer, or the text, that its declaration reads it into; and `other`
is what no declaration reads.
"""


@dataclass(frozen=True, slots=True)
class Held:
    """A column as an engine has it: what the engine calls it inside its rows, its form, and the engine's own type."""

    sql: str
    form: Form
    type: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """A table as an engine reaches it: what stands after FROM (its rows are then called `s`), and its columns.

    `weight` names a column with the weight of each row, where the rows of its unit were counted before.
    """

    rows: str
    columns: Mapping[str, Held]
    unit: Held | None
    parameters: Mapping[str, object]
    weight: str | None = None


class Dialect(ABC):
    """How one engine writes what the others write in another way."""

    bigint = "BIGINT"
    double = "DOUBLE"
    text_type = "VARCHAR"
    materialized = "MATERIALIZED"
    windows = False
    """Whether a count over a window costs less than to join one: where rows are sorted by unit anyway."""

    def quoted(self, name: str) -> str:
        """Return a declared name as SQL writes it."""
        return '"' + name.replace('"', '""') + '"'

    @abstractmethod
    def parameter(self, name: str) -> str:
        """Return the place of a bound parameter."""

    # Whole numbers.

    @abstractmethod
    def divided(self, left: str, right: str) -> str:
        """Return left / right, cut toward zero. It is called where right is not 0, or NULL."""

    def divided_wide(self, left: str, right: str) -> str:
        """Return the same of whole numbers that are wider than BIGINT."""
        return self.divided(left, right)

    def remainder(self, left: str, right: str) -> str:
        """Return what `divided` leaves, with the sign of left."""
        return f"({left} % {right})"

    @abstractmethod
    def scaled_wide(self, value: str, factor: str, divisor: str) -> str:
        """Return value * factor / divisor cut toward zero, whatever the size of the product; the result fits BIGINT."""

    @abstractmethod
    def wide(self, value: str) -> str:
        """Return a BIGINT as a whole number of at least 38 digits."""

    @abstractmethod
    def big(self, value: str) -> str:
        """Return a whole number of any type that is known to fit as BIGINT."""

    @abstractmethod
    def own_sum(self, value: str, *, wide: bool) -> str:
        """Return the sum of one unit's numbers: BIGINT, since they are below 2^31, or else `wide`."""

    @abstractmethod
    def totals(self, value: str, name: str, where: str | None = None) -> tuple[str, ...]:
        """Return the outputs of a sum over units of BIGINT numbers, or over the rows where a condition is true.

        One column `name`, a BIGINT cut to +-2^62; or two, `name`_high and `name`_low, of which the sum is
        high * 2^31 + low. A sum of nothing is 0 or NULL.
        """

    def gathered(self, rows: str, by: str) -> str:
        """Return rows, a SELECT, so that those of one unit u, and of its groups, are easily put together.

        `by` are the unit and the keys. It changes no result.
        """
        return rows

    def narrow(self, value: str, low: int, high: int) -> str:
        """Return a BIGINT that is in this range, or NULL, in a smaller type if that helps the engine."""
        return value

    # Texts.

    @abstractmethod
    def starts_with(self, text: str, prefix: str) -> str:
        """Return whether a text starts with another, byte by byte; NULL for NULL."""

    def compared(self, text: str) -> str:
        """Return a text so that the engine compares it byte by byte."""
        return text

    def hashed(self, parts: Sequence[str], secret: str) -> str:
        """Return a number or a text that a secret parameter and these columns, none of them NULL, decide."""
        return f"hash(hash({', '.join([secret, *parts])}))"

    # Public lists.

    @abstractmethod
    def looked_up(
        self, alias: str, value: str, keys: Sequence[int] | Sequence[str], places: Sequence[int | None], writer: Writer
    ) -> str:
        """Return a LEFT JOIN of a public list, in which `alias`.place is the place of a value, or NULL."""

    def binned(self, value: str, edges: Sequence[str], writer: Writer) -> str:
        """Return the place of the bin that a column falls into, or NULL, by halves: log2(bins) comparisons for a row.

        NaN is above every edge.
        """

        def among(first: int, last: int) -> str:
            if first == last:
                return str(first)
            middle = (first + last + 1) // 2
            return f"CASE WHEN {value} < {edges[middle]} THEN {among(first, middle - 1)} ELSE {among(middle, last)} END"

        inside = f"{value} >= {edges[0]} AND {value} <= {edges[-1]}"
        return f"CAST(CASE WHEN {inside} THEN {among(0, len(edges) - 2)} END AS {self.bigint})"

    # Days: numbers after 1970-01-01, in the range of datetime.date.

    @abstractmethod
    def day_part(self, part: PartName, day: str) -> str:
        """Return the year, quarter, month, week (ISO), day or dayofyear of a day as BIGINT."""

    @abstractmethod
    def first_day(self, unit: UnitName, day: str) -> str:
        """Return the first day of the year, quarter or month of a day."""

    # Columns as they are held.

    @abstractmethod
    def whole(self, held: Held) -> str:
        """Return a number, or the text of one, as BIGINT; NULL if it has a fraction or is beyond 2^62."""

    @abstractmethod
    def real(self, held: Held) -> str:
        """Return a number, or the text of one, as DOUBLE; what is none may be NULL or NaN."""

    def divisible(self, real: str) -> str:
        """Return a DOUBLE, or 0 for one that is so small that a quotient of it might raise."""
        return real

    @abstractmethod
    def from_real(self, real: str) -> str:
        """Return a DOUBLE without a fraction, below 2^63 in magnitude, as BIGINT."""

    @abstractmethod
    def truth(self, held: Held) -> str:
        """Return a truth value, or the text of one in any case, as BOOLEAN."""

    @abstractmethod
    def day(self, held: Held) -> str:
        """Return a date, a midnight or a text YYYY-MM-DD as the number of its day; anything, or NULL, for the rest."""

    @abstractmethod
    def second(self, held: Held, zone: str, low: int, high: int, writer: Writer) -> str:
        """Return a point in time as a number of seconds on the clock of the zone, rounded down; NULL outside of
        low to high.
        """

    def text(self, held: Held) -> str:
        """Return a text."""
        return held.sql

    def unit(self, held: Held) -> str:
        """Return a unit so that the engine compares it byte by byte."""
        return held.sql
