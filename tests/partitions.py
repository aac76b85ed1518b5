"""Private keys by their definition: exact laws of what is told of tiny tables, and what two of them tell apart.

A table is the counts of the keys of a small world, or NOT_LISTED for a key that nobody has. The law of a table is one
law for each key, on NOT_TOLD and on the numbers that may be told of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from discreet.dp import Loss, Neighbours
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_below, laplace_mass, real, rounded_below, rounded_mass

Counts = tuple[int, ...]
KeyLaw = dict[int | str, mpf]
LawOf = Callable[[Counts], Sequence[KeyLaw]]
Pair = tuple[Counts, Counts]

NOT_LISTED = -1
NOT_TOLD = "not told"
TOLD = "told"
BEYOND = "beyond"
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def pairs(groups: int, relation: Neighbours, *, keys: int, units: int) -> list[Pair]:
    """The counts of every two neighbouring tables with up to so many other units, each in at most `groups` keys."""
    of_one = [chosen for size in range(groups + 1) for chosen in itertools.combinations(range(keys), size)]
    found = set()
    for size in range(units + 1):
        for others in itertools.combinations_with_replacement(of_one, size):
            mine = of_one if relation is REPLACE else [()]
            for one, other in itertools.product(mine, of_one):
                found.add((counted([*others, one], keys), counted([*others, other], keys)))
    return sorted(found)


def counted(units: Iterable[tuple[int, ...]], keys: int) -> Counts:
    owned = [key for unit in units for key in unit]
    return tuple(owned.count(key) if key in owned else NOT_LISTED for key in range(keys))


def essential(found: Iterable[Pair]) -> list[Pair]:
    """The pairs without keys that both have alike and without order: enough where keys are told independently."""
    moves = {tuple(sorted((a, b) for a, b in zip(*pair, strict=True) if a != b)) for pair in found}
    return [(tuple(a for a, _ in move), tuple(b for _, b in move)) for move in sorted(moves) if move]


FOUR_KEYS: list[Pair] = [
    ((1, 1, NOT_LISTED, NOT_LISTED), (NOT_LISTED, NOT_LISTED, 1, 1)),
    ((1, 2, 3, NOT_LISTED), (NOT_LISTED, 1, 4, 1)),
    ((2, 3, 2, 3), (1, 2, 3, 4)),
    ((1, 6, 6, NOT_LISTED), (NOT_LISTED, 5, 7, 1)),
    ((7, 8, 5, 6), (6, 7, 6, 7)),
    ((12, 11, 2, 3), (11, 10, 3, 4)),
]
"""A unit of two keys replaced by one of two others: small, near the middle of every threshold, and large."""


# Laws of one key.


def named(chance: mpf) -> KeyLaw:
    return {TOLD: chance, NOT_TOLD: 1 - chance}


def laplace_told(count: int, scale: Fraction, threshold: int, far: int) -> KeyLaw:
    """The numbers up to `far`, which is above every count, and all beyond: there two laws have one ratio."""
    if count <= 0:
        return {NOT_TOLD: mpf(1)}
    law: KeyLaw = {z: laplace_mass(scale, z - count) for z in range(threshold, far)}
    law[NOT_TOLD] = laplace_below(scale, threshold - count)
    law[BEYOND] = 1 - laplace_below(scale, max(far, threshold) - count)
    return law


def gaussian_told(count: int, sigma: Fraction, threshold: int, far: int) -> KeyLaw:
    """The numbers up to `far`, and all beyond as one: what they tell apart is left out, and is next to nothing."""
    if count <= 0:
        return {NOT_TOLD: mpf(1)}
    law: KeyLaw = {z: rounded_mass(sigma, z - count) for z in range(threshold, far)}
    law[NOT_TOLD] = rounded_below(sigma, threshold - count)
    law[BEYOND] = 1 - rounded_below(sigma, max(far, threshold) - count)
    return law


# What two tables tell apart.


def told_apart(one: Sequence[KeyLaw], other: Sequence[KeyLaw], epsilon: mpf) -> mpf:
    """The exact delta at epsilon: over everything that can be told of all keys together, P above exp(epsilon) P'."""
    total = mpf(0)
    for cells in itertools.product(*(merged(p, q) for p, q in zip(one, other, strict=True))):
        left, right = mp.fprod(p for p, _ in cells), mp.fprod(q for _, q in cells)
        total += max(mpf(0), left - mp.exp(epsilon) * right)
    return total


def merged(one: KeyLaw, other: KeyLaw) -> Iterator[tuple[mpf, mpf]]:
    """The outcomes of one key, those of one ratio together: a test of two laws does not see more of them."""
    cells: dict[str, tuple[mpf, mpf]] = {}
    for outcome in {**one, **other}:
        p, q = one.get(outcome, mpf(0)), other.get(outcome, mpf(0))
        if p or q:
            ratio = mp.nstr(p / q, 30) if q else "infinite"
            left, right = cells.get(ratio, (mpf(0), mpf(0)))
            cells[ratio] = left + p, right + q
    return iter(cells.values())


def worst(law_of: LawOf, found: Iterable[Pair], epsilon: Fraction) -> mpf:
    """The greatest delta of these pairs, in the worse order."""
    return max(
        max(told_apart(law_of(a), law_of(b), real(epsilon)), told_apart(law_of(b), law_of(a), real(epsilon)))
        for a, b in found
    )


def check_price(law_of: LawOf, claim: Loss, found: Sequence[Pair], epsilons: Iterable[Fraction]) -> None:
    """At each epsilon no two neighbours are told apart by more than the delta that is claimed."""
    for epsilon in epsilons:
        allowed = real(Fraction(repr(claim.delta(epsilon=epsilon))))
        assert worst(law_of, found, epsilon) <= allowed * (1 + mpf(10) ** -40), epsilon
