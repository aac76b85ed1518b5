"""The number of rows as the public knows it, and how far one unit moves a query."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter
from discreet.release.online_truth import Truth
from discreet.release.rows import moved, whole_histogram
from tests.sizes import sized

F = Fraction


def test_shares_are_as_far_apart_as_rows_says() -> None:
    """none of its own; what is certified with it holds if the number of rows is within `error` of `estimate`.

    N (q - p) = (n q - N p) + q (N - n): every n within e of N, every table, every model."""
    source, least = np.random.default_rng(1), math.inf
    rows = release.Rows(50, error=7)
    for _ in range(sized(5_000, 100_000)):
        n, p, q = int(source.integers(43, 58)), F(int(source.integers(0, 65)), 64), F(int(source.integers(0, 65)), 64)
        off = abs(n * q - 50 * p)
        if off > 7:
            least = min(least, abs(q - p) / rows.normalised(off))
            assert abs(q - p) >= rows.normalised(off)
    assert least == 1  # and it is attained


class TestRowCount:
    """epsilon-DP; the rows are within `error` of the estimate, but for `failure_probability`."""

    def test_its_noise_is_that_of_the_total(self) -> None:
        one = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
        three = dp.Sensitivity(l1=3, neighbours=dp.Neighbours.ADD_REMOVE)
        swapped = dp.Sensitivity.histogram(neighbours=dp.Neighbours.REPLACE)
        for sensitivity, far in ((one, 1), (three, 3), (swapped, 1)):
            count = release.RowCount(sensitivity=sensitivity, epsilon=F(1, 2), failure_probability=F(1, 100))
            assert count.noise.scale == 2 * far
            assert count.loss.epsilon(delta=0) == 0.5
            rows = count.release(np.array([0, 5, 10**6]))
            assert rows.error == count.noise.accuracy(failure_probability=F(1, 100))
            assert abs(rows.estimate - 1_000_005) < 40 * far
        assert (
            release.RowCount(sensitivity=one, epsilon=1, failure_probability=0.5).release(np.zeros(3, int)).estimate
            >= 0
        )

    def test_a_private_histogram(self) -> None:
        one = dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE)
        count = release.RowCount(sensitivity=one, epsilon=1, failure_probability=F(1, 100))
        exact = dp.Exact(np.array([3, 4]), sensitivity=one, unit="row")
        budget = dp.PrivacyFilter(dp.Budget(epsilon=1))
        assert count.open(exact, budget.reserve(count.loss)).error > 0
        assert not budget.admit(count.loss)
        with pytest.raises(InvalidParameter):
            count.release(exact)  # type: ignore[arg-type]


def test_a_replaced_unit_moves_a_query_by_half_of_what_leaves_and_comes() -> None:
    """where a unit comes or goes it is all of l1. Where one is replaced it is half of l1, and l1 is at least twice the
    most rows of a unit: tried for all units of up to R rows, on all 0/1 queries. Taken from how far the histogram
    moves, where it has few cells, it is too little."""
    for most in (1, 2, 3):
        units = [u for u in itertools.product(range(most + 1), repeat=3) if sum(u) <= most]
        pairs = list(itertools.product(units, repeat=2))
        farthest = max(abs(sum(a) - sum(b)) for one, other in pairs for a, b in parts(one, other))
        declared = dp.Sensitivity(l1=2 * most, linf=most, neighbours=dp.Neighbours.REPLACE)
        gone = max(abs(sum(a)) for one in units for a, _ in parts(one, one))
        assert gone == most == moved(dp.Sensitivity(l1=most, neighbours=dp.Neighbours.ADD_REMOVE))
        assert farthest == most == moved(declared)
    each_once = [(1, 1), (1, 0), (0, 1), (0, 0)]
    pairs2 = list(itertools.product(each_once, repeat=2))
    histogram = max(sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs2)
    query = max(abs(sum(a) - sum(b)) for one, other in pairs2 for a, b in parts(one, other))
    assert (histogram, query) == (2, 2)
    assert moved(dp.Sensitivity(l1=histogram, linf=1, neighbours=dp.Neighbours.REPLACE)) == 1 < query
    assert moved(dp.Sensitivity(l1=2 * 2, linf=1, neighbours=dp.Neighbours.REPLACE)) == query


def parts(one: tuple[int, ...], other: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """What every 0/1 query counts of two units."""
    for chosen in itertools.product((0, 1), repeat=len(one)):
        yield [a * c for a, c in zip(one, chosen, strict=True)], [b * c for b, c in zip(other, chosen, strict=True)]


def test_how_far_a_unit_moves_a_query() -> None:
    add, replace = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
    assert moved(dp.Sensitivity.histogram(neighbours=add)) == 1
    assert moved(dp.Sensitivity.histogram(neighbours=replace)) == 1
    assert moved(dp.Sensitivity(l1=20, linf=20, neighbours=add)) == 20
    assert moved(dp.Sensitivity(l1=40, l2=30, linf=20, neighbours=replace)) == 20
    assert moved(dp.Sensitivity(l1=1, neighbours=replace)) == 1  # one cell, from which a row can only vanish
    with pytest.raises(InvalidParameter, match="l1"):
        moved(dp.Sensitivity(l2=1, neighbours=add))


def distances(table: np.ndarray, prepare: bool) -> list[int]:
    """What a test would compare for the number of rows and for one column, on a huge table."""
    cells = whole_histogram(table, 6) if prepare else table
    universe = dp.Universe({"a": 2, "b": 3})
    truth = Truth(cells, universe.shape)
    return [truth.distance(query, 1000.0) for query in (release.where(universe), release.where(universe, a=1))]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_no_sum_of_a_table_overflows_and_one_row_moves_it_by_one_at_most(dtype: type[np.integer]) -> None:
    """No sum of its cells overflows 64 bits, and neighbours are no further apart than before: a count of which that
    would not be sure, above 2^62 by the number of cells, counts as so many."""
    most = 2**62 // 6
    for value in (most - 1, most, most + 1, 2**62, 2**63 - 1):
        one = np.array([0, 0, 0, value - 1, 2**62, max(0, 2**62 - value)], dtype)
        other = one.copy()
        other[3] += 1
        apart = [abs(x - y) for x, y in zip(distances(one, True), distances(other, True), strict=True)]
        assert max(apart) <= 1
    wraps = np.array([0, 0, 0, 2**61, 2**61, 2**62 - 1], np.int64)
    after = wraps.copy()
    after[5] += 1
    assert max(abs(x - y) for x, y in zip(distances(wraps, False), distances(after, False), strict=True)) > 1
    small = np.arange(6, dtype=np.uint8)
    assert whole_histogram(small, 6).base is small or whole_histogram(small, 6) is small
    assert whole_histogram(np.array([-(2**63), 0], np.int64), 2).tolist() == [-(2**61), 0]
