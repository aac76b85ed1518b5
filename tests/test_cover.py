"""A histogram measured once: what it promises for every query, held to the exact law of its errors."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.private import Exact
from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.release.cover import Cover
from tests.broken import covers as broken
from tests.sizes import sized

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
HISTOGRAMS = {near: dp.Sensitivity.histogram(neighbours=near) for near in (ADD, REPLACE)}


def cover(cells: int, scale: int, *, public: bool, kind: type[Cover] = Cover) -> Cover:
    near = REPLACE if public else ADD
    noise = dp.Laplace(sensitivity=HISTOGRAMS[near], scale=scale)
    return kind(dp.Universe({"a": cells}), noise, 1000 if public else None)


def exact_chances(found: Cover, ones: int) -> np.ndarray:
    """P(|error| > a / cells) for a = 0, 1, ... of a query with so many weights of 1: sums of independent numbers."""
    cells, scale = found.universe.size, float(found.noise.scale)
    reach = int(40 * scale)
    steps = np.arange(-reach, reach + 1)
    law = math.tanh(1 / (2 * scale)) * np.exp(-abs(steps) / scale)

    def spread(coefficient: int) -> np.ndarray:
        wide = np.zeros(2 * reach * abs(coefficient) + 1)
        wide[:: max(1, abs(coefficient))] = law if coefficient else 1
        return wide

    inside, outside = (cells - ones, -ones) if found.rows is not None else (cells, 0)
    coefficients = [inside] * ones + [outside] * (cells - ones)
    total = reduce(np.convolve, [spread(coefficient) for coefficient in coefficients if coefficient], np.ones(1))
    middle = len(total) // 2
    both = total[middle + 1 :] + total[middle - 1 :: -1][:middle]
    return np.append(np.cumsum(both[::-1])[::-1], 0.0)


def holds(found: Cover) -> bool:
    """any one linear query of the universe, with weights in [0, 1], is off by more than alpha with a chance of at most
    `chance_beyond(alpha)`"""
    cells, scale = found.universe.size, float(found.noise.scale)
    alphas = [share * scale for share in (1, 2, 4, 8, 12)]
    for ones in range(1, cells + 1):
        if found.rows is not None and ones == cells:
            continue  # the public number of rows, answered exactly
        beyond = exact_chances(found, ones)
        for alpha in alphas:
            place = math.floor(alpha * cells)
            if place < len(beyond) and beyond[place] > found.chance_beyond(Fraction(alpha)) * (1 + 1e-9):
                return False
    return True


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(("cells", "scale"), [(1, 3), (2, 2), (3, 2), (4, 1)])
def test_the_promise_holds_for_every_predicate(cells: int, scale: int, public: bool) -> None:
    assert holds(cover(cells, scale, public=public))


@pytest.mark.parametrize("kind", [broken.Normal, broken.Spread])
def test_promises_that_forget_something_are_rejected(kind: type[Cover]) -> None:
    assert not holds(cover(3, 2, public=False, kind=kind))


def test_a_promise_of_one_side_is_rejected() -> None:
    """by the bound itself, at the one cell for which it is sharpest"""
    right, wrong = (cover(1, 30, public=False, kind=kind) for kind in (Cover, broken.OneSided))
    for share in (2, 4, 8):
        alpha = Fraction(30 * share)
        one_side = min(math.exp(-s * share - math.log1p(-(s**2))) for s in np.linspace(0.01, 0.99, 99))
        assert right.chance_beyond(alpha) >= min(1, 1.99 * one_side)
        assert wrong.chance_beyond(alpha) < 1.5 * one_side


def test_the_bound_is_near_the_truth() -> None:
    """that of a chance of 1e-3 promises an error that is at most a third more than the exact one"""
    found = cover(4, 2, public=False)
    beyond = exact_chances(found, 4)
    exact = int(np.argmax(beyond <= 1e-3)) / 4
    assert found.chance_beyond(Fraction(exact)) >= 1e-3
    assert found.chance_beyond(Fraction(exact) * Fraction(4, 3)) <= 1e-3


@pytest.mark.parametrize("scale", [Fraction(1, 2), 3, 100])
def test_the_moment_is_that_of_the_noise(scale: Fraction) -> None:
    found = cover(1, 1, public=False)
    object.__setattr__(found, "noise", dp.Laplace(sensitivity=HISTOGRAMS[ADD], scale=scale))
    b = float(scale)
    steps = np.arange(-int(4000 * b), int(4000 * b) + 1)
    for share in (0.1, 0.5, 0.9):
        direct = math.log(math.tanh(1 / (2 * b)) * float(np.sum(np.exp((share * steps - abs(steps)) / b))))
        assert math.isclose(float(found._log_moment(np.array([share / b]))[0]), direct, rel_tol=1e-9)
    assert found._log_moment(np.array([1 / b]))[0] == math.inf


def test_many_cells_are_bounded_by_intervals_that_hold_them() -> None:
    few, many = (cover(cells, 5, public=True) for cells in (8000, 8400))
    s = 0.05 / 5
    assert few._log_product(s) <= many._log_product(s) <= 1.06 * few._log_product(s)
    ones = np.arange(8400 // 2 + 1) / 8400
    each = ones * many._log_moment(s * (1 - ones)) + (1 - ones) * many._log_moment(s * ones)
    assert 8400 * float(each.max()) <= many._log_product(s) <= 1.01 * 8400 * float(each.max())


def test_the_contract_of_34425_predicates_costs_little() -> None:
    universe = dp.Universe({"positive": 2, "gender": 2, "age": 4, "ethnicity": 8})
    asked = {"alpha": "50426.6", "failure_probability": "0.001", "sensitivity": HISTOGRAMS[REPLACE]}
    found = Cover.for_accuracy(universe, rows=1_008_532, **asked)
    assert found.chance_beyond("50426.6") <= 0.001 < found.chance_beyond("50000")
    assert found.loss.epsilon(delta=0) <= 0.0013
    assert 1.9 < Cover.for_accuracy(universe, **asked).noise.epsilon / found.noise.epsilon < 2.1  # rows kept private


def test_cells_are_centred_and_add_up_to_the_public_rows() -> None:
    """the loss is pure, epsilon = l1 / scale, for all queries that are ever asked of the cells"""
    found = cover(50, 3, public=True)
    assert found.loss.epsilon(delta=0) == pytest.approx(2 / 3, abs=1e-12)
    histogram = np.arange(50) * 40
    found = Cover(found.universe, found.noise, int(histogram.sum()))
    runs = sized(200, 4000)
    released = np.array([found.release(histogram) for _ in range(runs)])
    assert np.allclose(released.sum(axis=1), histogram.sum())
    deviations = (released - histogram).mean(axis=0) / math.sqrt(18 * 49 / 50 / runs)
    assert abs(deviations).max() < 6  # alpha = 1e-7 over 50 cells; sharing noise wrongly moves cells by much more
    assert 0.7 < np.var(released - histogram) / (18 * 49 / 50) < 1.4  # 6 standard deviations at 10,000 numbers


def test_it_is_opened_by_a_permit_and_asked_through_marginals() -> None:
    found = cover(6, 2, public=True)
    histogram = np.array([100, 200, 300, 50, 50, 300])
    account = dp.PrivacyFilter(dp.Budget(epsilon=1))
    exact = Exact(histogram, sensitivity=HISTOGRAMS[REPLACE], unit="row")
    cells = found.open(exact, account.reserve(found.loss))
    with pytest.raises(BudgetExceeded):
        account.reserve(found.loss)
    wide, other = dp.Sensitivity(l1=4, neighbours=REPLACE), dp.PrivacyFilter(dp.Budget(epsilon=9))
    with pytest.raises(InvalidParameter, match="more sensitive"):
        found.open(Exact(histogram, sensitivity=wide, unit="row"), other.reserve(found.loss))
    query = release.where(found.universe, a=[0, 1])
    assert query.answer(release.Marginals(cells, (6,))((0,))) == pytest.approx(cells[:2].sum())


def test_what_would_leak_or_promise_nothing_is_refused() -> None:
    universe = dp.Universe({"a": 4})
    with pytest.raises(InvalidParameter, match="public only under"):
        Cover(universe, dp.Laplace(sensitivity=HISTOGRAMS[ADD], scale=3), 10)
    with pytest.raises(InvalidParameter, match="whole number of at least 0"):
        Cover(universe, dp.Laplace(sensitivity=HISTOGRAMS[REPLACE], scale=3), -1)
    with pytest.raises(InvalidParameter, match="no cover is that accurate"):
        Cover.for_accuracy(universe, alpha="0.1", failure_probability="1e-6", sensitivity=HISTOGRAMS[ADD])
    found = cover(4, 3, public=True)
    with pytest.raises(InvalidParameter, match="open"):
        found.release(Exact(np.zeros(4, int), sensitivity=HISTOGRAMS[REPLACE], unit="row"))
    with pytest.raises(InvalidParameter, match="histogram is an array"):
        found.release(np.zeros(5, int))
