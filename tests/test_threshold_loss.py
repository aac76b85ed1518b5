"""`threshold_loss`: prices at 200 bits, the published table, and the exact law of ever rarer hits below every claim."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Pure, Zcdp
from discreet.dp.threshold_loss import HiddenThresholdLoss, ThresholdHit, below_limit
from tests.accounting import check_upper, exact, response_renyi
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.threshold_truth import price, waiting_delta

F = Fraction
DELTA = F(1, 10**9)
BUDGET = dp.Budget(epsilon=1, delta="1e-9")
HITS = (1, 5, 10, 20, 50, 100, 200, 500)
BEST_ORDER = (20.8, 28.3, 34.8, 44.7, 65.0, 88.5, 122, 189)  # 1 / slope, with the order that is best for each row
SESSION_ORDER = (34.4, 35.0, 38.4, 46.4, 65.7, 88.9, 122, 189)  # at the order 34.9 of a session
RESET = (33, 73, 103, 146, 231, 327, 462, 730)  # AboveThreshold redrawn under zCDP: the scale 4 / epsilon of a value


@pytest.mark.parametrize("slope", [F(1, 200), F(1, 50), F(1, 3), F(4)], ids=str)
def test_the_price_of_a_hit_is_the_formula_rounded_up(slope: Fraction) -> None:
    """Guarantee: for a slope, and a number of hits, that are fixed in advance, the Renyi divergence of order a of all
    answers is at most hits * eta(a, slope) / (a - 1), at every order a with a (1 - exp(-slope)) < 1.
    """
    limit = 1 / -mp.expm1(-real(slope))
    for share in ("0.001", "0.3", "0.9", "0.999999"):
        order = 1 + F(share) * F(f"{float(limit - 1):.9g}") * (1 - F(1, 10**7))
        with mp.workprec(256):
            truth = price(real(order), real(slope)) / (real(order) - 1)
        check_upper(F(ThresholdHit(slope).renyi(order)), truth, within="1e-15")
    for above in (F(f"{float(limit) * 1.0000001:.12g}"), F(10**9)):
        assert ThresholdHit(slope).renyi(above) == math.inf
        assert not below_limit(above, slope)


def test_a_hit_has_neither_epsilon_nor_rho_and_adds_up() -> None:
    hit = ThresholdHit(F(1, 50))
    assert hit.rho_bound() == math.inf
    assert hit.epsilon_bound(F(0)) == math.inf
    order = F(20)
    assert (7 * hit).renyi(order) == 7 * F(hit.renyi(order))
    assert (hit + dp.Loss.zcdp(rho=1)).renyi(order) == F(hit.renyi(order)) + 20
    assert hit.group(3) == ThresholdHit(F(3, 50))
    assert "LogisticSparseVector" in hit.instead
    assert ThresholdHit(F(0)).epsilon_bound(F(0)) == ThresholdHit(F(0)).renyi(order) == 0
    assert not below_limit(F(2), F(10**6))


def fits_at(scale: float, hits: int, within: Callable[[dp.Loss], bool]) -> bool:
    """Whether so many hits, and as many Gaussian measurements of the same scale 1 / slope, fit the whole budget."""
    slope = F(f"{1 / scale:.9g}")
    return within(hits * ThresholdHit(slope) + hits * dp.Loss.gaussian(mu=slope))


def check_table(within: Callable[[dp.Loss], bool], published: tuple[float, ...]) -> None:
    """One per cent more noise than published fits, one per cent less does not."""
    for hits, theirs in zip(HITS, published, strict=True):
        assert fits_at(theirs * 1.01, hits, within), hits
        assert not fits_at(theirs * 0.99, hits, within), hits


def test_the_published_scales_order_by_order() -> None:
    """1 / e for epsilon = 1, delta = 1e-9: with the order that is best for each row, and at a session's own order."""
    check_table(lambda loss: loss.epsilon_bound(DELTA) <= 1, BEST_ORDER)
    assert float(BUDGET.order) == 34.9
    check_table(lambda loss: loss.renyi(BUDGET.order) <= BUDGET.cap.amount, SESSION_ORDER)
    with pytest.raises(AssertionError):
        check_table(lambda loss: loss.epsilon_bound(DELTA) <= F(26, 25), BEST_ORDER)


def test_a_quarter_of_the_noise_of_a_redrawn_threshold() -> None:
    """At 50, 100 and 500 hits the scale is 1/3.5 or less of AboveThreshold's, whose threshold is noisy besides."""
    rho = mpf("0.014973")  # what zCDP allows for epsilon = 1, delta = 1e-9: half for the tests, half for the values
    assert dp.Loss.zcdp(rho="0.014973").epsilon(delta=DELTA) <= 1.0001
    for hits in (50, 100, 500):
        each = mp.sqrt(rho / hits)  # hits * each^2 / 2 = rho / 2
        theirs = 4 / each
        assert abs(theirs / RESET[HITS.index(hits)] - 1) < 0.01
        assert fits_at(float(theirs) / 3.5, hits, lambda loss: loss.epsilon_bound(DELTA) <= 1)


def check_against_rare_hits(claim: Callable[[int, Fraction], dp.Loss]) -> list[float]:
    """The exact delta of ever rarer hits, in both orders, is at most what is claimed; returns how many times less."""
    slack = []
    for hits, slope in ((1, F(1, 21)), (10, F(1, 35)), (100, F(1, 89)), (3, F(1, 2))):
        loss = claim(hits, slope)
        for epsilon in (F(1, 10), F(1, 2), F(1), F(3)):
            claimed = exact(loss.delta(epsilon=epsilon))
            truth = max(waiting_delta(real(epsilon), hits, real(s)) for s in (slope, -slope))
            assert truth <= claimed, (hits, slope, epsilon)
            if truth > mpf("1e-30"):
                slack.append(float(claimed / truth))
    return slack


def test_the_claimed_delta_is_above_that_of_ever_rarer_hits() -> None:
    """Poisson processes in the limit: Gamma(c, 1) against Gamma(c, e^slope). A Gaussian's price is below it."""
    slack = check_against_rare_hits(lambda hits, slope: hits * ThresholdHit(slope))
    assert min(slack) < 10  # and not far above
    with pytest.raises(AssertionError):
        check_against_rare_hits(lambda hits, slope: hits * dp.Loss.zcdp(rho=slope**2 / 2))


@pytest.mark.parametrize(
    ("t", "h", "hits"), [("0.1", "0.01", 90), ("0.5", "0.25", 2), ("3", "1", 1), ("0.001", "9", 4)]
)
def test_a_hidden_threshold_in_every_currency(t: str, h: str, hits: int) -> None:
    """For the threshold's epsilon t and the hits' h, fixed in advance: (t + hits h)-DP; (t^2 + hits h^2) / 2 - zCDP;
    and the Renyi curve of randomised response at t, plus that of the hits.
    """
    loss = HiddenThresholdLoss.of(threshold=F(t), hit=F(h), hits=hits)
    assert loss.epsilon_bound(F(0)) == F(t) + hits * F(h)
    assert loss.rho_bound() == (F(t) ** 2 + hits * F(h) ** 2) / 2
    for order in (F(3, 2), F(10), F(349, 10), F(5000)):
        with mp.workprec(256):
            a, x = real(order), mpf(h)
            hit = (a * x - mp.log(1 + a * mp.expm1(x))) / (a - 1)
            truth = response_renyi(a, mpf(t)) + hits * hit
        found = F(loss.renyi(order))
        check_upper(found, truth, within="1e-14")
        assert found <= min(order * loss.rho_bound(), loss.range_epsilon)
    group = loss.group(2)
    assert group.epsilon_bound(F(0)) == 2 * loss.range_epsilon
    assert group.rho_bound() == 4 * F(loss.rho_bound())


def test_a_hidden_threshold_composes_without_losing_its_epsilon() -> None:
    loss = HiddenThresholdLoss.of(threshold=F(1, 10), hit=F(1, 100), hits=90)
    assert (loss + dp.Loss.pure(epsilon=1)).epsilon(delta=0) == 2
    alone, pure = loss.epsilon(delta=1e-9), Pure(F(1)).epsilon(delta=1e-9)
    assert alone < 0.6 < pure  # the curve of its many hits is far below that of one release
    assert alone < Zcdp(F(loss.rho_bound())).epsilon(delta=1e-9)
    assert loss.delta(epsilon=F(1, 2)) < Pure(F(1)).delta(epsilon=F(1, 2))
