"""A price is split where it makes the least total error: closed forms against a search, and against an even split."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from discreet import dp
from discreet.engine.bound import bound
from discreet.engine.need import divided, shares, weights_of
from discreet.engine.plan import Distinct, MeanOf, QuantileOf, Released, Units
from discreet.engine.sharing import shared
from tests.asked import plan
from tests.handmade import AGE, AGES, COST, MEAN, ROWS, SPREAD, Total, query, table

ADD = dp.Neighbours.ADD_REMOVE
UNITS = table("p", rows_per_unit=20, groups_per_unit=3, rows_per_group=4)
NEEDS = [(1.0,), (1.0, 1.0), (1.0, 8.0), (1.0, 2.0, 5.0), (3.0, 1.0, 1.0, 1.0), (1.0, 30.0, 300.0)]


def total_error(needs: tuple[float, ...], parts: tuple[Fraction, ...], *, normal: bool) -> float:
    """The criterion: the squares of all errors."""
    power = 1 if normal else 2
    return sum(need**2 / float(part) ** power for need, part in zip(needs, parts, strict=True))


def every_split(parts: int, of: int) -> itertools.chain[tuple[Fraction, ...]]:
    cuts = itertools.combinations(range(1, of), parts - 1)
    pairs = ((0, *cut, of) for cut in cuts)
    return itertools.chain(tuple(Fraction(b - a, of) for a, b in itertools.pairwise(pair)) for pair in pairs)


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("needs", NEEDS)
def test_no_split_has_a_smaller_total_error(needs: tuple[float, ...], normal: bool) -> None:
    """All splits into 60ths, and 24ths of four: none is better by more than the rounding to thousandths."""
    ours = total_error(needs, divided(needs, normal=normal), normal=normal)
    best = min(
        total_error(needs, split, normal=normal) for split in every_split(len(needs), 60 if len(needs) < 4 else 24)
    )
    assert ours <= best * 1.0001


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("needs", [(1.0, 8.0), (1.0, 2.0, 5.0)])
def test_an_even_split_is_seen(needs: tuple[float, ...], normal: bool) -> None:
    """The twin."""
    even = (Fraction(1, len(needs)),) * len(needs)
    assert total_error(needs, even, normal=normal) > 1.1 * total_error(
        needs, divided(needs, normal=normal), normal=normal
    )


@pytest.mark.parametrize("needs", [*NEEDS, (1e-9, 1e9), (1.0,) * 50])
def test_shares_add_up_exactly_and_none_is_nothing(needs: tuple[float, ...]) -> None:
    for normal in (False, True):
        parts = divided(needs, normal=normal)
        assert sum(parts) == 1
        assert min(parts) > 0


MEAN_AND_COUNT = query(*MEAN, outputs=[("a", MeanOf(0, 1, Fraction(50))), ("n", Released(1))])


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("SELECT COUNT(*) AS n FROM visits", [1]),
        ("SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE age > 3", [2, 1]),
        ("SELECT AVG(cost) AS s FROM visits", [2, 1]),
        ("SELECT COUNT(*) AS n, AVG(cost) AS s FROM visits", [2, 1, 1]),
        ("SELECT COUNT(*) AS n, AVG(cost) AS s FROM visits WHERE cost > 1", [2, 1]),
        ("SELECT COUNT(*) AS n, AVG(cost) AS s, AVG(age) AS a FROM visits WHERE cost > 1 AND age > 1", [3, 1, 1]),
        ("SELECT STDDEV(cost) AS s FROM visits", [3, 1, 1]),
        ("SELECT COUNT(*) AS n, COUNT(DISTINCT patient_id) AS u FROM visits", [1, 1]),
    ],
)
def test_a_count_weighs_as_often_as_it_is_used(text: str, weights: list[int]) -> None:
    asked = bound(shared(plan(text)), neighbours=ADD)
    assert weights_of(asked) == weights


def test_other_words_for_the_same_measures_have_the_same_shares() -> None:
    texts = (
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > 1 GROUP BY ward",
        "SELECT ward, AVG(cost) AS c FROM visits WHERE cost > 1 GROUP BY ward HAVING COUNT(*) > 3 ORDER BY c LIMIT 1",
    )
    for normal in (False, True):
        one, two = (shares(bound(shared(plan(text)), neighbours=ADD), normal=normal) for text in texts)
        assert one == two


@pytest.mark.parametrize("normal", [False, True])
def test_measures_of_one_kind_have_even_shares(normal: bool) -> None:
    """A count of rows, of units and a sum are of one size beside what a unit can add to them."""
    asked = query(Units(), ROWS, Total(COST), outputs=[("n", Released(1))], of=UNITS)
    weights = weights_of(asked)
    parts = shares(asked, normal=normal)
    exponent = Fraction(1, 2) if normal else Fraction(1, 3)
    for a, b in itertools.pairwise(zip(weights, parts, strict=True)):
        assert float(a[1] / b[1]) == pytest.approx((a[0] / b[0]) ** float(exponent), rel=0.05)


def test_a_histogram_takes_more_than_a_count() -> None:
    asked = query(AGES, ROWS, outputs=[("m", QuantileOf(0, Fraction(1, 2))), ("n", Released(1))])
    for normal in (False, True):
        tree, count = shares(asked, normal=normal)
        assert tree > 2 * count


def test_one_question_of_many_measures_still_costs_its_price() -> None:
    asked = query(ROWS, *SPREAD, Distinct(AGE), Total(COST), outputs=[("n", Released(0))])
    assert sum(shares(asked, normal=False)) == sum(shares(asked, normal=True)) == 1
    assert math.isclose(float(sum(shares(MEAN_AND_COUNT, normal=True))), 1)
