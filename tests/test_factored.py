"""`factored`: tables recovered from a survey, errors that are estimated, and every edge."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.private import Exact
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from discreet.release import factored, mixture_fit
from discreet.release.effects import coordinates
from discreet.release.factored import Plan, distances, synthesize_rows, thinned
from discreet.release.mixture import MixtureModel
from discreet.release.model import Model
from discreet.release.survey import Level, places
from discreet.release.synthesize import synthesize
from tests.sizes import sized
from tests.test_survey import ONE, effects

WIDE = {"a": 3, "b": 2, "c": 4, "d": 30, "e": 2}
HUGE = dict.fromkeys("abcdefgh", 100)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits that end before they are good."""
    monkeypatch.setattr(mixture_fit, "STEPS", 300)
    monkeypatch.setattr(factored, "COMPONENTS", 32)


def people(n: int) -> dict[str, np.ndarray]:
    """A table in which every column has to do with another one."""
    source = np.random.default_rng(1)
    a = source.choice(3, n, p=[0.6, 0.3, 0.1])
    b = (source.random(n) < 0.2 + 0.3 * a).astype(int)
    c = np.minimum(source.poisson(0.4 + 0.8 * b, n), 3)
    d = np.minimum(source.geometric(0.1 + 0.1 * a), 30) - 1
    e = ((b + (d > 5) + (source.random(n) < 0.2)) % 2).astype(int)
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def variation(model: Model, universe: dp.Universe, histogram: np.ndarray) -> float:
    exact = release.Marginals(histogram, universe.shape)
    rows = histogram.sum()
    apart = [
        np.abs(model.marginal(axes) / model.rows - exact(axes) / rows).sum() / 2
        for axes in itertools.combinations(range(len(universe.shape)), 3)
    ]
    return float(np.mean(apart))


def test_a_small_table_is_recovered_as_well_as_by_a_dense_model() -> None:
    universe, frame = dp.Universe(WIDE), people(20_000)
    histogram, workload = universe.encode(frame), release.all_marginals(universe, order=3)
    loss = dp.Loss.approximate(epsilon=1, delta=1e-9)
    model = synthesize_rows(universe, places(universe, frame), workload=workload, loss=loss, sensitivity=ONE)
    dense = synthesize(universe, histogram, workload=workload, loss=loss, sensitivity=ONE)
    columns = np.array([1.0])
    for axis in range(len(universe.shape)):
        columns = np.multiply.outer(columns, release.Marginals(histogram, universe.shape)((axis,)) / 20_000)
    apart = variation(release_of(universe, columns), universe, histogram)
    assert variation(model, universe, histogram) < 1.5 * variation(dense, universe, histogram) < apart / 3


def release_of(universe: dp.Universe, cells: np.ndarray) -> Model:
    from discreet.release.model import DenseModel

    return DenseModel(universe, cells.reshape(-1))


def test_the_loss_is_known_before_and_is_the_one_that_was_given() -> None:
    universe = dp.Universe(HUGE)
    workload = release.all_marginals(universe, order=2)
    for loss, square in [(dp.Loss.zcdp(rho="0.1"), Fraction(1, 5)), (dp.Loss.gaussian(mu="0.3"), Fraction(9, 100))]:
        plan = Plan.of(universe, workload, loss=loss, sensitivity=ONE)
        assert plan.loss.mu_squared == square  # type: ignore[attr-defined]
    with pytest.raises(NotSupported, match="normal noise"):
        Plan.of(universe, workload, loss=dp.Loss.pure(epsilon=1), sensitivity=ONE)


def test_a_huge_universe_is_learned_saved_and_drawn_from(tmp_path: Path, short: None) -> None:
    universe, n = dp.Universe(HUGE), 5000
    source = np.random.default_rng(2)
    first = np.minimum(source.geometric(0.05, n) - 1, 99)
    rows = np.stack([first, first, *source.integers(0, 100, (6, n))], axis=1)
    workload = release.all_marginals(universe, order=2)
    model = synthesize_rows(universe, rows, workload=workload, loss=dp.Loss.gaussian(mu=2), sensitivity=ONE)
    assert abs(model.rows - n) < 50
    low = release.where(universe, a=list(range(10)), b=list(range(10)))
    assert abs(model.answer(low) - np.sum(first < 10)) < 0.05 * n
    assert model.estimated_error(low) < 0.2 * n
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.answer(low) == model.answer(low)
    drawn = again.sample(2000)
    together = np.mean((np.asarray(drawn["a"]) < 10) & (np.asarray(drawn["b"]) < 10))
    assert abs(together - model.answer(low) / model.rows) < 0.1


def test_estimated_errors_cover_most_answers_and_are_not_far_above_them() -> None:
    universe, frame = dp.Universe(WIDE), people(20_000)
    exact = release.Marginals(universe.encode(frame), universe.shape)
    workload, within = release.all_marginals(universe, order=2), []
    for _ in range(sized(3, 30)):
        model = synthesize_rows(
            universe, places(universe, frame), workload=release.all_marginals(universe, order=3),
            loss=dp.Loss.gaussian(mu="0.4"), sensitivity=ONE,
        )  # fmt: skip
        off = np.abs(model.answers(workload) - workload.answers(exact))
        told = np.array([model.estimated_error(query) for query in workload])
        within.append(np.mean(off <= told))
        assert np.median(told) < 10 * np.mean(off)
    assert np.mean(within) > 0.87  # 0.96 in the mean, and 0.03 from run to run
    assert model.estimated_error(release.where(universe)) < 5 * 1.96 / 0.4 / math.sqrt(0.01)
    with pytest.raises(NotSupported, match="no measured set"):
        model.estimated_error(release.where(universe, a=[0], b=[0], c=[0], d=[0]))


def test_thinning_makes_two_surveys_of_the_noise_they_state_that_know_nothing_of_each_other() -> None:
    universe, frame = dp.Universe(WIDE), people(2000)
    plan = Plan.of(universe, release.all_marginals(universe, order=3), loss=dp.Loss.gaussian(mu=1), sensitivity=ONE)
    rows = places(universe, frame)
    products, squares = [], []
    for _ in range(40):
        levels = plan.survey.release(rows)
        one, other = thinned(levels)
        for level, first, second in zip(levels, one, other, strict=True):
            truth = effects(level, rows)
            first_off, second_off = standard(first, truth), standard(second, truth)
            products.append(first_off * second_off)
            squares.append(np.stack([first_off**2, second_off**2]))
    together, each = np.concatenate(products), np.concatenate(squares, axis=1)
    bar = 6 / math.sqrt(together.size)
    assert abs(together.mean()) < bar
    assert np.abs(each.mean(axis=1) - 1).max() < 1.5 * bar
    assert bar < 0.1  # with both signs alike, the mean of the products would be near 1


def standard(level: Level, truth: np.ndarray) -> np.ndarray:
    sigmas = np.array([float(s) for s in level.measurement.sigmas])[level.measurement.effects.owner]
    return ((level.values - truth)[sigmas > 0]) / sigmas[sigmas > 0]


def test_distances_are_those_of_the_truth() -> None:
    """What a mixture misses a survey by, less the noise, is what it misses the truth by."""
    universe, frame = dp.Universe(WIDE), people(5000)
    plan = Plan.of(universe, release.all_marginals(universe, order=2), loss=dp.Loss.gaussian(mu=30), sensitivity=ONE)
    levels, rows = plan.survey.release(places(universe, frame)), places(universe, frame)
    product = factored.alike(levels)
    found = distances(product, levels)
    counts = MixtureModel(universe, levels[0].measured[()][0].item(), product.weights, product.shares)
    shape = levels[1].measurement.effects.shape
    for axes in [(0, 1), (1, 4), (1, 2)]:
        model = counts.marginal(axes)
        exact = np.zeros_like(model)
        np.add.at(exact, tuple(rows[:, axis] for axis in axes), 1)
        off = coordinates(model - exact, tuple(shape[axis] for axis in axes))
        assert math.isclose(found[axes], float(np.mean(off**2)), rel_tol=0.2)


@pytest.mark.parametrize("columns", [{"a": 1}, {"a": 4}, {"a": 1, "b": 1}, {"a": 1, "b": 50, "c": 2}])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_small_tables_and_columns_of_one_value_work(columns: dict[str, int], n: int, short: None) -> None:
    universe = dp.Universe(columns)
    workload = release.all_marginals(universe, order=min(2, len(columns)))
    rows = np.zeros((n, len(columns)), np.int64)
    model = synthesize_rows(universe, rows, workload=workload, loss=dp.Loss.gaussian(mu=1), sensitivity=ONE)
    assert np.isfinite(model.answers(workload)).all()
    assert len(model.sample(7)["a"]) == 7
    assert all(model.estimated_error(workload.query(i)) >= 0 for i in range(3) if i < len(workload))


def test_an_interrupted_fit_keeps_what_was_paid_for(short: None) -> None:
    universe, frame = dp.Universe(WIDE), people(5000)
    for stop in (1, 40, 301, 302):

        def press(step: int, steps: int, stop: int = stop) -> None:
            assert 0 < step <= steps == 600
            if step >= stop:
                raise KeyboardInterrupt

        model = synthesize_rows(
            universe, places(universe, frame), workload=release.all_marginals(universe, order=2),
            loss=dp.Loss.gaussian(mu=1), sensitivity=ONE, progress=press,
        )  # fmt: skip
        assert model.interrupted
        assert abs(model.rows - 5000) < 100
        with pytest.raises(NotSupported, match="interrupted"):
            model.estimated_error(release.where(universe, a=[0]))


def test_private_rows_are_opened_with_a_permit_once(short: None) -> None:
    universe, frame = dp.Universe(WIDE), people(500)
    workload, loss = release.all_marginals(universe, order=2), dp.Loss.zcdp(rho="0.05")
    account = dp.PrivacyFilter(dp.Budget(epsilon=3, delta=1e-6))
    exact = Exact(places(universe, frame), sensitivity=ONE, unit="row")
    plan = Plan.of(universe, workload, loss=loss, sensitivity=ONE)
    permit = account.reserve(plan.loss)
    model = synthesize_rows(universe, exact, workload=workload, loss=loss, permit=permit)
    assert abs(model.rows - 500) < 300
    with pytest.raises(BudgetExceeded):
        synthesize_rows(universe, exact, workload=workload, loss=loss, permit=permit)
    with pytest.raises(InvalidParameter, match="permit="):
        synthesize_rows(universe, exact, workload=workload, loss=loss)
    with pytest.raises(InvalidParameter, match="sensitivity="):
        synthesize_rows(universe, places(universe, frame), workload=workload, loss=loss)
    with pytest.raises(InvalidParameter, match="another universe"):
        Plan.of(dp.Universe({"a": 2}), workload, loss=loss, sensitivity=ONE)


def test_synthesize_learns_rows_where_cells_cannot_be_written_down(short: None) -> None:
    universe = dp.Universe(HUGE)
    rows = np.random.default_rng(3).integers(0, 100, (1000, 8))
    workload, loss = release.all_marginals(universe, order=2), dp.Loss.gaussian(mu=1)
    model = synthesize(universe, rows, workload=workload, loss=loss, sensitivity=ONE, progress=lambda done, steps: None)
    assert isinstance(model, release.FactoredModel)
    assert "survey" in model.reason
    exact = Exact(rows, sensitivity=ONE, unit="row")
    permit = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=1e-6)).reserve(loss)
    again = synthesize(universe, exact, workload=workload, loss=loss, permit=permit)
    assert abs(again.rows - 1000) < 100
    with pytest.raises(NotSupported, match="remeasure"):
        synthesize(universe, rows, workload=workload, loss=loss, sensitivity=ONE, remeasure="0.1")
    with pytest.raises(InvalidParameter, match="whole numbers"):
        synthesize(universe, np.zeros(5, np.int64), workload=workload, loss=loss, sensitivity=ONE)
