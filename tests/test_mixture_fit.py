"""`mixture_fit`: chi^2 and its gradients from their definitions, and where a fit stops."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.release import mixture_fit
from discreet.release.mixture import MixtureModel
from discreet.release.mixture_fit import Evidence, fit, softmax
from discreet.release.survey import Level, Survey, total
from tests.test_survey import ONE, effects, people

SHAPES = [(3, 20, 2, 4), (5,), (1, 3, 2), (4, 6)]


def surveyed(shape: tuple[int, ...], rows: np.ndarray, mu_squared: Fraction = Fraction(4)) -> list[Level]:
    universe = dp.Universe({f"c{i}": n for i, n in enumerate(shape)})
    workload = release.all_marginals(universe, order=min(3, len(shape)))
    return Survey(universe, workload.maximal_cliques, ONE, mu_squared).release(rows)


def logits(shape: tuple[int, ...], components: int) -> np.ndarray:
    return np.random.default_rng(4).normal(size=(components, 1 + sum(shape)))


def mixed(shape: tuple[int, ...], numbers: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    parts = np.split(numbers[:, 1:], np.cumsum(shape)[:-1], axis=1)
    return softmax(numbers[:, 0]), [softmax(part) for part in parts]


def chi_squared(levels: list[Level], weights: np.ndarray, shares: list[np.ndarray]) -> float:
    """From the definition: effects of the dense cells of the mixture, less those released, over the noise."""
    shape = tuple(table.shape[1] for table in shares)
    universe = dp.Universe({f"c{i}": n for i, n in enumerate(shape)})
    model = MixtureModel(universe, total(levels[0]), weights, shares)
    cells = model.marginal(tuple(range(len(shape))))
    found = 0.0
    for level in levels:
        held = cells
        for axis, groups in enumerate(level.grid):
            merged = np.zeros((int(groups.max()) + 1, cells.shape[axis]))
            merged[groups, np.arange(len(groups))] = 1
            held = np.moveaxis(np.tensordot(merged, held, axes=(1, axis)), 0, axis)
        sigmas = np.array([float(s) for s in level.measurement.sigmas])[level.measurement.effects.owner]
        own = level.measurement.effects.of_marginals(release.Marginals(held, held.shape))
        off = (own - level.values)[sigmas > 0] / sigmas[sigmas > 0]
        found += float(off @ off)
        if () in level.measured:
            found -= (total(levels[0]) - level.measured[()][0].item()) ** 2 / level.measured[()][1] ** 2
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_half_of_chi_squared_is_that_of_the_definition(shape: tuple[int, ...]) -> None:
    levels = surveyed(shape, people(shape, 500))
    weights, shares = mixed(shape, logits(shape, 3))
    value, _, _ = Evidence.of(levels).missed([s.astype(np.float32) for s in shares], weights.astype(np.float32))
    assert math.isclose(2 * value, chi_squared(levels, weights, shares), rel_tol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_its_gradients_are_those_of_differences(shape: tuple[int, ...]) -> None:
    levels = surveyed(shape, people(shape, 500))
    weights, shares = mixed(shape, logits(shape, 3))
    single = [s.astype(np.float32) for s in shares], weights.astype(np.float32)
    _, by_share, by_weight = Evidence.of(levels).missed(*single)
    source = np.random.default_rng(5)
    for _ in range(5):
        step = source.normal(size=(3, 1 + sum(shape)))
        slopes = [
            part - part.mean(axis=1, keepdims=True) for part in np.split(step[:, 1:], np.cumsum(shape)[:-1], axis=1)
        ]
        along = step[:, 0] - step[:, 0].mean()
        h = 1e-4
        ends = [
            chi_squared_free(
                levels, weights + s * h * along, [t + s * h * d for t, d in zip(shares, slopes, strict=True)]
            )
            for s in (1, -1)
        ]
        expected = (ends[0] - ends[1]) / (4 * h)
        found = float(by_weight @ along) + sum(float(np.vdot(g, d)) for g, d in zip(by_share, slopes, strict=True))
        assert math.isclose(found, expected, rel_tol=5e-3, abs_tol=1e-2 * abs(expected) + 1e-3)


def chi_squared_free(levels: list[Level], weights: np.ndarray, shares: list[np.ndarray]) -> float:
    """The same for tables that need not be shares."""
    rows, found = total(levels[0]), 0.0
    for level in levels:
        bases = level.bases()
        for axes, (part, sigma) in level.measured.items():
            if axes:
                points = [shares[axis] @ bases[axis].T for axis in axes]
                letters = "abc"[: len(axes)]
                formula = "k," + ",".join("k" + one for one in letters) + "->" + letters
                found += float(np.sum((rows * np.einsum(formula, weights, *points) - part) ** 2)) / sigma**2
    return found


def last(levels: list[Level], components: int = 16) -> mixture_fit.Found:
    sizes = sum(len(groups) for groups in levels[0].grid)
    *_, found = fit(Evidence.of(levels), 0.2 * np.random.default_rng(6).normal(size=(components, sizes)))
    return found


def test_a_fit_stops_where_the_truth_would_be() -> None:
    """until chi^2 has come down to the number of effects measured, which is what the truth would give"""
    shape = (3, 20, 2, 4)
    rows = people(shape, 5000)
    same = np.random.default_rng(7).random(5000) < 0.5
    rows[same, 3] = rows[same, 0]
    levels = surveyed(shape, rows, Fraction(1, 16))
    found = last(levels, 32)
    assert 0.9 < found.misfit <= 1
    exact = [effects(level, rows) for level in levels]
    sigmas = [np.array([float(s) for s in one.measurement.sigmas])[one.measurement.effects.owner] for one in levels]
    truth = [((one.values - e)[s > 0] / s[s > 0]) ** 2 for one, e, s in zip(levels, exact, sigmas, strict=True)]
    every = np.concatenate(truth)
    assert abs(every.mean() - 1) < 7 * math.sqrt(2 / every.size)


def test_columns_that_know_nothing_of_each_other_stay_so() -> None:
    """and is no more mixed than that"""
    shape = (4, 5, 3)
    rows = people(shape, 20_000)
    found = last(surveyed(shape, rows))
    assert max(dependence(found, *pair) for pair in itertools.combinations(range(3), 2)) < 0.05
    copied = rows.copy()
    copied[:, 1] = copied[:, 0]
    assert dependence(last(surveyed(shape, copied)), 0, 1) > 0.4


def dependence(found: mixture_fit.Found, one: int, other: int) -> float:
    """How far a pair of columns is from the product of both, in total variation."""
    pair = (found.weights[:, None] * found.shares[one]).T @ found.shares[other]
    return float(np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum() / 2)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (30, 1, 2)])
def test_nearly_nothing_is_fitted_too(shape: tuple[int, ...], rows: int) -> None:
    found = last(surveyed(shape, np.zeros((rows, len(shape)), np.int64)))
    assert all(np.isfinite(table).all() for table in [found.weights, *found.shares])
    assert all(math.isclose(total, 1) for total in itertools.chain(*(table.sum(axis=1) for table in found.shares)))
