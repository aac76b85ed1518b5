"""SQL as it is written: declared names, names of our own and whole numbers; no text of a question, nothing twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dc
from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.dialect import Dialect, Held, Origin
from discreet.engine.duckdb_sql import DuckDBDialect
from discreet.engine.emit import Bindings, Writer, columns_of
from discreet.engine.plan import Histogram, Present, Rows, Total
from discreet.engine.relation import Statement
from discreet.engine.statements import statements
from tests.asking import ADD, asked, bounded, column, plan, sums
from tests.broken.engines_duckdb import Raising, Splicing
from tests.plans import make
from tests.sizes import sized

HOSTILE = "'; DROP TABLE t; --"
ONE = Fraction(1)
WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SQL = """
AND AS BETWEEN BIGINT BOOLEAN BY CASE CAST COALESCE COUNT DATE DISTINCT DOUBLE ELSE END FALSE FILTER FLOOR FROM GREATEST
GROUP HAVING HUGEINT IN INTEGER IS JOIN LEAST LEFT MATERIALIZED NOT NULL NULLIF ON OR ORDER OVER PARTITION PRECEDING
ROWS ROW_NUMBER SELECT SMALLINT SUM THEN TIMESTAMP TINYINT TRUE TRY_CAST UNBOUNDED VARCHAR WHEN WHERE WITH
date_part date_trunc epoch_us hash isfinite starts_with bin place key units code cb cx rg rd kept before
"""
WRITTEN = frozenset(SQL.split())
OURS = re.compile(r"[a-z]|(vx|sx|[gmuxypc]|one)\d+|[kdt]_\d+|(frame|public|list_d)_\d+|(raw_)?c\d+_\d+")


def written(query: BoundedQuery, dialect: Dialect | None = None) -> tuple[Statement, ...]:
    origins = [
        Origin(
            f"frame_{place}",
            {name: Held(f's."{name}"', form(domain), kind(domain)) for name, domain in table.columns.items()},
            Held('s."u"', "text", "VARCHAR") if table.unit is not None else None,
            {},
        )
        for place, table in enumerate(query.plan.relation.scans)
    ]
    return statements(query, origins, dialect or DuckDBDialect(), secret=7)


def form(domain: object) -> str:
    match domain:
        case dp.Real() | dp.Bins():
            return "float"
        case dp.Boolean():
            return "boolean"
        case dp.Date():
            return "date"
        case dp.Datetime():
            return "timestamp"
        case dp.Category(values=[str(), *_]) | dp.Text():
            return "text"
        case _:
            return "integer"


def kind(domain: object) -> str:
    return {"float": "DOUBLE", "timestamp": "TIMESTAMP", "text": "VARCHAR"}.get(form(domain), "BIGINT")


def strange(text: str) -> Iterator[str]:
    """Words of SQL that are no word of ours, outside of declared names in quotes."""
    bare = re.sub(r'"[^"]*"', "", text)
    bare = re.sub(r"'(1970-01-01|-?[0-9.]+(e[+-]?[0-9]+)?|year|quarter|month|week|day|dayofyear)'", "", bare)
    if "'" in bare:
        yield "'"
    for word in WORDS.findall(bare):
        if word not in WRITTEN and not OURS.fullmatch(word):
            yield word


def test_the_sql_of_random_questions_is_made_of_words_of_ours() -> None:
    tried = 0
    for seed in range(sized(120, 3_000)):
        query = make(seed).query(ADD)
        for statement in written(query) if query is not None else ():
            assert not list(strange(statement.text)), (seed, list(strange(statement.text)))
            assert statement.text.count("'") % 2 == 0
            tried += 1
    assert tried > sized(100, 2_500)


def hostile() -> BoundedQuery:
    table = dc.Table(
        pa.table({"t": ["a"], "k": [HOSTILE]}), columns={"t": dc.Text(), "k": dc.Category([HOSTILE])}, name="t"
    )
    text = column(table, "t")
    where = ex.Logical(
        "or",
        (
            ex.Comparison("=", text, ex.Constant(HOSTILE, ex.FREE)),
            ex.Member(text, (HOSTILE, "b")),
            ex.Prefix(text, HOSTILE),
        ),
    )
    return bound(plan(table, ["k"], where=where), neighbours=ADD)


def test_a_text_of_a_question_is_a_parameter() -> None:
    (statement,) = written(hostile())
    assert "DROP" not in statement.text
    assert list(statement.parameters.values()).count(HOSTILE) == 3
    assert not list(strange(statement.text))
    assert list(strange(written(hostile(), Splicing())[0].text))


def test_a_hostile_declared_value_is_found_and_nothing_else() -> None:
    rows = pa.table({"k": [HOSTILE, "x", "'"]})
    table = dc.Table(rows, columns={"k": dc.Category([HOSTILE, "'"])}, name="t")
    assert asked(bounded(table, "k"))[0].tolist() == [1, 1]


def test_what_is_nested_is_not_written_twice() -> None:
    """Truncations and bins of each other, 40 deep: the text grows with the depth, and not twofold with each."""
    table = dc.Table(pa.table({"x": [5, None]}), columns={"x": dc.Integer(0, 10)}, name="t")
    lengths = []
    for depth in (10, 20, 40):
        x: ex.Expression = column(table, "x")
        for _ in range(depth):
            x = ex.Binned(x, (0, 3, 6, 9), ex.Coded(dp.Bins([0, 3, 6, 9])))
            x = ex.Arithmetic("%", x, ex.Constant(7, ex.Number(ONE, 7, 7)), ex.Number(ONE, 0, 6))
        query = bound(plan(table, measures=[Total(x)]), neighbours=ADD)
        assert asked(query)[0].tolist() == 0
        lengths.append(sum(len(statement.text) for statement in written(query)))
    assert lengths[2] < 2.5 * lengths[1] < 7 * lengths[0]


def test_a_sum_reads_the_file_once() -> None:
    """Several measures in one SELECT come from one pass, and each histogram from one more."""
    table = dc.Table(pa.table({"x": [1], "y": [2]}), columns=dict.fromkeys("xy", dc.Integer(0, 9)), name="t")
    x, y = column(table, "x"), column(table, "y")
    measures = [Rows(), Present(x), Total(x), Total(y), Histogram(y, dp.Integer(0, 9))]
    made = written(bounded(table, measures=measures))
    assert [statement.measures for statement in made] == [(0, 1, 2, 3), (4,)]
    assert [statement.text.count("frame_0") for statement in made] == [1, 1]


@pytest.mark.parametrize("operator", ["//", "%"])
def test_division_by_zero_is_null(operator: str) -> None:
    table = dc.Table(
        pa.table({"x": [7, -7, 7], "y": [2, 2, 0]}), columns=dict.fromkeys("xy", dc.Integer(-9, 9)), name="t"
    )
    found = ex.Arithmetic(operator, column(table, "x"), column(table, "y"), ex.Number(ONE, -9, 9))  # type: ignore[arg-type]
    present, total = asked(bounded(table, measures=(Present(found), Total(found))))
    assert (int(present), int(total)) == (2, 0)  # 3 - 3, 1 - 1


def test_a_cast_before_its_bounds_raises_for_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """no value of a row can make it raise"""
    table = dc.Table(pa.table({"x": [1.0, 1e300, float("nan")]}), columns={"x": dc.Real(0, 10, step="1")}, name="t")
    assert sums(table, "x") == (1, 1)
    monkeypatch.setattr("discreet.engine.reuse._DIALECT", Raising())
    with pytest.raises(Exception, match=r"1e\+?300"):
        sums(table, "x")


def test_one_units_own_sum_may_be_wide() -> None:
    """Beyond 62 bits: a unit's sum is formed in HUGEINT, then cut to what counts."""
    most = 2**40
    rows = pa.table({"u": [1] * 60_000, "x": [most] * 60_000})
    bounds = {"unit": "u", "rows_per_unit": 3, "groups_per_unit": 1, "rows_per_group": 3}
    table = dc.Table(rows, columns={"x": dc.Integer(0, most)}, name="t", **bounds)  # type: ignore[arg-type]
    query = bounded(table, measures=(Total(column(table, "x")),))
    assert int(asked(query)[0]) == 3 * most * query.measures[0].scale


def test_columns_of_finds_every_column() -> None:
    table = dc.Table(pa.table({"x": [1], "y": [2]}), columns=dict.fromkeys("xy", dc.Integer(0, 9)), name="t")
    x, y = column(table, "x"), column(table, "y")
    case = ex.Case(((ex.IsNull(x), ex.Coalesce((y, x), y.kind)),), y, y.kind)
    assert {found.name for found in columns_of((case, None))} == {"x", "y"}
    writer = Writer(DuckDBDialect(), {(0, "x"): "c0", (0, "y"): "c1"}, Bindings())
    assert writer.sql(case) == "CASE WHEN (c0 IS NULL) THEN COALESCE(c1, c0) ELSE c1 END"
