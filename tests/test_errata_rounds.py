"""What docs/errata.md says of the notes on many rounds (S2, S3 on composition, S0 on splitting, S4), shown exactly.

Each test shows the fault as printed, then the correction. Nothing of ours is used.
"""

import itertools
import math
from fractions import Fraction

import pytest

from tests.closed_forms import laplace_tail, mp, mpf, response_delta


class TestIterativeConstruction:
    """S2. Answers are normalised; `level` is the error promised, alpha in the notes."""

    def test_e2_1_an_update_that_takes_a_table_takes_no_database_that_it_made(self) -> None:
        """Counts (1, 1), and the first is released as 2/3: what an update makes of it is in no N^X, and is updated."""

        def updated(database: tuple[Fraction, ...], query: tuple[int, ...], value: Fraction) -> tuple[Fraction, ...]:
            away = value - sum(q * d for q, d in zip(query, database, strict=True))
            return tuple(d + away * (1 if q else -1) for q, d in zip(query, database, strict=True))

        table = (Fraction(1), Fraction(1))
        first = updated(table, (1, 0), Fraction(2, 3))
        assert first == (Fraction(2, 3), Fraction(4, 3))
        assert not all(d.denominator == 1 for d in first)
        assert updated(first, (1, 0), Fraction(1)) == table

    def test_e2_2_the_last_database_of_a_printed_sequence_is_always_wrong(self) -> None:
        """One query, answered by a number; an update replaces the number by the estimate."""
        truth, level = Fraction(1, 2), Fraction(1, 4)
        databases, steps = [Fraction(0)], 0
        while abs(truth - databases[-1]) >= level:  # property 2: as long as it can be extended
            databases.append(truth)
            steps += 1
        printed, after_the_last_update = databases[steps - 1], databases[steps]  # D^L and D^(L+1)
        assert abs(truth - printed) >= level
        assert abs(truth - after_the_last_update) < level

    def stopping_error(self, noise: Fraction, stop: Fraction, slack: Fraction) -> Fraction:
        """The greatest error over both queries when the loop may stop, over a grid of what the parts allow.

        Query 1 is chosen: its error is at least that of query 2 less `slack`, its answer within `noise`.
        """
        grid = Fraction(1, 64)
        worst = Fraction(0)
        for chosen in (grid * i for i in range(129)):
            measured = min(abs(chosen - noise), abs(chosen + noise)) if chosen > noise else Fraction(0)
            if measured < stop:
                worst = max(worst, chosen + slack)
        return worst

    def test_e2_3_the_stopping_rule_promises_half_as_much_again(self) -> None:
        level = Fraction(1)
        printed = self.stopping_error(noise=level / 4, stop=3 * level / 4, slack=level / 2)
        assert level < printed <= 3 * level / 2
        corrected = self.stopping_error(noise=level / 8, stop=5 * level / 8, slack=level / 4)
        assert corrected <= level
        # An update that happens is a real one: the error is at least level / 2, that of the update rule.
        assert 5 * level / 8 - level / 8 == level / 2

    def test_e2_3_an_instance(self) -> None:
        level = Fraction(1)
        truth, model = (
            {"Q1": Fraction(99, 100), "Q2": Fraction(149, 100)},
            {"Q1": Fraction(0), "Q2": Fraction(0)},
        )
        errors = {query: abs(truth[query] - model[query]) for query in truth}
        noisy = truth["Q1"] - level / 4
        assert errors["Q1"] >= max(errors.values()) - level / 2  # a legal choice of the distinguisher
        assert abs(noisy - truth["Q1"]) <= level / 4  # a legal noise
        assert abs(noisy - model["Q1"]) < 3 * level / 4  # so it stops
        assert max(errors.values()) > level

    def test_e2_4_the_number_of_steps_is_that_of_half_the_level(self) -> None:
        """With B(alpha) = C / alpha^2, epsilon / (2 B(alpha)) a step spends four times epsilon."""

        def rounds(level: Fraction) -> int:
            return math.ceil(4 * Fraction(10) / level**2)

        level, epsilon = Fraction(1, 10), Fraction(1)
        steps = 2 * rounds(level / 2)
        assert steps * epsilon / (2 * rounds(level)) == 4 * epsilon
        assert steps * epsilon / (2 * rounds(level / 2)) == epsilon

    def test_e2_6_a_learner_with_small_average_error_need_not_distinguish(self) -> None:
        """Right on 99 of 100 queries on average, and no distinguisher: gamma and the worst query are what counts. The
        exponential mechanism has F = (2 / (n eps)) ln(abs(C) / gamma)."""
        gaps = [Fraction(0)] * 99 + [Fraction(1)]
        chosen = 0  # a query that is wrong by the median, and by nearly the mean
        assert abs(gaps[chosen] - sum(gaps) / 100) == Fraction(1, 100)
        assert max(gaps) - gaps[chosen] == 1
        for queries, gamma, epsilon, rows in (
            (100, mpf("0.05"), mpf(1), 1000),
            (10**6, mpf("0.001"), mpf("0.1"), 10**5),
        ):
            slack = 2 / (rows * epsilon) * mp.log(queries / gamma)
            short = mp.exp(-epsilon * rows / 2 * slack)  # the weight of a query that is off by more than F, at most
            assert mp.almosteq(queries * short, gamma)

    def test_e2_7_alpha_stands_on_both_sides(self) -> None:
        """alpha = 16 B(alpha / 2) ln(abs(C) / g) / (n eps) with B(a) = 4 ln abs(X) / a^2: a cube root, and 4th for
        delta > 0: alpha^2 = 32 sqrt(16 ln abs(X) ln(1 / d)) ln(abs(C) / g) / (n eps)."""
        cells, choices, rows, epsilon, delta = mp.log(10**6), mp.log(10**5), mpf(10**6), mpf(1), mpf(10) ** -9
        pure = mp.cbrt(16 * 16 * cells * choices / (rows * epsilon))
        assert mp.almosteq(pure, 16 * (4 * cells / (pure / 2) ** 2) * choices / (rows * epsilon))
        both = mp.sqrt(32 * 4 * mp.sqrt(cells * mp.log(1 / delta)) * choices / (rows * epsilon))
        bound = 4 * cells / (both / 2) ** 2
        assert mp.almosteq(both, 32 * mp.sqrt(bound * mp.log(1 / delta)) * choices / (rows * epsilon))
        for factor in (8, 64):  # eight times the rows: half the error; with a delta, four times are enough
            assert mp.almosteq(pure / mp.cbrt(factor), mp.cbrt(256 * cells * choices / (factor * rows * epsilon)))
            assert mp.almosteq(both / mp.sqrt(factor), mp.sqrt(
                128 * mp.sqrt(cells * mp.log(1 / delta)) * choices / (factor * rows * epsilon)
            ))  # fmt: skip

    def test_e2_8_without_complements_an_answer_that_is_too_low_is_not_found(self) -> None:
        """q(D, Q) = Q(D) - Q(D^t) without a sign sees nothing; its absolute value, or the complement, does."""
        table, model = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))

        def error(query: tuple[int, int]) -> Fraction:
            return sum((q * (t - m) for q, t, m in zip(query, table, model, strict=True)), Fraction(0))

        first, complement = (1, 0), (0, 1)
        assert error(first) == -1  # the class {first} has no query that is better than none
        assert abs(error(first)) == 1
        assert error(complement) == 1


class TestSplitting:
    """S0, many counting queries: each of k answers on n rows has epsilon / k, and errors are divided by n."""

    def kept(self, error: mpf, questions: int, rows: int, epsilon: mpf) -> mpf:
        """P(no answer is off by more than this share of the rows)."""
        return (1 - 2 * laplace_tail(questions / (epsilon * rows), error)) ** questions

    def test_e0_3_rows_and_queries_are_two_numbers(self) -> None:
        epsilon, beta, rows, constant = mpf(1), mpf("0.05"), 1000, 5
        # As printed n cancels, and constant / epsilon is kept however many are asked: for one it is, for 10 n never.
        assert self.kept(constant / epsilon, 1, rows, epsilon) == 1  # but for exp(-5000)
        assert self.kept(constant / epsilon, 10 * rows, rows, epsilon) < mpf(10) ** -1000
        # Where k = n it is of the order of one answer's error, and still not of the worst: that carries ln k.
        assert 2 * laplace_tail(1 / epsilon, constant / epsilon) < mpf("0.01")
        assert self.kept(constant / epsilon, rows, rows, epsilon) < mpf("0.01")
        for questions in (1, 10, rows, 10 * rows):
            corrected = questions * mp.log(questions / beta) / (epsilon * rows)
            assert 1 - beta <= self.kept(corrected, questions, rows, epsilon) < 1 - beta * mpf("0.97")


class TestComposition:
    """S3, Corollary 6, and what rests on it in S0 and S2; S4, "group privacy"."""

    def corollary(self, epsilon: mpf, delta: mpf, count: int) -> mpf:
        return response_delta(epsilon, epsilon / mp.sqrt(8 * count * mp.log(1 / delta)), count)

    @pytest.mark.parametrize(
        ("epsilon", "count", "true_delta"),
        [(50, 4000, "0.0192"), (75, 4000, "0.503"), (100, 10_000, "0.982")],
    )
    def test_e3_1_the_corollary_fails_for_a_large_epsilon(self, epsilon: int, count: int, true_delta: str) -> None:
        found = self.corollary(mpf(epsilon), mpf("0.01"), count)
        assert mp.nstr(found, 3) == true_delta
        assert found > mpf("0.01")

    @pytest.mark.parametrize(("share", "true_delta"), [(50, "0.0192"), (75, "0.503")])
    def test_e0_2_the_noise_of_numeric_sparse_rests_on_the_corollary(self, share: int, true_delta: str) -> None:
        """4,000 values, delta = 0.02. S0 gives the values eps2 / 2 and delta / 2, and noise sqrt(32 c ln(2 / delta)) /
        eps2. On integers, Laplace noise has the loss of randomised response: the values have more delta than that.
        """
        count, delta = 4_000, mpf("0.02")
        eps2 = mpf(2 * share)  # corrected as in E0.1
        scale = mp.sqrt(32 * count * mp.log(2 / delta)) / eps2
        values = response_delta(eps2 / 2, 1 / scale, count)
        assert mp.nstr(values, 3) == true_delta
        assert values > delta / 2
        step = 1 / scale
        assert count * step * mp.expm1(step) > eps2 / 4  # the condition that is left out: half of eps2 / 2

    @pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
    def test_e0_2_and_holds_where_the_condition_does(self, epsilon: str) -> None:
        """5 is about ln(2 / delta), and 4 ln(1 / delta) is 16."""
        delta = mpf("0.02")
        for count in (1, 10, 100, 4_000):
            eps1 = mp.sqrt(512) / (mp.sqrt(512) + 1) * mpf(epsilon)
            for part in (eps1, mpf(epsilon) / (mp.sqrt(512) + 1)):  # the tests, and half of eps2 for the values
                assert self.corollary(part, delta / 2, count) <= delta / 2

    def test_e2_5_the_iterative_construction_rests_on_it_too(self) -> None:
        """2 B steps of eps0 = eps / (4 sqrt(B ln(1 / delta))): the corollary, for 2 B releases."""
        bound, epsilon, delta = 2_000, mpf(50), mpf("0.01")
        step = epsilon / (4 * mp.sqrt(bound * mp.log(1 / delta)))
        assert mp.almosteq(step, epsilon / mp.sqrt(8 * 2 * bound * mp.log(1 / delta)))
        assert response_delta(epsilon, step, 2 * bound) > delta
        assert self.corollary(mpf(1), delta, 2 * bound) <= delta

    @pytest.mark.parametrize("count", [1, 10, 100, 4000])
    @pytest.mark.parametrize("epsilon", ["0.1", "0.99"])
    def test_e3_1_and_holds_below_1(self, epsilon: str, count: int) -> None:
        assert self.corollary(mpf(epsilon), mpf("0.01"), count) <= mpf("0.01")

    def test_the_sum_over_answers_is_the_sum_over_all_outcomes(self) -> None:
        """`response_delta` against every outcome of five responses, with e^each = 2 and e^epsilon = 3/2."""
        worse = Fraction(0)
        for answers in itertools.product((Fraction(2, 3), Fraction(1, 3)), repeat=5):
            one, two = math.prod(answers), math.prod(1 - p for p in answers)
            worse += max(Fraction(0), one - Fraction(3, 2) * two)
        found = response_delta(mp.log(mpf(3) / 2), mp.log(2), 5)
        assert mp.almosteq(found, mpf(worse.numerator) / worse.denominator)

    def test_e4_1_the_delta_of_a_group_grows_faster_than_its_size(self) -> None:
        """Tables 0, 1, 2 and one event; e^epsilon = 2, delta = 1/100."""
        growth, delta = Fraction(2), Fraction(1, 100)
        event = [Fraction(0), delta, growth * delta + delta]
        for one, two in itertools.permutations(range(3), 2):
            size = abs(one - two)
            bound = delta * (growth**size - 1) / (growth - 1)
            for p, p_other in ((event[one], event[two]), (1 - event[one], 1 - event[two])):
                assert p <= growth**size * p_other + bound
        assert event[2] - growth**2 * event[0] == 3 * delta > 2 * delta  # neither delta nor 2 delta is enough

    def test_e4_1_a_renyi_curve_has_no_square_rule(self) -> None:
        """One event of probability p, p/r, p/r^2 over three tables, at order 2: e^D = sum of p^2 / q."""

        def exponential(p: Fraction, q: Fraction) -> Fraction:
            return p**2 / q + (1 - p) ** 2 / (1 - q)

        p, r = Fraction(1, 10_000), 100
        tables = [p, p / r, p / r**2]
        steps = [exponential(a, b) for a, b in itertools.pairwise(tables)]
        steps += [exponential(b, a) for a, b in itertools.pairwise(tables)]
        pair = exponential(tables[0], tables[2])
        assert pair > max(steps) ** (4 * 10)  # not 4 times the divergence of a step: more than 40 times
