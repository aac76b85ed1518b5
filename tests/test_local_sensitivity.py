"""`local_sensitivity`: LS^(k) of every statistic against all tables of a small domain, for both relations."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet import dp
from discreet.dp import Neighbours
from discreet.errors import InvalidParameter
from tests.broken import sensitivities as broken
from tests.sensitivities import (
    NOT_EXACT,
    STATISTICS,
    TOP,
    Table,
    Truth,
    call,
    check_bound,
    check_distance,
    check_exact,
)
from tests.sizes import sized

F = Fraction
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ROWS = sized(4, 6)


@cache
def truth(name: str, relation: Neighbours) -> Truth:
    return Truth.of(STATISTICS[name], relation, ROWS)


@cache
def ours(name: str, table: Table, relation: Neighbours) -> dp.local_sensitivity.LocalSensitivity:
    function, arguments = call(name)
    return getattr(dp.local_sensitivity, function)(
        list(table), lower=0, upper=TOP, step=1, neighbours=relation, **arguments
    )


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("name", STATISTICS)
def test_every_table_of_a_small_domain(name: str, relation: Neighbours) -> None:
    """`at_distance(k)` is at least the greatest local sensitivity of a table within k changes, and equal to it where
    the function that made it says so; `distance(proposal=)` moves by at most 1 between neighbours and is above 0 only
    where the local sensitivity is at most the proposal.
    """
    known = truth(name, relation)
    for table in known.local:
        assert ours(name, table, relation).value == known.value(table)
    check_bound(lambda table, k: ours(name, table, relation).at_distance(k), known)
    if relation is REPLACE or name not in NOT_EXACT:
        check_exact(lambda table, k: ours(name, table, relation).at_distance(k), known)
    for proposal in (F(1, 2), F(1), F(2)):
        found = {table: ours(name, table, relation).distance(proposal=proposal) for table in known.local}
        check_distance(found, known, proposal)


def test_the_bounds_that_are_not_exact_are_twice_as_great_at_most_where_the_page_says_so() -> None:
    """The interquartile range under ADD_REMOVE, while two rows are left; the trimmed mean of the table itself."""
    known = truth("interquartile_range", ADD_REMOVE)
    for table, local in known.local.items():
        for k, exact in enumerate(local):
            if k < len(table) - 1:
                assert ours("interquartile_range", table, ADD_REMOVE).at_distance(k) <= 2 * exact
    for name in STATISTICS:
        if name.startswith("trimmed_mean"):
            for table, local in truth(name, ADD_REMOVE).local.items():
                assert ours(name, table, ADD_REMOVE).at_distance(0) == local[0]


class TestBrokenTwins:
    def test_a_formula_belongs_to_one_relation(self) -> None:
        for q, name in ((F(1, 2), "median"), (F(1, 4), "quantile 1/4")):
            check_exact(broken.of_replace(q), self.of_some_rows(truth(name, REPLACE)))
            check_bound(broken.of_replace(q), truth(name, ADD_REMOVE))  # safe there, and not the local sensitivity
            with pytest.raises(AssertionError):
                check_exact(broken.of_replace(q), truth(name, ADD_REMOVE))
        check_exact(broken.of_add_remove, truth("median", ADD_REMOVE))
        with pytest.raises(AssertionError):
            check_bound(broken.of_add_remove, truth("median", REPLACE))

    @staticmethod
    def of_some_rows(known: Truth) -> Truth:
        """The paper's tables have rows."""
        return Truth(known.value, known.relation, {t: local for t, local in known.local.items() if t})

    def test_one_change_too_few(self) -> None:
        with pytest.raises(AssertionError):
            check_bound(broken.one_less(broken.of_add_remove), truth("median", ADD_REMOVE))

    def test_the_distance_of_the_notes_is_not_stable(self) -> None:
        rejected = 0
        for name in ("median", "trimmed_mean 0"):
            for relation in (ADD_REMOVE, REPLACE):
                for proposal in (F(1, 2), F(1), F(2)):
                    known = truth(name, relation)
                    try:
                        distance = broken.to_another_value(known.value, relation, proposal)
                        check_distance({table: distance(table) for table in known.local}, known, proposal)
                    except AssertionError:
                        rejected += 1
        assert rejected


class TestReading:
    def test_values_are_clamped_and_snapped_to_the_public_grid(self) -> None:
        grid = {"lower": 0, "upper": 10, "step": F(1, 2), "neighbours": REPLACE}
        found = dp.local_sensitivity.median(np.array([-5.0, 3.2, 1e300]), **grid)
        assert found.value == 3
        assert found.at_distance(0) == 7
        assert dp.local_sensitivity.maximum([2**70, -(2**70)], **grid).value == 10
        assert dp.local_sensitivity.minimum([], **grid).value == 0

    def test_a_mean_of_many_is_a_whole_sum(self) -> None:
        rows = np.full(sized(10_000, 3_000_000), 2.0**40 - 1)
        found = dp.local_sensitivity.trimmed_mean(rows, trim=0, lower=0, upper=2**40, step=1, neighbours=REPLACE)
        assert found.value == 2**40 - 1

    def test_nothing_is_shown(self) -> None:
        found = dp.local_sensitivity.median([31, 33], lower=0, upper=100, neighbours=ADD_REMOVE)
        assert repr(found) == str(found) == "LocalSensitivity(neighbours=Neighbours.ADD_REMOVE)"
        for store in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="private"):
                store(found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lower": 5, "upper": 5}, "lower is below upper"),
        ({"lower": float("nan")}, "finite"),
        ({"upper": float("inf")}, "finite"),
        ({"step": 0}, "above 0"),
        ({"step": 11}, "divides the range"),
        ({"step": 1e-14}, "divides the range"),
        ({"lower": "1e350", "upper": "2e350"}, "range of a float"),
        ({"q": 1.5}, "lies in"),
        ({"q": -0.1}, "lies in"),
        ({"q": "0.12345678901"}, "nine digits"),
        ({"neighbours": "replace"}, "neighbours"),
        ({"data": [1.0, float("nan")]}, "NaN"),
        ({"data": [True]}, "integers or real"),
    ],
)
def test_refusals(changed: dict[str, object], message: str) -> None:
    right = {"data": [1.0], "q": 0.5, "lower": 0, "upper": 10, "neighbours": REPLACE}
    with pytest.raises(InvalidParameter, match=message):
        dp.local_sensitivity.quantile(**{**right, **changed})  # type: ignore[arg-type]


def test_more_refusals() -> None:
    found = dp.local_sensitivity.median([1.0], lower=0, upper=10, neighbours=REPLACE)
    for k in (-1, 0.5, float("nan")):
        with pytest.raises(InvalidParameter):
            found.at_distance(k)  # type: ignore[arg-type]
    for proposal in (0, -1, 10, 11, float("inf")):
        with pytest.raises(InvalidParameter):
            found.distance(proposal=proposal)
    for trim in (-0.1, 0.5, 1):
        with pytest.raises(InvalidParameter, match="trim"):
            dp.local_sensitivity.trimmed_mean([1.0], trim=trim, lower=0, upper=1, neighbours=REPLACE)
