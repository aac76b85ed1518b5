"""`workload`, `families`, `listed`: all answers in one pass, equal to those of the queries one by one."""

import time
import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import dp, release
from discreet.errors import InvalidParameter
from discreet.release import Family, Listed, Marginals, Workload
from tests.accounting import examples
from tests.broken import queries as broken
from tests.queries import TINY, check_sensitivity, dense, over, queries
from tests.sizes import sized

many = examples(max_examples=sized(60, 2_000))
BOTH = list(dp.Neighbours)
FAMILIES: list[Family] = [
    release.marginal(TINY, "a", "c"),
    release.marginal(TINY, "b"),
    release.marginal(TINY, "d"),
    release.marginal(TINY),
    release.prefixes(TINY, "a"),
    release.prefixes(TINY, "c"),
    release.prefixes(TINY, "d"),
    release.ranges(TINY, "c"),
    release.ranges(TINY, "d"),
    release.ranges(TINY, "c", "a"),
]
HISTOGRAM = np.random.default_rng(2).integers(0, 30, TINY.size)
families = st.sampled_from(FAMILIES)
parts = st.lists(
    families | queries() | st.lists(queries(), min_size=1, max_size=4).map(Workload), min_size=1, max_size=8
)


def check_answers(workload: Family | Workload, get: Marginals) -> None:
    """All answers at once are those of the queries one by one, exactly from integers."""
    expected = [Fraction(q.count(over(HISTOGRAM, q)), q.scale) for q in workload]
    assert len(expected) == len(workload)
    if isinstance(workload, Family):
        counts, answers = workload.counts(get(workload.axes)), workload.answers(get(workload.axes))
        floats = workload.answers(get(workload.axes).astype(np.float64))
    else:
        counts, answers = workload.counts(get), workload.answers(get)
        floats = workload.answers(lambda axes: get(axes).astype(np.float32))
    assert [Fraction(int(count), workload.scale) for count in counts] == expected
    assert answers == pytest.approx([float(answer) for answer in expected])
    assert floats == pytest.approx([float(answer) for answer in expected], rel=1e-6, abs=1e-5)


class TestFamilies:
    @pytest.mark.parametrize("family", FAMILIES, ids=repr)
    def test_all_answers_are_those_of_the_queries(self, family: Family) -> None:
        check_answers(family, Marginals(HISTOGRAM, TINY.shape))
        weights = family.weights()
        assert weights.shape == (family.size, np.prod(family.cells, dtype=int))
        table = Marginals(HISTOGRAM, TINY.shape)(family.axes)
        assert (weights @ table.ravel() == family.counts(table)).all()

    def test_what_a_family_holds(self) -> None:
        get = Marginals(HISTOGRAM, TINY.shape)
        column = get((2,)).tolist()
        assert release.marginal(TINY, "c", "a") == release.marginal(TINY, "a", "c") == FAMILIES[0]
        assert FAMILIES[5].answers(get((2,))).tolist() == [sum(column[: i + 1]) for i in range(5)]
        intervals = [sum(column[i : j + 1]) for i in range(5) for j in range(i, 5)]
        assert FAMILIES[7].answers(get((2,))).tolist() == intervals
        assert release.prefixes(TINY, "c").query(2) == release.where(TINY, c=[5, 6, 7])
        assert release.ranges(TINY, "c").query(6) == release.where(TINY, c=[6, 7])
        both = get((0, 2))
        boxes = [
            both[i : j + 1, k : m + 1].sum()
            for (i, j), (k, m) in product(
                [(i, j) for i in range(3) for j in range(i, 3)], [(k, m) for k in range(5) for m in range(k, 5)]
            )
        ]
        assert FAMILIES[9].answers(both).tolist() == boxes

    @pytest.mark.parametrize("family", FAMILIES, ids=repr)
    @pytest.mark.parametrize("neighbours", BOTH)
    def test_sensitivities_are_attained(self, family: Family, neighbours: dp.Neighbours) -> None:
        check_sensitivity([dense(query) for query in family], Workload([family]).sensitivity(neighbours))

    def test_the_check_rejects_prefixes_taken_for_cells(self) -> None:
        family = release.prefixes(TINY, "a")
        vectors = [dense(query) for query in family]
        for neighbours in BOTH:
            claimed = broken.cells_as_sensitivity(family, neighbours)
            if neighbours is dp.Neighbours.ADD_REMOVE:
                with pytest.raises(AssertionError):
                    check_sensitivity(vectors, claimed)

    @pytest.mark.parametrize("family", FAMILIES, ids=repr)
    def test_refusals(self, family: Family) -> None:
        for number in (-1, family.size):
            with pytest.raises(InvalidParameter, match="has a number from 0"):
                family.query(number)
        with pytest.raises(InvalidParameter, match="answered by the marginal"):
            family.answers(np.zeros((9, 9)))
        with pytest.raises(InvalidParameter, match="takes integers"):
            family.counts(np.zeros(family.cells))

    def test_families_name_columns_once(self) -> None:
        for wrong in (("a", "a"), ("z",)):
            with pytest.raises(InvalidParameter):
                release.marginal(TINY, *wrong)
        for wrong in (("a", "b", "c"), (), ("a", "a"), ("z",)):
            with pytest.raises(InvalidParameter):
                release.ranges(TINY, *wrong)
        for order in (0, 5, 1.5, True):
            with pytest.raises(InvalidParameter):
                release.all_marginals(TINY, order=order)  # type: ignore[arg-type]


class TestWorkloads:
    @many
    @given(parts)
    def test_all_answers_are_those_of_the_queries_in_order(self, listed: list[object]) -> None:
        workload = Workload(listed)  # type: ignore[arg-type]
        one_by_one: list[release.LinearQuery] = []
        for part in listed:
            one_by_one += [part] if isinstance(part, release.LinearQuery) else list(part)  # type: ignore[call-overload]
        assert list(workload) == one_by_one
        check_answers(workload, Marginals(HISTOGRAM, TINY.shape))
        assert set(workload.cliques) == {family.axes for family in workload.families}
        largest = [set(clique) for clique in workload.maximal_cliques]
        assert all(any(set(clique) <= other for other in largest) for clique in workload.cliques)
        assert not any(one < other for one in largest for other in largest)

    @many
    @given(parts, parts)
    def test_they_compose(self, one: list[object], other: list[object]) -> None:
        together = Workload(one) + Workload(other)  # type: ignore[arg-type]
        assert list(together) == list(Workload(one)) + list(Workload(other))  # type: ignore[arg-type]
        assert together == Workload([*one, *other]) or list(together) == list(Workload([*one, *other]))  # type: ignore[list-item]

    @many
    @given(parts, st.sampled_from(BOTH))
    def test_a_sensitivity_is_a_bound(self, listed: list[object], neighbours: dp.Neighbours) -> None:
        workload = Workload(listed)  # type: ignore[arg-type]
        check_sensitivity([dense(query) for query in workload], workload.sensitivity(neighbours), tight=False)

    @many
    @given(st.lists(queries(), min_size=1, max_size=6), st.sampled_from(BOTH))
    def test_of_a_list_on_one_marginal_it_is_attained(
        self, listed: list[release.LinearQuery], neighbours: dp.Neighbours
    ) -> None:
        same = [query for query in listed if query.axes == listed[0].axes]
        check_sensitivity([dense(query) for query in same], Workload(same).sensitivity(neighbours))

    @pytest.mark.parametrize("neighbours", BOTH)
    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_of_marginals_it_is_the_known_one(self, neighbours: dp.Neighbours, order: int) -> None:
        universe = dp.Universe({"a": 2, "b": 3, "c": 2})
        workload = release.all_marginals(universe, order=order)
        known = dp.Sensitivity.marginals(count=len(workload.families), neighbours=neighbours)
        assert workload.sensitivity(neighbours) == known
        check_sensitivity([dense(query) for query in workload], known)

    def test_the_check_rejects_duplicates_counted_once(self) -> None:
        query = release.where(TINY, a=1)
        workload = Workload([query, query, release.where(TINY, a=[1, 2])])
        for neighbours in BOTH:
            check_sensitivity([dense(q) for q in workload], workload.sensitivity(neighbours))
            with pytest.raises(AssertionError):
                check_sensitivity([dense(q) for q in workload], broken.once_as_sensitivity(workload, neighbours))

    def test_duplicates_and_impossible_queries_are_answered(self) -> None:
        nothing, everything = release.where(TINY, a=[]), release.where(TINY)
        workload = Workload([nothing, release.where(TINY, a=1), nothing, everything, release.where(TINY, a=1)])
        get = Marginals(HISTOGRAM, TINY.shape)
        ones = int(get((0,))[1])
        assert workload.counts(get).tolist() == [0, ones, 0, HISTOGRAM.sum(), ones]
        assert (len(workload), workload.cliques) == (5, ((), (0,)))
        assert Workload([nothing]).sensitivity(dp.Neighbours.REPLACE).l1 == 1

    def test_equality(self) -> None:
        one = release.all_marginals(TINY, order=2) + release.ranges(TINY, "c")
        assert one == release.all_marginals(TINY, order=2) + release.ranges(TINY, "c")
        assert hash(one) == hash(release.all_marginals(TINY, order=2) + release.ranges(TINY, "c"))
        assert one != release.all_marginals(TINY, order=2)
        assert one != "workload"
        ab = [release.where(TINY, a=1), release.where(TINY, b="x")]
        assert Workload(ab) == Workload(ab)
        assert Workload(ab) != Workload(ab[::-1])
        cells = release.marginal(TINY, "b")
        assert [len(part) for part in (ab[0] + cells, cells + ab[0], ab[0] + (cells + cells))] == [3, 3, 5]
        assert next(iter(ab[0] + cells)) == ab[0]

    def test_refusals(self) -> None:
        with pytest.raises(InvalidParameter, match="at least one query"):
            Workload([])
        with pytest.raises(InvalidParameter, match="one universe"):
            Workload([release.where(TINY, a=1), release.marginal(dp.Universe({"a": 2}), "a")])
        with pytest.raises(InvalidParameter, match="has a number from 0"):
            release.all_marginals(TINY, order=1).query(-1)
        with pytest.raises(InvalidParameter, match="same axes"):
            Listed((release.where(TINY, a=1), release.where(TINY, b="x")))
        with pytest.raises(InvalidParameter, match="same axes"):
            Listed(())


class TestSize:
    def test_counts_beyond_64_bits_are_exact(self) -> None:
        universe = dp.Universe({"a": 2, "b": 2})
        listed = [
            release.where(universe, a=1, b=0),
            release.predicate(universe, np.array([[1, 1], [0, 0.5]]), ["a", "b"]),
        ]
        huge = np.array([[2**62, 2**62], [2**62, 2**62 + 1]])
        counts = Workload([*listed, listed[0].complement()]).counts(lambda axes: huge)
        assert counts.tolist() == [2 * 2**62, 5 * 2**62 + 1, 2 * (3 * 2**62 + 1)]

    def test_so_are_counts_beyond_64_bits_on_the_scale_of_other_parts(self) -> None:
        universe = dp.Universe({"cell": 2})
        workload = release.marginal(universe, "cell") + release.weighted(universe, "cell", [0.1, 1])
        tenth = round(0.1 * 2**20)
        rows = 2**45
        found = workload.counts(release.Marginals(np.array([rows, 3]), (2,)))
        expected = [Fraction(rows), Fraction(3), Fraction(rows * tenth, 2**20) + 3]
        assert [Fraction(int(one), workload.scale) for one in found] == expected

    def test_many_queries_of_one_marginal_go_in_parts(self) -> None:
        universe = dp.Universe({"a": 16, "b": 7, "c": 15})
        source = np.random.default_rng(4)
        listed = [
            release.query.Product.of(
                universe.shape, {i: source.integers(0, 2, n) for i, n in enumerate(universe.shape)}
            )
            for _ in range(sized(300, 20_000))
        ] * 30
        table = source.integers(0, 1000, universe.shape)
        workload = Workload(listed)
        get = Marginals(table, universe.shape)
        assert workload.counts(get)[::997].tolist() == [query.count(get(query.axes)) for query in listed[::997]]

    def test_a_million_queries_need_no_loop(self) -> None:
        universe = dp.Universe({"a": 1_413, "b": 2})
        workload = release.ranges(universe, "a") + release.marginal(universe, "a", "b")
        assert len(workload) > 10**6 - 10**4
        get = Marginals(np.random.default_rng(0).random(universe.size), universe.shape)
        workload.answers(get)
        before = time.process_time()
        answers = workload.answers(get)
        assert time.process_time() - before < 0.5  # a loop of Python would take as many seconds
        assert len(answers) == len(workload)

    def test_a_sensitivity_too_large_to_enumerate_is_bounded(self) -> None:
        universe = dp.Universe({"a": 5_000})
        one = release.ranges(universe, "a")
        exact = 2_500 * 2_501
        assert Workload([one]).sensitivity(dp.Neighbours.ADD_REMOVE).l1 == exact
        assert exact < Workload([one]).sensitivity(dp.Neighbours.REPLACE).l1 <= 2 * exact  # type: ignore[operator]
        wide = Workload([release.where(universe, a=range(i, i + 9)) for i in range(200)])
        assert wide.sensitivity(dp.Neighbours.REPLACE).l1 == 200


def test_a_workload_in_order_writes_no_place_down() -> None:
    """84 triples of columns of 100 values have 84 million queries; a list of their places would be 0.7 GB."""
    universe = dp.Universe({f"c{number}": 100 for number in range(9)})
    tracemalloc.start()
    workload = release.all_marginals(universe, order=3) + release.prefixes(universe, "c0")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(workload) == 84 * 10**6 + 100
    assert peak < 10**6
    assert workload.query(84 * 10**6) == release.prefixes(universe, "c0").query(0)
