"""What the statements of one query are put together from: its rows, its groups, and sums cut to what a unit may add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.engine.bound import WEIGHT, BoundedQuery
from discreet.engine.dialect import Dialect, Origin
from discreet.engine.emit import Bindings
from discreet.engine.expression import MOST, Expression, Number
from discreet.engine.relation import grouped_rows, joined_columns, needed, rows_of

MANY = 1 << 31
"""More rows than one unit has: a bound beyond it is no bound."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A query, its tables as an engine reaches them, and the engine's dialect."""

    query: BoundedQuery
    origins: Sequence[Origin]
    dialect: Dialect
    secret: object
    counted: str | None = None  # what stands after FROM for the units and their numbers of rows
    united: str | None = None  # the same for what `unit_rows` returns
    names: Mapping[Expression, str] | None = None  # of the values in it

    @property
    def rows(self) -> int:
        """R: how many rows of a unit count, or more than it has."""
        return min(self.query.bounds.rows, MANY)

    @property
    def each(self) -> int:
        """k: how many rows of a unit count in a group, or more than it has."""
        return min(self.query.bounds.rows_each, MANY)

    @property
    def groups(self) -> int:
        """m: how many groups of a unit count, or more than it has."""
        return min(self.query.bounds.groups, MANY)

    @property
    def has_unit(self) -> bool:
        """Whether a unit may have more rows than one."""
        return self.query.plan.relation.scans[0].unit is not None

    @property
    def keys(self) -> list[str]:
        """The names of the keys."""
        return [f"g{place}" for place in range(len(self.query.plan.keys))]

    @property
    def order(self) -> str:
        """The keys after a comma, for GROUP BY u and the like."""
        return "".join(f", {key}" for key in self.keys)

    @property
    def compared_order(self) -> str:
        """The keys after a comma, for ORDER BY: texts byte by byte."""
        kinds = zip(self.keys, self.query.plan.keys, strict=True)
        return "".join(f", {self.dialect.compared(name) if key.is_private else name}" for name, key in kinds)

    def base(self, values: Mapping[str, Expression], bindings: Bindings) -> str:
        """Return the rows after WHERE that are in a group, with the values to measure: u, g0, ..., and these names."""
        plan = self.query.plan
        rows = rows_of(plan.relation, needed(plan, values.values()), self.origins, self.dialect, bindings)
        weight = "w" if self.origins[0].weight is not None else None
        has_unit = self.has_unit and self.origins[0].unit is not None
        return grouped_rows(rows, plan, values, has_unit=has_unit, weight=weight)

    def weights(self, bindings: Bindings) -> str:
        """Return the units (u) with the weight of each of their n rows in the whole relation (w): min(1, R / n), in
        whole parts of WEIGHT.
        """
        if self.counted is not None:
            return f"SELECT u, w FROM {self.counted} AS s"
        relation = self.query.plan.relation
        rows = rows_of(relation, joined_columns(relation), self.origins, self.dialect, bindings)
        units = f"SELECT u0 AS u, COUNT(*) AS n FROM ({rows.text}) AS r GROUP BY u0"
        part = self.dialect.divided(str(WEIGHT * self.rows), "n")
        return f"SELECT u, CASE WHEN n <= {self.rows} THEN {WEIGHT} ELSE {part} END AS w FROM ({units}) AS h"

    def weighted(self, value: str, scale: int, kind: Number) -> str:
        """Return value * scale * w / WEIGHT, cut toward zero; the scale is a power of two."""
        if kind.most * max(scale, WEIGHT) >= MOST:
            return self.dialect.scaled_wide(f"({value} * {scale})", "w", str(WEIGHT))
        if scale >= WEIGHT:
            return f"{value} * w * {scale // WEIGHT}"
        return self.dialect.divided(f"({value} * w)", str(WEIGHT // scale))

    def cut_sum(self, total: str, present: str, most: str, scale: int, kind: Number) -> str:
        """Return total * scale, or the expectation of that of `most` of the `present` numbers, cut toward zero.

        With total = q present + r it is q most scale + r most scale / present, and no product is beyond 62 bits: most
        is then less than present, which is below 2^31.
        """
        many, by = f"GREATEST({present}, 1)", f"({most} * {scale})" if scale > 1 else most
        divided = self.dialect.divided_wide if is_wide(kind) else self.dialect.divided
        whole = f"{divided(total, many)} * {by}"
        rest = divided(f"({self.dialect.remainder(total, many)} * {by})", many)
        cut = f"CASE WHEN {present} <= {most} THEN {total} * {scale} ELSE {whole} + {rest} END"
        return self.dialect.big(cut) if is_wide(kind) else cut

    def shared(self, value: str, factor: str, divisor: str, most: int) -> str:
        """Return value * factor / divisor cut toward zero, where |value * factor| <= most."""
        if most < MOST:
            return self.dialect.divided(f"({value} * {factor})", divisor)
        return self.dialect.scaled_wide(value, factor, divisor)


def is_wide(kind: Number) -> bool:
    """Return whether one unit's own sum of such numbers may be beyond 62 bits."""
    return kind.most >= MANY
