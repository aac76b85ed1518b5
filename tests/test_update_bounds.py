"""Update rules: their bounds in closed form, and what has no bound or no meaning."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter, NotSupported
from tests.closed_forms import mp, mpf
from tests.construction_adversary import (
    FOURFOLD,
    NOTES,
    ROWS,
    SMALL,
    ceil_of,
    every_update,
    updates_made,
)
from tests.noise_laws import real

F = Fraction


LEVELS = [F(1, 3), F(10), F(243, 2), F(999)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cells", [2, 8, 1000])
def test_the_bounds_of_multiplicative_weights(level: Fraction, cells: int) -> None:
    """B(u) = 4 ln|X| / u^2 for the step of the notes and ln|X| / (2 u^2) for the fourfold one, u being the level as a
    share of the rows, for every value that is off by less than the level: only its sign is used. B(u) = ln|X| / (2 u^2)
    for EXACT values only. B(u) = ln|X| / (2 (u - 2 noise)^2) for values off by at most `noise` < u / 2, all as shares
    of the rows."""
    universe, log = dp.Universe({"cell": cells}), mp.log(cells)
    share = real(level / ROWS)
    bound = {step: release.MultiplicativeWeights(universe, rows=ROWS, step=step).bound(level) for step in release.Step}
    assert bound == {NOTES: ceil_of(4 * log / share**2), FOURFOLD: ceil_of(log / (2 * share**2))}
    assert release.EntropyProjection(universe, rows=ROWS).bound(level) == bound[FOURFOLD]
    for noise in (F(0), level / 10, level / 3):
        left = share - 2 * real(noise / ROWS)
        found = release.ShortenedProjection(universe, rows=ROWS).bound(level, noise=noise)
        assert found == ceil_of(log / (2 * left**2))


def test_the_bound_with_a_number_of_rows_that_is_off() -> None:
    """With N off by up to e the shares are (u - e) / N apart: ln|X| N^2 / (2 (u - e)^2)."""
    rows = release.Rows(900, error=30)
    update = release.MultiplicativeWeights(SMALL, rows=rows)
    assert update.bound(100) == ceil_of(mp.log(8) * mpf(900) ** 2 / (2 * mpf(70) ** 2))
    with pytest.raises(InvalidParameter, match="cannot be told"):
        update.bound(30)


def test_the_bound_of_a_prior_is_public() -> None:
    """the potential of any table is at most `potential`, max ln 1 / p(x), which is at most ln |X| + ln 1 / w and never
    below ln |X|: a good prior makes for fewer updates in fact, not for a smaller bound."""
    guess = np.array([0.0, 0, 0, 0, 1, 2, 3, 4])
    prior = release.Prior(guess, uniform_share=F(1, 10))
    least = mpf(1) / 80
    update = release.MultiplicativeWeights(SMALL, rows=ROWS, prior=prior)
    assert abs(real(update.potential) - mp.log(1 / least)) < mpf(2) ** -29
    assert real(update.potential) >= mp.log(80) >= mp.log(8)
    assert update.bound(100) == ceil_of(50 * mp.log(80))
    assert np.allclose(update.start().answers(release.marginal(SMALL, "one", "two")), 900 * guess / 10 + 12.5)
    for weights, share in (([1, -1], 0.5), ([0, 0], 0.5), ([1, math.nan], 0.5), ([1, 1], 0), ([1, 1], 1)):
        with pytest.raises(InvalidParameter):
            release.Prior(np.array(weights), uniform_share=share)
    with pytest.raises(InvalidParameter):
        release.MultiplicativeWeights(dp.Universe({"cell": 9}), rows=ROWS, prior=prior)


@pytest.mark.parametrize("level", LEVELS)
def test_the_bounds_of_frieze_kannan(level: Fraction) -> None:
    """B(u) = H max|Q|^2 / u^2 in counts, for every value off by less than u: only its sign is used. B(u) = H max|Q|^2 /
    (u^2 - noise^2) in counts, for values off by at most `noise` < u: the squared distance drops by (u^2 - noise^2) /
    |Q|^2 at least."""
    half = release.weighted(SMALL, "two", [0.5, 0.25, 0, 1])
    for workload, longest in (
        (release.marginal(SMALL, "one"), F(4)),
        (release.all_marginals(SMALL, order=2), F(1)),
        (release.ranges(SMALL, "two"), F(8)),
        (release.prefixes(SMALL, "two"), F(8)),
        (release.Workload([half, half.complement()]), F(2) * (F(1, 4) + F(9, 16) + 1)),
    ):
        parts = (SMALL, workload)
        update = release.FriezeKannan(*parts, square_bound=700)
        assert update.longest == longest
        assert update.bound(level) == math.ceil(700 * longest / level**2)
        noisy = release.KaczmarzProjection(*parts, square_bound=700).bound(level, noise=level / 3)
        assert noisy == math.ceil(700 * longest / (level**2 * F(8, 9)))


@pytest.mark.parametrize(("queries", "level"), [(4, F(600)), (4, F(900)), (2, F(500))])
def test_the_bound_of_the_median(queries: int, level: Fraction) -> None:
    """B(u) = log2 of the number of databases of m = `rows_kept(u)` rows, at most m log2|X|, for every value that is off
    by less than the level: only its sign is used."""
    universe = dp.Universe({"cell": queries})
    workload = release.Workload([release.marginal(universe, "cell")])
    update = release.Median(universe, workload, rows=ROWS, level=level)
    kept = ceil_of(2 * mp.log(2 * queries) / real(level / ROWS) ** 2)
    assert update.rows_kept(level) == kept
    count = sum(1 for _ in itertools.combinations_with_replacement(range(queries), kept))
    assert update.bound(level) == ceil_of(mp.log(count, 2)) <= ceil_of(kept * mp.log(queries, 2))
    assert len(update.start().databases) == count
    assert len({tuple(one) for one in update.start().databases.tolist()}) == count
    assert (update.start().databases.sum(axis=1) == kept).all()


class TestDegenerate:
    def test_one_cell(self) -> None:
        universe = dp.Universe({"cell": 1})
        for update in (
            release.MultiplicativeWeights(universe, rows=7),
            release.EntropyProjection(universe, rows=7),
            release.ShortenedProjection(universe, rows=7),
            release.Median(universe, release.marginal(universe, "cell"), rows=7, level=1),
        ):
            assert update.settled
            assert (update.bound(1), update.first_error, update.level(1, noise=F(0))) in ((0, 0, 0), (0, 0, 1))
            assert update.start().answer(release.where(universe)) == 7

    def test_no_row(self) -> None:
        for rows in (release.Rows(0), release.Rows(0, error=3)):
            update = release.MultiplicativeWeights(SMALL, rows=rows)
            assert (update.settled, update.bound(5), update.first_error) == (True, 0, rows.error)
            assert not update.start().answers(release.marginal(SMALL, "one")).any()
        none = release.FriezeKannan(SMALL, release.marginal(SMALL, "one"), square_bound=0)
        assert (none.settled, none.bound(1), none.first_error) == (True, 0, 0)

    def test_all_rows_in_one_cell(self) -> None:
        histogram = np.zeros(8, np.int64)
        histogram[5] = ROWS
        workload = release.Workload([release.marginal(SMALL, "one", "two")])
        for update, noise, errors in every_update(workload, F(100)):
            most = update.bound(100, noise=noise if update.tolerates is release.Tolerates.DECLARED else 0)
            made = updates_made(
                update, workload, histogram, level=F(100), noise=noise, errors=errors[:1], most=most + 1
            )
            assert 1 <= made <= most

    def test_one_row(self) -> None:
        update = release.MultiplicativeWeights(SMALL, rows=1)
        assert update.bound(F(1, 2)) == ceil_of(2 * mp.log(8))


@pytest.mark.parametrize(
    "call",
    [
        lambda: release.MultiplicativeWeights(SMALL, rows=-1),
        lambda: release.MultiplicativeWeights(SMALL, rows=1.5),
        lambda: release.MultiplicativeWeights(SMALL, rows=True),
        lambda: release.MultiplicativeWeights(SMALL, rows=10, step=4),
        lambda: release.MultiplicativeWeights([2, 4], rows=10),
        lambda: release.MultiplicativeWeights(SMALL, rows=10, prior=np.ones(8)),
        lambda: release.MultiplicativeWeights(SMALL, rows=10).bound(0),
        lambda: release.MultiplicativeWeights(SMALL, rows=10).bound(math.nan),
        lambda: release.MultiplicativeWeights(SMALL, rows=10).bound(5, noise=5),
        lambda: release.ShortenedProjection(SMALL, rows=10).bound(5, noise=F(5, 2)),
        lambda: release.KaczmarzProjection(SMALL, release.marginal(SMALL, "one"), square_bound=9).bound(5, noise=5),
        lambda: release.FriezeKannan(SMALL, release.marginal(SMALL, "one"), square_bound=-1),
        lambda: release.FriezeKannan(SMALL, release.all_marginals(dp.Universe({"x": 3}), order=1), square_bound=1),
        lambda: release.Rows(10, error=-1),
        lambda: release.Rows(10, failure_probability=1),
    ],
)
def test_refusals(call: Any) -> None:
    with pytest.raises(InvalidParameter):
        call()


def test_what_is_too_large() -> None:
    with pytest.raises(NotSupported):
        release.MultiplicativeWeights(dp.Universe({"a": 10**5, "b": 10**5}), rows=10)
    with pytest.raises(NotSupported, match="toy sizes"):
        release.Median(SMALL, release.marginal(SMALL, "one", "two"), rows=1000, level=50)
