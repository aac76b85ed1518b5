"""DuckDB: exact counts of every declared cell whatever the rows hold, and an engine that reaches nothing else."""

import math
from collections import Counter
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
from discreet.dp import Category, Exact, Integer
from discreet.engine import duckdb as engine
from discreet.engine.bound import MAX_CELLS, BoundedQuery, bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.plan import Count, Key, Plan

SEX = Category(["Female", "Male"])


def query(table: dc.Table, *keys: str) -> BoundedQuery:
    return bound(Plan(table.name, (*(Key(key, key) for key in keys), Count("n"))), table)


def counts(table: dc.Table, *keys: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The exact counts: a test may look inside an Exact."""
    with DuckDB().reach(query(table, *keys)) as source:
        exact = source.run()
    assert isinstance(exact, Exact)
    value = exact._value
    assert isinstance(value, np.ndarray)
    return value


def of(column: object, domain: Any, *, polars: bool = False) -> list[int]:
    frame = pl.DataFrame({"a": column}) if polars else column
    return counts(dc.Table(frame, columns={"a": domain}, name="t"), "a").tolist()  # type: ignore[arg-type]


class TestCounts:
    def test_the_census_agrees_with_a_count_by_hand(self) -> None:
        table = dc.census()
        rows = pq.read_table(table.source.path).to_pylist()  # type: ignore[union-attr]
        for keys in ((), ("sex",), ("education_num", "race"), ("age", "income", "workclass")):
            expected = Counter(tuple(row[key] for key in sorted(keys)) for row in rows)
            asked = query(table, *keys)
            found = counts(table, *keys)
            assert found.shape == asked.shape
            cells = list(zip(*asked.keys_of_cells().values(), strict=True)) or [()]
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
        rows = pa.table({"a": list(domain.values)})
        assert of(rows, domain) == [1] * 6

    @pytest.mark.parametrize(
        "name", ['a"b', "select", "cell", "n", "code", "value", "d0", "t", "'", "a b", "é", "$path"]
    )
    def test_a_column_may_have_any_name(self, name: str, tmp_path: Path) -> None:
        rows = pa.table({name: ["Male", "Male", None]})
        table = dc.Table(rows, columns={name: SEX}, name="t")
        assert counts(table, name).tolist() == [0, 2]
        pq.write_table(rows, tmp_path / "t.parquet")
        assert counts(dc.Table(tmp_path / "t.parquet", columns={name: SEX}), name).tolist() == [0, 2]

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

    def test_frames_agree(self) -> None:
        values = ["Male", None, "Female", "Male", "other"]
        assert of(pd.DataFrame({"a": values}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": pd.Series(values, dtype=object)}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": pd.Categorical(values)}), SEX) == [1, 2]
        assert of(values, SEX, polars=True) == [1, 2]
        assert of(pl.DataFrame({"a": pl.Series(values, dtype=pl.Categorical)}), SEX) == [1, 2]
        assert of(pd.DataFrame({"a": [True, False, True]}), dc.Boolean()) == [1, 2]
        assert of(pd.DataFrame({"a": pd.array([True, None, True], dtype="boolean")}), dc.Boolean()) == [0, 2]
        assert of(pd.DataFrame({"a": pd.array([1, None, 1], dtype="Int64")}), Integer(0, 1)) == [0, 2]
        assert of(pd.DataFrame({"a": [1, None, 1]}, index=[5, 5, 5]), Integer(0, 1)) == [0, 2]
        assert of(pd.DataFrame({"a": [None, None]}), SEX) == [0, 0]

    def test_a_csv_file(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        lines = ["sex,age,ok", "Male,1,true", '"Male",2.0,TRUE', "Female,2.5,yes", "x", ",,", "Female, 2 ,false,extra"]
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n\xff\xfe,1,1\r\n")
        columns = {"sex": SEX, "age": Integer(0, 2), "ok": dc.Boolean()}
        table = dc.Table(path, columns=columns)
        assert counts(table, "sex").tolist() == [2, 2]
        assert counts(table, "age").tolist() == [0, 2, 2]
        assert counts(table, "ok").tolist() == [1, 2]

    @pytest.mark.parametrize(
        "line",
        [
            b"\n",
            b"\r\r\n",
            b'M,"x\n',
            b'"M,1\n',
            b'"F"x,1\n',
            b"\0,1\n",
            b"\xff\xfe\n",
            b"x" * 3_000_000 + b"\n",
            b",,,,\n",
        ],
        ids=lambda line: repr(line[:8]),
    )
    def test_no_line_of_a_csv_file_can_raise(self, tmp_path: Path, line: bytes) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(b"sex,age\nMale,1\n" + line + b"Male,2\nFemale,2\n")
        assert counts(dc.Table(path, columns={"sex": SEX}), "sex").sum() <= 4

    def test_a_count_of_cells_with_thousands_of_digits_is_refused_in_words(self) -> None:
        columns = {f"c{i}": Integer(-(2**53) + 1, 2**53 - 1) for i in range(300)}
        with pytest.raises(dc.NotSupported, match=r"more than 10\^18 groups and"):
            query(dc.Table("t.parquet", columns=columns), *columns)

    def test_too_many_cells_are_refused(self) -> None:
        columns = {"a": Integer(1, 1000), "b": Integer(1, 1001)}
        table = dc.Table(pa.table({"a": [1], "b": [1]}), columns=columns, name="t")
        with pytest.raises(dc.NotSupported, match=f"1,001,000 groups and {MAX_CELLS:,} are allowed"):
            query(table, "a", "b")
        assert counts(table, "b").sum() == 1

    @pytest.mark.parametrize("domain", [dc.Real(0, 1), dc.Text()])
    def test_a_key_has_a_list_of_values(self, domain: Any) -> None:
        with pytest.raises(dc.NotSupported, match="has no list of values"):
            query(dc.Table("t.parquet", columns={"a": domain}), "a")

    @pytest.mark.parametrize("domain", [Integer(2**53, 2**53), Category([-(2**60), 1])])
    def test_a_key_beyond_the_exact_floats_is_refused(self, domain: Any) -> None:
        with pytest.raises(dc.NotSupported, match="beyond 2"):
            query(dc.Table("t.parquet", columns={"a": domain}), "a")


def largest_move(rows: pa.Table, asked: Any) -> int:
    """The largest L1 distance between the counts of a table and those of the table without one row."""
    whole = asked(rows)
    smaller = (pa.concat_tables([rows.slice(0, i), rows.slice(i + 1)]) for i in range(rows.num_rows))
    return max(int(np.abs(whole - asked(table)).sum()) for table in smaller)


class TestSensitivity:
    """NB-00: the noise aside, the counts move by no more than the sensitivity that they declare."""

    rows = pa.table(
        {
            "sex": ["Male", "Female", None, "", "x", "Male", "male", "Female "],
            "age": [0.0, 1.5, math.nan, math.inf, -0.0, 2.0, None, 1.0],
        }
    )
    columns: ClassVar = {"sex": SEX, "age": Integer(0, 2)}

    def asked(self, rows: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
        return counts(dc.Table(rows, columns=self.columns, name="t"), "sex", "age")

    def test_one_row_moves_one_count_by_one(self) -> None:
        table = dc.Table(self.rows, columns=self.columns, name="t")
        assert query(table, "sex", "age").sensitivity.l1 == 1
        assert largest_move(self.rows, self.asked) == 1

    def test_a_join_that_finds_two_partners_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = engine._domain_table

        def twice(*arguments: Any) -> pa.Table:
            return pa.concat_tables([right(*arguments)] * 2)

        monkeypatch.setattr(engine, "_domain_table", twice)
        assert largest_move(self.rows, self.asked) > 1


class TestReach:
    """What is wrong with a source is said before a row is read, from the schema alone."""

    def test_a_missing_file_is_unavailable(self, tmp_path: Path) -> None:
        for name in ("t.parquet", "t.csv"):
            with pytest.raises(dc.Unavailable, match=r"cannot be reached or read\. Nothing was spent") as caught:
                counts(dc.Table(tmp_path / name, columns={"a": SEX}), "a")
            assert caught.value.__context__ is None
            assert str(tmp_path) not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet", b"PAR1" + b"\0" * 100 + b"PAR1"])
    def test_a_file_of_another_kind_is_unavailable(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "t.parquet").write_bytes(content)
        with pytest.raises(dc.Unavailable):
            counts(dc.Table(tmp_path / "t.parquet", columns={"a": SEX}), "a")

    def test_a_missing_column_is_unavailable(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"A": ["Male"]}), tmp_path / "t.parquet")
        (tmp_path / "t.csv").write_text("A\nMale\n")
        for name in ("t.parquet", "t.csv"):
            with pytest.raises(dc.Unavailable, match="has no column 'a'"):
                counts(dc.Table(tmp_path / name, columns={"a": SEX}), "a")

    def test_a_file_without_a_declared_column_is_another_file(self, tmp_path: Path) -> None:
        """Whichever columns a question names, and before it is paid for: a wrong path or a wrong separator."""
        (tmp_path / "t.csv").write_text("sex;age\nMale;3\n")
        pq.write_table(pa.table({"sex": ["Male"]}), tmp_path / "t.parquet")
        for name in ("t.parquet", "t.csv"):
            file = dc.Table(tmp_path / name, columns={"sex": SEX, "age": dc.Real(0, 9)})
            asked = dc.Session(file, budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())
            for question in ("SELECT COUNT(*) FROM t", "SELECT sex, COUNT(*) FROM t GROUP BY sex"):
                with pytest.raises(dc.Unavailable, match=r"has no column '(age|sex)'"):
                    asked.sql(question, epsilon=1)
            assert asked.spent == 0

    @pytest.mark.parametrize(
        ("array", "domain"),
        [
            (pa.array([1]), SEX),
            (pa.array(["Male"]), Integer(0, 1)),
            (pa.array([1]), dc.Boolean()),
            (pa.array([True]), Integer(0, 1)),
            (pa.array([["Male"]]), SEX),
            (pa.array(["Male"]), Category([1, 2])),
        ],
    )
    def test_a_column_of_another_type_is_refused(self, array: pa.Array, domain: Any) -> None:
        with pytest.raises(dc.NeedsDeclaration, match="declare it as what it holds"):
            of(pa.table({"a": array}), domain)

    def test_a_folder_name_is_not_a_column(self, tmp_path: Path) -> None:
        folder = tmp_path / "sex=Male"
        folder.mkdir()
        pq.write_table(pa.table({"a": ["x"]}), folder / "t.parquet")
        with pytest.raises(dc.Unavailable, match="has no column"):
            counts(dc.Table(folder / "t.parquet", columns={"sex": SEX}), "sex")


class TestLock:
    """WS-07 with the parser bypassed: the engine itself reaches the file of the table and nothing else."""

    @pytest.fixture
    def connection(self, tmp_path: Path) -> Any:
        (tmp_path / "spill").mkdir()
        made = engine._connected(dc.census(), str(tmp_path / "spill"))
        yield made
        made.close()

    @pytest.mark.parametrize(
        "text",
        [
            "SELECT * FROM read_csv('{other}')",
            "SELECT * FROM read_text('{other}')",
            "SELECT * FROM read_blob('{other}')",
            "SELECT * FROM glob('{folder}/*')",
            "SELECT * FROM '{other}'",
            "COPY (SELECT 1) TO '{folder}/out.csv'",
            "ATTACH '{folder}/x.db'",
            "EXPORT DATABASE '{folder}/out'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET lock_configuration = false",
            "SET allowed_paths = ['{other}']",
            "SET threads = 1",
            "RESET memory_limit",
            "CREATE PERSISTENT SECRET s (TYPE s3)",
            "SELECT * FROM frame_of_this_process",
            "SELECT getenv('HOME')",
        ],
    )
    def test_nothing_else_is_reached(self, connection: Any, tmp_path: Path, text: str) -> None:
        frame_of_this_process = pa.table({"a": [1]})  # noqa: F841  a replacement scan would find it
        other = tmp_path / "other.csv"
        other.write_text("a\n1\n")
        with pytest.raises(duckdb.Error):
            connection.execute(text.format(other=other, folder=tmp_path)).fetchall()
        assert list((tmp_path / "spill").iterdir()) == []

    def test_a_connection_that_is_not_locked_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for position in range(len(engine._SETTINGS)):
            value = engine._SETTINGS[position][1]
            if not isinstance(value, bool):
                continue
            spoiled = list(engine._SETTINGS)
            spoiled[position] = ("no_such_setting", value)
            with monkeypatch.context() as patch:
                patch.setattr(engine, "_SETTINGS", tuple(spoiled))
                with pytest.raises(dc.Unavailable, match="could not be locked down"):
                    counts(dc.census(), "sex")

    def test_the_engine_sees_no_text_of_the_question(self) -> None:
        hostile = Category(["'; DROP TABLE t; --"])
        table = dc.Table(pa.table({"a": ["x"]}), columns={"a": hostile}, name="t")
        emitted = engine.emitted(query(table, "a"), {"a": "VARCHAR"})
        assert emitted == (
            "SELECT (0) * 1 + d0.code AS cell, COUNT(*) AS n FROM frame AS t "
            'JOIN domain_0 AS d0 ON d0.value = TRY_CAST(t."a" AS VARCHAR) GROUP BY 1'
        )
