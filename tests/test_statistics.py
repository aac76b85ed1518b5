"""The statistical checks: right laws pass as often as they say, wrong laws do not, and a blind check does not run."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistics import (
    Check,
    Draws,
    NoPower,
    binned,
    chi_square,
    clopper_pearson,
    pairs,
    ratio_is_at_most,
    share,
)

DICE = [1 / 6] * 6
N = 20_000


def dice(n: int) -> Draws:
    return np.random.default_rng().integers(0, 6, n)


def loaded(n: int) -> Draws:
    return np.minimum(np.random.default_rng().integers(0, 7, n), 5)


def test_a_check_runs_only_beside_a_wrong_law_that_it_rejects() -> None:
    check = chi_square(lambda draws: draws, DICE, N)
    check.run(dice, wrong={"loaded": loaded})
    with pytest.raises(NoPower, match="at least one"):
        check.run(dice, wrong={})
    with pytest.raises(NoPower, match="fair dice"):
        check.run(dice, wrong={"loaded": loaded, "fair dice": dice})
    with pytest.raises(AssertionError, match="right law"):
        check.run(loaded, wrong={"loaded too": loaded})


def test_it_runs_at_the_size_at_which_it_showed_its_power() -> None:
    sizes: list[int] = []

    def seen(n: int) -> Draws:
        sizes.append(n)
        return dice(n)

    chi_square(lambda draws: draws, DICE, N).run(seen, wrong={"loaded": lambda n: sizes.append(n) or loaded(n)})  # type: ignore[func-returns-value]
    assert sizes == [N, N]


@pytest.mark.parametrize(
    "check",
    [
        chi_square(lambda draws: draws, DICE, N),
        share(lambda draws: draws == 0, 1 / 6, N),
        pairs(lambda draws: draws, DICE, 4 * N, lag=3),
        binned(lambda k: min(max(k / 6, 0), 1), range(-3, 9), N),
    ],
    ids=["chi-square", "share", "pairs", "binned"],
)
def test_p_values_of_the_right_law_are_uniform(check: Check) -> None:
    """Of 400, those below 1/10 are 40 but for chance: between 12 and 76, at a significance of 1e-6."""
    low = sum(check.p_value(dice(check.n)) < 0.1 for _ in range(400))
    assert 12 <= low <= 76
    assert check.rejects(loaded)


def test_cells_with_few_draws_are_refused_or_merged() -> None:
    with pytest.raises(ValueError, match="put cells together"):
        chi_square(lambda draws: draws, [0.999, 0.001], 1000).p_value(np.zeros(1000, dtype=np.int64))
    with pytest.raises(ValueError, match="no cell"):
        binned(lambda k: k / 6, range(7), 100)
    with pytest.raises(ValueError, match="add up"):
        chi_square(lambda draws: draws, [0.5, 0.4], 1000)


def test_what_cannot_happen_is_rejected() -> None:
    check = chi_square(lambda draws: draws, DICE, N)
    draws = dice(N)
    draws[0] = 6
    assert check.p_value(draws) == 0


@pytest.mark.parametrize("n", [1, 10, 40])
def test_the_interval_covers_by_enumeration(n: int) -> None:
    from scipy.stats import binom

    for confidence in (0.5, 0.9, 0.999):
        ends = [clopper_pearson(k, n, confidence=confidence) for k in range(n + 1)]
        assert ends[0][0] == 0
        assert ends[n][1] == 1
        for p in np.linspace(0.001, 0.999, 101):
            covered = sum(binom.pmf(k, n, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
            assert covered >= confidence


def test_ratios_of_counts() -> None:
    assert ratio_is_at_most(0, 0, 1000, epsilon=0.0, confidence=0.999)
    assert ratio_is_at_most(270, 100, 1000, epsilon=1.0, confidence=0.999)
    assert not ratio_is_at_most(60, 0, 1000, epsilon=1.0, confidence=0.999)
    assert not ratio_is_at_most(500, 100, 1000, epsilon=1.0, confidence=0.999)
