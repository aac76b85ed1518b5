"""`noisy_keys`: exact delta over every pair of tiny tables, the least threshold, and that two deltas do not add up."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.broken import partitions as broken
from tests.closed_forms import gaussian_delta, mp, mpf
from tests.noise_laws import laplace_below, laplace_mass, real, rounded_below, rounded_mass
from tests.partitions import (
    ADD,
    FOUR_KEYS,
    NOT_LISTED,
    REPLACE,
    KeyLaw,
    LawOf,
    check_price,
    essential,
    gaussian_told,
    laplace_told,
    pairs,
    told_apart,
    worst,
)
from tests.sizes import sized
from tests.statistics import binned, share

F = Fraction
FAR = 30
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
TWO, SHARE = F(2), F(1, 100)


def noisy(noise: str, groups: int = 1, relation: dp.Neighbours = ADD, epsilon: object = 2, delta: object = SHARE):  # type: ignore[no-untyped-def]
    return dp.NoisyKeys(noise=noise, groups=groups, neighbours=relation, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def key_law(noise: str, count: int, scale: Fraction, threshold: int) -> KeyLaw:
    if noise == "laplace":
        return laplace_told(count, scale, threshold, FAR)
    return gaussian_told(count, scale, threshold, 2 + int(7 * scale))


def law_of(made: dp.NoisyKeys, threshold: int | None = None) -> LawOf:
    least = made.threshold if threshold is None else threshold
    return lambda counts: [key_law(made.noise, n, made.mechanism._noise_scale, least) for n in counts]


def few(groups: int, relation: dp.Neighbours, noise: str) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every pair; of normal noise, whose outcomes have ratios of their own, those of at most two keys that move."""
    found = essential(pairs(groups, relation, keys=3, units=2))
    found += FOUR_KEYS if groups == 2 and relation is REPLACE else []
    return found if noise == "laplace" else [pair for pair in found if len(pair[0]) <= 2]


class TestThePrice:
    """(epsilon, delta)-DP for `neighbours`, the noisy numbers included."""

    @BOTH
    @pytest.mark.parametrize(("noise", "groups"), [("laplace", 1), ("laplace", 2), ("gaussian", 1), ("gaussian", 2)])
    def test_by_every_pair_of_tiny_tables(self, noise: str, groups: int, relation: dp.Neighbours) -> None:
        made = noisy(noise, groups, relation)
        assert made.loss.delta(epsilon=2) <= 0.01
        epsilons = [F(1, 2), TWO, F(5, 2)] if noise == "laplace" else [F(1), TWO]
        check_price(law_of(made), made.loss, few(groups, relation, noise), epsilons)
        with pytest.raises(AssertionError):
            check_price(law_of(made), broken.without_the_delta(made), few(groups, relation, noise), [F(3)])

    @BOTH
    @pytest.mark.parametrize(("noise", "groups"), [("laplace", 1), ("laplace", 2), ("gaussian", 1), ("gaussian", 2)])
    def test_the_threshold_is_the_least(self, noise: str, groups: int, relation: dp.Neighbours) -> None:
        made = noisy(noise, groups, relation)
        alone = [((NOT_LISTED,) * groups, (1,) * groups)]
        assert worst(law_of(made), alone, TWO) <= real(SHARE) < worst(law_of(made, made.threshold - 1), alone, TWO)

    @BOTH
    def test_m_keys_are_all_told_with_one_minus_a_power(self, relation: dp.Neighbours) -> None:
        """lost with probability 1 - (1 - p)^m: exactly, for a unit that has m keys to itself; and not 2m."""
        made = noisy("laplace", 2, relation)
        p = 1 - laplace_below(made.mechanism._noise_scale, made.threshold - 1)
        lost = 1 - (1 - p) ** 2
        assert mp.almosteq(worst(law_of(made), [((-1, -1), (1, 1))], TWO), lost, 1e-30)
        assert 0 <= real(F(repr(made.loss.delta(epsilon=2)))) - lost < mpf(10) ** -17
        moved = [((1, 1, NOT_LISTED, NOT_LISTED), (NOT_LISTED, NOT_LISTED, 1, 1))]
        assert mp.almosteq(worst(law_of(made), moved, TWO), lost, 1e-30)

    @BOTH
    @pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3)])
    def test_normal_noise_and_the_threshold_have_all_of_delta_each(self, relation: dp.Neighbours, epsilon: F) -> None:
        """For every number of keys that a unit has to itself: f(j) <= delta, with both ends near it."""
        delta, groups = F(1, 10**6), 7
        made = noisy("gaussian", groups, relation, epsilon=epsilon, delta=delta)
        moved = groups * (1 if relation is ADD else 2)
        p = 1 - rounded_below(made.mechanism._noise_scale, made.threshold - 1)
        found = []
        for j in range(groups + 1):
            mu = mp.sqrt(moved - j) / real(made.mechanism._noise_scale)
            noise = gaussian_delta(real(epsilon), mu) if mu else mpf(0)
            found.append(1 - (1 - p) ** j * (1 - noise))
        assert max(found) <= real(F(repr(made.loss.delta(epsilon=epsilon)))) <= real(delta)
        assert found[0] > real(delta) * (1 - mpf(10) ** -6)
        assert found[-1] > real(delta) / 3  # thresholds are whole numbers
        assert found[0] + found[-1] > real(delta) * mpf("1.3")  # the sum of both would be too much
        assert made.loss.epsilon(delta=delta) <= epsilon

    @pytest.mark.parametrize("delta", [F(1, 100), F(1, 40), F(1, 20), F(9, 100)])
    def test_what_still_moves_beside_m_keys_of_its_own_counts_too(self, delta: Fraction) -> None:
        """A replaced unit that had m keys to itself moves m others: f(m) = 1 - (1 - p)^m (1 - D_m), at large delta."""
        near = 0
        for groups in (1, 2, 5, 20):
            made = noisy("gaussian", groups, REPLACE, epsilon=1, delta=delta)
            sigma = made.mechanism._noise_scale
            rest = gaussian_delta(mpf(1), mp.sqrt(groups) / real(sigma))
            told = [1 - (rounded_below(sigma, t - 1)) ** groups for t in (made.threshold, made.threshold - 1)]
            here, below = (1 - (1 - lost) * (1 - rest) for lost in told)
            assert here <= real(F(repr(made.loss.delta(epsilon=1)))) <= real(delta) < below
            near += told[1] <= real(delta) or here > real(delta) * mpf("0.9")
        assert near  # without the others some threshold would be too low

    def test_the_delta_of_normal_noise_is_convex_where_the_proof_says(self) -> None:
        """In v = mu^2, up to v^2 + 4v = 4e^2: by second differences at 50 digits; and beyond it is not."""
        for epsilon in (mpf("0.01"), mpf("0.3"), mpf(1), mpf(5)):
            end = 2 * (mp.sqrt(1 + epsilon**2) - 1)
            bend = lambda v, step, e=epsilon: mp.fsum(  # noqa: E731
                weight * gaussian_delta(e, mp.sqrt(v + i * step)) for i, weight in ((-1, 1), (0, -2), (1, 1))
            )
            step = end / 1000
            assert all(bend(end * k / 200, step) > 0 for k in range(2, 200))
            assert all(bend(end * k / 100, step) < 0 for k in (101, 110, 150))

    def test_outside_of_the_proof_the_sum_is_charged(self) -> None:
        """At small epsilon the curve is not known to be convex: the noise and the chance are added."""
        made = noisy("gaussian", 3, REPLACE, epsilon=1, delta=F(1, 10**6))
        noise, low = made.mechanism.loss, F(1, 100)
        assert noise.delta(epsilon=low) < made.loss.delta(epsilon=low) <= noise.delta(epsilon=low) + 1e-6
        assert made.loss.epsilon(delta=1e-7) == float("inf")
        for epsilon in (F(1, 1000), F(1, 50), F(1, 10), F(1, 2), F(1), F(2)):
            back = made.loss.epsilon(delta=made.loss.delta(epsilon=epsilon))
            assert back <= epsilon * F(1001, 1000)
        for delta in (F(1, 10**6), F(1, 10**5), F(1, 10**3), F(1, 10)):
            back = made.loss.epsilon(delta=delta)
            assert noise.epsilon(delta=delta) <= back
            assert made.loss.delta(epsilon=back) <= delta * F(1001, 1000)
        with pytest.raises(InvalidParameter, match="too large"):
            noisy("gaussian", epsilon=F(1, 100), delta=F(1, 10))

    def test_sums_and_budgets_take_noise_and_delta_apart(self) -> None:
        made = dp.NoisyKeys(noise="gaussian", groups=4, neighbours=ADD, rho=F(1, 100), delta=F(1, 10**10))
        budget = dp.Budget(epsilon=1, delta=1e-9, delta_add=1e-10)
        charge = budget.charge(made.loss)
        assert charge is not None
        assert F(99, 10_000) * budget.order < charge.amount <= F(1, 100) * budget.order
        assert 0 < charge.delta <= F(1, 10**10)
        twice = budget.charge(2 * made.loss)
        assert twice is not None
        assert twice.delta == 2 * charge.delta
        assert dp.Budget(rho=1).charge(made.loss) is None
        both = (made.loss + made.loss).delta(epsilon=1)
        assert both >= 2 * float(charge.delta) * (1 - 1e-9)

    @BOTH
    def test_broken_twins(self, relation: dp.Neighbours) -> None:
        made = noisy("laplace", 2, relation, delta=F(1, 50))
        found, scale = essential(pairs(2, relation, keys=3, units=1)), made.mechanism._noise_scale
        allowed = dp.Loss.approximate(epsilon=2, delta=F(1, 50))
        check_price(law_of(made), allowed, found, [TWO])
        twins = broken.for_one_group(scale, F(1, 50)), broken.strictly_above(scale, F(1, 100)), broken.cut_off(2)
        for twin in twins:
            with pytest.raises(AssertionError):
                check_price(twin, allowed, found, [TWO])

    def test_a_threshold_of_the_table(self) -> None:
        """A threshold that depends on the table tells of a third key that nobody touched."""
        made = noisy("laplace")
        found = pairs(1, ADD, keys=2, units=2)
        check_price(law_of(made), made.loss, found, [TWO])
        with pytest.raises(AssertionError):
            check_price(broken.of_the_table(made.mechanism._noise_scale, SHARE), made.loss, found, [TWO])

    def test_keys_that_the_bound_emptied(self) -> None:
        """A unit of six keys is counted in two: the other four are not told, where a twin tells them with noise."""
        made = noisy("laplace", 2)
        found = [((NOT_LISTED,) * 6, (1, 1, 0, 0, 0, 0))]
        check_price(law_of(made), made.loss, found, [TWO])
        with pytest.raises(AssertionError):
            check_price(broken.empty_too(made.mechanism._noise_scale, made.threshold), made.loss, found, [TWO])

    def test_a_replaced_unit_moves_twice_as_many(self) -> None:
        made = noisy("laplace", 1, REPLACE)
        found = [((20, 20), (21, 19)), ((1, 0), (0, 1)), ((20, 1), (21, 0))]
        check_price(law_of(made), made.loss, found, [F(1), TWO])
        with pytest.raises(AssertionError):
            check_price(law_of(made), broken.as_if_added(made), found, [F(1)])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_law_is_the_one_in_closed_form(noise: str) -> None:
    made = noisy(noise, 3, REPLACE, epsilon=1, delta=1e-6)
    scale = made.mechanism._noise_scale
    below = laplace_below if noise == "laplace" else rounded_below
    for count in (1, 2, made.threshold, 3 * made.threshold):
        low, high = made.keep_bounds(count)
        assert real(low) <= 1 - below(scale, made.threshold - count) <= real(high) * (1 + mpf(10) ** -40)
        assert abs(made.keep_probability(count) - float(low)) <= 1e-15
    assert made.keep_bounds(0) == (0, 0)
    for beta in (F(1, 2), F(1, 20), F(1, 10**9)):
        sure = made.sure_count(failure_probability=beta)
        assert 1 - below(scale, made.threshold - sure) >= 1 - real(beta) > 1 - below(scale, made.threshold - sure + 1)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_is_told(noise: str) -> None:
    """alpha = 1e-6: as often as it should be, in numbers of the law; a threshold, or a scale, off by little is seen."""
    made, n = noisy(noise, epsilon=1), sized(100_000, 1_000_000)
    scale, count = made.mechanism._noise_scale, made.threshold + 1
    mass = laplace_mass if noise == "laplace" else rounded_mass
    below = laplace_below if noise == "laplace" else rounded_below
    other = dp.NoisyKeys(noise=noise, groups=1, neighbours=ADD, epsilon=F(19, 20), delta=SHARE)  # type: ignore[arg-type]

    def told(one: dp.NoisyKeys, units: int) -> object:
        def draw(size: int) -> np.ndarray:
            found = one.release(np.arange(size), np.full(size, units))
            numbers = np.full(size, one.threshold - 1)
            numbers[list(found)] = list(found.values())
            return numbers

        return draw

    chance = lambda k: 0.0 if k < made.threshold else float(below(scale, k - count))  # noqa: E731
    edges = range(made.threshold, count + 8)
    check = binned(chance, list(edges), n)
    check.run(told(made, count), wrong={"one more": told(made, count + 1), "scale": told(other, count)})  # type: ignore[arg-type, dict-item]
    single = float(1 - below(scale, made.threshold - 1))
    assert single <= float(SHARE)
    rate = share(lambda numbers: numbers >= made.threshold, single, n)
    rate.run(told(made, 1), wrong={"two units": told(made, 2)})  # type: ignore[arg-type, dict-item]
    assert mass(scale, 0) > 0


def test_numbers_are_sorted_by_key_and_none_is_told_of_empty_keys() -> None:
    made = noisy("gaussian", delta=1e-9)
    found = made.release(["c", "a", "b", "none"], [10_000, 20_000, 30_000, 0])
    assert list(found) == ["a", "b", "c"]
    assert [round(n, -4) for n in found.values()] == [20_000, 30_000, 10_000]
    assert all(type(n) is int for n in found.values())
    assert made.release(np.arange(10_000), np.zeros(10_000, dtype=np.int64)) == {}
    assert noisy("laplace", delta=F(9, 10)).release(np.arange(10_000), np.zeros(10_000, dtype=np.int64)) == {}
    huge = noisy("laplace").release(["huge"], np.array([2**64 - 1], dtype=np.uint64))
    assert huge["huge"] > 2**61


def test_accuracy_is_that_of_the_noise() -> None:
    made = noisy("laplace", 3)
    alpha = made.accuracy(failure_probability=F(1, 20), keys=50)
    assert alpha == dp.Laplace(sensitivity=made.sensitivity, scale=made.mechanism._noise_scale).accuracy(
        failure_probability=F(1, 20), answers=50
    )


def test_told_apart_sees_what_it_should() -> None:
    """Randomised response of loss 1, twice: delta(1) in closed form."""
    truth = 1 / (1 + mp.exp(-1))
    one, other = {"a": truth, "b": 1 - truth}, {"a": 1 - truth, "b": truth}
    assert mp.almosteq(told_apart([one, one], [other, other], mpf(1)), truth**2 * (1 - mp.exp(-1)), 1e-30)


@pytest.mark.parametrize(
    "given",
    [
        {"noise": "cauchy"},
        {"epsilon": None},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"delta": 0},
        {"delta": 1},
        {"groups": 0},
        {"neighbours": None},
    ],
)
def test_parameters(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        dp.NoisyKeys(**{"noise": "laplace", "groups": 1, "neighbours": ADD, "epsilon": 1, "delta": 1e-6, **given})  # type: ignore[arg-type]
