"""`synthesize`: one call from a histogram to a model, its price, its errors, and every table and budget at the edge."""

from __future__ import annotations

import _thread
import itertools
import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp import randomness
from discreet.dp.private import Exact
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from discreet.release.distances import MeasuredDistances
from discreet.release.effects import MeasuredEffects
from discreet.release.marginals import Marginals
from discreet.release.measure_once import MeasureOnce
from tests.broken import measurements
from tests.broken import synthesis as broken
from tests.sizes import sized

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.histogram(neighbours=ADD)
UNIVERSE = dp.Universe({"a": 3, "b": 4, "c": 2, "d": 5, "e": 2})
WORKLOAD = release.all_marginals(UNIVERSE, order=3)


def quiet(done: int, steps: int) -> None:
    """No bar."""


def table(rows: int, universe: dp.Universe = UNIVERSE) -> np.ndarray:
    """A table in which every column follows the one before, half of the time."""
    source = np.random.default_rng(rows)
    codes = np.zeros(rows, np.int64)
    last = source.integers(0, 2, rows)
    for size in universe.shape:
        drawn = np.minimum(source.integers(0, size, rows), source.integers(0, size, rows))
        last = np.where(source.random(rows) < 0.5, last % size, drawn)
        codes = codes * size + last
    return np.bincount(codes, minlength=universe.size).astype(np.int64)


def variation(model: release.Model, histogram: np.ndarray, universe: dp.Universe = UNIVERSE, order: int = 3) -> float:
    truth, found = Marginals(histogram, universe.shape), []
    for axes in itertools.combinations(range(len(universe.shape)), order):
        one, other = truth(axes) / truth(()), model.marginal(axes) / model.rows
        found.append(float(np.abs(one - other).sum()) / 2)
    return float(np.mean(found))


def made(histogram: np.ndarray, loss: dp.Loss, **options: object) -> release.SynthesizedModel:
    options = {"sensitivity": ONE, "workload": WORKLOAD, "progress": quiet} | options
    return release.synthesize(UNIVERSE, histogram, loss=loss, **options)  # type: ignore[arg-type]


LOSSES = [dp.Loss.approximate(epsilon=1, delta=1e-9), dp.Loss.zcdp(rho=0.02), dp.Loss.gaussian(mu=0.2)]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_model_is_better_with_more_rows_and_costs_no_more_than_was_said(loss: dp.Loss) -> None:
    """the model, all that is asked of it and every row drawn from it have at most this loss together"""
    few, many = table(500), table(100_000)
    models = [made(few, loss), made(many, loss)]
    missed = [variation(model, own) for model, own in zip(models, (few, many), strict=True)]
    assert missed[1] < 0.02 < missed[0] < 0.5
    for model in models:
        assert model.loss.epsilon(delta=1e-9) <= loss.epsilon(delta=1e-9)
        assert model.loss.rho_bound() <= loss.rho_bound() or not isinstance(loss, dp.Loss.zcdp(rho=1).__class__)


def test_it_is_better_than_columns_alone_and_than_noise_on_every_cell() -> None:
    histogram, loss = table(20_000), dp.Loss.zcdp(rho=0.01)
    model = made(histogram, loss)
    single = made(histogram, loss, workload=release.all_marginals(UNIVERSE, order=1))
    noise = np.random.default_rng(3).normal(scale=math.sqrt(10 / (2 * 0.01)), size=histogram.size)
    noisy = release.DenseModel(UNIVERSE, np.maximum(histogram + noise, 0))
    assert variation(model, histogram) < 0.6 * variation(single, histogram)
    assert variation(model, histogram) < 0.6 * variation(noisy, histogram)


def test_an_exact_histogram_is_paid_for_before_it_is_read() -> None:
    loss = dp.Loss.zcdp(rho=0.01)
    plan = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=loss, sensitivity=ONE)
    account = dp.PrivacyFilter(dp.Budget(rho=1))
    exact = Exact(table(1000), sensitivity=ONE, unit="row")
    permit = account.reserve(plan.loss)
    model = made(exact, loss, sensitivity=None, permit=permit)  # type: ignore[arg-type]
    assert permit.left == 0
    assert 500 < model.rows < 1500
    with pytest.raises(BudgetExceeded):
        made(exact, loss, sensitivity=None, permit=permit)  # type: ignore[arg-type]
    for wrong in ({"permit": permit}, {"sensitivity": None}):
        with pytest.raises(InvalidParameter):
            made(exact if "permit" in wrong else table(10), loss, **wrong)  # type: ignore[arg-type]


def sensitivities() -> list[dp.Sensitivity]:
    many = dp.Sensitivity(l1=4, l2=4, neighbours=ADD)
    apart = dp.Sensitivity(l1=4, l2=2, linf=1, neighbours=ADD)
    return [ONE, dp.Sensitivity.histogram(neighbours=REPLACE), many, apart]


@pytest.mark.parametrize("sensitivity", sensitivities())
def test_noise_grows_with_what_one_unit_moves(sensitivity: dp.Sensitivity) -> None:
    loss = dp.Loss.zcdp(rho=0.5)
    plan = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=loss, sensitivity=sensitivity)
    plain = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=loss, sensitivity=ONE)
    assert isinstance(plan, MeasureOnce)
    assert isinstance(plain, MeasureOnce)
    assert plan.loss.rho_bound() <= Fraction(1, 2)
    assert float(plan.loss.rho_bound()) > 0.499
    for one, other in zip(plan.measurement.sigmas, plain.measurement.sigmas, strict=True):
        assert one >= other * (1 if sensitivity is ONE else Fraction(5, 4))


def spied(plan: MeasureOnce, histogram: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Fraction, ...]]:
    """The noise of every measurement that is made."""
    seen: list[tuple[Fraction, ...]] = []
    measure = MeasuredEffects._measure

    def spy(self: MeasuredEffects, marginal: object, stream: object) -> np.ndarray:
        seen.append(self.sigmas)
        return measure(self, marginal, stream)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(MeasuredEffects, "_measure", spy)
        plan.learn(histogram, quiet, randomness.system())
    return seen


def test_it_costs_all_that_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guarantee: `loss`, that of `MeasuredEffects` and `MeasuredDistances` together; the twin forgets the second."""
    drawn: list[dp.Loss] = []
    measure, distances = MeasuredEffects._measure, MeasuredDistances.drawn

    def of_effects(self: MeasuredEffects, *given: object) -> object:
        drawn.append(self.loss)
        return measure(self, *given)  # type: ignore[arg-type]

    def of_distances(self: MeasuredDistances, *given: object) -> object:
        drawn.append(self.loss)
        return distances(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(MeasuredEffects, "_measure", of_effects)
    monkeypatch.setattr(MeasuredDistances, "drawn", of_distances)
    for remeasure in (Fraction(0), Fraction(1, 5)):
        plan = MeasureOnce.of(UNIVERSE, WORKLOAD.cliques, loss=LOSSES[2], sensitivity=ONE, remeasure=remeasure)
        drawn.clear()
        model = plan.learn(table(500), quiet, randomness.system())
        assert len(drawn) == (2 if remeasure else 1)
        rho = sum((Fraction(loss.rho_bound()) for loss in drawn), start=Fraction(0))
        assert rho <= plan.loss.rho_bound() <= LOSSES[2].rho_bound()
        assert model.loss.rho_bound() <= plan.loss.rho_bound()
        twin = measurements.ErrorsForFree(UNIVERSE, plan.measurement, plan.checks, "")
        assert (rho <= twin.loss.rho_bound()) is not bool(remeasure)


def test_what_is_measured_depends_on_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables, one noise; the twin that suits its shares to the table is seen."""
    plan = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=LOSSES[1], sensitivity=ONE)
    assert isinstance(plan, MeasureOnce)
    looks = broken.SharesByLook(plan.universe, plan.measurement, None, plan.reason)
    few, many = table(100), table(5000)
    assert spied(plan, few, monkeypatch) == spied(plan, many, monkeypatch) == [plan.measurement.sigmas]
    assert spied(looks, few, monkeypatch) != spied(looks, many, monkeypatch)


def test_what_is_fitted_depends_on_what_was_released_alone() -> None:
    plan = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=LOSSES[1], sensitivity=ONE)
    assert isinstance(plan, MeasureOnce)
    released = plan.measurement.release(table(5000))
    model = plan.fit(released, quiet)
    assert math.isclose(model.rows, released[0], rel_tol=1e-4)


def random_queries(source: np.random.Generator, number: int) -> list[release.LinearQuery]:
    """Cells, subsets and prefixes of marginals over up to three columns."""
    found = []
    for _ in range(number):
        wanted: dict[str, object] = {}
        for name in source.choice(list(UNIVERSE.columns), size=3, replace=False):
            size = UNIVERSE.columns[name].size
            kind = source.integers(3)
            picked = source.permutation(size)[: max(1, size // 2)].tolist()
            wanted[name] = [[int(source.integers(size))], picked, list(range(source.integers(1, size + 1)))][kind]
        found.append(release.where(UNIVERSE, **wanted))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("rho", [0.0005, 0.05])
def test_19_of_20_answers_are_within_the_error_estimated_and_not_far_more(rho: float) -> None:
    """Over queries and runs: not below 90 %, and not above what a half of the error would still hold.

    From run to run the share within has a deviation of 0.05 at most, so that all bars are five standard errors away.
    """
    histogram, source = table(30_000), np.random.default_rng(5)
    truth, within, halved = Marginals(histogram, UNIVERSE.shape), [], []
    for _ in range(sized(30, 100)):
        model = made(histogram, dp.Loss.zcdp(rho=rho))
        for query in random_queries(source, 120):
            off, error = abs(model.answer(query) - query.answer(truth(query.axes))), model.estimated_error(query)
            within.append(off <= error)
            halved.append(off <= error / 2)
    assert 0.90 < np.mean(within) < 0.995
    assert np.mean(halved) < 0.88  # half of the error is not enough, and the check sees it


@pytest.mark.parametrize("cells", [(), (2,), (3, 4), (2, 3, 2)])
def test_the_errors_of_all_coordinates_add_up_to_what_is_missed(cells: tuple[int, ...]) -> None:
    """Over all cells of any table; in an even one, and in one of no rows, all cells are alike."""
    source, missed = np.random.default_rng(8), 7.0
    each = [np.eye(math.prod(cells))[number].reshape(cells) for number in range(math.prod(cells))]
    for table in (np.full(cells, 20.0), source.gamma(0.3, size=cells) * 50, np.zeros(cells)):
        squares = [release.synthesized.square_in(one, table, missed) for one in each]
        assert math.isclose(sum(squares), missed * math.prod(n - 1 for n in cells), rel_tol=1e-6)
    assert np.allclose(squares, squares[0])


def test_large_cells_are_within_their_errors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the largest tenth of the cells, most are; the twin that takes all cells to be as far off loses many."""
    universe = dp.Universe({"a": 12, "b": 9, "c": 2, "d": 4})
    source, last, codes = np.random.default_rng(4), np.zeros(30_000, np.int64), np.zeros(30_000, np.int64)
    for size in universe.shape:
        drawn = np.minimum(source.geometric(0.5, len(codes)) - 1, size - 1)
        last = np.where(source.random(len(codes)) < 0.5, last % size, drawn)
        codes = codes * size + last
    histogram, workload = np.bincount(codes, minlength=universe.size), release.all_marginals(universe, order=3)
    truth = workload.answers(Marginals(histogram, universe.shape))
    within: dict[str, list[float]] = {"all": [], "largest": [], "twin": []}
    for rho in [0.0005, 0.05] * sized(8, 30):
        model = release.synthesize(
            universe, histogram, workload=workload, loss=dp.Loss.zcdp(rho=rho), sensitivity=ONE, progress=quiet
        )
        off = np.abs(model.answer_many(workload) - truth)
        largest = np.argsort(model.answer_many(workload))[-len(truth) // 10 :]
        hits = off <= model.estimated_errors(workload)
        within["all"].append(hits.mean())
        within["largest"].append(hits[largest].mean())
        with monkeypatch.context() as patched:
            patched.setattr(release.synthesized, "square_in", broken.square_alike)
            alike = [model.estimated_error(workload.query(cell)) for cell in largest.tolist()]
        within["twin"].append((off[largest] <= alike).mean())
    assert 0.93 < np.mean(within["all"]) < 0.99  # each bar is 4.5 standard errors or more from what is seen
    assert np.mean(within["twin"]) < 0.81 < np.mean(within["largest"])


def test_errors_are_measured_again_for_a_share_that_is_stated_before() -> None:
    histogram, loss = table(30_000), dp.Loss.zcdp(rho=0.05)
    plan = release.synthesis_plan(UNIVERSE, WORKLOAD, loss=loss, sensitivity=ONE, remeasure=0.2)
    assert isinstance(plan, MeasureOnce)
    assert plan.checks is not None
    assert math.isclose(float(plan.checks.loss.rho_bound()), 0.01, rel_tol=1e-6)
    assert plan.loss.rho_bound() <= Fraction(5, 100)
    model = made(histogram, loss, remeasure=0.2)
    truth = Marginals(histogram, UNIVERSE.shape)
    assert set(model.distances) == set(WORKLOAD.cliques)
    for axes, distance in model.distances.items():
        exact = np.abs(truth(axes) - model.marginal(axes)).sum()
        assert abs(distance.value - exact) < 6 * distance.sigma
    bounds = [model._by_distance(query.axes) for query in WORKLOAD]
    off = np.abs(model.answer_many(WORKLOAD) - WORKLOAD.answers(truth))
    assert (off <= bounds).mean() > 0.99
    assert not made(histogram, loss).distances


def test_queries_outside_the_workload_have_no_estimated_error() -> None:
    model = made(table(1000), dp.Loss.zcdp(rho=0.1), workload=release.all_marginals(UNIVERSE, order=2))
    assert model.estimated_error(release.where(UNIVERSE, a=[0], b=[1])) > 0
    with pytest.raises(NotSupported, match="workload"):
        model.estimated_error(release.where(UNIVERSE, a=[0], b=[1], c=[0]))
    with pytest.raises(InvalidParameter, match="another universe"):
        model.estimated_error(release.where(dp.Universe({"a": 3, "b": 2}), a=[0]))


EDGES = {
    "no row": (dp.Universe({"a": 3, "b": 2}), np.zeros(6, np.int64)),
    "one row": (dp.Universe({"a": 3, "b": 2}), np.array([0, 0, 1, 0, 0, 0])),
    "one cell": (dp.Universe({"a": 1}), np.array([70])),
    "columns of one value": (dp.Universe({"a": 1, "b": 3, "c": 1}), np.array([5, 90, 5])),
    "all in one cell": (dp.Universe({"a": 3, "b": 2}), np.array([0, 0, 0, 10_000, 0, 0])),
}


@pytest.mark.parametrize("epsilon", [0.001, 1, 100])
@pytest.mark.parametrize("edge", EDGES)
def test_tables_at_the_edge_work(edge: str, epsilon: float) -> None:
    universe, histogram = EDGES[edge]
    for order in {1, min(2, len(universe.shape))}:
        workload = release.all_marginals(universe, order=order)
        model = release.synthesize(
            universe, histogram, workload=workload + workload + release.marginal(universe, "a"), sensitivity=ONE,
            loss=dp.Loss.approximate(epsilon=epsilon, delta=1e-9), progress=quiet, remeasure=0.1,
        )  # fmt: skip
        assert np.isfinite(model.cells).all()
        assert len(model.sample(5)["a"]) == 5
        assert np.isfinite(model.estimated_errors(workload)).all()
        if epsilon == 100:
            assert np.abs(model.cells - histogram).sum() < 30 + 0.02 * histogram.sum() or order == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": dp.Loss.pure(epsilon=1)}, "normal noise"),
        ({"loss": dp.Loss.approximate(epsilon="1e-17", delta="1e-200")}, "too small"),
        ({"remeasure": 1}, "below 1"),
        ({"remeasure": -0.5}, "remeasure"),
        ({"rows": 0}, "rows"),
        ({"sensitivity": dp.Sensitivity(l2=1, neighbours=ADD)}, "l2 does not bound"),
        ({"workload": release.all_marginals(dp.Universe({"a": 2}), order=1)}, "another universe"),
        ({"histogram": np.zeros(3, np.int64)}, "240 cells"),
        ({"histogram": np.zeros(240)}, "whole numbers"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(options: dict[str, object], words: str) -> None:
    options = {"histogram": table(10), "loss": LOSSES[0]} | options
    with pytest.raises((InvalidParameter, NotSupported), match=words):
        made(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [None, 5000])
def test_an_interrupt_while_errors_are_measured_keeps_the_model(
    rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(release.distances, "steps_apart", interrupted)
    if rows is not None:
        monkeypatch.setattr(release.predicted_error.Prediction, "adaptively", True)
    model = made(table(5000), dp.Loss.zcdp(rho=0.1), remeasure=0.2, rows=rows)
    assert model.interrupted
    assert not model.distances
    assert 4000 < model.rows < 6000
    assert model.estimated_error(release.where(UNIVERSE, a=[0])) > 0


@pytest.mark.parametrize("at", [1, 4])
def test_an_interrupt_keeps_what_was_paid_for(at: int) -> None:
    """A real one, as Ctrl-C sends it: while the model is fitted, its main thread is interrupted."""
    fitting = threading.Event()

    def progress(done: int, steps: int) -> None:
        if done == at and not fitting.is_set():
            fitting.set()
            _thread.interrupt_main()

    model = made(table(5000), dp.Loss.zcdp(rho=0.1), progress=progress)
    assert fitting.is_set()
    assert model.interrupted
    assert 4000 < model.rows < 6000
    assert np.isfinite(model.answer_many(WORKLOAD)).all()
    with pytest.raises(NotSupported, match="interrupted"):
        model.estimated_error(WORKLOAD.query(0))
