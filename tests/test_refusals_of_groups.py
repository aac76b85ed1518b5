"""What is refused of groups, tables and subqueries: and the remedy, asked instead, is accepted."""

from __future__ import annotations

import pytest

import discreet as dc
from tests.asked import plan
from tests.refusing import cases, check

REFUSED = cases(
    r"""
-- Keys.
SELECT id, COUNT(*) AS n FROM visits GROUP BY id
!1,000,000,001 values cannot be grouped by.*bin\(id, 10000000\)
>SELECT bin(id, 10000000) AS b, COUNT(*) AS n FROM visits GROUP BY b
SELECT moment, COUNT(*) AS n FROM visits GROUP BY moment
!date_trunc\('month', moment\)
>SELECT date_trunc('month', moment) AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward, old
!'old' in GROUP BY is not selected.*add old to the SELECT
>SELECT ward, old, COUNT(*) AS n FROM visits GROUP BY ward, old
SELECT ward, old, COUNT(*) AS n FROM visits GROUP BY ward
!'old' is neither grouped by nor inside an aggregate.*add old to GROUP BY
>SELECT ward, old, COUNT(*) AS n FROM visits GROUP BY ward, old
SELECT ward, COUNT(*) AS n FROM visits GROUP BY 3
!GROUP BY 3 names no output
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward, n
!GROUP BY has an aggregate.*HAVING
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3
SELECT 'x' AS x, COUNT(*) AS n FROM visits GROUP BY x
!cannot be grouped by.*leave it out
>SELECT 'x' AS x, COUNT(*) AS n FROM visits

-- Aggregates.
SELECT ward FROM visits GROUP BY ward
!counts and sums nothing.*COUNT\(\*\) AS n
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT SUM(COUNT(*)) AS s FROM visits
!cannot stand inside an aggregate
>SELECT COUNT(*) AS s FROM visits
SELECT COUNT(NULL) AS n FROM visits
!always 0
>SELECT COUNT(*) AS n FROM visits
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE old) AS n FROM visits
!FILTER of its own.*in WHERE
>SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE old
SELECT MEDIAN(born) AS m FROM visits
!46,386 days.*4,096.*x - DATE
>SELECT MEDIAN(born - DATE '2000-01-01') AS m FROM visits
SELECT MEDIAN(moment) AS m FROM visits
!CAST
>SELECT MEDIAN(CAST(moment AS DATE)) AS m FROM visits
SELECT MEDIAN(age * 0) AS m FROM visits
!has one value, and no quantile
>SELECT MEDIAN(age) AS m FROM visits
SELECT PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY age) AS m FROM visits
!constant from 0 to 1
>SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS m FROM visits
SELECT AVG(age) AS a, AVG(cost) AS A FROM visits
!two columns of the answer would be called 'A'
>SELECT AVG(age) AS a, AVG(cost) AS b FROM visits
SELECT COUNT(*) AS n, AVG(cost) AS n_error FROM visits
!would be called 'n_error'.*AS
>SELECT COUNT(*) AS n, AVG(cost) AS b FROM visits

-- Released values.
SELECT ward + COUNT(*) AS x FROM visits
!neither grouped by
>SELECT 1 + COUNT(*) AS x FROM visits
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n
!HAVING takes a condition, not a number
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING ward > 3
!a number and a text are compared
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING ward = 'icu'
SELECT ward, ward * COUNT(*) AS n FROM visits GROUP BY ward
!MUL takes a number, not a text
>SELECT ward, 2 * COUNT(*) AS n FROM visits GROUP BY ward
SELECT day, month(day) AS m, COUNT(*) AS n FROM visits GROUP BY day
!group by the whole expression
>SELECT day, month(day) AS m, COUNT(*) AS n FROM visits GROUP BY day, month(day)
SELECT COUNT(*) AS n FROM visits LIMIT 1.5
!LIMIT is a whole constant|LIMIT
>SELECT COUNT(*) AS n FROM visits LIMIT 10
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 7
!ORDER BY 7 names no output
>SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 2
SELECT ROUND(COUNT(*), COUNT(*)) AS n FROM visits
!digits of ROUND are a whole constant
>SELECT ROUND(COUNT(*), 2) AS n FROM visits

-- Tables.
SELECT COUNT(*) AS n FROM wards
!is public and no table about people
>SELECT COUNT(*) AS n FROM visits JOIN wards USING (ward)
SELECT COUNT(*) AS n FROM visits a JOIN visits b USING (patient_id)
!joined with itself.*CASE or FILTER
>SELECT COUNT(*) FILTER (WHERE old) AS n FROM visits
SELECT COUNT(*) AS n FROM visits JOIN stays USING (ward)
!something else than their unit.*USING \(patient_id\)
>SELECT COUNT(*) AS n FROM visits JOIN stays USING (patient_id)
SELECT COUNT(*) AS n FROM visits v JOIN rows r ON v.age = r.age
!something else than their unit.*declare unit=
>SELECT COUNT(*) AS n FROM visits
SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.age > w.beds
!not joined on a column of its own.*USING \(ward\)
>SELECT COUNT(*) AS n FROM visits v JOIN wards w USING (ward)
SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.code = w.name
!declare both columns alike
>SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward
SELECT COUNT(*) AS n FROM visits v LEFT JOIN wards w ON v.ward = w.ward AND v.old
!condition besides the equality.*CASE WHEN
>SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward AND v.old
SELECT COUNT(*) AS n FROM wards w LEFT JOIN visits v ON v.ward = w.ward
!begins with a public table.*about people first
>SELECT COUNT(*) AS n FROM visits v LEFT JOIN wards w ON v.ward = w.ward
SELECT COUNT(*) AS n FROM visits v LEFT JOIN (SELECT ward FROM wards WHERE surgical) w ON v.ward = w.ward
!after LEFT JOIN is more than a table
>SELECT COUNT(*) AS n FROM visits v LEFT JOIN wards w ON v.ward = w.ward WHERE w.surgical
SELECT COUNT(*) AS n FROM wards w JOIN regions r USING (beds) JOIN visits v ON v.ward = w.ward
!begins with a public table
>SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward JOIN regions r USING (beds)
SELECT COUNT(DISTINCT s.patient_id) AS n FROM visits v LEFT JOIN stays s ON s.patient_id = v.patient_id
!missing in some rows.*count that of the first
>SELECT COUNT(DISTINCT v.patient_id) AS n FROM visits v LEFT JOIN stays s ON s.patient_id = v.patient_id
SELECT COUNT(*) AS n FROM visits v LEFT JOIN stays s USING (patient_id) JOIN rows r ON r.age = v.age
!something else than their unit
>SELECT COUNT(*) AS n FROM visits v LEFT JOIN stays s USING (patient_id)

-- Subqueries.
SELECT COUNT(*) AS n FROM (SELECT ward, COUNT(*) AS c FROM visits GROUP BY ward) x
!has GROUP BY.*group in the outer
>SELECT ward, COUNT(*) AS c FROM visits GROUP BY ward
SELECT COUNT(*) AS n FROM (SELECT COUNT(*) AS c FROM visits) x
!cannot stand inside a subquery
>SELECT COUNT(*) AS n FROM visits
SELECT COUNT(*) AS n FROM (SELECT age FROM visits LIMIT 3) x
!has LIMIT.*by their order
>SELECT COUNT(*) AS n FROM (SELECT age FROM visits) x LIMIT 3
SELECT COUNT(*) AS n FROM (SELECT age FROM visits ORDER BY age) x
!has ORDER BY
>SELECT COUNT(*) AS n FROM (SELECT age FROM visits) x
SELECT COUNT(*) AS n FROM (SELECT age + 1 FROM visits) x
!has no name.*AS
>SELECT COUNT(*) AS n FROM (SELECT age + 1 AS a FROM visits) x
SELECT COUNT(*) AS n FROM (SELECT age, cost AS age FROM visits) x
!two outputs of a subquery
>SELECT COUNT(*) AS n FROM (SELECT age, cost FROM visits) x
SELECT SUM(cost) AS s FROM (SELECT age FROM visits) x
!subquery 'x' has no output 'cost'.*it has age
>SELECT SUM(cost) AS s FROM (SELECT age, cost FROM visits) x
WITH x AS (SELECT age FROM visits) SELECT COUNT(*) AS n FROM visits
!WITH is not used
>WITH x AS (SELECT age FROM visits) SELECT COUNT(*) AS n FROM x
"""
)


@pytest.mark.parametrize(("text", "said", "instead"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_the_refusal_has_a_reason_and_a_remedy(text: str, said: str, instead: str) -> None:
    check(text, said, instead)


def test_a_message_shows_little_of_what_was_written() -> None:
    long = "x" * 190
    with pytest.raises(dc.Refused) as caught:
        plan(f'SELECT COUNT(*) AS n FROM visits WHERE "{long}" > 3')
    assert "x" * 61 not in str(caught.value)


@pytest.mark.parametrize("doubled", ["x + x AS x", "CASE WHEN x > 3 THEN x ELSE x + 1 END AS x", "NULLIF(x, x) AS x"])
def test_subqueries_that_double_an_expression_are_refused_in_time(doubled: str) -> None:
    named = ["x0 AS (SELECT age AS x FROM visits)"]
    named += [f"x{i + 1} AS (SELECT {doubled} FROM x{i})" for i in range(30)]
    with pytest.raises(dc.NotSupported, match=r"operations for each row|levels deep|2\^62"):
        plan(f"WITH {', '.join(named)} SELECT SUM(x) AS s FROM x30")


def test_subqueries_that_double_a_table_are_refused_in_time() -> None:
    named = ["x0 AS (SELECT w.ward AS ward FROM wards w)"]
    named += [f"x{i + 1} AS (SELECT a.ward AS ward FROM x{i} a JOIN x{i} b ON a.ward = b.ward)" for i in range(18)]
    with pytest.raises(dc.NotSupported, match="begins with a public table"):
        plan(f"WITH {', '.join(named)} SELECT COUNT(*) AS n FROM visits v JOIN x18 ON x18.ward = v.ward")
