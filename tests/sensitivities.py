"""Statistics by their definition, and their sensitivities by trying every table: nothing of ours is used.

A table is a sorted tuple of whole numbers in 0 ... top. The checks accept ours and reject the broken twins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from discreet.dp import Neighbours
from tests.closed_forms import mp, mpf
from tests.noise_laws import real

Table = tuple[int, ...]
Value = Callable[[Table], Fraction]
At = Callable[[Table, int], Fraction]

TOP = 3
F = Fraction
QUANTILES = {"1/10": F(1, 10), "1/4": F(1, 4), "1/3": F(1, 3), "3/5": F(3, 5), "2/3": F(2, 3), "9/10": F(9, 10)}
TRIMS = {"0": F(0), "1/10": F(1, 10), "1/4": F(1, 4), "2/5": F(2, 5)}


def quantile(table: Table, *, q: Fraction) -> Fraction:
    """The least row that has at least a share q of the rows at or below it, and at least one; 0 of no rows."""
    for row in table:
        if sum(other <= row for other in table) >= max(1, q * len(table)):
            return F(row)
    return F(0)


def quartile_range(table: Table) -> Fraction:
    return quantile(table, q=F(3, 4)) - quantile(table, q=F(1, 4))


def trimmed(table: Table, *, trim: Fraction) -> Fraction:
    cut = math.floor(trim * len(table))
    kept = table[cut : len(table) - cut]
    return F(sum(kept), len(kept)) if kept else F(0)


def statistics() -> dict[str, Value]:
    named: dict[str, Value] = {
        "median": partial(quantile, q=F(1, 2)),
        "minimum": partial(quantile, q=F(0)),
        "maximum": partial(quantile, q=F(1)),
        "interquartile_range": quartile_range,
    }
    named |= {f"quantile {name}": partial(quantile, q=q) for name, q in QUANTILES.items()}
    return named | {f"trimmed_mean {name}": partial(trimmed, trim=trim) for name, trim in TRIMS.items()}


STATISTICS = statistics()
NOT_EXACT = {name for name in STATISTICS if "trimmed" in name or "interquartile" in name}  # under ADD_REMOVE


def call(name: str) -> tuple[str, dict[str, Fraction]]:
    """The public name and its arguments."""
    function, _, number = name.partition(" ")
    return function, {} if not number else (
        {"q": QUANTILES[number]} if function == "quantile" else {"trim": TRIMS[number]}
    )


def tables(rows: int, top: int = TOP) -> list[Table]:
    return list(itertools.combinations_with_replacement(range(top + 1), rows))


@cache
def neighbours_of(table: Table, relation: Neighbours, top: int = TOP) -> frozenset[Table]:
    """Every table that differs in one row."""
    fewer = {table[:i] + table[i + 1 :] for i in range(len(table))}
    if relation is Neighbours.REPLACE:
        return frozenset(tuple(sorted((*rest, z))) for rest in fewer for z in range(top + 1)) - {table}
    return frozenset(fewer | {tuple(sorted((*table, z))) for z in range(top + 1)})


@dataclass(frozen=True, slots=True)
class Truth:
    """Local sensitivity at every distance, for the tables of up to `rows` rows."""

    value: Value
    relation: Neighbours
    local: Mapping[Table, tuple[Fraction, ...]]

    @classmethod
    def of(cls, value: Value, relation: Neighbours, rows: int) -> Truth:
        """By walking from table to table; under ADD_REMOVE as far as half of the greatest size."""
        most = rows + 1 if relation is Neighbours.REPLACE else rows // 2 + 1

        @cache
        def move(table: Table) -> Fraction:
            return max((abs(value(table) - value(n)) for n in neighbours_of(table, relation)), default=F(0))

        def walk(table: Table) -> tuple[Fraction, ...]:
            seen, ring, found = {table}, {table}, [move(table)]
            for _ in range(most):
                ring = {n for t in ring for n in neighbours_of(t, relation)} - seen
                seen |= ring
                found.append(max([found[-1], *map(move, ring)]))
            return tuple(found)

        return cls(value, relation, {table: walk(table) for n in range(rows + 1) for table in tables(n)})


def check_exact(at: At, truth: Truth) -> None:
    """LS^(k) is what trying every table gives."""
    for table, local in truth.local.items():
        for k, expected in enumerate(local):
            assert at(table, k) == expected, (table, k, at(table, k), expected)


def check_bound(at: At, truth: Truth) -> None:
    """It is at least LS^(k), never falls with k, and U^(k)(D) <= U^(k + 1)(D') for neighbours: then it is smooth."""
    for table, local in truth.local.items():
        for k, expected in enumerate(local):
            here = at(table, k)
            assert expected <= here <= at(table, k + 1), (table, k)
            for other in neighbours_of(table, truth.relation):
                assert here <= at(other, k + 1), (table, other, k)


def check_distance(distance: Mapping[Table, int], truth: Truth, proposal: Fraction) -> None:
    """It moves by at most 1 between neighbours; above 0 the local sensitivity is at most the proposal."""
    for table, local in truth.local.items():
        assert local[0] <= proposal or distance[table] == 0, table
        for other in neighbours_of(table, truth.relation) & distance.keys():
            assert abs(distance[table] - distance[other]) <= 1, (table, other, proposal)


def check_smooth(bound: Callable[[Table], Fraction], truth: Truth, beta: Fraction) -> None:
    """Neighbours move by at most the bound of either, and the bound by a factor of at most exp(beta)."""
    factor, found = mp.exp(real(beta)), {table: bound(table) for table in truth.local}
    for table, here in found.items():
        assert here >= max(truth.local[table][0], 1), (table, here)  # at least a step of the grid
        for other in neighbours_of(table, truth.relation) & found.keys():
            assert real(here) <= factor * real(found[other]), (table, other)


def smooth(at: At, table: Table, beta: Fraction) -> mpf:
    """The greatest of exp(-beta k) LS^(k), or one step: at 256 bits; with n + 2 changes everything is reached."""
    return max(mpf(1), *(mp.exp(-real(beta) * k) * real(at(table, k)) for k in range(len(table) + 3)))


def every(rows: int) -> Iterable[Table]:
    return (table for n in range(rows + 1) for table in tables(n))
