"""From a question to a plan: what is read, grouped, measured and shown."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

import discreet as dc
from discreet import dp
from discreet.engine.bound import bound
from discreet.engine.expression import Arithmetic, Case, Number, Truncated
from discreet.engine.plan import (
    Computed,
    Distinct,
    Given,
    Histogram,
    KeyOf,
    MeanOf,
    Measure,
    Present,
    QuantileOf,
    Released,
    Rows,
    SpreadOf,
    Total,
    Units,
)
from tests.asked import number, plan


def measures(aggregates: str) -> tuple[Measure, ...]:
    return plan(f"SELECT {aggregates} FROM visits").measures


def formula(aggregate: str) -> Any:
    return plan(f"SELECT {aggregate} AS f FROM visits").outputs[0].formula


class TestKeys:
    @pytest.mark.parametrize(
        ("text", "values", "codes"),
        [
            ("ward", ("north", "south", "icu"), (0, 1, 2)),
            ("grade", (3, 1, 7), (0, 1, 2)),
            ("old", (False, True), (0, 1)),
            ("income", (5.0, 30.0), (0, 1)),
            ("age // 50", (0, 1, 2), (0, 1, 2)),
            ("age // 50 * 50", (0, 50, 100), (0, 1, 2)),
            ("GREATEST(age, 107) / 2", (53.5, 54.0, 54.5, 55.0), (107, 108, 109, 110)),
            ("quarter(day)", (1, 2, 3, 4), (1, 2, 3, 4)),
            ("COALESCE(ward, 'unknown')", ("north", "south", "icu", "unknown"), (0, 1, 2, 3)),
            ("CASE WHEN old THEN 'b' ELSE 'a' END", ("b", "a"), (0, 1)),
            ("CASE WHEN old THEN 100 WHEN age > 3 THEN -5 END", (-5, 100), (-1, 20)),
            ("bin(age, 50)", (25.0, 75.0, 125.0), (0, 1, 2)),
            ("bin(balance, 500)", (-750.0, -250.0, 250.0), (0, 1, 2)),
            ("date_trunc('year', day)", (date(2023, 1, 1), date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1)), None),
            ("date_trunc('year', moment)", tuple(datetime(year, 1, 1) for year in (2023, 2024, 2025)), None),
            ("LEAST(day, DATE '2023-11-21')", (date(2023, 11, 20), date(2023, 11, 21)), None),
        ],
    )
    def test_a_key_has_every_declared_value(self, text: str, values: tuple[Any, ...], codes: tuple[int, ...]) -> None:
        [key] = plan(f"SELECT {text} AS k, COUNT(*) AS n FROM visits GROUP BY k").keys
        assert key.values is not None
        assert key.codes is not None
        assert tuple(key.values) == values
        assert [type(value) for value in key.values] == [type(value) for value in values]
        assert len(key.codes) == len(values)
        if codes is not None:
            assert tuple(key.codes) == codes

    def test_months_weeks_and_hours_are_listed_once(self) -> None:
        for unit, count in (("month", 29), ("week", 121), ("quarter", 10)):
            [key] = plan(f"SELECT date_trunc('{unit}', day) AS k, COUNT(*) AS n FROM visits GROUP BY 1").keys
            assert key.values is not None
            assert len(key.values) == len(set(key.values)) == count
        [hours] = plan("SELECT other AS k, COUNT(*) AS n FROM visits GROUP BY 1").keys
        assert hours.values is not None
        assert hours.values[:2] == (datetime(2024, 1, 1), datetime(2024, 1, 1, 1))
        assert len(hours.values) == 517 * 24 + 1

    def test_a_text_is_a_private_key(self) -> None:
        [key] = plan("SELECT code, COUNT(*) AS n FROM visits GROUP BY code").keys
        assert key.is_private
        [named] = plan("SELECT COALESCE(code, '-') AS c, COUNT(*) AS n FROM visits GROUP BY c").keys
        assert named.is_private

    @pytest.mark.parametrize(
        "text",
        [
            "SELECT ward, old, COUNT(*) AS n FROM visits GROUP BY ward, old",
            "SELECT old, ward, COUNT(*) AS m FROM visits GROUP BY 2, 1",
            "SELECT v.Ward AS w, OLD AS o, COUNT(*) FROM VISITS AS v GROUP BY o, w, v.ward",
            "SELECT ward, old, COUNT(*) * 2 AS n FROM visits GROUP BY old, ward HAVING COUNT(*) > 3 ORDER BY n LIMIT 1",
            "SELECT x.w, x.old, COUNT(*) AS n FROM (SELECT ward AS w, old FROM visits) x GROUP BY x.w, x.old",
            "WITH x AS (SELECT old, ward FROM visits) SELECT ward, old, COUNT(*) AS n FROM x GROUP BY ward, old",
        ],
    )
    def test_wording_changes_nothing_that_is_measured(self, text: str) -> None:
        first = plan("SELECT ward, old, COUNT(*) AS n FROM visits GROUP BY ward, old")
        found = plan(text)
        assert (found.relation, found.where, repr(found.keys), found.measures) == (
            first.relation,
            first.where,
            repr(first.keys),
            first.measures,
        )
        one, other = (bound(p, neighbours=dp.Neighbours.ADD_REMOVE).question for p in (first, found))
        assert one == other

    def test_a_column_comes_before_the_name_of_an_output(self) -> None:
        found = plan("SELECT ward, age // 50 AS grade, COUNT(*) AS n FROM visits GROUP BY ward, age // 50")
        assert len(found.keys) == 2
        with pytest.raises(dc.NotSupported, match="neither grouped by"):
            plan("SELECT origin AS ward, COUNT(*) AS n FROM visits GROUP BY ward")


class TestMeasures:
    def test_counts(self) -> None:
        assert measures("COUNT(*)") == measures("COUNT(1)") == measures("COUNT(patient_id)") == (Rows(),)
        assert isinstance(measures("COUNT(age)")[0], Present)
        assert measures("COUNT(DISTINCT patient_id)") == (Units(),)
        assert isinstance(measures("COUNT(DISTINCT ward)")[0], Distinct)
        assert isinstance(measures("COUNT(DISTINCT old)")[0], Distinct)
        assert isinstance(measures("COUNT(DISTINCT code) FILTER (WHERE old)")[0], Distinct)

    def test_a_filter_is_a_case_inside(self) -> None:
        [rows] = measures("COUNT(*) FILTER (WHERE age > 3)")
        assert isinstance(rows, Present)
        assert isinstance(rows.expression, Case)
        assert measures("SUM(age) FILTER (WHERE old)") == measures("SUM(CASE WHEN old THEN age END)")
        assert measures("COUNT(*) FILTER (WHERE TRUE)") == (Rows(),)

    def test_a_mean_is_measured_from_the_middle(self) -> None:
        found = plan("SELECT AVG(balance) AS a FROM visits")
        mean = found.outputs[0].formula
        assert isinstance(mean, MeanOf)
        total, present = found.measures[mean.total], found.measures[mean.present]
        assert mean.centre == -200
        assert isinstance(total, Total)
        assert total.expression.kind == Number(Fraction(1), -500, 500)
        assert isinstance(present, Present)

    def test_a_total_that_is_asked_serves_the_mean(self) -> None:
        found = plan("SELECT AVG(cost) AS a, SUM(cost) AS s, COUNT(cost) AS n FROM visits")
        assert len(found.measures) == 2
        mean = found.outputs[0].formula
        assert isinstance(mean, MeanOf)
        assert mean.centre == 0
        assert found.outputs[1].formula == Released(mean.total)
        assert found.outputs[2].formula == Released(mean.present)

    @pytest.mark.parametrize(
        ("name", "population", "root"),
        [("VARIANCE", False, False), ("VAR_POP", True, False), ("STDDEV", False, True), ("STDDEV_POP", True, True)],
    )
    def test_a_spread_has_totals_around_one_centre(self, name: str, population: bool, root: bool) -> None:
        found = plan(f"SELECT {name}(age) AS v, AVG(age) AS a FROM visits")
        spread, mean = (output.formula for output in found.outputs)
        assert isinstance(spread, SpreadOf)
        assert isinstance(mean, MeanOf)
        assert (spread.population, spread.root) == (population, root)
        assert (spread.total, spread.present) == (mean.total, mean.present)
        squares = found.measures[spread.squares]
        assert isinstance(squares, Total)
        assert squares.expression.kind == Number(Fraction(1), 0, 55 * 55)

    def test_a_square_of_large_numbers_is_made_coarser(self) -> None:
        found = plan("SELECT VARIANCE(huge) AS v FROM visits")
        assert isinstance(found.outputs[0].formula, SpreadOf)
        bound(found, neighbours=dp.Neighbours.ADD_REMOVE)  # its sums fit 62 bits
        [total, squares] = [m.expression.kind for m in found.measures if isinstance(m, Total)]
        assert isinstance(total, Number)
        assert isinstance(squares, Number)
        assert sorted([total.most, squares.most]) == [2**23, 2**46]
        assert {total.step, squares.step} == {Fraction(2**30), Fraction(2**60)}

    @pytest.mark.parametrize(
        ("aggregate", "share", "bins"),
        [
            ("MEDIAN(age)", Fraction(1, 2), dp.Integer(0, 110)),
            ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)", Fraction(9, 10), dp.Integer(0, 110)),
            ("MEDIAN(balance)", Fraction(1, 2), dp.Integer(-700, 300)),
            ("MEDIAN(day)", Fraction(1, 2), dp.Date(date(2023, 11, 20), date(2026, 3, 9))),
            ("MEDIAN(age / 2)", Fraction(1, 2), dp.Bins([Fraction(i, 2) - Fraction(1, 4) for i in range(112)])),
        ],
    )
    def test_a_quantile_is_of_a_histogram(self, aggregate: str, share: Fraction, bins: object) -> None:
        found = plan(f"SELECT {aggregate} AS q FROM visits")
        assert found.outputs[0].formula == QuantileOf(0, share)
        [histogram] = found.measures
        assert isinstance(histogram, Histogram)
        assert histogram.bins == bins
        kind = histogram.expression.kind
        assert isinstance(kind, Number)
        assert (kind.low, kind.high) == (0, histogram.bins.declared - 1)

    def test_a_wide_range_has_4096_bins_at_most(self) -> None:
        [histogram] = measures("MEDIAN(cost)")
        assert isinstance(histogram, Histogram)
        assert isinstance(histogram.bins, dp.Bins)
        assert histogram.bins.declared == 3847  # 50,001 values, 13 in each
        assert histogram.expression.kind == Number(Fraction(1), 0, 3846)
        assert histogram.bins.edges[:2] == (Fraction(-5, 1000), Fraction(125, 1000))

    def test_equal_aggregates_are_measured_once_in_one_order(self) -> None:
        one = plan("SELECT SUM(cost) AS a, COUNT(*) AS n, SUM(age) AS b, COUNT(*) AS m FROM visits")
        two = plan("SELECT COUNT(*) AS n, SUM(age) AS b, SUM(cost + 0) AS a FROM visits")
        assert len(one.measures) == 3
        assert one.measures == two.measures
        assert one.outputs[0].formula == two.outputs[2].formula


class TestShown:
    def test_arithmetic_having_order_and_limit_are_formulas(self) -> None:
        found = plan(
            "SELECT ward, SUM(cost) / COUNT(*) AS each, ROUND(AVG(age), 1) AS age FROM visits GROUP BY ward "
            "HAVING COUNT(*) > 100 AND ward <> 'icu' ORDER BY each DESC NULLS FIRST, ward, 3 LIMIT 5 OFFSET 2"
        )
        ward, each, age = (output.formula for output in found.outputs)
        assert ward == KeyOf(0)
        assert isinstance(each, Computed)
        assert each.function == "div"
        assert isinstance(age, Computed)
        assert age.operands[1] == Given(1)
        assert isinstance(found.having, Computed)
        assert found.having.operands[1] == Computed("ne", (KeyOf(0), Given("icu")))
        assert [(order.formula, order.descending, order.nulls_first) for order in found.order_by] == [
            (each, True, True),
            (ward, False, False),
            (age, False, False),
        ]
        assert (found.limit, found.offset) == (5, 2)

    def test_dates_in_having(self) -> None:
        found = plan("SELECT day, COUNT(*) AS n FROM visits GROUP BY day HAVING day >= '2024-01-01'")
        assert found.having == Computed("ge", (KeyOf(0), Given(date(2024, 1, 1))))

    def test_case_and_keys_in_a_formula(self) -> None:
        found = plan("SELECT old, CASE WHEN old THEN COUNT(*) ELSE NULL END AS n FROM visits GROUP BY old")
        assert found.outputs[1].formula == Computed("case", (KeyOf(0), Released(0), Given(None)))

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("ward, COUNT(*)", ["ward", "count"]),
            ("WARD, COUNT(DISTINCT patient_id), SUM(age), AVG(age)", ["ward", "count", "sum", "avg"]),
            ("ward AS w, COUNT(*) FILTER (WHERE old), MEDIAN(age)", ["w", "count", "median"]),
            ('ward, COUNT(*) + 1, COUNT(*) AS "n; --"', ["ward", "value", "n; --"]),
            ("ward, CASE WHEN COUNT(*) > 3 THEN 1 END, STDDEV(age)", ["ward", "case", "stddev"]),
        ],
    )
    def test_names(self, text: str, names: list[str]) -> None:
        assert [output.name for output in plan(f"SELECT {text} FROM visits GROUP BY ward").outputs] == names

    def test_a_question_may_measure_in_having_alone(self) -> None:
        assert plan("SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 3").measures == (Rows(),)


def test_a_sum_and_its_key_have_the_same_expression() -> None:
    assert isinstance(number("age + 1"), Arithmetic)
    [key] = plan("SELECT date_trunc('week', moment) AS k, COUNT(*) AS n FROM visits GROUP BY k").keys
    assert isinstance(key.expression, Truncated)
