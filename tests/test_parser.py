"""SQL: what is understood, as which tree, and where everything stands."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.engine.parser import parse
from discreet.engine.syntax import (
    Call,
    Case,
    Derived,
    Joined,
    Literal,
    Name,
    Node,
    Ordered,
    Parameter,
    Position,
    Select,
    Selected,
    Star,
    TableName,
)
from tests.sql_trees import bare, check_ours

X, Y, Z = Name("x"), Name("y"), Name("z")
COUNT = Call("count", (Star(),))
TEXT = Literal("a")


def call(function: str, *arguments: Node) -> Call:
    return Call(function, arguments)


def expression(text: str) -> Node:
    return bare(parse(f"SELECT {text} FROM t")).outputs[0].value


def part(word: str) -> Call:
    return call("date_part", Literal(word), X)


def of(number: int | str) -> Literal:
    return Literal(Fraction(number) if isinstance(number, str) else number)


EXPRESSIONS = {
    "x + y - z": call("sub", call("add", X, Y), Z),
    "x * y / z": call("div", call("mul", X, Y), Z),
    "x // y % z": call("mod", call("intdiv", X, Y), Z),
    "x + y * z": call("add", X, call("mul", Y, Z)),
    "(x + y) * z": call("mul", call("add", X, Y), Z),
    "-x": call("neg", X),
    "- -x": call("neg", call("neg", X)),
    "+x": X,
    "-5": of(-5),
    "1.50": of("3/2"),
    ".5": of("1/2"),
    "2e-3": of("1/500"),
    "1_000": of(1000),
    "0.1": of("1/10"),
    "'it''s'": Literal("it's"),
    "TRUE": Literal(True),
    "false": Literal(False),
    "NULL": Literal(None),
    "$age": Parameter("age"),
    '"a b"': Name("a b"),
    't."a""b"': Name('a"b', "t"),
    "x = y": call("eq", X, Y),
    "x == y": call("eq", X, Y),
    "x <> y": call("ne", X, Y),
    "x != y": call("ne", X, Y),
    "x < y": call("lt", X, Y),
    "x <= y": call("le", X, Y),
    "x > y": call("gt", X, Y),
    "x >= y": call("ge", X, Y),
    "x AND y AND z": call("and", X, Y, Z),
    "x AND (y AND z)": call("and", X, Y, Z),
    "x OR y AND z": call("or", X, call("and", Y, Z)),
    "NOT x": call("not", X),
    "x IS NULL": call("is_null", X),
    "x IS NOT NULL": call("not", call("is_null", X)),
    "x IS TRUE": call("is_true", X),
    "x IS NOT FALSE": call("not", call("is_false", X)),
    "x IS DISTINCT FROM y": call("not", call("is_not_distinct", X, Y)),
    "x IS NOT DISTINCT FROM 'a'": call("is_not_distinct", X, TEXT),
    "x BETWEEN 1 AND y": call("between", X, of(1), Y),
    "x NOT BETWEEN 1 AND 2": call("not", call("between", X, of(1), of(2))),
    "x IN (1, 'a')": call("in", X, of(1), TEXT),
    "x NOT IN (1)": call("not", call("in", X, of(1))),
    "x LIKE 'a%'": call("like", X, Literal("a%")),
    "x NOT LIKE $p": call("not", call("like", X, Parameter("p"))),
    "starts_with(x, 'a')": call("like", X, Literal("a%")),
    "CASE WHEN x THEN 1 WHEN y THEN 2 ELSE z END": Case(((X, of(1)), (Y, of(2))), Z),
    "CASE x WHEN 1 THEN y END": Case(((call("eq", X, of(1)), Y),), None),
    "IF(x, y, z)": Case(((X, Y),), Z),
    "COALESCE(x, y, z)": call("coalesce", X, Y, Z),
    "IFNULL(x, y)": call("coalesce", X, Y),
    "NULLIF(x, 0)": call("nullif", X, of(0)),
    "LEAST(x, y)": call("least", X, Y),
    "GREATEST(x, y, z)": call("greatest", X, Y, Z),
    "ABS(x)": call("abs", X),
    "FLOOR(x)": call("floor", X),
    "CEIL(x)": call("ceil", X),
    "CEILING(x)": call("ceil", X),
    "ROUND(x)": call("round", X),
    "ROUND(x, 2)": call("round", X, of(2)),
    "TRUNC(x)": call("trunc", X),
    "SIGN(x)": call("sign", X),
    "MOD(x, y)": call("mod", X, Y),
    "EXTRACT(year FROM x)": part("year"),
    "EXTRACT(dow FROM x)": part("dayofweek"),
    "EXTRACT(doy FROM x)": part("dayofyear"),
    "date_part('month', x)": part("month"),
    "datepart('isodow', x)": part("isodow"),
    **{f"{word}(x)": part(word) for word in ("year", "quarter", "month", "week", "day", "dayofweek", "isodow")},
    **{f"{word}(x)": part(word) for word in ("dayofyear", "hour", "minute", "second")},
    "weekday(x)": part("dayofweek"),
    "weekofyear(x)": part("week"),
    "dayofmonth(x)": part("day"),
    "date_trunc('month', x)": call("date_trunc", Literal("month"), X),
    "date_trunc('week', x::DATE)": call("date_trunc", Literal("week"), call("cast_date", X)),
    "DATE '2026-01-31'": call("date", Literal("2026-01-31")),
    "CAST('2026-01-31' AS DATE)": call("date", Literal("2026-01-31")),
    "TIMESTAMP '2026-01-31 12:00:00'": call("timestamp", Literal("2026-01-31 12:00:00")),
    "CAST(x AS INTEGER)": call("cast_integer", X),
    "x::BIGINT": call("cast_integer", X),
    "CAST(x AS DOUBLE)": call("cast_real", X),
    "x::REAL": call("cast_real", X),
    "CAST(x AS DATE)": call("cast_date", X),
    "bin(x, 10)": call("bin", X, of(10)),
    "BIN(x, 0.5)": call("bin", X, of("1/2")),
    "FLOOR(x / 10) * 10": call("mul", call("floor", call("div", X, of(10))), of(10)),
    "COUNT(*)": COUNT,
    "COUNT(x)": call("count", X),
    "COUNT(DISTINCT x)": call("count_distinct", X),
    "SUM(x * y)": call("sum", call("mul", X, Y)),
    "AVG(x)": call("avg", X),
    "MEAN(x)": call("avg", X),
    "VARIANCE(x)": call("variance", X),
    "VAR_SAMP(x)": call("variance", X),
    "VAR_POP(x)": call("var_pop", X),
    "STDDEV(x)": call("stddev", X),
    "STDDEV_SAMP(x)": call("stddev", X),
    "STDDEV_POP(x)": call("stddev_pop", X),
    "MEDIAN(x)": call("median", X),
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)": call("percentile_cont", X, of("1/2")),
    "QUANTILE_CONT(x, 0.5)": call("percentile_cont", X, of("1/2")),
    "quantile(x, 0.5)": call("percentile_cont", X, of("1/2")),
    "COUNT(*) FILTER (WHERE x > 1)": call("filter", COUNT, call("gt", X, of(1))),
    "SUM(x) / COUNT(*)": call("div", call("sum", X), COUNT),
    "SQRT(SUM(x))": call("sqrt", call("sum", X)),
    "LN(SUM(x))": call("ln", call("sum", X)),
    "EXP(SUM(x))": call("exp", call("sum", X)),
    "POWER(SUM(x), 2)": call("power", call("sum", X), of(2)),
    "SUM(x) ** 2": call("power", call("sum", X), of(2)),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_one_tree(text: str) -> None:
    tree = expression(text)
    assert tree == EXPRESSIONS[text]
    assert repr(tree) == repr(EXPRESSIONS[text])  # Literal(1) is not Literal(True)


def select(*outputs: Node | Selected, source: object = None, **clauses: object) -> Select:
    shown = tuple(one if isinstance(one, Selected) else Selected(one, None) for one in outputs)
    return Select(shown, source or TableName("t", None), **clauses)  # type: ignore[arg-type]


T, U = TableName("t", None), TableName("u", None)
INNER = select(X, source=U)
QUESTIONS = {
    "SELECT x FROM t": select(X),
    "-- how many\nSELECT COUNT(*) /* all */ FROM t;": select(COUNT),
    'select count(*) n, x as "Geschlecht; --" from T': select(
        Selected(COUNT, "n"), Selected(X, "Geschlecht; --"), source=TableName("T", None)
    ),
    'SELECT v."x" FROM "t" AS v': select(Name("x", "v"), source=TableName("t", "v")),
    "SELECT x FROM t WHERE y GROUP BY x, 1, bin(y, 5) HAVING z": select(
        X, where=Y, group_by=(X, of(1), call("bin", Y, of(5))), having=Z
    ),
    "SELECT x FROM t ORDER BY x, 2 DESC, z NULLS FIRST, y ASC NULLS LAST": select(
        X,
        order_by=(
            Ordered(X, False, False),
            Ordered(of(2), True, False),
            Ordered(Z, False, True),
            Ordered(Y, False, False),
        ),
    ),
    "SELECT x FROM t LIMIT 5 OFFSET $n": select(X, limit=of(5), offset=Parameter("n")),
    "SELECT x FROM (SELECT x FROM u) AS v": select(X, source=Derived(INNER, "v")),
    "SELECT x FROM ((SELECT x FROM u)) v": select(X, source=Derived(INNER, "v")),
    "SELECT x FROM t JOIN u ON x = y": select(X, source=Joined(T, U, "inner", call("eq", X, Y), ())),
    "SELECT x FROM t INNER JOIN u USING (x, y)": select(X, source=Joined(T, U, "inner", None, ("x", "y"))),
    "SELECT x FROM t LEFT JOIN (SELECT x FROM u) v ON z": select(
        X, source=Joined(T, Derived(INNER, "v"), "left", Z, ())
    ),
    "SELECT x FROM t LEFT OUTER JOIN u USING (x) JOIN u AS w ON y": select(
        X, source=Joined(Joined(T, U, "left", None, ("x",)), TableName("u", "w"), "inner", Y, ())
    ),
    "WITH a AS (SELECT x FROM u), b AS (SELECT x FROM a) SELECT y FROM b": select(
        Y, source=TableName("b", None), named=(("a", INNER), ("b", select(X, source=TableName("a", None))))
    ),
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_has_one_tree(text: str) -> None:
    tree = parse(text)
    check_ours(tree)
    assert bare(tree) == QUESTIONS[text]


def test_everything_says_where_it_stands() -> None:
    tree = parse("SELECT ward,\n  AVG(cost + 1) AS c\nFROM visits AS v\nWHERE v.age > 3")
    ward, cost = tree.outputs
    assert (ward.at, ward.value.at) == (Position(1, 8), Position(1, 8))
    assert cost.value.at == Position(2, 3)
    assert isinstance(cost.value, Call)
    assert cost.value.arguments[0].at == Position(2, 7)  # that of its first part: the sign has none
    assert tree.source.at == Position(3, 6)
    assert tree.where is not None
    assert tree.where.at == Position(4, 7)
    assert parse("SELECT 1 + FLOOR(x) FROM t").outputs[0].value.arguments[1].at == Position(1, 12)  # type: ignore[union-attr]


def test_a_parameter_says_where_it_stands() -> None:
    where = parse("SELECT x FROM t WHERE x = '$age'\n AND y > $age").where
    assert isinstance(where, Call)
    assert where.arguments[1].arguments[1].at == Position(2, 10)  # type: ignore[union-attr]
