"""From a plan to a bounded query: what is counted, in which cells, and how far one unit can move the counts."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass

from discreet import dp
from discreet.engine.plan import Plan
from discreet.engine.table import Domain, Table
from discreet.errors import NotSupported

MAX_CELLS = 1_000_000  # every cell is returned, so this is the longest answer: a few dozen megabytes
_EXACT_IN_A_FLOAT = 2**53  # a file may hold whole numbers as floats; up to here each is one float

Finite = dp.Category | dp.Integer | dp.Boolean


@dataclass(frozen=True, slots=True)
class BoundedQuery:
    """The number of rows in each cell of the declared values of `keys`, in the order of their domains.

    Guarantee: a row is in at most one cell, so the counts of two tables that differ by one row, added or removed,
      differ by 1 in one cell: `sensitivity` is that of a histogram. The cells come from declarations alone.
    """

    table: Table
    keys: tuple[str, ...]
    domains: tuple[Finite, ...]
    sensitivity: dp.Sensitivity
    question: str

    unit = "row"

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each key has."""
        return tuple(domain.size for domain in self.domains)

    @property
    def cells(self) -> int:
        """How many numbers the answer has."""
        return math.prod(self.shape)

    def keys_of_cells(self) -> dict[str, tuple[str | int | bool, ...]]:
        """Return the values of each key, cell by cell, the last key fastest."""
        rows = list(itertools.product(*(domain.values for domain in self.domains)))
        return {key: tuple(row[place] for row in rows) for place, key in enumerate(self.keys)}


def bound(plan: Plan, table: Table) -> BoundedQuery:
    """Return the query that a plan stands for, or a refusal that says what to change."""
    domains = tuple(_finite(column, table.columns[column]) for column in plan.keys)
    cells = math.prod(domain.size for domain in domains)
    if cells > MAX_CELLS:
        many = f"{cells:,}" if cells < 10**18 else "more than 10^18"
        raise NotSupported(
            f"the question has {many} groups and {MAX_CELLS:,} are allowed: every declared combination is returned. "
            "Group by fewer columns, or declare coarser ones."
        )
    sensitivity = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
    return BoundedQuery(table, plan.keys, domains, sensitivity, _question(table, plan.keys))


def _finite(column: str, domain: Domain) -> Finite:
    match domain:
        case dp.Category() | dp.Integer() | dp.Boolean():
            ends = (domain.values[0], domain.values[-1]) if isinstance(domain, dp.Integer) else domain.values
            if any(isinstance(value, int) and abs(value) >= _EXACT_IN_A_FLOAT for value in ends):
                raise NotSupported(f"column {column!r} reaches beyond 2^53; declare smaller values to group by it.")
            return domain
        case _:
            raise NotSupported(
                f"column {column!r} is a {type(domain).__name__} and has no list of values; group by a dc.Category, "
                "dc.Integer or dc.Boolean column."
            )


def _question(table: Table, keys: tuple[str, ...]) -> str:
    """Return the one text of all questions with this answer, whatever names and order they were written with."""
    domains = {column: _public(table.columns[column]) for column in keys}
    digest = hashlib.sha256(json.dumps(domains).encode()).hexdigest()
    fields = {"count": "rows", "from": table.name, "version": table.version, "by": list(keys), "domains": digest}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def _public(domain: Domain) -> list[object]:
    match domain:
        case dp.Integer(lower, upper):
            return ["Integer", lower, upper]
        case dp.Category() | dp.Boolean():
            return [type(domain).__name__, *domain.values]
        case _:
            raise NotSupported(f"a {type(domain).__name__} column has no list of values.")
