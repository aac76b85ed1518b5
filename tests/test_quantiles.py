"""`quantiles`: the law by its definition, every pair of neighbours on small grids, and what is drawn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import Neighbours
from discreet.dp.quantiles import smooth_noise
from discreet.dp.randomness import system
from discreet.dp.reals import precision
from discreet.errors import InvalidParameter
from tests.accounting import NOISE, precise
from tests.broken import quantiles as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.quantile_laws import law, rate, score
from tests.selecting import Distribution, check_pure, check_renyi, number, worst_ratio
from tests.sensitivities import Table, every, neighbours_of
from tests.sizes import sized
from tests.statistics import chi_square

F = Fraction
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
BOTH = pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
TOP = 3
ROWS = sized(4, 6)
QS = [F(0), F(1, 10), F(1, 4), F(1, 2), F(2, 3), F(1)]


def ours(q: Fraction, relation: Neighbours, epsilon: Fraction, top: int = TOP) -> dp.QuantileMechanism:
    return dp.QuantileMechanism(q=q, neighbours=relation, epsilon=epsilon, lower=0, upper=top, step=1)


@precise
def probabilities(mechanism: dp.QuantileMechanism, table: Table) -> Distribution:
    with precision(512):
        balls = mechanism.law(list(table))
        ends = [(number(ball.lower()), number(ball.upper())) for ball in balls]
    assert all(high - low <= NOISE for low, high in ends)
    return [low for low, _ in ends]


def pairs(relation: Neighbours, rows: int) -> list[tuple[Table, Table]]:
    return [(t, n) for t in every(rows) for n in neighbours_of(t, relation) if t < n]


@BOTH
@pytest.mark.parametrize("q", QS)
def test_the_law_is_that_of_the_points(q: Fraction, relation: Neighbours) -> None:
    """Ties, no row and one row included; runs are drawn as one, and their points have equal shares."""
    mechanism = ours(q, relation, F(3, 2))
    assert mechanism.rate == rate(q, relation, F(3, 2))
    for table in every(ROWS):
        for p, closed in zip(probabilities(mechanism, table), law(table, q, mechanism.rate, TOP), strict=True):
            assert abs(p - closed) <= 2 * NOISE


@BOTH
@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("epsilon", [F(1, 4), F(3)])
def test_every_point_on_every_pair_of_neighbours(q: Fraction, relation: Neighbours, epsilon: Fraction) -> None:
    """epsilon-DP for `neighbours`, with Renyi divergence at most a epsilon^2 / 8: between neighbours the scores move
    within an interval of length R, and the rate is epsilon / R.
    """
    mechanism = ours(q, relation, epsilon)

    def of(table: Table) -> Distribution:
        return law(table, q, mechanism.rate, TOP)

    check_pure(of, epsilon, pairs(relation, ROWS))
    check_renyi(of, lambda order: order * epsilon**2 / 8, pairs(relation, 3))
    assert mechanism.loss.epsilon(delta=0) == float(epsilon)


class TestBrokenTwins:
    epsilon = F(2)

    def reject(self, of: broken.LawOf, relation: Neighbours) -> None:
        with pytest.raises(AssertionError):
            check_pure(of, self.epsilon, pairs(relation, ROWS + 2))

    def test_the_rate_of_the_other_relation(self) -> None:
        half = F(1, 2)
        self.reject(broken.at_rate(half, rate(half, ADD_REMOVE, self.epsilon), 5), REPLACE)
        self.reject(broken.at_rate(half, 2 * rate(half, REPLACE, self.epsilon), TOP), REPLACE)

    def test_the_rate_of_the_median_for_any_quantile(self) -> None:
        q, top = F(2, 3), 200
        pair: tuple[Table, Table] = (1, 1, 1, 1, 1, 1, top, top), (1, 1, 1, 1, 1, 1, top, top, top)
        mechanism = ours(q, ADD_REMOVE, self.epsilon, top)
        right, wrong = (broken.at_rate(q, factor, top) for factor in (mechanism.rate, self.epsilon))
        assert real(self.epsilon) * mpf("0.99") < worst_ratio(right, [pair]) <= real(self.epsilon)  # R is tight
        with pytest.raises(AssertionError):
            check_pure(wrong, self.epsilon, [pair])

    def test_the_rate_of_one_direction(self) -> None:
        self.reject(broken.at_rate(F(1, 2), 2 * self.epsilon, TOP), ADD_REMOVE)

    def test_candidates_from_the_table(self) -> None:
        self.reject(broken.among_the_values(F(1, 2), self.epsilon, TOP), ADD_REMOVE)

    def test_runs_without_their_lengths(self) -> None:
        self.reject(broken.without_lengths(F(1, 2), self.epsilon, TOP), ADD_REMOVE)

    def test_a_rounded_rank(self) -> None:
        self.reject(broken.with_rounded_rank(F(1, 2), self.epsilon, TOP), ADD_REMOVE)


@BOTH
@pytest.mark.parametrize("table", [(), (2,), (1, 1, 1), (0, 2, 5, 5, 7), (0, 0, 7, 7)])
def test_points_are_drawn_with_this_law(table: Table, relation: Neighbours) -> None:
    n, top, mechanism = sized(2_500, 60_000), 7, ours(F(1, 2), relation, F(1, 2), 7)
    closed = [float(p) for p in law(table, F(1, 2), mechanism.rate, top)]

    def draw(n: int) -> np.ndarray:
        return np.array([mechanism._release(list(table), system()) for _ in range(n)]).astype(np.int64)

    def twice_the_rate(n: int) -> np.ndarray:
        chances = np.array([float(p) for p in law((*table, 0, 0, 0, 0, 0), F(1, 2), 3 * mechanism.rate, top)])
        return np.random.default_rng().choice(top + 1, n, p=chances / chances.sum())

    chi_square(lambda draws: draws, closed, n).run(draw, wrong={"another law": twice_the_rate})


def test_a_long_run_is_drawn_from_end_to_end() -> None:
    """One row among 2^40 points: each half of the range has its share."""
    mechanism = dp.QuantileMechanism(q="0.5", neighbours=ADD_REMOVE, epsilon=1, lower=0, upper=1)
    n = sized(2_000, 20_000)
    drawn = np.array([mechanism.release([0.25]) for _ in range(n)])
    cells = [0.125, 0.125, 0.25, 0.5]  # all points but one miss by half a row
    edges = np.array([0.125, 0.25, 0.5])
    wrong = np.random.default_rng(1).uniform(0, 0.5, n)
    chi_square(lambda x: np.searchsorted(edges, x), cells, n).run(lambda _: drawn, wrong={"half": lambda _: wrong})


@BOTH
@pytest.mark.parametrize("q", [F(1, 10), F(1, 2), F(1)])
def test_accuracy_in_rows(q: Fraction, relation: Neighbours) -> None:
    """No table misses the quantile by more than alpha rows with a greater chance; a third of alpha does not hold."""
    beta = F(1, 10)
    mechanism = ours(q, relation, F(2), 200)
    alpha, kept = mechanism.accuracy(failure_probability=beta), False
    for table in ((0,) * 20 + (200,) * 20, *((end,) * n for n in (*range(10), 16, 40) for end in (100, 200))):
        chances = law(table, q, mechanism.rate, 200)
        missed = [-score(table, y, q) for y in range(201)]
        assert mp.fsum(p for p, miss in zip(chances, missed, strict=True) if miss > F(alpha)) <= real(beta)
        kept |= mp.fsum(p for p, miss in zip(chances, missed, strict=True) if miss > F(alpha) / 3) > real(beta)
    assert kept


class TestByEveryMethod:
    rows = np.random.default_rng(5).normal(50, 3, 20_000)

    @BOTH
    @pytest.mark.parametrize("delta", [0, 1e-6])
    @pytest.mark.parametrize("method", ["exponential", "smooth", "propose-test-release"])
    @pytest.mark.parametrize("shape", ["normal", "log-normal", "heavy"])
    def test_it_is_near(self, method: str, delta: float, relation: Neighbours, shape: str) -> None:
        """Far nearer than noise for the whole range, of 1,000, which is off by 3,000 one time in twenty."""
        tested = method == "propose-test-release"
        if tested and not delta:
            return
        source = np.random.default_rng(6)
        data = {
            "normal": self.rows,
            "log-normal": np.exp(source.normal(2, 1, 20_000)),
            "heavy": source.standard_cauchy(20_000) * 5 + 300,
        }[shape]
        more = {"proposal": 0.2} if tested else {}
        answer = dp.private_median(
            data, neighbours=relation, epsilon=1, delta=delta, lower=0, upper=1000, method=method, **more
        )
        off = 50 if method == "smooth" else 0.5  # pure noise has heavy tails: 1e-6 of its mass lies beyond
        assert answer is not dp.UNSTABLE
        assert abs(answer - float(np.median(data))) < (off if not tested else 8)

    def test_a_delta_makes_smooth_noise_no_worse(self) -> None:
        """19 of 20 answers: pure noise where delta is small, Laplace where it is not; never the worse of the two."""
        taken = set()
        for epsilon, delta in ((1, 1e-9), (1, 1e-6), (F(1, 10), 1e-3), (F(1, 10), 1e-6)):
            facts = {"neighbours": ADD_REMOVE, "epsilon": epsilon, "step": "1e-6"}
            pure = dp.SmoothNoise(**facts)
            laplace = dp.SmoothNoise(**facts, delta=delta, noise="laplace")
            found = smooth_noise(**facts, delta=delta)
            taken.add(type(found.law).__name__)
            errors = [m.accuracy(failure_probability=F(1, 20), smooth_sensitivity=1 / m.beta) for m in (pure, laplace)]
            assert found.accuracy(failure_probability=F(1, 20), smooth_sensitivity=1 / found.beta) == min(errors)
            assert found.loss.epsilon(delta=delta) <= float(epsilon)
        assert taken == {"PolynomialLaw", "LaplaceLaw"}

    def test_an_unstable_table_is_an_answer(self) -> None:
        place = {"neighbours": REPLACE, "epsilon": 1, "delta": 1e-9, "lower": 0, "upper": 100}
        answer = dp.private_median([0, 100], method="propose-test-release", proposal=1, **place)
        assert answer is dp.UNSTABLE

    @pytest.mark.parametrize("data", [[], [7.0], [7.0] * 5, [-1e300, 1e300], [3, 5]])
    @pytest.mark.parametrize("method", ["exponential", "smooth", "propose-test-release"])
    def test_ends_ties_one_row_and_none(self, data: list[float], method: str) -> None:
        more = {"proposal": 1} if method == "propose-test-release" else {}
        for q in (0, 0.5, 1):
            for relation in (ADD_REMOVE, REPLACE):
                answer = dp.private_quantile(
                    data, q=q, neighbours=relation, epsilon=1, delta=1e-6, lower=0, upper=10, method=method, **more
                )
                assert answer is dp.UNSTABLE or 0 <= answer <= 10


FACTS = {"rows": 10_000, "spread": 10, "q": "0.5", "lower": 0, "upper": 1000, "failure_probability": 0.1}


class TestChoice:
    def test_the_forecast_is_kept_where_rows_lie_evenly(self) -> None:
        choice = dp.best_quantile(**FACTS, neighbours=ADD_REMOVE, epsilon=1, delta=1e-6)
        data, n = 500 + np.linspace(-5, 5, 10_000), sized(60, 600)
        assert {offer.method for offer in choice.offers} == {"exponential", "smooth", "propose-test-release"}
        for offer in choice.offers:
            more = {"proposal": offer.proposal} if offer.proposal is not None else {}
            answers = [
                dp.private_median(
                    data,
                    neighbours=ADD_REMOVE,
                    epsilon=1,
                    delta=1e-6,
                    lower=0,
                    upper=1000,
                    method=offer.method,
                    **more,
                )
                for _ in range(n)
            ]
            missed = sum(a is dp.UNSTABLE or abs(a - 500) > offer.error + 1e-3 for a in answers)
            assert missed <= 0.1 * n + 5 * (0.09 * n) ** 0.5  # five standard deviations
            assert offer.error < 10
        assert str(choice).count("\n") == 3

    def test_without_a_delta_nothing_is_proposed(self) -> None:
        choice = dp.best_quantile(**FACTS, neighbours=REPLACE, epsilon=1, delta=0)
        assert {offer.method for offer in choice.offers} == {"exponential", "smooth"}
        assert choice.best.method == "exponential"

    def test_few_rows_in_a_wide_range_are_not_enough(self) -> None:
        facts = {**FACTS, "rows": 4}
        choice = dp.best_quantile(**facts, neighbours=REPLACE, epsilon=1, delta=1e-6)
        assert choice.best.error == 1000

    def test_refusals(self) -> None:
        for changed in ({"spread": 2000}, {"rows": 0}, {"rows": 1.5}, {"failure_probability": 0}, {"delta": 1}):
            with pytest.raises(InvalidParameter):
                dp.best_quantile(**{**FACTS, "neighbours": REPLACE, "epsilon": 1, "delta": 1e-6, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": 2**1000},
        {"epsilon": F(1, 2**1000)},
        {"delta": 1},
        {"delta": -1e-9},
        {"q": 2},
        {"neighbours": None},
        {"lower": 10},
        {"method": "guess"},
        {"method": "propose-test-release"},
        {"proposal": 1},
        {"method": "propose-test-release", "proposal": 20},
        {"data": [float("nan")]},
    ],
)
def test_refusals(changed: dict[str, object]) -> None:
    right = {"data": [1.0], "q": 0.5, "neighbours": REPLACE, "epsilon": 1, "delta": 1e-6, "lower": 0, "upper": 10}
    with pytest.raises(InvalidParameter):
        dp.private_quantile(**{**right, **changed})  # type: ignore[arg-type]


def test_a_law_of_many_points_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="4,096"):
        ours(F(1, 2), REPLACE, F(1), 5000).law([1])
