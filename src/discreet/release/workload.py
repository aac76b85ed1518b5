"""Workloads: the queries to be answered well, as a list of families, each answered in one pass."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, combinations, groupby
from typing import TypeAlias, cast

import numpy as np

from discreet.dp.grid import in_steps
from discreet.dp.neighbours import Neighbours
from discreet.dp.rational import sqrt_up
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import InvalidParameter
from discreet.release.families import Family, Marginal, Prefixes, Ranges
from discreet.release.listed import Listed
from discreet.release.predicates import axis_of
from discreet.release.query import Array, LinearQuery

GetMarginal: TypeAlias = Callable[[tuple[int, ...]], Array]
"""From sorted axes to the marginal over them: `Marginals`, or a model."""


class Workload:
    """Queries in order: families one after the other, with the queries of a list grouped by the marginal they need.

    It is made of families, queries and other workloads, and `+` puts two together. The same query may be there twice,
    and one that no row can meet is answered too. Two workloads are equal if they are made of equal parts.

    >>> from discreet import dp
    >>> universe = dp.Universe({"sex": 2, "race": 5, "age": 85})
    >>> workload = all_marginals(universe, order=2) + ranges(universe, "age")
    >>> len(workload), workload.cliques
    (4260, ((0, 1), (0, 2), (1, 2), (2,)))
    """

    __slots__ = ("_inverse", "_order", "_starts", "families", "scale", "shape")

    families: tuple[Family, ...]
    shape: tuple[int, ...]
    scale: int

    def __init__(self, parts: Iterable[Family | LinearQuery | Workload]) -> None:
        listed = list(parts)
        if not listed:
            raise InvalidParameter("a workload has at least one query.")
        if len({part.shape for part in listed}) > 1:
            raise InvalidParameter("all parts of a workload are about one universe; these have several shapes.")
        families, order = _in_order(listed) or _ordered(listed)
        self.families, self.shape = tuple(families), listed[0].shape
        self.scale = max(family.scale for family in families)
        self._starts = [0, *accumulate(family.size for family in families)]
        self._order = order
        self._inverse = None if order is None else np.argsort(order)

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[LinearQuery]:
        return (self.query(number) for number in range(len(self)))

    def __add__(self, other: Workload | Family | LinearQuery) -> Workload:
        return Workload([self, other])

    def __radd__(self, other: Family | LinearQuery) -> Workload:
        return Workload([other, self])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self.families == other.families and np.array_equal(self._places(), other._places())

    def __hash__(self) -> int:
        return hash(self.families)

    def __repr__(self) -> str:
        return f"Workload({len(self)} queries, {len(self.cliques)} cliques)"

    def _places(self) -> Array:
        """Return the place of every answer, family by family, among all answers."""
        return np.arange(len(self)) if self._order is None else self._order

    @property
    def cliques(self) -> tuple[tuple[int, ...], ...]:
        """The axes of the families, each once: the marginals that answer it."""
        return tuple(dict.fromkeys(family.axes for family in self.families))

    @property
    def maximal_cliques(self) -> tuple[tuple[int, ...], ...]:
        """The cliques that no other one includes: the fewest marginals that answer it."""
        kept: list[set[int]] = []
        for clique in sorted(map(set, self.cliques), key=len, reverse=True):
            if not any(clique <= other for other in kept):
                kept.append(clique)
        return tuple(clique for clique in self.cliques if set(clique) in kept)

    def query(self, number: int) -> LinearQuery:
        """Return one of the queries."""
        if not 0 <= number < len(self):
            raise InvalidParameter(f"a query of this workload has a number from 0 to {len(self) - 1}.")
        place = number if self._inverse is None else int(self._inverse[number])
        family = bisect_right(self._starts, place) - 1
        return self.families[family].query(place - self._starts[family])

    def answers(self, get_marginal: GetMarginal) -> Array:
        """Return all answers in order, from the marginals that `get_marginal(axes)` returns."""
        return self._ordered([family.answers(get_marginal(family.axes)) for family in self.families])

    def counts(self, get_marginal: GetMarginal) -> Array:
        """Return `scale` times all answers in order, exactly, from marginals of integers."""
        found = (family.counts(get_marginal(family.axes)) for family in self.families)
        scaled = zip(found, self.families, strict=True)
        return self._ordered([in_steps(counts, self.scale // family.scale) for counts, family in scaled])

    def _ordered(self, found: list[Array]) -> Array:
        together = np.concatenate(found)
        if self._order is None:
            return together
        answers = np.empty_like(together)
        answers[self._order] = together
        return answers

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Return how far one row moves the vector of all answers, at most.

        The bound is attained where one row moves every family the most that it can be moved: for marginals, prefixes
        and ranges of different columns, among others.
        """
        l1, squares, most = Fraction(0), Fraction(0), Fraction(1, self.scale)
        for family in self.families:
            one, two, greatest = family.norms(neighbours)
            l1, squares = l1 + Fraction(one, family.scale), squares + Fraction(two, family.scale**2)
            most = max(most, Fraction(greatest, family.scale))
        l1, squares = max(l1, most), max(squares, most**2)
        return Sensitivity(l1=l1, l2=min(l1, sqrt_up(squares)), linf=most, neighbours=neighbours)


def _in_order(parts: list[Family | LinearQuery | Workload]) -> tuple[list[Family], None] | None:
    """Return the families of parts whose queries come family by family; no place is written down for any of them."""
    found: list[Family] = []
    for part in parts:
        match part:
            case Family():
                found.append(part)
            case Workload(_order=None):
                found.extend(part.families)
            case _:
                return None
    return found, None


def _ordered(parts: list[Family | LinearQuery | Workload]) -> tuple[list[Family], Array | None]:
    """Return the families of any parts, and the places of their answers if they are not family by family."""
    families: list[Family] = []
    orders: list[Array] = []
    start = 0
    for is_query, run in groupby(parts, lambda part: isinstance(part, LinearQuery)):
        for family, order in _by_axes(cast("Iterable[LinearQuery]", run)) if is_query else _parts(run):
            families.extend(family)
            orders.append(start + order)
        start = sum(family.size for family in families)
    together = np.concatenate(orders)
    return families, None if bool((np.diff(together) > 0).all()) else together


def _by_axes(queries: Iterable[LinearQuery]) -> list[tuple[list[Family], Array]]:
    groups: dict[tuple[int, ...], list[tuple[int, LinearQuery]]] = {}
    for place, query in enumerate(queries):
        groups.setdefault(query.axes, []).append((place, query))
    return [([Listed(tuple(q for _, q in group))], np.array([p for p, _ in group])) for group in groups.values()]


def _parts(parts: Iterable[object]) -> list[tuple[list[Family], Array]]:
    found: list[tuple[list[Family], Array]] = []
    start = 0
    for part in parts:
        if isinstance(part, Workload):
            found.append((list(part.families), start + part._places()))
            start += len(part)
        elif isinstance(part, Family):
            found.append(([part], start + np.arange(part.size)))
            start += part.size
        else:
            raise InvalidParameter(f"a workload is made of families and queries, not of a {type(part).__name__}.")
    return found


def marginal(universe: Universe, *columns: str) -> Marginal:
    """Return the queries that count every cell of the marginal over some columns."""
    axes = {axis_of(universe, column) for column in columns}
    if len(axes) < len(columns):
        raise InvalidParameter("a marginal names each column once.")
    return Marginal(universe.shape, tuple(sorted(axes)))


def all_marginals(universe: Universe, *, order: int) -> Workload:
    """Return the queries that count every cell of every marginal over `order` columns."""
    if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= len(universe.shape):
        raise InvalidParameter(f"order is a number of columns, from 1 to {len(universe.shape)}; got {order!r}.")
    return Workload(Marginal(universe.shape, axes) for axes in combinations(range(len(universe.shape)), order))


def prefixes(universe: Universe, column: str) -> Prefixes:
    """Return the queries that count the rows up to every value of a column, in its order."""
    return Prefixes(universe.shape, (axis_of(universe, column),))


def ranges(universe: Universe, *columns: str) -> Ranges:
    """Return the queries that count the rows between any two values of a column, or of each of two columns."""
    axes = {axis_of(universe, column) for column in columns}
    if not len(axes) == len(columns) <= 2 or not columns:
        raise InvalidParameter("ranges are over one column, or over two different ones.")
    return Ranges(universe.shape, tuple(sorted(axes)))
