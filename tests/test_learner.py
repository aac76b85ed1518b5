"""The distinguisher that learns an interval: its law is that of the exponential mechanism over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.randomness import system
from discreet.errors import InvalidParameter
from discreet.release.database_update import Cells
from discreet.release.distinguisher import FINE
from discreet.release.learner import is_kept
from tests.broken import constructions as broken
from tests.closed_forms import mp, mpf
from tests.construction_adversary import true_answer
from tests.construction_loops import ADD, REPLACE, errors, histogram
from tests.noise_laws import real
from tests.selecting import check_pure, softmax
from tests.sizes import sized
from tests.statistics import chi_square

F = Fraction
FOUR = dp.Universe({"value": 4})
TWO_COLUMNS = dp.Universe({"sex": 2, "age": 5})
DATA = [(3, 0, 2, 5), (0, 0, 0, 0), (10, 0, 0, 0), (2, 2, 2, 2), (0, 7, 7, 0)]
MODELS = [(2.5, 2.5, 2.5, 2.5), (0.0, 0.0, 0.0, 0.0), (3.0, 0.0, 2.0, 5.0), (1.1, 0.3, -4.7, 9.9)]


def learner(rows: int = 1, relation: dp.Neighbours = REPLACE) -> release.IntervalDistinguisher:
    return release.IntervalDistinguisher(FOUR, "value", sensitivity=histogram(relation, rows))


def model(cells: tuple[float, ...]) -> Cells:
    return Cells(np.array(cells, float), FOUR.shape)


def law(gaps: list[int], rate: Fraction, kept: Callable[..., bool] = is_kept) -> dict[tuple[int, int], mpf]:
    """What the sampler draws: two places independently, given that the pair is kept."""
    high, low = (softmax([sign * F(g, FINE) for g in gaps], rate) for sign in (1, -1))
    found: dict[tuple[int, int], mpf] = {}
    for one, other in itertools.product(range(len(gaps)), repeat=2):
        if kept(np.array(gaps), one, other):
            ends = min(one, other), max(one, other) - 1
            found[ends] = found.get(ends, mpf(0)) + high[one] * low[other]
    total = mp.fsum(found.values())
    return {ends: p / total for ends, p in found.items()}


def intervals(distinguisher: release.IntervalDistinguisher) -> list[tuple[int, int]]:
    return [(first, last) for first in range(distinguisher.values) for last in range(first, distinguisher.values)]


def is_that_of_all_intervals(kept: Callable[..., bool], data: tuple[int, ...], cells: tuple[float, ...]) -> bool:
    """Interval by interval against the exponential mechanism over all, with scores |G_j - G_i|."""
    distinguisher, rate = learner(), F(1, 4)
    truth = distinguisher.truth(np.array(data))
    gaps = [int(g) for g in distinguisher._gaps(truth, model(cells))]
    listed = intervals(distinguisher)
    wanted = softmax([F(abs(gaps[last + 1] - gaps[first]), FINE) for first, last in listed], rate)
    found = law(gaps, rate, kept)
    return all(abs(found.get(ends, mpf(0)) - p) < mpf(10) ** -40 for ends, p in zip(listed, wanted, strict=True))


@pytest.mark.parametrize("cells", MODELS)
@pytest.mark.parametrize("data", DATA)
def test_the_law_is_that_of_the_exponential_mechanism_over_all_intervals(
    data: tuple[int, ...], cells: tuple[float, ...]
) -> None:
    """epsilon-DP and bounded-range for one choice, the law of the exponential mechanism over all n (n + 1) / 2
    intervals, exactly."""
    assert is_that_of_all_intervals(is_kept, data, cells)
    tied = any(a == b for a, b in itertools.combinations(np.cumsum([0, *np.subtract(data, cells)]).round(6), 2))
    assert is_that_of_all_intervals(broken.interval_without_ties, data, cells) is not tied
    if any(x < y for x, y in zip(data, cells, strict=True)):  # an interval where the model has more
        assert not is_that_of_all_intervals(broken.interval_by_place, data, cells)


def test_at_least_a_quarter_of_the_draws_is_kept() -> None:
    source = np.random.default_rng(1)
    for size in (2, 3, 6):
        for spread in (0, 1, 2000, 10**6):
            gaps = source.integers(-spread, spread + 1, size).tolist()
            high, low = (softmax([sign * F(g, FINE) for g in gaps], F(1, 2)) for sign in (1, -1))
            kept = mp.fsum(
                high[i] * low[j] for i, j in itertools.product(range(size), repeat=2) if is_kept(np.array(gaps), i, j)
            )
            assert kept >= mpf("0.25") - mpf(10) ** -30


@pytest.mark.parametrize(("relation", "rows"), [(ADD, 1), (REPLACE, 1), (ADD, 3), (REPLACE, 3)])
def test_it_is_private_on_every_neighbour(relation: dp.Neighbours, rows: int) -> None:
    """Units of so many rows; planned for fewer, or at twice the rate, the same check rejects it."""
    distinguisher = learner(rows, relation)
    rate = distinguisher._mechanism(F(1), 1)._rate
    assert rate == F(1, 2 * rows)
    pairs = []
    for data, cells in itertools.product(DATA, MODELS[:: sized(3, 1)]):
        here = np.array(data)
        units = rows * np.eye(4, dtype=np.int64)
        others = [here + one for one in units]
        if relation is REPLACE:
            others = [here - one + other for one in units for other in units if (here - one >= 0).all()]
        for other in others:
            gaps = [distinguisher._gaps(distinguisher.truth(one), model(cells)) for one in (here, other)]
            pairs.append(tuple(tuple(int(g) for g in one) for one in gaps))

    def all_intervals(gaps: tuple[int, ...], rate: Fraction = rate) -> list[mpf]:
        found = law(list(gaps), rate)
        return [found[ends] for ends in intervals(distinguisher)]

    check_pure(all_intervals, F(1), pairs)
    with pytest.raises(AssertionError):
        check_pure(lambda gaps: all_intervals(gaps, 2 * rate), F(1), pairs)


def test_what_is_drawn_has_this_law() -> None:
    distinguisher = learner()
    data, cells = np.array([9, 0, 2, 5]), (1.0, 4.0, 4.0, 7.0)
    gaps = [int(g) for g in distinguisher._gaps(distinguisher.truth(data), model(cells))]
    chances = [float(law(gaps, F(1, 8))[ends]) for ends in intervals(distinguisher)]
    truth, source = distinguisher.truth(data), np.random.default_rng()
    wrong = np.array([float(law(gaps, F(1, 4))[ends]) for ends in intervals(distinguisher)])

    def drawn(n: int) -> np.ndarray:
        return np.array([distinguisher._choose(truth, model(cells), F(1, 4), system()) for _ in range(n)])

    check = chi_square(lambda draws: draws, chances, sized(6_000, 100_000))
    check.run(drawn, wrong={"without the 2": lambda n: source.choice(len(wrong), n, p=wrong / wrong.sum())})


class TestSlack:
    """F = (2 D / epsilon) ln(n (n + 1) / (2 gamma)) counts, and two steps of 2^-10 for rounding."""

    @pytest.mark.parametrize(("epsilon", "gamma"), [(F(1), F(1, 20)), (F(1, 10), F(1, 1000)), (F(3), F(1, 2))])
    def test_closed_form(self, epsilon: Fraction, gamma: Fraction) -> None:
        for rows, relation in ((1, ADD), (1, REPLACE), (5, REPLACE)):
            closed = 2 * rows / real(epsilon) * mp.log(10 / real(gamma)) + mpf(2) / FINE
            slack = real(learner(rows, relation).slack(epsilon, gamma))
            assert closed <= slack <= closed * (1 + mpf(2) ** -40)

    def test_it_holds_and_half_of_it_does_not(self) -> None:
        """On a table where one interval is best and the others lie just below it by the slack."""
        distinguisher, epsilon, gamma = learner(), F(1), F(1, 50)
        for share, holds in ((F(1), True), (F(1, 2), False)):
            gap = int(distinguisher.slack(epsilon, gamma) * share * FINE) + 1
            gaps = [0, 2 * gap, gap, gap, gap]  # the first value alone is off by twice as much as any other interval
            found = law(gaps, epsilon / 2)
            failing = mp.fsum(p for ends, p in found.items() if ends != (0, 0))
            assert (failing <= real(gamma)) is holds

    def test_rounding_is_within_its_two_steps(self) -> None:
        source, worst = np.random.default_rng(2), F(0)
        distinguisher = learner()
        for _ in range(sized(100, 2000)):
            data, cells = source.integers(0, 50, 4), source.random(4) * 50
            gaps = distinguisher._gaps(distinguisher.truth(data), model(tuple(cells)))
            for first, last in intervals(distinguisher):
                query = distinguisher.query(distinguisher.number(first, last))
                exact = abs(true_answer(query, data) - sum(F(float(c)) for c in cells[first : last + 1]))
                worst = max(worst, abs(F(abs(int(gaps[last + 1] - gaps[first])), FINE) - exact))
        assert F(1, 2 * FINE) < worst <= F(1, FINE) * F(1001, 1000)

    def test_loss(self) -> None:
        loss = learner().loss(F(1, 2))
        assert loss.epsilon(delta=0) == 0.5
        assert loss.rho_bound() == F(1, 32) == learner().rate_of_rho / 4


class TestNumbers:
    @pytest.mark.parametrize("values", [1, 2, 3, 7])
    def test_intervals_are_numbered_as_the_ranges_are(self, values: int) -> None:
        universe = dp.Universe({"other": 2, "value": values})
        distinguisher = release.IntervalDistinguisher(universe, "value", sensitivity=histogram(REPLACE))
        ranges = release.ranges(universe, "value")
        assert distinguisher.workload == ranges
        for place, ends in enumerate(intervals(distinguisher)):
            assert (distinguisher.number(*ends), distinguisher.interval(place)) == (place, ends)
            assert distinguisher.query(place) == ranges.query(place)

    def test_of_a_long_column(self) -> None:
        universe = dp.Universe({"value": 10**6})
        distinguisher = release.IntervalDistinguisher(universe, "value", sensitivity=histogram(REPLACE))
        for ends in ((0, 0), (0, 10**6 - 1), (1, 1), (999_999, 999_999), (123_456, 654_321)):
            assert distinguisher.interval(distinguisher.number(*ends)) == ends
        assert len(distinguisher.workload) == 10**6 * (10**6 + 1) // 2

    @pytest.mark.parametrize("call", [
        lambda: learner().interval(-1), lambda: learner().interval(10), lambda: learner().number(2, 1),
        lambda: learner().number(0, 4), lambda: learner().number(-1, 2),
        lambda: release.IntervalDistinguisher(FOUR, "no", sensitivity=histogram(ADD)),
        lambda: release.IntervalDistinguisher(FOUR, "value", sensitivity=1),
        lambda: release.IntervalDistinguisher(FOUR, "value", sensitivity=dp.Sensitivity(l2=1, neighbours=ADD)),
        lambda: learner().slack(0, F(1, 2)), lambda: learner().slack(1, 1),
        lambda: learner().select(np.zeros(5, int), model(MODELS[0]), epsilon=1),
    ])  # fmt: skip
    def test_refusals(self, call: Any) -> None:
        with pytest.raises(InvalidParameter):
            call()


def test_the_loop_learns_the_marginal_that_no_list_holds() -> None:
    """Intervals of one column, chosen without being listed: the certificate holds for all of them."""
    distinguisher = release.IntervalDistinguisher(TWO_COLUMNS, "age", sensitivity=histogram(REPLACE))
    workload = release.ranges(TWO_COLUMNS, "age")
    made = release.IterativeConstruction(
        TWO_COLUMNS, workload, distinguisher=distinguisher, loss=dp.Loss.pure(epsilon=50),
        failure_probability=F(1, 10**9), update=release.MultiplicativeWeights(TWO_COLUMNS, rows=20_000),
    )  # fmt: skip
    data = np.array([9000, 0, 500, 500, 0, 10_000, 0, 0, 0, 0])
    run = made.run(data, sensitivity=histogram(REPLACE))
    assert run.finished
    assert max(errors(run.structure, workload, data)) <= made.certified_error < 10_000
    assert made.restored(run.state()).transcript == run.transcript
