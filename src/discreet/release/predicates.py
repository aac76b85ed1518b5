"""Linear queries by column name: conjunctions, weights of a column, any predicate, one cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from discreet.dp.columns import Integer
from discreet.dp.measured import Bins
from discreet.dp.rational import Number, rational
from discreet.dp.universe import Finite, Universe
from discreet.dp.values import Value, whole
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import canonical
from discreet.release.query import Array, Integers, LinearQuery, Product

Condition: TypeAlias = Value | float | Iterable[Value | float] | slice

FINEST = 2**20
"""Weights are multiples of 2^-20: sums of them over 2^40 rows are exact in 64 bits."""
MOST_CELLS = 10**8
"""Cells of one column or table of weights that a query may hold: 800 MB while it is made."""


def where(universe: Universe, /, **conditions: Condition) -> LinearQuery:
    """Return the query that counts the rows which meet every condition.

    A condition is a declared value, a list of them, a range, or a slice: `slice(low, high)` holds the values from low
    up to but not including high. What a range names beyond the declared values is held by no row.

    >>> from discreet import dp
    >>> universe = dp.Universe({"sex": dp.Category(["Female", "Male"]), "age": 85})
    >>> where(universe, sex="Male", age=range(20, 30))
    Product(axes=(0, 1), cells=(2, 85), scale=1)
    """
    factors = {axis_of(universe, name): _subset(universe, name, wanted) for name, wanted in conditions.items()}
    return Product.of(universe.shape, factors)


def weighted(
    universe: Universe, column: str, weights: Sequence[Number] | Mapping[Value, Number] | Callable[[Value], Number]
) -> LinearQuery:
    """Return the query that gives every row the weight of its value in one column, in [0, 1].

    Weights are one per cell of the column, or by value, or a function of the value. A weight that is no multiple of
    2^-20 is rounded to the nearest: the query is the one with the rounded weights, and is exact.
    """
    axis = axis_of(universe, column)
    domain = universe.columns[column]
    _check_cells(domain.size)
    if isinstance(weights, Mapping):
        places = {domain.find(value): weight for value, weight in weights.items()}
        if -1 in places or len(places) < max(len(weights), domain.size):
            raise InvalidParameter(f"weights by value name every declared value of column {column!r} once.")
        listed = [places[place] for place in range(domain.size)]
    elif callable(weights):
        listed = [weights(domain.value(place)) for place in range(domain.size)]
    else:
        listed = list(weights)
    if len(listed) != domain.size:
        raise InvalidParameter(f"column {column!r} has {domain.size} cells; got {len(listed)} weights.")
    integers, scale = on_the_grid(listed)
    return canonical.table(universe.shape, (axis,), integers, scale)


def predicate(
    universe: Universe, rule: Callable[..., Number | bool] | Array, columns: Sequence[str] | str
) -> LinearQuery:
    """Return the query of any weights over some columns: a function of their values, or a table with an axis for each.

    >>> from discreet import dp
    >>> universe = dp.Universe({"a": 3, "b": 3, "c": 5})
    >>> predicate(universe, lambda a, b: a < b, ["a", "b"]).weights()
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    axes = [axis_of(universe, name) for name in names]
    if len(set(axes)) < len(axes):
        raise InvalidParameter("predicate names each column once.")
    shape = tuple(universe.shape[axis] for axis in axes)
    _check_cells(math.prod(shape))
    if callable(rule):
        values = [[universe.columns[name].value(i) for i in range(universe.columns[name].size)] for name in names]
        integers, scale = on_the_grid([rule(*row) for row in product(*values)])
    else:
        given = np.asarray(rule)
        if given.shape != shape:
            raise InvalidParameter(f"a table over {names} has shape {shape}; got {given.shape}.")
        integers, scale = on_the_grid(given)
    order = np.argsort(axes)
    weights = integers.reshape(shape).transpose(order)
    return canonical.table(universe.shape, tuple(sorted(axes)), weights, scale)


def cell(universe: Universe, row: Mapping[str, Value]) -> LinearQuery:
    """Return the query that counts the rows which hold exactly these values; columns left out may hold any."""
    return where(universe, **{name: [value] for name, value in row.items()})


def axis_of(universe: Universe, column: str) -> int:
    """Return the position of a column."""
    names = tuple(universe.columns)
    if column not in names:
        raise InvalidParameter(f"the universe has no column {column!r}; it has {', '.join(names)}.")
    return names.index(column)


def on_the_grid(weights: Sequence[Number | bool] | Array) -> tuple[Integers, int]:
    """Return weights in [0, 1] as integers over one power of two: exactly, or rounded to multiples of 2^-20."""
    given = np.asarray(weights)
    if given.dtype.kind not in "biuf":
        flat = [int(w) if isinstance(w, bool | np.bool_) else rational(w, "a weight") for w in given.ravel()]
        if any(not 0 <= weight <= 1 for weight in flat):
            raise InvalidParameter("a weight lies in [0, 1].")
        numerators = np.array([round(weight * FINEST) for weight in flat], np.int64).reshape(given.shape)
    else:
        if given.size and not bool(((given >= 0) & (given <= 1)).all()):
            raise InvalidParameter("a weight lies in [0, 1].")
        if given.dtype.kind != "f":
            return given.astype(np.int64), 1
        numerators = np.rint(given.astype(np.float64) * FINEST).astype(np.int64)
    common = math.gcd(int(np.gcd.reduce(numerators, axis=None)), FINEST)
    return numerators // common, FINEST // common


def _check_cells(cells: int) -> None:
    if cells > MOST_CELLS:
        raise NotSupported(f"a table of {cells} weights is too large; use fewer columns, or coarser bins.")


def _subset(universe: Universe, name: str, wanted: Condition) -> Integers:
    column = universe.columns[name]
    _check_cells(column.size)
    chosen = np.zeros(column.size, np.int64)
    match wanted:
        case slice():
            if wanted.step is not None:
                raise InvalidParameter("a slice has two ends and no step; write a range.")
            chosen[column.between(wanted.start, wanted.stop)] = 1
        case range():
            if isinstance(column, Integer) and wanted.step == 1:
                chosen[column.between(wanted.start, wanted.stop)] = 1
            elif isinstance(column, Bins):
                _check_cells((wanted[-1] - wanted[0]) // wanted.step + 1 if wanted else 0)
                chosen[[place for place in map(column.index, wanted) if place >= 0]] = 1
            else:  # by the declared values, which are fewer than a range may be long
                values = ((place, column.value(place)) for place in range(column.declared))
                chosen[[place for place, value in values if whole(value) is not None and value in wanted]] = 1
        case str():
            chosen[_named(column, name, wanted)] = 1
        case Iterable():
            chosen[[_named(column, name, value) for value in wanted]] = 1
        case _:
            chosen[_named(column, name, wanted)] = 1
    return chosen


def _named(column: Finite, name: str, value: object) -> int:
    place = column.find(value)
    if place < 0:
        raise InvalidParameter(f"{value!r} is not a declared value of column {name!r}.")
    return place
