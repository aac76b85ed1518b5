"""SQL: how deep and how long a question may be, and that neither depends on who asks."""

from __future__ import annotations

import sys
import threading
import time

import pytest

import discreet as dc
from discreet.engine.parser import MAX_BYTES, MAX_DEPTH, MAX_JOINS, MAX_LEVELS, MAX_TOKENS, parse
from discreet.engine.parser_expressions import LONGEST_NUMBER
from discreet.engine.syntax import Call, Literal, Select
from tests.sql_trees import bare


def test_a_simple_case_cannot_grow_beyond_the_text() -> None:
    case = "x"
    for _ in range(12):
        case = f"CASE {case} WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 3 END"
    with pytest.raises(dc.NotSupported, match="more than 10,000 parts"):
        parse(f"SELECT {case} FROM t")


BRACKETS = [
    ("(", ")"),
    ("CASE WHEN a THEN b ELSE ", " END"),
    ("abs(", ")"),
    ("coalesce(x, ", ")"),
    ("- ", ""),
    ("x IN (", ")"),
]
BRACKETS += [("1 + (", ")"), ("x BETWEEN (", ") AND 2"), ("CAST(", " AS INT)"), ("SUM(x) FILTER (WHERE ", ")")]


class TestLimits:
    @pytest.mark.parametrize(("opening", "closing"), BRACKETS)
    def test_so_many_brackets_and_no_more(self, opening: str, closing: str) -> None:
        assert parse(f"SELECT {opening * MAX_DEPTH}x{closing * MAX_DEPTH} FROM t")
        with pytest.raises(dc.NotSupported, match=f"more than {MAX_DEPTH} brackets"):
            parse(f"SELECT {opening * (MAX_DEPTH + 1)}x{closing * (MAX_DEPTH + 1)} FROM t")

    def test_so_many_signs_in_a_row(self) -> None:
        assert parse(f"SELECT {'NOT ' * MAX_DEPTH}x FROM t")
        with pytest.raises(dc.NotSupported, match="more than 40"):
            parse(f"SELECT {'NOT ' * (MAX_DEPTH + 1)}x FROM t")

    def test_a_chain_of_and_is_one_level(self) -> None:
        tree = parse("SELECT COUNT(*) FROM t WHERE " + " AND ".join(["x"] * 1000))
        assert isinstance(tree.where, Call)
        assert len(tree.where.arguments) == 1000

    def test_any_other_chain_has_as_many_levels_as_signs(self) -> None:
        assert parse("SELECT " + " + ".join(["x"] * (MAX_LEVELS // 2)) + " FROM t")
        with pytest.raises(dc.NotSupported, match=f"more than {MAX_LEVELS} operators in each other"):
            parse("SELECT " + " + ".join(["x"] * 2000) + " FROM t")

    def test_a_long_list_is_read(self) -> None:
        tree = parse(f"SELECT COUNT(*) FROM t WHERE x IN ({', '.join(map(str, range(2000)))})")
        assert isinstance(tree.where, Call)
        assert len(tree.where.arguments) == 2001
        with pytest.raises(dc.NotSupported, match=f"more than {MAX_TOKENS:,} words and signs"):
            parse(f"SELECT COUNT(*) FROM t WHERE x IN ({', '.join(map(str, range(3000)))})")

    def test_so_many_joins(self) -> None:
        assert parse("SELECT x FROM t" + " JOIN u USING (x)" * MAX_JOINS)
        with pytest.raises(dc.NotSupported, match=f"more than {MAX_JOINS} joins"):
            parse("SELECT x FROM t" + " JOIN u USING (x)" * (MAX_JOINS + 1))

    def test_a_number_is_short(self) -> None:
        assert bare(parse(f"SELECT {'1' * LONGEST_NUMBER} FROM t")).outputs[0].value == Literal(
            int("1" * LONGEST_NUMBER)
        )
        for text in ("1" * (LONGEST_NUMBER + 1), "1e999999999", "1e-61", "0.5e-99999999999"):
            with pytest.raises(dc.NotSupported, match="at most 60 digits"):
                parse(f"SELECT {text} FROM t")

    def test_a_huge_text_is_refused_before_it_is_read(self) -> None:
        for text in ("SELECT COUNT(*) FROM t" + " " * MAX_BYTES, "SELECT '" + "\N{SNOWMAN}" * (MAX_BYTES // 2) + "'"):
            with pytest.raises(dc.NotSupported, match="longer than 65,536 bytes"):
                parse(text)

    def test_the_limits_do_not_depend_on_the_stack_of_the_caller(self) -> None:
        text = f"SELECT {'abs(' * MAX_DEPTH}x{')' * MAX_DEPTH} FROM t"

        def deeper(levels: int) -> Select:
            return parse(text) if levels == 0 else deeper(levels - 1)

        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1
        assert deeper(sys.getrecursionlimit() - depth - 60) == parse(text)

    def test_the_stacks_of_others_stay_as_they_are(self) -> None:
        before = threading.stack_size(), sys.getrecursionlimit()
        threads = [threading.Thread(target=parse, args=("SELECT x FROM t",)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (threading.stack_size(), sys.getrecursionlimit()) == before

    def test_without_a_thread_there_is_no_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def start(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        with pytest.raises(dc.Unavailable, match="thread"):
            parse("SELECT x FROM t")

    def test_a_question_is_read_in_milliseconds(self) -> None:
        text = "SELECT ward, AVG(cost) AS c, COUNT(*) AS n FROM visits WHERE age >= 18 AND sex = 'F' GROUP BY ward"
        parse(text)
        times = []
        for _ in range(50):
            start = time.process_time()
            parse(text)
            times.append(time.process_time() - start)
        assert sorted(times)[25] < 0.01
