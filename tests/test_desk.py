"""What a session is opened with: files that changed within their version, and what is kept of earlier questions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet import planning
from discreet.desk import Recent, typed
from discreet.session import Session
from tests.sessions import ROWS, Q, session, table

OTHER = "SELECT COUNT(*) AS n FROM t"


class TestFiles:
    """DU-11: the dataset swapped under the same name."""

    def test_a_changed_file_is_refused_until_a_version_is_declared(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pq.write_table(ROWS, path)
        asked = session(path, ledger=tmp_path / "x")
        first = asked.sql(Q, epsilon="0.1")
        pq.write_table(ROWS.slice(1), path)
        again = session(path, ledger=tmp_path / "x")
        with pytest.raises(dc.LedgerError, match=r"changed since version '1' was first used: declare another"):
            again.sql(OTHER, epsilon="0.1")
        assert again.spent == Fraction(1, 10)
        assert again.sql(Q, epsilon="0.1").to_bytes() == first.to_bytes()  # nothing is read for it
        later = Session(table(path, version="2"), ledger=tmp_path / "x")
        assert later.sql(OTHER, epsilon="0.1").charged == Fraction(1, 10)

    def test_what_was_never_read_may_change(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        asked = session(path, ledger=tmp_path / "x")
        for rows in (ROWS.slice(1), ROWS):
            pq.write_table(rows, path)
            asked.quote(Q, epsilon="0.1")
        assert asked.sql(Q, epsilon="0.1").charged == Fraction(1, 10)

    def test_a_public_table_is_watched_too(self, tmp_path: Path) -> None:
        path = tmp_path / "names.csv"
        path.write_text("sex,side\nMale,left\nFemale,right\n")
        columns = {"sex": dc.Category(["Female", "Male"]), "side": dc.Category(["left", "right"])}
        text = "SELECT side, COUNT(*) AS n FROM t JOIN names USING (sex) GROUP BY side"

        def made() -> dc.Session:
            public = dc.Table(path, columns=columns, public=True)
            return dc.Session([table(), public], budget=dc.Budget(epsilon=1), ledger=tmp_path / "x")

        made().sql(text, epsilon="0.1")
        path.write_text("sex,side\nMale,right\nFemale,right\n")
        with pytest.raises(dc.LedgerError, match="the files of table 'names' changed"):
            made().sql(text + " ORDER BY n", epsilon="0.2")

    def test_threads_that_are_the_first_all_pass(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pq.write_table(ROWS, path)
        session(path, ledger=tmp_path / "x")

        def ask(number: int) -> Fraction:
            with Session(table(path), ledger=tmp_path / "x") as asked:
                return asked.sql(f"{OTHER} WHERE age > {number}", epsilon="0.1").charged

        with ThreadPoolExecutor(6) as pool:
            assert set(pool.map(ask, range(6))) == {Fraction(1, 10)}
        assert sorted(each.suffix for each in tmp_path.iterdir() if each.suffix == ".new") == []

    def test_a_ledger_in_memory_remembers_no_files(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pq.write_table(ROWS, path)
        ledger = dc.memory_ledger()
        session(path, ledger=ledger).sql(Q, epsilon="0.1")
        pq.write_table(ROWS.slice(1), path)
        assert session(path, ledger=ledger).sql(OTHER, epsilon="0.1").charged == Fraction(1, 10)
        assert [each.name for each in tmp_path.iterdir()] == ["t.parquet"]


class TestRecent:
    def test_the_oldest_is_forgotten_first(self) -> None:
        made: list[int] = []

        def make(number: int) -> int:
            made.append(number)
            return number

        recent = Recent[int](2)
        for number in (1, 2, 1, 3, 1, 2):
            assert recent.get(number, lambda number=number: make(number)) == number  # type: ignore[misc]
        assert made == [1, 2, 3, 2]

    def test_what_cannot_be_hashed_is_made_each_time(self) -> None:
        made: list[int] = []
        recent = Recent[None](2)
        for _ in range(2):
            recent.get((typed([1]),), lambda: made.append(1))
        assert made == [1, 1]

    def test_values_that_are_equal_and_of_another_kind_are_other_questions(self) -> None:
        asked = session()
        text = "SELECT COUNT(*) AS n FROM t WHERE age = $a"
        asked.quote(text, epsilon="0.1", parameters={"a": 1})
        with pytest.raises(dc.Refused):
            asked.quote(text, epsilon="0.1", parameters={"a": True})
        for wrong in (True, "1", 1.0):
            with pytest.raises(dc.Refused):
                asked.quote(text, epsilon="0.1", parameters={"a": 1}, groups_per_unit=wrong)  # type: ignore[arg-type]
        asked.quote(Q, epsilon=1)
        with pytest.raises(dc.Refused, match="is a number"):
            asked.quote(Q, epsilon=True)

    def test_a_known_question_is_not_planned_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = session()
        first = asked.sql(Q, epsilon="0.1")

        def never(*_: Any, **__: Any) -> Any:
            raise AssertionError

        for name in ("plan_of", "bound", "bought_by", "check_shown"):
            monkeypatch.setattr(planning, name, never)
        assert asked.sql(Q, epsilon="0.1").to_bytes() == first.to_bytes()

    def test_a_raised_budget_is_priced_anew(self) -> None:
        asked = session(budget=dc.Budget(epsilon=1, delta=1e-9))
        before = asked.quote(Q, epsilon="0.1")
        asked._ledger.raise_budget(epsilon=4, delta=1e-9, reason="a second study")
        after = asked.quote(Q, epsilon="0.1")
        assert after.cost.fits is not None
        assert before.cost.fits is not None
        assert after.cost.fits > before.cost.fits

    def test_many_questions_keep_their_own_prices(self) -> None:
        """More questions than are kept: none gets the mechanisms of another."""
        asked = session(pa.table({"sex": ["Male"], "age": [1]}))
        texts = [f"SELECT COUNT(*) AS n, SUM(age) AS s FROM t WHERE age > {n % 9} OR age = {n // 9}" for n in range(80)]
        texts += [f"SELECT COUNT(*) AS n FROM t WHERE age <> {n}" for n in range(9)]
        first = [repr(asked.quote(text, epsilon="0.1")) for text in texts]
        assert [repr(asked.quote(text, epsilon="0.1")) for text in texts] == first
        assert len(set(first)) == 2
