"""`partition_selection`: the optimal probabilities, by linear programming and in closed form; its price, by tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from discreet import dp
from discreet.dp.partition_selection import Chances
from discreet.errors import BudgetExceeded, InvalidParameter
from tests.broken import partitions as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.partitions import ADD, FOUR_KEYS, REPLACE, LawOf, check_price, essential, named, pairs, worst
from tests.sizes import sized
from tests.statistics import Draw, chi_square

F = Fraction
BOTH = pytest.mark.parametrize("relation", [ADD, REPLACE])
PRICES = [(F(1), F(1, 100)), (F(1, 10), F(1, 10**6)), (F(5), F(1, 10**9)), (F(1, 3), F(1, 5)), (F(20), F(1, 10**30))]


def selection(groups: int = 1, relation: dp.Neighbours = ADD, epsilon: object = 1, delta: object = F(1, 100)):  # type: ignore[no-untyped-def]
    return dp.PartitionSelection(groups=groups, neighbours=relation, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]


def law_of(made: dp.PartitionSelection) -> LawOf:
    return lambda counts: [named(real(made.chance(max(count, 0)))) for count in counts]


class TestTheProbabilities:
    @pytest.mark.parametrize(("epsilon", "delta"), PRICES)
    def test_keep_both_inequalities_exactly(self, epsilon: Fraction, delta: Fraction) -> None:
        """pi(n + 1) <= exp(e) pi(n) + d and 1 - pi(n) <= exp(e) (1 - pi(n + 1)) + d hold exactly, and `draw` names
        a key of n units with probability pi(n), exactly.
        """
        made = Chances(epsilon, delta)
        found = [made.of(n) for n in range(len(made.numerators) + 1)]
        assert found[0] == 0
        assert found[-1] == found[-2] == 1
        assert all(one <= other for one, other in itertools.pairwise(found))
        with mp.workdps(200):
            grow, d = mp.exp(real(epsilon)), real(delta)
            for one, other in itertools.pairwise(map(real, found)):
                assert other <= grow * one + d
                assert 1 - one <= grow * (1 - other) + d

    @pytest.mark.parametrize(("epsilon", "delta"), PRICES)
    def test_are_those_of_the_paper_in_closed_form(self, epsilon: Fraction, delta: Fraction) -> None:
        """Growth by exp(e) up to n1, then decay of the rest: Theorem 1, which writes no recurrence."""
        e, d = real(epsilon), real(delta)
        n1 = 1 + int(mp.floor(mp.log((mp.exp(e) + 2 * d - 1) / ((mp.exp(e) + 1) * d)) / e))
        rising = lambda n: d * mp.expm1(n * e) / mp.expm1(e)  # noqa: E731
        made = Chances(epsilon, delta)
        for n in range(len(made.numerators) + 3):
            left = (n - n1) * e
            falling = -mp.expm1(-left) * (1 + d / mp.expm1(e)) + mp.exp(-left) * rising(n1)
            wanted = rising(n) if n <= n1 else min(falling, mpf(1))
            assert wanted * (1 - mpf(2) ** -60) <= real(made.of(n)) <= wanted * (1 + mpf(10) ** -40)

    @pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 0.01), (2.0, 0.001)])
    def test_are_the_greatest_that_a_linear_program_finds(self, epsilon: float, delta: float) -> None:
        """No probabilities that keep (epsilon, delta) between n and n + 1 units, in both orders, are greater."""
        made = selection(epsilon=epsilon, delta=delta)
        last, rows, limits = 25, [], []
        for n in range(last):
            for sign, limit in ((1, delta), (-1, math.exp(epsilon) - 1 + delta)):
                for a, b in ((n, n + 1), (n + 1, n)):
                    row = np.zeros(last + 1)
                    row[a], row[b] = sign, -sign * math.exp(epsilon)
                    rows.append(row)
                    limits.append(limit)
        limits_of_one = [(0, 0), *[(0, 1)] * last]
        best = linprog(-np.ones(last + 1), A_ub=np.array(rows), b_ub=limits, bounds=limits_of_one, method="highs")
        found = np.array([float(made.chance(n)) for n in range(last + 1)])
        assert np.allclose(best.x, found, atol=1e-7)
        assert not np.allclose(
            best.x, [float(selection(epsilon=0.9 * epsilon, delta=delta).chance(n)) for n in range(last + 1)], atol=1e-4
        )

    def test_a_key_without_units_is_never_named(self) -> None:
        made = selection(delta=F(1, 2))
        assert made.chance(0) == 0
        assert made.release(np.arange(100_000), np.zeros(100_000, dtype=np.int64)) == []


class TestThePrice:
    """(epsilon, delta)-DP for `neighbours`, and more exactly the K counts that one unit moves (m, or 2m under
    REPLACE) each cost at most (e, d), with e = epsilon / K and 1 - (1 - d)^K = delta.
    """

    @BOTH
    @pytest.mark.parametrize("groups", [1, 2])
    def test_by_every_pair_of_tiny_tables(self, groups: int, relation: dp.Neighbours) -> None:
        made = selection(groups, relation, epsilon=2, delta=F(1, 20))
        found = essential(pairs(groups, relation, keys=3, units=2))
        assert len(found) > groups
        found += FOUR_KEYS if groups == 2 and relation is REPLACE else []
        check_price(law_of(made), made.loss, found, [F(0), F(1, 2), F(1), F(2), F(3)])
        assert made.loss.delta(epsilon=2) == 0.05
        with pytest.raises(AssertionError):
            check_price(law_of(made), dp.Loss.pure(epsilon=2), found, [F(2)])

    def test_it_is_all_used(self) -> None:
        """Two keys that nobody else has are named with delta together; one key at any size costs (e, d)."""
        made = selection(2, ADD, epsilon=2, delta=F(1, 20))
        found = worst(law_of(made), [((-1, -1), (1, 1))], F(2))
        assert real(F(1, 20)) * (1 - mpf(2) ** -50) < found <= real(F(1, 20))
        steps = [((n,), (n + 1,)) for n in range(12)]
        each = worst(law_of(made), steps, made.each)
        assert real(made.delta_of_a_key) * (1 - mpf(2) ** -50) < each <= real(made.delta_of_a_key)

    @BOTH
    def test_delta_for_every_key_is_too_much(self, relation: dp.Neighbours) -> None:
        made = selection(2, relation, epsilon=2, delta=F(1, 20))
        found = essential(pairs(2, relation, keys=3, units=1))
        with pytest.raises(AssertionError):
            check_price(broken.delta_for_every_key(made.each, made.delta), made.loss, found, [F(2)])

    def test_a_cut_off_protects_nobody(self) -> None:
        found = essential(pairs(1, ADD, keys=2, units=3))
        check_price(law_of(selection()), selection().loss, found, [F(1)])
        with pytest.raises(AssertionError):
            check_price(broken.cut_off(3), selection().loss, found, [F(1)])
        assert worst(broken.cut_off(3), found, F(10)) == 1

    @BOTH
    def test_the_sensitivity_of_counts_of_units(self, relation: dp.Neighbours) -> None:
        """By the same tables: l1 = m, l2 = sqrt(m), linf = 1, and twice m under REPLACE; all three are reached."""
        for groups in (1, 2):
            moves = [
                [max(b, 0) - max(a, 0) for a, b in zip(*pair, strict=True)]
                for pair in pairs(groups, relation, keys=4, units=1)
            ]
            stated = selection(groups, relation).sensitivity
            assert max(sum(map(abs, move)) for move in moves) == stated.l1
            assert max(sum(step * step for step in move) for move in moves) == round(stated.l2**2, 10)
            assert max(max(map(abs, move)) for move in moves) == stated.linf

    def test_what_a_budget_is_charged(self) -> None:
        made = dp.PartitionSelection(groups=10, neighbours=ADD, rho=F(1, 10), delta=F(1, 10**10))
        assert 10 * made.each**2 / 2 <= F(1, 10)
        budget = dp.Budget(epsilon=1, delta=1e-9, delta_add=1e-10)
        charge = budget.charge(made.loss)
        assert charge is not None
        assert charge.delta == F(1, 10**10)
        assert charge.amount <= F(1, 10) * budget.order
        together = budget.charge(dp.Loss.pure(epsilon=10 * made.each))
        assert together is not None
        assert charge.amount < together.amount  # ten keys cost less than one question of ten times the epsilon
        assert dp.Budget(epsilon=1).charge(made.loss) is None


def kept_of(made: dp.PartitionSelection, counts: list[int]) -> Draw:
    """Which of many keys with these counts are named: 2 i, or 2 i + 1 where the i-th of the counts was named."""

    def draw(n: int) -> np.ndarray:
        place = np.arange(n) % len(counts)
        named_ones = made.release(np.arange(n), np.array(counts)[place])
        return 2 * place + np.isin(np.arange(n), named_ones)

    return draw


def test_keys_are_named_as_often_as_they_should_be() -> None:
    """alpha = 1e-6; a tenth more of delta, or of epsilon, is seen."""
    counts = [0, 1, 2, 3, 4, 5, 9]
    made = selection(epsilon=1, delta=F(1, 20))
    chances = [c / len(counts) for n in counts for c in (1 - float(made.chance(n)), float(made.chance(n)))]
    cells = [i for i, chance in enumerate(chances) if chance]
    label = lambda draws: np.searchsorted(cells, draws)  # noqa: E731
    check = chi_square(label, [chances[i] for i in cells], sized(200_000, 2_000_000))
    wrong = {"delta": selection(epsilon=1, delta=F(11, 200)), "epsilon": selection(epsilon=F(11, 10), delta=F(1, 20))}
    check.run(kept_of(made, counts), wrong={name: kept_of(one, counts) for name, one in wrong.items()})


def test_a_tie_of_64_bits_is_decided_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Chances(F(1), F(1, 100))

    class Scripted:
        def __init__(self, low: int) -> None:
            self.low = low

        def words(self, count: int, bits: int) -> np.ndarray:
            return np.full(count, made._tops[1], dtype=np.uint64)

        def integer(self, bits: int) -> int:
            assert bits == made.bits - 64
            return self.low

    tail = made.numerators[1] & ((1 << (made.bits - 64)) - 1)
    one = np.array([1])
    assert made.draw(one, Scripted(tail - 1)).tolist() == [True]  # type: ignore[arg-type]
    assert made.draw(one, Scripted(tail)).tolist() == [False]  # type: ignore[arg-type]


class TestAccuracy:
    def test_the_sure_count_is_the_least(self) -> None:
        for made in (selection(delta=1e-9), selection(5, REPLACE, delta=1e-6), selection(epsilon=F(1, 10), delta=1e-9)):
            for beta in (F(1, 2), F(1, 20), F(1, 10**6)):
                n = made.sure_count(failure_probability=beta)
                assert made.chance(n) >= 1 - beta > made.chance(n - 1)
        assert selection(delta=1e-9).keep_probability(1) == 1e-9
        assert selection(delta=1e-9).keep_probability(10**9) == 1


def test_the_order_is_that_of_the_keys() -> None:
    made = selection(delta=1e-9)
    for keys in (["b", "a", "c"], np.array(["b", "a", "c"]), [3, -1, 2], np.array([3, -1, 2], dtype=np.int32)):
        assert made.release(keys, [999, 998, 997]) == sorted(np.asarray(keys).tolist())
    column = pd.Series(["b", "a", "c"], index=[7, 8, 9])
    assert made.release(column, np.array([999, 998, 997])) == ["a", "b", "c"]  # type: ignore[arg-type]
    rows = [("b", 1), ("a", 2), ("a", 1)]
    assert made.release(rows, [99, 99, 99]) == [("a", 1), ("a", 2), ("b", 1)]
    assert made.release([], []) == []


class TestDoors:
    """nothing but `open` of `PartitionSelection` or `NoisyKeys`, with a permit, lets a key, a count or the
    number of keys out of it.
    """

    SECRET = "a rare illness"

    def exact(self, groups: int = 2, relation: dp.Neighbours = ADD) -> dp.ExactKeys:
        return dp.ExactKeys([self.SECRET, "flu"], [900, 800], groups=groups, neighbours=relation, unit="patient")

    def permit(self, loss: dp.Loss) -> dp.Permit:
        return dp.PrivacyFilter(dp.Budget(epsilon=10, delta=1e-6, delta_add=1e-7)).reserve(loss)

    def test_a_permit_pays_and_a_second_time_it_does_not(self) -> None:
        """the output has the loss that was taken; keys of which a unit is in more than `groups`, or under
        another relation, are refused before anything is taken.
        """
        made = selection(2, delta=1e-9)
        permit = self.permit(made.loss)
        left = permit.left
        for wrong in (self.exact(groups=3), self.exact(relation=REPLACE)):
            with pytest.raises(InvalidParameter, match=r"groups=exact\.groups"):
                made.open(wrong, permit)
        assert permit.left == left
        assert made.open(self.exact(), permit) == [self.SECRET, "flu"]
        with pytest.raises(BudgetExceeded):
            made.open(self.exact(), permit)

    def test_other_doors_are_shut(self) -> None:
        made = selection(2, delta=1e-9)
        permit = self.permit(made.loss)
        with pytest.raises(InvalidParameter):
            made.release(self.exact(), [1])  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            made.open(["flu"], permit)  # type: ignore[arg-type]
        noise = dp.Laplace(sensitivity=made.sensitivity, epsilon=1)
        with pytest.raises(InvalidParameter):
            noise.open(self.exact(), permit)  # type: ignore[arg-type]

    @pytest.mark.parametrize("look", [len, list, iter, bool, hash, dict, np.asarray, sorted, vars])
    def test_it_cannot_be_looked_at(self, look: Callable[[object], object]) -> None:
        with pytest.raises(TypeError) as refusal:
            look(self.exact())
        assert self.SECRET not in str(refusal.value)

    def test_it_does_not_print(self) -> None:
        exact = self.exact()
        for text in (repr(exact), str(exact), f"{exact:>20}", repr(dir(exact)), repr(exact._keyed)):
            assert self.SECRET not in text
            assert "900" not in text
        mapped = dp.ExactKeys.of({self.SECRET: 900}, groups=1, neighbours=ADD, unit="patient")
        assert selection(delta=1e-9).open(mapped, self.permit(selection(delta=1e-9).loss)) == [self.SECRET]

    @pytest.mark.parametrize(
        ("keys", "counts"),
        [
            ([SECRET, SECRET], [1, 2]),
            ([SECRET, 3], [1, 2]),
            ([SECRET, None], [1, 2]),
            ([SECRET], [1, 2]),
            ([SECRET, "b"], [31337, -31337]),
            ([SECRET, "b"], [31337.5, 2.0]),
            ([SECRET, "b"], ["31337", "2"]),
            ([(SECRET, 1), (SECRET, "1")], [1, 2]),
            ([31337.5, 2.0], [1, 2]),
            (SECRET, [1] * len(SECRET)),
            (np.array([[SECRET]]), [[1]]),
            (np.array([31337, 31337]), [1, 2]),
            ([True, False], [1, 2]),
        ],
    )
    def test_what_is_refused_is_not_shown(self, keys: object, counts: object) -> None:
        for door in (
            lambda: selection().release(keys, counts),
            lambda: dp.ExactKeys(keys, counts, groups=1, neighbours=ADD, unit="u"),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidParameter) as refusal:
                door()
            text = str(refusal.value)
            assert self.SECRET not in text
            assert "31337" not in text
            assert refusal.value.__cause__ is None


class TestParameters:
    @pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "x", True])
    def test_of_epsilon(self, epsilon: object) -> None:
        with pytest.raises(InvalidParameter):
            selection(epsilon=epsilon)

    @pytest.mark.parametrize("delta", [0, 1, -0.1, 2, math.nan])
    def test_of_delta(self, delta: object) -> None:
        with pytest.raises(InvalidParameter):
            selection(delta=delta)

    @pytest.mark.parametrize("given", [{}, {"epsilon": 1, "rho": 1}, {"rho": 0}])
    def test_one_price(self, given: dict[str, int]) -> None:
        with pytest.raises(InvalidParameter):
            dp.PartitionSelection(groups=1, neighbours=ADD, delta=1e-9, **given)

    @pytest.mark.parametrize("groups", [0, -1, 1.5])
    def test_of_groups(self, groups: object) -> None:
        with pytest.raises(InvalidParameter):
            selection(groups)  # type: ignore[arg-type]

    def test_of_a_relation_and_of_counts(self) -> None:
        with pytest.raises(InvalidParameter):
            selection(1, "add")  # type: ignore[arg-type]
        for count in (-1, 1.5, True):
            with pytest.raises(InvalidParameter):
                selection().keep_probability(count)

    def test_what_would_need_too_long_a_table(self) -> None:
        with pytest.raises(InvalidParameter, match="NoisyKeys"):
            selection(epsilon=1e-6, delta=1e-12)


def test_the_choice_names_its_reason() -> None:
    facts = {"neighbours": ADD, "epsilon": 1, "delta": 1e-9}
    for counts, groups, best in (
        (False, 1, "optimal"),
        (True, 1, "laplace"),
        (True, 50, "gaussian"),
        (False, 50, "gaussian"),
    ):
        choice = dp.best_partition_selection(groups=groups, counts=counts, **facts)  # type: ignore[arg-type]
        assert choice.best.method == best
        assert choice.best.reason in str(choice)
        sure = [offer.sure_count for offer in choice.offers]
        assert sure == sorted(sure)
        for offer in choice.offers:
            assert offer.sure_count == offer.mechanism.sure_count(failure_probability=F(1, 20))
            assert offer.mechanism.loss.delta(epsilon=1) <= 1e-9
    with pytest.raises(InvalidParameter):
        dp.best_partition_selection(groups=1, counts=1, **facts)  # type: ignore[arg-type]
