"""`quantile_tree`: what one unit moves, by every unit; least squares by a matrix; errors by formula and by runs."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import dp
from discreet.dp import tree_estimates
from discreet.dp.quantile_tree import of_levels
from discreet.errors import BudgetExceeded, InvalidParameter
from tests.broken import trees as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_mass, rounded_mass
from tests.sizes import sized
from tests.statistics import ratio_is_at_most

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
SHAPES = [(2, 1), (2, 3), (3, 2), (3, 3), (4, 2), (2, 5)]
ALPHA = 1e-6


def tree(bins: object = dp.Integer(0, 26), **given: object) -> dp.QuantileTree:
    usual = {"rows": 2, "neighbours": ADD, "branching": 3, "epsilon": 1}
    return dp.QuantileTree(bins=bins, **{**usual, **given})  # type: ignore[arg-type]


def adds_up(branching: int, depth: int) -> np.ndarray:
    """The matrix from bins to the counts of all nodes, level by level."""
    size = branching**depth
    return np.vstack([np.kron(np.eye(branching**i), np.ones((1, size // branching**i))) for i in range(1, depth + 1)])


# What one unit moves.


def units(bins: int, rows: int) -> Iterator[np.ndarray]:
    """Every way to have at most so many rows."""
    for many in range(rows + 1):
        for places in itertools.combinations_with_replacement(range(bins), many):
            yield np.bincount(np.array(places, dtype=np.int64), minlength=bins)


def moves(bins: int, branching: int, depth: int, rows: int, relation: dp.Neighbours) -> np.ndarray:
    """How all counts move, for every unit that comes or goes, or every two that replace each other."""
    nodes = adds_up(branching, depth)
    every = [nodes @ np.pad(unit, (0, branching**depth - bins)) for unit in units(bins, rows)]
    others = [np.zeros(nodes.shape[0])] if relation is ADD else every
    return np.array([one - other for one in every for other in others])


def check_sensitivity(stated: dp.Sensitivity, moved: np.ndarray, *, tight: bool) -> None:
    for norm, most in (
        (abs(moved).sum(axis=1).max(), stated.l1),
        (np.sqrt((moved**2).sum(axis=1).max()), stated.l2),
        (abs(moved).max(), stated.linf),
    ):
        assert most is not None
        assert norm <= float(most) * (1 + 1e-12)
        assert not tight or norm >= float(most) * (1 - 1e-12)


@BOTH
@pytest.mark.parametrize(("bins", "branching", "depth"), [(2, 2, 1), (4, 2, 2), (3, 2, 2), (5, 3, 2), (6, 2, 3)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_sensitivity_is_that_of_the_worst_unit(
    bins: int, branching: int, depth: int, rows: int, relation: dp.Neighbours
) -> None:
    """the loss of its noise, for the sensitivity of all levels together: by every unit of tiny tables, and tight."""
    moved = moves(bins, branching, depth, rows, relation)
    made = tree(dp.Integer(0, bins - 1), rows=rows, neighbours=relation, branching=branching)
    assert made.levels == depth
    check_sensitivity(made.sensitivity, moved, tight=True)
    binned = dp.BinnedExact([0] * bins, rows=rows, neighbours=relation, unit="u").sensitivity
    check_sensitivity(binned, moves(bins, max(2, bins), 1, rows, relation), tight=True)
    twins = [broken.of_one_level] if depth > 1 else []
    twins += [broken.without_rows, broken.spread_rows] if rows > 1 else []
    for twin in twins:
        with pytest.raises(AssertionError):
            check_sensitivity(twin(depth, rows, relation), moved, tight=False)


@BOTH
def test_the_loss_is_that_of_the_worst_unit(relation: dp.Neighbours) -> None:
    """Independent noise on all nodes: log ratios of Laplace noise add up, squares of normal shifts do."""
    moved = moves(6, 2, 3, 2, relation)
    six = dp.Integer(0, 5)
    pure = tree(six, neighbours=relation, branching=2)
    assert isinstance(pure.noise, dp.Laplace)
    assert abs(moved).sum(axis=1).max() / pure.noise.scale == 1
    assert pure.loss == dp.Loss.pure(epsilon=1)
    for given in ({"epsilon": 1, "delta": 1e-9}, {"epsilon": None, "rho": F(1, 50)}):
        normal = tree(six, neighbours=relation, branching=2, **given)
        assert isinstance(normal.noise, dp.Gaussian)
        mu = math.sqrt((moved**2).sum(axis=1).max()) / float(normal.noise.sigma)
        assert math.isclose(float(normal.loss.rho_bound()), mu**2 / 2, rel_tol=1e-9)
    assert normal.loss.rho_bound() <= F(1, 50)
    assert tree(six, neighbours=relation, branching=2, delta=1e-9).loss.delta(epsilon=1) <= 1e-9


def test_of_levels_in_closed_form() -> None:
    for levels, rows in ((1, 1), (3, 5), (7, 2)):
        added, replaced = of_levels(levels, rows, ADD), of_levels(levels, rows, REPLACE)
        assert (added.l1, replaced.l1) == (levels * rows, 2 * levels * rows)
        assert math.isclose(float(added.l2), rows * math.sqrt(levels))
        assert math.isclose(float(replaced.l2), rows * math.sqrt(2 * levels))


# Least squares.


@pytest.mark.parametrize(("branching", "depth"), SHAPES)
def test_consistent_counts_are_the_least_squares_solution(branching: int, depth: int) -> None:
    nodes = adds_up(branching, depth)
    noisy = np.random.default_rng(7).normal(size=nodes.shape[0])
    levels = np.split(noisy, np.cumsum([branching**i for i in range(1, depth + 1)])[:-1])
    solved = np.linalg.lstsq(nodes, noisy, rcond=None)[0]
    found = tree_estimates.consistent(levels, branching)
    assert np.allclose(np.concatenate(found), nodes @ solved, atol=1e-12)
    assert not np.allclose(found[-1], levels[-1], atol=1e-3) or depth == 1


def test_consistent_counts_in_exact_arithmetic() -> None:
    """Against the normal equations in rationals: floats are off by rounding only."""
    from flint import fmpq, fmpq_mat

    nodes = adds_up(3, 2).astype(int)
    noisy = [7, -2, 5, *range(-4, 5)]
    a = fmpq_mat([[fmpq(int(n)) for n in row] for row in nodes])
    b = fmpq_mat([[fmpq(n)] for n in noisy])
    solved = (a.transpose() * a).solve(a.transpose() * b)
    exact = [F(int(x.p), int(x.q)) for x in solved.entries()]
    found = tree_estimates.consistent([np.array(noisy[:3], dtype=float), np.array(noisy[3:], dtype=float)], 3)[-1]
    assert max(abs(F(x) - y) for x, y in zip(found.tolist(), exact, strict=True)) < F(1, 2**48)


@pytest.mark.parametrize(("branching", "depth"), SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_variances_are_those_of_the_inverse_matrix(branching: int, depth: int, share: float) -> None:
    nodes = adds_up(branching, depth)
    size = nodes.shape[1]
    inverse = np.linalg.inv(nodes.T @ nodes)
    found = tree_estimates.prefix_variances(branching, depth, size, share)
    most = tree_estimates.prefix_weights(branching, depth, size, share)
    for k in range(size + 1):
        question = np.where(np.arange(size) < k, 1 - share, -share)
        assert abs(found[k] - question @ inverse @ question) < 1e-10
        weights = np.concatenate(tree_estimates.weights(question, branching, depth))
        assert np.allclose(weights, nodes @ inverse @ question)
        assert abs((weights**2).sum() - found[k]) < 1e-10
        assert k == size or abs(abs(weights).max() - most[k]) < 1e-12  # nobody asks about all bins
    if share == 0.5:
        assert found[1:-1].max() <= max(0.5, (branching - 1) * depth / 4) + 0.51  # as the module says, and an end
        worse = broken.bins_alone(branching, depth, size, share)
        assert depth == 1 or not np.allclose(worse, found, rtol=0.1)


# How likely an error is.


def tail_of_sum(noise: dp.Laplace | dp.Gaussian, parts: int, every: int, alpha: float) -> float:
    """P(|sum of parts * every draws with weight 1 / every| > alpha), by convolution of the exact law."""
    if isinstance(noise, dp.Laplace):
        reach = int(60 * noise.scale)
        law = np.array([float(laplace_mass(noise.scale, k)) for k in range(-reach, reach + 1)])
    else:
        reach = int(12 * noise.sigma)
        law = np.array([float(rounded_mass(noise.sigma, k)) for k in range(-reach, reach + 1)])
    total = law
    for _ in range(parts - 1):
        total = np.convolve(total, law)
    place = (np.arange(total.size) - total.size // 2) / every
    return float(total[abs(place) > alpha].sum())


@pytest.mark.parametrize("noise", [dp.Laplace(sensitivity=of_levels(1, 1, ADD), scale=3), tree(delta=1e-2).noise])
@pytest.mark.parametrize(("parts", "every"), [(1, 1), (4, 1), (4, 2), (9, 3), (20, 1)])
def test_the_bound_of_an_error_holds_and_is_near(noise: dp.Laplace | dp.Gaussian, parts: int, every: int) -> None:
    """Sums of equal weights, of which the law is known by convolution; a normal approximation does not hold."""
    variance = np.array(parts / every**2)
    for chance in (0.05, 1e-3, 1e-6):
        alpha = float(tree_estimates.within(variance, np.array(1 / every), noise, chance))
        assert tail_of_sum(noise, parts, every, alpha) <= chance
        assert tail_of_sum(noise, parts, every, alpha / 2.2) > chance
    if isinstance(noise, dp.Laplace) and parts < 9:
        normal = float(broken.normal_within(variance, noise, 1e-6))  # type: ignore[arg-type]
        assert tail_of_sum(noise, parts, every, normal) > 1e-6


def test_the_moments_of_rounded_normal_noise_are_bounded() -> None:
    for sigma in (F(1, 18), F(1, 5), F(1, 2), F(1), F(4)):
        bound, reach = mpf(tree_estimates.proxy(float(sigma))), int(12 * sigma + 5 * sigma**2) + 30
        for tilt in (mpf("0.01"), mpf(1), mpf(3)):
            moment = mp.fsum(mp.exp(tilt * k) * rounded_mass(sigma, k) for k in range(-reach, reach + 1))
            assert moment <= mp.exp(bound * tilt**2 / 2) * (1 + mpf(10) ** -12)
    assert tree_estimates.proxy(4.0) == pytest.approx(16 + 1 / 12)
    for scale in (F(1, 10), F(3), F(20)):
        reach = int(50 * scale) + 10
        spread = mp.fsum(k * k * laplace_mass(scale, k) for k in range(-reach, reach + 1))
        noise = dp.Laplace(sensitivity=of_levels(1, 1, ADD), scale=scale)
        assert mp.almosteq(spread, tree_estimates.variance_of(noise), 1e-9)


RUNS = sized(1000, 10_000)
COUNTS = np.array([3 * (i % 5) + 20 for i in range(27)])
MISS = 0.05
Runs = tuple[dp.QuantileTree, list[dp.ReleasedTree]]


@pytest.fixture(scope="module", params=["laplace", "gaussian"])
def runs(request: pytest.FixtureRequest) -> Runs:
    made = tree() if request.param == "laplace" else tree(delta=1e-3)
    return made, [made.release(COUNTS) for _ in range(RUNS)]


class TestRuns:
    """Many releases of one table, against the formulas: 1,000 runs or 10,000, alpha = 1e-6."""

    def over(self, released: dp.ReleasedTree, share: float) -> np.ndarray:
        sums = np.concatenate([[0.0], np.cumsum(released.counts)])
        return sums - share * sums[-1]

    def test_variances(self, runs: Runs) -> None:
        """Within 1/3 of the closed form at every prefix (over 6 sigma of a variance of kurtosis up to 6)."""
        made, released = runs
        found = np.var([self.over(one, 0.5) for one in released], axis=0)
        formula = tree_estimates.prefix_variances(3, 3, 27, 0.5) * tree_estimates.variance_of(made.noise)
        assert np.allclose(found, formula, rtol=1 / 3)
        twin = broken.bins_alone(3, 3, 27, 0.5) * tree_estimates.variance_of(made.noise)
        assert not np.allclose(found, twin, rtol=1 / 3)

    def test_unbiased(self, runs: Runs) -> None:
        made, released = runs
        off = np.mean([one.counts for one in released], axis=0) - COUNTS
        spread = math.sqrt(tree_estimates.variance_of(made.noise) / len(released))
        assert abs(off).max() < 6 * spread

    def test_no_quantile_is_off_by_more_than_promised(self, runs: Runs) -> None:
        """Rows below the bin that is told, and up to its end, against the share: failures at most a binomial's."""
        made, released = runs
        n, sums = int(COUNTS.sum()), np.concatenate([[0], np.cumsum(COUNTS)])
        alpha = made.accuracy(q="0.3", failure_probability=MISS)
        errors = []
        for one in released:
            told = int(one.quantile("0.3").value)  # type: ignore[arg-type]
            errors.append(max(sums[told] - 0.3 * n, 0.3 * n - sums[told + 1], 0))
        allowed = stats.binom.isf(ALPHA, len(released), MISS)
        assert sum(error > alpha for error in errors) <= allowed
        worst = [abs(self.over(one, 0.3) - (sums - 0.3 * n))[1:-1].max() for one in released]
        assert sum(error > alpha for error in worst) <= allowed
        assert sum(error > alpha / 3 for error in worst) > allowed  # it is not that far from what happens

    def test_intervals_cover(self, runs: Runs) -> None:
        """The quantile, a range and the total; intervals half as wide do not."""
        _, released = runs
        n, sums = int(COUNTS.sum()), np.cumsum(COUNTS)
        truth = int(np.argmax(sums >= n * 0.8))
        allowed = stats.binom.isf(ALPHA, len(released), MISS)
        told = [one.quantile("0.8", confidence=0.95) for one in released]
        assert sum(not t.lower <= truth <= t.upper for t in told) <= allowed  # type: ignore[operator]
        assert sum(t.value != truth for t in told) > allowed
        for span, low, high in ((slice(4, 15), 4, 15), (slice(0, 27), None, None)):
            right = int(COUNTS[span].sum())
            parts = [one.between(low, high) for one in released[:300]]
            assert sum(not p.lower <= right <= p.upper for p in parts) <= stats.binom.isf(ALPHA, 300, MISS)
            narrow = sum(abs(p.value - right) > p.error / 4 for p in parts)
            assert narrow > stats.binom.isf(ALPHA, 300, MISS)
        assert released[0].total().value == pytest.approx(released[0].between(None, None).value)


def test_a_quantile_of_the_table_itself_is_seen() -> None:
    """P(S) <= exp(epsilon) P'(S), by Clopper and Pearson at 1 - 1e-6: two tables of one row each."""
    made = dp.QuantileTree(bins=dp.Integer(0, 3), rows=1, neighbours=REPLACE, branching=2, epsilon=1)
    n, tables = sized(500, 5000), ([1, 0, 0, 0], [0, 0, 0, 1])
    Quantile = Callable[[list[int]], object]

    def holds(quantile: Quantile) -> bool:
        told = [sum(quantile(list(table)) == 0 for _ in range(n)) for table in tables]
        return ratio_is_at_most(told[0], told[1], n, epsilon=1, confidence=1 - ALPHA)

    twin = broken.ReadsTheTable(made)
    assert holds(lambda counts: made.release(counts).quantile("0.5").value)
    assert not holds(lambda counts: twin.quantile(counts, "0.5"))


class TestWhatIsTold:
    def test_of_columns(self) -> None:
        """At little noise: bins by their edges, numbers and days by themselves."""
        counts = [0, 100, 0, 300, 0, 0, 0, 600]
        price = {"rows": 1, "branching": 2, "epsilon": 30}
        income = tree(dp.Real(0, 800).bins(8), **price).release(counts)
        found = income.quantile("0.25")
        assert (found.lower, found.upper) == (300.0, 400.0)
        assert found.value == pytest.approx(350, abs=5)
        assert income.between(100, 400).value == pytest.approx(400, abs=3)
        number = tree(dp.Integer(10, 17), **price).release(counts)
        assert number.quantile("0.25").value == 13
        assert number.quantile(1).value == 17
        assert number.between(11, 14).value == pytest.approx(400, abs=3)
        day = tree(dp.Date(date(2026, 1, 1), date(2026, 1, 8)), **price).release(counts)
        assert day.quantile("0.25").value == date(2026, 1, 4)
        assert [q.value for q in number.quantiles(["0.05", "0.5"])] == [11, 17]

    @pytest.mark.parametrize("bins", [2, 3, 7, 10, 27, 28])
    @pytest.mark.parametrize("branching", [2, 3])
    def test_of_any_number_of_bins(self, bins: int, branching: int) -> None:
        if branching > bins:
            return
        made = tree(dp.Integer(0, bins - 1), branching=branching, rows=1, epsilon=40)
        released = made.release(list(range(bins)))
        assert np.allclose(released.counts[:bins], np.arange(bins), atol=3)
        for q in (0, "0.5", 1):
            told = released.quantile(q)
            assert 0 <= told.lower <= told.value <= told.upper < bins  # type: ignore[operator]
            assert made.accuracy(q=q, failure_probability=0.05) > 0

    def test_of_no_bins(self) -> None:
        for made in (tree(), tree(delta=1e-9)):
            nothing = made.release([5] * 27).between(3, 3)
            assert (nothing.value, nothing.error) == (0, 0)

    def test_an_empty_table_and_a_huge_one(self) -> None:
        made = tree(delta=1e-9)
        told = made.release([0] * 27).quantile("0.5")
        assert 0 <= told.lower <= told.value <= told.upper <= 26  # type: ignore[operator]
        assert made.release(np.full(27, 2**64 - 1, dtype=np.uint64)).total().value == pytest.approx(2**62, rel=1e-6)


class TestDoors:
    """that of `Exact`; its sensitivity is that of the bins."""

    def exact(self, rows: int = 2, relation: dp.Neighbours = ADD) -> dp.BinnedExact:
        return dp.BinnedExact([31337] * 27, rows=rows, neighbours=relation, unit="patient")

    def test_a_permit_pays_once(self) -> None:
        """the output has the loss that was taken; counts of which a unit has more rows, or under another
        relation, are refused before anything is taken.
        """
        made = tree()
        permit = dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(made.loss)
        for wrong in (self.exact(rows=3), self.exact(relation=REPLACE)):
            with pytest.raises(InvalidParameter, match=r"rows=exact\.rows"):
                made.open(wrong, permit)
        plain = dp.Exact(np.zeros(27, dtype=np.int64), sensitivity=made.sensitivity, unit="patient")
        with pytest.raises(InvalidParameter):
            made.open(plain, permit)  # type: ignore[arg-type]
        assert permit.left == 1
        assert made.open(self.exact(rows=1), permit).total().value > 0
        with pytest.raises(BudgetExceeded):
            made.open(self.exact(), permit)
        with pytest.raises(InvalidParameter):
            made.release(self.exact())  # type: ignore[arg-type]

    @pytest.mark.parametrize("look", [len, list, bool, hash, np.asarray, pickle.dumps, copy.copy, sum])
    def test_it_cannot_be_looked_at(self, look: Callable[[object], object]) -> None:
        with pytest.raises(TypeError) as refusal:
            look(self.exact())
        assert "31337" not in str(refusal.value)

    def test_it_does_not_print(self) -> None:
        exact = self.exact()
        for text in (repr(exact), str(exact), f"{exact:>10}", repr(dir(exact))):
            assert "31337" not in text
        with pytest.raises(TypeError):
            exact.rows = 1


@pytest.mark.parametrize(
    "given",
    [
        {"bins": 27},
        {"bins": dp.Category(["a", "b"])},
        {"bins": dp.Integer(0, 0)},
        {"bins": dp.Integer(0, 2**40)},
        {"bins": dp.Integer(0, 26, null="none")},
        {"rows": 0},
        {"rows": 1.5},
        {"branching": 1},
        {"branching": 28},
        {"neighbours": "add"},
        {"epsilon": 0},
        {"epsilon": None},
        {"epsilon": None, "delta": 1e-9},
        {"epsilon": 1, "rho": 1},
        {"delta": 0},
    ],
)
def test_parameters(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        tree(**{"bins": dp.Integer(0, 26), **given})


@pytest.mark.parametrize("counts", [[31337.5] * 27, [-31337] * 27, [31337] * 26, ["31337"] * 27, [[31337] * 27]])
def test_what_is_refused_is_not_shown(counts: list[object]) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        tree().release(counts)  # type: ignore[arg-type]
    assert "31337" not in str(refusal.value)


def test_the_choice() -> None:
    """Each offer has the error that it promises; more quantiles make trees the better, from where the module says."""
    facts = {"bins": dp.Integer(0, 1023), "rows": 5, "neighbours": ADD, "epsilon": 1}
    one = dp.best_quantile_tree(**facts)  # type: ignore[arg-type]
    assert one.best.tree is None
    median = dp.QuantileMechanism(q=F(1, 2), neighbours=ADD, epsilon=F(1, 5), lower=0, upper=1023, step=1)
    assert one.best.error == median.accuracy(failure_probability=F(1, 20))
    for offer in one.offers:
        if offer.tree is not None:
            assert offer.error == offer.tree.accuracy(q=F(1, 2), failure_probability=F(1, 20))
    assert [offer.error for offer in one.offers] == sorted(offer.error for offer in one.offers)
    best = one.tree
    variance = tree_estimates.prefix_variances(best.branching, best.levels, 1024, 0.5).max()
    crossing = 2 * best.levels * math.sqrt(variance / math.log(1024 / 0.05))
    for factor, wins in ((F(1, 2), False), (2, True)):
        choice = dp.best_quantile_tree(**facts, quantiles=max(1, round(factor * crossing)))  # type: ignore[arg-type]
        assert (choice.best.tree is not None) is wins
        assert str(choice.best) in str(choice)
    with_delta = dp.best_quantile_tree(**facts, delta=1e-9, quantiles=50)  # type: ignore[arg-type]
    assert {type(offer.tree.noise).__name__ for offer in with_delta.offers if offer.tree} == {"Laplace", "Gaussian"}
    for offer in with_delta.offers:
        assert offer.tree is None or offer.tree.loss.delta(epsilon=1) <= 1e-9
    with pytest.raises(InvalidParameter):
        dp.best_quantile_tree(**{**facts, "bins": 1024})  # type: ignore[arg-type]
