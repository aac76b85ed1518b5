"""Sequences of releases whose exact curve is known, and the checks that a composition of them has to pass.

What is compared with is computed in balls of 256 bits: the law of a sum of randomised responses whose losses are
multiples of one unit is a polynomial, and one normal release beside them adds a closed form at each of its values.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from flint import acb, arb, arb_poly, ctx, fmpq

from discreet import dp
from tests.accounting import log_uniform

BITS = 256
CLOSE = Fraction(101, 100)  # what an epsilon may be above the truth: 1 %
NONE = Fraction(0)


def real(number: Fraction | float | int) -> arb:
    """The number that was meant: a float is the decimal it prints as."""
    exact = Fraction(repr(number)) if isinstance(number, float) else Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def normal_delta(epsilon: arb, mu: arb) -> arb:
    """The exact delta of two unit normals mu apart (Balle and Wang 2018)."""
    root = arb(2).sqrt()
    first, second = ((epsilon / mu - mu / 2) / root).erfc(), ((epsilon / mu + mu / 2) / root).erfc()
    return (first - epsilon.exp() * second) / 2


@dataclass(frozen=True)
class Releases:
    """Pure releases, `count` times `multiple` units; one normal release; and a chance that all is lost."""

    pure: tuple[tuple[int, int], ...]
    unit: Fraction = Fraction(1)
    mu: Fraction = NONE
    lost: Fraction = NONE

    @cached_property
    def losses(self) -> list[dp.Loss]:
        """As they are told to a composition: one by one, in random order."""
        each = [dp.Loss.pure(epsilon=k * self.unit) for count, k in self.pure for _ in range(count)]
        each += [dp.Loss.gaussian(mu=self.mu)] if self.mu else []
        each += [dp.Loss.approximate(epsilon=0, delta=self.lost)] if self.lost else []
        random.Random(len(each)).shuffle(each)
        return each

    @cached_property
    def most(self) -> Fraction:
        """The sum of the epsilons of the pure releases."""
        return self.unit * sum(count * k for count, k in self.pure)

    @cached_property
    def _masses(self) -> list[tuple[int, arb]]:
        """The law of the pure part: losses in units, with their probabilities."""
        total, reach = arb_poly([1]), 0
        for count, k in self.pure:
            truth = 1 / (1 + (-real(k * self.unit)).exp())
            total *= arb_poly([1 - truth] + [0] * (2 * k - 1) + [truth]) ** count
            reach += count * k
        return [(i - reach, mass) for i, mass in enumerate(total.coeffs()) if mass != 0]

    def delta(self, epsilon: Fraction | float) -> arb:
        """The exact delta of all of them, in a ball."""
        with ctx.workprec(BITS):
            at, gone = real(epsilon), real(self.lost)
            if self.mu:
                mu = real(self.mu)
                kept = sum((m * normal_delta(at - real(i * self.unit), mu) for i, m in self._masses), start=arb(0))
            else:
                meant = Fraction(repr(epsilon)) if isinstance(epsilon, float) else epsilon
                above = [(i, m) for i, m in self._masses if i * self.unit > meant]
                kept = sum((m * (1 - (at - real(i * self.unit)).exp()) for i, m in above), start=arb(0))
            return gone + (1 - gone) * kept


def random_releases(source: random.Random, *, least: float = 1e-6) -> Releases:
    """Few or many, all of a size or not, with or without normal noise and a delta."""
    unit, left = log_uniform(source, least, 5), source.choice((5, 30, 150, 300))
    counts: dict[int, int] = {}
    while left > 0 and (not counts or source.random() < 0.8):
        k = source.randint(1, min(left, source.choice((1, 5, 30))))
        count = min(source.choice((1, 1, 1, 2, 5, 20, 100)), left // k)
        counts[k], left = counts.get(k, 0) + count, left - count * k
    spread = float(unit) * math.sqrt(sum(count * k * k for k, count in counts.items()))
    mu = min(Fraction(20), log_uniform(source, 1e-3, 30) * Fraction(spread)) if source.random() < 0.7 else NONE
    lost = log_uniform(source, 1e-30, 1e-2) if source.random() < 0.3 else NONE
    pure = () if mu and source.random() < 0.05 else tuple((count, k) for k, count in counts.items())
    return Releases(pure, unit, Fraction(f"{float(mu):.9g}"), lost)


class Curve(Protocol):
    """What a composition has to answer."""

    def delta(self, *, epsilon: Fraction) -> float: ...
    def epsilon(self, *, delta: Fraction) -> float: ...


Compose = Callable[[Sequence[dp.Loss]], Curve]


def check_delta(claimed: float, releases: Releases, epsilon: Fraction, *, close: bool = True) -> None:
    """Never below the truth, and if `close`, at most 1 % above it, or what it is at an epsilon that is 1 % less."""
    truth = releases.delta(epsilon)
    assert not real(claimed) < truth, (releases, epsilon, claimed, truth)
    if close and real(claimed) > truth * real(CLOSE) + LEAST:
        earlier = releases.delta(epsilon / CLOSE)
        assert not real(claimed) > earlier, (releases, epsilon, claimed, truth)


def check_epsilon(claimed: float, releases: Releases, delta: Fraction, *, close: bool = True) -> None:
    """The truth at this epsilon is at most delta, and if `close`, is delta to 1 % here or at an epsilon 1 % less."""
    if math.isinf(claimed):
        assert delta < releases.lost or (releases.mu and delta == releases.lost)
        return
    truth = releases.delta(claimed)
    assert not truth > real(delta), (releases, delta, claimed, truth)
    if close and claimed and truth * real(CLOSE) < real(delta):
        earlier = releases.delta(Fraction(repr(claimed)) / CLOSE)
        assert not earlier < real(delta), (releases, delta, claimed, truth)


LEAST = arb(2) ** -999  # what floats that underflow may add


def some_epsilon(releases: Releases, source: random.Random) -> Fraction:
    """Anywhere: in the bulk, far out, or next to the greatest loss that there is."""
    width = float(releases.mu) + math.sqrt(sum(c * k * k for c, k in releases.pure)) * float(releases.unit)
    top = float(releases.most) + 15 * float(releases.mu)
    at = source.choice((source.random() * top, source.random() * 3 * width, top * (1 - 10 ** source.uniform(-9, -1))))
    return Fraction(f"{at:.9e}")


def check_compositions(compose: Compose, *, count: int, seed: int, close: bool = True) -> None:
    """Random sequences, each at a random epsilon and at a random delta down to 1e-30."""
    source = random.Random(seed)
    for _ in range(count):
        releases = random_releases(source)
        found = compose(releases.losses)
        epsilon, delta = some_epsilon(releases, source), log_uniform(source, 1e-30, 0.9)
        check_delta(found.delta(epsilon=epsilon), releases, epsilon, close=close)
        check_epsilon(found.epsilon(delta=delta), releases, delta, close=close)


def line_integral(epsilons: Sequence[Fraction], mu_squared: Fraction, epsilon: Fraction, line: int) -> arb:
    """The exact delta of distinct releases, in a ball: 1 / (2 pi) of the integral of M(s) e^(-s e) / (s (s + 1)).

    M(s) = E[exp(s loss)], and s runs over a vertical line, here by the trapezoid rule. In a strip of half the width to
    the next pole the integrand is at most its value on the real line times exp(-mu^2 y^2 / 2), which bounds the error
    of the rule (Trefethen and Weideman, 2014, Theorem 5.1) and what lies beyond its last node.
    """
    with ctx.workprec(BITS):
        mu, half = real(mu_squared), arb(line) / 2
        last = math.ceil(math.sqrt(2 * 100 / float(mu_squared)))
        step = arb.pi() * line / 100
        integrand = integrand_of(epsilons, mu, real(epsilon))
        nodes = math.ceil(last / float(step))
        total = integrand(acb(line)).real
        for n in range(1, nodes + 1):
            total += 2 * integrand(acb(line, n * step)).real
        sides = integrand(acb(line - half)).real + integrand(acb(line + half)).real
        rule = 2 * sides * (2 * arb.pi() / mu).sqrt() / ((2 * arb.pi() * half / step).exp() - 1)
        end = nodes * step
        beyond = 2 * integrand(acb(line)).real * (-mu * end**2 / 2).exp() / (mu * end)
        return (total * step + (rule + beyond) * arb(0, 1)) / (2 * arb.pi())


def integrand_of(epsilons: Sequence[Fraction], mu_squared: arb, epsilon: arb) -> Callable[[acb], acb]:
    exact = [real(e) for e in epsilons]
    truths = [1 / (1 + (-e).exp()) for e in exact]

    def integrand(s: acb) -> acb:
        moment = (s * (s + 1) * mu_squared / 2 - s * epsilon).exp()
        for e, truth in zip(exact, truths, strict=True):
            power = (s * e).exp()
            moment *= truth * power + (1 - truth) / power
        return moment / (s * (s + 1))

    return integrand
