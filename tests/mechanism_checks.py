"""Checks that every mechanism passes and its broken twins do not. They sum exact probabilities; nothing is sampled.

Probabilities come as rational bounds, relatively closer than 2^-64, so every inequality below is certain: what is
below is taken from below, what is above from above, and no slack is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from discreet.dp import Law
from tests.closed_forms import mp, mpf
from tests.noise_laws import real

Bounds = tuple[Fraction, Fraction]
LawOf = Callable[[int], Law]

REST = Fraction(1, 2**80)  # the probability that an enumeration may leave out, and adds where it matters


class Claim(Protocol):
    """What a mechanism says that it costs."""

    def delta(self, *, epsilon: Fraction) -> float: ...


def laws(law_of: LawOf, shifts: Iterable[int]) -> Iterator[tuple[list[Bounds], list[Bounds]]]:
    """The laws on two neighbours, outcome by outcome, for both orders of the neighbours."""
    for shift in shifts:
        for one, other in ((law_of(0), law_of(shift)), (law_of(shift), law_of(0))):
            outcomes = sorted({*one.outcomes(failure_probability=REST), *other.outcomes(failure_probability=REST)})
            yield [one.bounds(k) for k in outcomes], [other.bounds(k) for k in outcomes]


def check_sums_to_one(law: Law, *, mass: Callable[[int], mpf]) -> None:
    """Probabilities are those of the closed form, and add up to 1 with what is left out."""
    outcomes = law.outcomes(failure_probability=REST)
    bounds = [law.bounds(k) for k in outcomes]
    for k, (low, high) in zip(outcomes, bounds, strict=True):
        closed = mass(k)
        assert real(low) * (1 - mpf(10) ** -40) <= closed <= real(high) * (1 + mpf(10) ** -40)
        assert (high - low) * 2**63 <= high
    assert sum(low for low, _ in bounds) <= 1 <= sum(high for _, high in bounds) + REST


def log_ratio(one: Sequence[Bounds], other: Sequence[Bounds]) -> tuple[mpf, mpf]:
    """Bounds of the greatest log ratio of two laws."""
    low = max(mp.log(real(p[0]) / real(q[1])) for p, q in zip(one, other, strict=True))
    high = max(mp.log(real(p[1]) / real(q[0])) for p, q in zip(one, other, strict=True))
    return low, high


def check_pure(law_of: LawOf, *, epsilon: mpf, shifts: Iterable[int], tight: bool) -> None:
    """The greatest log ratio over every outcome is at most epsilon; and equal to it, where the theorem is tight."""
    low, high = mp.ninf, mp.ninf
    for one, other in laws(law_of, shifts):
        below, above = log_ratio(one, other)
        low, high = max(low, below), max(high, above)
    assert low <= epsilon
    assert not tight or high >= epsilon


def hockey_stick(one: Sequence[Bounds], other: Sequence[Bounds], epsilon: Fraction) -> tuple[mpf, mpf]:
    """Bounds of the sum of what P has above exp(epsilon) P'."""
    factor = mp.exp(real(epsilon))
    low = mp.fsum(max(mpf(0), real(p[0]) - factor * real(q[1])) for p, q in zip(one, other, strict=True))
    high = mp.fsum(max(mpf(0), real(p[1]) - factor * real(q[0])) for p, q in zip(one, other, strict=True))
    return low, high + real(REST)


def check_curve(law_of: LawOf, claim: Claim, *, epsilons: Sequence[Fraction], shifts: Sequence[int]) -> None:
    """The delta that is claimed at each epsilon is at least that of the law, in both orders."""
    for one, other in laws(law_of, shifts):
        for epsilon in epsilons:
            assert hockey_stick(one, other, epsilon)[0] <= real(Fraction(repr(claim.delta(epsilon=epsilon))))


def worst_delta(law_of: LawOf, epsilon: Fraction, shift: int) -> mpf:
    """The exact delta of the law at one epsilon, in the worse order."""
    return max(hockey_stick(one, other, epsilon)[0] for one, other in laws(law_of, [shift]))


def check_renyi(
    law_of: LawOf, renyi: Callable[[Fraction], Fraction], *, orders: Sequence[Fraction], shift: int
) -> None:
    """The Renyi divergence that is claimed at each order is at least that of the law, in both orders."""
    for one, other in laws(law_of, [shift]):
        for order in orders:
            a = real(order)
            total = mp.fsum(real(p[0]) ** a * real(q[1]) ** (1 - a) for p, q in zip(one, other, strict=True))
            assert mp.log(total) / (a - 1) <= real(renyi(order))


def any_beyond(mass: Callable[[int], mpf], alpha: int, answers: int) -> mpf:
    """P(some of so many independent values is off by more than alpha), by summing what is not."""
    within = mp.fsum(mass(k) for k in range(-alpha, alpha + 1)) if alpha >= 0 else mpf(0)
    return 1 - within**answers


def check_accuracy(accuracy: Callable[..., Fraction], mass: Callable[[int], mpf]) -> None:
    """P(off by more than alpha) <= beta < P(off by more than alpha - 1): alpha holds, and no smaller one does."""
    for beta in (Fraction(9, 10), Fraction(1, 20), Fraction(1, 10**4), Fraction(1, 10**9)):
        for answers in (1, 10, 1000):
            alpha = accuracy(failure_probability=beta, answers=answers)
            assert alpha.denominator == 1
            whole = int(alpha)
            assert any_beyond(mass, whole, answers) <= real(beta)
            assert whole == 0 or any_beyond(mass, whole - 1, answers) > real(beta)


def check_for_accuracy(make: Callable[..., object], mass_of: Callable[[object], Callable[[int], mpf]]) -> None:
    """The mechanism keeps its error, and a scale 2^-30 greater would not."""
    for alpha in (1, 2, 50):
        for beta, answers in ((Fraction(1, 20), 1), (Fraction(1, 20), 10), (Fraction(1, 10**6), 3)):
            made = make(alpha=alpha, failure_probability=beta, answers=answers)
            assert any_beyond(mass_of(made), alpha, answers) <= real(beta)
            greater = scaled(made, 1 + Fraction(1, 2**30))
            assert any_beyond(mass_of(greater), alpha, answers) > real(beta)


def scaled(mechanism: object, factor: Fraction) -> object:
    """The same mechanism with more noise."""
    name = "scale" if hasattr(mechanism, "scale") else "sigma"
    return type(mechanism)(sensitivity=mechanism.sensitivity, **{name: getattr(mechanism, name) * factor})  # type: ignore[attr-defined]


def epsilons_upto(most: float, count: int = 9) -> list[Fraction]:
    return [Fraction(i, count - 1) * Fraction(math.ceil(most * 100), 100) for i in range(count)]
