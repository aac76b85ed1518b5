"""A hundred questions as analysts write them, and some that are refused, for the time that planning takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pyarrow as pa

import discreet as dc

AGGREGATES = (
    "COUNT(*) AS n", "COUNT(cost) AS n", "COUNT(DISTINCT patient_id) AS n", "COUNT(DISTINCT ward) AS n",
    "SUM(cost) AS s", "SUM(cost * {n} + age) AS s", "SUM(LEAST(cost, {n})) AS s", "AVG(age - {n}) AS a",
    "AVG(cost) FILTER (WHERE age > {n}) AS a", "STDDEV(cost) AS s", "VARIANCE(age) AS v", "MEDIAN(cost) AS m",
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS p",
    "COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, AVG(age) AS b, STDDEV(age) AS d",
)  # fmt: skip

GROUPS = (
    "ward, {aggregate} FROM visits WHERE age <> {n} GROUP BY ward",
    "bin(age, 10) AS ages, {aggregate} FROM visits WHERE cost > {n} GROUP BY ages",
    "date_trunc('month', day) AS month, {aggregate} FROM visits WHERE age BETWEEN {n} AND 90 GROUP BY 1",
    "ward, year(day) AS y, {aggregate} FROM visits WHERE age IN (1, {n}) OR ward IN ('north', 'icu') GROUP BY ward, y",
)  # fmt: skip

OTHERS = (
    "SELECT COUNT(*) AS n FROM visits WHERE ward = 'icu' AND NOT (age < {n} OR cost IS NULL)",
    "SELECT CASE WHEN age < {n} THEN 'young' WHEN age < 65 THEN 'grown' ELSE 'old' END AS who, COUNT(*) AS n "
    "FROM visits GROUP BY who ORDER BY n DESC LIMIT 2",
    "SELECT ward, SUM(cost) / COUNT(*) AS each FROM visits WHERE age >= {n} GROUP BY ward HAVING COUNT(*) > 10 "
    "ORDER BY each DESC",
    "SELECT surgical, AVG(cost) AS a FROM visits JOIN wards USING (ward) WHERE beds > {n} GROUP BY surgical",
    "SELECT w.ward, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward WHERE v.age > {n} GROUP BY w.ward",
    "SELECT kind, SUM(cost) AS s FROM visits JOIN stays USING (patient_id) WHERE nights < {n} GROUP BY kind",
    "WITH old AS (SELECT ward, cost / 2 AS half FROM visits WHERE age > {n}) SELECT ward, SUM(half) AS h FROM old "
    "GROUP BY ward",
    "SELECT ward, COUNT(*) AS n FROM (SELECT ward, age FROM visits WHERE cost < {n}) GROUP BY ward",
    "SELECT code, COUNT(*) AS n FROM visits WHERE age > {n} GROUP BY code",
    "SELECT code, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a FROM visits WHERE age < {n} GROUP BY code",
    "SELECT COUNT(*) AS n FROM visits WHERE code LIKE 'I{n}%'",
    "SELECT COUNT(*) AS n FROM visits WHERE age IN (" + ", ".join(map(str, range(50))) + ", {n})",
    "SELECT SUM(CASE WHEN age % 2 = 0 THEN COALESCE(cost, {n}) ELSE -GREATEST(cost, age) END) AS s FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2026-03-01' AND EXTRACT(month FROM day) <> 7 AND age > {n}",
)

REFUSED = (
    "SELECT * FROM visits WHERE age > {n}",
    "SELECT MAX(cost + {n}) AS m FROM visits",
    "SELECT COUNT(*) AS n FROM nowhere WHERE age > {n}",
    "SELECT COUNT(*) AS n FROM visits WHERE height > {n}",
    "SELECT COUNT(*) AS n FROM '/etc/passwd' WHERE {n} = 1",
    "SELECT COUNT(*) AS n FROM information_schema.tables LIMIT {n}",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE age > {n}",
    "SELECT cost, COUNT(*) AS n FROM visits WHERE age > {n} GROUP BY cost, age",
    "SELECT ward FROM visits WHERE age > {n} GROUP BY ward",
    "SELECT ROW_NUMBER() OVER (ORDER BY age) AS r FROM visits WHERE age > {n}",
    "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.age = b.age + {n}",
    "SELECT COUNT(*) AS n FROM visits UNION SELECT {n}",
    "SELECT COUNT(*) AS n FROM visits; SELECT {n}",
    "DELETE FROM visits WHERE age > {n}",
    "COPY visits TO 'file{n}.csv'",
    "SET threads = {n}",
    "SELECT COUNT(*) AS n FROM visits WHERE sqrt(age) > {n}",
    "SELECT COUNT(*) AS n FROM visits WHERE ward = {n}",
    "SELECT COUNT(*) AS n FROM visits WHERE ward LIKE age || '{n}'",
    "SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM stays WHERE nights > {n})",
    "SELECT COUNT(*) AS n FROM visits TABLESAMPLE {n}%",
    "SELECT SUM(cost * cost * cost * cost * cost * {n}) AS s FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE " + "(" * 60 + "age > {n}" + ")" * 60,
    "SELECT COUNT( AS n FROM visits WHERE age > {n}",
    "SELECT error('row ' || code) FROM visits WHERE age > {n}",
    "SELECT COUNT(*) AS n FROM query('SELECT {n}')",
    "SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT AVG(age) + {n} FROM visits)",
    "SELECT string_agg(code, '{n}') AS s FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE age > {n} GROUP BY ALL",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE age > {n} GROUP BY ward LIMIT age",
)


def questions(turn: int) -> Iterator[str]:
    """Yield all of them, with constants that no other turn has."""
    grouped = (f"SELECT {groups.replace('{aggregate}', aggregate)}" for groups in GROUPS for aggregate in AGGREGATES)
    for text in (*grouped, *OTHERS, *REFUSED):
        yield text.format(n=turn + 30)


def declared() -> list[dc.Table]:
    """Return tables with columns of all kinds; planning reads none of their rows."""
    wards = ["north", "south", "icu"]
    visits = pa.table(
        {
            "patient_id": ["a", "b", "c"],
            "ward": wards,
            "age": [30, 40, 50],
            "cost": [1.5, 2.5, 3.5],
            "day": [date(2026, 1, 1)] * 3,
            "code": ["J06", "I10", "E11"],
        }
    )
    stays = pa.table({"patient_id": ["a", "b", "c"], "kind": ["short"] * 3, "nights": [1, 2, 3]})
    beds = pa.table({"ward": wards, "beds": [40, 55, 12], "surgical": [True, False, True]})
    one = {"unit": "patient_id"}
    return [
        dc.Table(
            visits, name="visits", rows_per_unit=10, groups_per_unit=5, **one,
            columns={
                "ward": dc.Category(wards), "age": dc.Integer(0, 110), "cost": dc.Real(0, 500, step="0.01"),
                "day": dc.Date(date(2026, 1, 1), date(2027, 12, 31)), "code": dc.Text(),
            },
        ),
        dc.Table(
            stays, name="stays", rows_per_unit=3, **one,
            columns={"kind": dc.Category(["short", "long"]), "nights": dc.Integer(0, 365)},
        ),
        dc.Table(
            beds, name="wards", public=True,
            columns={"ward": dc.Category(wards), "beds": dc.Integer(0, 1000), "surgical": dc.Boolean()},
        ),
    ]  # fmt: skip
