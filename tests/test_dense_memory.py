"""A dense model is fitted with few arrays beside its own: at a hundred million cells each of them is 400 MB."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from discreet import dp, release
from discreet.release.effects import Effects
from discreet.release.max_entropy import fit
from discreet.release.model import DenseModel
from discreet.release.synthesize import synthesize

SHAPE = (5, 5, 5, 5, 4, 4, 4, 8)
CELLS = math.prod(SHAPE)
CLIQUES = list(itertools.combinations(range(len(SHAPE)), 3))[:20]
ADD = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)


def arrays(work: Callable[[], object]) -> float:
    """The most memory that a piece of work holds at a time, in 32-bit numbers a cell."""
    work()  # what is made once and kept is made
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 4 / CELLS
    finally:
        tracemalloc.stop()


def test_lifting_makes_one_dense_array_and_summing_none() -> None:
    effects = Effects(SHAPE, CLIQUES, np.float32)
    vector = np.random.default_rng(1).normal(size=len(effects.owner))
    dense = effects.adjoint(vector)
    assert 1 <= arrays(lambda: effects.adjoint(vector)) < 1.6
    assert arrays(lambda: effects.forward(dense)) < 0.5
    assert arrays(lambda: (effects.adjoint(vector), dense + 1)) > 2  # another array would be seen


def test_a_whole_synthesis_holds_two_arrays_at_most_beside_the_histogram() -> None:
    universe = dp.Universe({f"c{i}": size for i, size in enumerate(SHAPE)})
    histogram = np.random.default_rng(2).poisson(0.1, CELLS).astype(np.int32)
    workload = release.Workload([release.marginal(universe, *(f"c{i}" for i in clique)) for clique in CLIQUES[:6]])
    loss = dp.Loss.gaussian(mu="0.1")

    def work() -> DenseModel:
        return synthesize(universe, histogram, workload=workload, loss=loss, sensitivity=ADD)

    assert arrays(work) < 2.5


@pytest.mark.parametrize("rounds", [1, 30])
def test_a_fit_knows_the_statistics_of_the_cells_that_it_makes_when_asked(rounds: int) -> None:
    effects = Effects((3, 4, 5), [(0, 1), (1, 2)])
    cells = np.random.default_rng(3).poisson(20, 60).astype(float)
    measured, ones = effects.forward(cells), np.ones(len(effects.owner))
    found = fit(
        effects, measured, ones, rows=cells.sum(), curvature=cells.sum() * effects.uniform_variance(),
        centre=0 * ones, rounds=rounds,
    )  # fmt: skip
    assert np.allclose(effects.forward(found.cells), found.statistics, rtol=1e-9, atol=1e-6)
    assert math.isclose(found.cells.sum(), cells.sum(), rel_tol=1e-9)
