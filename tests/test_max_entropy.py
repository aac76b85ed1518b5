"""`max_entropy`: tables of greatest entropy against closed forms, against fitting in proportion, and by the gap."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.release.effects import Effects
from discreet.release.marginals import Marginals
from discreet.release.max_entropy import Fit, fit

SHAPE = (2, 3, 4)
CELLS = math.prod(SHAPE)
PAIRS = list(itertools.combinations(range(3), 2))
TABLE = np.random.default_rng(4).gamma(0.7, size=CELLS) * 40


def solved(
    effects: Effects, measured: np.ndarray, slack: float, prior: np.ndarray | None = None, rounds: int = 2000
) -> Fit:
    rows = float(measured[0])
    return fit(
        effects, measured, np.full(len(measured), slack), rows=rows, curvature=rows * effects.uniform_variance(),
        centre=np.zeros(len(measured)), rounds=rounds, prior=prior,
    )  # fmt: skip


def in_proportion(cells: np.ndarray, wanted: np.ndarray, cliques: list[tuple[int, ...]], passes: int) -> np.ndarray:
    """Iterative proportional fitting, from its definition."""
    found = cells.reshape(SHAPE).copy()
    for _ in range(passes):
        for clique in cliques:
            others = tuple(axis for axis in range(3) if axis not in clique)
            target = wanted.reshape(SHAPE).sum(axis=others, keepdims=True)
            found = found * target / found.sum(axis=others, keepdims=True)
    return found.reshape(-1)


def gap(effects: Effects, measured: np.ndarray, slack: float, found: Fit) -> float:
    """The dual less the primal: at least 0, and 0 at the solution alone."""
    rows, cells, nu = float(measured[0]), np.asarray(found.cells, np.float64), found.multipliers
    theta = np.asarray(effects.adjoint(nu), np.float64)
    top = theta.max()
    dual = rows * (top + math.log(np.exp(theta - top).sum())) - nu @ measured + slack * (nu @ nu) / 2
    kept = cells[cells > 0]
    primal = -(kept @ np.log(kept / rows)) - ((effects.forward(cells) - measured) ** 2).sum() / (2 * slack)
    return float(dual - primal)


def test_single_columns_make_the_product_of_their_marginals() -> None:
    effects = Effects(SHAPE, [(0,), (1,), (2,)])
    found = solved(effects, effects.forward(TABLE), 1e-9)
    each = [Marginals(TABLE, SHAPE)((axis,)) / TABLE.sum() for axis in range(3)]
    product = TABLE.sum() * np.einsum("i,j,k->ijk", *each).reshape(-1)
    assert np.allclose(found.cells, product, rtol=1e-5)
    assert not np.allclose(found.cells, TABLE, rtol=0.1)


def test_pairs_that_close_a_circle_agree_with_fitting_in_proportion() -> None:
    effects = Effects(SHAPE, PAIRS)
    found = solved(effects, effects.forward(TABLE), 1e-9)
    assert np.allclose(found.cells, in_proportion(np.ones(CELLS), TABLE, PAIRS, 3000), rtol=1e-4)
    assert not np.allclose(found.cells, in_proportion(np.ones(CELLS), TABLE, PAIRS, 1), rtol=1e-4)


def test_a_prior_is_where_the_table_starts_from() -> None:
    effects, prior = Effects(SHAPE, [(0, 1)]), np.random.default_rng(5).normal(size=CELLS)
    found = solved(effects, effects.forward(TABLE), 1e-9, prior)
    assert np.allclose(found.cells, in_proportion(np.exp(prior), TABLE, [(0, 1)], 1), rtol=1e-5)


@pytest.mark.parametrize("slack", [0.5, 20.0, 400.0])
def test_the_gap_between_the_table_and_its_multipliers_closes(slack: float) -> None:
    """A gap of 0 proves that the table is the best one, whoever found it."""
    effects = Effects(SHAPE, PAIRS)
    noisy = effects.forward(TABLE) + np.random.default_rng(6).normal(scale=5, size=int(effects.sizes.sum()))
    found = solved(effects, noisy, slack)
    assert -1e-7 < gap(effects, noisy, slack, found) < 1e-6
    assert gap(effects, noisy, slack, solved(effects, noisy, slack, rounds=3)) > 1e-3  # not finished, and it shows
    left = effects.forward(found.cells) - noisy + slack * found.multipliers
    assert np.abs(left).max() < 1e-3
    assert np.allclose(found.statistics, effects.forward(found.cells), atol=1e-6)


def test_single_precision_finds_the_table_of_double_precision() -> None:
    noise = np.random.default_rng(7).normal(scale=3, size=int(Effects(SHAPE, PAIRS).sizes.sum()))
    single, double = (Effects(SHAPE, PAIRS, kind) for kind in (np.float32, np.float64))
    noisy = double.forward(TABLE) + noise
    one, two = solved(single, noisy, 9.0), solved(double, noisy, 9.0)
    assert one.cells.dtype == np.float32
    assert np.abs(one.cells - two.cells).sum() < 2e-4 * TABLE.sum()
    assert abs(gap(double, noisy, 9.0, one)) < 1e-4 * TABLE.sum()


def test_cells_add_up_to_the_rows_however_large_the_multipliers_are() -> None:
    effects = Effects((2, 2), [(0, 1)])
    impossible = np.array([1000.0, 1e5, -1e5, 1e5])  # no table has these effects
    found = solved(effects, impossible, 1e-3)
    assert np.isfinite(found.cells).all()
    assert math.isclose(float(found.cells.sum()), 1000.0, rel_tol=1e-6)
