"""A table as a histogram of a universe, for `discreet.release`: the number of rows in each cell, all at once.

The cell of a row is one integer, the number of the cell in mixed radix with the last column fastest, so one histogram
of that integer is all there is to ask: DuckDB counts the codes of its rows, and a server groups by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import dp
from discreet.engine.backend import Engine, PublicGroups
from discreet.engine.bound import MAX_NUMBERS, bound
from discreet.engine.expression import Arithmetic, Case, Column, Constant, Day, Expression, Not, Number, Truth
from discreet.engine.kinds import kind_of
from discreet.engine.plan import Histogram, Plan, Relation
from discreet.engine.table import Table
from discreet.errors import NeedsDeclaration, NotSupported

_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Counted:
    """The exact numbers of rows in all cells of a universe, in integers that each stand for `step` of a row.

    Guarantee: the sensitivity of `exact` is that of the bounds of its table: one row, or the rows of a unit that count.
    """

    exact: dp.Exact
    step: Fraction
    universe: dp.Universe


def histogram(engine: Engine, table: Table, columns: Sequence[str], *, neighbours: dp.Neighbours) -> Counted:
    """Return the numbers of rows in the cells that some columns of a table span; a row outside of them is in none.

    Nothing is released and nothing spent: whoever opens the result accounts for it.
    """
    named = {table.column(name): table.columns[table.column(name)] for name in columns}
    listed = {name: domain for name, domain in named.items() if isinstance(domain, dp.domain.Listed)}
    if len(listed) < len(named) or not named:
        raise NeedsDeclaration(
            "a histogram is of columns with a list of values: Category, Integer, Boolean, Date or Bins."
        )
    cells = math.prod(domain.declared for domain in listed.values())
    if cells > MAX_NUMBERS:
        raise NotSupported(f"the columns span {cells:,} cells, and {MAX_NUMBERS:,} are the most: leave out columns.")
    universe = dp.Universe(listed)
    plan = Plan(Relation((table,)), None, (), (Histogram(_code(listed), dp.Integer(0, cells - 1)),), ())
    query = bound(plan, neighbours=neighbours)
    engine.schema(plan.relation)
    groups = engine.run(query)
    assert isinstance(groups, PublicGroups)
    (exact,), (bounded,) = groups.measures, query.measures
    shaped = np.asarray(exact._value).reshape(universe.shape)
    return Counted(dp.Exact(shaped, sensitivity=exact.sensitivity, unit=exact.unit), bounded.step, universe)


def _code(columns: Mapping[str, dp.domain.Listed]) -> Expression:
    """Return the number of the cell that a row is in."""
    code, size = _number(0), 1
    for name, domain in columns.items():
        size *= domain.declared
        every = Number(_ONE, 0, size - 1)
        wider = Arithmetic("*", code, _number(domain.declared), every)
        code = Arithmetic("+", wider, _place(name, domain), every)
    return code


def _place(name: str, domain: dp.domain.Listed) -> Expression:
    """Return the place of a value of a column."""
    assert isinstance(domain, dp.domain.Finite)
    column = Column(0, name, domain, kind_of(domain))
    places = Number(_ONE, 0, domain.declared - 1)
    match column.kind:
        case Truth():
            null = Constant(None, places)
            return Case(((column, _number(1)), (Not(column), _number(0))), null, places)
        case Number(_, low, _) | Day(low, _):
            return Arithmetic("-", column, _number(low), places)
        case _:
            return column


def _number(value: int) -> Expression:
    return Constant(value, Number(_ONE, value, value))
