"""What an update takes off the relative entropy, and the projection that noise leads astray."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter
from tests.broken import constructions as broken
from tests.closed_forms import mp, mpf
from tests.construction_adversary import (
    FOURFOLD,
    NOTES,
    ROWS,
    SMALL,
    relative_entropy,
    subsets,
    table,
    true_answer,
    updates_made,
)
from tests.sizes import sized

F = Fraction


def test_what_an_update_takes_off_the_relative_entropy() -> None:
    """2 u^2 for the fourfold step, 15/32 u^2 for the notes', whatever the value: u the level, the gap at least that."""
    source = np.random.default_rng(3)
    least = dict.fromkeys(release.Step, math.inf)
    for _ in range(sized(400, 20_000)):
        histogram = table(SMALL, ROWS, int(source.integers(1 << 30)))
        prior = release.Prior(source.dirichlet(np.full(8, 0.5)), uniform_share=F(1, 100))
        query = release.predicate(SMALL, source.integers(0, 5, SMALL.shape) / 4, ["one", "two"])
        for step, takes in ((FOURFOLD, 2), (NOTES, 15 / 32)):
            update = release.MultiplicativeWeights(SMALL, rows=ROWS, step=step, prior=prior)
            state, truth = update.start(), true_answer(query, histogram)
            gap = abs(truth - F(state.answer(query)))
            if gap < 20:
                continue
            level = gap * F(int(source.integers(50, 101)), 100)
            value = truth + level * F(int(source.integers(-999, 1000)), 1000)
            after = update.updated(state, query, value, level=level, noise=F(0))
            drop = relative_entropy(histogram, state) - relative_entropy(histogram, after)
            least[step] = min(least[step], drop / float(level / ROWS) ** 2)
            assert drop >= takes * float(level / ROWS) ** 2 - 1e-12
    assert least[FOURFOLD] < 3  # close to what is promised
    assert least[NOTES] < 0.75


def test_a_longer_step_than_the_fourfold_takes_less() -> None:
    """g u - g^2 / 8 is greatest at g = 4 u, and the step of the notes is an eighth of it."""
    gains = {g: F(g) - F(g) ** 2 / 8 for g in range(1, 9)}
    assert max(gains, key=lambda g: gains[g]) == 4
    assert (gains[4], F(1, 2) - F(1, 32)) == (2, F(15, 32))


def test_a_projection_agrees_with_the_value() -> None:
    source = np.random.default_rng(4)
    update = release.EntropyProjection(SMALL, rows=1)
    for top in (1, 4):
        for _ in range(sized(50, 2000)):
            prior = release.Prior(source.dirichlet(np.full(8, 0.5)), uniform_share=F(1, 100))
            state = release.EntropyProjection(SMALL, rows=1, prior=prior).start()
            weights = source.integers(0, top + 1, SMALL.shape)
            weights.ravel()[:2] = 0, top
            query = release.predicate(SMALL, weights / top, ["one", "two"])
            share = F(int(source.integers(1, 1000)), 1000)
            after = update.updated(state, query, share, level=F(0), noise=F(0))
            assert abs(after.answer(query) - float(share)) < 1e-12
            kept = relative_entropy(np.exp(after.logs).ravel(), state)
            assert kept >= 2 * (float(share) - state.answer(query)) ** 2 - 1e-12  # what it takes, at least


def test_a_projection_on_what_no_row_or_every_row_has() -> None:
    for update in (release.EntropyProjection(SMALL, rows=10), release.ShortenedProjection(SMALL, rows=10)):
        never = release.where(SMALL, one=[])
        for query in (never, never.complement()):
            state = update.start()
            after = update.updated(state, query, F(7), level=F(1), noise=F(0))
            assert np.array_equal(after.logs, state.logs)
        nobody = update.updated(update.start(), release.where(SMALL, one=[0]), F(0), level=F(1), noise=F(0))
        assert nobody.answer(release.where(SMALL, one=[0])) < 1e-10  # and cells are kept, in case the value was wrong
        assert np.isfinite(nobody.logs).all()


def test_a_share_at_the_end_of_the_weights_is_approached() -> None:
    """All rows have the least weight, 1/2, and the value is off by all of `noise`: moved back by it, it is that weight
    itself. The update that the bound counts is made all the same, and takes 2 u^2."""
    universe = dp.Universe({"cell": 4})
    query = release.weighted(universe, "cell", [0.5, 0.5, 0.75, 1])
    histogram, noise = np.array([ROWS, 0, 0, 0]), F(20)
    update = release.ShortenedProjection(universe, rows=ROWS)
    for low in (query, query.complement()):
        state, truth = update.start(), true_answer(low, histogram)
        gap = F(state.answer(low)) - truth
        value = truth - noise * (1 if gap > 0 else -1)
        after = update.updated(state, low, value, level=abs(gap), noise=noise)
        assert abs(after.answer(low) - float(truth)) < 1e-6
        drop = relative_entropy(histogram, state) - relative_entropy(histogram, after)
        assert drop >= 2 * float(gap / ROWS) ** 2 - 1e-9
    beyond = update.updated(update.start(), query, F(2 * ROWS), level=F(1), noise=F(0))
    assert np.isfinite(beyond.logs).all()
    assert beyond.answer(query) > ROWS - 1e-6


class TestTheNoisyProjection:
    """It certifies nothing that is private. With noise an update can move away from the table, and no bound holds:
    values off by a little less than the level make hundreds of updates where eighteen are allowed."""

    def test_one_update_that_moves_away(self) -> None:
        universe = dp.Universe({"cell": 10})
        histogram = np.full(10, 100)  # a tenth of the rows in each cell
        prior = release.Prior(np.array([2.0, *[8 / 9] * 9]), uniform_share=F(1, 10**6))
        update = release.EntropyProjection(universe, rows=ROWS, prior=prior)
        state, query = update.start(), release.where(universe, cell=[0])
        after = update.updated(state, query, F(1), level=F(100), noise=F(0))  # Q(p) = .2, q_D = .1, v = .001
        drop = relative_entropy(histogram, state) - relative_entropy(histogram, after)
        q, v = mpf("0.1"), mpf("0.001")
        closed = sum(a * mp.log(b / c) for a, b, c in ((q, v, mpf("0.2")), (1 - q, 1 - v, mpf("0.8"))))
        assert abs(drop - float(closed)) < 1e-5
        assert mp.nstr(closed, 2) == "-0.33"

    def test_hundreds_of_updates_where_eighteen_are_allowed(self) -> None:
        universe, level = dp.Universe({"cell": 8}), F(245)
        workload = release.Workload(q for q in subsets(universe, 16, seed=1))
        source = np.random.default_rng(5)
        histogram = source.multinomial(ROWS, source.dirichlet(np.full(8, 1.0))).astype(np.int64)
        claim = broken.CertifiedProjection(release.EntropyProjection(universe, rows=ROWS))
        assert claim.bound(level, noise=level) == 18

        def made(update: Any, errors: list[Fraction], noise: Fraction) -> int:
            return updates_made(
                update, workload, histogram, level=level, noise=noise, errors=errors, most=201,
                worst=lambda before, after: relative_entropy(histogram, after),
            )  # fmt: skip

        edge = [level * F(999, 1000), -level * F(999, 1000)]
        assert made(claim, edge, level) > 200
        assert made(release.MultiplicativeWeights(universe, rows=ROWS), edge, level) <= 18
        assert made(claim.projection, [F(0)], F(0)) <= 18
        with pytest.raises(InvalidParameter, match="no bound under noise"):
            claim.projection.bound(level, noise=1)
