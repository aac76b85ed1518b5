"""ME-16: a private quantile that breaks on ties, no row or one row, or whose candidates or last bits tell the table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import Neighbours
from tests.broken import quantiles as broken
from tests.quantile_laws import law
from tests.selecting import check_pure
from tests.sensitivities import Table, every, neighbours_of
from tests.sizes import sized

F = Fraction
HALF = F(1, 2)
TOP = 3


def mechanism(relation: Neighbours) -> dp.QuantileMechanism:
    return dp.QuantileMechanism(q=HALF, neighbours=relation, epsilon=1, lower=0, upper=TOP, step=1)


def pairs(relation: Neighbours) -> list[tuple[Table, Table]]:
    return [(t, n) for t in every(5) for n in neighbours_of(t, relation) if t < n]


@pytest.mark.parametrize("relation", list(Neighbours))
def test_candidates_do_not_depend_on_the_table(relation: Neighbours) -> None:
    """Every point has a chance on every table, ties, no row and one row included; not so among the values."""
    rate = mechanism(relation).rate
    check_pure(lambda table: law(table, HALF, rate, TOP), F(1), pairs(relation))
    for twin in (broken.among_the_values, broken.without_lengths):
        with pytest.raises(AssertionError):
            check_pure(twin(HALF, rate, TOP), F(1), pairs(relation))


@pytest.mark.parametrize("rows", [0, 1, 2, 1492, 1500])
def test_no_size_and_no_tie_makes_it_fail(rows: int) -> None:
    for data in (np.full(rows, 2.5), np.arange(rows) / 7, np.full(rows, -1e9)):
        for q in (0, 0.5, 1):
            answer = dp.private_quantile(
                data, q=q, neighbours=Neighbours.ADD_REMOVE, epsilon=5, delta=0, lower=0, upper=100
            )
            assert 0 <= answer <= 100


def finer_than(step: float, released: np.ndarray) -> int:
    """How many of the outputs lie beside the grid."""
    return int(np.count_nonzero(released / step != np.rint(released / step)))


def test_outputs_lie_on_the_public_grid_whatever_the_values() -> None:
    """A uniform float between two values of the table has the last bits of these values."""
    data, n, step = np.array([0.1, 0.2, 0.7]), sized(500, 5000), 2.0**-40
    place = {"neighbours": Neighbours.REPLACE, "epsilon": 1, "delta": 1e-6, "lower": 0, "upper": 1}
    for method in ("exponential", "smooth"):
        released = np.array([dp.private_median(data, method=method, **place) for _ in range(n)])  # type: ignore[arg-type]
        assert finer_than(step, released) == 0
    drawn = np.random.default_rng(1).random(n)
    assert finer_than(step, 0.1 + drawn * (0.2 - 0.1)) > n / 2
