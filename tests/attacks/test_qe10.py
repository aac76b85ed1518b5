"""QE-10: nothing that depends on the order of rows, picks some of them, or shows one: refused when it is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import discreet as dc
from discreet.engine.parser import parse
from discreet.engine.syntax import Select
from tests.broken import parsers as broken

_FUNCTIONS = """first last any_value arbitrary arg_max arg_min max_by min_by list array_agg string_agg group_concat
mode min max first_value last_value nth_value lag lead row_number rank ntile histogram quantile_disc
approx_top_k reservoir_quantile bit_and bit_or bool_and bool_or product kurtosis entropy
json_group_array map unnest random setseed uuid gen_random_uuid nextval currval rowid error hash md5
version current_setting getvariable query query_table read_csv pragma_table_info"""
FUNCTIONS = _FUNCTIONS.split()
PLACES = {
    "output": "SELECT {} FROM t",
    "filter": "SELECT COUNT(*) FROM t WHERE {} > 1",
    "key": "SELECT COUNT(*) FROM t GROUP BY {}",
    "having": "SELECT COUNT(*) FROM t HAVING {} > 1",
    "order": "SELECT COUNT(*) FROM t ORDER BY {}",
    "inside": "SELECT SUM({}) FROM t",
    "subquery": "SELECT COUNT(*) FROM (SELECT {} AS x FROM t) AS s",
    "cte": "WITH s AS (SELECT {} AS x FROM t) SELECT COUNT(*) FROM s",
    "join": "SELECT COUNT(*) FROM t JOIN u ON t.a = {}",
}
SAMPLES = """TABLESAMPLE 10%
TABLESAMPLE 10 ROWS
TABLESAMPLE reservoir(20)
TABLESAMPLE bernoulli(10 PERCENT) REPEATABLE (42)
USING SAMPLE 5
USING SAMPLE 10%
LIMIT 10%
LIMIT 10 PERCENT
FETCH FIRST 3 ROWS ONLY
QUALIFY row_number() OVER () = 1
DISTINCT ON (a)
FOR UPDATE
AT (VERSION => 1)
WITH ORDINALITY
POSITIONAL JOIN u
ASOF JOIN u ON t.a >= u.a"""
SHOWN = """SELECT * FROM t
SELECT t.* FROM t
SELECT COLUMNS(*) FROM t
SELECT * EXCLUDE (a) FROM t
SELECT DISTINCT a FROM t
SELECT DISTINCT ON (a) a, b FROM t
FROM t
SELECT COUNT(*) FROM (FROM t)
SUMMARIZE t
DESCRIBE t
EXPLAIN ANALYZE SELECT COUNT(*) FROM t
TABLE t
SELECT a FROM t UNION ALL SELECT a FROM t
SELECT (SELECT a FROM t LIMIT 1)
SELECT (SELECT a FROM t LIMIT 1) FROM t
SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM t ORDER BY b LIMIT 1)
SELECT COUNT(*) FROM t WHERE EXISTS (SELECT a FROM t OFFSET 1)
SELECT COUNT(*) FROM t WHERE a = (SELECT MAX(a) FROM t)
SELECT COUNT(*) FROM t WHERE a > ALL (SELECT a FROM t)
SELECT SUM(a ORDER BY b) FROM t
SELECT SUM(a LIMIT 1) FROM t
SELECT SUM(a) OVER (ORDER BY b) FROM t
SELECT COUNT(*) FROM t, LATERAL (SELECT a FROM u LIMIT 1)"""


def is_refused(text: str, parser: Callable[[str], Select] = parse) -> bool:
    try:
        parser(text)
    except dc.NotSupported as refused:
        return "; " in str(refused)  # which says what to write instead
    return False


@pytest.mark.parametrize("place", PLACES)
def test_no_function_picks_a_row(place: str) -> None:
    accepted = [name for name in FUNCTIONS if not is_refused(PLACES[place].format(f"{name}(a)"))]
    accepted += [name for name in FUNCTIONS if not is_refused(PLACES[place].format(f"{name}(a, b)"))]
    accepted += [name for name in FUNCTIONS if not is_refused(PLACES[place].format(f"{name}(a ORDER BY b)"))]
    accepted += [name for name in FUNCTIONS if not is_refused(PLACES[place].format(f"{name}(a) OVER (ORDER BY b)"))]
    assert accepted == []


@pytest.mark.parametrize("sample", SAMPLES.split("\n"))
def test_no_part_of_the_rows_is_taken(sample: str) -> None:
    assert is_refused(f"SELECT COUNT(*) FROM t {sample}")
    assert is_refused(f"SELECT COUNT(*) FROM (SELECT a FROM t {sample}) AS s")
    assert is_refused(f"WITH s AS (SELECT a FROM t {sample}) SELECT COUNT(*) FROM s")


@pytest.mark.parametrize("text", SHOWN.split("\n"))
def test_no_row_is_shown(text: str) -> None:
    assert is_refused(text)


def test_a_parser_that_passes_functions_on_is_rejected() -> None:
    lenient = broken.passes_on_what_it_does_not_know
    assert not is_refused("SELECT first(a) FROM t", lenient)
    assert not is_refused("SELECT COUNT(*) FROM (SELECT arg_max(a, b) AS x FROM t) AS s", lenient)
    assert not is_refused("SELECT COUNT(*) FROM t TABLESAMPLE 10%", lenient)
