"""CO-03: parallel composition where it does not hold: groups and filters that share people."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Rows
from tests.asking import ADD, asked, bound, plan

WARDS = ("a", "b", "c", "d")
WHO = [n for n in range(6) for _ in range(8)]
ROWS = pa.table({"who": WHO, "ward": [WARDS[(n + n // 8) % 4] for n in range(len(WHO))]})
Claim = Callable[[BoundedQuery], Fraction]


def table(rows: pa.Table) -> dc.Table:
    return dc.Table(rows, columns={"ward": dc.Category(list(WARDS))}, name="t", unit="who", rows_per_unit=8)


def claimed(query: BoundedQuery) -> Fraction:
    [measure] = query.measures
    assert measure.sensitivity.l1 is not None
    return measure.sensitivity.l1


def as_if_disjoint(query: BoundedQuery) -> Fraction:
    """The twin: the greatest of the groups, as if nobody were in two of them."""
    return claimed(query) / min(query.bounds.groups, query.cells)


def check_groups(claim: Claim, *, groups: int | None) -> None:
    """Take each person out: all groups together move by no more than is claimed, in every form."""
    for victim in sorted(set(WHO)):
        without = ROWS.filter(pa.array([who != victim for who in WHO]))
        query = bound(plan(table(ROWS), ["ward"], (Rows(),)), neighbours=ADD, groups_per_unit=groups)
        other = bound(plan(table(without), ["ward"], (Rows(),)), neighbours=ADD, groups_per_unit=groups)
        [one], [two] = asked(query), asked(other)
        assert int(np.abs(one - two).sum()) <= claim(query)


@pytest.mark.parametrize("groups", [None, 1, 2, 3, 4])
def test_one_person_in_many_groups_moves_all_of_them(groups: int | None) -> None:
    check_groups(claimed, groups=groups)


def test_a_claim_that_groups_are_disjoint_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_groups(as_if_disjoint, groups=4)


def test_filters_add_up_whether_they_overlap_or_not() -> None:
    """Nothing is charged as the greatest of several questions: not even filters that share no row."""
    session = dc.Session(table(ROWS), budget=dp.Budget(epsilon=1), ledger=dc.memory_ledger())
    for number, where in enumerate(("ward = 'a'", "ward = 'b'", "ward IN ('a', 'b')", "ward <> 'a'"), start=1):
        session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {where}", epsilon="0.1")
        assert session.spent == Fraction(number, 10)
