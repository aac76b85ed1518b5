"""Trees of many groups: the loss of one, the law of one for each group, and nothing without a permit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import discreet as dc
from discreet import dp
from discreet.dp.quantile_tree import of_levels
from discreet.dp.quantile_trees import open_trees, quantiles_of, release_trees
from discreet.dp.tree_choice import best_branching
from tests.sizes import sized
from tests.statistics import Check

BOTH = dp.Neighbours.ADD_REMOVE
BINS = dp.Integer(0, 9)


def tree(*, rows: int = 2, neighbours: dp.Neighbours = BOTH, branching: int = 3, **price: Any) -> dp.QuantileTree:
    return dp.QuantileTree(
        bins=BINS, rows=rows, neighbours=neighbours, branching=branching, **(price or {"epsilon": 1})
    )


def exact(counts: Any, *, rows: int = 2, neighbours: dp.Neighbours = BOTH) -> dp.Exact:
    return dp.Exact(np.array(counts), sensitivity=of_levels(1, rows, neighbours), unit="p")


def permit(loss: dp.Loss, budget: dp.Budget | None = None) -> dp.Permit:
    return dp.PrivacyFilter(budget or dp.Budget(epsilon=100)).reserve(loss)


class TestOpening:
    """The output has the loss that was taken; counts that are more sensitive, or under another relation, are refused
    before anything is taken."""

    @pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
    @pytest.mark.parametrize("shape", [(10,), (1, 10), (7, 10), (2, 3, 10), (0, 10)])
    def test_any_number_of_groups_costs_one_tree(self, price: dict[str, Any], shape: tuple[int, ...]) -> None:
        made = tree(**price)
        budget = dp.Budget(rho=1) if "rho" in price else dp.Budget(epsilon=1)
        held = permit(made.loss, budget)
        found = open_trees(made, exact(np.ones(shape, dtype=np.int64)), held)
        assert found.shape == (int(np.prod(shape)) // 10, 27)
        assert held.left == 0
        with pytest.raises(dc.BudgetExceeded):
            open_trees(made, exact(np.ones(shape, dtype=np.int64)), held)

    @pytest.mark.parametrize("other", [{"rows": 3}, {"neighbours": dp.Neighbours.REPLACE}])
    def test_what_is_more_sensitive_is_refused_and_nothing_is_taken(self, other: dict[str, Any]) -> None:
        held = permit(tree().loss)
        with pytest.raises(dc.InvalidParameter, match="another relation or of more rows"):
            open_trees(tree(), exact(np.ones((2, 10), dtype=np.int64), **other), held)
        assert held.left == held.reserved.amount

    def test_an_unknown_l1_is_refused(self) -> None:
        moved = dp.Sensitivity(l2=1, neighbours=BOTH)
        moved = dp.Sensitivity.counting(neighbours=BOTH, queries=9) if moved.l1 is not None else moved
        held = permit(tree().loss)
        with pytest.raises(dc.InvalidParameter, match="of more rows"):
            open_trees(tree(), dp.Exact(np.ones((1, 10), dtype=np.int64), sensitivity=moved, unit="p"), held)

    def test_plain_numbers_and_private_ones_have_their_own_doors(self) -> None:
        with pytest.raises(dc.InvalidParameter, match="release_trees"):
            open_trees(tree(), [[1] * 10], permit(tree().loss))  # type: ignore[arg-type]
        with pytest.raises((TypeError, ValueError)):
            release_trees(tree(), exact(np.ones((1, 10), dtype=np.int64)))  # type: ignore[arg-type]

    @pytest.mark.parametrize("counts", [[1] * 10, [[1] * 9], [[-1] * 10]])
    def test_counts_are_bins_of_groups(self, counts: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match="for each group"):
            release_trees(tree(), counts)


class TestLaw:
    @pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
    def test_each_group_has_the_law_of_a_tree_of_its_own(self, price: dict[str, Any]) -> None:
        """alpha = 1e-6, n = 4,000 (20,000 in full): sums of three bins of two groups beside those of single trees."""
        made, counts = tree(**price), [7, 0, 3, 9, 1, 4, 0, 0, 2, 5]
        n = sized(4_000, 20_000)
        single = np.array([made.release(counts).counts[:3].sum() for _ in range(n)])

        def p_value(found: NDArray[Any]) -> float:
            return float(stats.ks_2samp(found, single).pvalue)

        def many(size: int, price: dict[str, Any]) -> NDArray[Any]:
            both = release_trees(tree(**price), np.tile(counts, (size, 1)))
            return np.asarray(both[:, :3].sum(axis=1))

        less = {name: float(value) * 2 for name, value in price.items()}
        Check(p_value, n).run(lambda size: many(size, price), wrong={"less noise": lambda size: many(size, less)})

    def test_groups_have_noise_of_their_own(self) -> None:
        found = release_trees(tree(), np.zeros((sized(2_000, 10_000), 10), dtype=np.int64))
        one, other = found[::2, 0], found[1::2, 0]
        assert stats.pearsonr(one, other).pvalue > 1e-6
        assert stats.pearsonr(one, one + 0.2 * other).pvalue < 1e-6

    def test_quantiles_are_those_of_each_tree(self) -> None:
        made = tree(epsilon=40)
        found = release_trees(made, [[0, 100] + [0] * 8, [0] * 8 + [100, 0]])
        for share in ("0.1", "0.5", 1):
            for row, quantile in zip(found, quantiles_of(made, found, share, confidence=0.9), strict=True):
                assert quantile == dp.quantile_tree.ReleasedTree(made, row).quantile(share, confidence=0.9)
        assert [quantile.value for quantile in quantiles_of(made, found, "0.5", confidence=0.9)] == [1, 8]


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("bins", [2, 3, 10, 111, 4_080])
def test_the_best_branching_is_within_a_tenth_of_the_best_error(bins: int, normal: bool) -> None:
    domain = dp.Integer(1, bins)

    def error(branching: int) -> float:
        price = {"rho": "0.1"} if normal else {"epsilon": "0.1"}
        made = dp.QuantileTree(bins=domain, rows=1, neighbours=BOTH, branching=branching, **price)  # type: ignore[arg-type]
        return made.accuracy(q="0.5", failure_probability="0.05")

    arms = {min(arms, bins) for arms in (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 1024)}
    assert error(best_branching(bins, normal=normal)) <= 1.1 * min(map(error, arms))
