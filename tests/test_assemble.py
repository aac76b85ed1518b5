"""From the rows of an engine to exact values: which cells there are is known before, or closed."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.assemble import KeyedGroups, assembled, total, whole
from discreet.engine.backend import PublicGroups
from discreet.engine.plan import Histogram, Rows
from discreet.engine.relation import Statement
from tests.asking import asked, bounded, column

MOST = 2**62
TABLE = dc.Table(
    pa.table({"a": [5], "b": [True], "t": ["x"]}),
    columns={"a": dc.Integer(5, 7), "b": dc.Boolean(), "t": dc.Text()},
    name="t",
)
ADDED = Statement("", (0,), {}, {})


def arrays(groups: object) -> list[np.ndarray]:
    assert isinstance(groups, PublicGroups)
    return [np.asarray(exact._value) for exact in groups.measures]


def test_every_declared_cell_is_there_and_no_other() -> None:
    """which cells there are is known before any row is read, or closed"""
    query = bounded(TABLE, "a", "b")
    table = {
        "g0": np.ma.masked_array([7, 5, 4, 8, 6], [False, False, False, False, True]),
        "g1": np.array([0, 1, 1, 0, 1]),
        "m0": np.array([3, 2, 99, 99, 99]),
    }
    (found,) = arrays(assembled(query, [(ADDED, table)]))
    assert found.tolist() == [[0, 2], [0, 0], [3, 0]]
    empty = {name: values[:0] for name, values in table.items()}
    assert arrays(assembled(query, [(ADDED, empty)]))[0].tolist() == [[0, 0]] * 3


def test_a_histogram_has_one_more_axis() -> None:
    query = bounded(TABLE, "a", measures=(Histogram(column(TABLE, "a"), dp.Integer(0, 3)),))
    statement = Statement("", (0,), {}, {}, bins=4)
    table = {"g0": np.array([6, 6]), "bin": np.array([3, 0]), "m0": np.array([1, 2])}
    (found,) = arrays(assembled(query, [(statement, table)]))
    assert found.tolist() == [[0] * 4, [2, 0, 0, 1], [0] * 4]


def test_totals_in_two_parts_and_beyond_62_bits() -> None:
    """a total beyond +-2^62 counts as that"""
    parts = {"m0_high": np.array([2**40, -(2**40), 1], object), "m0_low": np.array([0, 0, 5], object)}
    assert total(parts, "m0").tolist() == [MOST, -MOST, 2**31 + 5]
    assert total({"m0": np.array([Decimal(2**70), Decimal(-7), None], object)}, "m0").tolist() == [MOST, -7, 0]
    assert whole(np.ma.masked_array([2**63 - 1, 1], [False, True])).tolist() == [MOST, 0]
    assert whole(np.array([2**64 - 1], np.uint64)).tolist() == [MOST]


def keyed() -> KeyedGroups:
    query = bounded(TABLE, "t", measures=(Rows(), Histogram(column(TABLE, "a"), dp.Integer(0, 1))))
    named = {"g0": np.array(["x", "y", None], object), "m0": np.array([4, 5, 6]), "units": np.array([4, 5, 6])}
    bins = {"g0": np.array(["y"], object), "bin": np.array([1]), "m1": np.array([5])}
    groups = assembled(query, [(ADDED, named), (Statement("", (1,), {}, {}, bins=2), bins)])
    assert isinstance(groups, KeyedGroups)
    return groups


def test_private_groups_are_selected_by_keys_that_need_not_be_there() -> None:
    """a key that was not released can be selected like any other text, and its values are as closed"""
    rows, bins = keyed().select(["y", "nobody", "x"])
    assert np.asarray(rows._value).tolist() == [5, 0, 4]
    assert np.asarray(bins._value).tolist() == [[0, 5], [0, 0], [0, 0]]
    assert [np.asarray(exact._value).tolist() for exact in keyed().select([])] == [[], []]


def test_private_groups_are_closed() -> None:
    """nothing but `open` of a mechanism lets a key or a value out"""
    groups = keyed()
    assert repr(groups) == str(groups) == f"{groups}" == "KeyedGroups(unit='one row of t')"
    assert dir(groups) == ["keys", "select"]
    for look in (len, list, bool, hash, pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            look(groups)  # type: ignore[operator]
    with pytest.raises(TypeError):
        groups.keys = None  # type: ignore[assignment]


def test_a_public_key_beside_a_private_one_is_its_place() -> None:
    query = bounded(TABLE, "a", "t")
    table = {
        "g0": np.array([6, 9]),
        "g1": np.array(["x", "x"], object),
        "m0": np.array([1, 1]),
        "units": np.array([1, 1]),
    }
    groups = assembled(query, [(ADDED, table)])
    assert isinstance(groups, KeyedGroups)
    (found,) = groups.select([(1, "x"), (4, "x")])
    assert np.asarray(found._value).tolist() == [1, 0]


def test_counts_by_codes_are_those_of_groups() -> None:
    """A histogram of many cells is counted from codes, one of few by GROUP BY."""
    rows = pa.table({"a": np.arange(5_000) % 300, "b": np.arange(5_000) % 7})
    table = dc.Table(rows, columns={"a": dc.Integer(0, 399), "b": dc.Integer(1, 7)}, name="t")
    few = bounded(table, "b", measures=(Histogram(column(table, "a"), dp.Integer(0, 299)),))
    many = bounded(table, "b", measures=(Histogram(column(table, "a"), dp.Integer(0, 9_999)),))
    assert asked(many)[0][:, :300].tolist() == asked(few)[0].tolist()
    assert asked(many)[0].sum() == np.count_nonzero((np.arange(5_000) % 7) > 0)
