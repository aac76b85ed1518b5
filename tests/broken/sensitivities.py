"""Wrong local and smooth sensitivities that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.dp import Neighbours
from tests.closed_forms import mp
from tests.noise_laws import real
from tests.sensitivities import TOP, At, Table, Value, neighbours_of


def order(table: Table, rank: int) -> int:
    return 0 if rank < 1 else TOP if rank > len(table) else table[rank - 1]


def of_replace(q: Fraction) -> At:
    """The formula of the paper for the median, at any rank: it belongs to REPLACE."""

    def at(table: Table, k: int) -> Fraction:
        rank = max(1, math.ceil(q * len(table))) if table else 0
        return Fraction(max(order(table, rank + t) - order(table, rank + t - k - 1) for t in range(k + 2)))

    return at


def of_add_remove(table: Table, k: int) -> Fraction:
    """The one window of the median under ADD_REMOVE."""
    left = max(0, len(table) - k) // 2
    return Fraction(order(table, left + k + 1) - order(table, left)) if k < len(table) else Fraction(TOP)


def one_less(at: At) -> At:
    """Counts the row that moves among the k."""
    return lambda table, k: at(table, max(k - 1, 0))


def one_weight_too_many(at: At, beta: Fraction) -> Callable[[Table], Fraction]:
    """exp(-beta (k + 1)) LS^(k): the notes' distance counted from 1."""
    return lambda table: max(Fraction(1), Fraction(float(greatest(at, table, beta) * mp.exp(-real(beta)))))


def greatest(at: At, table: Table, beta: Fraction) -> object:
    return max(mp.exp(-real(beta) * k) * real(at(table, k)) for k in range(len(table) + 3))


def local(at: At) -> Callable[[Table], Fraction]:
    """The local sensitivity itself, as the scale of noise."""
    return lambda table: max(Fraction(1), at(table, 0))


def to_nearest(at: At, beta: Fraction) -> Callable[[Table], Fraction]:
    """Rounded to the nearest step."""
    return lambda table: max(Fraction(1), Fraction(int(mp.nint(greatest(at, table, beta)))))


def underflow(at: At, beta: Fraction) -> Callable[[Table], Fraction]:
    """Cut off to whole steps: a scale of 0 publishes the value."""
    return lambda table: Fraction(int(mp.floor(greatest(at, table, beta))))


def to_another_value(value: Value, relation: Neighbours, proposal: Fraction) -> Callable[[Table], int]:
    """The distance as the notes print it: to a table whose value is further away than the proposal."""

    def distance(table: Table) -> int:
        seen, ring, k = {table}, {table}, 0
        while ring:
            if any(abs(value(other) - value(table)) > proposal for other in ring):
                return k
            ring = {n for t in ring for n in neighbours_of(t, relation) if len(n) <= 8} - seen
            seen |= ring
            k += 1
        return k

    return distance
