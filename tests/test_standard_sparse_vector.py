"""SparseVector, the standard one: exact laws of answers and gaps, both families, accuracy, and the code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.standard_sparse_vector import _scales
from discreet.errors import InvalidParameter
from tests.broken import sparse_vectors as broken
from tests.closed_forms import mp
from tests.noise_laws import real
from tests.sizes import sized
from tests.statistics import chi_square
from tests.streams import Scales, accuracy_failures, check_pure, extreme_cases, small_cases
from tests.tapes import check_code

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.counting(neighbours=ADD)
GENERAL, MONOTONE = dp.Family.GENERAL, dp.Family.MONOTONE
UNIT = F(1)


def watch(
    cutoff: int = 1,
    epsilon: Fraction = UNIT,
    family: dp.Family = GENERAL,
    *,
    gap: bool = False,
    kind: type[dp.SparseVector] = dp.SparseVector,
    threshold: int = 0,
) -> dp.SparseVector:
    return kind(threshold=threshold, cutoff=cutoff, sensitivity=ONE, epsilon=epsilon, family=family, gap=gap)


@pytest.mark.parametrize("cutoff", [1, 2, 50])
@pytest.mark.parametrize("family", list(dp.Family))
def test_epsilon_is_split_so_that_the_noise_compared_is_least(cutoff: int, family: dp.Family) -> None:
    """1 : (2 c)^(2/3), or 1 : c^(2/3); no other split has a smaller variance of the difference."""
    moves = 2 * cutoff if family is GENERAL else cutoff
    scales = Scales.of(watch(cutoff, F(3), family))
    first, second = 1 / scales.threshold, moves / scales.query
    assert first + second == 3
    assert mp.almosteq(real(second / first), mp.mpf(moves) ** (mp.mpf(2) / 3), 1e-15)

    def variance(share: Fraction) -> Fraction:
        return 1 / share**2 + (moves / (3 - share)) ** 2

    assert all(variance(first) < variance(first * factor) for factor in (F(9, 10), F(99, 100), F(101, 100), F(11, 10)))


@pytest.mark.parametrize("cutoff", [1, 3])
@pytest.mark.parametrize("epsilon", [F(1, 2), F(2)])
def test_the_worst_log_ratio_is_epsilon(cutoff: int, epsilon: Fraction) -> None:
    """epsilon-DP, however many values and thresholds are asked and however they are chosen, gaps included, and
    tight."""
    general, monotone = (Scales.of(watch(cutoff, epsilon, family)).chance for family in (GENERAL, MONOTONE))
    worst = {"misses": (30,), "thresholds": (0, 9), "low": int(100 * cutoff / epsilon)}
    check_pure(general, epsilon, extreme_cases(cutoff, **worst), tight=True)
    check_pure(monotone, epsilon, extreme_cases(cutoff, together=True, **worst), tight=True)
    with pytest.raises(AssertionError):  # an obligation that does not hold
        check_pure(monotone, epsilon, extreme_cases(cutoff, **worst), tight=False)


def test_small_values_never_cost_more() -> None:
    check_pure(Scales.of(watch(2)).chance, F(1), small_cases(2, 2), tight=False)
    check_pure(Scales.of(watch(1, family=MONOTONE)).chance, F(1), small_cases(2, 1, together=True), tight=False)


def test_the_gap_is_free() -> None:
    """The log ratio of misses and gaps is at most epsilon too, and reaches it."""
    law = Scales.of(watch(2, gap=True)).chance
    cases = [
        ((0,) * misses + (a, b), (1,) * misses + (a - 1, b - 1), (False,) * misses + told, 0)
        for misses, a, b, told in itertools.product((0, 30), (-9, 4), (0, 2), ((0, 0), (3, 1), (40, 17)))
    ]
    check_pure(law, F(1), cases, tight=True)
    told_as_values = [(one, other, (*answers[:-2], 40, 0), threshold) for one, other, answers, threshold in cases]
    with pytest.raises(AssertionError):  # what was compared is not free
        check_pure(broken.compared_value_told(watch(2)).chance, F(1), told_as_values, tight=False)


def test_it_needs_less_noise_than_the_reference() -> None:
    """The standard deviation that is compared: nearly that of Sparse for one hit, less than half of it for 100."""
    ratios = []
    for cutoff in (1, 100):
        ours = Scales.of(watch(cutoff))
        theirs = Scales.of(dp.Sparse(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=1, delta=0))
        ratios.append(float((ours.threshold**2 + ours.query**2) / (theirs.threshold**2 + theirs.query**2)) ** 0.5)
    assert 0.9 < ratios[0] < 1
    assert ratios[1] < 0.5


def test_the_code_is_the_pseudo_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold is drawn once; gaps are what was compared, less the noisy threshold."""
    check_code(watch(2, threshold=7), monkeypatch, cutoff=2, redraw=False)
    check_code(watch(2, threshold=-3, gap=True), monkeypatch, cutoff=2, redraw=False, answer="gap", count=3)


TWINS = [
    *(broken.StrictlyAbove, broken.OneNoiseForAll, broken.NoiseUsedAgain, broken.NoiseOfHitKept, broken.HighestOfChunk),
]


@pytest.mark.parametrize("twin", TWINS)
def test_wrong_code_is_rejected(twin: type[dp.SparseVector], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        check_code(watch(2, kind=twin), monkeypatch, cutoff=2, redraw=False)


def test_a_gap_that_forgets_the_threshold_noise_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = watch(2, kind=broken.GapWithoutThresholdNoise, gap=True)
    with pytest.raises(AssertionError):
        check_code(twin, monkeypatch, cutoff=2, redraw=False, answer="gap", count=3, chunks=[])


def hits(make: Callable[[], dp.SparseVector], values: np.ndarray, *, many: bool) -> Callable[[int], np.ndarray]:
    """The answers of so many watches, each as the number whose binary digits they are."""

    def code(one: dp.SparseVector) -> int:
        answers: list[object] = []
        while len(answers) < values.size and not one.halted:
            answers += list(one.ask_many(values, start=len(answers))) if many else [one.ask(int(values[len(answers)]))]
        return sum(1 << place for place, answer in enumerate(answers) if answer)

    return lambda n: np.array([code(make()) for _ in range(n)])


def test_answers_have_their_law() -> None:
    """With the samplers that are really drawn from: one threshold for both hits."""
    values, law = np.array([0, 3, -2]), Scales.of(watch(2)).chance
    chances = []
    for number in range(8):
        answers = tuple(bool(number >> place & 1) for place in range(3))
        shown = answers[: max(place for place in range(3) if answers[place]) + 1] if sum(answers) == 2 else answers
        chances.append(float(law(tuple(values[: len(shown)]), shown, 0)[0]) if sum(answers) < 3 else 0.0)
    check = chi_square(lambda draws: draws, chances[:7], sized(6_000, 200_000))
    sparse = lambda: dp.Sparse(threshold=0, cutoff=2, sensitivity=ONE, epsilon=1, delta=0)  # noqa: E731
    wrong = {
        "a threshold for each hit": hits(sparse, values, many=True),  # type: ignore[arg-type]
        "less noise": hits(lambda: watch(2, F(3, 2)), values, many=True),
    }
    check.run(hits(lambda: watch(2), values, many=True), wrong=wrong)
    check.run(hits(lambda: watch(2), values, many=False), wrong=wrong)


def test_a_question_may_have_a_threshold_of_its_own() -> None:
    sure = watch(9, F(60))
    assert [bool(sure.ask(50, threshold=t)) for t in (0, 100, F(403, 4))] == [True, False, False]
    assert sure.ask_many([50, 50, 50], thresholds=[100, 0, 0]).tolist() == [False, True]
    assert sure.ask_many(np.full(3, 50), thresholds=np.array([90.5, 100.5, 10.25])).tolist() == [False, False, True]
    with pytest.raises(InvalidParameter):
        sure.ask_many([1, 2], thresholds=[1])


@pytest.mark.parametrize("family", list(dp.Family))
@pytest.mark.parametrize("beta", [F(1, 5), F(1, 10**6)])
@pytest.mark.parametrize("questions", [1, 10**4])
def test_accuracy_is_the_sum_of_two_tails(family: dp.Family, beta: Fraction, questions: int) -> None:
    """(D / e1) ln(2 / beta) + (2 c D / e2) ln(2 k / beta), each rounded up to steps, and no less than the law asks."""
    made = watch(5, F(1, 2), family)
    scales, b = Scales.of(made), real(beta)
    closed = [real(scales.threshold) * mp.log(2 / b), real(scales.query) * mp.log(2 * questions / b)]
    alpha = made.accuracy(failure_probability=beta, questions=questions)
    assert alpha <= sum(mp.ceil(part) for part in closed)
    assert alpha >= sum(closed) * mp.mpf("0.97") - 2


@pytest.mark.parametrize("cutoff", [1, 4])
def test_accuracy_holds_and_says_something(cutoff: int) -> None:
    beta, questions, n = F(1, 5), 300, sized(800, 20_000)
    alpha = watch(cutoff).accuracy(failure_probability=beta, questions=questions)
    failures = accuracy_failures(lambda: watch(cutoff), alpha, questions=questions, cutoff=cutoff, n=n)
    assert failures <= n * beta
    assert accuracy_failures(lambda: watch(cutoff), alpha / 2, questions=questions, cutoff=cutoff, n=n) > n * beta


@pytest.mark.parametrize("family", list(dp.Family))
def test_the_watch_of_an_accuracy(family: dp.Family) -> None:
    wanted = {"failure_probability": F(1, 20), "questions": 1000}
    fixed = {"threshold": 0, "cutoff": 4, "sensitivity": ONE, "family": family}
    made = dp.SparseVector.for_accuracy(alpha=200, **wanted, **fixed)
    assert made.accuracy(**wanted) <= 200
    assert dp.SparseVector(epsilon=made.epsilon * (1 - F(1, 2**28)), **fixed).accuracy(**wanted) > 200


def test_shares_add_up_for_every_cutoff() -> None:
    for cutoff, family in itertools.product((1, 2, 7, 1000, 10**6), dp.Family):
        first, second = _scales(F(1), F(1, 3), cutoff, family)
        assert 1 / first + (2 * cutoff if family is GENERAL else cutoff) / second == F(1, 3)


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="no family is monotone"):
        dp.SparseVector(
            threshold=0, cutoff=1, sensitivity=dp.Sensitivity.counting(neighbours=REPLACE), epsilon=1, family=MONOTONE
        )
    for wrong in ({"family": True}, {"epsilon": -1}, {"cutoff": 0}, {"threshold": float("inf")}):
        with pytest.raises(InvalidParameter):
            dp.SparseVector(**{"threshold": 0, "cutoff": 2, "sensitivity": ONE, "epsilon": 1, **wrong})  # type: ignore[arg-type]
