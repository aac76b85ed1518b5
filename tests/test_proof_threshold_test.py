"""`docs/proofs/threshold-test.md`, steps 1 to 7: identities in exact rationals, inequalities in ball arithmetic."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from flint import arb

from discreet.dp.reals import ball, bounds, lower, upper
from discreet.dp.threshold_loss import below_limit, charge
from tests.broken import threshold_tests as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.sizes import sized
from tests.threshold_truth import log_moment, logit, one_question, price, shifted

F = Fraction
Price = Callable[[Fraction, Fraction], arb]
PAGE = Path(__file__).parents[1] / "docs" / "proofs" / "threshold-test.md"
LITTLE = mpf(10) ** -40  # what 50 digits may be off by


def test_the_page_and_the_tests_name_the_same_steps() -> None:
    named = set(re.findall(r"`(test_\d\w+)`", PAGE.read_text("utf-8")))
    files = (Path(__file__), Path(__file__).with_name("test_proof_hidden_threshold.py"))
    here = {name for file in files for name in re.findall(r"^def (test_\d\w+)", file.read_text("utf-8"), re.MULTILINE)}
    assert named == here


def orders_and_shifts(count: int, *, seed: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Orders a > 1 and shifts s, of both signs, with 1 - a (1 - exp(-s)) > 0: near the limit and far from it."""
    source = random.Random(seed)
    while count:
        a = 1 + F(f"{10 ** source.uniform(-3, 3):.6g}")
        limit = F(f"{float(-mp.log(1 - 1 / real(a))):.12g}")
        s = limit * F(source.choice(["0.001", "0.1", "0.5", "0.9", "0.999", "0.9999999"]))
        if below_limit(a, s):
            count -= 1
            yield a, s if source.random() < 0.6 else -s * source.randint(1, 30)


def places(*, seed: int) -> Iterator[Fraction]:
    source = random.Random(seed)
    return (F(f"{10 ** source.uniform(-12, 12):.6g}") for _ in itertools.count())


@mp.workprec(4000)
def test_1_the_claim_is_the_sign_of_g() -> None:
    """ln of the left side of (1) is -g(w), identically."""
    none = mpf(10) ** -300
    for (a, s), w in zip(orders_and_shifts(sized(60, 400), seed=1), places(seed=2), strict=False):
        order, shift, x = real(a), real(s), real(w)
        p, other = 1 / (1 + x * mp.exp(shift)), 1 / (1 + x)
        assert abs(logit(other) - logit(p) - shift) < none
        eta = price(order, shift)
        g = order * mp.log(1 + x * mp.exp(shift)) - (order - 1) * mp.log(1 + x)
        g -= mp.log(mp.exp(-eta) + x * mp.exp(order * shift))
        assert abs(mp.log(one_question(order, p, other, eta)) + g) < none


def test_2_below_the_limit_k_is_positive() -> None:
    """k = 1 - a + a exp(-s) is positive for all |s| <= e: over whole intervals of s, in ball arithmetic."""
    for a, e in orders_and_shifts(sized(60, 2000), seed=3):
        slope = abs(e) if below_limit(a, abs(e)) else F(0)
        for part in range(-8, 8):  # [-e, e] in sixteen intervals
            inside = ball(slope * (2 * part + 1) / 16) + arb(0, float(slope) / 16 * 1.01)
            if part < 7:
                assert 1 - ball(a) + ball(a) * (-inside).exp() > 0 or slope * a > F(9, 10)
        assert lower(lambda a=a, slope=slope: 1 - ball(a) + ball(a) * ball(-slope).exp()) > 0
        u = mp.exp(-real(e))
        k = 1 - real(a) + real(a) * u
        assert (
            abs(mp.exp(-price(real(a), real(e))) - k * mp.exp(real(a * e))) < k * mp.exp(real(a * e)) * LITTLE * 10**9
        )


def test_3_the_derivative_is_the_gap_of_a_convex_function() -> None:
    """In exact rationals: u lies between k and 1, and g' is -a (a - 1) (1 - u)^2 / ((u + w) (1 + w) (k + w)) <= 0."""
    source, found = random.Random(4), 0
    for w in itertools.islice(places(seed=5), sized(400, 20_000)):
        a, u = 1 + F(source.randint(1, 10**6), 10**4), F(source.randint(1, 10**6), source.randint(1, 10**6))
        k = 1 - a + a * u
        if k <= 0:
            continue
        found += 1
        assert u == k / a + (a - 1) / a
        derivative = a / (u + w) - (a - 1) / (1 + w) - 1 / (k + w)
        assert derivative == -a * (a - 1) * (1 - u) ** 2 / ((u + w) * (1 + w) * (k + w)) <= 0
    assert found > 100


def g(a: Fraction, s: Fraction, w: Fraction) -> arb:
    u = ball(-s).exp()
    k = 1 - ball(a) + ball(a) * u
    return ball(a) * (u + ball(w)).log() - ball(a - 1) * (1 + ball(w)).log() - (k + ball(w)).log()


def test_4_g_falls_to_zero_from_above() -> None:
    """0 <= g(w) <= a (a - 1) (1 - u)^2 / (2 w^2), certified; and the bound is what g tends to."""
    for (a, s), w in zip(orders_and_shifts(sized(100, 5000), seed=6), places(seed=7), strict=False):
        low, high = bounds(lambda a=a, s=s, w=w: g(a, s, w))
        most = lower(lambda a=a, s=s, w=w: ball(a * (a - 1)) * (1 - ball(-s).exp()) ** 2 / (2 * ball(w * w)))
        assert 0 <= low <= high
        assert high <= most * (1 + F(1, 10**15))
        if real(w) > 10**4 * real(a) * mp.exp(abs(real(s))):
            assert low > most * F(999, 1000)


def one_question_in_logarithms(price_of: Price, a: Fraction, slope: Fraction, s: Fraction, w: Fraction) -> arb:
    """ln of the left side of (1) at eta_slope, with the powers of exp(s) taken out."""
    u, kept = ball(-s).exp(), (-price_of(a, slope)).exp()
    first = (kept * ball(-a * s).exp() + ball(w)).log()
    return first + ball(a - 1) * (1 + ball(w)).log() - ball(a) * (u + ball(w)).log()


def check_price(price_of: Price) -> None:
    for (a, e), w in zip(orders_and_shifts(sized(150, 1500), seed=8), places(seed=9), strict=False):
        slope = abs(e)
        if below_limit(a, slope):
            for s in (slope, -slope, slope / 3):
                low, _ = bounds(partial(one_question_in_logarithms, price_of, a, slope, s, w))
                assert low <= 0, (a, slope, s, w)


def test_4_one_question_costs_no_more_than_its_price() -> None:
    """(1) with eta_e, for every |s| <= e and every chance: certified, and a Gaussian's price is too low."""
    check_price(charge)
    with pytest.raises(AssertionError):
        check_price(broken.gaussian_charge)


def test_5_the_price_rises_with_the_shift() -> None:
    """The algebra exactly; the derivative by a difference; and eta_s <= eta_e for |s| <= e, certified."""
    source = random.Random(10)
    for _ in range(sized(200, 5000)):
        a, u = 1 + F(source.randint(1, 10**6), 10**3), F(source.randint(1, 999), 1000)
        assert (a + u - a * u) - (1 - a + a * u) == (2 * a - 1) * (1 - u) > 0
    for a, s in orders_and_shifts(sized(60, 2000), seed=11):
        u = mp.exp(-real(s))
        slope = mp.diff(lambda x, a=a: price(real(a), x), real(s), h=real(abs(s)) * mpf(10) ** -12)
        closed = real(a * (a - 1)) * (1 - u) / (1 - real(a) + real(a) * u)
        assert abs(slope - closed) < abs(closed) * mpf(10) ** -4
        if s > 0:
            highest = lower(lambda a=a, s=s: charge(a, s))
            for part in (F(-1), F(-1, 2), F(1, 2), F(99, 100)):
                assert upper(lambda a=a, s=s, part=part: charge(a, part * s)) < highest


# An adaptive strategy: what to ask next, given all answers, and what each table says.


def strategies(source: random.Random, a: mpf, room: mpf) -> mpf:
    """E'[L^a exp(-N)] of a strategy that picks slopes, chances, other mechanisms and its end by what it has seen."""

    def go(depth: int, seen: tuple[int, ...], spent: mpf) -> mpf:
        private = random.Random(f"{source_seed} {seen}")
        if depth == 0 or private.random() < 0.1:
            return mpf(1)
        if private.random() < 0.2:  # a randomised response of the same order, at its divergence
            truth = mpf(private.uniform(0.5, 0.6))
            moments = [truth**a * (1 - truth) ** (1 - a), (1 - truth) ** a * truth ** (1 - a)]
            cost = mp.log(sum(moments))
            return sum(m * mp.exp(-cost) * go(depth - 1, (*seen, 2 + i), spent + cost) for i, m in enumerate(moments))
        most = -mp.log(1 - 1 / a) * mpf("0.97")
        e = most * mpf(private.random())
        eta = price(a, e)
        if spent + eta > room:
            return mpf(1)  # a filter would not reserve it
        p = shifted(mpf(1) / 2, mpf(private.uniform(-12, 4)))
        other = shifted(p, e * mpf(private.choice([1, -1, private.uniform(-1, 1)])))
        hit = p**a * other ** (1 - a) * mp.exp(-eta)
        miss = (1 - p) ** a * (1 - other) ** (1 - a)
        return hit * go(depth - 1, (*seen, 1), spent + eta) + miss * go(depth - 1, (*seen, 0), spent)

    source_seed = source.getrandbits(64)
    return go(9, (), mpf(0))


def test_6_adaptive_strategies_stay_below_what_they_pay() -> None:
    """Guarantee: for questions, thresholds and slopes that depend in any way on earlier answers, as long as the hits
    that a filter or a permit lets it report cost at most B together at the order a of the budget, all answers have
    Renyi divergence of order a at most B. (`ThresholdTest`.)
    """
    source = random.Random(12)
    with mp.workdps(20):
        moments = [strategies(source, mpf(a), mpf(3)) for a in (1.5, 4, 34.9) for _ in range(sized(6, 60))]
    assert max(moments) <= 1 + mpf(10) ** -15  # what 20 digits may be off by
    assert max(moments) > mpf("0.9")


def random_test(source: random.Random, a: float, e: float, length: int) -> list[tuple[float, float]]:
    found = []
    for _ in range(length):
        p = 1 / (1 + np.exp(-source.uniform(-9, 3)))
        s = source.choice([e, -e, source.uniform(-e, e)])
        found.append((p, p / (p + (1 - p) * np.exp(-s))))
    return found


def check_recursion(eta: Callable[[float, float], float], *, count: int) -> float:
    """O3: the exact divergence of random tests, over what hits cost; returns the greatest ratio."""
    source, worst = random.Random(13), 0.0
    for _ in range(count):
        a, cutoff = source.choice([1.5, 5.0, 20.0, 34.9]), source.randint(1, 6)
        e = -np.log(1 - 1 / a) * source.choice([0.2, 0.7, 0.95])
        moment = log_moment(random_test(source, a, e, source.randint(1, 80)), cutoff, a)
        worst = max(worst, moment / (cutoff * eta(a, e)))
    for a, e, cutoff in ((20.0, 0.03, 3), (5.0, 0.15, 2), (34.9, 0.02, 6)):  # deep: rare hits, and time for all
        deep = [(5e-4, 1 / (1 + (1 / 5e-4 - 1) * np.exp(-e)))] * sized(120_000, 400_000)
        worst = max(worst, log_moment(deep, cutoff, a) / (cutoff * eta(a, e)))
    return worst


def test_6_the_price_is_reached_by_deep_tests() -> None:
    """The ratio is never above 1, and .999 of it is reached; charged as Gaussian noise it is far above."""
    worst = check_recursion(lambda a, e: float(price(mpf(a), mpf(e))), count=sized(200, 5000))
    assert 0.999 <= worst <= 1
    assert check_recursion(lambda a, e: a * (a - 1) * e * e / 2, count=20) > 1.2


def test_7_above_the_limit_the_divergence_has_no_bound() -> None:
    """One hit: below the limit every moment is under the price; above, rarer hits and more questions pass any bound."""
    a = mpf(20)
    for factor, bounded in ((mpf("0.99"), True), (mpf("1.01"), False)):
        e = -mp.log(1 - 1 / a) * factor
        moments = []
        for p in (mpf("1e-3"), mpf("1e-5"), mpf("1e-7")):
            other = shifted(p, e)
            each = (1 - p) ** a * (1 - other) ** (1 - a)
            steps = 60 / abs(1 - each)
            # the sum of a geometric series of so many misses, then the hit
            moments.append(p**a * other ** (1 - a) * (each**steps - 1) / (each - 1))
        assert max(moments) < mp.exp(price(a, e)) if bounded else min(moments) > mp.exp(50), factor
