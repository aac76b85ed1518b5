"""`marginals`: sums of dense arrays against NumPy's own, the adjoint identity, and the time that sharing saves."""

import time
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import release
from discreet.errors import InvalidParameter
from discreet.release.marginals import SharedSums, marginal, shared_sums
from tests.accounting import examples
from tests.sizes import sized

many = examples(max_examples=sized(80, 5_000))
ADULT = (16, 7, 15, 6, 5, 2, 2)
KINDS = ("f4", "f8", "i4", "i8", "u1", "?")

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=6).map(tuple)
Axes = tuple[int, ...]


def subsets(shape: Axes) -> list[Axes]:
    positions = range(len(shape))
    return list(chain.from_iterable(combinations(positions, size) for size in range(len(shape) + 1)))


def plain(array: np.ndarray, axes: Axes) -> np.ndarray:
    others = tuple(axis for axis in range(array.ndim) if axis not in axes)
    return array.sum(axis=others, dtype=np.int64 if array.dtype.kind in "iub" else np.float64)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, tuple[Axes, ...]]:
    """An array of small integers, of any type, and some cliques; sums of them are exact in every type."""
    shape = draw(shapes)
    cliques = draw(st.lists(st.sampled_from(subsets(shape)), unique=True, min_size=1, max_size=12))
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    return source.integers(0, 10, shape).astype(draw(st.sampled_from(KINDS))), tuple(cliques)


class TestForward:
    @many
    @given(problems())
    def test_marginals_are_sums(self, problem: tuple[np.ndarray, tuple[Axes, ...]]) -> None:
        array, cliques = problem
        cached = release.Marginals(array, array.shape)
        cached.prepare(cliques)
        shared = shared_sums(array.shape, cliques).tables(array)
        for axes in cliques:
            expected = plain(array, axes)
            for found in (marginal(array, array.shape, axes), cached(axes), shared[axes]):
                assert found.shape == expected.shape
                assert found.dtype == (np.int64 if array.dtype.kind in "iub" else array.dtype)
                assert (found == expected).all()

    @many
    @given(problems())
    def test_a_marginal_may_come_from_a_larger_one(self, problem: tuple[np.ndarray, tuple[Axes, ...]]) -> None:
        array, cliques = problem
        cached = release.Marginals(array.ravel(), array.shape)
        for axes in sorted(cliques, key=len, reverse=True):
            assert (cached(axes) == plain(array, axes)).all()
            assert cached(axes) is cached(axes)

    def test_arrays_that_are_not_contiguous(self) -> None:
        array = np.arange(120.0).reshape(6, 5, 4).T[::-1, :, ::2]
        for axes in subsets(array.shape):
            assert (marginal(array, array.shape, axes) == plain(array, axes)).all()
            assert (SharedSums(array.shape, (axes,)).tables(array)[axes] == plain(array, axes)).all()

    @pytest.mark.parametrize("shape", [(300_000, 3), (3, 300_000), (2, 100_000, 3), (700, 900, 2)])
    def test_single_precision_sums_keep_six_digits(self, shape: Axes) -> None:
        array = np.random.default_rng(5).random(shape).astype(np.float32)
        for axes in subsets(shape):
            exact = plain(array, axes)
            for found in (marginal(array, shape, axes), SharedSums(shape, (axes,)).tables(array)[axes]):
                assert found.dtype == np.float32
                assert np.abs(found / exact - 1).max() < 2e-6

    def test_counts_do_not_overflow_their_type(self) -> None:
        array = np.full((4, 5), 2**31 - 1, np.int32)
        assert marginal(array, (4, 5), ()) == 20 * (2**31 - 1)
        assert shared_sums((4, 5), ((0,), (1,))).tables(array)[(0,)].tolist() == [5 * (2**31 - 1)] * 4

    @pytest.mark.parametrize("axes", [(1, 0), (0, 0), (2,), (-1,)])
    def test_axes_are_sorted_positions(self, axes: Axes) -> None:
        with pytest.raises(InvalidParameter, match="sorted"):
            marginal(np.zeros((2, 2)), (2, 2), axes)
        with pytest.raises(InvalidParameter, match="sorted"):
            release.lift({axes: np.zeros(2)}, (2, 2))
        with pytest.raises(InvalidParameter, match="sorted"):
            release.Marginals(np.zeros((2, 2)), (2, 2))(axes)


class TestBack:
    @many
    @given(problems())
    def test_it_is_the_adjoint(self, problem: tuple[np.ndarray, tuple[Axes, ...]]) -> None:
        """<M p, y> = <p, lift y>, exactly, and lift y is the sum of the tables stretched over the array."""
        array, cliques = problem
        source = np.random.default_rng(array.size)
        sizes = {axes: [array.shape[axis] for axis in axes] for axes in cliques}
        for kind in ("f4", "f8", "i8"):
            tables = {axes: source.integers(-9, 10, sizes[axes]).astype(kind) for axes in cliques}
            kept = {axes: table.copy() for axes, table in tables.items()}
            dense = release.lift(tables, array.shape)
            stretched = [
                table.reshape([n if axis in axes else 1 for axis, n in enumerate(array.shape)])
                for axes, table in tables.items()
            ]
            assert (dense == sum(stretched) + np.zeros(array.shape, kind)).all()
            assert (dense.dtype, dense.shape) == (np.dtype(kind), array.shape)
            marginals = shared_sums(array.shape, cliques).tables(array)
            forward = sum(int((marginals[axes] * tables[axes].astype(np.int64)).sum()) for axes in cliques)
            assert forward == int((array.astype(np.int64) * dense.astype(np.int64)).sum())
            dense += 1  # what is returned is ours to change
            assert all((tables[axes] == kept[axes]).all() for axes in cliques)

    def test_an_infinity_stays_in_its_cells(self) -> None:
        """A potential of minus infinity is a cell that cannot occur; its neighbours are as they were."""
        for shape, axes in (((40, 3, 2), (0, 2)), ((3, 40), (1,)), ((5, 4, 3, 2), (1, 3))):
            table = np.zeros([shape[axis] for axis in axes])
            table[(0,) * table.ndim] = -np.inf
            dense = release.lift({axes: table}, shape)
            assert np.isneginf(dense).sum() == np.prod(shape) // table.size
            assert not np.isnan(dense).any()

    def test_tables_fit_their_axes(self) -> None:
        with pytest.raises(InvalidParameter, match="another shape"):
            release.lift({(0,): np.zeros(3)}, (2, 3))


def least_time(work: object, repeats: int = 7) -> float:
    took = []
    for _ in range(repeats):
        before = time.process_time()
        work()  # type: ignore[operator]
        took.append(time.process_time() - before)
    return min(took)


class TestSpeed:
    """Five times the time wanted, in processor time: 8 ms for 35 marginals, 30 ms for 560, alone on a machine."""

    @pytest.mark.parametrize(("shape", "wanted"), [(ADULT, 8e-3), ((2,) * 16, 30e-3)])
    def test_many_marginals_share_their_sums(self, shape: Axes, wanted: float) -> None:
        cliques = tuple(combinations(range(len(shape)), 3))
        array = np.random.default_rng(0).random(shape)
        sums = shared_sums(shape, cliques)
        tables = sums.tables(array)
        assert least_time(lambda: sums.tables(array)) < 5 * wanted
        assert least_time(lambda: sums.lift(tables)) < 5 * wanted
        for axes in cliques[:: len(cliques) // 10]:
            assert np.allclose(tables[axes], plain(array, axes), rtol=1e-12)

    def test_the_first_steps_are_few(self) -> None:
        """Of 35 marginals of 7 columns only four start from the whole array."""
        sums = SharedSums(ADULT, tuple(combinations(range(7), 3)))
        assert sum(step.source == 0 for step in sums._steps) == 4
