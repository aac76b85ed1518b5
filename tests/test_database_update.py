"""Update rules against an adversary who picks the worst query and the worst value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from tests.construction_adversary import (
    ROWS,
    SMALL,
    below,
    every_update,
    relative_entropy,
    subsets,
    table,
    true_answer,
    updates_made,
)
from tests.sizes import sized

F = Fraction


@pytest.mark.parametrize("rule", range(6))
@pytest.mark.parametrize("judged", [False, True])
def test_no_adversary_gets_more_updates_than_the_bound(rule: int, judged: bool) -> None:
    """no update sequence of level u, with values off by less than u (by at most `noise`, for a rule that tolerates
    declared noise only), has more than `bound(u, noise=...)` updates."""
    level, workload = F(150), subsets(SMALL, 12, seed=5)
    update, noise, errors = every_update(workload, level)[rule]
    allowed = update.bound(level, noise=noise if update.tolerates is release.Tolerates.DECLARED else 0)
    for seed in range(sized(3, 30)):
        histogram = table(SMALL, ROWS, seed, concentration=[0.05, 0.3, 1][seed % 3])

        def away(before: Any, after: Any, histogram: np.ndarray = histogram) -> float:
            if hasattr(after, "logs"):
                return relative_entropy(histogram, after)
            return float(((after.cells - histogram) ** 2).sum())

        made = updates_made(
            update, workload, histogram, level=level, noise=noise, errors=errors, most=allowed + 1,
            worst=away if judged else None,
        )  # fmt: skip
        assert made <= allowed


def test_nor_of_the_median() -> None:
    universe = dp.Universe({"cell": 4})
    workload = release.Workload([release.marginal(universe, "cell")])
    level = F(500)
    update = release.Median(universe, workload, rows=ROWS, level=level)
    made = 0
    for seed in range(sized(20, 200)):
        histogram = table(universe, ROWS, seed, concentration=0.1)
        found = updates_made(
            update, workload, histogram, level=level, noise=F(0), errors=below(level)[seed % 5 :], most=99,
            worst=lambda before, after: len(after.databases),
        )  # fmt: skip
        assert found <= update.bound(level)
        made = max(made, found)
    assert made >= 1
    state = update.start()
    query = workload.query(0)
    while len(state.databases) > 1:  # each update drops half at least, as long as any is left on that side
        after = update.updated(state, query, F(2000), level=level, noise=F(0))
        if after is state:
            break
        assert len(after.databases) <= len(state.databases) / 2
        state = after


def test_a_database_near_the_table_is_never_dropped() -> None:
    universe = dp.Universe({"cell": 3})
    workload = release.Workload([release.marginal(universe, "cell")])
    level = F(600)
    update = release.Median(universe, workload, rows=ROWS, level=level)
    databases = update.start().databases
    kept = databases.sum(axis=1)[0]
    for seed in range(20):
        histogram = table(universe, ROWS, seed, concentration=0.2)
        off = np.abs(databases * (ROWS / kept) - histogram).max(axis=1)
        assert off.min() <= level / 2
        best, state = databases[off.argmin()], update.start()
        for query in workload:
            gap = true_answer(query, histogram) - F(state.answer(query))
            if abs(gap) >= level:
                value = true_answer(query, histogram) - gap * F(999, 1000) * level / abs(gap)
                state = update.updated(state, query, value, level=level, noise=F(0))
        assert (state.databases == best).all(axis=1).any()


def in_the_loop(workload: release.Workload) -> list[Any]:
    parts = (SMALL, workload)
    return [
        release.ShortenedProjection(SMALL, rows=ROWS),
        release.ShortenedProjection(SMALL, rows=release.Rows(ROWS + 15, error=20)),
        release.MultiplicativeWeights(SMALL, rows=release.Rows(ROWS - 15, error=20)),
        release.KaczmarzProjection(*parts, square_bound=ROWS**2),
        release.FriezeKannan(*parts, square_bound=ROWS**2),
    ]


@pytest.mark.parametrize("rule", range(5))
def test_the_level_of_the_loop(rule: int) -> None:
    """Where |v - Q(S)| >= u + noise and |v - Q(D)| <= noise, the level u allows so many updates, and few more than are
    needed: at a level that is a little lower it would allow more."""
    workload = subsets(SMALL, 12, seed=6)
    update = in_the_loop(workload)[rule]
    for updates, noise in ((5, F(100)), (20, F(30)), (40, F(60))):
        level = update.level(updates, noise=noise)
        if update.tolerates is release.Tolerates.LEVEL or isinstance(update, release.KaczmarzProjection):
            assert update.bound(level, noise=noise if noise < level else 0) <= updates + (noise >= level)
            if noise < level:
                assert update.bound(level * (1 - F(1, 10**12)), noise=noise) > updates
        if noise >= level:
            continue
        for seed in range(sized(2, 20)):
            histogram = table(SMALL, ROWS, seed, concentration=[0.05, 0.3][seed % 2])
            made = updates_made(
                update, workload, histogram, level=level, noise=noise, errors=[noise, -noise, noise / 2, F(0)],
                most=updates + 1, stop=level + noise,
            )  # fmt: skip
            assert made <= updates


def test_updates_are_pure() -> None:
    workload = subsets(SMALL, 4, seed=1)
    query = workload.query(0)
    for update in (*in_the_loop(workload), release.EntropyProjection(SMALL, rows=ROWS)):
        state = update.start()
        before = np.array(state.answers(workload))
        one = update.updated(state, query, F(900), level=F(100), noise=F(10))
        two = update.updated(state, query, F(900), level=F(100), noise=F(10))
        assert np.array_equal(state.answers(workload), before)
        assert np.array_equal(one.answers(workload), two.answers(workload))
        assert not np.array_equal(one.answers(workload), before)
        cells = one.logs if hasattr(one, "logs") else one.cells
        with pytest.raises(ValueError, match="read-only"):
            cells[0] = 1


def test_weights_that_underflow_are_kept_apart() -> None:
    """In logarithms: after 10,000 updates against two cells the lighter one is still the lighter one."""
    universe = dp.Universe({"cell": 3})
    update, state = release.MultiplicativeWeights(universe, rows=10), None
    state = update.start()
    for i in range(sized(2_000, 20_000)):
        cell = release.where(universe, cell=[0] if i % 4 else [1])
        state = update.updated(state, cell, F(-1), level=F(9), noise=F(0))
    logs = state.logs.ravel()
    assert logs[0] < logs[1] - 1000 < logs[2] - 2000
    assert state.answer(release.where(universe, cell=[2])) == 10
