"""Counts as counts are: whole, not negative, and with the sum that they should have. Post-processing, which is free.

**Why the errors stay valid.** A true count is not below 0, so cutting at 0 cannot move a number away from it: the cut
is a projection on a convex set that holds the truth. For a total, the counts move to the nearest ones, in least squares
with the squares of the errors as variances, that are not negative and add up. In that norm, with the total and until
they are made whole, they are no farther from the truth than before, if the true ones add up. What is *stated* of each
count does not rest on that: it is the interval that the released count had, without what lies below 0, seen from the
new number. So it holds at the same confidence, even for groups that do not add up to the total because rows with NULL
are in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from discreet.answer import Answer

Total: TypeAlias = "Answer | int | None"


def consistent(answer: Answer, total: Total = None) -> Answer:
    """Return an answer whose counts are not negative, and add up to a total if there is one."""
    counts = [name for name in answer.columns if name in answer.facts.counts and name in answer.errors]
    if not counts:
        raise NotSupported("this answer has no column of counts; only counts are known to be whole and not negative.")
    columns, errors = dict(answer.columns), dict(answer.errors)
    said = ["non-negative"]
    for name in counts:
        values, off = _released(answer, name)
        if total is None:
            found = np.maximum(np.rint(values), 0).astype(np.int64)
        else:
            whole, about = _total(total, name, alone=len(counts) == 1)
            found = _whole(adding_up(values, off, whole, about))
            said.append(f"{name} sums to {int(found.sum()):,}")
        columns[name] = tuple(found.tolist())
        errors[name] = tuple(_errors(values, off, found).tolist())
    return replace(
        answer,
        columns=columns,
        errors=errors,
        route="post-processing",
        charged=Fraction(0),
        processing=(*answer.processing, *said),
    )


def _released(answer: Answer, name: str) -> tuple[Reals, Reals]:
    """Return the numbers of a column and their errors: weights of rows may have made fractions of counts."""
    values, errors = answer.columns[name], answer.errors_of(name)
    if any(value is None for value in values) or any(error is None for error in errors):
        raise NotSupported(f"column {name!r:.60} has rows without a number or without an error.")
    return np.array(values, dtype=np.float64), np.array(errors, dtype=np.float64)


def _errors(before: Reals, off: Reals, after: Integers) -> Integers:
    """Return the distance from the new numbers to the farther ends of the old intervals, cut at 0."""
    low, high = np.maximum(before - off, 0), before + off
    farther = np.maximum(high - after, after - low)
    errors = np.where(high < 0, off, farther)  # below 0 all along: the error did not hold, and nothing better is known
    whole = (before == np.rint(before)) & (off == np.rint(off))
    return np.ceil(np.where(whole, errors, np.nextafter(errors, np.inf))).astype(np.int64)


def _total(total: Any, name: str, *, alone: bool) -> tuple[float, float]:
    """Return a total and its error: of an answer, or a number that is known."""
    if isinstance(total, int) and not isinstance(total, bool):
        if total < 0:
            raise InvalidParameter(f"counts that are not negative cannot sum to {total}; write total=0 or more.")
        return float(total), 0.0
    columns: Any = getattr(total, "columns", {})
    numbers = [column for column in columns if column in total.errors]
    column = name if name in numbers else numbers[0] if alone and len(numbers) == 1 else None
    if column is None or total.rows != 1:
        raise InvalidParameter(
            f"total= is the answer to the same question without GROUP BY, one row with a column {name!r:.60}, or a "
            "whole number that is public."
        )
    values, off = _released(total, column)
    return float(values[0]), float(off[0])


def adding_up(values: Reals, off: Reals, total: float, about: float) -> Reals:
    """Return the nearest numbers that are not negative and add up to what the total is moved to.

    They are max(0, x + w t) with the variance w of each: what a common pull t makes of them. It is such that their sum
    is the total, pulled the other way by its own variance. In t that grows, in straight pieces from one count that
    comes above 0 to the next.
    """
    weights = off**2
    if not len(values) or not (weights > 0).all():
        raise NotSupported("least squares need an error above 0 for each count.")
    starts = -values / weights  # from this pull on, a count is above 0
    order = np.argsort(starts)
    slopes, levels = about**2 + np.cumsum(weights[order]), np.cumsum(values[order])
    pulls = (total - levels) / slopes  # if the counts above 0 are those before this place
    ends = np.append(starts[order][1:], np.inf)
    fits = np.flatnonzero(pulls <= ends)
    pull = pulls[fits[0]]
    if pull < starts[order][0]:  # no count is above 0
        return np.zeros(len(values))
    pulled: Reals = np.maximum(values + weights * pull, 0.0)
    return pulled


def _whole(numbers: Sequence[float] | Reals) -> Integers:
    """Return whole numbers with the sum that the numbers have, rounded: the greatest remainders are rounded up."""
    exact = np.asarray(numbers, dtype=np.float64)
    found = np.floor(exact).astype(np.int64)
    missing = round(float(np.sum(exact - found)))
    upwards = np.argsort(found - exact, kind="stable")[:missing]
    found[upwards] += 1
    return found
