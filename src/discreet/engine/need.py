"""How several measures of one question share its price: by need.

What can be shown should have the least total error, each error in terms of what its number could be. With U units in a
group, a measure is at most U times what one unit can add to one group, `linf`; that is its reference. What can be shown
of some measures: each of them itself, and for each total the mean, for which it is divided by the number of its values.
At worst a relative error of either moves a mean, relative to the range of the values, by as much. So over all that can
be shown, the squared error of a measure over its reference counts W^2 times:

| measure                       | W^2                                     |
|-------------------------------|-----------------------------------------|
| a number of rows or of values | 1, and 1 for each total that it divides |
| anything else                 | 1                                       |

It depends on what is measured and not on what is selected, so that other words for a question buy the same.

The criterion is the sum of all these. With a share s_i of the price the error of measure i over its reference is
c_i / s_i by Laplace noise and c_i / sqrt(s_i) by normal noise. One minimises

    sum of (W_i c_i / s_i)^2  ->  s_i in proportion to (W_i c_i)^(2/3)       (Laplace)
    sum of W_i^2 c_i^2 / s_i  ->  s_i in proportion to W_i c_i               (normal)

by setting the derivatives to one multiplier. Everything in it is public. The names of private keys have no error of
this form; they take an even part first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction

from discreet.dp.tree_choice import best_branching
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.expression import Expression
from discreet.engine.plan import Histogram, Present, Rows, Total

_PARTS = 1000  # a share is a multiple of about one part in a thousand: closer makes no error smaller that one sees


def shares(query: BoundedQuery, *, normal: bool) -> tuple[Fraction, ...]:
    """Return the part of the price that each measure takes. They add up to 1 exactly, and depend on public facts alone.

    >>> divided([1.0, 8.0], normal=False), divided([1.0, 4.0], normal=True)
    ((Fraction(1, 5), Fraction(4, 5)), (Fraction(1, 5), Fraction(4, 5)))
    """
    weights = weights_of(query)
    return divided([math.sqrt(weight) * _cost(of, query, normal=normal)
                    for weight, of in zip(weights, query.measures, strict=True)], normal=normal)  # fmt: skip


def divided(needs: Sequence[float], *, normal: bool) -> tuple[Fraction, ...]:
    """Return the shares of measures with these W_i c_i."""
    wanted = [need if normal else need ** (2 / 3) for need in needs]
    parts = [max(1, round(_PARTS * part / max(wanted))) for part in wanted]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def weights_of(query: BoundedQuery) -> list[int]:
    """Return W^2 of each measure."""
    measures = [of.measure for of in query.measures]
    found = [1] * len(measures)
    for total in (measure for measure in measures if isinstance(measure, Total)):
        for place, count in enumerate(measures):
            if isinstance(count, Present) and _has(total.expression, count.expression):
                found[place] += 1
                break
        else:  # its values are never NULL here (`sharing.py`), or nobody asked how many there are
            for place, count in enumerate(measures):
                found[place] += isinstance(count, Rows)
    return found


def _has(whole: object, part: Expression) -> bool:
    """Whether an expression is one of the operands of another, at any depth."""
    if whole == part:
        return True
    if isinstance(whole, Expression):
        return any(_has(getattr(whole, each.name), part) for each in fields(whole))
    return isinstance(whole, tuple) and any(_has(each, part) for each in whole)


def _cost(of: BoundedMeasure, query: BoundedQuery, *, normal: bool) -> float:
    """Return c: the scale of the noise at a price of 1, over what one unit can add to one group.

    A prefix of the bins of a tree adds up at most b - 1 nodes at each of h levels, which all move at once: their l1 is
    h times as large, and their l2 sqrt(h) times.
    """
    moved = of.sensitivity
    norm = float(moved.l2 if normal or moved.l1 is None else moved.l1)
    if isinstance(of.measure, Histogram) and of.measure.bins.declared > 1:
        arms = best_branching(of.measure.bins.declared, normal=normal)
        levels = math.ceil(math.log(of.measure.bins.declared, arms) - 1e-9)
        together = of.rows if query.form == "rows" else query.bounds.greatest()[0] * of.scale
        spread = math.sqrt(levels * (arms - 1)) * (math.sqrt(levels) if normal else levels)
        return together * spread / (query.bounds.greatest()[2] * of.scale)
    return norm / float(moved.linf)
