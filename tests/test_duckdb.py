"""DuckDB: the integers of the oracle whatever the rows hold, and an instance that is used by one process only."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.dp import Category, Integer
from discreet.engine.bound import bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.expression import Instant
from discreet.engine.plan import Distinct, Join, Key, Relation
from tests.asking import ADD, Counts, asked, bounded, column, counts, plan, sums
from tests.broken.engines_duckdb import TwicePlaced
from tests.plans import make
from tests.reference import Oracle
from tests.running import opened
from tests.sizes import sized

SEX = Category(["Female", "Male"])


def of(column: object, domain: Any, *, polars: bool = False) -> list[int]:
    frame = pl.DataFrame({"a": column}) if polars else column
    return counts(dc.Table(frame, columns={"a": domain}, name="t"), "a").tolist()  # type: ignore[arg-type, no-any-return]


@pytest.mark.parametrize("part", range(4))
def test_random_questions_have_the_integers_of_the_oracle(part: int) -> None:
    """`run` enforces the bounds of the query, and no value of a row can make it raise."""
    tried = 0
    for seed in range(part * sized(20, 500), (part + 1) * sized(20, 500)):
        case = make(seed)
        query = case.query(ADD)
        if query is None or query.form == "sampled":
            continue
        over = case.over(case.rows)
        engine = DuckDB(over.relation.scans)
        reached = replace(query, plan=over)
        for _ in range(2):  # the second time from what was kept
            found = opened(reached, engine.run(reached))
            engine.settle()
            want = Oracle(query).run(case.rows)
            for measure, ours, theirs in zip(query.measures, found.measures, want.measures, strict=True):
                if query.form == "rows" or not isinstance(measure.measure, Distinct):
                    assert ours == theirs, (seed, measure)
        engine.close()
        tried += 1
    assert tried > sized(10, 300)


class TestCounts:
    def test_the_census_agrees_with_a_count_by_hand(self) -> None:
        table = dc.census()
        rows = pq.read_table(table.source.paths[0]).to_pylist()  # type: ignore[union-attr]
        for keys in ((), ("sex",), ("education_num", "race"), ("age", "income", "workclass")):
            expected = Counter(tuple(row[key] for key in keys) for row in rows)
            found = counts(table, *keys)
            cells = list(product(*(table.columns[key].values for key in keys)))  # type: ignore[union-attr]
            assert found.reshape(-1).tolist() == [expected[cell] for cell in cells]

    def test_zeros_are_included_in_the_order_of_the_domain(self) -> None:
        domain = Category(["z", "b", "a"])
        assert of(pa.table({"a": ["a", "a", "z"]}), domain) == [1, 0, 2]
        assert of(pa.table({"a": pa.array([], pa.string())}), domain) == [0, 0, 0]

    def test_an_empty_table_counts_zero(self) -> None:
        table = dc.Table(pa.table({"a": pa.array([], pa.string())}), columns={"a": SEX}, name="t")
        assert counts(table).tolist() == 0

    def test_texts_are_compared_byte_by_byte(self) -> None:
        """QE-08: '' and NULL, a trailing space and case are different; NULL is in no group."""
        domain = Category(["", "a", "a ", "A", "é", "e\u0301"])
        rows = ["", None, "a", "a ", "A", "A", "é", "e\u0301", " a", "b", "a\0"]
        assert of(pa.table({"a": rows}), domain) == [1, 1, 1, 2, 1, 1]

    def test_a_value_with_quotes_is_a_value(self) -> None:
        domain = Category(["'; DROP TABLE t; --", '"', "$path", "?", "{}", "\\"])
        assert of(pa.table({"a": list(domain.values)}), domain) == [1] * 6

    def test_a_hundred_thousand_values_are_found(self) -> None:
        domain = Category([f"value {i}'" for i in range(100_000)])
        found = of(pa.table({"a": ["value 99999'", "value 7'", "value 7"]}), domain)
        assert (sum(found), found[7], found[99_999]) == (2, 1, 1)
        numbers = Category(list(range(0, 300_000, 3)))
        found = of(pa.table({"a": [3, 4, 299_997]}), numbers)
        assert (sum(found), found[1], found[99_999]) == (2, 1, 1)

    @pytest.mark.parametrize("name", ['a"b', "select", "u0", "c0_0", "g0", "x0", "n", "s", "r", "'", "a b", "é", "$p0"])
    def test_a_column_may_have_any_name(self, name: str, tmp_path: Path) -> None:
        rows = pa.table({name: ["Male", "Male", None]})
        assert counts(dc.Table(rows, columns={name: SEX}, name="t"), name).tolist() == [0, 2]
        pq.write_table(rows, tmp_path / "t.parquet")
        table = dc.Table(tmp_path / "t.parquet", columns={name: SEX}, unit=name, rows_per_unit=9)
        assert counts(table, name).tolist() == [0, 2 * table_scale(table, name)]

    @pytest.mark.parametrize(
        "array",
        [
            pa.array([1, 2, 2, None, 3, -1], pa.int8()),
            pa.array([1, 2, 2, None, 3, 2**64 - 1], pa.uint64()),
            pa.array([1, 2, 2.0, None, 2.5, 3], pa.float64()),
            pa.array([1, 2, 2, math.nan, math.inf, -math.inf], pa.float64()),
            pa.array([1, 2, 2, 1e300, 5e-324, 3], pa.float64()),
            pa.array([1, 2, 2, 2.5, None, None], pa.float32()),
            pa.array([1, 2, 2, None, 3, 99], pa.int64()).dictionary_encode(),
            pa.array([1, 2, 2, None, 3, 99], pa.decimal128(38, 10)),
        ],
        ids=str,
    )
    def test_whole_numbers_of_every_type(self, array: pa.Array) -> None:
        assert of(pa.table({"a": array}), Integer(0, 2)) == [0, 1, 2]
        assert of(pa.table({"a": array}), Category([2, 1, 7])) == [2, 1, 0]

    def test_minus_zero_is_zero(self) -> None:
        assert of(pa.table({"a": [0.0, -0.0]}), Integer(0, 0)) == [2]

    def test_integers_at_the_edge_of_64_bits(self) -> None:
        rows = pa.table({"a": pa.array([-(2**63), 2**63 - 1, 0], pa.int64())})
        assert of(rows, Integer(-1, 1)) == [0, 1, 0]

    def test_a_number_is_read_onto_its_grid(self) -> None:
        """FP-08: what is no number, or outside, is NULL before anything is clamped."""
        values = [math.nan, math.inf, -math.inf, -0.0, 0.24, 0.26, 10.0, 10.01, -1e-300, 5e-324, 1e308, None]
        table = dc.Table(pa.table({"a": values}), columns={"a": dc.Real(0, 10, step="0.5")}, name="t")
        assert sums(table, "a") == (5, 0 + 0 + 1 + 20 + 0)
        step = dc.Table(pa.table({"a": [0.1, 0.35, 0.7]}), columns={"a": dc.Real(0, 1, step="0.1")}, name="t")
        assert sums(step, "a") == (3, 1 + 3 + 7)  # 0.35 / 0.1 is below 3.5 in doubles

    def test_days_and_seconds(self) -> None:
        zurich = dc.Datetime(datetime(2026, 3, 29), datetime(2026, 3, 30), zone="Europe/Zurich", step="1h")
        moments = [datetime(2026, 3, 29, 0, 59, 59, 999_999), datetime(2026, 3, 29, 1), datetime(2026, 3, 28, 22)]
        aware = pa.array(moments, pa.timestamp("us", tz="UTC"))
        table = dc.Table(pa.table({"a": aware}), columns={"a": zurich}, name="t")
        midnight = int((datetime(2026, 3, 29) - datetime(1970, 1, 1)).total_seconds())
        assert sums_of(table) == sorted([midnight + 3600, midnight + 3 * 3600])  # two o'clock was skipped
        days = dc.Date(date(1969, 12, 31), date(1970, 1, 2))
        stamps = pa.array([datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 1), None, datetime(1969, 12, 31)])
        assert of(pa.table({"a": stamps}), days) == [1, 1, 0]
        assert of(pa.table({"a": pa.array([0, 1, 2, -1, 2**30], pa.int32()).cast(pa.date32())}), days) == [1, 1, 1]

    def test_frames_agree(self) -> None:
        values = ["Male", None, "Female", "Male", "other"]
        assert of(pd.DataFrame({"a": values}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": pd.Series(values, dtype=object)}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": pd.Categorical(values)}), SEX) == [1, 2]
        assert of(values, SEX, polars=True) == [1, 2]
        assert of(pl.DataFrame({"a": pl.Series(values, dtype=pl.Categorical)}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": [True, False, True]}), dc.Boolean()) == [1, 2]
        assert of(pd.DataFrame({"a": pd.array([1, None, 1], dtype="Int64")}), Integer(0, 1)) == [0, 2]
        assert of(pd.DataFrame({"a": [None, None]}), SEX) == [0, 0]


def table_scale(table: dc.Table, *keys: str) -> int:
    return bounded(table, *keys).measures[0].scale


def sums_of(table: dc.Table) -> list[int]:
    """Every second that the column `a` is read into."""
    read = column(table, "a")
    assert isinstance(read.kind, Instant)
    codes = range(read.kind.low, read.kind.high + 1, 3600)
    keyed = replace(plan(table), keys=(Key(read, codes, codes),))
    (found,) = asked(bound(keyed, neighbours=ADD))
    return [code for code, n in zip(codes, found.tolist(), strict=True) if n]


def largest_move(rows: pa.Table, ask: Any) -> int:
    """The largest L1 distance between the counts of a table and those of the table without one row."""
    whole = ask(rows)
    smaller = (pa.concat_tables([rows.slice(0, i), rows.slice(i + 1)]) for i in range(rows.num_rows))
    return max(int(np.abs(whole - ask(table)).sum()) for table in smaller)


class TestSensitivity:
    """NB-00: the noise aside, the counts move by no more than the sensitivity that they declare."""

    rows = pa.table(
        {
            "sex": ["Male", "Female", None, "", "x", "Male", "male", "Female "],
            "age": [0.0, 1.5, math.nan, math.inf, -0.0, 2.0, None, 1.0],
        }
    )
    columns: ClassVar = {"sex": SEX, "age": Integer(0, 2)}

    def ask(self, rows: pa.Table) -> Counts:
        return counts(dc.Table(rows, columns=self.columns, name="t"), "sex", "age")

    def test_one_row_moves_one_count_by_one(self) -> None:
        table = dc.Table(self.rows, columns=self.columns, name="t")
        assert bounded(table, "sex", "age").measures[0].sensitivity.l1 == Fraction(1)
        assert largest_move(self.rows, self.ask) == 1

    def test_a_join_that_finds_two_partners_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("discreet.engine.reuse._DIALECT", TwicePlaced())
        assert largest_move(self.rows, self.ask) > 1


class TestInstance:
    def test_a_unit_is_compared_byte_by_byte(self) -> None:
        rows = pa.table({"p": ["a", "A", "a ", None, "a"], "x": [1, 1, 1, 1, 1]})
        table = dc.Table(rows, unit="p", rows_per_unit=1, columns={"x": Integer(0, 1)}, name="t")
        assert counts(table).tolist() == 3 * table_scale(table)  # and the row without a unit is dropped

    def test_units_of_two_types_are_not_compared(self) -> None:
        one = dc.Table(
            pa.table({"p": [7], "x": [1]}), unit="p", rows_per_unit=1, columns={"x": Integer(0, 1)}, name="t"
        )
        other = pa.table({"p": ["007"], "y": [1]})
        second = dc.Table(other, unit="p", rows_per_unit=1, columns={"y": Integer(0, 1)}, name="o")

        with pytest.raises(dc.NeedsDeclaration, match="of different types"):
            DuckDB((one, second)).schema(Relation((one, second), (Join(1, "inner", True, (), 1),)))

    def test_many_threads_ask_one_engine(self) -> None:
        table = dc.census()
        engine, found = DuckDB((table,)), []
        threads = [
            threading.Thread(target=lambda: found.append(asked(bounded(table, "sex"), engine)[0].tolist()))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        engine.close()
        assert found == [counts(table, "sex").tolist()] * 6

    def test_a_child_opens_another_instance(self) -> None:
        table = dc.Table(pa.table({"a": ["Male"]}), columns={"a": SEX}, name="t")
        engine = DuckDB((table,))
        asked(bounded(table, "a"), engine)
        ours = engine._open
        child = os.fork()
        if child == 0:
            status = 1
            try:
                fresh = engine._opened()
                status = 0 if ours is not fresh and asked(bounded(table, "a"), engine)[0].tolist() == [0, 1] else 2
                engine.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ours is not None
        assert Path(ours.instance._folder).is_dir()  # the child removed its own folder alone
        assert asked(bounded(table, "a"), engine)[0].tolist() == [0, 1]
        engine.close()
        assert not Path(ours.instance._folder).exists()

    def test_it_opens_again_after_close_with_another_secret(self) -> None:
        table = dc.census()
        engine = DuckDB((table,))
        first = asked(bounded(table, "sex"), engine)[0].tolist(), engine._secret
        engine.close()
        engine.close()
        second = asked(bounded(table, "sex"), engine)[0].tolist(), engine._secret
        engine.close()
        assert first[0] == second[0]
        assert first[1] != second[1]

    def test_memory_is_limited(self, tmp_path: Path) -> None:
        """A stated limit that holds: what does not fit is spilled, or the question fails, and the engine goes on."""
        rows = pa.table({"p": np.arange(1_000_000) % 500_000, "x": np.arange(1_000_000) % 7})
        pq.write_table(rows, tmp_path / "t.parquet")
        columns = {"x": Integer(0, 6)}
        bounds = {"unit": "p", "rows_per_unit": 4, "groups_per_unit": 1, "rows_per_group": 1}
        table = dc.Table(tmp_path / "t.parquet", columns=columns, **bounds)  # type: ignore[arg-type]
        small, large = DuckDB((table,), memory=40_000_000), DuckDB((table,))
        want = asked(bounded(table, "x"), large)[0].tolist()
        try:
            assert asked(bounded(table, "x"), small)[0].tolist() == want
        except duckdb.OutOfMemoryException:
            assert asked(bounded(dc.census(), "sex"), large)
        small.close()
        large.close()
