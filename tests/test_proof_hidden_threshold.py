"""`docs/proofs/threshold-test.md`, steps 8 and 9: the noisy value of a hit, and a hidden threshold."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.dp.reals import upper
from discreet.dp.threshold_loss import HiddenThresholdLoss, charge
from tests.broken import threshold_tests as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_mass, real
from tests.sizes import sized
from tests.threshold_truth import chance, one_question, price, shifted

F = Fraction
LITTLE = mpf(10) ** -40  # what 50 digits may be off by


def run_of_questions(v: int, d: int, slope: Fraction, most: int) -> mpf:
    """P(V = v and a hit) by asking: is it most or more? is it most - 1? ... (the answer of the last yes)."""
    left = mpf(1)
    for each in range(most, v - 1, -1):
        p = chance(d - most, slope) if each == most else (1 - mp.exp(-real(slope))) * chance(d - each, slope)
        if each == v:
            return left * p
        left *= 1 - p
    raise AssertionError


def test_8_a_value_is_a_run_of_questions() -> None:
    """The run has the law of min(V, M), and the odds of each of its questions move as stated."""
    for slope, d, most in ((F(1, 3), 4, 40), (F(2), -3, 9), (F(1, 10), 0, 25)):
        for v in range(most):
            closed = chance(v - d + 1, slope) - chance(v - d, slope)
            assert abs(run_of_questions(v, d, slope, most) - closed) < LITTLE
        assert abs(run_of_questions(most, d, slope, most) - chance(d - most, slope)) < LITTLE
    source = random.Random(14)
    for _ in range(sized(200, 5000)):  # exactly: z = exp(y), z x = exp(y + s)
        q, z, x = (
            F(source.randint(1, 999), 1000),
            F(source.randint(1, 10**6), 1000),
            1 + F(source.randint(1, 900), 1000),
        )
        odds = [(1 - q) * y / (1 + q * y) for y in (z, z * x)]
        chances = [(1 - q) * y / (1 + y) for y in (z, z * x)]
        assert odds == [p / (1 - p) for p in chances]
        assert 1 <= odds[1] / odds[0] == x * (1 + q * z) / (1 + q * z * x) <= x


def value_moment(a: mpf, d: int, other: int, slope: Fraction) -> mpf:
    """E'[L^a] over a miss (kept apart) and every value of a hit."""
    reach = int(45 / slope) + max(d, 0)
    return mp.fsum(
        (chance(v - d + 1, slope) - chance(v - d, slope)) ** a
        * (chance(v - other + 1, slope) - chance(v - other, slope)) ** (1 - a)
        for v in range(reach)
    )


def test_8_a_hit_with_its_value_costs_no_more() -> None:
    """E'[L^a exp(-eta 1{hit})] <= 1, every value summed."""
    worst = mpf(0)
    with mp.workdps(70):
        for a, slope, move in ((3, F(1, 5), 1), (3, F(1, 10), 2), (2, F(1, 2), 1), (12, F(1, 14), 1)):
            eta = price(mpf(a), real(slope * move))
            for d in (-60, -4, 0, 20):
                for other in (d + move, d - move):
                    miss = chance(-d, slope) ** a * chance(-other, slope) ** (1 - a)
                    worst = max(worst, value_moment(mpf(a), d, other, slope) * mp.exp(-eta) + miss)
    assert mpf("0.99") < worst <= 1 + LITTLE
    check_two_values(lambda one, two, slope: product(one_value(one, slope), one_value(two, slope)))
    with pytest.raises(AssertionError):
        check_two_values(broken.two_values_of_one_noise)


def one_value(d: int, slope: Fraction) -> dict[int, float]:
    """The law of a question with its value: -1 is a miss."""
    values = {v: float(chance(v - d + 1, slope) - chance(v - d, slope)) for v in range(200)}
    return {-1: float(chance(-d, slope)), **values}


def product(one: dict[int, float], two: dict[int, float]) -> dict[tuple[int, int], float]:
    return {(v, w): p * q for v, p in one.items() for w, q in two.items()}


def check_two_values(law: Callable[[int, int, Fraction], dict[tuple[int, int], float]]) -> None:
    """Two questions with their values cost no more than two hits."""
    slope, a = F(1, 5), 3.0
    most = np.exp(2 * float(price(mpf(a), real(slope))))
    p, q = law(2, 3, slope), law(3, 2, slope)
    assert all(q.get(both, 0) for both, chance in p.items() if chance), "what one table shows, the other cannot"
    assert sum(chance**a * q[both] ** (1 - a) for both, chance in p.items() if chance) <= most


def test_9_one_way_needs_no_limit() -> None:
    """For shifts in [-h, 0] the price is eta_(-h) <= a (a - 1) h^2 / 2 and <= (a - 1) h, at every order: certified."""
    source = random.Random(15)
    for _ in range(sized(100, 5000)):
        a, h = 1 + F(f"{10 ** source.uniform(-3, 4):.6g}"), F(f"{10 ** source.uniform(-4, 1):.6g}")
        eta = upper(lambda a=a, h=h: charge(a, -h))
        assert 0 < eta <= min((a - 1) * h, a * (a - 1) * h * h / 2) * (1 + F(1, 10**15))
        x = real(h)
        derivative = real(a * (a - 1)) * mp.expm1(x) / (1 + real(a) * mp.expm1(x))
        assert abs(mp.diff(lambda y, a=a: price(real(a), -y), x, h=x * mpf(10) ** -12) / derivative - 1) < mpf(10) ** -4
        assert derivative <= real(a * (a - 1)) * x
        p = shifted(mpf(1) / 2, mpf(source.uniform(-9, 9)))
        other = shifted(p, -x * mpf(source.random()))
        assert one_question(real(a), p, other, real(eta)) <= 1
        assert p / other <= mp.exp(x)
        assert (1 - p) / (1 - other) <= 1


def test_9_a_value_with_a_hidden_threshold_costs_no_more() -> None:
    """Moved one way, by h in all: the price is eta_(-h), and the chance of no value moves by more than exp(h)."""
    worst = mpf(0)
    with mp.workdps(70):
        for a, slope, move in ((3, F(1, 5), 1), (8, F(1, 6), 2), (200, F(1, 2), 1)):
            h = real(slope * move)
            for d in (-30, -4, 0, 20):
                one, two = ([chance(v - x + 1, slope) - chance(v - x, slope) for v in range(60)] for x in (d, d - move))
                assert max(abs(mp.log(p / q)) for p, q in zip(one, two, strict=True)) <= h
                miss = chance(-d, slope) ** a * chance(move - d, slope) ** (1 - a)
                worst = max(worst, value_moment(mpf(a), d, d - move, slope) * mp.exp(-price(mpf(a), -h)) + miss)
    assert mpf("0.99") < worst <= 1 + LITTLE


def first_hits(excess: np.ndarray, threshold: Fraction, hit: Fraction, moved: int) -> np.ndarray:
    """The exact law of the place of the first hit, or of none: every noise of the threshold, summed."""
    noise = np.arange(-200, 201)
    weights = np.array([float(laplace_mass(F(moved) / threshold, int(r))) for r in noise])
    chances = 1 / (1 + np.exp(-(excess[None, :] - noise[:, None]) * float(hit / (2 * moved))))
    missed = np.cumprod(np.hstack([np.ones((noise.size, 1)), 1 - chances]), axis=1)
    return weights @ np.hstack([missed[:, :-1] * chances, missed[:, -1:]])


def check_hidden(hit_claimed: Fraction) -> float:
    """Renyi divergence and log ratio of the exact law against the claim; returns how much of epsilon is reached."""
    t, h, moved, near = F(1, 2), F(1, 3), 2, 0.0
    claim = HiddenThresholdLoss.of(threshold=t, hit=hit_claimed, hits=1)
    for level, last, length in itertools.product((-30, 0, 20), (-60, 0), (1, 60)):
        one = np.array([level] * length + [last])
        for first, end in ((2, 2), (-2, -2), (2, -2), (-2, 2)):
            p = first_hits(one, t, h, moved)
            q = first_hits(one + np.array([first] * length + [end]), t, h, moved)
            near = max(near, float(np.abs(np.log(p / q)).max()) / float(t + hit_claimed))
            for a in (2, 10, 100):
                moment = float(np.sum(p * (p / q) ** (a - 1)))
                assert np.log(moment) / (a - 1) <= float(claim.renyi(F(a))) * (1 + 1e-9)
    return near


def test_9_a_hidden_threshold_by_summing_over_it() -> None:
    """Both are within what `HiddenThresholdLoss` claims, and near it; a claim of half the hit's epsilon is not."""
    assert 0.9 < check_hidden(F(1, 3)) <= 1
    with pytest.raises(AssertionError):
        assert check_hidden(F(1, 6)) <= 1
