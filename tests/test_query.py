"""`query`, `predicates`, `canonical`: implicit queries against dense vectors, exact in both neighbour relations."""

import time
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import dp, release
from discreet.errors import InvalidParameter, NotSupported
from discreet.release.query import Product, Table
from tests.accounting import examples
from tests.broken import queries as broken
from tests.queries import TINY, check_key, check_sensitivity, dense, dense_of, over, queries
from tests.sizes import sized

BOTH = list(dp.Neighbours)
tables = st.lists(st.integers(0, 50), min_size=TINY.size, max_size=TINY.size).map(np.array)
many = examples(max_examples=sized(150, 5_000))


class TestAnswers:
    @many
    @given(queries(), tables)
    def test_the_marginal_answers_as_the_dense_vector_does(
        self, query: release.LinearQuery, histogram: np.ndarray
    ) -> None:
        truth = sum(w * int(n) for w, n in zip(dense(query), histogram, strict=True))
        marginal = over(histogram, query)
        assert Fraction(query.count(marginal), query.scale) == truth
        for kind in (np.int64, np.int32, np.float64, np.float32):
            assert query.answer(marginal.astype(kind)) == pytest.approx(float(truth), rel=1e-6, abs=1e-6)
        assert query.count(marginal.astype(object)) == query.count(marginal.astype(np.uint32)) == query.count(marginal)

    @many
    @given(queries(), tables, tables, st.integers(0, 9))
    def test_it_is_linear(self, query: release.LinearQuery, one: np.ndarray, two: np.ndarray, times: int) -> None:
        together = query.count(over(times * one + two, query))
        assert together == times * query.count(over(one, query)) + query.count(over(two, query))

    @many
    @given(queries(), tables)
    def test_the_complement_has_the_other_weights(self, query: release.LinearQuery, histogram: np.ndarray) -> None:
        other = query.complement()
        assert (dense(other) == 1 - dense(query)).all()
        assert other.complement() == query
        both = [Fraction(q.count(over(histogram, q)), q.scale) for q in (query, other)]
        assert sum(both) == histogram.sum()

    @many
    @given(queries())
    def test_weights_are_in_lowest_terms_on_the_axes_that_matter(self, query: release.LinearQuery) -> None:
        weights = dense(query).reshape(query.shape)
        depends = [a for a in range(weights.ndim) if (weights != np.take(weights, [0], axis=a)).any()]
        assert list(query.axes) == depends
        assert query.scale.bit_count() == 1
        assert query.scale == max(w.denominator for w in weights.ravel())
        assert query.range == (weights.min() * query.scale, weights.max() * query.scale)
        assert 0 <= weights.min() <= weights.max() <= 1

    def test_counts_beyond_64_bits_are_exact(self) -> None:
        universe = dp.Universe({"a": 3, "b": 2})
        huge = np.array([[2**62, 2**62], [1, 1], [2**62, 2**62]])
        assert release.where(universe, a=[0, 2], b=[0]).complement().count(huge) == 2**63 + 2
        wide = release.predicate(universe, np.array([[1, 0.5], [0, 0.25], [1, 1]]), ["a", "b"])
        assert isinstance(wide, Table)
        assert wide.count(huge) == 4 * 2**62 + 2 * 2**62 + 1 + 8 * 2**62
        assert wide.count(huge.astype(object) * 2**70) == (14 * 2**62 + 1) * 2**70

    def test_only_its_own_marginal_answers_it(self) -> None:
        query = release.where(TINY, a=1, c=5)
        for shape in ((3,), (3, 2), (5, 3), (3, 5, 1)):
            with pytest.raises(InvalidParameter, match="answered by the marginal over axes"):
                query.answer(np.zeros(shape))
            with pytest.raises(InvalidParameter, match="answered by the marginal over axes"):
                query.count(np.zeros(shape, int))
        with pytest.raises(InvalidParameter, match="takes integers"):
            query.count(np.zeros((3, 5)))

    def test_a_large_table_is_answered_in_parts(self) -> None:
        universe = dp.Universe({"a": 2**12, "b": 2**11})
        source = np.random.default_rng(3)
        table = source.integers(0, 2, universe.shape, dtype=np.uint8)
        query = release.predicate(universe, table, ["a", "b"])
        histogram = source.integers(0, 5, universe.shape)
        assert query.count(histogram) == int((table * histogram).sum())
        assert query.answer(histogram.astype(np.float32)) == int((table * histogram).sum())

    def test_a_conjunction_takes_microseconds(self) -> None:
        universe = dp.Universe({"a": 16, "b": 7, "c": 15})
        marginal = np.random.default_rng(0).random((16, 7, 15))
        for condition in (range(3, 9), [1, 4, 5, 8, 9], 3):
            query = release.where(universe, a=condition, b=[0, 2, 3], c=range(2, 11))
            took = []
            for _ in range(5):
                before = time.process_time()
                for _ in range(1_000):
                    query.answer(marginal)
                took.append(time.process_time() - before)
            assert min(took) / 1_000 < 60e-6  # 15 microseconds, and four times that on a slow machine


class TestKeys:
    @many
    @given(queries(), queries())
    def test_equal_weights_are_equal_queries(self, one: release.LinearQuery, other: release.LinearQuery) -> None:
        check_key(one, other)

    @many
    @given(queries())
    def test_the_same_weights_as_a_table_are_the_same_query(self, query: release.LinearQuery) -> None:
        table = dense(query).reshape(query.shape)
        check_key(query, release.predicate(TINY, table, list(TINY.columns)))
        swapped = release.predicate(TINY, table.transpose(3, 1, 0, 2), ["d", "b", "a", "c"])
        assert swapped == query

    def test_one_predicate_written_in_many_ways(self) -> None:
        ways = [
            release.where(TINY, a=[1, 2], b="y"),
            release.where(TINY, b=["y"], a=range(1, 3)),
            release.where(TINY, a=slice(1, None), b={"y"}, c=[5, 6, 7, 8, "none"], d=0),
            release.where(TINY, a=(2, 1, 1), b="y"),
            release.predicate(TINY, lambda b, a: a > 0 and b == "y", ["b", "a"]),
            release.predicate(TINY, lambda a, b, d: a > 0 and b == "y", ["a", "b", "d"]).complement().complement(),
            release.predicate(TINY, lambda a, b: a == 0 or b == "x", ["a", "b"]).complement(),
        ]
        assert len({query.key for query in ways}) == len(set(ways)) == 1
        assert ways[0] != release.where(TINY, a=[1, 2])
        assert ways[0] != "query"
        as_written = {broken.written_key({"a": [1, 2], "b": "y"}), broken.written_key({"a": range(1, 3), "b": ["y"]})}
        assert len(as_written) > 1  # the check sees a key of the text

    def test_another_universe_is_another_query(self) -> None:
        assert release.where(dp.Universe({"a": 2}), a=1) != release.where(dp.Universe({"a": 3}), a=1)


class TestSensitivity:
    @many
    @given(queries(), st.sampled_from(BOTH))
    def test_it_is_the_most_that_a_row_moves(self, query: release.LinearQuery, neighbours: dp.Neighbours) -> None:
        """Q(D) is a whole multiple of 1 / `scale`, and one row moves it by at most what `sensitivity` says."""
        check_sensitivity([dense(query)], query.sensitivity(neighbours))

    def test_the_check_rejects_the_spread_of_the_weights(self) -> None:
        query = release.where(TINY, a=[0, 1, 2])
        check_sensitivity([dense(query)], query.sensitivity(dp.Neighbours.ADD_REMOVE))
        half = release.weighted(TINY, "a", [1, 0.5, 0.75])
        with pytest.raises(AssertionError):
            check_sensitivity([dense(half)], broken.spread_as_sensitivity(half, dp.Neighbours.ADD_REMOVE))

    def test_a_query_that_cannot_move_has_the_least_step(self) -> None:
        nothing, all_rows = release.where(TINY, a=[]), release.where(TINY)
        for neighbours in BOTH:
            assert nothing.sensitivity(neighbours).l1 == 1
        assert all_rows.sensitivity(dp.Neighbours.REPLACE).l1 == 1
        quarter = release.weighted(TINY, "a", [0.25, 0.25, 0.25])
        assert quarter.sensitivity(dp.Neighbours.ADD_REMOVE).l1 == Fraction(1, 4)


CONDITIONS: list[tuple[object, set[int]]] = [
    (6, {1}),
    (6.0, {1}),
    ("none", {4}),
    ([5, 8], {0, 3}),
    ([8, "none"], {3, 4}),
    (np.array([5, 6]), {0, 1}),
    ((), set()),
    (range(100), {0, 1, 2, 3}),
    (range(8, 4, -2), {1, 3}),
    (slice(6, 8), {1, 2}),
    (slice(None, 6), {0}),
    (slice(100, 200), set()),
]
UNDECLARED: list[dict[str, object]] = [
    {"z": 1}, {"a": 3}, {"a": [0, 3]}, {"a": "x"}, {"a": True}, {"b": "z"}, {"b": ["x", "z"]}, {"c": slice(0, 9, 2)},
]  # fmt: skip


class TestPredicates:
    DAYS = dp.Date(date(2026, 1, 1), date(2026, 1, 9))
    DATES = dp.Universe({"day": DAYS, "cost": dp.Bins([0, 10, 20, 30]), "ok": dp.Boolean()})

    def test_conditions_of_every_kind(self) -> None:
        for condition, places in CONDITIONS:
            query = release.where(TINY, c=condition)
            chosen = np.array([place in places for place in range(5)])
            assert (dense(query) == dense_of(TINY.shape, lambda a, b, c, d, of=chosen: int(of[c]))).all()
        days = release.where(self.DATES, day=slice(date(2026, 1, 3), date(2026, 1, 5)), ok=True)
        assert (dense(days) == dense_of(self.DATES.shape, lambda day, cost, ok: day in (2, 3) and ok == 1)).all()
        cost = release.where(self.DATES, cost=slice(10, 30))
        assert (dense(cost) == dense_of(self.DATES.shape, lambda day, cost, ok: cost in (1, 2))).all()
        assert release.where(self.DATES, cost=12.5) == release.where(self.DATES, cost=[10])

    @pytest.mark.parametrize("conditions", UNDECLARED)
    def test_what_is_not_declared_is_refused(self, conditions: dict[str, object]) -> None:
        with pytest.raises(InvalidParameter):
            release.where(TINY, **conditions)

    def test_a_range_is_as_long_as_one_likes(self) -> None:
        universe = dp.Universe(
            {"g": dp.Category([3, 5, 9]), "i": dp.Integer(0, 10), "c": dp.Bins([0, 5, 10]), "b": dp.Boolean()}
        )
        for wanted, column, weights in (
            (range(4, 10**15), "g", [0, 1, 1]), (range(9, -(10**30), -6), "g", [1, 0, 1]),
            (range(0, 10**30, 5), "i", [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]), (range(6, 8), "c", [0, 1]),
        ):  # fmt: skip
            assert release.where(universe, **{column: wanted}).weights().tolist() == weights
        assert release.where(universe, b=range(2)) == release.where(universe, b=[])  # True is not 1
        with pytest.raises(NotSupported):
            release.where(universe, c=range(10**30))

    def test_a_slice_needs_an_order(self) -> None:
        with pytest.raises(NotSupported, match="list its values"):
            release.where(TINY, b=slice("x", None))
        with pytest.raises(InvalidParameter, match="edges"):
            release.where(self.DATES, cost=slice(5, 10))

    def test_a_cell_is_one_row(self) -> None:
        for cell, row in enumerate(TINY):
            assert dense(release.cell(TINY, row)).tolist() == [int(i == cell) for i in range(TINY.size)]

    def test_weights_of_a_column(self) -> None:
        expected = dense_of(TINY.shape, lambda a, b, c, d: [0, Fraction(1, 2), 1][a])
        for given_weights in ([0, 0.5, 1], {2: 1, 0: 0, 1: "1/2"}, lambda a: Fraction(a, 2), np.array([0, 0.5, 1])):
            query = release.weighted(TINY, "a", given_weights)
            assert (dense(query) == expected).all()
            assert query.scale == 2
        assert isinstance(release.weighted(TINY, "a", [0, 1, 1]), Product)
        for wrong in ([0, 1], [0, 1, 2], [0, -1, 0], [0, float("nan"), 1], {0: 1}, {0: 1, 1: 1, 3: 1}, ["a", 0, 0]):
            with pytest.raises(InvalidParameter):
                release.weighted(TINY, "a", wrong)

    def test_weights_are_rounded_to_a_public_grid(self) -> None:
        third = release.weighted(TINY, "a", [Fraction(1, 3), 0.3, 1])
        assert third.scale <= 2**20
        rounded = [Fraction(round(Fraction(weight) * 2**20), 2**20) for weight in ("1/3", "0.3", "1")]
        assert [Fraction(int(weight), third.scale) for weight in third.weights()] == rounded

    def test_predicates_of_any_shape(self) -> None:
        query = release.predicate(TINY, lambda c, a: c != "none" and c > a + 5, ["c", "a"])
        assert isinstance(query, Table)
        assert (dense(query) == dense_of(TINY.shape, lambda a, b, c, d: int(c != 4 and c > a))).all()
        even = release.predicate(TINY, lambda a, b: (a + (b == "x")) % 2 == 0, ["a", "b"])
        assert (type(even), even.scale) == (Table, 1)  # though it is 1/2 + 1/2 (-1)^a (-1)^b
        assert even.weights().tolist() == [[0, 1], [1, 0], [0, 1]]
        whole = np.random.default_rng(1).integers(0, 2, TINY.shape)
        assert (dense(release.predicate(TINY, whole, list(TINY.columns))) == whole.ravel()).all()
        assert release.predicate(TINY, lambda a: a == 1, "a") == release.where(TINY, a=1)
        square = np.zeros((3, 3))
        for table, columns in ((square, ["a", "b"]), (square, ["a", "a"]), (np.full(3, 2), ["a"])):
            with pytest.raises(InvalidParameter):
                release.predicate(TINY, table, columns)
        with pytest.raises(NotSupported, match="too large"):
            release.where(dp.Universe({"a": 10**12}), a=3)

    def test_weights_outside_0_and_1_are_refused_however_the_query_is_made(self) -> None:
        """One row moves such a query by more than any mechanism expects of one."""
        for factors in ({0: np.array([1000, 0, 0])}, {0: np.array([-1, 1, 0])}, {0: np.array([0, 2, 1])}):
            with pytest.raises(InvalidParameter, match=r"weights in \[0, 1\]"):
                Product.of(TINY.shape, factors)
        for constant, coefficient in ((1, 1), (0, -1), (-1, 1)):
            with pytest.raises(InvalidParameter, match=r"weights in \[0, 1\]"):
                Product.of(TINY.shape, {0: np.array([1, 0, 1])}, constant=constant, coefficient=coefficient)
        with pytest.raises(InvalidParameter, match=r"weights in \[0, 1\]"):
            Table(TINY.shape, (0,), np.array([7, 3, 0]), 1)
        Table(TINY.shape, (0,), np.array([7, 3, 0]), 7)
