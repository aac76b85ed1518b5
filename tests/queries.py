"""Linear queries as dense vectors, worked out row by row: what the implicit ones are compared with."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet import dp
from discreet.release import LinearQuery, predicate
from discreet.release.query import Product

Vector = NDArray[np.object_]

TINY = dp.Universe({"a": 3, "b": dp.Category(["x", "y"]), "c": dp.Integer(5, 8, null="none"), "d": 1})


def dense(query: LinearQuery) -> Vector:
    """The weight of every cell of the universe, as exact fractions."""
    table = query.weights().astype(object).reshape(query.cells)
    wide = table.reshape([n if axis in query.axes else 1 for axis, n in enumerate(query.shape)])
    return np.array([Fraction(int(w), query.scale) for w in np.broadcast_to(wide, query.shape).ravel()], object)


def dense_of(shape: tuple[int, ...], weight: object) -> Vector:
    """The weights that a rule gives to the places of every cell."""
    return np.array([Fraction(weight(*place)) for place in np.ndindex(*shape)], object)  # type: ignore[operator]


def over(histogram: NDArray[np.int64], query: LinearQuery) -> NDArray[np.int64]:
    """The marginal of a flat histogram over the axes of a query, by NumPy's own sum."""
    others = tuple(axis for axis in range(len(query.shape)) if axis not in query.axes)
    return np.asarray(histogram.reshape(query.shape).sum(axis=others))


def check_key(one: LinearQuery, other: LinearQuery) -> None:
    """Two queries are equal exactly when all their weights are."""
    same = one.shape == other.shape and bool((dense(one) == dense(other)).all())
    assert (one == other) == same
    assert (one.key == other.key) == same
    assert not same or hash(one) == hash(other)


def check_sensitivity(vectors: Iterable[Vector], claimed: dp.Sensitivity, *, tight: bool = True) -> None:
    """On every pair of neighbouring tables the answers are as near as claimed, and as far apart on one of them.

    Weights are linear, so a pair is a cell that a row comes to, or two cells that it moves between.
    """
    cells = [list(column) for column in zip(*vectors, strict=True)]
    if claimed.neighbours is dp.Neighbours.ADD_REMOVE:
        moves = cells
    else:
        moves = [[x - y for x, y in zip(one, two, strict=True)] for one, two in combinations(cells, 2)]
    l1 = max((sum(map(abs, move)) for move in moves), default=Fraction(0))
    squares = max((sum(x * x for x in move) for move in moves), default=Fraction(0))
    most = max((max(map(abs, move)) for move in moves), default=Fraction(0))
    assert claimed.l1 is not None
    assert claimed.l1 >= l1
    assert claimed.l2**2 >= squares
    assert claimed.linf >= most
    if tight and most:
        assert (claimed.l1, claimed.linf) == (l1, most)
        assert claimed.l2**2 - squares <= squares * Fraction(1, 2**70)  # a square root, rounded up


weights = st.sampled_from([0, 1]) | st.sampled_from([0, 0.25, 0.5, 1]) | st.floats(0, 1)


@st.composite
def queries(draw: st.DrawFn, universe: dp.Universe = TINY) -> LinearQuery:
    """Any query of a tiny universe: products, tables, complements; many of them equal."""
    kind = draw(st.sampled_from(["subsets", "weights", "table", "rank one", "shifted"]))
    columns = draw(st.lists(st.sampled_from(list(universe.columns)), unique=True, max_size=3))
    sizes = {name: universe.columns[name].size for name in columns}
    axes = {name: list(universe.columns).index(name) for name in columns}
    if kind in ("subsets", "weights"):
        most = 1 if kind == "subsets" else 4
        factors = {
            axes[name]: np.array(draw(st.lists(st.integers(0, most), min_size=n, max_size=n)))
            for name, n in sizes.items()
        }
        query: LinearQuery = Product.of(universe.shape, factors, most ** len(factors))
    elif kind == "table":
        shape = tuple(sizes.values())
        count = int(np.prod(shape, dtype=int))
        flat = draw(st.lists(st.sampled_from([0, 1]) | weights, min_size=count, max_size=count))
        query = predicate(universe, np.array(flat, float).reshape(shape), columns)
    else:
        low, high = (0, 2) if kind == "rank one" else (-1, 1)
        vectors = [draw(st.lists(st.integers(low, high), min_size=n, max_size=n)) for n in sizes.values()]
        table = np.ones(())
        for vector in vectors:
            table = np.multiply.outer(table, vector)
        query = predicate(universe, (table + (8 if kind == "shifted" else 0)) / 16, columns)
    return query.complement() if draw(st.booleans()) else query
