"""What logistic threshold tests do, from the formulas alone: chances, laws and divergences. Nothing of ours is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tests.closed_forms import mp, mpf
from tests.noise_laws import real


def chance(k: int, slope: Fraction) -> mpf:
    """P(hit) of a value k steps above its threshold."""
    return 1 / (1 + mp.exp(-real(slope * k)))


@mp.workprec(600)
def mass(v: int, d: int, slope: Fraction) -> mpf:
    """P(V = v | V >= 0), as a difference of the distribution function of Z; the digits of both cancel."""
    return (chance(v - d + 1, slope) - chance(v - d, slope)) / chance(d, slope)


def logit(p: mpf) -> mpf:
    return mp.log(p / (1 - p))


def shifted(p: mpf, s: mpf) -> mpf:
    """The chance whose logit is greater by s."""
    return p / (p + (1 - p) * mp.exp(-s))


def price(a: mpf, s: mpf) -> mpf:
    """eta_s = -a s - ln(1 - a + a exp(-s)); a hit costs eta / (a - 1)."""
    return -a * s - mp.log(1 - a + a * mp.exp(-s))


def one_question(a: mpf, p: mpf, other: mpf, eta: mpf) -> mpf:
    """E'[L^a exp(-eta 1{hit})] of one question."""
    return p**a * other ** (1 - a) * mp.exp(-eta) + (1 - p) ** a * (1 - other) ** (1 - a)


def log_moment(chances: Sequence[tuple[float, float]], cutoff: int, a: float) -> float:
    """ln E'[L^a] of a test that halts at its last hit, by the recursion over (step, hits)."""
    moments, absorbed = np.zeros(cutoff), 0.0
    moments[0] = 1.0
    for p, other in chances:
        hit = math.exp(a * math.log(p) + (1 - a) * math.log(other))
        miss = math.exp(a * math.log1p(-p) + (1 - a) * math.log1p(-other))
        absorbed += moments[-1] * hit
        moments[1:] = moments[1:] * miss + moments[:-1] * hit
        moments[0] *= miss
    return math.log(absorbed + moments.sum())


def waiting_delta(epsilon: mpf, hits: int, shift: mpf) -> mpf:
    """The exact delta at epsilon of the time of the c-th of ever rarer hits: Gamma(c, 1) against Gamma(c, e^shift).

    It is a lower bound of the delta of any test with this slope and cutoff.
    """
    one, two = mpf(1), mp.exp(shift)
    x = (epsilon - hits * mp.log(one / two)) / (two - one)
    if shift > 0:
        return max(mpf(0), _later(hits, one * x) - mp.exp(epsilon) * _later(hits, two * x))
    if x <= 0:
        return mpf(0)
    return max(mpf(0), 1 - _later(hits, one * x) - mp.exp(epsilon) * (1 - _later(hits, two * x)))


def _later(hits: int, time: mpf) -> mpf:
    """P(Gamma(c) > time)."""
    return mp.gammainc(hits, max(time, mpf(0)), mp.inf, regularized=True)


HitChance = Callable[[int], mpf]
"""P(hit) of a value so many units above its threshold."""


def check_hits_pay(hit: HitChance, price_at: Callable[[mpf], mpf], *, orders: Sequence[float], move: int) -> None:
    """E'[L^a exp(-(a - 1) price 1{hit})] <= 1 for one question, at every excess, for values that move by up to `move`.

    It is what makes a price for hits only right, whatever the noise is: misses alone must not gain.
    """
    for a in map(mpf, orders):
        eta = (a - 1) * price_at(a)
        if not mp.isfinite(eta):
            continue
        for excess in (*range(-400, 400, 23), 0, -1, 1, -5000):
            p = hit(excess)
            for other in (hit(excess - move), hit(excess + move)):
                assert one_question(a, p, other, eta) <= 1 + mpf(10) ** -30, (a, excess)


def check_pure_streams(hit: HitChance, epsilon: Fraction) -> None:
    """m hits of values all 0, or 1, and m misses of values all 0, or -1: the log ratio is at most epsilon."""
    for m in (1, 3, 40):
        ratio = m * (mp.log(hit(1) / hit(0)) + mp.log((1 - hit(-1)) / (1 - hit(0))))
        assert ratio <= real(epsilon), m
