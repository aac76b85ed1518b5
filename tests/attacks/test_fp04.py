"""FP-04: the sum of floats near 2^50: rounding moves it by more than any row can (Casacuberta et al. 2022)."""

from __future__ import annotations

from itertools import accumulate

import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Total
from tests.plans import Case, Rows_
from tests.recorder import declared, first_violation, oracle
from tests.reference import Found
from tests.running import Running
from tests.sizes import sized
from tests.small_cases import age_of, case, row

ADD = dp.Neighbours.ADD_REMOVE
NEAR = dp.Real(2**50, 2**50 + 200, step=1)
VALUES = [float(2**50 + 129)] * 1_500  # near 2^60, where the last ones are added, a float is a multiple of 256


def question() -> Case:
    return case([row(age=value) for value in VALUES], Total(age_of(NEAR)), age=NEAR)


def of_floats(query: BoundedQuery, rows: Rows_) -> Found:
    """The twin: one float after another, in the order of the rows."""
    return Found(({(): int(list(accumulate(one["age"] for one in rows[0]))[-1])},), {})


def test_no_row_moves_the_sum_further_than_declared(running: Running) -> None:
    """1,500 rows of 2^50 + 129, one of them gone: l1 is 2^50 + 200, and no more moves."""
    asked = question()
    for gone in (0, 500, 1_499)[: sized(1 if running.place.name == "spark" else 2, 3)]:
        assert first_violation(asked, asked.without(gone), ADD, running, declared) is None
    assert oracle(asked.query(ADD), asked.rows).measures[0][()] == sum(map(int, VALUES))  # type: ignore[arg-type]


def test_floats_move_further() -> None:
    """Each of the last rows is rounded up to 2^50 + 256."""
    asked = question()
    found = first_violation(asked, asked.without(0), ADD, of_floats, declared)
    assert found is not None
    assert (found.realised, found.declared) == (2**50 + 256, 2**50 + 200)


@pytest.mark.parametrize("stored", [pa.float64(), pa.decimal128(20, 2)])
def test_how_a_number_is_stored_changes_nothing(stored: pa.DataType) -> None:
    asked = question()
    query = asked.query(ADD)
    assert query is not None
    exact = [pa.scalar(value, pa.float64()).cast(stored).as_py() for value in VALUES]
    assert oracle(query, ([row(age=value) for value in exact],)) == oracle(query, asked.rows)
