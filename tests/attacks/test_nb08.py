"""NB-08: joins: a public table multiplies rows by its fan-out, a private one by its own bound; the rest is refused."""

from __future__ import annotations

from itertools import count

import pytest

from discreet import dp
from discreet.engine.plan import Join, Rows, Total
from tests.broken import engines as broken
from tests.recorder import declared, first_violation, oracle, pairs, record
from tests.sizes import sized
from tests.small_cases import WARDS, age_of, by_ward, case, row, schema

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
AGE = dp.Integer(-10, 40)


def joined_pairs(neighbours: dp.Neighbours, cases: int) -> object:
    """Pairs of cases with a join: random bipartite tables, left and inner, public, private, and both."""
    found = (pair for pair in pairs(count(), neighbours, each=2) if pair[0].plan.relation.joins)
    return (next(found) for _ in range(cases))


@pytest.mark.parametrize("neighbours", dp.Neighbours)
def test_random_joins(neighbours: dp.Neighbours) -> None:
    tried = sized(300, 20_000)
    assert record(joined_pairs(neighbours, tried), neighbours) > tried * 0.9  # type: ignore[arg-type]


@pytest.mark.parametrize("fan", [1, 2, 5])
def test_the_fan_out_is_reached(fan: int) -> None:
    """One row finds `fan` rows of a public table: a count moves by that; and with the twin's declaration it may not."""
    public = schema(AGE, "wards")
    object.__setattr__(public, "public", True)
    here = age_of(AGE)
    from discreet.engine import expression as ex

    on = ((ex.Column(0, "ward", WARDS, ex.Coded(WARDS)), ex.Column(1, "ward", WARDS, ex.Coded(WARDS))),)
    rows = [{"ward": "a", "age": 3, "note": "x"}] * fan
    for kind in ("inner", "left"):
        join = Join(1, kind, False, on, fan)  # type: ignore[arg-type]
        question = case(
            [row(1)], Rows(), Total(here), keys=(by_ward(),), schemas=(public,), joins=(join,), more=(rows,)
        )
        query = question.query(ADD)
        assert query is not None
        assert oracle(query, question.rows).measures[0] == {(0,): fan}
        assert query.measures[0].sensitivity.l1 == fan
        assert first_violation(question, ([], rows), ADD, oracle, declared) is None
        twin = first_violation(question, ([], rows), ADD, oracle, broken.fan_out_ignored)
        assert (twin is not None) == (fan > 1)


def test_private_tables_multiply() -> None:
    """3 visits and 4 drugs of one unit are 12 rows, and R is 2 * 2: each has the weight 1 / 3."""
    drugs = schema(AGE, "drugs", rows_per_unit=2)
    join = Join(1, "inner", True, (), 1)
    more = ([row(1)] * 4,)
    question = case(
        [row(1)] * 3, Rows(), keys=(by_ward(),), schemas=(drugs,), joins=(join,), more=more, rows_per_unit=2
    )
    query = question.query(ADD)
    assert query is not None
    assert query.bounds.rows == 4
    scale = query.measures[0].scale
    assert oracle(query, question.rows).measures[0] == {(0,): 12 * (scale * 4 // 12)}
    assert first_violation(question, ([], []), ADD, oracle, declared) is None
    assert first_violation(question, ([], more[0]), ADD, oracle, declared) is None  # a unit may have rows in one alone
