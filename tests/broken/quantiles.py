"""Wrong private quantiles that one would really write: laws on the points 0 ... top."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.accounting import precise
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.quantile_laws import law, score
from tests.selecting import Distribution
from tests.sensitivities import Table

LawOf = Callable[[Table], Distribution]


def at_rate(q: Fraction, factor: Fraction, top: int) -> LawOf:
    """A factor that belongs to the other relation, or to a score all of whose values move the same way."""
    return lambda table: law(table, q, factor, top)


def among_the_values(q: Fraction, factor: Fraction, top: int) -> LawOf:
    """The candidates are the values of the table."""

    @precise
    def of(table: Table) -> Distribution:
        weights = [mp.exp(real(factor * score(table, y, q))) if y in table else mpf(0) for y in range(top + 1)]
        total = mp.fsum(weights)
        return [weight / total if total else mpf(y == 0) for y, weight in enumerate(weights)]

    return of


def without_lengths(q: Fraction, factor: Fraction, top: int) -> LawOf:
    """Every run of equal score counts as one candidate, however long."""

    @precise
    def of(table: Table) -> Distribution:
        runs: list[list[int]] = []
        for y in range(top + 1):
            if runs and y not in table and runs[-1][-1] not in table:
                runs[-1].append(y)
            else:
                runs.append([y])
        weights = [mp.exp(real(factor * score(table, run[0], q))) for run in runs]
        total = mp.fsum(weights)
        return [weight / total / len(run) for run, weight in zip(runs, weights, strict=True) for _ in run]

    return of


def with_rounded_rank(q: Fraction, factor: Fraction, top: int) -> LawOf:
    """The rank is rounded to a whole number before rows are counted against it: it jumps by one."""

    @precise
    def of(table: Table) -> Distribution:
        target = int(q * len(table))
        misses = [abs(sum(row < y for row in table) - target) for y in range(top + 1)]
        weights = [mp.exp(-real(factor) * miss) for miss in misses]
        return [weight / mp.fsum(weights) for weight in weights]

    return of
