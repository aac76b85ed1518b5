"""`worst_marginal` and `distances`: exact scores, how far a unit moves them, and the laws that follow."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import randomness
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.private import Exact
from discreet.dp.reals import precision
from discreet.errors import InvalidParameter
from discreet.release.distances import MeasuredDistances, steps_apart
from discreet.release.distinguisher import FINE
from discreet.release.marginals import Marginals
from discreet.release.worst_marginal import WorstMarginal
from tests.broken import measurements
from tests.broken import synthesis as broken
from tests.sizes import sized
from tests.statistics import share

SHAPE = (2, 3, 2)
CLIQUES = ((0, 1), (1, 2))
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
TABLE = np.random.default_rng(1).integers(0, 9, math.prod(SHAPE))
MODEL = Marginals(np.random.default_rng(2).random(math.prod(SHAPE)) * 8, SHAPE)
NOISE = Fraction(3, 2)


def of(neighbours: dp.Neighbours) -> WorstMarginal:
    return WorstMarginal.of(SHAPE, CLIQUES, dp.Sensitivity.histogram(neighbours=neighbours))


def neighbours_of(table: np.ndarray, relation: dp.Neighbours) -> list[np.ndarray]:
    unit = np.eye(len(table), dtype=np.int64)
    if relation is ADD:
        return [table + one for one in unit] + [table - one for one, n in zip(unit, table, strict=True) if n]
    return [table - a + b for (i, a), b in itertools.product(enumerate(unit), unit) if table[i] and (a != b).any()]


def test_a_score_is_the_weight_times_the_distance_beyond_noise() -> None:
    """The score w_C (|h_C - m_C|_1 - what noise would put there), over the cliques and their subsets"""
    choice = of(ADD)
    assert choice.weights == {(0,): 1, (1,): 2, (2,): 1, (0, 1): 3, (1, 2): 3}
    found = choice.scores(Marginals(TABLE, SHAPE), MODEL, NOISE)
    for (axes, weight), score in zip(choice.weights.items(), found, strict=True):
        apart = np.abs(Marginals(TABLE, SHAPE)(axes) - MODEL(axes))
        assert isinstance(score, int)
        assert abs(score / FINE - weight * (apart.sum() - 1.5 * apart.size)) <= weight * apart.size / FINE


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_unit_moves_every_score_by_at_most_what_the_choice_is_drawn_for(relation: dp.Neighbours) -> None:
    """every score by at most l1 times the greatest weight, exactly"""
    choice = of(relation)
    claimed = choice.mechanism(Fraction(1)).sensitivity.linf
    here = np.array(choice.scores(Marginals(TABLE, SHAPE), MODEL, NOISE), dtype=object)
    moves = [
        max(abs(np.array(choice.scores(Marginals(other, SHAPE), MODEL, NOISE), dtype=object) - here))
        for other in neighbours_of(TABLE, relation)
    ]
    assert max(moves) <= claimed
    assert max(moves) == claimed  # and no less would do
    assert max(moves) > broken.reach_without_weights(choice)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_law_of_a_choice_keeps_its_epsilon_and_its_range(relation: dp.Neighbours) -> None:
    """epsilon-DP and bounded-range for one choice, whatever the model is"""

    def spread(mechanism: dp.Exponential) -> float:
        worst = 0.0
        with precision(128):
            here = mechanism.law(choice.scores(Marginals(TABLE, SHAPE), MODEL, NOISE))
            for other in neighbours_of(TABLE, relation):
                there = mechanism.law(choice.scores(Marginals(other, SHAPE), MODEL, NOISE))
                ratios = [float((a / b).log().mid()) for a, b in zip(here, there, strict=True)]
                worst = max(worst, max(ratios) - min(ratios), *map(abs, ratios))
        return worst

    choice, epsilon = of(relation), Fraction(7, 10)
    assert spread(choice.mechanism(epsilon)) <= 0.7 + 1e-12
    assert spread(broken.choice_without_weights(choice, epsilon)) > 0.7 + 1e-3
    assert choice.loss(epsilon).renyi(Fraction(2)) <= 2 * epsilon**2 / 8


def test_the_marginal_that_is_wrong_is_chosen() -> None:
    flat = np.full(math.prod(SHAPE), 1000)
    wrong = flat.reshape(SHAPE).copy()
    wrong[0, 0] += 500
    wrong[1, 1] += 500
    wrong[0, 1] -= 500
    wrong[1, 0] -= 500
    choice, model = of(ADD), Marginals(flat.astype(float), SHAPE)
    table = Marginals(wrong.reshape(-1), SHAPE)
    for _ in range(20):
        found = choice.choose(table, model, noise=NOISE, epsilon=Fraction(1), stream=randomness.system())
        assert found == (0, 1)


def test_distances_are_centred_with_the_noise_and_the_loss_they_state() -> None:
    """mu^2 = k l1^2 / sigma^2 for k cliques"""
    s = dp.Sensitivity.histogram(neighbours=REPLACE)
    measured = MeasuredDistances.within(SHAPE, CLIQUES, s, mu_squared=Fraction(1, 50))
    assert isinstance(measured.loss, GaussianLoss)
    assert math.isclose(float(measured.loss.mu_squared), 1 / 50, rel_tol=1e-6)
    assert measured.loss.mu_squared <= Fraction(1, 50)
    assert measured.loss.mu_squared == 2 * 4 / measured.sigma**2
    truth = [np.abs(Marginals(TABLE, SHAPE)(axes) - MODEL(axes)).sum() for axes in CLIQUES]

    def right(n: int) -> np.ndarray:
        runs = [measured.release(TABLE, MODEL) for _ in range(n // 2)]
        return np.concatenate(
            [[(run[axes].value - t) / run[axes].sigma for axes, t in zip(CLIQUES, truth, strict=True)] for run in runs]
        )

    n = sized(4000, 40_000)
    inside = share(lambda draws: np.abs(draws) <= 1, math.erf(1 / math.sqrt(2)), n)
    inside.run(right, wrong={"for one clique": lambda n: right(n) / math.sqrt(2)})
    share(lambda draws: draws > 0, 0.5, n).run(right, wrong={"off by a fifth": lambda n: right(n) + 0.2})


def dearest(measured: MeasuredDistances, model: Marginals, relation: dp.Neighbours) -> Fraction:
    """mu^2 of the worst neighbour: how far it moves the distances to a model, in units of the noise."""

    def distances(table: np.ndarray) -> list[int]:
        return [steps_apart(Marginals(table, SHAPE)(axes), model(axes)) for axes in CLIQUES]

    here = distances(TABLE)
    moves = [zip(here, distances(other), strict=True) for other in neighbours_of(TABLE, relation)]
    return max(sum((a - b) ** 2 for a, b in move) / (measured.sigma * FINE) ** 2 for move in moves)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_unit_moves_distances_by_l1_each(relation: dp.Neighbours) -> None:
    """Guarantee: the loss is Gaussian with mu^2 = k l1^2 / sigma^2 for k cliques, whatever the model, which is released
    before.
    """
    s = dp.Sensitivity.histogram(neighbours=relation)
    measured = MeasuredDistances.within(SHAPE, CLIQUES, s, mu_squared=Fraction(1, 50))
    assert measured.loss == GaussianLoss(len(CLIQUES) * s.l1**2 / measured.sigma**2)
    source, nothing, exact = np.random.default_rng(3), Marginals(0.0 * TABLE, SHAPE), Marginals(1.0 * TABLE, SHAPE)
    random = [Marginals(source.random(TABLE.size) * 9, SHAPE) for _ in range(20)]
    for model in (nothing, *random):
        assert dearest(measured, model, relation) <= measured.loss.mu_squared
    assert dearest(measured, exact, relation) == measured.loss.mu_squared > measurements.loss_of_one_distance(measured)


def test_they_refuse_what_has_no_l1_and_what_is_private() -> None:
    with pytest.raises(InvalidParameter, match="l1"):
        WorstMarginal.of(SHAPE, CLIQUES, dp.Sensitivity(l2=1, neighbours=ADD))
    s = dp.Sensitivity.histogram(neighbours=ADD)
    measured = MeasuredDistances.within(SHAPE, CLIQUES, s, mu_squared=Fraction(1))
    with pytest.raises(InvalidParameter, match="private"):
        measured.release(Exact(TABLE, sensitivity=s, unit="row"), MODEL)  # type: ignore[arg-type]
