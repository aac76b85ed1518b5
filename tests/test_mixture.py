"""`mixture`: the marginals, answers and rows of a mixture of products, against its cells written down."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.mixture import MixtureModel
from discreet.release.model import Model
from tests.sizes import sized
from tests.statistics import share

SHAPES = [(2, 3, 4), (3,), (1, 4, 1, 2), (2, 2, 2, 2, 3)]


def mixture(shape: tuple[int, ...], components: int = 4, seed: int = 0) -> MixtureModel:
    source = np.random.default_rng(seed)
    universe = dp.Universe({f"c{i}": n for i, n in enumerate(shape)})
    shares = [source.dirichlet(np.full(n, 0.5), size=components) for n in shape]
    return MixtureModel(universe, 1000.0, source.dirichlet(np.ones(components)), shares)


def cells(model: MixtureModel) -> np.ndarray:
    """Every cell, from the definition: the sum over components of weight times the product of shares."""
    found = np.zeros(model.universe.shape)
    for place in np.ndindex(*model.universe.shape):
        for k, weight in enumerate(model.weights):
            found[place] += weight * math.prod(table[k, at] for table, at in zip(model.shares, place, strict=True))
    return found * model.rows


@pytest.mark.parametrize("shape", SHAPES)
def test_marginals_are_those_of_the_cells(shape: tuple[int, ...]) -> None:
    model = mixture(shape)
    exact = release.Marginals(cells(model), shape)
    for k in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), k):
            assert np.allclose(model.marginal(axes), exact(axes), rtol=1e-12), axes
            assert model.marginal(axes).shape == tuple(shape[axis] for axis in axes)


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_those_of_the_cells(shape: tuple[int, ...]) -> None:
    model = mixture(shape)
    universe = model.universe
    dense = release.Marginals(cells(model), shape)
    source = np.random.default_rng(1)
    for _ in range(20):
        kept = {
            name: source.choice(n, source.integers(1, n + 1), replace=False).tolist()
            for name, n in zip(universe.columns, shape, strict=True)
        }
        query = release.where(universe, **kept)
        for one in (query, query.complement()):
            assert math.isclose(model.answer(one), one.answer(dense(one.axes)), rel_tol=1e-10, abs_tol=1e-9)
    workload = release.all_marginals(universe, order=min(2, len(shape)))
    assert np.allclose(model.answers(workload), workload.answers(dense))


def test_a_conjunction_of_all_columns_of_a_large_universe_is_answered_and_its_marginal_is_not_written_down() -> None:
    model = mixture((100,) * 8)
    query = release.where(model.universe, **{name: [0, 1, 2] for name in model.universe.columns})
    each = [math.prod(float(table[k, :3].sum()) for table in model.shares) for k in range(len(model.weights))]
    assert math.isclose(model.answer(query), 1000 * float(model.weights @ np.array(each)), rel_tol=1e-10)
    with pytest.raises(NotSupported, match="fewer columns"):
        model.marginal(tuple(range(8)))


def test_rows_have_the_counts_of_the_components_to_within_one() -> None:
    """either is rounded at random, so that none is off by 1 or more"""
    model = mixture((5, 7, 3), components=6, seed=2)
    n = 10_000
    drawn = model.sample(n)
    for axis, name in enumerate(model.universe.columns):
        counts = np.bincount(np.asarray(drawn[name]), minlength=model.universe.shape[axis])
        assert np.all(np.abs(counts - n * model.marginal((axis,)) / model.rows) <= 2 * len(model.weights))
    assert len(mixture((5,)).sample(1)["c0"]) == 1


def test_every_row_has_the_law_of_the_model() -> None:
    """One row at a time is a draw from the cells, and not from the product of the columns."""
    universe = dp.Universe({"a": 2, "b": 2})
    model = MixtureModel(universe, 10.0, np.array([0.5, 0.5]), [np.array([[0.9, 0.1], [0.2, 0.8]])] * 2)
    chance = cells(model)[1, 1] / 10
    apart = (model.marginal((0,))[1] / 10) ** 2

    def right(n: int) -> np.ndarray:
        return np.array([model._codes(2)[0] == 3 for _ in range(n)])

    def independent(n: int) -> np.ndarray:
        return np.random.default_rng(3).random(n) < apart

    check = share(lambda draws: draws, chance, sized(4000, 40_000))
    check.run(right, wrong={"columns that know nothing of each other": independent})


def test_a_mixture_is_saved_and_read_again(tmp_path: Path) -> None:
    model = mixture((2, 3, 4))
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert isinstance(again, MixtureModel)
    assert again.universe == model.universe
    assert np.array_equal(again.marginal((0, 2)), model.marginal((0, 2)))
    assert again.rows == model.rows


def test_what_is_no_mixture_is_refused() -> None:
    universe = dp.Universe({"a": 2, "b": 3})
    ones, twos, threes = np.ones(1), np.full((1, 2), 0.5), np.full((1, 3), 1 / 3)
    for rows, weights, shares in [
        (1.0, ones, [twos]),
        (1.0, ones, [threes, twos]),
        (-1.0, ones, [twos, threes]),
        (math.nan, ones, [twos, threes]),
        (1.0, ones * 2, [twos, threes]),
        (1.0, ones, [twos, threes * 2]),
        (1.0, np.zeros(0), [np.zeros((0, 2)), np.zeros((0, 3))]),
    ]:
        with pytest.raises(InvalidParameter, match="mixture"):
            MixtureModel(universe, rows, weights, shares)
    with pytest.raises(InvalidParameter, match="sorted"):
        mixture((2, 3)).marginal((1, 0))
