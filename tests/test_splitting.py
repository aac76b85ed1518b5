"""`splitting`: the error of k questions under three ways to split one budget, and k kept apart from n."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp import splitting
from discreet.errors import InvalidParameter
from tests.accounting import exact, log_uniform, precise
from tests.broken import offers as broken
from tests.closed_forms import mp, mpf
from tests.sizes import sized

F = Fraction
BETA = F(1, 20)

Uniform = Callable[..., Fraction]


@precise
def any_beyond(alpha: int, share: mpf, questions: int) -> mpf:
    """P(some of the answers is off by more than alpha), with discrete Laplace noise of scale 1 / share."""
    one = 2 * mp.exp(-share * (alpha + 1)) / (1 + mp.exp(-share))
    return 1 - (1 - one) ** questions


@precise
def check_alpha(alpha: Fraction, share: mpf, questions: int, beta: Fraction) -> None:
    """It is the least whole number of rows that the worst of the errors keeps to, but for beta."""
    assert alpha.denominator == 1
    assert any_beyond(int(alpha), share, questions) <= exact(beta)
    assert alpha == 0 or any_beyond(int(alpha) - 1, share, questions) > exact(beta)


@precise
def check_uniform(uniform: Uniform, cases: list[tuple[int, Fraction, Fraction]]) -> None:
    """Each question gets epsilon / k; the worst of the k errors is about (k / epsilon) ln(k / beta)."""
    for questions, epsilon, beta in cases:
        alpha = uniform(questions=questions, epsilon=epsilon, failure_probability=beta)
        share = exact(epsilon) / questions
        check_alpha(alpha, share, questions, beta)
        slides = mp.log(questions / exact(beta)) / share
        assert alpha <= slides + 1  # type: ignore[operator]
        if share < mpf(1) / 100 and beta < F(1, 10):
            assert alpha >= slides * mpf("0.97")  # type: ignore[operator]


def random_cases(count: int) -> list[tuple[int, Fraction, Fraction]]:
    source = random.Random(1)
    return [
        (source.randint(1, 2000), log_uniform(source, 1e-2, 5), log_uniform(source, 1e-6, 0.5)) for _ in range(count)
    ]


def test_uniform() -> None:
    """The answers together are epsilon-DP, by basic composition."""
    check_uniform(splitting.uniform, random_cases(sized(60, 2000)))
    check_uniform(broken.of_any_one, [(1, F(1), BETA), (1, F(1, 100), BETA)])
    with pytest.raises(AssertionError):
        check_uniform(broken.of_any_one, [(10, F(1), BETA)])
    for questions, epsilon in ((7, F(1)), (100, F(3, 10))):
        assert dp.composition.basic([dp.Loss.pure(epsilon=epsilon / questions)] * questions) == dp.Loss.pure(
            epsilon=epsilon
        )


def check_renormalised(renormalised: Uniform, pairs: list[tuple[int, int]]) -> None:
    """E0.3: of n rows and k questions, as a share of the rows it is k ln(k / beta) / (epsilon n)."""
    for questions, rows in pairs:
        alpha = renormalised(questions=questions, epsilon=1, failure_probability=BETA, rows=rows)
        check_alpha(alpha * rows, mpf(1) / questions, questions, BETA)


def test_k_is_not_n() -> None:
    """As `uniform`."""
    pairs = [(10, 1000), (1000, 1000), (1000, 10), (1, 7), (3000, 10**9)]
    check_renormalised(splitting.renormalised, pairs)
    check_renormalised(broken.one_n_for_both, [(1000, 1000)])  # where they are equal nothing is seen
    with pytest.raises(AssertionError):
        check_renormalised(broken.one_n_for_both, pairs)

    def share(questions: int, rows: int) -> Fraction:
        return splitting.renormalised(questions=questions, epsilon=1, failure_probability=BETA, rows=rows)

    assert share(100, 2000) == share(100, 1000) / 2  # twice the rows, half the error
    assert share(200, 1000) > 2 * share(100, 1000)  # twice the questions, more than twice: the worst of more
    assert share(1000, 1000) > 3 * share(1, 1)  # where both grow alike, the ln k of the worst is left


@precise
def check_advanced(advanced: Uniform, cases: list[tuple[int, Fraction, Fraction]]) -> None:
    """The share is epsilon / sqrt(8 k ln(1 / delta))."""
    for questions, epsilon, delta in cases:
        alpha = advanced(questions=questions, epsilon=epsilon, delta=delta, failure_probability=BETA)
        share = exact(epsilon) / mp.sqrt(8 * questions * mp.log(1 / exact(delta)))
        check_alpha(alpha, share, questions, BETA)
        together = questions * share * mp.expm1(share) + share * mp.sqrt(2 * questions * mp.log(1 / exact(delta)))
        assert together <= exact(epsilon)  # the theorem of which this is a corollary


ADVANCED = [(10, F(1), F(1, 10**9)), (1000, F(1), F(1, 10**9)), (50, F(1, 10), F(1, 10**6)), (1, F(2), F(1, 10**6))]


def test_advanced() -> None:
    """The answers together are (epsilon, delta)-DP, where the theorem's condition holds; refused elsewhere."""
    check_advanced(splitting.advanced, ADVANCED)
    with pytest.raises(AssertionError):
        check_advanced(broken.advanced_of_half, ADVANCED)
    with pytest.raises(InvalidParameter, match="count e0"):
        splitting.advanced(questions=4000, epsilon=50, delta=0.01, failure_probability=BETA)


def test_the_exact_loss_of_the_advanced_split_is_within_the_budget() -> None:
    """The worst of k pure releases at this share, by the optimal theorem."""
    for questions, epsilon, delta in ADVANCED:
        share = dp.composition.advanced_share(epsilon=epsilon, delta=delta, count=questions)
        assert dp.composition.optimal_delta([share] * questions, epsilon=epsilon) <= float(delta)


def test_order_of_the_three() -> None:
    """Advanced splitting is better for many questions only: its error grows as their root."""
    errors = {
        k: (
            splitting.uniform(questions=k, epsilon=1, failure_probability=BETA),
            splitting.advanced(questions=k, epsilon=1, delta=F(1, 10**9), failure_probability=BETA),
        )
        for k in (10, 100, 10_000)
    }
    assert [plain < advanced for plain, advanced in errors.values()] == [True, True, False]
    assert 12 < errors[10_000][1] / errors[100][1] < 17  # ten for the root, the rest for the worst of more


GIVEN = {"questions": 10, "epsilon": 1, "failure_probability": 0.05}
FUNCTIONS = [(splitting.uniform, {}), (splitting.renormalised, {"rows": 100}), (splitting.advanced, {"delta": 1e-9})]


@pytest.mark.parametrize(("function", "more"), FUNCTIONS, ids=lambda part: getattr(part, "__name__", ""))
def test_refusals(function: Uniform, more: dict[str, object]) -> None:
    bad: dict[str, list[object]] = {
        "questions": [0, -1, 1.5, True, None],
        "epsilon": [0, -1, float("nan"), float("inf"), None],
        "failure_probability": [0, 1, -0.1, float("nan")],
        "rows": [0, -5, 2.5, None],
        "delta": [0, 1, -1e-9, float("nan")],
    }
    right = GIVEN | more
    assert function(**right) > 0
    for name in right:
        for value in bad[name]:
            with pytest.raises(InvalidParameter):
                function(**{**right, name: value})
        with pytest.raises(TypeError):
            function(**{key: value for key, value in right.items() if key != name})
