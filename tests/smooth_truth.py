"""The laws of smooth-sensitivity noise, and what two copies of one tell, in closed form. Nothing of ours is used."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mpmath

from tests.closed_forms import mp, mpf

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Truth:
    """A symmetric law: the log of its density, and P(Z > z) for z >= 0."""

    log_density: Real
    tail: Real
    slow_tail: Real | None = None

    def below(self, z: mpf) -> mpf:
        return 1 - self.tail(z) if z >= 0 else self.tail(-z)


def _polynomial(g: int) -> Truth:
    def mass() -> mpf:  # the density at 0
        return g * mp.sin(mp.pi / g) / (2 * mp.pi)

    def tail(z: mpf) -> mpf:
        """Of all exponents at once: a hypergeometric function of -1 / z^g beyond 1, of -z^g below."""
        if z > 1:
            power = z ** (1 - g) / (g - 1)
            return mass() * power * mp.hyp2f1(1, mpf(g - 1) / g, 1 + mpf(g - 1) / g, -(z**-g))
        return mpf(1) / 2 - mass() * z * mp.hyp2f1(1, mpf(1) / g, 1 + mpf(1) / g, -(z**g))

    def tail_of_four(z: mpf) -> mpf:
        root = mp.sqrt(2)
        turn = mp.atan(root * z + 1) + mp.atan(root * z - 1)
        size = mp.log((z * z + root * z + 1) / (z * z - root * z + 1)) / 2
        return mpf(1) / 2 - (turn + size) / (2 * mp.pi)

    tails = {2: lambda z: mp.atan2(1, z) / mp.pi, 4: tail_of_four}  # the same, and faster
    return Truth(lambda z: mp.log(mass() / (1 + abs(z) ** g)), tails.get(g, tail), tail)


TRUTHS = {
    "laplace": Truth(lambda z: -abs(z) - mp.log(2), lambda z: mp.exp(-z) / 2),
    "gaussian": Truth(lambda z: -(z**2) / 2 - mp.log(2 * mp.pi) / 2, lambda z: mp.erfc(z / mp.sqrt(2)) / 2),
    **{f"polynomial-{g}": _polynomial(g) for g in (2, 4, 6, 8)},
}


def log_ratio(truth: Truth, shift: mpf, ratio: mpf) -> Real:
    """ln of the density of Z over that of shift + ratio Z."""
    return lambda x: truth.log_density(x) - truth.log_density((x - shift) / ratio) + mp.log(ratio)


def _places(reach: float, count: int) -> list[mpf]:
    """Places that lie densely around 0 and reach far out, on both sides."""
    far = [mpf(10) ** (mpf(i) / 10) for i in range(-20, int(10 * mpmath.log10(reach)) + 1)]
    near = [mpf(i) * 8 / count for i in range(count + 1)]
    return sorted({s * x for s in (-1, 1) for x in (*far, *near)})


def delta(truth: Truth, epsilon: mpf, shift: mpf, ratio: mpf) -> mpf:
    """The integral of what the density of Z has above exp(epsilon) that of shift + ratio Z, between its crossings."""
    excess = log_ratio(truth, shift, ratio)
    places = sorted({*_places(1e9, 160), mpf(0), shift})
    signs = [excess(x) > epsilon for x in places]
    edges = [-mp.inf] if signs[0] else []
    for (x, one), (y, other) in itertools.pairwise(zip(places, signs, strict=True)):
        if one != other:
            low, high = x, y
            for _ in range(100):  # what a crossing is off by counts squared
                middle = (low + high) / 2
                low, high = (middle, high) if (excess(middle) > epsilon) == one else (low, middle)
            edges.append((low + high) / 2)
    edges += [mp.inf] if signs[-1] else []

    def above(x: mpf) -> mpf:
        mine = mpf(x < 0) if abs(x) == mp.inf else 1 - truth.below(x)
        copy = mpf(x < 0) if abs(x) == mp.inf else 1 - truth.below((x - shift) / ratio)
        return mine - mp.exp(epsilon) * copy

    return mp.fsum(above(x) - above(y) for x, y in zip(edges[::2], edges[1::2], strict=True))


def greatest_log_ratio(truth: Truth, shift: mpf, ratio: mpf) -> mpf:
    """By search: the best of many places, refined around it; and what it tends to far away."""
    excess = log_ratio(truth, shift, ratio)
    places = _places(1e4, 200)
    best = max(range(len(places)), key=lambda i: excess(places[i]))
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    for _ in range(140):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if excess(one) < excess(two) else (low, two)
    return max(excess(low), excess(mpf(10) ** 30))


def rounded_masses(truth: Truth, center: mpf, scale: mpf, reach: int) -> Iterator[mpf]:
    """P(round(center + scale Z) = j) for j from -reach to reach, and what lies below and above."""
    sums = [truth.below((j + mpf(1) / 2 - center) / scale) for j in range(-reach - 1, reach + 1)]
    yield sums[0]
    yield from (high - low for low, high in itertools.pairwise(sums))
    yield truth.below(-(reach + mpf(1) / 2 - center) / scale)


def told_apart(one: list[mpf], other: list[mpf], epsilon: mpf) -> mpf:
    """The exact delta at epsilon of two laws on the same outcomes."""
    return mp.fsum(max(mpf(0), p - mp.exp(epsilon) * q) for p, q in zip(one, other, strict=True))
