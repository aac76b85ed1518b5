"""Sparse and NumericSparse: exact laws, losses in every currency, accuracy, and that the code draws those laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.broken import sparse_vectors as broken
from tests.closed_forms import mp
from tests.noise_laws import laplace_mass, real
from tests.sizes import sized
from tests.statistics import chi_square
from tests.streams import Scales, accuracy_failures, check_pure, extreme_runs, small_cases
from tests.tapes import check_code

F = Fraction
ADD = dp.Neighbours.ADD_REMOVE
ONE = dp.Sensitivity.counting(neighbours=ADD)
DELTA = F(1, 10**6)
UNIT = F(1)


def sparse(
    cutoff: int, epsilon: Fraction = UNIT, delta: Fraction | int = 0, kind: type[dp.Sparse] = dp.Sparse
) -> dp.Sparse:
    return kind(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=epsilon, delta=delta)


def numeric(
    cutoff: int, epsilon: Fraction = UNIT, delta: Fraction | int = 0, split: dp.Split | None = None
) -> dp.NumericSparse:
    return dp.NumericSparse(threshold=0, cutoff=cutoff, sensitivity=ONE, epsilon=epsilon, delta=delta, split=split)


def close(scale: Fraction, closed: object) -> bool:
    return bool(mp.almosteq(real(scale), closed, mp.mpf(10) ** -15))


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1, 2), F(1)])
@pytest.mark.parametrize("cutoff", [1, 3, 100])
def test_the_noise_is_that_of_the_notes(epsilon: Fraction, cutoff: int) -> None:
    """sigma = 2 c / epsilon, or sqrt(32 c ln(1 / delta)) / epsilon; the values have twice that."""
    pure, other = Scales.of(sparse(cutoff, epsilon)), Scales.of(sparse(cutoff, epsilon, DELTA))
    assert pure == Scales(2 * cutoff / epsilon, 4 * cutoff / epsilon, redraw=True)
    sigma = mp.sqrt(32 * cutoff * mp.log(1 / real(DELTA))) / real(epsilon)
    assert close(other.threshold, sigma)
    assert other.query == 2 * other.threshold


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1, 2), F(1)])
@pytest.mark.parametrize("cutoff", [1, 3, 100])
def test_the_noise_of_the_numeric_version_is_that_of_the_notes(epsilon: Fraction, cutoff: int) -> None:
    """epsilon1 and epsilon2 are 8/9 and 2/9 of epsilon, or sqrt(512) and 2 parts of sqrt(512) + 1."""
    e, c = real(epsilon), cutoff
    pure, root = Scales.of(numeric(cutoff, epsilon)), Scales.of(numeric(cutoff, epsilon, DELTA))
    ninths = Scales.of(numeric(cutoff, epsilon, DELTA, dp.Split.NINTHS))
    wide = mp.sqrt(32 * c * mp.log(2 / real(DELTA)))
    one, two = mp.sqrt(512) / (mp.sqrt(512) + 1) * e, 2 / (mp.sqrt(512) + 1) * e
    assert (pure.threshold, pure.query, pure.value) == (F(9, 4) * c / epsilon, F(9, 2) * c / epsilon, 9 * c / epsilon)
    for scales, first, second in ((root, one, two), (ninths, e * 8 / 9, e * 2 / 9)):
        assert close(scales.threshold, wide / first)
        assert close(scales.query, 2 * wide / first)
        assert close(scales.value, wide / second)


@pytest.mark.parametrize("delta", [F(0), DELTA])
@pytest.mark.parametrize("split", list(dp.Split))
def test_the_noise_doubles_when_epsilon_halves_and_the_parts_add_up(delta: Fraction, split: dp.Split) -> None:
    """O9: what is printed for the second part has no epsilon in it, and its noise would not change."""
    whole, half = Scales.of(numeric(5, F(1), delta, split)), Scales.of(numeric(5, F(1, 2), delta, split))
    for one, other in ((whole.threshold, half.threshold), (whole.query, half.query), (whole.value, half.value)):
        assert other == 2 * one
    first, second = split.tests, 2 * (1 - split.tests)
    assert first + second / 2 == 1
    printed = 2 / (mp.sqrt(512) + 1)  # the same for every epsilon
    assert not close(half.value, mp.sqrt(32 * 5 * mp.log(2 / real(DELTA))) / printed)


def test_the_worst_log_ratio_is_epsilon() -> None:
    """(epsilon, delta)-DP, however many values are asked and however they are chosen: for delta = 0, by exact sums."""
    for cutoff in (1, 3):
        law = Scales.of(sparse(cutoff)).chance
        check_pure(law, F(1), extreme_runs(cutoff, misses=30, low=220), tight=True)
    check_pure(Scales.of(sparse(2)).chance, F(1), small_cases(2, 2), tight=False)


def test_the_worst_log_ratio_with_values_is_epsilon() -> None:
    law = Scales.of(numeric(2)).chance
    cases = []
    for one, other, answers, threshold in extreme_runs(2, misses=30, low=220):
        told = tuple(answer and max(value, moved) + 1 for answer, value, moved in zip(answers, one, other, strict=True))
        cases.append((one, other, told, threshold))
    check_pure(law, F(1), cases, tight=True)
    half = Scales.of(numeric(2, F(1, 2)))
    printed = Scales(half.threshold, half.query, redraw=True, value=half.value / 2)  # the noise of epsilon = 1
    with pytest.raises(AssertionError):
        check_pure(printed.chance, F(1, 2), cases, tight=False)


def test_wrong_noise_is_rejected() -> None:
    cases = list(extreme_runs(3, misses=30, low=220))
    for twin in (broken.not_shared(F(1)), Scales(F(6), F(6), redraw=True), Scales(None, F(12), redraw=True)):
        with pytest.raises(AssertionError):
            check_pure(twin.chance, F(1), cases, tight=False)
    more = list(extreme_runs(4, misses=30, low=220))  # a hit too many
    with pytest.raises(AssertionError):
        check_pure(Scales.of(sparse(3)).chance, F(1), more, tight=False)


@pytest.mark.parametrize("make", [sparse, numeric])
@pytest.mark.parametrize("cutoff", [1, 10, 300])
def test_the_loss_meets_epsilon_and_delta_in_every_currency(make: Callable[..., dp.Sparse], cutoff: int) -> None:
    pure = make(cutoff, F(1, 2)).loss
    assert pure.epsilon(delta=0) == 0.5
    watch = make(cutoff, F(1), DELTA)
    assert watch.loss.delta(epsilon=1) <= DELTA
    assert watch.loss.epsilon(delta=DELTA) <= 1
    runs = [watch.epsilon_of_run] * cutoff + [getattr(watch, "epsilon_of_value", F(0))] * cutoff
    assert watch.loss.epsilon(delta=0) >= float(sum(runs))
    assert watch.loss.rho_bound() == sum(e**2 / 2 for e in runs)
    assert dp.PrivacyFilter(dp.Budget(epsilon=1, delta=1e-6)).admit(watch.loss)
    assert not dp.PrivacyFilter(dp.Budget(epsilon=F(1, 10), delta=1e-6)).admit(watch.loss) or cutoff == 0


def test_the_code_is_the_pseudo_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The c-th hit is answered, then it halts; the threshold is redrawn after each hit, and only then."""
    check_code(sparse(2), monkeypatch, cutoff=2, redraw=True, count=3)
    check_code(sparse(1), monkeypatch, cutoff=1, redraw=True)
    check_code(numeric(2), monkeypatch, cutoff=2, redraw=True, answer="value", count=3, chunks=[(1, 2), (8, 4)])


@pytest.mark.parametrize(
    "twin", [broken.ThresholdKept, broken.OneHitMore, broken.OneHitLess, broken.RedrawnOnEveryMiss]
)
def test_wrong_code_is_rejected(twin: type[dp.Sparse], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        check_code(sparse(2, kind=twin), monkeypatch, cutoff=2, redraw=True, count=3)


def test_a_value_gets_noise_that_was_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = broken.ComparedNoiseTold(threshold=0, cutoff=2, sensitivity=ONE, epsilon=1, delta=0)
    with pytest.raises(AssertionError):
        check_code(twin, monkeypatch, cutoff=2, redraw=True, answer="value", count=3, chunks=[])


def test_a_value_that_is_told_has_its_law() -> None:
    watch = numeric(1, F(18))  # Lap(1/2)
    scale = Scales.of(watch).value
    assert scale == F(1, 2)

    def told(kind: Callable[[], dp.NumericSparse], *, many: bool) -> Callable[[int], np.ndarray]:
        one = (lambda w: w.ask_many([50])[0]) if many else (lambda w: w.ask(50))
        return lambda n: np.array([one(kind()) for _ in range(n)])

    inner = [float(laplace_mass(scale, k)) for k in (-1, 0, 1)]
    cell = lambda draws: np.where(abs(draws - 50) > 1, 3, draws - 49)  # noqa: E731
    check = chi_square(cell, [*inner, 1 - sum(inner)], sized(6_000, 100_000))
    wrong = {
        "half the noise": told(lambda: numeric(1, F(27)), many=True),
        "of the test": told(lambda: compared(), many=False),
    }
    check.run(told(lambda: numeric(1, F(18)), many=False), wrong=wrong)
    check.run(told(lambda: numeric(1, F(18)), many=True), wrong=wrong)


def compared() -> dp.NumericSparse:
    return broken.ComparedNoiseTold(threshold=0, cutoff=1, sensitivity=ONE, epsilon=72, delta=0)


@pytest.mark.parametrize(("cutoff", "delta"), [(1, F(0)), (7, F(0)), (7, DELTA)])
@pytest.mark.parametrize("beta", [F(1, 5), F(1, 10**6)])
def test_accuracy_is_that_of_the_theorems(cutoff: int, delta: Fraction, beta: Fraction) -> None:
    """Theorem 3.26 for Sparse; Theorem 10 of S3 for NumericSparse, with the epsilon that its proof leaves out."""
    k, c, b = 1000, cutoff, real(beta)
    wide = mp.sqrt(8 * c * mp.log(1 / real(delta))) if delta else mp.mpf(c)
    closed = 8 * (mp.log(k) + mp.log(2 * c / b)) * wide
    check_alpha(sparse(cutoff, F(1), delta).accuracy(failure_probability=beta, questions=k), closed, steps=2)
    wide = mp.sqrt(8 * c * mp.log(2 / real(delta))) if delta else mp.mpf(c)
    first, second = 9 * (mp.log(k) + mp.log(4 * c / b)) * wide, 9 * mp.log(2 * c / b) * wide
    ninths = numeric(cutoff, F(1), delta, dp.Split.NINTHS)
    check_alpha(ninths.accuracy(failure_probability=beta, questions=k), max(first, second), steps=2)
    few, many = (ninths.accuracy(failure_probability=beta, questions=q) for q in (1, 10**9))
    assert few < many
    root = numeric(cutoff, F(1), DELTA).accuracy(failure_probability=beta, questions=1)
    spread = (mp.sqrt(512) + 1) * mp.sqrt(8 * c * mp.log(2 / real(DELTA)))
    check_alpha(root, max(8 * mp.log(4 * c / b) * spread / mp.sqrt(512), mp.log(2 * c / b) * spread), steps=2)


def check_alpha(alpha: Fraction, closed: object, *, steps: int) -> None:
    """At most the theorem's, rounded up; and no less than it by more than the discrete law explains."""
    assert real(alpha) <= closed + steps
    assert real(alpha) >= closed * (1 - mp.mpf(1) / 50) - steps


def test_accuracy_halves_when_epsilon_doubles() -> None:
    """E3.2: printed without its epsilon, the error of a value does not change."""
    one, two = (numeric(5, e).accuracy(failure_probability=F(1, 20), questions=1) for e in (F(1, 10), F(1, 5)))
    assert abs(one - 2 * two) <= 4


@pytest.mark.parametrize("make", [sparse, numeric])
def test_accuracy_holds_and_says_something(make: Callable[..., dp.Sparse]) -> None:
    """For any stream of so many values of which fewer than c before the last are as high as T - alpha."""
    beta, questions, n = F(1, 5), 300, sized(600, 20_000)
    alpha = make(3).accuracy(failure_probability=beta, questions=questions)
    failures = accuracy_failures(lambda: make(3), alpha, questions=questions, cutoff=3, n=n)
    assert failures <= n * beta
    assert accuracy_failures(lambda: make(3), alpha / 3, questions=questions, cutoff=3, n=n) > n * beta


def test_values_are_within_alpha() -> None:
    n, beta = sized(2_000, 50_000), F(1, 5)
    alpha = numeric(1).accuracy(failure_probability=beta, questions=1)
    wrong = sum(abs(numeric(1).ask(1000) - 1000) > alpha for _ in range(n))
    assert wrong <= n * beta


@pytest.mark.parametrize("delta", [F(0), DELTA])
def test_the_watch_of_an_accuracy(delta: Fraction) -> None:
    wanted = {"failure_probability": F(1, 20), "questions": 1000}
    fixed = {"threshold": 0, "cutoff": 4, "sensitivity": ONE, "delta": delta}
    for kind in (dp.Sparse, dp.NumericSparse):
        made = kind.for_accuracy(alpha=1000, **wanted, **fixed)
        assert made.accuracy(**wanted) <= 1000
        assert kind(epsilon=made.epsilon * (1 - F(1, 2**28)), **fixed).accuracy(**wanted) > 1000


def test_real_values_come_back_on_the_grid() -> None:
    watch = dp.NumericSparse(threshold=10, cutoff=2, sensitivity=ONE, epsilon=40, delta=0, step=0.25)
    told = watch.ask(20.3)
    assert told is not None
    assert told * 4 == int(told * 4)
    assert watch.ask_many([0.5, 30.25, 1.0])[0] is None


def test_the_condition_of_advanced_composition_is_kept() -> None:
    """Where it fails, the corollary is false: (50, 0.01) for 4,000 hits."""
    for kind in (dp.Sparse, dp.NumericSparse):
        with pytest.raises(InvalidParameter):
            kind(threshold=0, cutoff=4000, sensitivity=ONE, epsilon=50, delta=F(1, 100))


def test_refusals() -> None:
    for kind in (dp.Sparse, dp.NumericSparse):
        for wrong in ({"cutoff": 0}, {"delta": 1}, {"delta": -1}, {"epsilon": 0}, {"cutoff": 1.5}):
            with pytest.raises(InvalidParameter):
                kind(**{"threshold": 0, "cutoff": 2, "sensitivity": ONE, "epsilon": 1, "delta": 0, **wrong})
        with pytest.raises(TypeError):
            kind(threshold=0, cutoff=2, sensitivity=ONE, epsilon=1)
    with pytest.raises(InvalidParameter):
        numeric(2, split="root")  # type: ignore[arg-type]
