"""Checks of the accounting that accept ours and reject its broken twins: each returns, or raises AssertionError.

What they compare with is computed in `closed_forms` at 256 bits. A float of ours means the decimal it prints as.
"""

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from hypothesis import settings

from tests.closed_forms import gaussian_delta, mp, mpf, response_delta

precise = mp.workprec(256)

examples = partial(settings, deadline=None, derandomize=True, database=None)

NOISE = mpf(2) ** -150  # what 50 digits of a reference may be off by
TINY = mpf(2) ** -1074  # the least float: what rounding up makes of any smaller number


@precise
def exact(number: Fraction | float | int) -> mpf:
    """The number that was meant: a float is the decimal it prints as."""
    if isinstance(number, float):
        if math.isinf(number):
            return mp.inf
        number = Fraction(repr(number))
    return mpf(Fraction(number).numerator) / Fraction(number).denominator


def log_uniform(source: random.Random, low: float, high: float) -> Fraction:
    """A random decimal whose logarithm is uniform."""
    return Fraction(f"{math.exp(source.uniform(math.log(low), math.log(high))):.12e}")


FLOATS = "4.5e-16"  # two steps of a float: one up, and half a step at each end to the decimal that it prints as


@precise
def check_upper(claimed: Fraction | float, truth: mpf, *, within: str) -> None:
    """The claim is at least the truth, and relatively within this of it."""
    assert truth * (1 - NOISE) <= exact(claimed) <= truth * (1 + mpf(within)) + TINY, (claimed, mp.nstr(truth, 20))


@precise
def check_epsilon(epsilon: float, delta_at: Callable[[mpf], mpf], delta: Fraction, *, within: str) -> None:
    """The curve is at or below delta at this epsilon, and not below it a little earlier."""
    here = exact(epsilon)
    assert delta_at(here) <= exact(delta) * (1 + NOISE), (epsilon, delta)
    if epsilon > 0:
        assert delta_at(here * (1 - mpf(within))) >= exact(delta), (epsilon, delta)


# References. Each is delta at epsilon for one parameter.


@precise
def pure_truth(whole: mpf, epsilon: mpf) -> mpf:
    return response_delta(epsilon, whole, 1)


@precise
def gaussian_truth(mu: mpf, epsilon: mpf) -> mpf:
    return gaussian_delta(epsilon, mu)


@precise
def renyi_exponent(order: mpf, value: mpf, epsilon: mpf) -> mpf:
    """ln of the delta that a Renyi divergence of this order proves (Canonne, Kamath, Steinke 2020)."""
    return (order - 1) * (value - epsilon) + order * mp.log(1 - 1 / order) - mp.log(order - 1)


def least(objective: Callable[[mpf], mpf], low: mpf, high: mpf, steps: int = 90) -> mpf:
    """The least value of a function that falls and then rises, by thirds."""
    for _ in range(steps):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if objective(left) <= objective(right) else (left, high)
    return objective((low + high) / 2)


@precise
def zcdp_truth(rho: mpf, epsilon: mpf) -> mpf:
    """The best order's delta; x is ln(order - 1)."""

    def exponent(x: mpf) -> mpf:
        order = 1 + mp.exp(x)
        return renyi_exponent(order, order * rho, epsilon)

    return min(mpf(1), mp.exp(least(exponent, mpf(-7), mpf(30))))


@precise
def zcdp_epsilon_truth(rho: mpf, delta: mpf) -> mpf:
    """The best order's epsilon."""

    def proved(x: mpf) -> mpf:
        order = 1 + mp.exp(x)
        return order * rho + (order * mp.log(1 - 1 / order) - mp.log(order - 1) - mp.log(delta)) / (order - 1)

    return max(mpf(0), least(proved, mpf(-7), mpf(30)))


@precise
def response_renyi(order: mpf, whole: mpf) -> mpf:
    """The Renyi divergence of randomised response."""
    truth, lie = 1 / (1 + mp.exp(-whole)), 1 / (1 + mp.exp(whole))
    return mp.log(truth**order * lie ** (1 - order) + lie**order * truth ** (1 - order)) / (order - 1)


@precise
def responses_and_gaussian_delta(epsilon: mpf, each: mpf, count: int, mu: mpf) -> mpf:
    """The exact delta of `count` randomised responses and one Gaussian, together."""
    truth = 1 / (1 + mp.exp(-each))
    return sum(
        mp.binomial(count, lies)
        * truth ** (count - lies)
        * (1 - truth) ** lies
        * gaussian_delta(epsilon - (count - 2 * lies) * each, mu)
        for lies in range(count + 1)
    )


# Laws on the integers, as probabilities of 0, 1, 2, ... around their center.


@precise
def discrete_laplace(scale: mpf, reach: int) -> dict[int, mpf]:
    q = mp.exp(-1 / scale)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)}


@precise
def discrete_gaussian(sigma: mpf, reach: int) -> dict[int, mpf]:
    weights = {z: mp.exp(-(mpf(z) ** 2) / (2 * sigma**2)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


@precise
def rounded_gaussian(sigma: mpf, reach: int) -> dict[int, mpf]:
    """P(round(N(0, sigma^2)) = z), by the tail that does not cancel."""
    tails = [mp.ncdf(-(mpf(k) - mpf(1) / 2) / sigma) for k in range(1, reach + 2)]
    masses = {k: tails[k - 1] - tails[k] for k in range(1, reach + 1)}
    return {0: 1 - 2 * tails[0]} | masses | {-k: mass for k, mass in masses.items()}


@precise
def delta_of_law(law: dict[int, mpf], shift: int, epsilon: mpf) -> mpf:
    """The hockey-stick divergence between a law and itself shifted; without the tails, so it is never too large."""
    return sum(max(mpf(0), mass - mp.exp(epsilon) * law[z - shift]) for z, mass in law.items() if z - shift in law)


@precise
def renyi_of_law(law: dict[int, mpf], shift: int, order: mpf) -> mpf:
    terms = (mass**order * law[z - shift] ** (1 - order) for z, mass in law.items() if z - shift in law)
    return mp.log(sum(terms)) / (order - 1)


@precise
def check_curve_of_law(claimed: Callable[[Fraction], float], law: dict[int, mpf], shift: int = 1) -> None:
    """In both orders of the neighbours, the claimed delta is never below that of the law that is sampled."""
    for epsilon in (Fraction(n, 4) for n in range(45)):
        for one in (shift, -shift):
            truth = delta_of_law(law, one, exact(epsilon))
            assert exact(claimed(epsilon)) + NOISE >= truth, (epsilon, claimed(epsilon), mp.nstr(truth, 8))


# Sums of spends.


class Spender:
    """What the checks of a pure filter ask of one: the budget is 1."""

    def spend(self, epsilon: object) -> bool:
        raise NotImplementedError


def check_sums_are_exact(make: Callable[[], Spender], *, count: int) -> None:
    """CO-05: ten tenths fit a budget of one; after that not even the least float does; small spends are not lost."""
    tenths = make()
    assert [tenths.spend(0.1) for _ in range(11)] == [True] * 10 + [False]
    for tiny in (1e-17, 1e-300, 2.0**-1074, "1e-300", Fraction(1, 2**1074)):
        assert tenths.spend(tiny) is False, tiny
    for least_spend in (1e-17, 2.0**-1074):
        mixed = make()
        assert mixed.spend("0.5")
        assert all(mixed.spend(least_spend) for _ in range(count))
        assert not mixed.spend("0.5"), f"{count} spends of {least_spend} were lost"


NOT_A_SPEND = (-0.1, -1, -5e-324, -1e300, Fraction(-1, 3), "-0.5", math.nan, math.inf, -math.inf, "nan", "inf", True)


def check_nothing_refills(make: Callable[[], Spender]) -> None:
    """CO-06: a negative, NaN or infinite spend is refused, and changes nothing."""
    for bad in NOT_A_SPEND:
        spender = make()
        assert spender.spend(1)
        with contextlib.suppress(ValueError):  # a refusal is one
            assert not spender.spend(bad), bad
        assert not spender.spend(0.1), f"{bad!r} gave budget back"


def splits(source: random.Random, count: int) -> Iterator[list[Fraction]]:
    """Ways to write 1 as a sum: equal, random, very uneven, in random order."""
    yield [Fraction(1)]
    yield [Fraction(1, 3)] * 3
    yield [Fraction(1, 7)] * 7
    yield [1 - Fraction(1, 10**9), Fraction(1, 10**9)]
    yield [Fraction(1, 2**k) for k in range(1, 21)] + [Fraction(1, 2**20)]
    for _ in range(count):
        parts = [Fraction(source.getrandbits(64) + 1, source.getrandbits(64) + 1) for _ in range(source.randint(2, 40))]
        if source.random() < 0.5:  # uneven over many orders of magnitude
            parts = [part / 10 ** source.randint(0, 9) for part in parts]
        whole = sum(parts)
        source.shuffle(parts)
        yield [part / whole for part in parts]
