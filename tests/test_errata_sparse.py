"""What docs/errata.md says of the notes on sparse vectors (S0 and S3), shown by exact sums.

Each test shows the fault as printed, or what is missing, then the correction. Nothing of ours is used.
"""

from fractions import Fraction

import pytest

from tests.closed_forms import laplace_tail, mp, mpf
from tests.noise_laws import real
from tests.streams import Scales, extreme_runs, worst_ratio

F = Fraction


class TestHalting:
    """S0, Algorithm 2: "if count >= c halt" stands after the answer, and before the next question."""

    def sparse(self, cutoff: int) -> Scales:
        return Scales(F(2 * cutoff), F(4 * cutoff), redraw=True)  # epsilon = 1

    @pytest.mark.parametrize("cutoff", [1, 3])
    def test_e0_4_the_last_hit_is_answered_and_nothing_after_it(self, cutoff: int) -> None:
        """c answers of True cost epsilon, to 1e-6: none of them has to be kept back. One more costs (c + 1) / c."""
        law = self.sparse(cutoff).chance
        paid, more = (worst_ratio(law, extreme_runs(hits, misses=60, low=220))[0] for hits in (cutoff, cutoff + 1))
        assert mp.almosteq(paid, 1, 1e-6)
        assert mp.almosteq(more, real(F(cutoff + 1, cutoff)), 1e-6)

    def test_e0_4_without_another_threshold_it_is_another_algorithm(self) -> None:
        """With one threshold for both hits the answers have another law: it costs less, and hits come together."""
        kept = Scales(F(4), F(8)).chance((0, 0), (True, True), 0)[0]
        redrawn = self.sparse(2).chance((0, 0), (True, True), 0)[0]
        assert kept > redrawn * mpf("1.1")


class TestPromise:
    """S0 and S3: AboveThreshold at epsilon = 1, exactly: P(no hit among k values that lie so far below T)."""

    law = Scales(F(2), F(4), redraw=True)

    def survives(self, below: int, questions: int) -> mpf:
        return self.law.chance((-below,) * questions, (False,) * questions, 0)[0]

    def alpha(self, questions: int, beta: mpf) -> int:
        return int(mp.floor(8 * (mp.log(questions) + mp.log(2 / beta))))

    @pytest.mark.parametrize("questions", [10, 1000])
    def test_e0_5_accuracy_needs_the_promise_that_no_earlier_value_is_near(self, questions: int) -> None:
        beta = mpf("0.05")
        alpha = self.alpha(questions, beta)
        assert self.survives(alpha + 1, questions - 1) >= 1 - beta
        for near in (0, alpha // 8):  # such values are within alpha of T: a hit would be right, and it halts
            assert self.survives(near, questions - 1) < 1 - beta

    def test_e3_6_so_many_questions_need_the_promise_of_sparsity(self) -> None:
        """k = exp(epsilon alpha / 8) beta / 2 questions, if they lie alpha below T; of those at T, not a hundred."""
        beta, questions = mpf("0.1"), 10**4
        alpha = self.alpha(questions, beta)
        assert questions <= mp.exp(mpf(alpha + 1) / 8) * beta / 2
        assert self.survives(alpha + 1, questions) >= 1 - beta
        assert self.survives(0, 100) < beta

    def test_e3_5_a_value_at_t_minus_alpha_may_hit(self) -> None:
        """f_i > T - alpha, in Theorem 7, promises nothing of f_i = T - alpha: both noises at alpha / 2 make it hit.

        On integers that has a chance. With f_i >= T - alpha, as in Theorem 4, it has none while both keep within it.
        """
        half = 6
        for value, hits in ((-2 * half, True), (-2 * half - 1, False)):
            assert (value + half >= -half) is hits  # nu = alpha / 2, rho = -alpha / 2, T = 0
        joint = real(F(1)) * mp.tanh(mpf(1) / 8) * mp.exp(-mpf(half) / 4) * mp.tanh(mpf(1) / 4) * mp.exp(-mpf(half) / 2)
        assert joint > mpf("1e-4")


@pytest.mark.parametrize("epsilon", [mpf("0.1"), mpf(1)])
def test_e3_3_the_chance_is_that_of_the_laplace_part(epsilon: mpf) -> None:
    """S3, Theorem 8: for one value the chance is beta_L exactly, whatever the beta of the whole is."""
    of_part, of_whole = mpf("0.05"), mpf("0.01")
    reach = mp.log(1 / of_part) / epsilon
    chance = 2 * laplace_tail(1 / epsilon, reach)
    assert mp.almosteq(chance, of_part)
    assert chance > of_whole  # as printed: at most beta
