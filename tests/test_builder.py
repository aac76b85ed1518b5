"""The builder: the same tree as SQL, one new object for each step, and mistakes that are said."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.engine.builder import Query, table_query
from discreet.engine.parser import parse
from discreet.engine.syntax import Literal, Select
from discreet.engine.term_values import node_of
from discreet.engine.terms import Term
from discreet.engine.written import sql_of
from tests.sql_trees import bare, check_ours


class Asker:
    """Remembers what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Select, dict[str, Any]]] = []

    def ask(self, select: Select, **offer: Any) -> str:
        self.asked.append(("ask", select, {name: value for name, value in offer.items() if value is not None}))
        return "an answer"

    def quote(self, select: Select, **offer: Any) -> str:
        self.asked.append(("quote", select, {name: value for name, value in offer.items() if value is not None}))
        return "a quote"


VISITS = table_query(Asker(), "visits")
WARDS = table_query(Asker(), "wards")
AGE, COST, DAY = dc.col("age"), dc.col("cost"), dc.col("day")

TERMS: dict[str, Term] = {
    "age + 1 - cost * 2": AGE + 1 - COST * 2,
    "1 + age": 1 + AGE,
    "100 - age": 100 - AGE,
    "2 * age / cost": 2 * AGE / COST,
    "1 / age": 1 / AGE,
    "age // 10 % 3": AGE // 10 % 3,
    "7 // age + 7 % age": 7 // AGE + 7 % AGE,
    "-age": -AGE,
    "ABS(age)": abs(AGE),
    "age = 3": AGE == 3,
    "ward <> 'it''s'": dc.col("ward") != "it's",
    "age < 3 OR age <= cost": (AGE < 3) | (AGE <= COST),
    "age > 3 AND age >= 3.5 AND TRUE": (AGE > 3) & (AGE >= 3.5) & True,
    "FALSE OR age > 3": False | (AGE > 3),
    "NOT age > 3": ~(AGE > 3),
    "age IS NULL": AGE.is_null(),
    "age IS NOT NULL": ~AGE.is_null(),
    "ok IS TRUE": dc.col("ok").is_true(),
    "ok IS FALSE": dc.col("ok").is_false(),
    "age IS NOT DISTINCT FROM NULL": AGE.is_same_as(None),
    "ward IN ('a', 'b')": dc.col("ward").is_in(["a", "b"]),
    "age NOT IN (1, 2)": ~AGE.is_in((1, 2)),
    "age BETWEEN 1 AND cost": AGE.between(1, COST),
    "code LIKE 'J0%'": dc.col("code").starts_with("J0"),
    "bin(age, 10)": AGE.bin(10),
    "bin(cost, 0.5)": COST.bin(0.5),
    "year(day)": DAY.part("year"),
    "EXTRACT(isodow FROM day)": DAY.part("isodow"),
    "date_trunc('month', day)": DAY.truncated("month"),
    "COALESCE(cost, age, 0)": COST.coalesce(AGE, 0),
    "NULLIF(cost, 0)": COST.null_if(0),
    "GREATEST(LEAST(cost, 100), 0)": COST.at_most(100).at_least(0),
    "FLOOR(cost) + CEIL(cost) + TRUNC(cost) + SIGN(cost)": COST.floor() + COST.ceil() + COST.trunc() + COST.sign(),
    "ROUND(cost) + ROUND(cost, 1)": COST.round() + COST.round(1),
    "CAST(age AS BIGINT) + CAST(age AS DOUBLE)": AGE.as_integer() + AGE.as_real(),
    "CAST(day AS DATE)": DAY.as_date(),
    "day >= DATE '2026-01-31'": datetime.date(2026, 1, 31) <= DAY,
    "day >= TIMESTAMP '2026-01-31 09:05:00'": datetime.datetime(2026, 1, 31, 9, 5) <= DAY,
    "DATE '2026-01-31' - day": datetime.date(2026, 1, 31) - DAY,
    "cost > 0.1": Decimal("0.1") < COST,
    "age > 60": np.int64(60) < AGE,
    "visits.age": dc.col("age", table="visits"),
    "CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END": dc.when(AGE < 18)
    .then("child")
    .when(AGE < 65)
    .then("adult")
    .otherwise("old"),
    "CASE WHEN age < 18 THEN cost END": dc.when(AGE < 18).then(COST),
    "COUNT(*)": dc.count(),
    "COUNT(cost)": dc.count("cost"),
    "COUNT(DISTINCT patient)": dc.count_distinct("patient"),
    "SUM(cost * 2) / COUNT(*)": dc.sum(COST * 2) / dc.count(),
    "AVG(cost) + VARIANCE(cost) + STDDEV(cost)": dc.mean("cost") + dc.variance("cost") + dc.stddev("cost"),
    "MEDIAN(age)": dc.median("age"),
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)": dc.quantile("age", 0.9),
    "SUM(cost) FILTER (WHERE age > 3)": dc.sum("cost").where(AGE > 3),
    "COUNT(*) FILTER (WHERE age > 3 AND age < 9)": dc.count().where(AGE > 3).where(AGE < 9),
    "SQRT(SUM(cost)) + LN(SUM(cost)) + EXP(SUM(cost))": dc.sum("cost").sqrt()
    + dc.sum("cost").ln()
    + dc.sum("cost").exp(),
    "SUM(cost) ** 2": dc.sum("cost") ** 2,
}
QUESTIONS: dict[str, Query] = {
    "SELECT COUNT(*) FROM visits": VISITS.agg(dc.count()),
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE age >= 60 GROUP BY ward": VISITS.where(AGE >= 60)
    .group_by("ward")
    .agg(n=dc.count(), cost=dc.mean("cost")),
    "SELECT ward FROM visits GROUP BY ward": VISITS.group_by("ward"),
    "SELECT bin(age, 10) AS decade, sex, COUNT(*) AS n FROM visits GROUP BY bin(age, 10), sex": VISITS.group_by(
        decade=AGE.bin(10)
    )
    .group_by(dc.col("sex"))
    .agg(n=dc.count()),
    "SELECT COUNT(*) AS n FROM visits WHERE age > 1 AND cost > 2 AND sex = 'F'": VISITS.where(AGE > 1, COST > 2)
    .where(dc.col("sex") == "F")
    .agg(n=dc.count()),
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 9 AND n < 99 ORDER BY n DESC, ward LIMIT 3 "
    "OFFSET 1": VISITS.group_by("ward")
    .agg(n=dc.count())
    .having(dc.count() > 9, dc.col("n") < 99)
    .order_by("n", descending=True)
    .order_by("ward")
    .limit(3, offset=1),
    "SELECT COUNT(*) AS n FROM visits ORDER BY n DESC NULLS FIRST, n": VISITS.agg(n=dc.count()).order_by(
        dc.col("n").descending(nulls_first=True), dc.col("n").ascending()
    ),
    "SELECT floor, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY floor": VISITS.join("wards", on="ward")
    .group_by("floor")
    .agg(n=dc.count()),
    "SELECT COUNT(*) AS n FROM visits AS v LEFT JOIN wards AS w ON v.ward = w.name": VISITS.alias("v")
    .join(WARDS.alias("w"), on=dc.col("ward", table="v") == dc.col("name", table="w"), how="left")
    .agg(n=dc.count()),
    "SELECT COUNT(*) AS n FROM visits JOIN wards USING (ward, day) JOIN beds USING (bed)": VISITS.join(
        WARDS, on=["ward", "day"]
    )
    .join("beds", on="bed")
    .agg(n=dc.count()),
    "SELECT AVG(n) AS m FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS counts": VISITS.group_by("ward")
    .agg(n=dc.count())
    .alias("counts")
    .agg(m=dc.mean("n")),
}


@pytest.mark.parametrize("text", TERMS)
def test_an_expression_is_the_same_in_sql(text: str) -> None:
    wanted = bare(parse(f"SELECT {text} FROM t").outputs[0].value)
    assert TERMS[text].node == wanted
    assert parse(f"SELECT {TERMS[text]!r:.500}".replace("<", "", 1).rstrip(">") + " FROM t")  # what it prints is SQL


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_the_same_in_sql(text: str) -> None:
    tree = QUESTIONS[text].select_tree()
    check_ours(tree)
    assert tree == bare(parse(text))
    assert bare(parse(QUESTIONS[text].sql())) == tree
    assert repr(QUESTIONS[text]) == f'Query("{sql_of(tree)}")'


def test_each_step_is_a_new_question() -> None:
    first = VISITS.group_by("ward")
    more, other = first.agg(n=dc.count()), first.agg(m=dc.mean("cost"))
    assert len({id(VISITS), id(first), id(more), id(other)}) == 4
    assert [len(query.select_tree().outputs) for query in (first, more, other)] == [1, 2, 2]
    assert repr(VISITS) == 'Query("FROM visits")'
    with pytest.raises(AttributeError):
        VISITS._limit = 3  # type: ignore[misc]


def test_whoever_made_the_question_is_asked() -> None:
    asker = Asker()
    query = table_query(asker, "visits").agg(n=dc.count())
    assert query.ask(epsilon=0.1) == "an answer"
    assert query.quote(within=50) == "a quote"
    tree = query.select_tree()
    stated: dict[str, Any] = {"confidence": 0.95, "joint": False}
    assert asker.asked == [("ask", tree, stated | {"epsilon": 0.1}), ("quote", tree, stated | {"within": 50})]


def test_numbers_are_what_is_written() -> None:
    for value, wanted in ((0.1, Fraction(1, 10)), (Fraction(1, 3), Fraction(1, 3)), (np.float64(0.25), Fraction(1, 4))):
        assert node_of(value) == Literal(wanted)
    assert repr(COST * Fraction(1, 3)) == "<(cost * (1 / 3))>"


MISTAKES: dict[str, Callable[[], object]] = {
    "combine conditions with &": lambda: (AGE > 3) and (AGE < 9),
    "write x.between": lambda: 3 < AGE < 9,
    "neither true nor false": lambda: not AGE,
    "is not a list": lambda: list(AGE),  # type: ignore[call-overload]
    "at least one value": lambda: AGE.is_in([]),
    "a list of": lambda: AGE.is_in("abc"),
    r"write \.is_null\(\)": lambda: AGE == None,  # noqa: E711
    "without %": lambda: AGE.starts_with("a%"),
    "no value of a question": lambda: AGE + object(),  # type: ignore[operator]
    "write a number, a text": lambda: AGE + float("nan"),
    "array": lambda: AGE + np.arange(3),  # type: ignore[operator]
    "leave out its zone": lambda: DAY - datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "no text has": lambda: AGE == "a\0",
    "1 to 200 printable": lambda: dc.col(""),
    "printable characters, not 3": lambda: dc.mean(3),  # type: ignore[arg-type]
    "a condition is": lambda: VISITS.where("age > 3"),  # type: ignore[arg-type]
    "agg takes aggregates": lambda: VISITS.agg(n="cost"),  # type: ignore[arg-type]
    "asks for nothing": lambda: VISITS.where(AGE > 3).select_tree(),
    'how is "inner" or "left"': lambda: VISITS.join("wards", on="ward", how="outer"),  # type: ignore[arg-type]
    "join comes before": lambda: VISITS.where(AGE > 3).join("wards", on="ward"),
    "at least one column": lambda: VISITS.join("wards", on=[]),
    "needs a name": lambda: VISITS.join(WARDS.group_by("ward"), on="ward"),
    "whole numbers from 0": lambda: VISITS.agg(dc.count()).limit(-1),
    "whole numbers from 0, not True": lambda: VISITS.agg(dc.count()).limit(True),
    "a name is a text": lambda: VISITS.order_by(3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("said", MISTAKES)
def test_a_mistake_is_said(said: str) -> None:
    with pytest.raises(dc.InvalidParameter, match=said):
        MISTAKES[said]()


def test_a_term_has_no_hash() -> None:
    with pytest.raises(TypeError):
        {AGE: 1}  # noqa: B018
