"""`survey`: what a survey of rows costs, by every pair of small tables, and what its grids may depend on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.private import Exact
from discreet.errors import InvalidParameter
from discreet.release import survey
from discreet.release.marginals import Marginals
from discreet.release.survey import Level, Survey, columns, grouped, nearest_shares, places
from tests.broken import surveys as broken

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.histogram(neighbours=ADD)
SHAPES = [(2, 3, 2), (3, 1, 2), (4,), (2, 20)]


def planned(shape: tuple[int, ...], sensitivity: dp.Sensitivity = ONE, kind: type[Survey] = Survey) -> Survey:
    universe = dp.Universe({f"c{i}": n for i, n in enumerate(shape)})
    workload = release.all_marginals(universe, order=min(3, len(shape)))
    return kind(universe, workload.maximal_cliques, sensitivity, Fraction(1, 3))


def people(shape: tuple[int, ...], n: int, seed: int = 0) -> np.ndarray:
    source = np.random.default_rng(seed)
    return np.stack([np.minimum(source.geometric(0.4, n) - 1, size - 1) for size in shape], axis=1)


def effects(level: Level, rows: np.ndarray) -> np.ndarray:
    """The exact effects that a level measures, by its dense histogram."""
    shape = level.measurement.effects.shape
    coarse = [groups[rows[:, axis]] for axis, groups in enumerate(level.grid)]
    codes = np.ravel_multi_index(coarse, shape)
    return level.measurement.effects.of_marginals(Marginals(np.bincount(codes, minlength=math.prod(shape)), shape))


def pairs(shape: tuple[int, ...], sensitivity: dp.Sensitivity) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows of one unit that come and those that leave: all there can be, each row of a unit another cell."""
    cells = list(itertools.product(*map(range, shape)))
    assert sensitivity.l1 is not None
    if sensitivity.neighbours is REPLACE:
        for one, other in itertools.combinations(cells, 2):
            yield np.array([one]), np.array([other])
    else:
        for unit in itertools.combinations(cells, int(sensitivity.l1)):
            yield np.array(unit), np.zeros((0, len(shape)), np.int64)


def spent(levels: list[Level], shape: tuple[int, ...], sensitivity: dp.Sensitivity) -> float:
    """The greatest mu^2 over all pairs: what all levels together let out."""

    def of(come: np.ndarray, gone: np.ndarray) -> float:
        total = 0.0
        for level in levels:
            sigmas = np.array([float(s) for s in level.measurement.sigmas])[level.measurement.effects.owner]
            gap = effects(level, come) - effects(level, gone)
            total += float(np.sum((gap[sigmas > 0] / sigmas[sigmas > 0]) ** 2))
        return total

    return max(of(come, gone) for come, gone in pairs(shape, sensitivity))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_row_costs_exactly_what_is_claimed(shape: tuple[int, ...]) -> None:
    """the loss is Gaussian with mu^2 = `mu_squared`"""
    plan = planned(shape)
    levels = plan.release(people(shape, 50))
    assert sum((level.measurement.loss.mu_squared for level in levels), Fraction(0)) <= plan.mu_squared  # type: ignore[attr-defined]
    assert math.isclose(spent(levels, shape, ONE), float(plan.mu_squared), rel_tol=1e-6)


@pytest.mark.parametrize(
    ("sensitivity", "tight"),
    [(dp.Sensitivity.histogram(neighbours=REPLACE), 0.5), (dp.Sensitivity(l1=2, l2=2, linf=2, neighbours=ADD), 0.4)],
)
def test_units_of_two_rows_and_rows_that_are_replaced_cost_no_more(sensitivity: dp.Sensitivity, tight: float) -> None:
    shape = (2, 3, 2)
    levels = planned(shape, sensitivity).release(people(shape, 50))
    assert tight / 3 <= spent(levels, shape, sensitivity) <= 1 / 3 * (1 + 1e-9)


def test_a_unit_with_rows_in_different_cells_moves_marginals_by_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that are added up may all move the same way; the twin that takes l2 of the histogram is seen."""
    shape, apart = (20, 2), dp.Sensitivity(l1=2, l2="1.4142135623730951", linf=1, neighbours=ADD)
    plan = Survey(planned(shape).universe, ((0,),), apart, Fraction(1, 3))
    assert math.isclose(spent(plan.release(people(shape, 50)), shape, apart), 1 / 3, rel_tol=1e-6)
    monkeypatch.setattr(release.effects, "of_marginals", broken.of_marginals)
    assert spent(plan.release(people(shape, 50)), shape, apart) > 1 / 3 * 1.8


def grids_follow_from_releases(levels: list[Level]) -> bool:
    """Whether the groups are a function of the level before, as it was released."""
    most = dict(enumerate(survey._GROUPS, start=2))
    return all(
        all(
            np.array_equal(own, grouped(shares, most[level.order]))
            for own, shares in zip(level.grid, columns(levels[0]), strict=True)
        )
        for level in levels[1:]
    )


def test_grids_depend_on_what_was_released_and_on_nothing_else() -> None:
    """its groups depend on the level before only, as released"""
    shape = (40, 30, 5)
    rows = people(shape, 3000)
    assert all(grids_follow_from_releases(planned(shape).release(rows)) for _ in range(3))
    assert not all(
        grids_follow_from_releases(planned(shape, kind=broken.GroupedByTheTable).release(rows)) for _ in range(3)
    )


def test_what_is_measured_is_the_table_with_the_noise_that_is_stated() -> None:
    shape = (6, 20, 2)
    rows = people(shape, 4000)
    for level in planned(shape).release(rows):
        sigmas = np.array([float(s) for s in level.measurement.sigmas])[level.measurement.effects.owner]
        off = ((level.values - effects(level, rows)) / np.where(sigmas > 0, sigmas, 1))[sigmas > 0]
        assert np.abs(off).max() < 7  # beyond once in 1e11
        assert 0.3 < np.mean(off**2) < 2.2  # 25 numbers at the least
    assert {axes for level in planned(shape).release(rows) for axes in level.measured} == {
        axes for k in range(4) for axes in itertools.combinations(range(3), k)
    }


def test_rows_out_of_the_universe_are_left_out() -> None:
    shape = (3, 2)
    rows = np.array([[0, 1]] * 500 + [[3, 0], [-1, 1], [0, 7]] * 500)
    plan = Survey(planned(shape).universe, ((0, 1),), ONE, Fraction(100))
    assert abs(survey.total(plan.release(rows)[0]) - 500) < 10


@pytest.mark.parametrize("rows", [0, 1, 2000])
def test_few_rows_and_columns_of_one_value(rows: int) -> None:
    for shape in [(1,), (1, 1, 1), (3, 1), (1, 40, 2)]:
        levels = planned(shape).release(np.zeros((rows, len(shape)), np.int64))
        assert all(np.isfinite(level.values).all() for level in levels)
        for shares, n in zip(columns(levels[0]), shape, strict=True):
            assert shares.shape == (n,)
            assert shares.min() > 0
            assert math.isclose(shares.sum(), 1)


def test_groups_are_neighbours_with_about_as_many_rows() -> None:
    source = np.random.default_rng(5)
    for size, most in [(2, 4), (5, 2), (100, 16), (100, 4), (17, 16)]:
        for concentration in (0.01, 0.1, 10.0):
            shares = source.dirichlet(np.full(size, concentration))
            groups = grouped(shares, most)
            assert set(np.diff(groups).tolist()) <= {0, 1}
            assert groups[0] == 0
            assert 2 <= groups.max() + 1 <= max(2, min(most, size))
            held = np.bincount(groups, shares)
            alone = np.array([np.sum(groups == g) == 1 for g in range(groups.max() + 1)])
            if concentration == 10:
                assert (held[~alone] <= 2.5 / min(most, size)).all()
    for at in (0, 99):
        point = np.full(100, 1e-9)
        point[at] = 1
        assert grouped(point, 4).max() >= 1


def test_the_nearest_shares_are_nearest() -> None:
    source = np.random.default_rng(6)
    for size in (1, 2, 5, 30):
        values = source.normal(size=size)
        found = nearest_shares(values)
        assert found.min() >= 0
        assert math.isclose(found.sum(), 1)
        others = source.dirichlet(np.ones(size), 200)
        assert np.sum((found - values) ** 2) <= ((others - values) ** 2).sum(axis=1).min() + 1e-12


def test_it_is_opened_by_a_permit_and_refuses_what_it_cannot_measure() -> None:
    shape = (3, 20)
    plan, rows = planned(shape), people(shape, 100)
    account = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=1e-6))
    assert len(plan.open(Exact(rows, sensitivity=ONE, unit="row"), account.reserve(plan.loss))) == 2  # type: ignore[arg-type]
    wide = Exact(rows, sensitivity=dp.Sensitivity(l1=2, l2=2, neighbours=ADD), unit="row")
    with pytest.raises(InvalidParameter, match="more sensitive"):
        plan.open(wide, account.reserve(dp.Loss.gaussian(mu="0.01")))
    with pytest.raises(InvalidParameter, match="open"):
        plan.release(wide)  # type: ignore[arg-type]
    for wrong in (rows.astype(float), rows[:, :1], rows.reshape(-1), [[1, 2]]):
        with pytest.raises(InvalidParameter, match="whole numbers"):
            plan.release(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="l1"):
        planned(shape, dp.Sensitivity(l2=2, neighbours=ADD)).release(rows)


def test_places_are_those_of_the_cells() -> None:
    universe = dp.Universe({"a": 3, "b": dp.Category(["x", "y"])})
    frame = {"a": [2, 0, 9, 1], "b": ["y", "x", "x", "z"]}
    assert places(universe, frame).tolist() == [[2, 1], [0, 0]]
