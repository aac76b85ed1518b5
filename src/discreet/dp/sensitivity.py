"""How far one unit can move an answer: the only thing that turns a loss into an amount of noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.neighbours import Neighbours
from discreet.dp.rational import Number, positive, positive_integer, rational, sqrt_up
from discreet.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that an answer can move, in three norms, between two tables related by `neighbours`.

    Guarantee: a mechanism calibrated to it keeps its promise exactly when, for every pair of neighbours, the answers
      differ by at most `l1`, `l2`, `linf` in those norms. The caller must ensure that; `discreet.engine` proves it.
      A norm left out is bounded from the others where a norm inequality does so, and unknown otherwise.
    Source: Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity", 2006, Definition 3.

    >>> Sensitivity.marginals(count=4, neighbours=Neighbours.ADD_REMOVE).l2
    Fraction(2, 1)
    """

    l1: Fraction | None
    l2: Fraction
    linf: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        *,
        l1: Number | None = None,
        l2: Number | None = None,
        linf: Number | None = None,
        neighbours: Neighbours,
    ) -> None:
        if not isinstance(neighbours, Neighbours):
            raise InvalidParameter("neighbours is dp.Neighbours.ADD_REMOVE or dp.Neighbours.REPLACE.")
        one = None if l1 is None else positive(l1, "l1")
        two = one if l2 is None else positive(l2, "l2")
        if two is None:
            raise InvalidParameter("a Sensitivity needs l1= or l2=; linf alone bounds neither.")
        most = two if linf is None else positive(linf, "linf")
        if one is not None and two > one:
            raise InvalidParameter(f"l2 is never above l1; got l1={one}, l2={two}.")
        if most > two:
            raise InvalidParameter(f"linf is never above l2; got l2={two}, linf={most}.")
        for name, value in (("l1", one), ("l2", two), ("linf", most), ("neighbours", neighbours)):
            object.__setattr__(self, name, value)

    @classmethod
    def counting(cls, *, neighbours: Neighbours, queries: int = 1) -> Sensitivity:
        """Return that of a vector of counting queries with weights in [0, 1]: each moves by at most 1."""
        count = positive_integer(queries, "queries")
        return cls(l1=count, l2=sqrt_up(Fraction(count)), linf=1, neighbours=neighbours)

    @classmethod
    def histogram(cls, *, neighbours: Neighbours) -> Sensitivity:
        """Return that of counts in disjoint cells, one row per unit: 1 if a unit comes or goes, 2 if it moves."""
        return cls.marginals(count=1, neighbours=neighbours)

    @classmethod
    def marginals(cls, *, count: int, neighbours: Neighbours) -> Sensitivity:
        """Return that of `count` whole marginals of a table with one row per unit."""
        cells = positive_integer(count, "count") * (1 if neighbours is Neighbours.ADD_REMOVE else 2)
        return cls(l1=cells, l2=sqrt_up(Fraction(cells)), linf=1, neighbours=neighbours)

    @classmethod
    def sums(cls, *, lower: Number, upper: Number, groups: int = 1, neighbours: Neighbours) -> Sensitivity:
        """Return that of sums over `groups` disjoint groups, one row per unit, values clamped to [lower, upper].

        A unit outside every group adds nothing, so zero always counts as a possible contribution.
        """
        low, high = rational(lower, "lower"), rational(upper, "upper")
        if low > high or low == high == 0:
            raise InvalidParameter(f"lower is at most upper, and one of them is not 0; got [{low}, {high}].")
        low, high, several = min(low, Fraction(0)), max(high, Fraction(0)), positive_integer(groups, "groups") > 1
        most = max(-low, high)
        if neighbours is Neighbours.ADD_REMOVE:
            return cls(l1=most, l2=most, linf=most, neighbours=neighbours)
        spread = high - low  # one unit changes within a group; or leaves one group for another
        if not several:
            return cls(l1=spread, l2=spread, linf=spread, neighbours=neighbours)
        l2 = max(spread, sqrt_up(2 * most * most))
        return cls(l1=2 * most, l2=min(l2, 2 * most), linf=spread, neighbours=neighbours)
