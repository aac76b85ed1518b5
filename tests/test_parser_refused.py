"""SQL: everything else is refused, with where it stands and what to write instead, as a mistake of nobody."""

from __future__ import annotations

import logging
import time

import pytest
import sqlglot

import discreet as dc
from discreet.engine.parser import parse

_ELSEWHERE = """FROM t
FROM t SELECT COUNT(*)
SUMMARIZE t
EXPLAIN ANALYZE SELECT COUNT(*) FROM t
PRAGMA storage_info('t')
COPY t TO 'x.csv'
ATTACH 'x.db'
SET threads = 1
DROP TABLE t
(SELECT COUNT(*) FROM t)

;
   """
REFUSED = {
    "SELECT DISTINCT sex FROM t": r"DISTINCT is not offered \(line 1, column 8\); GROUP BY",
    "SELECT COUNT(DISTINCT a, b) FROM t": "of one expression",
    "SELECT SUM(DISTINCT a) FROM t": "of one expression",
    "SELECT COUNT() FROM t": r"write COUNT\(\*\)",
    "SELECT COUNT(*, a) FROM t": "EXPRESSIONS is not offered in COUNT",
    "SELECT COUNT(*) OVER () FROM t": "window functions",
    "SELECT SUM(a) FILTER (WHERE b) OVER () FROM t": "window functions",
    "SELECT RANK() OVER (ORDER BY a) FROM t": "window functions",
    "SELECT pg_sleep(9), COUNT(*) FROM t": r"'pg_sleep' here \(line 1, column 8\)",
    "SELECT error('x') FROM t": "no function 'error'",
    "SELECT upper(sex) FROM t": "no function 'upper'",
    "SELECT averag(sex) FROM t": "no function 'averag'",
    "SELECT stdd(sex) FROM t": "write STDDEV, or another of: abs",
    "SELECT mean(a, b) FROM t": "MEAN takes one argument",
    "SELECT bin(a) FROM t": "BIN takes 2 arguments",
    "SELECT a.b(1) FROM t": "at most one dot",
    "SELECT sex::TEXT FROM t": "cast to INTEGER, DOUBLE or DATE",
    "SELECT a::DECIMAL(3, 2) FROM t": "DECIMAL is not offered",
    "SELECT a::INT[] FROM t": "lists are not offered",
    "SELECT CAST(a AS TIMESTAMPTZ) FROM t": "cast to",
    "SELECT TIMESTAMPTZ '2026-01-01' FROM t": "cast to",
    "SELECT TRY_CAST(a AS INT) FROM t": "never fails",
    "SELECT a LIKE b FROM t": "constant pattern",
    "SELECT a LIKE 'x' ESCAPE '!' FROM t": "ESCAPE",
    "SELECT a ILIKE 'x%' FROM t": "fixed prefix",
    "SELECT a ~ 'x' FROM t": "regular expressions",
    "SELECT a SIMILAR TO 'x' FROM t": "fixed prefix",
    "SELECT a GLOB 'x' FROM t": "fixed prefix",
    "SELECT starts_with(a, b) FROM t": "constant text",
    "SELECT starts_with(a, 'x%') FROM t": "no %",
    "SELECT a IN (SELECT b FROM t) FROM t": r"IN with a subquery is not offered \(line 1, column 21\); join",
    "SELECT EXISTS (SELECT b FROM t) FROM t": "EXISTS",
    "SELECT (SELECT b FROM t) FROM t": "a subquery is not a value",
    "SELECT a = ANY (SELECT b FROM t) FROM t": "ANY is not offered",
    "SELECT a IN () FROM t": "empty list",
    "SELECT a IN b FROM t": "list in brackets",
    "SELECT a IN (1, (2, 3)) FROM t": "several values",
    "SELECT a IS 3 FROM t": "IS takes",
    "SELECT a BETWEEN SYMMETRIC 2 AND 1 FROM t": "lesser bound",
    "SELECT EXTRACT(epoch FROM a) FROM t": "part of a date",
    "SELECT date_part(b, a) FROM t": "part of a date",
    "SELECT date_trunc('decade', a) FROM t": "year, quarter",
    "SELECT PERCENTILE_CONT(0.5) FROM t": "needs an order",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a, b) FROM t": "one expression",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a DESC) FROM t": "1 - q",
    "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY a) FROM t": "PERCENTILE_CONT only",
    "SELECT SUM(a ORDER BY b) FROM t": "ORDER is not offered",
    "SELECT a || b FROM t": "not joined",
    "SELECT a & 1 FROM t": "write AND",
    "SELECT a << 1 FROM t": "not offered",
    "SELECT a -> 'b' FROM t": "-> is not offered",
    "SELECT a[1] FROM t": "lists",
    "SELECT [1, 2] FROM t": "lists",
    "SELECT {'a': 1} FROM t": "not offered",
    "SELECT (1, 2) FROM t": "several values",
    "SELECT INTERVAL 1 DAY FROM t": r"intervals are not offered \(line 1, column 8\)",
    "SELECT a AT TIME ZONE 'UTC' FROM t": "declare the zone",
    "SELECT a COLLATE NOCASE FROM t": "COLLATE",
    "SELECT random() FROM t": "random",
    "SELECT now() FROM t": "no function 'now'",
    "SELECT current_date FROM t": "what day it is",
    "SELECT E'a' FROM t": "single quotes",
    "SELECT $$a$$ FROM t": "single quotes",
    "SELECT 0x10 FROM t": "touch",
    "SELECT 1a FROM t": "touch|not SQL",
    "SELECT $1 FROM t": "a parameter has a name",
    "SELECT ? FROM t": "a parameter has a name",
    "SELECT a.b.c FROM t": "at most one dot",
    "SELECT * FROM t": r"\* is not offered \(line 1, column 8\); name the columns",
    "SELECT t.* FROM t": r"\* is not a value",
    "SELECT * EXCLUDE (a) FROM t": r"\* is not offered",
    "SELECT COLUMNS(*) FROM t": "no function 'COLUMNS'",
    "SELECT #1 FROM t": "#1",
    "SELECT sex, COUNT(*) FROM t GROUP BY ALL": "GROUP BY ALL",
    "SELECT sex FROM t GROUP BY DISTINCT sex": "GROUP BY DISTINCT",
    "SELECT sex FROM t GROUP BY ROLLUP (sex)": "ROLLUP",
    "SELECT sex FROM t GROUP BY CUBE (sex)": "CUBE",
    "SELECT sex FROM t GROUP BY GROUPING SETS ((sex), ())": "GROUPING SETS",
    "SELECT sex FROM t GROUP BY sex WITH ROLLUP": "ROLLUP",
    "SELECT sex FROM t ORDER BY ALL": r"ORDER BY ALL is not offered \(line 1, column 19\)",
    "SELECT sex FROM t LIMIT 10%": "number of rows",
    "SELECT sex FROM t FETCH FIRST 3 ROWS ONLY": r"FETCH is not offered \(line 1, column 19\); write LIMIT",
    "SELECT COUNT(*) FROM '/etc/passwd'": "a table is a name",
    "SELECT COUNT(*) FROM t JOIN 'x.csv' ON a = b": "a table is a name",
    "SELECT COUNT(*) FROM main.t": "leave out what is before the dot",
    "SELECT COUNT(*) FROM information_schema.tables": "leave out what is before the dot",
    "SELECT COUNT(*) FROM a.b.c.t": "leave out what is before the dot",
    "SELECT COUNT(*) FROM read_csv('x.csv')": "a function is not a table",
    "SELECT COUNT(*) FROM query('SELECT 1')": "a function is not a table",
    "SELECT COUNT(*) FROM duckdb_settings()": "a function is not a table",
    "SELECT COUNT(*) FROM (VALUES (1)) AS v": "tables and subqueries",
    "SELECT COUNT(*) FROM (t) AS v": "leave out the brackets",
    "SELECT COUNT(*) FROM (t JOIN u ON a = b)": "brackets",
    "SELECT COUNT(*) FROM (SELECT * FROM t) AS v": r"\* is not offered",
    "SELECT COUNT(*) FROM (FROM t) AS v": r"\* is not offered",
    "SELECT COUNT(*) FROM t AS c(sex)": "name them with AS",
    "SELECT COUNT(*) FROM t, u": r"a comma, or a JOIN without ON",
    "SELECT COUNT(*) FROM t JOIN u": r"write JOIN <table> ON",
    **{f"SELECT COUNT(*) FROM t {kind} JOIN u": f"{kind} JOIN is not offered" for kind in ("CROSS", "NATURAL")},
    **{
        f"SELECT COUNT(*) FROM t {kind} JOIN u ON a = b": f"{kind} JOIN is not offered"
        for kind in ("FULL", "RIGHT", "SEMI", "ANTI", "ASOF", "FULL OUTER", "LEFT SEMI")
    },
    "SELECT COUNT(*) FROM t POSITIONAL JOIN u": "POSITIONAL JOIN",
    "SELECT COUNT(*) FROM t JOIN LATERAL (SELECT a FROM u) v ON TRUE": r"LATERAL is not offered \(line 1, column 29\)",
    "SELECT COUNT(*) FROM t, LATERAL (SELECT a FROM u)": "LATERAL",
    "SELECT COUNT(*) FROM t JOIN u JOIN v ON a = b ON c = d": "one after another",
    "SELECT COUNT(*) FROM t QUALIFY TRUE": "use HAVING",
    "SELECT COUNT(*) FROM t WINDOW w AS ()": "; ",
    "SELECT COUNT(*) FROM t PIVOT (COUNT(*) FOR sex IN ('Male'))": "PIVOT",
    "SELECT COUNT(*) FROM t FOR UPDATE": "FOR UPDATE",
    "SELECT COUNT(*) INTO x FROM t": "INTO",
    "SELECT COUNT(*) FROM t AT (VERSION => 1)": "; ",
    "SELECT /*+ hint */ COUNT(*) FROM t": "hints",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t": r"UNION is not offered \(line 1, column 24\)",
    "SELECT COUNT(*) FROM (SELECT a FROM t EXCEPT SELECT b FROM t) v": "EXCEPT is not offered",
    "SELECT COUNT(*) FROM t INTERSECT SELECT COUNT(*) FROM t": "INTERSECT",
    "WITH RECURSIVE a AS (SELECT x FROM t) SELECT x FROM a": r"RECURSIVE is not offered \(line 1, column 6\)",
    "WITH a(y) AS (SELECT x FROM t) SELECT x FROM a": "name them with AS",
    "WITH a AS (SELECT x FROM t UNION SELECT x FROM a) SELECT x FROM a": "UNION",
    "WITH a AS MATERIALIZED (SELECT x FROM t) SELECT x FROM a": "MATERIALIZED",
    "WITH a AS (SELECT 1) SELECT x FROM a": "reads no table",
    "WITH a AS (DELETE FROM t) SELECT x FROM a": "write SELECT there",
    "WITH a AS (ALTER TABLE t RENAME TO u) SELECT x FROM a": "write SELECT there",
    "WITH a AS (SELECT x FROM t) DELETE FROM a": "one SELECT",
    "WITH a AS (SELECT x FROM t) INSERT INTO t SELECT x FROM a": "; ",
    "SELECT COUNT(*)": "reads no table",
    "SELECT": "selects nothing|reads no table",
    "SELECT FROM t": "selects nothing",
    "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t": "one statement",
    "SELECT COUNT(*) FROM t; DROP TABLE t": r"one statement \(line 1, column 23\); leave out what stands after",
    "SELECT COUNT(*) FROM t;;": "one statement",
    **dict.fromkeys(_ELSEWHERE.split("\n"), "starts with SELECT or WITH"),
    "SELECT 'unclosed": "not SQL",
    "SELECT (a FROM t": "not SQL",
    "SELECT ( DESCRIBE CREATE FROM DISTINCT<< SELECT": "; ",
    "SELECT a FROM t WHERE": "not SQL",
    "SELECT a,\n  b +\nFROM t": r"not SQL that can be read here \(line 3, column 1\)",
    'SELECT "sex\n", COUNT(*) FROM t': "printable",
    'SELECT COUNT(*) AS "" FROM t': "printable|not SQL",
    f"SELECT {'a' * 201} FROM t": "200 printable",
    "SELECT sex AS (a, b) FROM t": "; ",
    "SELECT COUNT(*) FROM t\0": "no text has",
    "SELECT \ud800 FROM t": "no text has",
}


@pytest.mark.parametrize("text", REFUSED)
def test_the_refusal_says_what_to_change(text: str) -> None:
    with pytest.raises(dc.NotSupported, match=REFUSED[text]) as caught:
        parse(text)
    said = str(caught.value)
    assert "; " in said
    assert len(said) < 600
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None  # no exception of the parser, with its text and its frames


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM t", ["SELECT"]])
def test_a_question_is_a_text(text: str) -> None:
    with pytest.raises(dc.NotSupported, match="a question is a text"):
        parse(text)


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in REFUSED:
            with pytest.raises(dc.NotSupported):
                parse(text)
        assert caplog.records == []
        sqlglot.parse("CREATE what", read="duckdb")
    assert len(caplog.records) == 1  # of others the parser still says what it has to say


@pytest.mark.parametrize("count", [100, 500, 20_000])
@pytest.mark.parametrize(
    "pattern",
    [
        "SELECT {open}1{close} FROM t",
        "SELECT COUNT(*) FROM {open}SELECT 1{close}",
        "SELECT {nots}TRUE FROM t",
        "SELECT {minus}1 FROM t",
        "SELECT 1{plus} FROM t",
        "SELECT {cases} FROM t",
        "SELECT {comma} FROM t",
        "SELECT COUNT(*) FROM t {union}",
        "SELECT [{brackets} FROM t",
        "SELECT {braces} FROM t",
        "SELECT {dots}x FROM t",
        "SELECT x{casts} FROM t",
        "SELECT a FROM t {joins}",
    ],
)
def test_a_deep_or_long_question_is_refused(pattern: str, count: int) -> None:
    parts = {"open": "(" * count, "close": ")" * count, "nots": "NOT " * count, "minus": "- " * count}
    parts |= {"plus": " + 1" * count, "cases": "CASE WHEN " * count, "comma": "1," * 60 * count}
    parts |= {"union": "UNION SELECT 1 " * count, "brackets": "[" * count, "braces": "{'a': " * count}
    parts |= {"dots": "a." * count, "casts": "::INT" * count, "joins": "JOIN t " * count}
    with pytest.raises(dc.NotSupported):
        parse(pattern.format(**parts))


@pytest.mark.parametrize(
    "part", ["varchar(", "int(", "row(", "struct(", "ARRAY[", "[", "f(", "(", "CASE WHEN (", "x::int("]
)
@pytest.mark.parametrize("depth", [5, 20, 40])
def test_the_parser_has_no_text_that_takes_long(part: str, depth: int) -> None:
    """WS-04: it tries some brackets in two ways, and so takes twice the time for each that is inside another."""
    group = part * depth + "1" + ("]" if part.endswith("[") else ")") * depth
    start = time.process_time()
    for text in (group, f"a{group * (200 // depth)}", ",".join([group] * (200 // depth)), "a" + "[1]" * 600):
        try:
            parse(f"SELECT {text} FROM t")
        except dc.NotSupported:
            continue
    assert time.process_time() - start < 2
