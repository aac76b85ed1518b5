"""What docs/errata.md says of the notes on mechanisms (S0, S1, and S3 on values), shown in closed form.

Each test shows the fault as printed, then the correction. Nothing of ours is used.
"""

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from tests.closed_forms import gaussian_delta, laplace_delta, laplace_tail, mp, mpf, two_gaussians_delta

HERE = Path(__file__).parent
TABLE = HERE.parent / "docs" / "errata.md"


class TestNumericSparse:
    """S0, Algorithm 3; S3, Algorithm 2 and Theorem 10. The value part of NumericSparse with delta > 0."""

    root = mp.sqrt(512)

    def scale(self, epsilon_2: mpf, *, cutoff: int, delta: mpf) -> mpf:
        return mp.sqrt(32 * cutoff * mp.log(2 / delta)) / epsilon_2

    def test_e0_1_the_noise_of_the_values_must_scale_as_1_over_epsilon(self) -> None:
        cutoff, delta, epsilon = 1, mpf("1e-6"), mpf("0.001")
        printed = 2 / (self.root + 1)
        # One value: the loss of what is printed is the same for every epsilon, and far above this one.
        loss = 1 / self.scale(printed, cutoff=cutoff, delta=delta)
        assert laplace_delta(epsilon, loss) > 1000 * delta

        def corrected(epsilon: mpf) -> mpf:
            return 2 * epsilon / (self.root + 1)

        here = self.scale(corrected(epsilon), cutoff=cutoff, delta=delta)
        assert mp.almosteq(here, 2 * self.scale(corrected(2 * epsilon), cutoff=cutoff, delta=delta))
        assert laplace_delta(epsilon, 1 / here) == 0

    def test_e0_1_the_two_parts_add_up_to_epsilon(self) -> None:
        test_part, value_part = self.root / (self.root + 1), 2 / (self.root + 1) / 2
        assert mp.almosteq(test_part + value_part, 1)
        assert Fraction(8, 9) + Fraction(2, 9) / 2 == 1

    @pytest.mark.parametrize("epsilon", [mpf("0.1"), mpf("0.5")])
    def test_e3_2_the_error_of_the_values_must_scale_as_1_over_epsilon(self, epsilon: mpf) -> None:
        cutoff, beta, delta = 10, mpf("0.05"), mpf("1e-6")
        reach, wide = mp.log(2 * cutoff / beta), mp.sqrt(8 * cutoff * mp.log(2 / delta))
        pure, approximate = 9 * cutoff / epsilon, 9 * wide / epsilon  # the scales of the noise
        for scale, printed in ((pure, 9 * cutoff * reach), (approximate, 9 * reach * wide * epsilon)):
            assert 2 * laplace_tail(scale, printed) > 5 * beta / (2 * cutoff)
            assert mp.almosteq(2 * laplace_tail(scale, scale * reach), beta / (2 * cutoff))

    def test_e3_4_neither_split_is_better_in_both_parts(self) -> None:
        """Errors in units of sqrt(c ln(2/delta)) / epsilon, times ln k + ln(4c/beta) and ln(2c/beta)."""

        def errors(test_share: mpf, value_share: mpf) -> tuple[mpf, mpf]:
            return 8 * mp.sqrt(8) / test_share, mp.sqrt(8) / value_share

        s3 = errors(mpf(8) / 9, mpf(1) / 9)
        s0 = errors(self.root / (self.root + 1), 1 / (self.root + 1))
        assert mp.nstr(s3[0], 4) == mp.nstr(s3[1], 4) == "25.46"
        assert (mp.nstr(s0[0], 4), mp.nstr(s0[1], 4)) == ("23.63", "66.83")


class TestLaplace:
    """S1, "The notion of sensitivity", "Laplace mechanism", "Example: Histograms"."""

    def test_e1_1_a_growing_exponential_is_no_density(self) -> None:
        rate = mpf(2)
        for reach in (1, 10, 20):  # the mass within `reach` grows without end
            mass = mp.quad(lambda x: mp.exp(rate * abs(x)), [-reach, 0, reach])
            assert mp.almosteq(mass, 2 * (mp.exp(rate * reach) - 1) / rate, 1e-20)
        mass = mp.quad(lambda x: mp.exp(-rate * abs(x)), [-mp.inf, 0, mp.inf])
        assert mp.almosteq(mass, 2 / rate, 1e-20)

    def test_e1_2_the_claim_of_tightness_contradicts_the_theorem(self) -> None:
        move, epsilon, smaller = Fraction(3), Fraction(1), Fraction(1, 2)

        def greatest_loss(scale: Fraction) -> Fraction:
            points = [Fraction(i, 4) for i in range(-40, 41)]  # 0 and `move` are among them
            return max((abs(x - move) - abs(x)) / scale for x in points)

        # Printed: scale move/smaller is not smaller-DP. It is, and by the theorem's own first sentence.
        assert greatest_loss(move / smaller) == smaller
        # Meant: scale move/epsilon is epsilon-DP and nothing better.
        assert greatest_loss(move / epsilon) == epsilon > smaller

    def test_e1_9_a_histogram_moves_by_two_when_a_row_is_replaced(self) -> None:
        cells, rows = range(3), 3

        def histogram(table: tuple[int, ...]) -> list[int]:
            return [table.count(cell) for cell in cells]

        def distance(one: tuple[int, ...], two: tuple[int, ...]) -> int:
            return sum(abs(a - b) for a, b in zip(histogram(one), histogram(two), strict=True))

        tables = list(itertools.product(cells, repeat=rows))
        assert max(distance(table, table[1:]) for table in tables) == 1
        assert max(distance(table, (cell, *table[1:])) for table in tables for cell in cells) == 2


class TestExponential:
    """S1, "In metric spaces": three points on a line, f(D1) = 0, f(D2) = 1, e^(-1/scale) = 1/2."""

    def law(self, centre: int, base: Fraction) -> tuple[list[Fraction], Fraction]:
        weights = [base ** abs(y - centre) for y in range(3)]
        return weights, sum(weights)

    def test_e1_3_the_normalisers_are_swapped_in_the_proof(self) -> None:
        (one, total_one), (two, total_two) = self.law(0, Fraction(1, 2)), self.law(1, Fraction(1, 2))
        for y in range(3):
            ratio = (one[y] / total_one) / (two[y] / total_two)
            assert ratio == one[y] / two[y] * (total_two / total_one)
            assert ratio != one[y] / two[y] * (total_one / total_two)

    def test_e1_3_the_bound_has_no_f_in_it(self) -> None:
        def greatest_ratio(base: Fraction) -> Fraction:
            (one, total_one), (two, total_two) = self.law(0, base), self.law(1, base)
            return max((a / total_one) / (b / total_two) for a, b in zip(one, two, strict=True))

        # e^epsilon = 4. Corrected: scale >= 2 / epsilon, so e^(-1/scale) >= 1/2.
        assert 2 < greatest_ratio(Fraction(1, 2)) <= 4  # and the factor 2 is needed
        # Printed: scale >= 2 / (epsilon f). Where f is 4 that lets e^(-1/scale) be 1/16.
        assert greatest_ratio(Fraction(1, 16)) > 4


class TestGaussian:
    """S1, "Pure DP with gaussian noise?" and "DP via relaxation"."""

    def test_e1_4_the_log_ratio_has_the_other_sign(self) -> None:
        one, two = (Fraction(0), Fraction(2)), (Fraction(1), Fraction(-1))

        def dot(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction:
            return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))

        def combine(n: int, toward: tuple[Fraction, ...], away: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
            return tuple((n * (t - a) + t + a) / 2 for t, a in zip(toward, away, strict=True))

        def log_ratio(x: tuple[Fraction, ...]) -> Fraction:
            """In units of 1 / (2 sigma^2): -|x - f(D1)|^2 + |x - f(D2)|^2."""
            to_one, to_two = (tuple(a - b for a, b in zip(x, centre, strict=True)) for centre in (one, two))
            return dot(to_two, to_two) - dot(to_one, to_one)

        def printed(x: tuple[Fraction, ...]) -> Fraction:
            difference = tuple(b - a for a, b in zip(one, two, strict=True))
            return dot(difference, tuple(2 * c - a - b for a, b, c in zip(one, two, x, strict=True)))

        gap = dot(*[tuple(a - b for a, b in zip(one, two, strict=True))] * 2)
        for n in (1, 10, 1000):
            x = combine(n, toward=two, away=one)
            assert printed(x) == n * gap
            assert log_ratio(x) == -n * gap  # the direction printed goes to minus infinity
            assert log_ratio(combine(n, toward=one, away=two)) == n * gap  # the conclusion stands

    def classical_mu(self, epsilon: mpf, delta: mpf) -> mpf:
        return epsilon / mp.sqrt(2 * mp.log(mpf("1.25") / delta))

    @pytest.mark.parametrize(("epsilon", "delta"), [("10", "1e-5"), ("20", "1e-5"), ("30", "1e-9")])
    def test_e1_5_the_classical_constant_fails_for_a_large_epsilon(self, epsilon: str, delta: str) -> None:
        assert gaussian_delta(mpf(epsilon), self.classical_mu(mpf(epsilon), mpf(delta))) > 2 * mpf(delta)

    @pytest.mark.parametrize("delta", ["1e-3", "1e-5", "1e-9"])
    @pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "0.99"])
    def test_e1_5_and_is_loose_for_a_small_one(self, epsilon: str, delta: str) -> None:
        assert gaussian_delta(mpf(epsilon), self.classical_mu(mpf(epsilon), mpf(delta))) < mpf(delta) / 2

    def test_e1_5_a_delta_of_1_over_n_allows_publishing_somebody(self) -> None:
        """Each row published with probability delta is (0, delta)-DP: with delta = 1/n somebody mostly is."""
        rows = 1000
        assert 1 - (1 - Fraction(1, rows)) ** rows > Fraction(63, 100)
        assert 1 - (1 - Fraction(1, rows**3)) ** rows < Fraction(1, 10**5)


class TestSmoothSensitivity:
    """S1, "Solution 1: Smoothing": the third case is printed with Lap(1) where N(0, 1) is meant."""

    @pytest.mark.parametrize("delta", ["0.999", "0.1", "1e-6", "1e-12"])
    def test_e1_6_with_laplace_noise_the_third_case_is_the_second_made_worse(self, delta: str) -> None:
        log_term = mp.log(2 / mpf(delta))
        second_beta, second_scale = 1 / (2 * log_term), mpf(2)
        third_beta, third_scale = 1 / (4 * (1 + log_term)), 5 * mp.sqrt(2 * log_term)
        assert third_beta < second_beta
        assert third_scale > 2 * second_scale

    @pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
    def test_e1_6_with_gaussian_noise_its_constants_hold(self, epsilon: str) -> None:
        e, delta = mpf(epsilon), mpf("1e-6")
        log_term = mp.log(2 / delta)
        beta, sigma = e / (4 * (1 + log_term)), 5 * mp.sqrt(2 * log_term) / e
        for shift, stretch in itertools.product((0, mpf(1) / 2, 1), (-beta, -beta / 2, 0, beta / 2, beta)):
            assert two_gaussians_delta(e, shift, sigma, sigma * mp.exp(stretch)) < delta / 1000


class TestProposeTestRelease:
    """S1, "Solution 2: PTR". Tables are 0, 1, 2, ...; neighbours differ by 1; the proposal eta is 1."""

    eta, last = Fraction(1), 12
    values = [Fraction(0), Fraction(3, 4), Fraction(3, 2)] + [Fraction(3, 4)] * 10

    def printed_distance(self, table: int) -> float:
        far = [abs(table - other) for other in range(self.last + 1) if self.moves(table, other) > self.eta]
        return min(far, default=math.inf)

    def moves(self, one: int, two: int) -> Fraction:
        return abs(self.values[one] - self.values[two])

    def test_e1_7_the_printed_distance_is_not_stable_and_the_theorem_fails(self) -> None:
        assert [self.printed_distance(table) for table in (0, 1)] == [2, math.inf]
        epsilon, delta = mpf(1), mpf("1e-6")
        bar = 1 + mp.log(2 / delta) / epsilon
        at_0, at_1 = laplace_tail(1 / epsilon, bar - 2), mpf(1)
        assert mp.almosteq(at_0, mp.e * delta / 4)
        assert at_1 > mp.exp(2 * epsilon) * at_0 + delta  # far from (2 epsilon, delta)-DP
        assert at_1 > 10**5 * (mp.exp(2 * epsilon) * at_0 + delta)

    @pytest.mark.parametrize("values", [values, [Fraction(i * i % 7, 4) for i in range(13)], list(range(13))])
    def test_e1_7_the_distance_to_instability_is_stable(self, values: list[Fraction]) -> None:
        tables = range(self.last + 1)

        def local(table: int) -> Fraction:
            return max(abs(values[table] - values[t]) for t in (table - 1, table + 1) if t in tables)

        unstable = [table for table in tables if local(table) > self.eta]
        distances = [min((abs(table - u) for u in unstable), default=math.inf) for table in tables]
        assert all(a == b or abs(a - b) <= 1 for a, b in itertools.pairwise(distances))

    def test_e1_8_a_smaller_bar_is_enough(self) -> None:
        epsilon, delta = mpf("0.5"), mpf("1e-6")
        for bar, probability in ((mp.log(2 / delta), delta / 4), (mp.log(1 / (2 * delta)), delta)):
            # An unstable table has printed distance 1 and is tested against 1 + bar / epsilon.
            assert mp.almosteq(laplace_tail(1 / epsilon, (1 + bar / epsilon) - 1), probability)


def test_the_table_names_these_tests_and_no_others() -> None:
    rows = re.findall(r"^\| (E\d\.\d+) \|.*\| `(\w+)` \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    source = "".join(path.read_text("utf-8") for path in sorted(HERE.glob("test_errata*.py")))
    written = re.findall(r"def (test_e\d_\d+_\w+)\(", source)
    shown = {re.sub(r"test_e(\d)_(\d+)_.*", r"E\1.\2", name) for name in written}
    assert {erratum for erratum, _ in rows} == shown
    assert len(rows) == len(shown)
    for erratum, name in rows:
        assert name in written
        assert name.startswith(f"test_{erratum.lower().replace('.', '_')}_")
