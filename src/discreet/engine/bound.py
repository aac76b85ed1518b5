"""From a plan to a bounded query: which rows of a unit count, and how far one unit can move what is measured.

A unit has at most R rows in the whole relation (`rows`), m groups (`groups`) and k rows in one group (`rows_each`). How
that is enforced is the `form` of a query, and each form is a function of one unit's own rows:

| form     | what one unit adds to a group that has c of its n rows; it is in n_u groups         | where it is used |
|----------|---------------------------------------------------------------------------------|------------------|
| rows     | every row; a row is a unit (R rows, where it finds R rows of public tables)       | no unit          |
| weighted | every row at the weight min(1, R / n)                                             | R; public keys   |
| groups   | min(1, k / c) of its rows, at the weight min(1, m / n_u)                          | k, m; public   |
| sampled  | the same of m groups, chosen by a secret hash of unit and group, and R rows in all | private keys     |

A weight is the expectation of a sample, so it has the bounds of sampling and none of its noise. Weighted numbers are
cut toward zero, unit by unit or row by row, on a grid `scale` times finer than that of the value.

**Why the norms hold (ADD_REMOVE).** What a unit adds to the groups is a vector with entries of at most k in magnitude,
m entries at most that are not 0, and R at most in all, times the greatest magnitude of a value. The greatest l2 under
these three has as many entries of k as fit into R, and one of what is left. Other units' parts do not change. A
replaced unit takes one such vector away and brings another, so l1 doubles, and l2 too, or l2^2 for numbers of one sign;
one entry moves from one end of what a row can add to the other end, k times. A count of different values is no sum over
units, but only grows when a unit comes, so it is one of one sign. A weight moves every group that a unit is in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet import dp
from discreet.dp.rational import sqrt_up
from discreet.engine.expression import MOST, Number
from discreet.engine.identity import question
from discreet.engine.plan import Distinct, Histogram, Measure, Plan, Present, Relation, Rows, Total, Units
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

MAX_CELLS = 1_000_000  # every cell is returned, so this is the longest answer: a few dozen megabytes
MAX_NUMBERS = 1 << 24  # cells of all measures together, the bins of histograms included
WEIGHT = 1 << 20  # parts of which a weight is a whole number: one in a million is not lost
_VALUE_BITS = 30  # what one unit adds to a group has about so many bits

_ONE = Number(Fraction(1), 0, 1)  # a row that counts, or not

Form = Literal["rows", "weighted", "groups", "sampled"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of one unit counts: `rows` in all, in at most `groups` groups, at most `rows_each` in one of them."""

    rows: int
    groups: int
    rows_each: int

    def greatest(self) -> tuple[int, Fraction, int]:
        """Return the greatest l1, l2 and linf of rows in groups."""
        each = min(self.rows_each, self.rows)
        whole, rest = divmod(self.rows, each)
        if whole >= self.groups:
            whole, rest = self.groups, 0
        return whole * each + rest, sqrt_up(Fraction(whole * each * each + rest * rest)), each


@dataclass(frozen=True, slots=True)
class BoundedMeasure:
    """A measure with its sensitivity, both in integers of which each stands for `step`.

    Guarantee: for the tables of the relation and the same without one unit's rows (or with that unit's rows replaced,
      by `sensitivity.neighbours`), the integers of all cells together differ by at most `sensitivity`, and in at most
      `cells_moved` cells.
    """

    measure: Measure
    scale: int
    step: Fraction
    sensitivity: dp.Sensitivity
    cells_moved: int
    rows: int  # of a histogram, how many rows a unit has in all bins together, times the scale


@dataclass(frozen=True, slots=True)
class BoundedQuery:
    """A plan with the bounds that are enforced when it is run.

    Guarantee: each of `measures` has its sensitivity when `form` and `bounds` are enforced as the table above says.
      Groups come from declarations alone, except for those of private keys, in which a unit counts once in each and
      in at most `bounds.groups`.
    """

    plan: Plan
    form: Form
    bounds: Bounds
    weighs: bool  # some unit may have a weight below 1
    measures: tuple[BoundedMeasure, ...]
    neighbours: dp.Neighbours
    question: str

    @property
    def is_private(self) -> bool:
        """Whether the groups have to be released, too."""
        return any(key.is_private for key in self.plan.keys)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each public key has."""
        return tuple(len(key.values) for key in self.plan.keys if key.values is not None)

    @property
    def cells(self) -> int:
        """How many groups there are, where all keys are public."""
        return _cells(self.plan)

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return unit_of(self.plan.relation)


def unit_of(relation: Relation) -> str:
    """Return what is protected, in words."""
    private = [table for table in relation.scans if not table.public]
    named = " and ".join(table.name for table in private)
    return f"one row of {named}" if private[0].unit is None else f"all rows of one {private[0].unit} in {named}"


def bound(
    plan: Plan,
    *,
    neighbours: dp.Neighbours,
    groups_per_unit: int | None = None,
    rows_per_group: int | None = None,
) -> BoundedQuery:
    """Return the query that a plan stands for, or a refusal that says what to change.

    A question may tighten the bounds on groups and on rows in a group that its tables declare, and not widen them.
    """
    _check_size(plan)
    private = any(key.is_private for key in plan.keys)
    form, bounds = _form(plan, private=private, groups=groups_per_unit, each=rows_per_group)
    weighs = form == "weighted" or (form == "groups" and bounds.groups < _cells(plan))
    how = _Enforced(form, bounds, weighs, neighbours, None if private else _cells(plan))
    measures = tuple(_measured(measure, how) for measure in plan.measures)
    return BoundedQuery(plan, form, bounds, weighs, measures, neighbours, question(plan, form, bounds, neighbours.name))


def _check_size(plan: Plan) -> None:
    cells = _cells(plan)
    if cells > MAX_CELLS:
        many = f"{cells:,}" if cells < 10**18 else "more than 10^18"
        raise NotSupported(
            f"the question has {many} groups and {MAX_CELLS:,} are allowed: every declared combination is returned. "
            "Group by fewer columns, or declare coarser ones."
        )
    bins = sum(measure.bins.declared for measure in plan.measures if isinstance(measure, Histogram))
    if cells * bins > MAX_NUMBERS:
        raise NotSupported("the question has quantiles of too many groups; group by fewer columns.")


def _cells(plan: Plan) -> int:
    return math.prod(len(key.values) for key in plan.keys if key.values is not None)


def rows_of(relation: Relation) -> int | None:
    """Return how many rows of the relation one unit has at most; None where every row is its own unit."""
    if relation.scans[0].unit is None:
        return None
    rows = 1
    for table in relation.scans:
        if not table.public:
            if table.rows_per_unit is None:
                raise NeedsDeclaration(f"table {table.name!r} has a unit: add rows_per_unit= to its declaration.")
            rows *= table.rows_per_unit
    return rows * _fan(relation)


def _fan(relation: Relation) -> int:
    """Return how many rows of public tables a row finds at most; one that finds none may stay, in a left join."""
    return math.prod(max(1, join.fan_out) for join in relation.joins)


def _form(plan: Plan, *, private: bool, groups: int | None, each: int | None) -> tuple[Form, Bounds]:
    relation = plan.relation
    rows = rows_of(relation)
    declared = _least(table.groups_per_unit for table in relation.scans if not table.public)
    held = _least(table.rows_per_group for table in relation.scans if not table.public)
    fan = _fan(relation)
    most_groups = _tightened("groups_per_unit", groups, declared if fan == 1 else None)
    most_each = _tightened("rows_per_group", each, held if len(relation.joins) == 0 else None)
    cells = _cells(plan)
    if rows is None:
        if groups is not None or each is not None:
            raise InvalidParameter("every row is its own unit here: leave out groups_per_unit= and rows_per_group=.")
        if private and fan > 1:
            raise NotSupported("a row that finds several public rows would be counted more than once in a private key.")
        return "rows", Bounds(fan, min(fan, cells), fan)  # a row finds at most so many public rows
    most = min(most_groups or rows, rows, rows if private else cells)
    bounds = Bounds(rows, most, min(most_each or rows, rows))
    if private:
        return "sampled", bounds
    needs_units = any(isinstance(measure, Units) for measure in plan.measures)
    by_group = Bounds(bounds.groups * bounds.rows_each, bounds.groups, bounds.rows_each)
    if needs_units or by_group.greatest()[1] <= rows:
        return "groups", by_group
    return "weighted", Bounds(rows, min(rows, cells), rows)


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _tightened(name: str, asked: int | None, declared: int | None) -> int | None:
    if asked is None:
        return declared
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise InvalidParameter(f"{name}= is a whole number of at least 1; got {asked!r:.40}.")
    if declared is not None and asked > declared:
        raise InvalidParameter(f"{name}={asked} is more than the {declared} that the table declares; ask for less.")
    return asked


@dataclass(frozen=True, slots=True)
class _Enforced:
    """What is the same for all measures of a query."""

    form: Form
    bounds: Bounds
    weighs: bool
    neighbours: dp.Neighbours
    cells: int | None  # None where keys are private


def _measured(measure: Measure, how: _Enforced) -> BoundedMeasure:
    bounds, together = how.bounds, how.bounds.greatest()[0]
    in_one = Bounds(together, 1, together)  # all of them may be in one group and one bin
    # A weight makes what a unit adds to a group small and not nothing: it moves every group that it is in.
    groups = how.cells if how.weighs and how.cells is not None else bounds.groups
    counting = WEIGHT if how.weighs else 1
    match measure:
        case Rows() | Present():
            return _bounded(measure, how, bounds, _ONE, counting, groups)
        case Units():
            return _bounded(measure, how, Bounds(bounds.groups, bounds.groups, 1), _ONE, counting, groups)
        case Distinct():
            return _bounded(measure, how, in_one, _ONE, 1, together)
        case Histogram():
            scale = 1 if how.form == "rows" else WEIGHT
            moved = together if how.form == "rows" else groups * measure.bins.declared
            return _bounded(measure, how, in_one, _ONE, scale, moved)
        case Total(expression):
            kind = expression.kind
            assert isinstance(kind, Number)
            most = max(kind.most, 1)
            scale = 1 if how.form == "rows" else 1 << max(0, _VALUE_BITS - (most * bounds.rows_each).bit_length())
            if most * scale * bounds.rows * max(bounds.groups, bounds.rows_each) >= MOST:
                raise NotSupported(
                    "a sum of such large numbers over so many rows of one unit does not fit 62 bits: declare tighter "
                    "bounds or a coarser step, or fewer rows_per_unit."
                )
            return _bounded(measure, how, bounds, kind, scale, groups)


def _bounded(measure: Measure, how: _Enforced, bounds: Bounds, kind: Number, scale: int, moved: int) -> BoundedMeasure:
    low, high = min(kind.low, 0) * scale, max(kind.high, 0) * scale
    most = max(-low, high, 1)
    if most * bounds.rows >= MOST:
        raise NotSupported("so many rows of one unit do not fit 62 bits with their weights: declare fewer.")
    l1, l2, linf = bounds.greatest()[0] * most, bounds.greatest()[1] * most, bounds.greatest()[2] * most
    bins = measure.bins.declared if isinstance(measure, Histogram) else 1
    cells = None if how.cells is None else how.cells * bins
    if how.neighbours is dp.Neighbours.REPLACE:
        moved *= 2
        linf = max(high - low, 1) * bounds.greatest()[2]
        # Numbers of one sign take nothing away from each other twice, and no cell moves by more than linf.
        l1, l2 = 2 * l1, min(sqrt_up(2 * l2 * l2) if low == 0 or high == 0 else 2 * l2, Fraction(2 * l1))
        if cells is not None:
            l1, l2 = min(l1, cells * linf), min(l2, sqrt_up(Fraction(cells)) * linf)
    sensitivity = dp.Sensitivity(l1=l1, l2=l2, linf=linf, neighbours=how.neighbours)
    most_moved = moved if cells is None else min(moved, cells)
    return BoundedMeasure(measure, scale, kind.step / scale, sensitivity, most_moved, bounds.rows * scale)
