"""`explain`: what a budget means for one person, against releases enumerated, in figures and in words."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.explain import _CHANCES, rounded_up
from discreet.errors import InvalidParameter
from tests.accounting import FLOATS, check_upper, discrete_laplace, exact, log_uniform, precise, zcdp_epsilon_truth
from tests.broken import offers as broken
from tests.closed_forms import mp, mpf
from tests.sizes import sized

F = Fraction
PRIORS = [F(1, 10**9), F(1, 1000), F(1, 3), F(1, 2), F(9, 10), F(999_999, 10**6)]
PAIRS = [(0.1, 0.0), (1.0, 0.0), (5.0, 0.0), (1.0, 1e-9), (0.5, 0.01), (2.0, 0.3), (0.0, 0.2), (40.0, 1e-12)]

Explain = Callable[[float, float], dp.Explanation]
Law = list[tuple[mpf, mpf]]  # of every outcome, its probability with the person and without


# Releases whose outcomes can be counted.


@precise
def worst_release(epsilon: float, delta: float) -> Law:
    """The release of which every (epsilon, delta)-DP one is a function: all is told with delta, else a coin lies."""
    truth, told = 1 / (1 + mp.exp(-exact(epsilon))), exact(delta)
    return [(told, mpf(0)), ((1 - told) * truth, (1 - told) * (1 - truth)),
            ((1 - told) * (1 - truth), (1 - told) * truth), (mpf(0), told)]  # fmt: skip


def coins_told(epsilon: float) -> Law:
    return worst_release(epsilon, 0.0)[1:3]


@precise
def count_told(epsilon: float) -> Law:
    """A count of 7 or 8 with discrete Laplace noise."""
    law = discrete_laplace(1 / exact(epsilon), 60)
    return [(law[z], law[z - 1]) for z in range(-59, 61)]


@precise
def posterior(before: Fraction, one: mpf, other: mpf) -> mpf:
    """Bayes."""
    p = exact(before)
    return p * one / (p * one + (1 - p) * other)


@precise
def right_guesses(law: Law) -> mpf:
    """The share of right guesses at even odds of whoever takes the likelier table at every outcome."""
    return mp.fsum(max(one, other) for one, other in law) / 2


# Checks.


@precise
def check_beliefs(explain: Explain, pairs: Iterable[tuple[float, float]]) -> None:
    """No outcome makes a belief greater, and one makes it as great; delta is the chance of those left out."""
    for epsilon, delta in pairs:
        told = explain(epsilon, delta)
        told_all, *coins, _ = worst_release(epsilon, delta)
        assert told_all[0] == exact(delta)
        for before in PRIORS:
            worst = max(posterior(before, *pair) for one, other in coins for pair in ((one, other), (other, one)))
            check_upper(told.belief(before), worst, within=FLOATS)
        assert told.belief(0) == 0
        assert told.belief(1) == 1


@precise
def check_odds(explain: Explain, pairs: Iterable[tuple[float, float]]) -> None:
    """The odds move by at most this factor, and by as much."""
    for epsilon, delta in pairs:
        one, other = worst_release(epsilon, delta)[1]
        check_upper(explain(epsilon, delta).odds, one / other, within=FLOATS)


@precise
def check_guesses(explain: Explain, pairs: Iterable[tuple[float, float]]) -> None:
    """No way to guess is right more often, and one is right as often."""
    for epsilon, delta in pairs:
        check_upper(explain(epsilon, delta).guess, right_guesses(worst_release(epsilon, delta)), within=FLOATS)


CHECKS = {"belief": check_beliefs, "odds": check_odds, "guess": check_guesses}


@pytest.mark.parametrize("name", CHECKS)
def test_against_the_worst_release(name: str) -> None:
    """an observer who gives an event about one person the probability p, and who knows everything else, learns
    no more than from an answer after which it has at most e^epsilon p / (1 - p + e^epsilon p), but for an event of
    probability delta. The most that everything a budget allows can move anybody's belief about one person.
    """
    source = random.Random(1)
    several = [
        (float(log_uniform(source, 1e-3, 20)), float(log_uniform(source, 1e-15, 0.9))) for _ in range(sized(40, 2000))
    ]
    CHECKS[name](dp.Explanation, PAIRS + several)


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("belief", broken.BeliefsMoveByOneAndEpsilon),
        ("belief", broken.BeliefsMoveByTheFactor),
        ("belief", broken.InFloats),
        ("odds", broken.EpsilonIsAPercentage),
        ("odds", broken.InFloats),
        ("guess", broken.GuessWithoutDelta),
        ("guess", broken.InFloats),
    ],
)
def test_wrong_explanations_are_rejected(name: str, twin: Explain) -> None:
    with pytest.raises(AssertionError):
        CHECKS[name](twin, PAIRS)


def test_without_a_delta_one_of_them_is_right() -> None:
    check_guesses(broken.GuessWithoutDelta, [pair for pair in PAIRS if not pair[1]])  # type: ignore[arg-type]


@precise
def test_no_count_tells_more() -> None:
    """Outcome by outcome, of a coin and of a count: beliefs are at most what is said, and guesses as seldom right."""
    for epsilon in (0.1, 1.0, 3.0):
        told = dp.Explanation(epsilon, 0.0)
        for law in (coins_told(epsilon), count_told(epsilon)):
            for before, (one, other) in itertools.product(PRIORS, law):
                assert posterior(before, one, other) <= exact(told.belief(before))
                assert posterior(before, other, one) <= exact(told.belief(before))
            assert right_guesses(law) <= exact(told.guess)
        count = [posterior(F(1, 2), one, other) for one, other in count_told(epsilon)]
        check_upper(told.belief(F(1, 2)), max(count), within=FLOATS)  # the outer counts tell all that may be told


@precise
def test_with_a_delta_odds_pass_the_factor_more_often_than_delta() -> None:
    """at epsilon = 1 and delta = 1e-9, Gaussian noise moves them by more than e with probability 3.3e-8"""
    mu = 1 / exact(dp.Gaussian(sensitivity=dp.Sensitivity.counting(neighbours=dp.Neighbours.REPLACE),
                               epsilon=1, delta=1e-9).sigma)  # fmt: skip
    passed = mp.ncdf(mu / 2 - 1 / mu)
    assert mp.nstr(passed, 2) == "3.3e-8"


# Budgets.


def test_a_budget_in_epsilon_is_itself() -> None:
    assert dp.Budget(epsilon=0.3).explain() == dp.Explanation(0.3, 0.0)
    assert dp.Budget(epsilon=1, delta=1e-9).explain() == dp.Explanation(1.0, 1e-9)
    third = dp.Budget(epsilon=F(1, 3), delta=F(1, 3 * 10**6)).explain()
    assert F(repr(third.epsilon)) >= F(1, 3)
    assert F(repr(third.delta)) >= F(1, 3 * 10**6)


@precise
def check_rho(epsilon_of: Callable[[Fraction, Fraction], float]) -> None:
    for rho, delta in itertools.product((F(1, 1000), F(1, 10), F(2)), (F(1, 10**6), F(1, 10**9), F(1, 10**12))):
        check_upper(epsilon_of(rho, delta), zcdp_epsilon_truth(exact(rho), exact(delta)), within="1e-4")


def test_a_budget_in_rho_is_read_at_a_delta() -> None:
    check_rho(lambda rho, delta: dp.Budget(rho=rho).explain(delta=delta).epsilon)
    assert dp.Budget(rho=F(1, 10)).explain() == dp.Budget(rho=F(1, 10)).explain(delta=1e-9)
    assert dp.Budget(rho=F(1, 10)).explain().delta == 1e-9
    with pytest.raises(AssertionError):  # the mean loss, for the greatest
        check_rho(lambda rho, _: float(rho))


# Words.


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)


@precise
def check_words(say: Callable[[dp.Explanation], str], explained: dp.Explanation) -> None:
    """Every number that is printed is at least what it stands for, and the next one with its digits."""
    lines = [line for line in say(explained).splitlines() if line]
    figures = [next(line for line in lines if "factor" in line), next(line for line in lines if "coin" in line)]
    odds, guess = numbers(figures[0])[0], numbers(figures[1])[0]
    said = [(odds, exact(explained.odds), 4), (guess, 100 * exact(explained.guess), None)]
    for before, after in ([*numbers(line)] for line in lines if line.startswith("  ") and "believed" not in line):
        said.append((after, 100 * exact(explained.belief(F(before) / 100)), None))
    assert len(said) == 7
    if explained.delta:
        (line,) = (line for line in lines if "probability at most" in line)
        said.append((numbers(line[line.index("at most") :])[0], exact(explained.delta), 3))
    for printed, truth, digits in said:
        decimal = Decimal(printed)
        unit = decimal.as_tuple().exponent if digits is None else decimal.adjusted() - digits + 1
        assert truth <= exact(F(decimal)) < truth + mpf(10) ** int(unit), (printed, mp.nstr(truth, 9))


SPOKEN = [
    dp.Explanation(float(e), d) for e, d in itertools.product(("0.1", "0.333", "1", "2.5", "7"), (0.0, 1e-9, 3.333e-7))
]


def test_the_words_round_up() -> None:
    for explained in SPOKEN:
        check_words(str, explained)
    with pytest.raises(AssertionError):
        check_words(broken.in_words_to_nearest, SPOKEN[0])


def test_the_words_say_whether_there_is_an_exception() -> None:
    assert str(dp.Budget(epsilon=1).explain()).endswith("This holds without exception.")
    with_delta = str(dp.Budget(epsilon=1, delta=1e-9).explain())
    assert "without exception" not in with_delta
    assert "an event of probability at most 1e-9, rarer than" in with_delta.replace("e-09", "e-9")
    assert "2.719." in with_delta  # e, rounded up
    assert "73.11%" in with_delta


def test_rare_events_are_as_rare_as_they_are_said() -> None:
    chances = {text: chance for chance, text in _CHANCES}
    assert chances["two dice both showing six"] == F(1, 6) ** 2
    assert chances["a royal flush in five cards"] == F(4, math.comb(52, 5))
    assert chances["the jackpot with one ticket of 6 in 49"] == F(1, math.comb(49, 6))
    assert chances["a fair coin falling heads thirty times in a row"] == F(1, 2) ** 30
    assert chances["that jackpot twice in a row"] == F(1, math.comb(49, 6)) ** 2
    assert list(chances.values()) == sorted(chances.values(), reverse=True)
    for delta in (0.5, 0.02, 1e-3, 1e-6, 5e-8, 1e-9, 9e-10, 1e-15, 1e-300):
        said = str(dp.Explanation(1.0, delta))
        rarer = [text for text, chance in chances.items() if chance > F(repr(delta))]
        assert said.endswith(f"rarer than {rarer[-1]}." if rarer else ".")
        assert ("rarer" in said) == bool(rarer)


def test_rounding_up_a_number() -> None:
    source = random.Random(2)
    for _ in range(sized(500, 20_000)):
        value, digits = float(log_uniform(source, 1e-12, 1e12)), source.randint(1, 8)
        printed = Decimal(rounded_up(value, digits=digits))
        assert 0 <= F(printed) - F(repr(value)) < F(10) ** (printed.adjusted() - digits + 1)
    some = [rounded_up(value, digits=3) for value in (0.0, 1.0, 99.95, 13_641.2, 3e-9, math.inf)]
    assert some == ["0.0", "1.0", "100", "13700", "3e-9", "infinity"]


def test_what_protects_nobody_is_called_so() -> None:
    """No overflow: at epsilon = 800 odds leave the floats, at 20,000 e^epsilon is not worth computing."""
    for epsilon in (800.0, 20_000.0, math.inf):
        nobody = dp.Explanation(epsilon, 0.0)
        assert nobody.odds == math.inf
        assert nobody.guess == nobody.belief(1e-9) == 1.0
        assert nobody.belief(0) == 0.0
        assert "infinity" in str(nobody)


def test_refusals() -> None:
    one = dp.Budget(epsilon=1).explain()
    for before in (-0.1, 1.1, float("nan"), float("inf"), None, True, "half"):
        with pytest.raises(InvalidParameter):
            one.belief(before)  # type: ignore[arg-type]
    for delta in (0, 1, -1e-9, float("nan")):
        with pytest.raises(InvalidParameter):
            dp.Budget(rho=1).explain(delta=delta)
