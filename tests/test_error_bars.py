"""Error bars hold as often as they say, by simulation from the laws that are drawn, at public values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet import dp
from discreet.dp import randomness
from discreet.dp.quantile_trees import release_trees
from discreet.engine.bound import BoundedQuery
from discreet.engine.derive import derived, measures_of
from discreet.engine.plan import Computed, Formula, MeanOf, Present, QuantileOf, Released, Total
from discreet.engine.released import Bins, Numbers, Part, Release
from tests.handmade import AGE, AGES, COST, DEVIATION, MEAN, MEAN_AGE, ROWS, SPREAD, VARIANCE, bought, exactly, query
from tests.sizes import sized
from tests.statistics import Check

BUDGET = dp.Budget(epsilon=1000)
N = Released(0)
SHARE = Computed("div", (N, Computed("add", (N, Released(1)))))
APART = Computed("abs", (Computed("sub", (N, Released(1))),))


class Coverage:
    """How often the truth is within the error, of many releases of one truth with fresh noise."""

    def __init__(self, formula: Formula, asked: BoundedQuery, truths: tuple[int, ...], truth: float) -> None:
        self.formula, self.asked, self.truths, self.truth = formula, asked, truths, truth

    def release(self, n: int) -> Release:
        purchase, parts = bought(self.asked, BUDGET, epsilon=1), list[Part]()
        for of, noise, true in zip(self.asked.measures, purchase.mechanisms, self.truths, strict=True):
            assert isinstance(noise, dp.Laplace)
            drawn = noise._sampler(noise.scale).draw(randomness.system(), n)
            parts.append(Numbers(drawn.astype(np.int64) + true * of.scale, of.step, noise))
        return Release(None, tuple(parts), Fraction(1))

    def covered(self, n: int, *, times: float) -> NDArray[np.int64]:
        """1 where the truth is within so many times the error, or nothing is shown."""
        shown = derived(self.asked, self.release(n))
        values, errors = shown.columns["x"], shown.errors["x"]
        each = errors if isinstance(errors, tuple) else (errors,) * n
        pairs = zip(values, each, strict=True)
        return np.array(
            [value is None or error is None or abs(value - self.truth) <= times * error for value, error in pairs],  # type: ignore[operator]
            dtype=np.int64,
        )


def at_least_95(n: int) -> Check:
    """The exact one-sided binomial test that at least 95 % are covered."""
    return Check(lambda draws: float(stats.binomtest(int(draws.sum()), draws.size, 0.95, alternative="less").pvalue), n)


def of(formula: Formula, *measures: Any) -> BoundedQuery:
    return query(*measures, outputs=[("x", formula)])


AGES_OF_2000 = np.tile(np.array([20, 25, 40, 50, 80]), 400)
SUMS = (int((AGES_OF_2000 - 50).sum()), int(((AGES_OF_2000 - 50) ** 2).sum()), 2000)


class TestErrorBars:
    """The true value is within it at 95 %, each number for itself."""

    @pytest.mark.parametrize(
        ("coverage", "narrower"),
        [
            (Coverage(N, of(N, ROWS), (300,), 300), 0.5),
            (Coverage(N, of(N, Total(COST)), (3000,), 1500), 0.8),
            (Coverage(MEAN_AGE, of(MEAN_AGE, *MEAN), (SUMS[0], 2000), 43), 0.5),
            (Coverage(MEAN_AGE, of(MEAN_AGE, *MEAN), (20 * 40, 40), 70), 0.3),  # few rows
            (Coverage(VARIANCE, of(VARIANCE, *SPREAD), SUMS, float(AGES_OF_2000.var(ddof=1))), 0.25),
            (Coverage(DEVIATION, of(DEVIATION, *SPREAD), SUMS, float(AGES_OF_2000.std())), 0.3),
            (
                Coverage(SHARE, of(SHARE, ROWS, Present(AGE)), (400, 600), 0.4),
                0.2,
            ),
            (
                Coverage(APART, of(APART, ROWS, Present(AGE)), (402, 400), 2),
                0.3,
            ),
        ],
        ids=["count", "sum", "mean", "mean of few", "variance", "deviation", "share", "difference"],
    )
    def test_they_hold_19_times_in_20_and_narrower_ones_do_not(self, coverage: Coverage, narrower: float) -> None:
        """alpha = 1e-6, n = 4,000 (20,000 in full)."""
        at_least_95(sized(4_000, 20_000)).run(
            lambda n: coverage.covered(n, times=1),
            wrong={f"{narrower} of the error": lambda n: coverage.covered(n, times=narrower)},
        )

    def test_intervals_of_quantiles_hold(self) -> None:
        """alpha = 1e-6, n = 2,000 (5,000 in full)."""
        asked = of(QuantileOf(0, Fraction(1, 2)), AGES)
        tree = bought(asked, BUDGET, epsilon="0.5").mechanisms[0]
        assert isinstance(tree, dp.QuantileTree)
        truth = np.zeros(100, dtype=np.int64)
        truth[20:80] = 5

        def covered(n: int, times: float) -> NDArray[np.int64]:
            part = Bins(release_trees(tree, np.tile(truth, (n, 1))), tree)
            shown = derived(asked, Release(None, (part,), Fraction(1)))
            pairs = zip(shown.columns["x"], shown.errors["x"], strict=True)  # type: ignore[arg-type]
            return np.array([abs(value - 49) <= times * error for value, error in pairs], dtype=np.int64)

        check = at_least_95(sized(2_000, 5_000))
        check.run(lambda n: covered(n, 1), wrong={"a quarter": lambda n: covered(n, 0.25)})

    def test_a_formula_of_two_numbers_shares_the_5_percent(self) -> None:
        """With each number at 95 % by itself, a difference of many would not hold: the bound is on all at once."""
        assert measures_of(Computed("add", (N, MeanOf(1, 2, Fraction(0))))) == {0, 1, 2}
        assert measures_of(Computed("sub", (N, N))) == {0}
        asked = query(ROWS, Present(AGE), outputs=[("one", N), ("both", Computed("add", (N, Released(1))))])
        shown = derived(asked, exactly(asked, 10, 20))
        purchase = bought(asked, BUDGET, epsilon=40)
        halves = [m.accuracy(failure_probability=Fraction(1, 40)) for m in purchase.mechanisms]  # type: ignore[union-attr, call-arg]
        assert shown.errors == {
            "one": purchase.mechanisms[0].accuracy(failure_probability="0.05"),
            "both": (sum(halves),),
        }  # type: ignore[union-attr, call-arg]
