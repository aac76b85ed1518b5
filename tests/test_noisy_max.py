"""`noisy_max`: Gumbel noise is the exponential mechanism, once or k times; the law of k choices by enumeration."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.randomness import system
from discreet.errors import InvalidParameter
from tests.broken import selection as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.selecting import (
    ONE,
    Distribution,
    Pair,
    Scores,
    check_law,
    check_pure,
    check_renyi,
    extreme_neighbours,
    integrated,
    law_of,
    neighbours,
    peeled,
    softmax,
    tables,
)
from tests.sizes import sized
from tests.statistics import chi_square

F = Fraction
GENERAL, MONOTONE = dp.Utility.GENERAL, dp.Utility.MONOTONE


def ours(epsilon: Fraction, utility: dp.Utility = GENERAL) -> dp.NoisyMax:
    return dp.NoisyMax(sensitivity=ONE, epsilon=epsilon, utility=utility)


@integrated
def noisy_maximum(scores: Scores, rate: Fraction) -> Distribution:
    """P(i is largest) with Gumbel noise: the integral of its density times the chance that all others lie below."""
    best = max(Fraction(score) for score in scores)
    gaps = [real(rate) * real(best - Fraction(score)) for score in scores]

    def density(i: int, x: mpf) -> mpf:
        others = mp.fsum(mp.exp(-(x + gap)) for gap in gaps)  # -ln of the product of all distribution functions
        return mp.exp(-(x + gaps[i]) - others)

    return [mp.quad(lambda x, i=i: density(i, x), [-7, -3, 0, 3, 10, 40, 160]) for i in range(len(gaps))]


@pytest.mark.parametrize(("utility", "factor"), [(GENERAL, 2), (MONOTONE, 1)])
def test_the_largest_with_gumbel_noise_is_the_exponential_mechanism(utility: dp.Utility, factor: int) -> None:
    law = law_of(ours(F(2), utility))
    for scores in tables(random.Random(1), sized(6, 60)):
        for p, q in zip(law(scores), noisy_maximum(scores, F(2, factor)), strict=True):
            assert abs(p - q) < mpf(10) ** -20
    check_law(law, lambda scores: softmax(scores, F(2, factor)), tables(random.Random(2), sized(20, 1000)))


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(4)])
@pytest.mark.parametrize("utility", [GENERAL, MONOTONE])
def test_every_outcome_on_every_neighbour(epsilon: Fraction, utility: dp.Utility) -> None:
    """epsilon-DP, with Renyi divergence at most a epsilon^2 / 8."""
    mechanism = ours(epsilon, utility)
    check_pure(law_of(mechanism), epsilon, neighbours(3, (0, 1, 4), utility))
    for count in (2, 6):
        check_pure(law_of(mechanism), epsilon, extreme_neighbours(count, utility))
        check_renyi(law_of(mechanism), mechanism.loss.renyi, list(extreme_neighbours(count, utility)))
    assert mechanism.loss == dp.Exponential(sensitivity=ONE, epsilon=epsilon, utility=utility).loss


class TestTopK:
    """the composition of k exponential mechanisms of `epsilon` / k each, so epsilon-DP in total, with Renyi divergence
    at most a epsilon^2 / (8 k).
    """

    @staticmethod
    def law(epsilon: Fraction, k: int, rate: Fraction | None = None) -> Callable[[Scores], Distribution]:
        """The law of the ordered k-tuples."""
        each = epsilon / (2 * k) if rate is None else rate
        return lambda scores: list(peeled(scores, each, k).values())

    @staticmethod
    def pairs(k: int) -> list[Pair]:
        return [*neighbours(3, (0, 1, 4), GENERAL), *extreme_neighbours(4, GENERAL)][:: 1 if k < 3 else 2]

    @pytest.mark.parametrize("k", [1, 2, 3])
    @pytest.mark.parametrize("epsilon", [F(1, 2), F(3)])
    def test_every_tuple_on_every_neighbour(self, epsilon: Fraction, k: int) -> None:
        mechanism = dp.NoisyTopK(sensitivity=ONE, epsilon=epsilon, k=k)
        assert mechanism.loss.epsilon(delta=0) == float(epsilon)
        pairs = [pair for pair in self.pairs(k) if len(pair[0]) >= k]
        check_pure(self.law(epsilon, k), epsilon, pairs)
        extreme = list(extreme_neighbours(4, GENERAL))
        check_renyi(self.law(epsilon, k), mechanism.loss.renyi, extreme)
        check_renyi(self.law(epsilon, k), lambda order: order * epsilon**2 / (8 * k), extreme)
        if k > 1:
            every_choice = self.law(epsilon, k, broken.peeled_with_all_of_it(epsilon, k))
            with pytest.raises(AssertionError):
                check_pure(every_choice, epsilon, pairs)

    @pytest.mark.parametrize("scores", [(0, 1, 2), (0.5, 0, 0, 3), (1000, 0, 1), (0, 0, 0), (0, 1e300, 0)])
    def test_the_tuples_drawn_have_this_law(self, scores: tuple[float, ...]) -> None:
        k, n = 2, sized(6_000, 100_000)
        mechanism = dp.NoisyTopK(sensitivity=ONE, epsilon=2, k=k)
        closed = peeled(scores, F(1, 2), k)
        places = {chosen: place for place, chosen in enumerate(c for c, p in closed.items() if p > mpf("1e-9"))}
        likely = [float(closed[chosen]) for chosen in places]

        def ours(n: int) -> np.ndarray:
            drawn = [tuple(mechanism._release(list(scores), system())) for _ in range(n)]
            return np.array([places.get(chosen, len(places)) for chosen in drawn])

        def with_replacement(n: int) -> np.ndarray:
            each = broken.drawn_from(softmax(scores, F(1, 2)), 2 * n).reshape(n, 2)
            return np.array([places.get((int(a), int(b)), len(places)) for a, b in each])

        chi_square(lambda draws: draws, likely, n).run(ours, wrong={"the same one twice": with_replacement})

    def test_far_apart_they_come_in_their_order(self) -> None:
        """After 1e300, which has all the weight there is to see, 0 comes before -2000 all but surely."""
        scores, best_first = (-2000, 1e300, 0), [1, 2]
        assert abs(mp.log(peeled(scores, F(1, 2), 2)[1, 0]) + 1000) < mpf(10) ** -40
        mechanism = dp.NoisyTopK(sensitivity=ONE, epsilon=2, k=2)
        assert all(mechanism._release(list(scores), system()) == best_first for _ in range(sized(500, 5000)))
        as_told_apart_by_a_float = [F(0) - F(1e300 - score) for score in scores]
        assert peeled(as_told_apart_by_a_float, F(1, 2), 2)[1, 2] == mpf(1) / 2

    def test_all_are_chosen_once(self) -> None:
        for scores in ([5, 1, 3], [0, 0, 10**9, -(10**9)], [1e300, -1e300, 0.0]):
            chosen = dp.NoisyTopK(sensitivity=ONE, epsilon=1, k=len(scores)).release(scores)
            assert sorted(chosen) == list(range(len(scores)))
        best_first = dp.NoisyTopK(sensitivity=ONE, epsilon=3, k=3).release([0, 9000, 30_000, 6000])
        assert best_first == [2, 1, 3]

    def test_whole_numbers_beyond_floats_beside_real_ones(self) -> None:
        """Read as NumPy reads a list, the two best would tie."""
        scores: list[int | float] = [2**60 + 1, 2**60, 0.5]
        assert broken.as_floats(scores)[0] == broken.as_floats(scores)[1]
        sure = dp.NoisyTopK(sensitivity=ONE, epsilon=400, k=2)
        assert all(sure.release(scores) == [0, 1] for _ in range(20))

    def test_refusals(self) -> None:
        for k in (0, -1, 1.5, True, None):
            with pytest.raises(InvalidParameter):
                dp.NoisyTopK(sensitivity=ONE, epsilon=1, k=k)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="cannot be chosen"):
            dp.NoisyTopK(sensitivity=ONE, epsilon=1, k=3).release([1, 2])
        with pytest.raises(InvalidParameter, match="normaliser"):
            dp.NoisyTopK(sensitivity=ONE, epsilon=1, k=1, utility=dp.Utility.CONSTANT_NORMALISER)
        with pytest.raises(InvalidParameter, match="normaliser"):
            dp.NoisyMax(sensitivity=ONE, epsilon=1, utility=dp.Utility.CONSTANT_NORMALISER)


@integrated
def test_peeling_is_gumbel_noise_sorted() -> None:
    """Gumbel top-k is peeling: the order of three noisy scores, by a double integral."""
    scores, rate = (F(0), F(1), F(5, 2)), F(1, 2)
    closed = peeled(scores, rate, 3)
    shifts = [real(rate * score) for score in scores]

    def below(x: mpf, i: int) -> mpf:
        return mp.exp(-mp.exp(shifts[i] - x))

    def density(x: mpf, i: int) -> mpf:
        return mp.exp(shifts[i] - x) * below(x, i)

    for first, second, third in itertools.permutations(range(3)):
        # P(third < second < first): the middle one lies at x
        chance = mp.quad(
            lambda x, a=first, b=second, c=third: density(x, b) * below(x, c) * (1 - below(x, a)),
            [-6, -2, 1, 4, 12, 40, 160],
        )
        assert abs(chance - closed[first, second, third]) < mpf(10) ** -18
    assert abs(mp.fsum(closed.values()) - 1) < mpf(10) ** -30


def test_the_checks_of_top_k_are_given_every_tuple() -> None:
    law: Iterable[mpf] = peeled((0, 1, 2, 3), F(1), 2).values()
    assert len(list(law)) == 12
