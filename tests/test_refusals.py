"""What is refused of rows: and the remedy, asked instead, is accepted."""

from __future__ import annotations

import pytest

from tests.refusing import cases, check

REFUSED = cases(
    r"""
-- Names.
SELECT COUNT(*) AS n FROM visits WHERE weight > 3
!declares no column 'weight' \(line 1, column 40\); it declares
>SELECT COUNT(*) AS n FROM visits WHERE age > 3
SELECT x.age, COUNT(*) AS n FROM visits v GROUP BY x.age
!no table is called 'x'.*one of v
>SELECT v.age, COUNT(*) AS n FROM visits v GROUP BY v.age
SELECT COUNT(*) AS n FROM visit
!no table 'visit'.*write one of: visits
>SELECT COUNT(*) AS n FROM visits
SELECT ward, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY ward
!'ward' is a column of several tables.*write v\.ward or w\.ward
>SELECT v.ward, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY v.ward
SELECT colour, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY colour
!none of the tables v, w declares
>SELECT old, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY old
SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id
!is the unit, whose values are private.*write COUNT\(DISTINCT patient_id\)
>SELECT COUNT(DISTINCT patient_id) AS n FROM visits
SELECT COUNT(*) AS n FROM visits v JOIN stays v USING (patient_id)
!two tables are called 'v'
>SELECT COUNT(*) AS n FROM visits v JOIN stays s USING (patient_id)

-- Arithmetic.
SELECT SUM(huge * huge) AS s FROM visits
!more than 2\^62 steps of 1 \(line 1.*LEAST
>SELECT SUM(LEAST(huge, 1000) % 1000 * age) AS s FROM visits
SELECT SUM(ward) AS s FROM visits
!SUM takes a number, not a category
>SELECT SUM(age) AS s FROM visits
SELECT SUM(old) AS s FROM visits
!not a truth value.*CASE WHEN ... THEN 1 ELSE 0
>SELECT SUM(CASE WHEN old THEN 1 ELSE 0 END) AS s FROM visits
SELECT SUM(day) AS s FROM visits
!SUM takes a number, not a date.*x - DATE
>SELECT SUM(day - DATE '2000-01-01') AS s FROM visits
SELECT SUM(5) AS s FROM visits
!constant needs no rows.*COUNT\(\*\)
>SELECT COUNT(*) * 5 AS s FROM visits
SELECT SUM(CAST(cost AS INTEGER)) AS s FROM visits
!have to round it.*FLOOR\(x\), ROUND
>SELECT SUM(ROUND(cost)) AS s FROM visits
SELECT SUM(ROUND(cost, age)) AS s FROM visits
!digits of a rounding.*ROUND\(x, 2\)
>SELECT SUM(ROUND(cost, 2)) AS s FROM visits
SELECT SUM(SQRT(cost)) AS s FROM visits
!SQRT is not offered on rows.*SQRT\(SUM\(x\)\)
>SELECT SQRT(SUM(cost)) AS s FROM visits
SELECT bin(cost, 0) AS b, COUNT(*) AS n FROM visits GROUP BY b
!width of bins is a constant above 0
>SELECT bin(cost, 10) AS b, COUNT(*) AS n FROM visits GROUP BY b
SELECT bin(id, 1) AS b, COUNT(*) AS n FROM visits GROUP BY b
!bins and 1,000,000 are allowed.*greater width
>SELECT bin(id, 10000) AS b, COUNT(*) AS n FROM visits GROUP BY b
SELECT bin(day, 7) AS b, COUNT(*) AS n FROM visits GROUP BY b
!date_trunc
>SELECT date_trunc('week', day) AS b, COUNT(*) AS n FROM visits GROUP BY b

-- Comparisons.
SELECT COUNT(*) AS n FROM visits WHERE ward > 'a'
!has no order here.*IN \(
>SELECT COUNT(*) AS n FROM visits WHERE ward IN ('north', 'icu')
SELECT COUNT(*) AS n FROM visits WHERE code < 'a'
!texts have no order
>SELECT COUNT(*) AS n FROM visits WHERE code IN ('a', 'b')
SELECT COUNT(*) AS n FROM visits WHERE code LIKE '%a'
!only the beginning.*one % at its end
>SELECT COUNT(*) AS n FROM visits WHERE code LIKE 'a%'
SELECT COUNT(*) AS n FROM visits WHERE ward LIKE origin
!LIKE takes a constant pattern
>SELECT COUNT(*) AS n FROM visits WHERE ward LIKE 'A%'
SELECT COUNT(*) AS n FROM visits WHERE ward = 3
!category of texts cannot be compared with a constant number
>SELECT COUNT(*) AS n FROM visits WHERE ward = '3'
SELECT COUNT(*) AS n FROM visits WHERE age = 'old'
!a number cannot be compared with a constant text
>SELECT COUNT(*) AS n FROM visits WHERE age = 65
SELECT COUNT(*) AS n FROM visits WHERE age
!WHERE takes a condition, not a number
>SELECT COUNT(*) AS n FROM visits WHERE age > 0
SELECT COUNT(*) AS n FROM visits WHERE old > FALSE
!truth values have no order.*write =
>SELECT COUNT(*) AS n FROM visits WHERE old = TRUE
SELECT COUNT(*) AS n FROM visits WHERE income = 5
!a bin is compared with nothing
>SELECT COUNT(*) AS n FROM visits WHERE cost = 5
SELECT COUNT(*) AS n FROM visits WHERE day > moment
!date is not compared with a timestamp.*CAST
>SELECT COUNT(*) AS n FROM visits WHERE day > CAST(moment AS DATE)
SELECT COUNT(*) AS n FROM visits WHERE other > moment
!two time zones
>SELECT COUNT(*) AS n FROM visits WHERE other > '2024-05-01'
SELECT COUNT(*) AS n FROM visits WHERE day > '1. May'
!'1. May' is not a date.*DATE '2026-01-31'
>SELECT COUNT(*) AS n FROM visits WHERE day > DATE '2026-01-31'
SELECT COUNT(*) AS n FROM visits WHERE moment > 'noon'
!not a timestamp.*TIMESTAMP '2026-01-31 17:00:00'
>SELECT COUNT(*) AS n FROM visits WHERE moment > TIMESTAMP '2026-01-31 17:00:00'
SELECT COUNT(*) AS n FROM visits WHERE COUNT(*) > 3
!COUNT cannot stand inside WHERE.*SELECT, HAVING
>SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 3

-- Dates.
SELECT SUM(hour(day)) AS s FROM visits
!a date has no hour.*dc.Datetime
>SELECT SUM(hour(moment)) AS s FROM visits
SELECT COUNT(*) AS n FROM visits WHERE moment - day > 3
!subtract days: CAST
>SELECT COUNT(*) AS n FROM visits WHERE CAST(moment AS DATE) - day > 3
SELECT COUNT(*) AS n FROM visits WHERE moment + 3 > '2024-01-01'
!add them to its date
>SELECT COUNT(*) AS n FROM visits WHERE CAST(moment AS DATE) + 3 > '2024-01-01'
SELECT COUNT(*) AS n FROM visits WHERE day + cost > '2024-01-01'
!whole days.*FLOOR
>SELECT COUNT(*) AS n FROM visits WHERE day + FLOOR(cost) > '2024-01-01'
SELECT COUNT(*) AS n FROM visits WHERE day + id > '2024-01-01'
!years 1 to 9999.*LEAST
>SELECT COUNT(*) AS n FROM visits WHERE day + LEAST(id, 365) > '2024-01-01'

-- CASE and its like.
SELECT CASE WHEN old THEN 'a' ELSE 3 END AS c, COUNT(*) AS n FROM visits GROUP BY c
!no values of one column
>SELECT CASE WHEN old THEN 'a' ELSE '3' END AS c, COUNT(*) AS n FROM visits GROUP BY c
SELECT CASE WHEN old THEN code END AS c, COUNT(*) AS n FROM visits GROUP BY c
!makes no private text
>SELECT code, COUNT(*) AS n FROM visits GROUP BY code
SELECT COALESCE(ward, 3) AS c, COUNT(*) AS n FROM visits GROUP BY c
!category of texts|no values of one column|no value of a category
>SELECT COALESCE(ward, '3') AS c, COUNT(*) AS n FROM visits GROUP BY c
SELECT COUNT(*) AS n FROM visits WHERE CASE WHEN age THEN TRUE END
!WHEN takes a condition
>SELECT COUNT(*) AS n FROM visits WHERE CASE WHEN age > 3 THEN TRUE END
"""
)


@pytest.mark.parametrize(("text", "said", "instead"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_the_refusal_has_a_reason_and_a_remedy(text: str, said: str, instead: str) -> None:
    check(text, said, instead)
