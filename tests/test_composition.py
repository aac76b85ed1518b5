"""`composition`: one function for each theorem, each held against exact sums of randomised responses."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Pure, Zcdp
from discreet.dp.pure_composition import Responses
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import (
    FLOATS,
    NOISE,
    check_upper,
    exact,
    log_uniform,
    mp,
    mpf,
    precise,
    renyi_exponent,
    response_renyi,
    zcdp_epsilon_truth,
)
from tests.broken import accounting as broken
from tests.broken import composition as wrong
from tests.closed_forms import gaussian_delta, response_delta
from tests.sizes import sized

F = Fraction
composition = dp.composition
response_delta = precise(response_delta)


def pure(*epsilons: object) -> list[dp.Loss]:
    return [dp.Loss.pure(epsilon=e) for e in epsilons]  # type: ignore[arg-type]


@precise
def mixed_delta(epsilons: list[Fraction], epsilon: mpf) -> mpf:
    """The exact delta of randomised responses of these losses, by every one of their outcomes."""
    truths = [1 / (1 + mp.exp(-exact(e))) for e in epsilons]
    total = mpf(0)
    for lies in itertools.product((False, True), repeat=len(epsilons)):
        one = mp.fprod(1 - p if lie else p for p, lie in zip(truths, lies, strict=True))
        other = mp.fprod(p if lie else 1 - p for p, lie in zip(truths, lies, strict=True))
        total += max(mpf(0), one - mp.exp(epsilon) * other)
    return total


class TestBasic:
    def test_epsilons_and_deltas_add_up(self) -> None:
        found = composition.basic([*pure("0.1", "0.2"), dp.Loss.approximate(epsilon="0.3", delta="1e-9")] * 2)
        assert found == Approximate(F("1.2"), F("2e-9"))
        assert composition.basic(pure(*["0.1"] * 10)) == Pure(F(1))
        assert composition.basic([]) == Pure(F(0))
        assert composition.basic([dp.Loss.pure(epsilon=1) + dp.Loss.pure(epsilon=2)]) == Pure(F(3))

    @pytest.mark.parametrize("loss", [dp.Loss.gaussian(mu=1), dp.Loss.zcdp(rho=1), dp.Loss.nonprivate()], ids=repr)
    def test_others_have_no_epsilon_to_add(self, loss: dp.Loss) -> None:
        with pytest.raises(NotSupported):
            composition.basic([loss, dp.Loss.pure(epsilon=1)])

    def test_deltas_that_leave_nothing_are_refused(self) -> None:
        with pytest.raises(InvalidParameter):
            composition.basic([dp.Loss.approximate(epsilon=1, delta="0.5")] * 2)


Theorem = Callable[[float, float, int, float], tuple[float, float]]


def ours(epsilon: float, delta: float, count: int, slack: float) -> tuple[float, float]:
    found = composition.advanced(epsilon=epsilon, delta=delta, count=count, slack=slack)
    assert isinstance(found, Approximate)
    return float(found.base_epsilon), float(found.base_delta)


def check_theorem(claim: Theorem) -> None:
    """What is claimed of `count` (epsilon, delta)-DP releases holds for randomised responses that also fail."""
    for epsilon, delta, count, slack in itertools.product((0.05, 0.5, 2.0), (0.0, 1e-7), (1, 10, 300), (1e-2, 1e-6)):
        e, d = claim(epsilon, delta, count, slack)
        kept = (1 - mpf(delta)) ** count
        truth = 1 - kept + kept * response_delta(mpf(e), mpf(epsilon), count)
        assert truth <= mpf(d) * (1 + mpf(2) ** -50), (epsilon, delta, count, slack, e, d, mp.nstr(truth, 8))


WRONG_THEOREMS = [
    wrong.advanced_without_second_term,
    wrong.advanced_without_logarithm,
    wrong.advanced_without_deltas,
    wrong.range_of_a_selection,
]


@precise
def advanced_truth(each: mpf, count: int, slack: mpf) -> mpf:
    return each * mp.sqrt(-2 * count * mp.log(slack)) + count * each * mp.expm1(each)


@precise
def corollary_root(count: int, delta: mpf) -> mpf:
    return mp.sqrt(-8 * count * mp.log(delta))


class TestAdvanced:
    def test_it_is_the_formula(self) -> None:
        """Guarantee: e' = epsilon sqrt(2 count ln(1 / slack)) + count epsilon (e^epsilon - 1), for every epsilon > 0.

        (`advanced`.)
        """
        source = random.Random(1)
        for _ in range(sized(100, 5_000)):
            e, d = log_uniform(source, 1e-4, 10), log_uniform(source, 1e-20, 1e-9)
            count, slack = source.randint(1, 10**6), log_uniform(source, 1e-30, 0.5)
            found = composition.advanced(epsilon=e, delta=d, count=count, slack=slack)
            assert isinstance(found, Approximate)
            check_upper(found.base_epsilon, advanced_truth(exact(e), count, exact(slack)), within="1e-15")
            assert found.base_delta == count * d + slack

    def test_it_holds_and_its_misprints_do_not(self) -> None:
        check_theorem(ours)

    @pytest.mark.parametrize("twin", WRONG_THEOREMS)
    def test_a_misprint_is_seen(self, twin: Theorem) -> None:
        with pytest.raises(AssertionError):
            check_theorem(twin)

    @pytest.mark.parametrize(
        "asked",
        [
            {"epsilon": 0, "count": 1, "slack": "0.1"},
            {"epsilon": -1, "count": 1, "slack": "0.1"},
            {"epsilon": math.nan, "count": 1, "slack": "0.1"},
            {"epsilon": math.inf, "count": 1, "slack": "0.1"},
            {"epsilon": 1, "count": 0, "slack": "0.1"},
            {"epsilon": 1, "count": 1.5, "slack": "0.1"},
            {"epsilon": 1, "count": 1, "slack": 0},
            {"epsilon": 1, "count": 1, "slack": 1},
            {"epsilon": 1, "count": 1, "slack": "0.1", "delta": -1},
            {"epsilon": 1, "count": 10, "slack": "0.1", "delta": "0.09"},
        ],
    )
    def test_refusals(self, asked: dict[str, object]) -> None:
        with pytest.raises(InvalidParameter):
            composition.advanced(**asked)  # type: ignore[arg-type]


class TestShares:
    @pytest.mark.parametrize(("epsilon", "count"), [(50, 4000), (75, 4000), (100, 10_000)])
    def test_the_violated_instances_of_the_corollary_are_refused(self, epsilon: int, count: int) -> None:
        each, delta = broken.advanced_composition_of_any_epsilon(epsilon, 0.01, count)
        assert response_delta(mpf(epsilon), exact(each), count) > delta
        with pytest.raises(InvalidParameter, match="count e0"):
            composition.advanced_share(epsilon=epsilon, delta="0.01", count=count)

    def test_where_the_condition_holds_the_statement_does(self) -> None:
        """Guarantee: epsilon / sqrt(8 count ln(1 / delta)), where the theorem's condition holds: the second term of
        advanced composition, count e0 (e^e0 - 1), is at most epsilon / 2.
        """
        source, refused = random.Random(2), 0
        for _ in range(sized(150, 3_000)):
            e, d = log_uniform(source, 1e-2, 60), log_uniform(source, 1e-9, 0.5)
            count = source.choice((1, 3, 30, 300))
            root = corollary_root(count, exact(d))
            try:
                each = composition.advanced_share(epsilon=e, delta=d, count=count)
            except InvalidParameter:
                refused += 1
                assert count * exact(e) / root * mp.expm1(exact(e) / root) > exact(e) / 2 * (1 - NOISE)
                continue
            assert exact(e) / root * (1 - mpf(2) ** -60) <= exact(each) <= exact(e) / root
            assert response_delta(exact(e), exact(each), count) <= exact(d)
        assert 0 < refused < sized(150, 3_000) / 2

    def test_it_is_a_share_that_advanced_composition_accepts(self) -> None:
        each = composition.advanced_share(epsilon=1, delta="1e-6", count=100)
        assert composition.advanced(epsilon=each, count=100, slack="1e-6").epsilon(delta="1e-6") <= 1


class TestOptimal:
    @pytest.mark.parametrize("count", [1, 2, 17, 400])
    def test_equal_epsilons_give_the_binomial(self, count: int) -> None:
        source = random.Random(count)
        for _ in range(sized(10, 300)):
            each = log_uniform(source, 1e-3, 3)
            epsilon = count * each * F(source.randint(0, 1100), 1000)
            found = composition.optimal_delta([each] * count, epsilon=epsilon)
            check_upper(found, response_delta(exact(epsilon), exact(each), count), within=FLOATS)

    def test_mixed_epsilons_give_the_sum_over_every_outcome(self) -> None:
        """Guarantee: no composition of releases with these epsilons has a larger delta, and randomised response has
        this one.
        """
        source = random.Random(3)
        for _ in range(sized(20, 400)):
            epsilons = [log_uniform(source, 1e-3, 3) for _ in range(source.randint(1, 7))]
            epsilons += epsilons[:1] * source.randint(0, 1)
            epsilon = sum(epsilons) * F(source.randint(0, 1000), 1000)
            truth = mixed_delta(epsilons, exact(epsilon))
            check_upper(composition.optimal_delta(epsilons, epsilon=epsilon), truth, within=FLOATS)

    def test_epsilon_is_where_the_curve_meets_delta(self) -> None:
        source = random.Random(4)
        for _ in range(sized(20, 400)):
            epsilons = [log_uniform(source, 1e-2, 2) for _ in range(source.randint(1, 6))]
            delta = log_uniform(source, 1e-30, 0.5)
            found = composition.optimal(epsilons, delta=delta)
            assert mixed_delta(epsilons, exact(found)) <= exact(delta)
            if found:
                assert mixed_delta(epsilons, exact(found) * (1 - mpf(10) ** -14)) > exact(delta) * (1 - NOISE)

    def test_at_the_sum_nothing_is_left(self) -> None:
        assert composition.optimal_delta(["0.1"] * 10, epsilon=1) == 0
        assert composition.optimal(["0.1"] * 10, delta="1e-300") == 1
        assert composition.optimal([], delta="0.1") == composition.optimal_delta([0], epsilon=0) == 0

    def test_what_has_too_many_outcomes_is_refused(self) -> None:
        many = [F(k, 1000) for k in range(1, 30)]
        assert Responses(tuple((1, e) for e in many)).outcomes == 2**29
        with pytest.raises(NotSupported, match="numeric"):
            composition.optimal(many, delta="1e-6")

    @pytest.mark.parametrize("junk", [-1, math.nan, math.inf, "x", None, True])
    def test_refusals(self, junk: float) -> None:
        with pytest.raises(InvalidParameter):
            composition.optimal_delta([junk], epsilon=1)
        with pytest.raises(InvalidParameter):
            composition.optimal_delta([1], epsilon=junk)
        with pytest.raises(InvalidParameter):
            composition.optimal([1], delta=junk)


class TestCurrencies:
    def test_rhos_add_up(self) -> None:
        """Guarantee: epsilon-DP is epsilon^2 / 2 - zCDP, a bounded range epsilon is epsilon^2 / 8, mu-Gaussian is
        mu^2 / 2.
        """
        one = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        choice = dp.Exponential(sensitivity=one, epsilon=1).loss
        losses = [*pure("0.2"), choice, dp.Loss.gaussian(mu="0.3"), dp.Loss.zcdp(rho="0.01")]
        assert composition.zcdp(losses) == Zcdp(F("0.02") + F(1, 8) + F("0.045") + F("0.01"))
        delta = mpf("1e-9")
        proved = zcdp_epsilon_truth(mpf("0.2"), delta)
        check_upper(composition.zcdp(losses).epsilon(delta="1e-9"), proved, within="1e-6")

    def test_renyi_curves_add_up_at_the_orders_given(self) -> None:
        """Guarantee: Renyi divergence of a fixed order adds up, adaptively chosen mechanisms included."""
        orders = [F(3, 2), F(2), F(10), F(50)]
        losses = [*pure("0.3", "0.3"), dp.Loss.gaussian(mu="0.2"), dp.Loss.zcdp(rho="0.01")]
        found = composition.rdp(losses, orders=orders)
        best = []
        for a in orders:
            truth = 2 * response_renyi(exact(a), mpf("0.3")) + exact(a) * mpf("0.03")
            check_upper(found.renyi(a), truth, within="1e-15")
            best.append(mp.exp(renyi_exponent(exact(a), truth, mpf(2))))
        assert exact(found.delta(epsilon=2)) <= min(best) * (1 + mpf(10) ** -5)  # orders have six digits

    def test_normal_releases_are_one(self) -> None:
        """Guarantee: exact, adaptively chosen mechanisms included."""
        found = composition.gaussian([dp.Loss.gaussian(mu=mu) for mu in ("0.3", "0.4", "1.2")] + pure(0))
        assert found == GaussianLoss(F("1.69"))
        check_upper(found.delta(epsilon=2), gaussian_delta(mpf(2), mpf("1.3")), within="1e-14")
        assert composition.gaussian([]) == GaussianLoss(F(0))

    @pytest.mark.parametrize(
        "refused",
        [
            lambda: composition.zcdp([dp.Loss.approximate(epsilon=1, delta="1e-9")]),
            lambda: composition.zcdp([dp.Loss.rdp(orders=[2], values=[1])]),
            lambda: composition.zcdp([dp.Loss.nonprivate()]),
            lambda: composition.rdp([dp.Loss.rdp(orders=[2], values=[1])], orders=[3]),
            lambda: composition.rdp([dp.Loss.approximate(epsilon=1, delta="1e-9")], orders=[2]),
            lambda: composition.gaussian(pure(1)),
            lambda: composition.gaussian([dp.Loss.zcdp(rho=1)]),
        ],
    )
    def test_a_loss_that_has_no_such_currency_is_refused(self, refused: Callable[[], object]) -> None:
        with pytest.raises(NotSupported):
            refused()

    @pytest.mark.parametrize("orders", [[], [1], [F(1, 2)], [2, 2], [math.nan]])
    def test_orders_that_are_none_are_refused(self, orders: list[float]) -> None:
        with pytest.raises(InvalidParameter):
            composition.rdp(pure(1), orders=orders)
