"""`loss`: conversions of every currency against 256 bits, interpolation, groups, and what is refused."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Approximate, NonPrivate, Pure, Rdp, Zcdp
from discreet.errors import InvalidParameter
from tests.accounting import (
    NOISE,
    check_epsilon,
    check_upper,
    exact,
    gaussian_truth,
    log_uniform,
    mp,
    mpf,
    pure_truth,
    response_renyi,
    zcdp_epsilon_truth,
    zcdp_truth,
)
from tests.broken import accounting as broken
from tests.sizes import sized


class TestPure:
    def test_delta_is_that_of_randomised_response(self) -> None:
        source = random.Random(1)
        for _ in range(sized(500, 10_000)):
            whole = log_uniform(source, 1e-9, 1e3)
            epsilon = whole * Fraction(source.randint(0, 1200), 1000)
            claimed = dp.Loss.pure(epsilon=whole).delta(epsilon=epsilon)
            check_upper(claimed, pure_truth(exact(whole), exact(epsilon)), within="1e-9")

    def test_epsilon_is_that_of_randomised_response(self) -> None:
        source = random.Random(2)
        for _ in range(sized(500, 10_000)):
            whole, delta = log_uniform(source, 1e-9, 1e3), log_uniform(source, 1e-300, 0.9)
            epsilon = dp.Loss.pure(epsilon=whole).epsilon(delta=delta)
            check_epsilon(epsilon, lambda e, whole=whole: pure_truth(exact(whole), e), delta, within="1e-9")

    def test_renyi_is_that_of_randomised_response_and_below_both_simple_bounds(self) -> None:
        source = random.Random(3)
        for _ in range(sized(200, 5_000)):
            whole, order = log_uniform(source, 1e-6, 1e2), 1 + log_uniform(source, 1e-2, 1e3)
            value = Pure(whole).renyi(order)
            check_upper(value, response_renyi(exact(order), exact(whole)), within="1e-9")
            assert value <= min(order * whole**2 / 2, whole)

    @pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", "1e6", "1e9", "1e12", "1e300"])
    def test_extreme_epsilons_are_quick_and_not_below_the_truth(self, epsilon: str) -> None:
        loss, whole = dp.Loss.pure(epsilon=epsilon), Fraction(epsilon)
        assert loss.epsilon(delta=0) == float(epsilon)
        assert loss.delta(epsilon=0) >= float(mp.tanh(mpf(epsilon) / 2))
        assert loss.epsilon(delta="1e-9") <= float(epsilon)
        assert loss.renyi(Fraction(2)) <= min(whole, whole**2)


class TestApproximate:
    def test_the_curve_is_delta_or_randomised_response(self) -> None:
        source = random.Random(4)
        for _ in range(sized(300, 10_000)):
            whole, lost = log_uniform(source, 1e-6, 1e2), log_uniform(source, 1e-30, 0.9)
            loss = dp.Loss.approximate(epsilon=whole, delta=lost)
            epsilon = whole * Fraction(source.randint(0, 1200), 1000)

            def truth(e: mpf, whole: Fraction = whole, lost: Fraction = lost) -> mpf:
                return exact(lost) + (1 - exact(lost)) * pure_truth(exact(whole), e)

            check_upper(loss.delta(epsilon=epsilon), truth(exact(epsilon)), within="1e-9")
            delta = lost + (1 - lost) * log_uniform(source, 1e-9, 0.9)
            check_epsilon(loss.epsilon(delta=delta), truth, delta, within="1e-9")

    def test_below_its_delta_it_promises_nothing(self) -> None:
        loss = dp.Loss.approximate(epsilon=1, delta="1e-6")
        assert loss.epsilon(delta="1e-7") == math.inf
        assert loss.epsilon(delta="1e-6") == 1
        assert loss.renyi(Fraction(2)) == math.inf
        assert dp.Loss.approximate(epsilon=1, delta=0) == dp.Loss.pure(epsilon=1)


class TestZcdp:
    def test_delta_is_the_best_order_s(self) -> None:
        source = random.Random(5)
        for _ in range(sized(60, 3_000)):
            rho = log_uniform(source, 1e-9, 1e2)
            epsilon = rho + Fraction(math.sqrt(rho)) * Fraction(source.randint(0, 50_000), 1000)
            check_upper(
                dp.Loss.zcdp(rho=rho).delta(epsilon=epsilon), zcdp_truth(exact(rho), exact(epsilon)), within="1e-6"
            )

    def test_epsilon_is_the_best_order_s(self) -> None:
        source = random.Random(6)
        for _ in range(sized(60, 3_000)):
            rho, delta = log_uniform(source, 1e-9, 1e2), log_uniform(source, 1e-300, 1e-3)
            truth = zcdp_epsilon_truth(exact(rho), exact(delta))
            check_upper(dp.Loss.zcdp(rho=rho).epsilon(delta=delta), truth, within="1e-6")

    @pytest.mark.parametrize("rho", ["1e-300", "1e-20", "1e6", "1e100"])
    def test_extreme_rhos_are_quick_and_not_below_a_gaussian_of_that_rho(self, rho: str) -> None:
        loss, mu = dp.Loss.zcdp(rho=rho), mp.sqrt(2 * exact(Fraction(rho)))
        assert loss.delta(epsilon=0) >= gaussian_truth(mu, mpf(0)) * (1 - NOISE)
        assert gaussian_truth(mu, exact(loss.epsilon(delta="1e-9"))) <= mpf("1e-9")
        assert 0 <= loss.delta(epsilon=1) <= 1
        assert 0 <= loss.delta(epsilon="1e400") <= 1

    @pytest.mark.parametrize("rho", ["1e300", "1e400"])
    def test_what_has_no_float_is_infinite(self, rho: str) -> None:
        loss = dp.Loss.zcdp(rho=rho)
        assert loss.epsilon(delta="1e-9") >= 1e300
        assert loss.delta(epsilon=1) == 1

    def test_a_huge_difference_is_not_lost_in_a_float(self) -> None:
        """At order 101 this delta is exp(-200); as floats, R - epsilon is -16384 and not -2."""
        loss = dp.Loss.rdp(orders=[101], values=[10**20 + 8191])
        assert loss.delta_bound(Fraction(10**20 + 8193)) >= Fraction("1e-90") * Fraction("1e-2")


class TestRdp:
    def test_between_its_points_it_is_at_least_the_curve_it_came_from_and_close(self) -> None:
        source = random.Random(7)
        for curve in (Pure(Fraction(1)), Pure(Fraction(1, 10)), Zcdp(Fraction(1, 50))):
            orders = [1 + Fraction(9, 8) ** k / 4 for k in range(40)]
            loss = dp.Loss.rdp(orders=orders, values=[curve.renyi(a) for a in orders])
            for _ in range(sized(50, 1_000)):
                order = 1 + log_uniform(source, 0.3, float(orders[-1]) - 1)
                value = loss.renyi(order)
                assert (
                    curve.renyi(order) * (1 - Fraction(1, 10**15)) <= value <= curve.renyi(order) * Fraction(101, 100)
                )
            assert loss.renyi(Fraction(9, 8)) == loss.renyi(orders[0])
            assert loss.renyi(orders[-1] + 1) == math.inf
            assert [loss.renyi(a) for a in orders] == [curve.renyi(a) for a in orders]

    def test_between_its_points_a_minus_1_times_the_curve_is_a_straight_line(self) -> None:
        loss = dp.Loss.rdp(orders=[3, 2], values=["0.5", "0.2"])
        assert loss.renyi(Fraction(5, 2)) == (Fraction(1, 5) * 1 + Fraction(1, 2) * 2) / 2 / Fraction(3, 2)

    def test_conversions_are_never_below_the_best_of_its_points_taken_as_a_curve(self) -> None:
        orders = [Fraction(k, 2) for k in range(3, 200)]
        loss = dp.Loss.rdp(orders=orders, values=[a / 50 for a in orders])
        assert 0 <= loss.epsilon(delta="1e-6") / dp.Loss.zcdp(rho="0.02").epsilon(delta="1e-6") - 1 < 1e-3
        assert 0 <= loss.delta(epsilon=1) / dp.Loss.zcdp(rho="0.02").delta(epsilon=1) - 1 < 1e-2

    def test_what_is_not_a_curve_is_refused(self) -> None:
        for orders, values in (([], []), ([1], [1]), (["0.5"], [1]), ([2, 2], [1, 1]), ([2], [-1]), ([2], ["nan"])):
            with pytest.raises(InvalidParameter):
                dp.Loss.rdp(orders=orders, values=values)
        with pytest.raises(InvalidParameter, match="one value for each order; got 2 and 1"):
            dp.Loss.rdp(orders=[2, 3], values=[1])


RARE = [mpf("0.0001") * 4**j for j in range(3)]  # P(the rare event) on tables 0, 1 and 2


def coin_renyi(order: mpf, p: mpf, q: mpf) -> mpf:
    return mp.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1)


def check_group(group: Callable[[dict[Fraction, Fraction], int, Fraction], Fraction | float]) -> None:
    """What a group rule makes of the curve between neighbours bounds the curve between tables two steps apart."""
    pairs = [(one, two) for one, two in itertools.permutations(RARE, 2) if 1 / mpf(5) < one / two < 5]
    curve = {}
    for order in (2, 3, 4, 6, 8):
        value = max(coin_renyi(mpf(order), one, two) for one, two in pairs)
        curve[Fraction(order)] = Fraction(math.ceil(value * 2**100), 2**100)
    for order in (2, 3, 4):
        far = max(coin_renyi(mpf(order), RARE[0], RARE[2]), coin_renyi(mpf(order), RARE[2], RARE[0]))
        assert exact(group(curve, 2, Fraction(order))) >= far, order


def real_group(points: dict[Fraction, Fraction], k: int, order: Fraction) -> Fraction | float:
    return dp.Loss.rdp(orders=list(points), values=list(points.values())).group(k).renyi(order)


class TestGroup:
    def test_each_currency_has_its_own_rule(self) -> None:
        assert dp.Loss.pure(epsilon="0.1").group(3) == dp.Loss.pure(epsilon="0.3")
        assert dp.Loss.zcdp(rho="0.1").group(3) == dp.Loss.zcdp(rho="0.9")
        assert dp.Loss.gaussian(mu="0.1").group(3) == dp.Loss.gaussian(mu="0.3")
        assert isinstance(dp.Loss.nonprivate().group(2), NonPrivate)
        both = dp.Loss.pure(epsilon=1) + dp.Loss.zcdp(rho=1)
        assert both.group(2) == dp.Loss.pure(epsilon=2) + dp.Loss.zcdp(rho=4)

    @pytest.mark.parametrize("k", [1, 2, 3, 7])
    def test_approximate_groups_pay_a_geometric_sum_of_deltas(self, k: int) -> None:
        loss = dp.Loss.approximate(epsilon="0.5", delta="1e-9").group(k)
        assert isinstance(loss, Approximate)
        assert loss.base_epsilon == Fraction(k, 2)
        check_upper(loss.base_delta, sum(mp.exp(mpf(j) / 2) for j in range(k)) * exact(Fraction("1e-9")), within="1e-9")

    def test_a_group_that_can_lose_everything_is_not_private(self) -> None:
        assert isinstance(dp.Loss.approximate(epsilon=0, delta="0.4").group(3), NonPrivate)
        assert isinstance(dp.Loss.approximate(epsilon=50, delta="1e-6").group(2), NonPrivate)

    def test_renyi_groups_follow_mironov(self) -> None:
        loss = Rdp(((Fraction(4), Fraction(1, 9)), (Fraction(8), Fraction(1, 3)), (Fraction(16), Fraction(1))))
        assert loss.group(1) is loss
        assert loss.group(2) == Rdp(
            ((Fraction(2), Fraction(1, 3)), (Fraction(4), Fraction(1)), (Fraction(8), Fraction(3)))
        )
        assert loss.group(3) == loss.group(4) == Rdp(((Fraction(2), Fraction(3)), (Fraction(4), Fraction(9))))
        assert isinstance(loss.group(9), NonPrivate)

    def test_renyi_groups_hold_where_the_square_rule_fails(self) -> None:
        check_group(real_group)
        with pytest.raises(AssertionError):
            check_group(broken.square_rule_group)

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, math.nan])
    def test_a_group_has_a_whole_number_of_units(self, k: int) -> None:
        for loss in (
            dp.Loss.pure(epsilon=1),
            dp.Loss.zcdp(rho=1),
            dp.Loss.gaussian(mu=1),
            Approximate(Fraction(1), Fraction(1, 9)),
        ):
            with pytest.raises(InvalidParameter):
                loss.group(k)


class TestTheCurve:
    """Guarantee: for every pair of neighbouring tables, in both orders, and every event S,
    P(S) <= exp(e) P'(S) + loss.delta(epsilon=e) for all e >= 0. Sums hold for releases whose parameters were
    fixed in advance; where they are chosen along the way, only a `PrivacyFilter` proves anything.

    (`Loss`; the events of a law are enumerated above, sums in `test_loss_sum`, filters in `test_filter`.)
    """

    LOSSES = (
        dp.Loss.pure(epsilon=1),
        dp.Loss.approximate(epsilon="0.5", delta="1e-5"),
        dp.Loss.zcdp(rho="0.1"),
        dp.Loss.gaussian(mu="0.4"),
        dp.Loss.rdp(orders=[2, 8, 64], values=["0.1", "0.4", "3.2"]),
        dp.Loss.pure(epsilon="0.5") + dp.Loss.gaussian(mu="0.2"),
        dp.Loss.nonprivate(),
    )

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
    def test_delta_falls_and_both_ways_agree(self, loss: dp.Loss) -> None:
        deltas = [loss.delta(epsilon=Fraction(k, 5)) for k in range(30)]
        assert all(0 <= after <= before <= 1 for before, after in itertools.pairwise(deltas))
        for epsilon, delta in enumerate(deltas):
            if 0 < delta < 1:
                assert loss.epsilon(delta=delta) <= epsilon / 5 * (1 + 1e-4) + 1e-8

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
    def test_parameters_out_of_range_are_refused(self, loss: dp.Loss) -> None:
        for bad in (-1, math.nan, math.inf, "x", None, True):
            with pytest.raises(InvalidParameter):
                loss.delta(epsilon=bad)
            with pytest.raises(InvalidParameter):
                loss.epsilon(delta=bad)
        assert loss.epsilon(delta=1) == 0

    @pytest.mark.parametrize("bad", [-1, -5e-324, math.nan, math.inf, "x", None, True, [1]])
    def test_no_loss_is_made_of_what_is_not_a_number_from_zero_up(self, bad: object) -> None:
        makers = (
            lambda: dp.Loss.pure(epsilon=bad),
            lambda: dp.Loss.zcdp(rho=bad),
            lambda: dp.Loss.gaussian(mu=bad),
            lambda: dp.Loss.approximate(epsilon=bad, delta="0.1"),
            lambda: dp.Loss.approximate(epsilon=1, delta=bad),
        )
        for maker in makers:
            with pytest.raises(InvalidParameter):
                maker()
        with pytest.raises(InvalidParameter):
            dp.Loss.approximate(epsilon=1, delta=1)

    def test_a_loss_has_a_currency(self) -> None:
        with pytest.raises(InvalidParameter, match=r"dp\.Loss\.pure\(epsilon=.*approximate.*zcdp.*rdp.*gaussian"):
            dp.Loss()

    def test_nor_by_hand(self) -> None:
        for made in (Pure, Zcdp, lambda v: Approximate(Fraction(1), v)):
            for bad in (Fraction(-1), -1.0, math.nan, math.inf):
                with pytest.raises(InvalidParameter):
                    made(bad)

    @pytest.mark.parametrize("bad", [0, -1, 1.5, True, math.inf, "x", dp.Loss.pure(epsilon=1)])
    def test_a_loss_is_repeated_a_whole_number_of_times(self, bad: object) -> None:
        with pytest.raises(InvalidParameter):
            bad * dp.Loss.pure(epsilon=1)
        with pytest.raises(TypeError):
            dp.Loss.pure(epsilon=1) + 1
