"""RandomizedResponse: loss, reports and estimates, by summing over every report that could be given."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests import mechanism_checks as checks
from tests.broken import mechanisms as broken
from tests.closed_forms import mp, mpf, response_delta
from tests.noise_laws import real
from tests.scripted import Scripted
from tests.statistics import chi_square, share

F = Fraction
ROUNDING = 1e-13
"""Estimates are floats of a handful of operations, each off by 2^-53 of numbers below 100."""

RESPONSES = {
    "warner": dp.RandomizedResponse(truth=F(1, 2)),
    "often": dp.RandomizedResponse(truth=F(9, 10)),
    "seldom": dp.RandomizedResponse(truth=F(1, 10)),
    "by epsilon": dp.RandomizedResponse(epsilon=F(3, 2)),
}


def honest(response: dp.RandomizedResponse) -> mpf:
    """The probability of the true answer: p + (1 - p) / k, or e^epsilon / (e^epsilon + k - 1)."""
    k = response.choices
    if response.truth is not None:
        return real(response.truth + (1 - response.truth) / k)
    odds = mp.exp(real(response.epsilon))
    return odds / (odds + k - 1)


@pytest.mark.parametrize("choices", [2, 3, 7])
@pytest.mark.parametrize("given", [{"truth": F(1, 2)}, {"truth": F(1, 1000)}, {"truth": 0}, {"epsilon": 2}])
def test_the_loss(given: dict[str, Fraction], choices: int) -> None:
    """each respondent's report of one answer is epsilon-DP in that answer (relation: replace), with
    e^epsilon = (p + (1 - p) / k) / ((1 - p) / k), so ln((1 + p) / (1 - p)) for two choices and ln 3 for a fair coin;
    it is tight."""
    response = dp.RandomizedResponse(choices=choices, **given)
    keep = honest(response)
    exact = mp.log(keep * (choices - 1) / (1 - keep))
    assert exact <= real(response.epsilon) * (1 + mpf(10) ** -45) <= exact * (1 + mpf(2) ** -60) + mpf(10) ** -45
    low, high = mp.ninf, mp.ninf
    for one, other in itertools.permutations(range(choices), 2):
        pair = [[response.law(v).bounds(k) for k in range(choices)] for v in (one, other)]
        assert sum(p[0] for p in pair[0]) <= 1 <= sum(p[1] for p in pair[0])
        below, above = checks.log_ratio(*pair)
        low, high = max(low, below), max(high, above)
    assert low <= real(response.epsilon)
    assert high >= exact * (1 - mpf(10) ** -45)


def test_warner() -> None:
    assert dp.RandomizedResponse(truth=0.5).loss.epsilon(delta=0) == pytest.approx(float(mp.log(3)), rel=2**-52)
    for truth in (F(1, 10), F(3, 4)):
        wanted = mp.log(real((1 + truth) / (1 - truth)))
        assert abs(real(dp.RandomizedResponse(truth=truth).epsilon) / wanted - 1) < mpf(2) ** -60


def test_a_wrong_epsilon_is_rejected() -> None:
    response = dp.RandomizedResponse(truth=F(9, 10))
    law_of = response.law
    checks.check_pure(law_of, epsilon=real(response.epsilon), shifts=[1], tight=True)
    with pytest.raises(AssertionError):
        checks.check_pure(law_of, epsilon=mpf(broken.wrong_response_epsilon(F(9, 10))), shifts=[1], tight=False)


@pytest.mark.parametrize("name", RESPONSES)
def test_the_curve_is_its_own(name: str) -> None:
    response = RESPONSES[name]
    for epsilon in checks.epsilons_upto(float(response.epsilon)):
        claimed = real(F(repr(response.loss.delta(epsilon=epsilon))))  # a float means the decimal it prints as
        exact = response_delta(real(epsilon), real(response.epsilon), 1)
        assert exact * (1 - mpf(10) ** -40) <= claimed <= exact + mpf(2) ** -50


def test_a_report_of_several_answers_costs_so_many_times() -> None:
    """A respondent who reports `answers` answers has `answers` times that loss, whatever the answers."""
    one, five = dp.RandomizedResponse(truth=F(1, 2)), dp.RandomizedResponse(truth=F(1, 2), answers=5)
    assert five.loss.renyi(F(10**9)) == 5 * one.epsilon
    assert dp.RandomizedResponse(epsilon=5, answers=5).epsilon == 1
    assert five.sensitivity.l1 == 5
    tables = [one.law(0), one.law(1)]
    worst = sum(checks.log_ratio(*[[law.bounds(k) for k in (0, 1)] for law in tables])[0] for _ in range(5))
    assert worst <= real(five.epsilon * 5)


def reports_of_every_word(response: dp.RandomizedResponse, answer: int, coin: int, others: int) -> list[int]:
    """The reports for each of `coin` words of the honest coin and each of `others` words of the lie."""
    words = np.repeat(np.arange(coin), others)
    script = [words] if others == 1 else [words, np.tile(np.arange(others), coin)]
    return response._release(np.full(words.size, answer), Scripted(*script)).tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", [0, 1])
def test_every_word_of_a_binary_report(answer: int) -> None:
    reports = reports_of_every_word(dp.RandomizedResponse(truth=F(1, 2)), answer, 256, 1)
    assert F(reports.count(answer), 256) == F(3, 4)
    assert set(reports) == {0, 1}


@pytest.mark.parametrize("answer", range(5))
def test_every_word_of_a_report_among_five(answer: int) -> None:
    """truth = 3/8 of 5 choices: the honest coin is 1/2, and each of four lies an eighth."""
    reports = reports_of_every_word(dp.RandomizedResponse(truth=F(3, 8), choices=5), answer, 256, 256)
    wanted = {k: F(1, 2) if k == answer else F(1, 8) for k in range(5)}
    assert {k: F(reports.count(k), 2**16) for k in range(5)} == wanted


def test_reports_by_statistics() -> None:
    response, n = dp.RandomizedResponse(epsilon=1, choices=5), 400_000
    law = response.law(3)
    check = chi_square(lambda draws: draws, [law.probability(k) for k in range(5)], n)
    off = dp.RandomizedResponse(epsilon=F(11, 10), choices=5)
    wrong = {"epsilon 1.1": lambda m: off.release(np.full(m, 3)), "another": lambda m: response.release(np.full(m, 2))}
    check.run(lambda m: response.release(np.full(m, 3)), wrong=wrong)
    coin = dp.RandomizedResponse(truth=F(1, 3))
    share(lambda draws: draws == 1, 2 / 3, n).run(
        lambda m: coin.release(np.ones(m, bool)), wrong={"told": lambda m: np.random.default_rng().random(m) < 1 / 3}
    )


def counts_of_ones(response: dp.RandomizedResponse, ones: int, n: int) -> list[mpf]:
    """P(so many reports of one), when `ones` of n respondents have the answer 1."""
    keep = honest(response)
    law = [mpf(1)]
    for told in [keep] * ones + [(1 - keep) / (response.choices - 1)] * (n - ones):
        law = [
            (law[k] if k < len(law) else 0) * (1 - told) + (law[k - 1] * told if k else 0) for k in range(len(law) + 1)
        ]
    return law


def reports_with(ones: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([1] * ones + [0] * (n - ones))


def check_unbiased(response: dp.RandomizedResponse, estimate: Callable[[np.ndarray], float], n: int) -> None:
    for ones in range(n + 1):
        law = counts_of_ones(response, ones, n)
        mean = mp.fsum(p * mpf(estimate(reports_with(k, n))) for k, p in enumerate(law))
        assert abs(mean - mpf(ones) / n) < ROUNDING


@pytest.mark.parametrize("name", RESPONSES)
def test_the_estimate_is_unbiased(name: str) -> None:
    response = RESPONSES[name]
    for n in (1, 2, 5):
        check_unbiased(response, lambda reports: response.estimate(reports).value, n)  # type: ignore[arg-type, return-value]
    with pytest.raises(AssertionError):
        check_unbiased(response, broken.raw_share, 2)


def test_the_estimate_of_several_answers_is_unbiased() -> None:
    response = dp.RandomizedResponse(epsilon=1, choices=4)
    answers = (0, 0, 2)
    mean = [mpf(0)] * 4
    for reports in itertools.product(range(4), repeat=3):
        chance = mp.fprod(
            honest(response) if r == a else (1 - honest(response)) / 3 for r, a in zip(reports, answers, strict=True)
        )
        for k, value in enumerate(response.estimate(list(reports)).value):  # type: ignore[arg-type]
            mean[k] += chance * mpf(float(value))
    assert all(abs(m - mpf(answers.count(k)) / 3) < ROUNDING for k, m in enumerate(mean))


Interval = Callable[[np.ndarray, float], tuple[float, float]]


def check_coverage(response: dp.RandomizedResponse, interval: Interval, sizes: list[int]) -> None:
    """Whatever the answers are, the interval covers their share at least as often as it says."""
    for n, confidence in itertools.product(sizes, (0.5, 0.9, 0.95)):
        ends = [interval(reports_with(k, n), confidence) for k in range(n + 1)]
        for ones in range(n + 1):
            law = counts_of_ones(response, ones, n)
            covered = mp.fsum(p for p, (low, high) in zip(law, ends, strict=True) if low <= ones / n <= high)
            assert covered >= mpf(str(confidence))


@pytest.mark.parametrize("name", [*RESPONSES, "nearly honest"])
def test_the_interval_covers(name: str) -> None:
    response = RESPONSES.get(name, dp.RandomizedResponse(truth=F(999, 1000)))

    def interval(reports: np.ndarray, confidence: float) -> tuple[float, float]:
        found = response.estimate(reports, confidence=confidence)
        assert found.error == (found.upper - found.lower) / 2
        return found.lower, found.upper  # type: ignore[return-value]

    check_coverage(response, interval, [1, 2, 3, 8, 25])
    with pytest.raises(AssertionError):
        check_coverage(response, lambda reports, c: broken.normal_interval(response, reports, c), [8, 25])


@pytest.mark.parametrize("name", RESPONSES)
def test_accuracy(name: str) -> None:
    """By Hoeffding's inequality over the reports, which are independent."""
    response = RESPONSES[name]
    for n, beta in itertools.product((1, 10, 60), (F(1, 2), F(1, 20))):
        alpha = response.accuracy(failure_probability=beta, respondents=n)
        gap = honest(response) - (1 - honest(response))
        assert abs(mpf(alpha) / (mp.sqrt(mp.log(2 / real(beta)) / (2 * n)) / gap) - 1) < mpf(2) ** -48
        for ones in {0, n // 2, n}:
            off = [
                p
                for k, p in enumerate(counts_of_ones(response, ones, n))
                if abs(response.estimate(reports_with(k, n)).value - ones / n) > alpha
            ]
            assert mp.fsum(off) <= real(beta)


@pytest.mark.parametrize("choices", [2, 5])
def test_the_response_of_an_accuracy(choices: int) -> None:
    for alpha, beta, n in ((F(1, 10), F(1, 20), 1000), (F(1, 100), F(1, 10**400), 10**7), (F(3), F(1, 20), 100)):
        made = dp.RandomizedResponse.for_accuracy(alpha=alpha, failure_probability=beta, respondents=n, choices=choices)
        reached = made.accuracy(failure_probability=beta, respondents=n)
        assert float(alpha) * (1 - 2**-40) <= reached <= float(alpha)
    with pytest.raises(InvalidParameter):
        dp.RandomizedResponse.for_accuracy(alpha=F(1, 100), failure_probability=F(1, 20), respondents=10)


class TestReleases:
    response = dp.RandomizedResponse(truth=F(1, 2))

    @pytest.mark.parametrize(
        "answers",
        [
            True,
            False,
            0,
            1,
            np.bool_(True),
            np.uint64(1),
            [0, 1],
            [True, False],
            np.array([], int),
            np.zeros((2, 3), np.uint64),
        ],
    )
    def test_the_shape_is_kept_and_reports_are_integers(self, answers: object) -> None:
        released = self.response.release(answers)  # type: ignore[arg-type]
        assert np.shape(released) == np.shape(answers)  # type: ignore[arg-type]
        if np.size(answers):  # type: ignore[arg-type]
            assert np.asarray(released).dtype == np.int64
            assert set(np.ravel(released).tolist()) <= {0, 1}

    @pytest.mark.parametrize("answers", [2, -1, 0.5, "1", None, [0, 2], [0.0], 1j, 2**70, np.array(["a"])])
    def test_other_answers_are_refused(self, answers: object) -> None:
        with pytest.raises(InvalidParameter):
            self.response.release(answers)  # type: ignore[arg-type]

    def test_a_private_value_is_refused(self) -> None:
        with pytest.raises(InvalidParameter):
            self.response.release(dp.Exact(1, sensitivity=self.response.sensitivity, unit="row"))  # type: ignore[arg-type]

    @pytest.mark.parametrize("reports", [[], [2], [0.5], ["a"], [-1]])
    def test_reports_that_cannot_be(self, reports: list[object]) -> None:
        with pytest.raises(InvalidParameter):
            self.response.estimate(reports)  # type: ignore[arg-type]

    @pytest.mark.parametrize("kind", [bool, np.int8, np.uint64])
    def test_reports_of_any_integer_type(self, kind: type) -> None:
        assert self.response.estimate(np.array([0, 1, 1, 1], dtype=kind)).value == pytest.approx(1)

    @pytest.mark.parametrize("truth", [F(0), F(1, 10**400)])
    def test_reports_that_say_nothing(self, truth: Fraction) -> None:
        silent = dp.RandomizedResponse(truth=truth)
        with pytest.raises(InvalidParameter):
            silent.estimate([0, 1])
        with pytest.raises(InvalidParameter):
            silent.accuracy(failure_probability=F(1, 20), respondents=10)

    def test_a_law_outside_the_choices_is_refused(self) -> None:
        for value in (-1, 2):
            with pytest.raises(InvalidParameter):
                self.response.law(value)

    def test_the_law_of_many_choices_is_not_listed(self) -> None:
        law = dp.RandomizedResponse(epsilon=1, choices=2**31).law(5)
        assert law.probability(5) > law.probability(2**31 - 1) > law.probability(2**31) == 0
