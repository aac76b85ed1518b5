"""`propose_test_release`: its exact delta by enumeration, what the printed distance breaks, and the charge."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from discreet import dp
from discreet.dp.reals import bounds
from discreet.errors import BudgetExceeded, InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_mass, real
from tests.sizes import sized
from tests.smooth_truth import TRUTHS, rounded_masses, told_apart
from tests.statistics import binned, share

F = Fraction
REPLACE = dp.Neighbours.REPLACE
ETA = TWO = F(2)
MICRO = F(1, 10**6)
FAR = 60


def proposed(noise: str = "laplace", *, epsilon: Fraction = TWO, delta: Fraction = MICRO) -> dp.ProposeTestRelease:
    return dp.ProposeTestRelease(
        neighbours=REPLACE,
        proposal=ETA,
        epsilon=epsilon,
        delta=delta,
        noise=noise,  # type: ignore[arg-type]
        step=1,
    )


def chance(made: dp.ProposeTestRelease, bar: int, distance: float) -> mpf:
    """P(distance + noise > bar), in closed form."""
    if distance == math.inf:
        return mpf(1)
    if made.noise == "gaussian":
        return mp.ncdf((distance - bar - mpf(1) / 2) / real(made.test_scale))
    q, steps = mp.exp(-1 / real(made.test_scale)), bar + 1 - int(distance)
    return q**steps / (1 + q) if steps > 0 else 1 - q ** (1 - steps) / (1 + q)


@lru_cache(maxsize=64)
def noisy(noise: str, value: Fraction, scale: Fraction) -> list[mpf]:
    return list(rounded_masses(TRUTHS[noise], real(value), real(scale), FAR))


def law(made: dp.ProposeTestRelease, distance: float, value: Fraction, bar: int | None = None) -> list[mpf]:
    """P(UNSTABLE), and P(j) for all multiples j of the grid, the outermost with all beyond them."""
    number = chance(made, made.bar if bar is None else bar, distance)
    return [1 - number, *(number * p for p in noisy(made.noise, value, made.noise_scale))]


def pairs(made: dp.ProposeTestRelease) -> list[tuple[tuple[float, Fraction], tuple[float, Fraction]]]:
    """Neighbours of which one is stable at least: distances that differ by at most 1, values by at most eta."""
    distances = [*range(5), *range(made.bar - 2, made.bar + 4)]
    stable = [(g, h) for g in distances for h in (g, g + 1) if max(g, h) >= 1]
    return [((g, F(0)), (h, move)) for g, h in [*stable, (math.inf, math.inf)] for move in (F(0), ETA, -ETA)]


def check_price(made: dp.ProposeTestRelease, claim: dp.Loss, bar: int | None = None) -> mpf:
    """The exact delta at epsilon, over neighbours with a stable table and over unstable ones, is what is claimed."""
    allowed = real(F(repr(claim.delta(epsilon=made.epsilon))))
    worst = mpf(0)
    for one, other in pairs(made):
        p, q = law(made, *one, bar), law(made, *other, bar)
        for left, right in ((p, q), (q, p)):
            worst = max(worst, told_apart(left, right, real(made.epsilon)))
    p, q = law(made, 0, F(0), bar), law(made, 0, F(10**9), bar)  # two unstable tables: their values may be anywhere
    worst = max(worst, told_apart(p, q, real(made.epsilon)))
    assert worst <= allowed * (1 + mpf(10) ** -40)
    return worst


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [F(1), F(3)])
def test_the_exact_delta(noise: str, epsilon: Fraction) -> None:
    """(epsilon, delta)-DP for `neighbours`, whichever answer comes: UNSTABLE is charged like any other."""
    made = proposed(noise, epsilon=epsilon, delta=F(1, 1000))
    assert made.loss == dp.Loss.approximate(epsilon=epsilon, delta=F(1, 1000))
    check_price(made, made.loss)
    with pytest.raises(AssertionError):
        check_price(made, broken.without_the_delta(made))
    with pytest.raises(AssertionError):  # the bar is the least
        check_price(made, made.loss, made.bar - 1)


def test_a_pair_with_a_stable_table_costs_exactly_epsilon() -> None:
    made = proposed(epsilon=F(2))
    greatest = mpf(0)
    for one, other in pairs(made):
        p, q = law(made, *one), law(made, *other)
        greatest = max(greatest, *(abs(mp.log(x / y)) for x, y in zip(p, q, strict=True) if x))
    assert mp.almosteq(greatest, 2, 1e-30)


def test_both_parts_of_gaussian_noise_are_one_normal_release() -> None:
    """Where both tables are stable and far from the bar, delta is that of mu^2 = 1 / s1^2 + eta^2 / s2^2, or less."""
    made = proposed("gaussian", epsilon=F(1), delta=F(1, 1000))
    mu = mp.sqrt(1 / real(made.test_scale) ** 2 + real(ETA / made.noise_scale) ** 2)
    delta = mp.ncdf(mu / 2 - 1 / mu) - mp.e * mp.ncdf(-mu / 2 - 1 / mu)
    assert mp.almosteq(delta, mpf("0.001"), 1e-6)
    assert delta <= mpf("0.001")


class TestTheBar:
    def test_of_the_integers(self) -> None:
        assert proposed(epsilon=F(2)).bar == 13  # epsilon 1 for the test, delta 1e-6

    @pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3)])
    @pytest.mark.parametrize("delta", [F(1, 10), F(1, 10**6), F(1, 10**12)])
    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    def test_is_the_least(self, noise: str, epsilon: Fraction, delta: Fraction) -> None:
        made = proposed(noise, epsilon=epsilon, delta=delta)
        assert chance(made, made.bar, 0) <= real(delta) < chance(made, made.bar - 1, 0) or made.bar == 0
        low, high = bounds(lambda: made.release_chance(3))
        assert real(low) <= chance(made, made.bar, 3) <= real(high)

    def test_of_continuous_noise_is_too_low_on_the_integers(self) -> None:
        """E1.8 with noise on the integers: ln(1 / (2 delta)) / epsilon lets up to 2 delta / (1 + q) through."""
        delta, over = F(1, 10**6), []
        for share_of in range(1, 40):
            epsilon = F(share_of, 10)
            test = proposed(epsilon=2 * epsilon, delta=delta)
            over.append(chance(test, broken.continuous_bar(epsilon, delta), 0) / real(delta))
        assert max(over) > mpf("1.7")


# E1.7: tables 0, 1, 2, ..., neighbours differ by 1, the proposal is eta.
VALUES = [F(0), ETA * F(3, 4), ETA * F(3, 2), *[ETA * F(3, 4)] * 40]


def instability(values: Sequence[Fraction]) -> Callable[[int], float]:
    count = len(values)

    def local(table: int) -> Fraction:
        return max(abs(values[table] - values[t]) for t in (table - 1, table + 1) if 0 <= t < count)

    unstable = [t for t in range(count) if local(t) > ETA]
    return lambda table: min((abs(table - u) for u in unstable), default=math.inf)


def check_chain(made: dp.ProposeTestRelease, values: Sequence[Fraction], distance: Callable[[int], float]) -> None:
    """(epsilon, delta)-DP on every pair of neighbours of the chain, in both orders."""
    laws = [law(made, distance(table), values[table]) for table in range(12)]
    for one, other in itertools.pairwise(laws):
        for p, q in ((one, other), (other, one)):
            assert told_apart(p, q, real(made.epsilon)) <= real(made.delta)


def test_the_counterexample_to_the_printed_distance() -> None:
    made = proposed(epsilon=F(2))
    with pytest.raises(AssertionError):
        check_chain(made, VALUES, lambda table: broken.printed_distance(VALUES, table, ETA))
    at_0, at_1 = (chance(made, made.bar, broken.printed_distance(VALUES, t, ETA)) for t in (0, 1))
    assert at_1 == 1
    assert at_0 < mpf("1e-5")
    check_chain(made, VALUES, instability(VALUES))


@pytest.mark.parametrize(
    "values",
    [[F(i * i % 7) for i in range(43)], [F(0) if i < 20 else F(100) for i in range(43)], [F(i) for i in range(43)]],
    ids=["jumping", "one jump", "slow"],
)
def test_chains_with_the_distance_to_instability(values: list[Fraction]) -> None:
    for noise in ("laplace", "gaussian"):
        check_chain(proposed(noise), values, instability(values))


# What is drawn.


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_how_often_a_number_comes(noise: str) -> None:
    made = proposed(noise, epsilon=F(2), delta=F(1, 50))
    n, distance = sized(4000, 100_000), made.bar
    draw = lambda g: lambda n: np.array([made.release(31, g) is not dp.UNSTABLE for _ in range(n)])  # noqa: E731
    check = share(lambda released: released, float(chance(made, made.bar, distance)), n)
    check.run(draw(distance), wrong={"one further": draw(distance + 1)})
    assert all(made.release(31, math.inf) is not dp.UNSTABLE for _ in range(50))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_number_comes(noise: str) -> None:
    made, n = proposed(noise), sized(4000, 100_000)
    truth, scale = TRUTHS[noise], real(made.noise_scale)
    check = binned(lambda k: float(truth.below((k - mpf(1) / 2 - 31) / scale)), list(range(-20, 80)), n)
    draw = lambda value: lambda n: np.array([made.release(value, 10_000) for _ in range(n)])  # noqa: E731
    check.run(draw(31), wrong={"moved": draw(31 + float(made.noise_scale) / 4)})


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_accuracy_and_the_distance_that_is_sure(noise: str) -> None:
    made = proposed(noise)
    for beta in (F(1, 2), F(1, 1000)):
        alpha = real(made.accuracy(failure_probability=beta)) - mpf(1) / 2
        assert mp.almosteq(2 * TRUTHS[noise].tail(alpha / real(made.noise_scale)), real(beta), 1e-12)
        sure = made.sure_distance(failure_probability=beta)
        assert 1 - chance(made, made.bar, sure) <= real(beta) < 1 - chance(made, made.bar, sure - 1)


# The charge.


def exact_at(distance: float) -> dp.TestedExact:
    return dp.TestedExact(31, distance_to_instability=distance, proposal=ETA, neighbours=REPLACE, unit="row")


@pytest.mark.parametrize("distance", [0, 10_000, math.inf])
def test_every_answer_is_charged(distance: float) -> None:
    made = proposed()
    session = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=F(1, 10), delta_add=F(15, 10**7)))
    permit = session.reserve(made.loss)
    assert (made.open(exact_at(distance), permit) is dp.UNSTABLE) == (distance == 0)
    assert permit.left == 0
    with pytest.raises(BudgetExceeded):
        made.open(exact_at(distance), permit)
    with pytest.raises(BudgetExceeded):
        session.reserve(made.loss)


def test_a_distance_for_another_proposal_is_refused_and_costs_nothing() -> None:
    made = proposed()
    permit = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=F(1, 10), delta_add=F(1, 100))).reserve(made.loss)
    before = permit.left
    for proposal, relation in ((3, REPLACE), (2, dp.Neighbours.ADD_REMOVE)):
        exact = dp.TestedExact(31, distance_to_instability=9, proposal=proposal, neighbours=relation, unit="row")
        with pytest.raises(InvalidParameter):
            made.open(exact, permit)
    assert permit.left == before


def test_unstable_is_an_answer_and_no_number() -> None:
    assert repr(dp.UNSTABLE) == "UNSTABLE"
    with pytest.raises(TypeError):
        bool(dp.UNSTABLE)
    with pytest.raises(TypeError):
        dp.UNSTABLE + 1  # type: ignore[operator]


def test_private_distances_stay_closed() -> None:
    """nothing but `open` of `ProposeTestRelease`, with a permit, lets anything out of it."""
    exact = dp.TestedExact(31337, distance_to_instability=31337, proposal=2, neighbours=REPLACE, unit="row")
    assert "31337" not in f"{exact!r} {exact} {dir(exact)}"
    for ask in (float, int, bool, hash, lambda x: x + 1, lambda x: x < 3):
        with pytest.raises(TypeError):
            ask(exact)
    with pytest.raises(InvalidParameter):
        proposed().release(exact, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        proposed().open(31, None)  # type: ignore[arg-type]


class TestRefusals:
    @pytest.mark.parametrize("distance", [-1, 1.5, math.nan, -math.inf, None, "3", True])
    def test_distances(self, distance: object) -> None:
        with pytest.raises(InvalidParameter):
            proposed().release(31, distance)  # type: ignore[arg-type]

    @pytest.mark.parametrize("value", [math.nan, math.inf, None, "3", True])
    def test_values(self, value: object) -> None:
        with pytest.raises(InvalidParameter):
            proposed().release(value, 3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "given",
        [
            {"proposal": 0},
            {"epsilon": 0},
            {"epsilon": math.nan},
            {"delta": 0},
            {"delta": 1},
            {"noise": "cauchy"},
            {"step": 0},
            {"test_share": 1},
            {"neighbours": 3},
        ],
        ids=str,
    )
    def test_parameters(self, given: dict[str, object]) -> None:
        usual = {"neighbours": REPLACE, "proposal": 1, "epsilon": 1, "delta": 1e-6, "step": 1}
        with pytest.raises(InvalidParameter):
            dp.ProposeTestRelease(**usual | given)  # type: ignore[arg-type]


def test_the_test_noise_is_on_the_integers() -> None:
    """The bar of the integers belongs to discrete Laplace noise of scale 1 / epsilon_1."""
    made = proposed(epsilon=F(2))
    beyond = mp.fsum(laplace_mass(made.test_scale, k) for k in range(made.bar + 1, 400))
    assert mp.almosteq(beyond, chance(made, made.bar, 0), 1e-40)
