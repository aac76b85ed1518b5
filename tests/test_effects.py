"""`effects`: what marginals say beyond smaller ones, and the price of measuring it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.private import Exact
from discreet.dp.rational import sqrt_up
from discreet.errors import InvalidParameter
from discreet.release.effects import Effects, MeasuredEffects, coordinates, coordinates_of_effect, expanded
from discreet.release.marginals import Marginals
from discreet.release.separable import Separable, contrasts
from tests.broken import surveys
from tests.broken import synthesis as broken
from tests.closed_forms import gaussian_delta, mp, mpf
from tests.noise_laws import real, rounded_mass
from tests.sizes import sized
from tests.statistics import share

SHAPES = [(2,), (3, 2), (2, 3, 4), (2, 2, 2, 2, 2), (5, 1, 3)]
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
ONE = dp.Sensitivity.histogram(neighbours=ADD)


def cliques(shape: tuple[int, ...], order: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(len(shape)), min(order, len(shape))))


def projection(cells: tuple[int, ...]) -> np.ndarray:
    """The projection of a marginal on its effect, written down from its definition."""
    found = np.ones((1, 1))
    for n in cells:
        found = np.kron(found, np.eye(n) - np.ones((n, n)) / n)
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_contrasts_are_orthonormal_and_the_first_is_constant(n: int) -> None:
    rows = contrasts(n)
    assert np.allclose(rows @ rows.T, np.eye(n), atol=1e-12)
    assert np.allclose(rows[0], 1 / math.sqrt(n))


@pytest.mark.parametrize("shape", [*SHAPES, (70, 3), (3, 70, 2)])
def test_the_transform_is_that_of_each_axis_and_its_inverse_is_its_adjoint(shape: tuple[int, ...]) -> None:
    transform = Separable.of(shape, np.float64)
    source = np.random.default_rng(1)
    cells, other = source.normal(size=(2, math.prod(shape)))
    direct = cells.reshape(shape)
    for axis, n in enumerate(shape):
        direct = np.moveaxis(np.tensordot(contrasts(n), direct, axes=(1, axis)), 0, axis)
    assert np.allclose(transform.forward(cells), direct.reshape(-1))
    assert np.allclose(transform.inverse(transform.forward(cells)), cells)
    assert math.isclose(transform.forward(cells) @ other, cells @ transform.inverse(other), abs_tol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_effect_is_the_projection_of_its_marginal(shape: tuple[int, ...]) -> None:
    """the part of the marginal over R that sums to 0 along each of them"""
    source = np.random.default_rng(2)
    for part in (axes for order in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), order)):
        cells = tuple(shape[axis] for axis in part)
        table = source.normal(size=cells)
        own = coordinates(table, cells)
        projected = (projection(cells) @ table.reshape(-1)).reshape(cells)
        assert np.allclose(expanded(own, cells), projected)
        assert math.isclose(float(own @ own), float(np.sum(projected**2)), abs_tol=1e-9)


@pytest.mark.parametrize("tables", [0, 1000])
@pytest.mark.parametrize("shape", SHAPES)
def test_effects_of_cells_and_of_marginals_agree_and_the_adjoint_is_one(
    shape: tuple[int, ...], tables: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.release.effects._MOST_TABLES", tables)  # both ways there are
    monkeypatch.setattr("discreet.release.effects._FEW_CELLS", 0)
    effects = Effects(shape, cliques(shape, 3))
    source = np.random.default_rng(3)
    cells, vector = source.normal(size=math.prod(shape)), source.normal(size=int(effects.sizes.sum()))
    assert np.allclose(effects.forward(cells), effects.of_marginals(Marginals(cells, shape)))
    assert math.isclose(effects.forward(cells) @ vector, cells @ effects.adjoint(vector), abs_tol=1e-9)
    together = sum(math.prod(shape[axis] - 1 for axis in part) for part in effects.sets)
    assert together == effects.sizes.sum() == len(effects.owner)


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 3), (2, 5)])
def test_a_row_moves_an_effect_by_its_leverage_and_n_times_it_on_the_lattice(shape: tuple[int, ...]) -> None:
    """A row has P of length the root of the product of (1 - 1/n); N P(x - x') is a vector of whole numbers"""
    effects = Effects(shape, [tuple(range(len(shape)))])
    for number, part in enumerate(effects.sets):
        cells = effects.cells(part)
        unit = math.prod(cells)
        exact = projection(cells) * unit
        assert np.allclose(exact, np.rint(exact), atol=1e-9)
        lengths = (projection(cells) ** 2).sum(axis=0)
        assert np.allclose(lengths, effects.leverage()[number])


def moved(measured: MeasuredEffects, one: np.ndarray, other: np.ndarray) -> float:
    """mu^2 of the pair: the sum of the squares of how far the effects move, in units of the noise."""
    effects = measured.effects
    gap = effects.of_marginals(Marginals(one - other, effects.shape)) ** 2
    variances = np.array([float(s) for s in measured.sigmas])[effects.owner] ** 2
    return float(np.sum(gap / variances))


def worst(measured: MeasuredEffects, rows: int, neighbours: dp.Neighbours) -> float:
    """The greatest mu^2 over all pairs of tables that differ in one unit of so many rows."""
    size = math.prod(measured.effects.shape)
    units = [np.bincount(cells, minlength=size) for cells in itertools.combinations_with_replacement(range(size), rows)]
    none = np.zeros(size, np.int64)
    others = [none] if neighbours is ADD else units
    return max(moved(measured, one, other) for one in units for other in others)


@pytest.mark.parametrize(
    ("rows", "neighbours", "sensitivity"),
    [
        (1, ADD, ONE),
        (1, REPLACE, dp.Sensitivity.histogram(neighbours=REPLACE)),
        (2, ADD, dp.Sensitivity(l1=2, l2=2, neighbours=ADD)),
    ],
)
@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 2)])
def test_the_loss_is_that_of_the_worst_pair_or_more(
    shape: tuple[int, ...], rows: int, neighbours: dp.Neighbours, sensitivity: dp.Sensitivity
) -> None:
    """Guarantee: the loss is Gaussian with mu^2 = the sum over the sets R of s_R^2 / sigma_R^2, where s_R is the least
    of l2 and l1 times the root of the product of (1 - 1/n) over the columns of R, of what marginals move by if the
    histogram moves by `sensitivity`.
    """
    effects = Effects(shape, cliques(shape, 2))
    shares = np.full(len(effects.sets), 1 / len(effects.sets))
    measured = MeasuredEffects.sharing(effects, sensitivity, mu_squared=Fraction(1, 3), shares=shares)
    l1, l2_squared = (2, 2) if neighbours is REPLACE else (rows, rows**2)  # of any marginal
    formula = Fraction(0)
    for part, sigma in zip(effects.sets, measured.sigmas, strict=True):
        leverage = math.prod(1 - Fraction(1, shape[axis]) for axis in part)
        formula += min(Fraction(l2_squared), l1**2 * leverage) / sigma**2
    assert measured.loss == GaussianLoss(measured.loss.mu_squared)
    assert formula <= measured.loss.mu_squared <= formula * (1 + Fraction(1, 10**12))
    claimed = float(measured.loss.mu_squared)
    assert claimed <= 1 / 3
    truth = worst(measured, rows, neighbours)
    assert truth <= claimed * (1 + 1e-12)
    if rows == 1 and neighbours is ADD:
        assert math.isclose(truth, claimed, rel_tol=1e-9)  # every row has the same leverage
        assert math.isclose(claimed, 1 / 3, rel_tol=1e-9)
    else:  # the same check rejects the twin that forgets who moves
        assert truth > float(broken.loss_without_units(measured)) * (1 + 1e-12)


def test_a_unit_with_rows_in_different_cells_moves_marginals_by_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """what marginals move by if the histogram moves by `sensitivity`; the twin that takes its l2 is seen"""
    effects = Effects((2, 3), [(0, 1)])
    apart = dp.Sensitivity(l1=2, l2=sqrt_up(Fraction(2)), linf=1, neighbours=ADD)
    units = [np.bincount(cells, minlength=6) for cells in itertools.combinations(range(6), 2)]

    def let_out() -> float:
        sharing = {"mu_squared": Fraction(1, 3), "shares": np.array([0.5, 0.2, 0.2, 0.1])}
        measured = MeasuredEffects.sharing(effects, apart, **sharing)  # type: ignore[arg-type]
        return max(moved(measured, unit, np.zeros(6, np.int64)) for unit in units)

    assert let_out() <= 1 / 3
    monkeypatch.setattr(release.effects, "of_marginals", surveys.of_marginals)
    assert let_out() > 1 / 3 * 1.2
    monkeypatch.undo()
    with pytest.raises(InvalidParameter, match="l2 does not bound"):
        MeasuredEffects.sharing(
            effects, dp.Sensitivity(l2=1, neighbours=ADD), mu_squared=Fraction(1), shares=np.ones(4) / 4
        )


@pytest.mark.parametrize("most", [2**40, 2**53, 2**61])
def test_counts_of_any_size_are_measured_without_wrapping_around(most: int) -> None:
    effects = Effects((2, 3), [(0, 1)])
    measured = MeasuredEffects.sharing(effects, ONE, mu_squared=Fraction(1), shares=np.full(4, 1 / 4))
    table = np.array([most, 0, 0, 5, 0, most])
    assert np.allclose(measured.release(table), effects.forward(table.astype(float)), rtol=1e-9, atol=40)


@pytest.mark.parametrize("scale", [10, 10**6, 10**15, 2**61])
@pytest.mark.parametrize("cells", [(), (2,), (3,), (2, 2), (5, 1), (3, 4, 2)])
def test_no_digit_depends_on_what_is_thrown_away(cells: tuple[int, ...], scale: int) -> None:
    """of the sum only the effect is kept, to the last digit; the twin that projects in doubles is seen"""
    source, alike = np.random.default_rng(6), {"kept": 0, "twin": 0}
    for _ in range(50):
        one = source.integers(-scale, scale, size=cells).astype(object)
        other = one.copy()
        for axis in range(len(cells)):  # what is constant along one column is in no effect
            there = [1 if place == axis else size for place, size in enumerate(cells)]
            other = other + source.integers(-scale, scale, size=there)
        for name, kept in (("kept", coordinates_of_effect), ("twin", broken.digits_of_all)):
            alike[name] += np.array_equal(kept(one, cells), kept(other, cells))
        assert np.allclose(kept(one, cells), coordinates_of_effect(one, cells), rtol=1e-9, atol=1e-9 * scale)
        if scale < 2**61:
            assert np.array_equal(coordinates_of_effect(one.astype(np.int64), cells), coordinates_of_effect(one, cells))
    assert alike["kept"] == 50
    assert (alike["twin"] < 50) is (cells not in ((), (5, 1)))  # where there is nothing to throw away, or all of it


def law_of_difference(sigma: Fraction, reach: int) -> dict[int, mpf]:
    each = {k: rounded_mass(sigma, k) for k in range(-reach, reach + 1)}
    law: dict[int, mpf] = {}
    for a, p in each.items():
        for b, q in each.items():
            law[a - b] = law.get(a - b, mpf(0)) + p * q
    return law


def excess(sigma: Fraction, unit: int, epsilon: float) -> mpf:
    """delta of what is kept of a column of two cells, over that of the curve claimed; by enumeration.

    Kept is the difference of the cells, each `unit` times a count plus rounded noise of `unit` sigma.
    """
    far = 9 + math.ceil(2 * epsilon * sigma)  # standard deviations: what is left out is far below delta
    law = law_of_difference(sigma * unit, math.ceil(far * sigma * unit) + 1)
    odds = mp.exp(mpf(epsilon))
    delta = sum((max(mpf(0), p - odds * law.get(k - unit, mpf(0))) for k, p in law.items()), start=mpf(0))
    return delta / gaussian_delta(mpf(epsilon), 1 / (real(sigma) * mp.sqrt(2)))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0, 9.0])
def test_the_effect_of_a_column_of_two_has_the_curve_that_is_claimed(epsilon: float) -> None:
    """two rounded normal releases N |P(x - x')| apart"""
    for sigma in (Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(2)):
        assert excess(sigma, 2, epsilon) <= 1 + mpf(10) ** -9
    assert max(excess(Fraction(1, 4), 1, e) for e in (0.5, 2.0, 5.0, 9.0)) > 1.05  # on whole counts it is not


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2)])
def test_measured_effects_are_centred_with_the_noise_they_state(shape: tuple[int, ...]) -> None:
    """Normal noise of the standard deviation stated (rounded on a fine grid), with power against wrong ones."""
    effects = Effects(shape, cliques(shape, 2))
    table = np.arange(math.prod(shape)) * 3
    truth = effects.of_marginals(Marginals(table, shape))
    shares = np.full(len(effects.sets), 1 / len(effects.sets))
    measured = MeasuredEffects.sharing(effects, ONE, mu_squared=Fraction(1, 20_000), shares=shares)  # steps are fine
    sigmas = np.array([float(s) for s in measured.sigmas])[effects.owner]
    coordinates_of = len(sigmas)

    def right(n: int) -> np.ndarray:
        runs = n // coordinates_of
        return np.concatenate([(measured.release(table) - truth) / sigmas for _ in range(runs)])

    n = coordinates_of * sized(2000, 40_000)
    inside = share(lambda draws: np.abs(draws) <= 1, math.erf(1 / math.sqrt(2)), n)
    inside.run(right, wrong={"half the noise": lambda n: right(n) / 2, "a tenth more": lambda n: right(n) * 1.1})
    positive = share(lambda draws: draws > 0, 0.5, n)
    positive.run(right, wrong={"off by a tenth of the noise": lambda n: right(n) + 0.1})


def test_it_is_opened_by_a_permit_and_refuses_what_it_cannot_measure() -> None:
    effects = Effects((2, 2), [(0, 1)])
    measured = MeasuredEffects.sharing(effects, ONE, mu_squared=Fraction(1, 2), shares=np.full(4, 0.25))
    account = dp.PrivacyFilter(dp.Budget(epsilon=30, delta=1e-6))
    exact = Exact(np.array([3, 1, 4, 1]), sensitivity=ONE, unit="row")
    assert len(measured.open(exact, account.reserve(measured.loss))) == 4
    wide = dp.Sensitivity(l1=2, l2=2, neighbours=ADD)
    with pytest.raises(InvalidParameter, match="more sensitive"):
        measured.open(Exact(np.array([3, 1, 4, 1]), sensitivity=wide, unit="row"), account.reserve(measured.loss))
    with pytest.raises(InvalidParameter, match="whole numbers"):
        measured.release(np.array([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(InvalidParameter, match="open"):
        measured.release(exact)  # type: ignore[arg-type]
