"""What needs no measure of its own, because another measure gives it.

COUNT(x) is COUNT(*) where x cannot be NULL in a row that counts: because WHERE compares x, or the rows are grouped by
it. Then one release serves both, and a price is not split between two names of one number.

A value is known not to be NULL if it is one of the `known` expressions, or is made of such by functions that are NULL
only where an operand is. A condition that is true makes known what it compares: NULL would have made it NULL.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.engine.expression import (
    Arithmetic,
    AsDay,
    Binned,
    Case,
    Coalesce,
    Column,
    Comparison,
    Constant,
    Expression,
    Extreme,
    IsNull,
    Logical,
    Lookup,
    Member,
    Not,
    Number,
    Part,
    Prefix,
    Truncated,
)
from discreet.engine.plan import Measure, Order, Output, Plan, Present, Rows
from discreet.engine.resolve import renumbered

Known = frozenset[Expression]
_NOTHING: Known = frozenset()


def shared(plan: Plan) -> Plan:
    """Return the same question with each number measured once.

    Guarantee: the exact values of every output are those of the plan, on every table.
    """
    known = _NOTHING if plan.where is None else _if_true(plan.where)
    for key in plan.keys:
        known |= _parts(key.expression)  # a row whose key is NULL is in no group
    measures = [_simplest(measure, known) for measure in plan.measures]
    places = sorted(dict.fromkeys(measures), key=repr)
    order = {old: places.index(measure) for old, measure in enumerate(measures)}
    return replace(
        plan,
        measures=tuple(places),
        outputs=tuple(Output(output.name, renumbered(output.formula, order)) for output in plan.outputs),
        having=None if plan.having is None else renumbered(plan.having, order),
        order_by=tuple(Order(renumbered(by.formula, order), by.descending, by.nulls_first) for by in plan.order_by),
    )


def _simplest(measure: Measure, known: Known) -> Measure:
    return Rows() if isinstance(measure, Present) and _is_present(measure.expression, known) else measure


def _if_true(condition: Expression) -> Known:
    """Return what is not NULL in a row where a condition is true."""
    match condition:
        case Logical("and", operands):
            return frozenset().union(*map(_if_true, operands))
        case Logical(_, operands):
            return frozenset.intersection(*map(_if_true, operands))
        case Not(operand):
            return _if_false(operand)
        case IsNull():
            return _NOTHING
        case _:
            return _parts(condition)


def _if_false(condition: Expression) -> Known:
    """Return what is not NULL in a row where a condition is false."""
    match condition:
        case Logical("and", operands):
            return frozenset.intersection(*map(_if_false, operands))
        case Logical(_, operands):
            return frozenset().union(*map(_if_false, operands))
        case Not(operand):
            return _if_true(operand)
        case IsNull(operand):
            return _parts(operand)
        case _:
            return _parts(condition)


def _parts(value: Expression) -> Known:
    """Return what is not NULL if a value is not: itself, and operands of which one NULL makes it NULL."""
    match value:
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return _parts(left) | _parts(right) | {value}
        case Member(operand) | Prefix(operand) | Not(operand) | AsDay(operand) | Binned(operand) | Lookup(operand):
            return _parts(operand) | {value}
        case Part(_, operand) | Truncated(_, operand):
            return _parts(operand) | {value}
        case _:
            return frozenset({value})


def _is_present(value: Expression, known: Known) -> bool:
    """Whether a value cannot be NULL, given what is known not to be."""
    if value in known:
        return True
    match value:
        case Constant(constant):
            return constant is not None
        case IsNull():
            return True
        case Arithmetic(operator, left, right):
            divides = operator in ("//", "%")
            whole = isinstance(right.kind, Number) and (right.kind.low > 0 or right.kind.high < 0)
            return (whole or not divides) and _is_present(left, known) and _is_present(right, known)
        case Comparison(_, left, right):
            return _is_present(left, known) and _is_present(right, known)
        case Member(operand) | Prefix(operand) | Not(operand):
            return _is_present(operand, known)
        case Coalesce(operands):
            return any(_is_present(operand, known) for operand in operands)
        case Extreme(_, operands):
            return any(_is_present(operand, known) for operand in operands)
        case Case(branches, otherwise):
            found = all(_is_present(chosen, known | _if_true(condition)) for condition, chosen in branches)
            return found and _is_present(otherwise, known)
        case Column() | _:
            return False
