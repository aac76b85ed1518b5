"""What is known of an answer before it is bought: how far off it may be, and what is enforced. No row is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import dp
from discreet.dp.rational import float_up
from discreet.engine.averaging import mean_of
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.derive import derived, measures_of
from discreet.engine.expression import Number
from discreet.engine.plan import (
    Distinct,
    Formula,
    Histogram,
    KeyOf,
    MeanOf,
    Present,
    QuantileOf,
    Released,
    Rows,
    Total,
    Units,
)
from discreet.engine.price import FAILURE
from discreet.engine.purchase import Measuring, Purchase, steps_off
from discreet.engine.released import Bins, Numbers, Part, Release


def errors_before(
    query: BoundedQuery, purchase: Purchase, before: Release | None = None
) -> dict[str, int | float | str]:
    """Return for each number how far off it will be at 95 %, or a formula where that depends on the table.

    With a release from before, the new one is averaged with it, and what is known from it takes the place of n.
    """
    if before is not None:
        return _with_known(query, purchase, before)
    noisy = check_shown(query, purchase)
    formulas = {output.name: output.formula for output in query.plan.outputs if output.name in noisy}
    return {name: _before(formula, query, purchase) for name, formula in formulas.items()}


def _with_known(query: BoundedQuery, purchase: Purchase, before: Release) -> dict[str, int | float | str]:
    """Return the errors that the mean of both releases would have if its numbers were those of the first."""
    fresh = Release(None, tuple(map(_as_if, before.parts, purchase.mechanisms)), purchase.charge.amount)
    found = errors_after(query, mean_of(before, fresh, query))
    formulas = {output.name: output.formula for output in query.plan.outputs}
    return {
        name: error if isinstance(formulas[name], Released) or isinstance(error, str) else f"about {error:.3g}"
        for name, error in found.items()
    }


def _as_if(part: Part, mechanism: Measuring) -> Part:
    """Return a part with the same numbers, measured by another mechanism."""
    if isinstance(part, Bins):
        assert isinstance(mechanism, dp.QuantileTree)
        same = mechanism.branching == part.tree.branching
        return Bins(
            part.counts if same else np.zeros((len(part.counts), mechanism.branching**mechanism.levels)), mechanism
        )
    assert isinstance(mechanism, dp.Laplace | dp.Gaussian)
    return Numbers(part.values, part.step, mechanism)


def errors_after(query: BoundedQuery, release: Release) -> dict[str, int | float | str]:
    """Return for each number how far off it is at most in any row of what was released."""
    found: dict[str, int | float | str] = {}
    for name, errors in derived(query, release).errors.items():
        known = [error for error in errors if error is not None] if isinstance(errors, tuple) else [errors]
        found[name] = max(known, default="told with the answer")
    return found


def check_shown(query: BoundedQuery, purchase: Purchase) -> frozenset[str]:
    """Return the outputs that are noisy numbers, or refuse what could not be computed from released numbers.

    It is tried on zeros before anything is spent, so it cannot fail afterwards.
    """
    return frozenset(derived(query, Release.blank(query, purchase)).errors)


def _before(formula: Formula, query: BoundedQuery, purchase: Purchase) -> int | float | str:
    match formula:
        case Released(measure):
            error = _error(measure, FAILURE, query, purchase)
            return int(error) if error.denominator == 1 else float_up(error)
        case MeanOf(total, present):
            of = query.measures[total].measure
            assert isinstance(of, Total)
            assert isinstance(of.expression.kind, Number)
            reach = of.expression.kind.most * of.expression.kind.step
            rows = _error(present, FAILURE / 2, query, purchase)
            most = _error(total, FAILURE / 2, query, purchase) + reach * rows
            return _per_row(most, rows)
        case QuantileOf(histogram, share):
            tree = purchase.mechanisms[histogram]
            assert isinstance(tree, dp.QuantileTree)
            rows = Fraction(tree.accuracy(q=share, failure_probability=FAILURE)) * query.measures[histogram].step
            return f"{_said(rows)} rows"
        case _:
            return "told with the answer"


def _per_row(most: Fraction, rows: Fraction) -> str:
    """Return most / (n - rows) as a formula in n, with an example at a round number of rows."""
    example = 100
    while example < 10 * rows:
        example *= 10
    at = float(most / (example - rows))
    return f"{_said(most)} / (n - {_said(rows)}), so {at:.3g} at n = {example:,}"


def _said(number: Fraction) -> str:
    return f"{float(number):,.0f}" if number >= 1000 else f"{float(number):.3g}"


def _error(measure: int, failure: Fraction, query: BoundedQuery, purchase: Purchase) -> Fraction:
    noise = purchase.mechanisms[measure]
    assert isinstance(noise, dp.Laplace | dp.Gaussian)
    return steps_off(noise, failure) * query.measures[measure].step


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What a question protects, how that is enforced, and how far one unit can move each of its measures."""

    protects: str
    form: str
    bounds: tuple[str, ...]
    groups: str
    measures: tuple[str, ...]
    shows: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"protects {self.protects}, added or removed",
                f"groups   {self.groups}",
                f"form     {self.form}: {', '.join(self.bounds)}",
                *(f"measures {line}" for line in self.measures),
                *(f"shows    {line}" for line in self.shows),
            ]
        )


_FORMS = {
    "rows": "every row counts, since each is its own unit",
    "weighted": "every row counts at the weight min(1, R / n) of a unit with n rows",
    "groups": "rows count at the weight min(1, k / c), and groups at min(1, m / n)",
    "sampled": "m groups of a unit count, chosen by a secret hash, with k rows in each and R in all",
}


def explained(query: BoundedQuery) -> Explanation:
    """Return the plan of a question in words, with the norms of each measure: groups moved, l1, l2 and linf."""
    bounds, plan = query.bounds, query.plan
    named = (f"R = {bounds.rows:,} rows", f"m = {bounds.groups:,} groups", f"k = {bounds.rows_each:,} rows in one")
    groups = "named privately" if query.is_private else f"{query.cells:,} declared"
    return Explanation(
        query.unit,
        f"{query.form}, {_FORMS[query.form]}",
        named,
        groups,
        tuple(map(_measure, query.measures)),
        tuple(f"{output.name}: {_shown(output.formula)}" for output in plan.outputs),
    )


def _measure(bounded: BoundedMeasure) -> str:
    moved, step = bounded.sensitivity, bounded.step
    norms = [("l1", moved.l1), ("l2", moved.l2), ("linf", moved.linf)]
    said = ", ".join(f"{name} {float(norm * step):.6g}" for name, norm in norms if norm is not None)
    return f"{_called(bounded)}: one unit moves {bounded.cells_moved:,} cells at most, {said}; in steps of {step}"


def _called(bounded: BoundedMeasure) -> str:
    match bounded.measure:
        case Rows():
            return "number of rows"
        case Present():
            return "number of values that are not NULL"
        case Units():
            return "number of units"
        case Distinct():
            return "number of different values"
        case Total():
            return "sum"
        case Histogram(bins=bins):
            return f"histogram of {bins.declared:,} bins"


def _shown(formula: Formula) -> str:
    match formula:
        case KeyOf():
            return "a key"
        case Released():
            return "a measure as it is released"
        case _:
            return f"computed from {len(measures_of(formula))} released measures"
