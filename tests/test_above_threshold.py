"""AboveThreshold: its exact law, its loss, its accuracy, and that the code draws that law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.broken import sparse_vectors as broken
from tests.closed_forms import mp
from tests.noise_laws import real
from tests.sizes import sized
from tests.statistics import chi_square
from tests.streams import Scales, accuracy_failures, check_pure, extreme_cases, small_cases, worst_ratio
from tests.tapes import check_code

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
EPSILONS = [F(1, 3), F(1), F(5, 2)]
WORST = {"misses": (0, 5, 30), "thresholds": (0, 3, 20)}
UNIT = F(1)


def watch(epsilon: Fraction = UNIT, threshold: int = 0) -> dp.AboveThreshold:
    return dp.AboveThreshold(threshold=threshold, sensitivity=ONE, epsilon=epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [F(1), F(2), F(5, 2)])
def test_its_noise_is_that_of_the_notes(epsilon: Fraction, size: Fraction) -> None:
    made = dp.AboveThreshold(threshold=0, sensitivity=dp.Sensitivity(l1=size, neighbours=ADD), epsilon=epsilon)
    assert Scales.of(made) == Scales(2 * size / epsilon, 4 * size / epsilon, redraw=True)
    grown = dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=epsilon, step=F(1, 8))
    assert Scales.of(grown) == Scales(2 * 9 / epsilon, 4 * 9 / epsilon, redraw=True)  # 8 steps, and one for snapping


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_worst_log_ratio_is_epsilon(epsilon: Fraction) -> None:
    """epsilon-DP, however many values are asked and however they are chosen, and tight."""
    law = Scales.of(watch(epsilon)).chance
    check_pure(law, epsilon, extreme_cases(1, low=int(60 / epsilon), **WORST), tight=True)
    check_pure(law, epsilon, small_cases(2, 1), tight=False)


def test_values_that_move_by_two_cost_as_much() -> None:
    made = dp.AboveThreshold(threshold=0, sensitivity=dp.Sensitivity(l1=2, neighbours=REPLACE), epsilon=1)
    cases = [((0,) * 60 + (-400,), (2,) * 60 + (-402,), (False,) * 60 + (True,), 0)]
    check_pure(Scales.of(made).chance, F(1), cases, tight=True)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_wrong_noise_is_rejected(epsilon: Fraction) -> None:
    cases = list(extreme_cases(1, low=int(60 / epsilon), **WORST))
    for twin in (broken.query_noise_halved(epsilon), broken.threshold_without_noise(epsilon)):
        with pytest.raises(AssertionError):
            check_pure(twin.chance, epsilon, cases, tight=False)
    twice = Scales.of(watch(epsilon / 2)).chance  # too much noise is not the theorem either
    with pytest.raises(AssertionError):
        check_pure(twice, epsilon, cases, tight=True)
    assert mp.almosteq(worst_ratio(broken.query_noise_halved(epsilon).chance, cases)[0], real(epsilon * 3 / 2), 1e-6)


def test_the_code_is_the_pseudo_code(monkeypatch: pytest.MonkeyPatch) -> None:
    check_code(watch(threshold=7), monkeypatch, cutoff=1, redraw=True)


def first_hits(make: Callable[[], dp.AboveThreshold], values: np.ndarray, *, many: bool) -> Callable[[int], np.ndarray]:
    """The place of the first hit, of so many watches; the number of values where there is none."""

    def place(one: dp.AboveThreshold) -> int:
        if many:
            answers = one.ask_many(values)
            return int(answers.size) - 1 if answers[-1] else int(answers.size)
        return next((i for i, value in enumerate(values.tolist()) if one.ask(value)), values.size)

    return lambda n: np.array([place(make()) for _ in range(n)])


def test_the_first_hit_falls_where_it_should() -> None:
    """One by one and many at once, with the samplers that are really drawn from."""
    values = np.array([-3, 0, -1, 2, 5])
    law = Scales.of(watch()).chance
    hit = [(tuple(values[: i + 1].tolist()), (False,) * i + (True,)) for i in range(values.size)]
    never = (tuple(values.tolist()), (False,) * values.size)
    chances = [float(law(*case, 0)[0]) for case in (*hit, never)]
    check = chi_square(lambda draws: draws, chances, sized(8_000, 200_000))
    wrong: dict[str, Callable[[int], np.ndarray]] = {
        "noise too small": first_hits(lambda: watch(F(4, 3)), values, many=True),
        "a threshold one higher": first_hits(lambda: watch(threshold=1), values, many=True),
    }
    check.run(first_hits(watch, values, many=True), wrong=wrong)
    check.run(first_hits(watch, values, many=False), wrong=wrong)


def closed_alpha(epsilon: Fraction, questions: int, beta: Fraction) -> object:
    return 8 * (mp.log(questions) + mp.log(2 / real(beta))) / real(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("questions", [1, 10, 10**5])
@pytest.mark.parametrize("beta", [F(1, 2), F(1, 20), F(1, 10**9)])
def test_accuracy_is_that_of_the_theorem(epsilon: Fraction, questions: int, beta: Fraction) -> None:
    """Each half is the least that bounds the noise in the law drawn, and at most the theorem's rounded up to steps."""
    alpha = watch(epsilon).accuracy(failure_probability=beta, questions=questions)
    half, scale = int(alpha / 2), 4 / real(epsilon)
    assert alpha == 2 * half <= 2 * mp.ceil(closed_alpha(epsilon, questions, beta) / 2)

    def beyond(steps: int) -> object:
        q = mp.exp(-1 / scale)
        return 1 - (1 - 2 * q ** (steps + 1) / (1 + q)) ** questions

    assert beyond(half) <= real(beta / 2) * (1 + mp.mpf(10) ** -20)
    assert half == 0 or beyond(half - 1) > real(beta / 2)


def test_accuracy_holds_and_says_something() -> None:
    """For any stream of so many values of which none but the last is as high as T - alpha: the failure rate is below
    beta at alpha, and above it at a third of alpha."""
    beta, questions, n = F(1, 5), 500, sized(1_500, 40_000)
    alpha = watch().accuracy(failure_probability=beta, questions=questions)
    failures = accuracy_failures(watch, alpha, questions=questions, cutoff=1, n=n)
    assert failures <= n * beta
    assert accuracy_failures(watch, alpha / 3, questions=questions, cutoff=1, n=n) > n * beta


@pytest.mark.parametrize("step", [F(1), F(1, 4)])
def test_the_watch_of_an_accuracy(step: Fraction) -> None:
    wanted = {"failure_probability": F(1, 20), "questions": 1000}
    made = dp.AboveThreshold.for_accuracy(alpha=40, threshold=0, sensitivity=ONE, step=step, **wanted)
    assert made.accuracy(**wanted) <= 40
    less = dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=made.epsilon * (1 - F(1, 2**28)), step=step)
    assert less.accuracy(**wanted) > 40


def test_real_values_are_compared_on_a_public_grid() -> None:
    made = dp.AboveThreshold(threshold=0.3, sensitivity=ONE, epsilon=30, step=0.25)
    assert made.step == F(1, 4)
    assert made.accuracy(failure_probability=F(1, 20), questions=1) >= F(1, 8)  # half a step of snapping
    assert not made.ask(-3.5)
    assert made.ask_many([-5.25, 4.0, 9.5]).tolist() == [False, True]


def test_refusals() -> None:
    for wrong in ({"epsilon": 0}, {"epsilon": float("nan")}, {"epsilon": 1, "step": 0}, {"epsilon": 10**6}):
        with pytest.raises(InvalidParameter):
            dp.AboveThreshold(threshold=0, sensitivity=ONE, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        dp.AboveThreshold(threshold=0, sensitivity=1, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        dp.AboveThreshold(threshold=0, sensitivity=ONE)  # type: ignore[call-arg]
    for asked in ({"failure_probability": F(1, 10**30)}, {"failure_probability": F(1, 20), "step": 4}):
        with pytest.raises(InvalidParameter):
            dp.AboveThreshold.for_accuracy(alpha=F(1, 2), questions=1, threshold=0, sensitivity=ONE, **asked)
