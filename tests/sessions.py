"""A small table, sessions on it, and engines that note what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

import discreet as dc
from discreet.engine.backend import Engine, Groups
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Relation
from discreet.session import Session

Q = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"
COLUMNS = {
    "sex": dc.Category(["Female", "Male"]),
    "age": dc.Integer(0, 9),
    "cost": dc.Real(0, 100, step="0.5"),
    "town": dc.Text(),
}
CANARY = "canary-7f3a"
ROWS = pa.table(
    {
        "who": [1, 1, 2, 3, 4],
        "sex": ["Male", "Female", "Male", None, CANARY],
        "age": [1, 2, 3, 4, 99],
        "cost": [1.0, 2.5, float("nan"), 1e300, -1],
        "town": ["a", "b", "a", CANARY, None],
    }
)
MANY = pa.table({"sex": ["Male"] * 5000 + ["Female"] * 3000, "age": [n % 9 for n in range(8000)]})
KEYED = dc.Budget(epsilon=2, delta=1e-3, delta_add=5e-4)
SPENDS = (
    Q,
    "SELECT SUM(cost) AS c FROM t",
    "SELECT COUNT(*) AS n, AVG(age) AS a FROM t",
    "SELECT MEDIAN(age) AS m FROM t",
    "SELECT town, COUNT(*) AS n FROM t GROUP BY town",
)
# Each is refused, for one reason or another, before anything is spent.
REFUSED = (
    "SELECT",
    "SELECT * FROM t",
    "SELECT sex FROM t GROUP BY sex",
    "SELECT sex, COUNT(*) FROM t",
    "SELECT MAX(age) FROM t",
    "SELECT COUNT(*) FROM t; DROP TABLE t",
    "SELECT COUNT(*) FROM other",
    "SELECT COUNT(*) FROM 'secret.csv'",
    "SELECT COUNT(*) FROM read_csv('x.csv')",
    "SELECT COUNT(*) FROM t WHERE nobody = 3",
    "SELECT COUNT(*) FROM t WHERE error(town)",
    "SELECT SUM(sex) FROM t",
    "SELECT upper(town), COUNT(*) FROM t GROUP BY 1",
    "SELECT town, COUNT(*) FROM t GROUP BY town",
    "SELECT age, COUNT(*) OVER () FROM t GROUP BY age",
    "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.age = b.age",
    "SELECT COUNT(*) FROM t UNION SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) AS n FROM t HAVING sex = 'Male'",
    "SELECT COUNT(*) AS n FROM t LIMIT 'x'",
    "SELECT COUNT(*) AS n, COUNT(*) AS N FROM t",
)


def table(rows: Any = ROWS, **options: Any) -> dc.Table:
    names = list(getattr(rows, "column_names", getattr(rows, "columns", COLUMNS)))
    return dc.Table(rows, columns={n: domain for n, domain in COLUMNS.items() if n in names}, name="t", **options)


def session(
    rows: Any = ROWS, *, epsilon: Any = 1, ledger: Any = None, kind: type[Session] = Session, **options: Any
) -> Session:
    made = rows if isinstance(rows, dc.Table) else table(rows)
    budget = options.pop("budget", None) or dc.Budget(epsilon=epsilon)
    return kind(made, budget=budget, ledger=ledger or dc.memory_ledger(), **options)


class Recorder:
    """An engine that records how much is spent when it is asked for the schema and for the rows, and may fail then."""

    def __init__(self, engine: Engine, ledger: dc.Ledger, fail: Callable[[], None] = lambda: None) -> None:
        self.engine, self.ledger, self.fail = engine, ledger, fail
        self.events: list[tuple[str, Fraction]] = []

    def schema(self, relation: Relation) -> None:
        self.events.append(("schema", self.ledger.spent.amount))
        self.engine.schema(relation)

    def fan_out(self, table: dc.Table, columns: Sequence[str]) -> int:
        return self.engine.fan_out(table, columns)

    def run(self, query: BoundedQuery) -> Groups:
        self.events.append(("run", self.ledger.spent.amount))
        self.fail()
        return self.engine.run(query)

    def close(self) -> None:
        self.events.append(("close", self.ledger.spent.amount))
        self.engine.close()


def recorded(asked: Session, fail: Callable[[], None] = lambda: None) -> Recorder:
    recorder = Recorder(asked._engine, asked._ledger, fail)
    asked._engine = recorder
    return recorder


def crash() -> None:
    raise RuntimeError(f"could not convert {CANARY}")
