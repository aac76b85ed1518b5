"""Distinguishers: the law of the choice, its slack and its loss, and scores that are exact."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.randomness import system
from discreet.errors import InvalidParameter
from discreet.release.database_update import Cells
from discreet.release.distinguisher import FINE
from tests.broken import constructions as broken
from tests.closed_forms import mp, mpf
from tests.construction_adversary import SMALL, subsets, table, true_answer
from tests.noise_laws import real
from tests.selecting import check_pure, first_head, softmax
from tests.sizes import sized
from tests.statistics import chi_square

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.histogram(neighbours=ADD)
KINDS = [release.ExponentialDistinguisher, release.NoisyMaxDistinguisher, release.PermuteAndFlipDistinguisher]
EIGHT = subsets(SMALL, 8, seed=2)


def some_model(seed: int, rows: float = 50) -> Cells:
    return Cells(np.random.default_rng(seed).dirichlet(np.ones(8)) * rows, SMALL.shape)


def neighbours(histogram: np.ndarray, relation: dp.Neighbours) -> list[np.ndarray]:
    """Every table that one row makes of this one."""
    held, found = np.flatnonzero(histogram), []
    steps = np.eye(8, dtype=np.int64)
    if relation is ADD:
        found = [histogram + steps[x] for x in range(8)] + [histogram - steps[x] for x in held]
    else:
        found = [histogram - steps[x] + steps[y] for x in held for y in range(8) if x != y]
    return found


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("scale", [1, 3])
def test_scores_are_exact_and_move_by_at_most_their_sensitivity(relation: dp.Neighbours, scale: int) -> None:
    """A unit of `scale` rows; in whole steps of 2^-10 of the least step of an answer."""
    one = dp.Sensitivity.histogram(neighbours=relation)
    sensitivity = dp.Sensitivity(l1=one.l1 * scale, l2=one.l2 * scale, linf=scale, neighbours=relation)
    distinguisher = release.ExponentialDistinguisher(EIGHT, sensitivity=sensitivity)
    unit, greatest = EIGHT.scale * FINE, 0
    for seed in range(sized(3, 40)):
        histogram, model = table(SMALL, 50, seed) * scale, some_model(seed)
        scores = distinguisher._scores(distinguisher.truth(histogram), model)
        for query, score in zip(EIGHT, scores.tolist(), strict=True):
            assert abs(F(score, unit) - abs(true_answer(query, histogram) - F(model.answer(query)))) <= F(1, 2 * unit)
        for other in neighbours(histogram // scale, relation):
            moved = np.abs(distinguisher._scores(distinguisher.truth(other * scale), model) - scores).max()
            greatest = max(greatest, int(moved))
    assert greatest == scale * unit


def test_scores_in_floats_move_further_than_they_may() -> None:
    """|Q(D) - Q(S)| in floats: where counts are 2^53 and the model says 0.5, one row moves it by two or by none."""
    marginal = release.Workload([release.marginal(SMALL, "one", "two")])
    distinguisher = release.ExponentialDistinguisher(marginal, sensitivity=ONE)
    one, two = (np.full(8, 2**53 + extra, np.int64) for extra in (0, 1))
    three = np.full(8, 2**53 + 2, np.int64)
    model = Cells(np.full(8, 0.5), SMALL.shape)
    steps = [distinguisher._scores(distinguisher.truth(h), model)[0] for h in (one, two, three)]
    assert [int(b) - int(a) for a, b in itertools.pairwise(steps)] == [FINE, FINE]
    floats = [broken.scores_in_floats(marginal, h, model)[0] for h in (one, two, three)]
    assert [b - a for a, b in itertools.pairwise(floats)] in ([0, 2], [2, 0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_law_of_a_choice_on_every_neighbour(kind: type[Any], relation: dp.Neighbours) -> None:
    """`loss(epsilon)` for one choice, whatever the model S is; with probability 1 - gamma the query chosen is wrong by
    at least the greatest error less `slack(epsilon, gamma)`, in counts. epsilon-DP and bounded-range for one choice; F
    = (2 D / epsilon) ln(|C| / gamma) counts, and a step of 2^-10 for rounding. the law, loss and F of
    `ExponentialDistinguisher`. epsilon-DP, and NOT bounded-range: epsilon^2 / 2 in zCDP, four times the exponential
    mechanism's."""
    workload = subsets(SMALL, 4, seed=3)
    distinguisher = kind(workload, sensitivity=dp.Sensitivity.histogram(neighbours=relation))
    epsilon, unit = F(1), workload.scale * FINE
    closed = first_head if kind is release.PermuteAndFlipDistinguisher else softmax

    def law(scores: Any) -> Any:
        return closed([F(s, unit) for s in scores], epsilon / 2)

    model, pairs = some_model(1, 6), []
    histogram = table(SMALL, 6, 1)
    here = tuple(distinguisher._scores(distinguisher.truth(histogram), model).tolist())
    for other in neighbours(histogram, relation)[:: sized(4, 1)]:
        pairs.append((here, tuple(distinguisher._scores(distinguisher.truth(other), model).tolist())))
    check_pure(law, epsilon, pairs)
    mechanism = distinguisher._mechanism(dp.Sensitivity(l1=unit, neighbours=relation), epsilon)
    for found, wanted in zip(mechanism.law(here), law(here), strict=True):
        assert abs(float(found.mid()) - float(wanted)) < 1e-12
    if closed is softmax and relation is ADD:
        with pytest.raises(AssertionError):  # without the 2
            check_pure(lambda scores: softmax([F(s, unit) for s in scores], epsilon), epsilon, pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_has_this_law(kind: type[Any]) -> None:
    workload = subsets(SMALL, 4, seed=3)
    distinguisher = kind(workload, sensitivity=ONE)
    histogram, model, unit = table(SMALL, 40, 2), some_model(5, 40), workload.scale * FINE
    truth = distinguisher.truth(histogram)
    scores = [F(s, unit) for s in distinguisher._scores(truth, model).tolist()]
    closed = first_head if kind is release.PermuteAndFlipDistinguisher else softmax
    chances = [float(p) for p in closed(scores, F(1, 4))]
    source = np.random.default_rng()
    wrong = [float(p) for p in closed(scores, F(1, 2))]

    def drawn(n: int) -> np.ndarray:
        return np.array([distinguisher._choose(truth, model, F(1, 2), system()) for _ in range(n)])

    check = chi_square(lambda draws: draws, chances, sized(5_000, 200_000))
    check.run(drawn, wrong={"without the 2": lambda n: source.choice(len(wrong), n, p=np.array(wrong) / sum(wrong))})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("epsilon", "gamma"), [(F(1), F(1, 20)), (F(1, 10), F(1, 1000)), (F(3), F(1, 2))])
def test_slack(kind: type[Any], epsilon: Fraction, gamma: Fraction) -> None:
    for far, relation in ((1, ADD), (1, REPLACE), (5, ADD)):
        one = dp.Sensitivity.histogram(neighbours=relation)
        sensitivity = dp.Sensitivity(l1=one.l1 * far, l2=one.l2 * far, linf=far, neighbours=relation)
        slack = kind(EIGHT, sensitivity=sensitivity).slack(epsilon, gamma)
        closed = 2 * far / real(epsilon) * mp.log(len(EIGHT) / real(gamma)) + mpf(1) / (EIGHT.scale * FINE)
        assert closed <= real(slack) <= closed * (1 + mpf(2) ** -40)


@pytest.mark.parametrize("kind", KINDS)
def test_the_slack_holds_and_half_of_it_does_not(kind: type[Any]) -> None:
    """Exactly, on the scores for which it is tightest: one query at the top and all others just below the slack."""
    workload = release.Workload([release.marginal(dp.Universe({"cell": 6}), "cell")])
    distinguisher = kind(workload, sensitivity=ONE)
    epsilon, gamma = F(1), F(1, 50)
    closed = first_head if kind is release.PermuteAndFlipDistinguisher else softmax
    for share, holds in ((F(1), True), (F(1, 2), False)):
        gap = distinguisher.slack(epsilon, gamma) * share
        failing = 1 - closed([gap, *[F(0)] * 5], epsilon / 2)[0]
        assert (failing <= real(gamma)) is holds


def test_losses() -> None:
    for kind, rate in zip(KINDS, (F(1, 8), F(1, 8), F(1, 2)), strict=True):
        distinguisher = kind(EIGHT, sensitivity=ONE)
        loss = distinguisher.loss(F(1, 2))
        assert loss.epsilon(delta=0) == 0.5
        assert loss.rho_bound() == rate / 4 == distinguisher.rate_of_rho / 4


def test_many_queries_at_once() -> None:
    """A workload of 200,000 ranges and the cells: the scores are those of the queries one by one."""
    universe = dp.Universe({"one": sized(300, 1400)})
    workload = release.ranges(universe, "one") + release.marginal(universe, "one")
    distinguisher = release.ExponentialDistinguisher(workload, sensitivity=ONE)
    histogram = np.random.default_rng(1).integers(0, 100, universe.size)
    model = Cells(np.random.default_rng(2).random(universe.size) * 100, universe.shape)
    scores = distinguisher._scores(distinguisher.truth(histogram), model)
    assert scores.dtype == np.int64
    for number in (0, 17, 300, len(workload) - 300, len(workload) - 1):
        query = distinguisher.query(number)
        assert abs(F(int(scores[number]), FINE) - abs(query.count(histogram) - F(query.answer(model.cells)))) < F(
            1, FINE
        )
    assert distinguisher._choose(distinguisher.truth(histogram), model, F(100), system()) in np.argsort(scores)[-5:]


def test_a_query_that_is_there_twice_and_one_that_no_row_can_meet() -> None:
    twice = release.where(SMALL, one=[0])
    workload = release.Workload([twice, release.where(SMALL, two=[]), twice])
    distinguisher = release.ExponentialDistinguisher(workload, sensitivity=ONE)
    scores = distinguisher._scores(distinguisher.truth(table(SMALL, 20, 1)), some_model(1))
    assert scores[0] == scores[2]
    assert scores[1] == 0


def test_answers_of_any_size_are_exact() -> None:
    """A vector that Frieze-Kannan led far away: beyond 64 bits the steps are Python integers."""
    workload = release.Workload([release.marginal(SMALL, "one")])
    distinguisher = release.ExponentialDistinguisher(workload, sensitivity=ONE)
    far = Cells(np.full(8, 2.0**70), SMALL.shape)
    scores = distinguisher._scores(distinguisher.truth(np.ones(8, np.int64)), far)
    assert scores.tolist() == [2**72 * FINE - 4 * FINE] * 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: release.ExponentialDistinguisher([1, 2], sensitivity=ONE),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=1),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=dp.Sensitivity(l2=1, neighbours=ADD)),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).slack(0, 0.1),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).slack(1, 0),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).slack(math.nan, 0.1),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).select(
            np.zeros(7, int), some_model(1), epsilon=1
        ),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).select(np.zeros(8), some_model(1), epsilon=1),
        lambda: release.ExponentialDistinguisher(EIGHT, sensitivity=ONE).select(
            dp.Exact(np.zeros(8, int), sensitivity=ONE, unit="row"), some_model(1), epsilon=1
        ),
    ],
)
def test_refusals(call: Any) -> None:
    with pytest.raises(InvalidParameter):
        call()
