"""`unbounded`: errors beside those of the sample median and mean, on normal, skewed and heavy-tailed data."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from tests.sizes import sized
from tests.statistics import clopper_pearson

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
RELATIONS = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=["add", "replace"])
N = 20_000
LAWS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float, float]] = {
    "normal": (lambda g, n: g.normal(5, 1, n), 5.0, 5.0),
    "log-normal": (lambda g, n: g.lognormal(0, 1, n), 1.0, math.exp(0.5)),
    "student-3": (lambda g, n: g.standard_t(3, n), 0.0, 0.0),
    "pareto-2.5": (lambda g, n: 1 + g.pareto(2.5, n), 2**0.4, 5 / 3),
}


def asked(name: str, runs: int, ask: Callable[[np.ndarray], dp.Answer]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Private answers, and the median and the mean of the same samples; few answers are UNSTABLE, and left out."""
    source, rows = np.random.default_rng(7), []
    for _ in range(runs):
        sample = LAWS[name][0](source, N)
        answer = ask(sample)
        if answer is not dp.UNSTABLE:
            rows.append((float(answer), float(np.median(sample)), float(sample.mean())))
    assert len(rows) >= 0.9 * runs
    return tuple(np.array(column) for column in zip(*rows, strict=True))  # type: ignore[return-value]


def far_from_the_median(private: np.ndarray, medians: np.ndarray) -> tuple[float, float]:
    """The interval of the share of answers that are further from the sample median than that itself deviates."""
    far = int((np.abs(private - medians) > medians.std()).sum())
    return clopper_pearson(far, private.size, confidence=1 - 1e-6)


@RELATIONS
@pytest.mark.parametrize("name", LAWS)
def test_the_error_of_the_median(name: str, relation: dp.Neighbours) -> None:
    """n = 20,000, epsilon 1, delta 1e-6: privacy moves at most one answer in 20 by as much as the sampling does.

    Seen in 300 runs of each law: 1 to 2 of them, and a root mean square error of 1.01 to 1.04 times the sample
    median's.
    """
    ask = lambda x: dp.private_median_unbounded(x, neighbours=relation, epsilon=1, delta=1e-6, step="1e-5")  # noqa: E731
    private, medians, _ = asked(name, sized(60, 400), ask)
    assert far_from_the_median(private, medians)[0] <= 0.05


def test_a_public_proposal_costs_more() -> None:
    """Propose-test-release with a proposal that the test accepts: most answers are moved by more than sampling does."""
    tested = dp.ProposeTestRelease(
        neighbours=REPLACE, proposal=F(1, 50), epsilon=1, delta=1e-6, noise="laplace", step="1e-5"
    )

    def ask(x: np.ndarray) -> dp.Answer:
        return dp.private_median_unbounded(x, neighbours=REPLACE, epsilon=1, delta=1e-6, step="1e-5", proposal=F(1, 50))

    private, medians, _ = asked("normal", sized(60, 400), ask)
    assert np.abs(private - medians).max() <= tested.accuracy(failure_probability=F(1, 10**8))
    assert far_from_the_median(private, medians)[0] > 0.05


@pytest.mark.parametrize("name", LAWS)
def test_the_error_of_the_mean(name: str) -> None:
    """n = 20,000, epsilon 1, delta 1e-6, blocks of 20: typical errors beside those of the sample mean, and the skew.

    Seen in 300 runs, median absolute error over that of the sample mean: normal 1.6, Student 1.5; log-normal 8, Pareto
    10, all of it the bias of skewed blocks, at most skewness * deviation / (6 m); at n = 200,000, both 5 (60 runs).
    """
    draw, _, truth = LAWS[name]
    ask = lambda x: dp.private_mean_unbounded(x, neighbours=ADD, epsilon=1, delta=1e-6, step="1e-5")  # noqa: E731
    private, _, means = asked(name, sized(60, 400), ask)
    typical, own = np.median(np.abs(private - truth)), np.median(np.abs(means - truth))
    if name in ("normal", "student-3"):
        assert typical <= 4 * own
    else:
        sample = draw(np.random.default_rng(9), 400_000)
        blocks = np.median(sample.reshape(-1, 20).mean(axis=1)) - truth
        assert abs(np.median(private - truth) - blocks) <= 3 * own  # the median of such block means, without privacy


def test_no_range_is_needed() -> None:
    """The same data a billion away, and a million times as wide, give the same error in its own scale."""
    source = np.random.default_rng(8)
    for shift, spread in ((0.0, 1e-2), (1e9, 1.0), (-1e12, 1e6)):
        data = shift + spread * source.normal(0, 1, 5000)
        answers = [
            dp.private_median_unbounded(data, neighbours=ADD, epsilon=1, delta=1e-6, step="1e-5") for _ in range(20)
        ]
        near_it = [a for a in answers if a is not dp.UNSTABLE and abs(a - shift) < 0.3 * spread]
        assert len(near_it) >= 17
