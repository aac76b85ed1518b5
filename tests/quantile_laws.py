"""The law of a private quantile by its definition, point by point, at 256 bits; nothing of ours is used."""

from __future__ import annotations

from fractions import Fraction

from discreet.dp import Neighbours
from tests.accounting import precise
from tests.closed_forms import mp
from tests.noise_laws import real
from tests.selecting import Distribution
from tests.sensitivities import Table


def score(table: Table, point: int, q: Fraction) -> Fraction:
    """Minus the number of rows by which a point misses the quantile."""
    below, up_to = sum(row < point for row in table), sum(row <= point for row in table)
    return -max(below - q * len(table), q * len(table) - up_to, Fraction(0))


def rate(q: Fraction, relation: Neighbours, epsilon: Fraction) -> Fraction:
    if q in (0, 1):
        return epsilon
    return epsilon / 2 if relation is Neighbours.REPLACE else epsilon / (2 * max(q, 1 - q))


@precise
def law(table: Table, q: Fraction, factor: Fraction, top: int) -> Distribution:
    weights = [mp.exp(real(factor * score(table, point, q))) for point in range(top + 1)]
    return [weight / mp.fsum(weights) for weight in weights]
