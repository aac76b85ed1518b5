"""`sensitivity`: what one unit can move, found by listing every pair of small neighbouring tables."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Protocol

import pytest

from discreet import dp
from discreet.dp.neighbours import Neighbours
from discreet.errors import InvalidParameter
from tests.broken import accounting as broken

Vector = tuple[Fraction, ...]
BOTH = list(Neighbours)


class Declares(Protocol):
    l1: Fraction | None
    l2: Fraction
    linf: Fraction


def neighbouring(
    rows: Iterable[Vector], neighbours: Neighbours, most: int = 2
) -> Iterator[tuple[list[Vector], list[Vector]]]:
    """Every pair of neighbouring tables with at most `most` rows, a row being what it adds to the answer."""
    kinds = list(rows)
    for count in range(most + 1):
        for table in itertools.product(kinds, repeat=count):
            for row in kinds:
                if neighbours is Neighbours.ADD_REMOVE:
                    yield [*table], [*table, row]
                elif table:
                    yield [*table], [*table[:-1], row]


def check_recorder(declared: Declares, rows: Iterable[Vector], neighbours: Neighbours) -> None:
    """No pair of neighbours is further apart than declared, and some pair is that far apart in every norm."""
    kinds, found = list(rows), [Fraction(0)] * 3
    width = range(len(kinds[0]))
    for one, two in neighbouring(kinds, neighbours):
        moves = [abs(sum((row[i] for row in one), Fraction(0)) - sum(row[i] for row in two)) for i in width]
        found = [max(a, b) for a, b in zip(found, (sum(moves), sum(m * m for m in moves), max(moves)), strict=True)]
    assert declared.l1 is not None
    assert found[0] <= declared.l1
    assert found[1] <= declared.l2**2
    assert found[2] <= declared.linf
    assert declared.l1 == found[0]
    assert declared.l2**2 <= found[1] * (1 + Fraction(1, 2**78)), "the root is rounded up in its 80th bit"
    assert declared.linf == found[2]


def contributions(lower: Fraction, upper: Fraction, groups: int) -> set[Vector]:
    """What a row may add to sums over groups: a clamped value in one of them, or nothing if it is in none."""
    values = {lower, upper, (lower + upper) / 2}
    rows = {
        tuple(value if g == place else Fraction(0) for g in range(groups))
        for value in values
        for place in range(groups)
    }
    return rows | {(Fraction(0),) * groups}


BOUNDS = [(0, 10), (-10, 5), (5, 5), (-5, -5), (-3, -1), (Fraction(-1, 2), Fraction(1, 3)), (0, 1), (-7, 7), (-7, 0)]


def check_sums(sums: Callable[..., Declares], bounds: Iterable[tuple[int | Fraction, int | Fraction]] = BOUNDS) -> None:
    for (lower, upper), groups, neighbours in itertools.product(bounds, (1, 2, 3), BOTH):
        low, high = Fraction(lower), Fraction(upper)
        declared = sums(lower=low, upper=high, groups=groups, neighbours=neighbours)
        check_recorder(declared, contributions(low, high, groups), neighbours)


def test_sums_move_by_no_more_and_no_less_than_declared() -> None:
    """Guarantee: a mechanism calibrated to it keeps its promise exactly when, for every pair of neighbours, the answers
    differ by at most `l1`, `l2`, `linf` in those norms. The caller must ensure that; `discreet.engine` proves it.
    A norm left out is bounded from the others where a norm inequality does so, and unknown otherwise.

    (`Sensitivity`.) Signed sums too, under both relations.
    """
    check_sums(dp.Sensitivity.sums)


TWINS = [broken.sums_with_one_bound, broken.sums_of_truncated_width, broken.sums_as_if_units_only_came_and_went]


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_wrong_sums_are_seen(twin: Callable[..., Declares]) -> None:
    """NB-10: clipped by one bound. NB-11: cut to an integer. NB-01: a replacement taken for an addition."""
    with pytest.raises(AssertionError):
        check_sums(twin)


def check_marginals(marginals: Callable[..., Declares]) -> None:
    """A row falls into one cell of each marginal; each is one column of two values, so all cells differ."""
    for count, neighbours in itertools.product((1, 2, 3), BOTH):
        cells = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]
        rows = {tuple(itertools.chain(*choice)) for choice in itertools.product(cells, repeat=count)}
        check_recorder(marginals(count=count, neighbours=neighbours), rows, neighbours)


def test_marginals() -> None:
    check_marginals(dp.Sensitivity.marginals)
    with pytest.raises(AssertionError):
        check_marginals(broken.marginals_as_if_units_only_came_and_went)


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("queries", [1, 2, 3])
def test_counting_queries(queries: int, neighbours: Neighbours) -> None:
    rows = set(itertools.product((Fraction(0), Fraction(1, 2), Fraction(1)), repeat=queries))
    check_recorder(dp.Sensitivity.counting(queries=queries, neighbours=neighbours), rows, neighbours)


@pytest.mark.parametrize("neighbours", BOTH)
def test_a_histogram(neighbours: Neighbours) -> None:
    cells = {tuple(Fraction(int(i == place)) for i in range(3)) for place in range(3)}
    check_recorder(dp.Sensitivity.histogram(neighbours=neighbours), cells, neighbours)


def test_the_table_of_the_conventions() -> None:
    """C3: a counting query 1 / 1 and 1 / 1, a histogram 1 / 1 and 2 / sqrt 2, m marginals m / sqrt m, 2m / sqrt 2m."""
    add, replace = BOTH
    for made, l1, square in (
        (dp.Sensitivity.counting(neighbours=add), 1, 1),
        (dp.Sensitivity.counting(neighbours=replace), 1, 1),
        (dp.Sensitivity.histogram(neighbours=add), 1, 1),
        (dp.Sensitivity.histogram(neighbours=replace), 2, 2),
        (dp.Sensitivity.marginals(count=9, neighbours=add), 9, 9),
        (dp.Sensitivity.marginals(count=9, neighbours=replace), 18, 18),
    ):
        assert made.l1 == l1
        assert square <= made.l2**2 <= square * (1 + Fraction(1, 2**78))
        assert (made.l2 == math.isqrt(square)) is (math.isqrt(square) ** 2 == square)


def test_a_norm_left_out_is_bounded_by_the_others_or_unknown() -> None:
    add = Neighbours.ADD_REMOVE
    one = dp.Sensitivity(l1=3, neighbours=add)
    assert (one.l1, one.l2, one.linf) == (3, 3, 3)
    two = dp.Sensitivity(l2=3, neighbours=add)
    assert (two.l1, two.l2, two.linf) == (None, 3, 3)
    assert dp.Sensitivity(l1=4, l2=2, linf=1, neighbours=add).linf == 1
    with pytest.raises(InvalidParameter, match="needs l1= or l2="):
        dp.Sensitivity(linf=1, neighbours=add)
    with pytest.raises(InvalidParameter, match="l1 sensitivity"):
        dp.Laplace(sensitivity=two, epsilon=1)


@pytest.mark.parametrize("norms", [{"l1": 1, "l2": 2}, {"l2": 1, "linf": 2}, {"l1": 1, "linf": "1.1"}, {}])
def test_norms_that_contradict_each_other_are_refused(norms: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        dp.Sensitivity(**norms, neighbours=Neighbours.REPLACE)


@pytest.mark.parametrize("bad", [0, -1, -5e-324, math.nan, math.inf, "x", True, [1]])
def test_a_norm_is_above_zero(bad: object) -> None:
    for norms in ({"l1": bad}, {"l2": bad}, {"l1": 9, "l2": bad}, {"l1": 9, "linf": bad}):
        with pytest.raises(InvalidParameter):
            dp.Sensitivity(**norms, neighbours=Neighbours.REPLACE)


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, math.inf, True, None])
def test_counts_are_whole_and_bounds_are_in_order(bad: object) -> None:
    for make in (
        lambda: dp.Sensitivity.counting(queries=bad, neighbours=Neighbours.REPLACE),
        lambda: dp.Sensitivity.marginals(count=bad, neighbours=Neighbours.REPLACE),
        lambda: dp.Sensitivity.sums(lower=0, upper=1, groups=bad, neighbours=Neighbours.REPLACE),
    ):
        with pytest.raises(InvalidParameter):
            make()
    for lower, upper in ((1, 0), (0, 0), (math.nan, 1), (0, math.inf)):
        with pytest.raises(InvalidParameter):
            dp.Sensitivity.sums(lower=lower, upper=upper, neighbours=Neighbours.REPLACE)


def test_the_relation_is_never_left_out() -> None:
    for make in (
        lambda: dp.Sensitivity(l1=1),
        lambda: dp.Sensitivity.counting(),
        lambda: dp.Sensitivity.histogram(),
        lambda: dp.Sensitivity.marginals(count=1),
        lambda: dp.Sensitivity.sums(lower=0, upper=1),
    ):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(AttributeError):
        dp.Sensitivity(l1=1, neighbours=Neighbours.REPLACE).l1 = Fraction(0)  # type: ignore[misc]
