"""`renyi`: from a Renyi curve to (epsilon, delta) and back, against a search at 256 bits."""

import random
from fractions import Fraction

import pytest

from discreet.dp.loss import Pure, Zcdp
from discreet.dp.renyi import allowed_renyi, best_order, delta_of_renyi, epsilon_of_renyi, session_order
from tests.accounting import (
    NOISE,
    check_upper,
    exact,
    gaussian_truth,
    least,
    log_uniform,
    mp,
    mpf,
    precise,
    pure_truth,
    renyi_exponent,
)
from tests.broken import accounting as broken
from tests.sizes import sized


@precise
def allowed_truth(epsilon: mpf, delta: mpf, order: mpf) -> mpf:
    return epsilon + (mp.log(delta) - order * mp.log(1 - 1 / order) + mp.log(order - 1)) / (order - 1)


def check_allowed(allowed: object, count: int) -> None:
    """What may be spent at an order is never above what still implies (epsilon, delta), and within 1e-15 of it."""
    source = random.Random(1)
    assert callable(allowed)
    for _ in range(count):
        epsilon, delta = log_uniform(source, 1e-3, 1e2), log_uniform(source, 1e-100, 0.5)
        order = 1 + log_uniform(source, 1e-2, 1e6)
        truth = allowed_truth(exact(epsilon), exact(delta), exact(order))
        short = truth - exact(allowed(epsilon, delta, order))
        assert -NOISE * abs(truth) <= short <= mpf("1e-15") * (exact(epsilon) + abs(truth)), (epsilon, delta, order)


def test_what_is_allowed_at_an_order_is_rounded_down() -> None:
    """Guarantee: D_a <= R* implies (epsilon, delta)-DP. Negative where the order is too low for this delta.

    (`renyi.allowed_renyi`.)
    """
    check_allowed(allowed_renyi, sized(300, 10_000))
    with pytest.raises(AssertionError):
        check_allowed(lambda e, d, a: Fraction(float(allowed_truth(exact(e), exact(d), exact(a)))), 300)
    assert allowed_renyi(Fraction(1), Fraction("1e-9"), Fraction(2)) < 0


@pytest.mark.parametrize("order", [Fraction(20), Fraction(349, 10), Fraction(200)])
def test_the_laws_that_reach_what_is_allowed_keep_epsilon_and_delta(order: Fraction) -> None:
    """A Gaussian and a randomised response whose divergence at the order is R*: their exact delta is at most delta."""
    epsilon, delta = Fraction(1), Fraction("1e-9")
    most = exact(allowed_renyi(epsilon, delta, order))
    assert gaussian_truth(mp.sqrt(2 * most / exact(order)), mpf(1)) <= exact(delta)
    low, high = Fraction(0), Fraction(10)
    while high - low > Fraction(1, 10**12):
        middle = (low + high) / 2
        low, high = (middle, high) if exact(Pure(middle).renyi(order)) <= most else (low, middle)
    assert pure_truth(exact(low), mpf(1)) <= exact(delta)


def test_the_session_order_of_the_reference_budget() -> None:
    """Oracle O11: the order is 34.9 and R* is 0.5225 after rounding down, .52256 to five digits."""
    order, most = session_order(Fraction(1), Fraction("1e-9"))
    assert order == Fraction(349, 10)
    assert f"{float(most):.5f}" == "0.52256"


@pytest.mark.parametrize(("epsilon", "rho"), [("0.1", "1.771e-4"), ("1", "0.014973"), ("10", "1.09079")])
def test_the_reference_budgets_in_zcdp(epsilon: str, rho: str) -> None:
    order, most = session_order(Fraction(epsilon), Fraction("1e-9"))
    assert f"{float(most / order):.{len(rho) - 2 if 'e' not in rho else 7}f}".rstrip("0") == f"{float(rho):.7f}".rstrip(
        "0"
    )


def test_the_session_order_is_the_best_but_for_its_three_digits() -> None:
    """Three digits move a - 1 by at most half a per cent; orders 2 % away are no better."""
    source = random.Random(2)
    for _ in range(sized(30, 1_000)):
        epsilon, delta = log_uniform(source, 1e-3, 1e2), log_uniform(source, 1e-30, 1e-3)
        order, _ = session_order(epsilon, delta)

        def negative(x: mpf, epsilon: Fraction = epsilon, delta: Fraction = delta) -> mpf:
            a = 1 + mp.exp(x)
            return -allowed_truth(exact(epsilon), exact(delta), a) / a

        x = mp.log(exact(order - 1))
        found, step = -negative(x), mp.log(mpf("1.02"))
        assert found >= max(-negative(x - step), -negative(x + step))
        best = -least(negative, mpf(-7), mpf(30), steps=60)
        assert found <= best <= found * (1 + mpf("1e-4"))


def test_every_order_gives_a_bound_and_the_best_is_found() -> None:
    curve = Zcdp(Fraction(1, 50)).renyi
    delta = exact(delta_of_renyi(curve, Fraction(1)))
    for order in (2, 10, 26, 30, 100):
        assert delta <= mp.exp(renyi_exponent(mpf(order), mpf(order) / 50, mpf(1))) * (1 + NOISE)


def test_a_curve_known_nowhere_proves_nothing() -> None:
    nowhere = lambda order: float("inf")  # noqa: E731
    assert delta_of_renyi(nowhere, Fraction(1)) == 1
    assert epsilon_of_renyi(nowhere, Fraction("1e-9")) == float("inf")
    assert epsilon_of_renyi(Zcdp(Fraction(1)).renyi, Fraction(0)) == float("inf")


def test_a_curve_known_at_a_few_orders_is_used_at_them() -> None:
    def few(order: Fraction) -> Fraction | float:
        return Fraction(1, 2) if order <= 40 else float("inf")

    check_upper(delta_of_renyi(few, Fraction(1)), mp.exp(renyi_exponent(mpf(40), mpf("0.5"), mpf(1))), within="1e-3")


def test_best_order_finds_the_valley() -> None:
    for place in (1.01, 2.0, 34.9, 1e6):
        found = best_order(lambda order, place=place: (float(order) - place) ** 2)
        assert abs(float(found) - place) <= 1e-3 * place


def test_conversions_answer_the_same_question() -> None:
    """The twin that rounds to nearest is below the bound it states."""
    below = 0
    for k in range(1, 60):
        order, epsilon = Fraction(349, 10), Fraction(k, 30)
        truth = mp.exp(renyi_exponent(exact(order), exact(order) / 100, exact(epsilon)))
        if truth < 1:
            below += exact(broken.nearest(Fraction(int(truth * 2**400), 2**400))) < truth
            assert exact(delta_of_renyi(Zcdp(Fraction(1, 100)).renyi, epsilon)) <= truth * (1 + mpf("1e-15"))
    assert below > 0
