"""Checks of private selection that accept ours and reject its broken twins, and the laws in closed form.

A law is a list of probabilities, one for each outcome, at 256 bits; nothing is sampled here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache

from flint import arb

from discreet import dp
from discreet.dp.reals import precision
from tests.accounting import NOISE, exact, precise
from tests.closed_forms import mp, mpf
from tests.noise_laws import real

Score = int | float | Fraction
Scores = Sequence[Score]
Distribution = list[mpf]
LawOf = Callable[[Scores], Distribution]
Pair = tuple[Scores, Scores]

ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
ORDERS = [Fraction(101, 100), *(Fraction(n, 4) for n in (5, 6, 8, 12, 16, 32, 64, 256, 2000))]
EXPONENT_BITS = 4096  # before the point and after it, of any rate times any gap below: their difference is what counts


integrated = mp.workprec(112)  # for integrals, which are compared to 20 digits


def number(point: arb) -> mpf:
    mantissa, exponent = point.man_exp()
    return mpf(int(mantissa)) * mpf(2) ** int(exponent)


def law_of(mechanism: dp.Exponential | dp.NoisyMax | dp.PermuteAndFlip) -> LawOf:
    """Ours, as numbers; the balls are narrower than what any inequality below could see."""

    @precise
    def law(scores: Scores) -> Distribution:
        for bits in (512, 4096):  # the exponent of a weight may have a thousand bits before the point
            with precision(bits):
                balls = mechanism.law(list(scores))
                ends = [(number(ball.lower()), number(ball.upper())) for ball in balls]
            if all(high - low <= high * NOISE for low, high in ends):
                return [(low + high) / 2 for low, high in ends]
        raise AssertionError("the law is wider than what is checked")

    return law


# Closed forms. Nothing of ours is used.


def weights(scores: Scores, rate: Fraction) -> Distribution:
    """exp(-rate gap), the gap being how far a score lies below the best; also where two that are tiny are compared."""
    best = max(Fraction(score) for score in scores)
    with mp.workprec(EXPONENT_BITS):
        return [mp.exp(-real(rate * (best - Fraction(score)))) for score in scores]


@precise
def softmax(scores: Scores, rate: Fraction) -> Distribution:
    """The exponential mechanism."""
    each = weights(scores, rate)
    return [weight / mp.fsum(each) for weight in each]


@precise
def first_head(scores: Scores, rate: Fraction) -> Distribution:
    """Permute and flip, as it is told: in every order of the candidates, the first whose coin shows a head."""
    each = weights(scores, rate)

    @cache
    def wins(left: frozenset[int], candidate: int) -> mpf:
        """P(candidate wins) if those left are taken in random order."""
        if candidate not in left:
            return mpf(0)
        after = (
            wins(left - {turn}, candidate) * (1 - each[turn]) + (each[turn] if turn == candidate else 0)
            for turn in left
        )
        return mp.fsum(after) / len(left)

    everyone = frozenset(range(len(each)))
    return [wins(everyone, candidate) for candidate in everyone]


@precise
def peeled(scores: Scores, rate: Fraction, k: int) -> dict[tuple[int, ...], mpf]:
    """Noisy top-k: the exponential mechanism k times, without those already chosen."""
    each = weights(scores, rate)
    law = {}
    for chosen in itertools.permutations(range(len(each)), k):
        chance = mpf(1)
        for turn, candidate in enumerate(chosen):
            chance *= each[candidate] / mp.fsum(w for i, w in enumerate(each) if i not in chosen[:turn])
        law[chosen] = chance
    return law


# Neighbours.


def moves(count: int, utility: dp.Utility) -> Iterator[tuple[int, ...]]:
    """How scores of sensitivity 1 may move between two neighbours; checks look at both orders of the two."""
    if utility is dp.Utility.MONOTONE:
        yield from itertools.product((0, 1), repeat=count)
    else:
        yield from itertools.product((-1, 0, 1), repeat=count)


def neighbours(most: int, levels: Sequence[int], utility: dp.Utility) -> Iterator[Pair]:
    """Every table of scores at these levels, up to the order of the candidates, with all its neighbours."""
    for count in range(2, most + 1):
        for scores in itertools.combinations_with_replacement(levels, count):
            for move in moves(count, utility):
                yield scores, tuple(score + step for score, step in zip(scores, move, strict=True))


def extreme_neighbours(count: int, utility: dp.Utility) -> Iterator[Pair]:
    """Each score moves as far as it can: the worst cases, for many outcomes."""
    down = 0 if utility is dp.Utility.MONOTONE else -1
    for scores in ((0,) * count, tuple(range(count)), (0, *(500,) * (count - 1)), (*(0,) * (count - 1), 500)):
        for up in range(1, count):
            yield scores, tuple(score + (1 if i < up else down) for i, score in enumerate(scores))


def two_candidates(epsilon: Fraction, utility: dp.Utility) -> Iterator[Pair]:
    """Two candidates at every distance, which moves as far as it can: the log ratio takes all values that it has."""
    down = 0 if utility is dp.Utility.MONOTONE else -1
    middle = Fraction(1 - down, 2)  # from this far behind to this far ahead
    for n in range(-24, 25):
        gap = Fraction(n, 8) / epsilon - middle
        yield (gap, Fraction(0)), (gap + 1, Fraction(down))


def on_a_circle(points: int) -> Iterator[Pair]:
    """Scores -distance on a cyclic group, of two neighbouring centers: the normaliser is the same for all."""

    def scores(center: int) -> tuple[int, ...]:
        return tuple(-min((y - center) % points, (center - y) % points) for y in range(points))

    yield scores(0), scores(1)


# Checks.


@precise
def check_law(ours: LawOf, closed: LawOf, tables: Iterable[Scores]) -> None:
    """Probability by probability the law is the closed form."""
    for scores in tables:
        found = ours(scores)
        for p, q in zip(found, closed(scores), strict=True):
            assert abs(p - q) <= NOISE * q, (scores, mp.nstr(p, 20), mp.nstr(q, 20))
        assert abs(mp.fsum(found) - 1) <= NOISE


@precise
def worst_ratio(law: LawOf, pairs: Iterable[Pair]) -> mpf:
    """The greatest log ratio over all outcomes, in both orders."""
    kept: dict[Scores, Distribution] = {}

    def at(scores: Scores) -> Distribution:
        if scores not in kept:
            kept[scores] = law(scores)
            assert abs(mp.fsum(kept[scores]) - 1) < mpf(2) ** -40, "that is no law"  # where it is undefined, too
        return kept[scores]

    worst = mpf(0)
    for one, other in pairs:
        for p, q in zip(at(one), at(other), strict=True):
            worst = max(worst, abs(mp.log(p / q)) if p and q else (mp.inf if p or q else mpf(0)))
    return worst


@precise
def check_pure(law: LawOf, epsilon: Fraction, pairs: Iterable[Pair], *, tight: bool = False) -> None:
    """No outcome is more than e^epsilon times as likely on one of the neighbours; and one is, where that is tight."""
    worst = worst_ratio(law, pairs)
    assert worst <= real(epsilon) + NOISE, mp.nstr(worst, 20)
    assert not tight or worst >= real(epsilon) - NOISE, mp.nstr(worst, 20)


@precise
def divergence(one: Distribution, other: Distribution, order: Fraction) -> mpf:
    """Renyi's."""
    a = real(order)
    if any(p and not q for p, q in zip(one, other, strict=True)):
        return mp.inf
    return mp.log(mp.fsum(p**a * q ** (1 - a) for p, q in zip(one, other, strict=True) if p)) / (a - 1)


@precise
def check_renyi(law: LawOf, claimed: Callable[[Fraction], Fraction | float], pairs: Iterable[Pair]) -> None:
    """The Renyi divergence that is claimed is at least that of the law, at every order and in both orders."""
    for one, other in pairs:
        p, q = law(one), law(other)
        for order in ORDERS:
            worst = max(divergence(p, q, order), divergence(q, p, order))
            assert worst <= exact(claimed(order)) + NOISE, (one, other, order, mp.nstr(worst, 8))


@precise
def check_better_is_likelier(law: LawOf, tables: Iterable[Scores]) -> None:
    """A candidate with a higher score is chosen more often, equal ones equally often."""
    for scores in tables:
        found = law(scores)
        for (a, p), (b, q) in itertools.product(zip(scores, found, strict=True), repeat=2):
            assert a <= b or p >= q
            assert a != b or abs(p - q) <= NOISE
        assert mp.fsum(p for score, p in zip(scores, found, strict=True) if score == max(scores)) > mpf(1) / len(scores)


@precise
def expected(scores: Scores, law: Distribution) -> mpf:
    return mp.fsum(real(Fraction(score)) * p for score, p in zip(scores, law, strict=True))


def tables(source: random.Random, count: int, most: int = 6) -> Iterator[tuple[Fraction, ...]]:
    """Random scores: close, far apart, and tied."""
    for _ in range(count):
        spread = source.choice([1, 10, 1000])
        drawn = [Fraction(source.randint(-1000 * spread, 1000 * spread), 1000) for _ in range(source.randint(2, most))]
        yield tuple(source.choices(drawn, k=len(drawn)) if source.random() < 0.3 else drawn)
