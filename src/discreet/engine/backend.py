"""What an engine has to do: say whether the tables fit what is declared, then run bounded queries, then close.

| engine     | where the rows are                                  | module        |
|------------|-----------------------------------------------------|---------------|
| DuckDB     | files and frames                                    | `duckdb.py`   |
| PostgreSQL | a table or view of a server                         | `postgres.py` |
| Spark      | a DataFrame or a catalog table of the caller's session | `spark.py`    |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet import dp
from discreet.dp.exact_keys import Key
from discreet.engine.bound import BoundedQuery
from discreet.engine.plan import Relation
from discreet.engine.table import Table


class PrivateGroups(Protocol):
    """Groups whose keys have to be released first. Nothing of it can be looked at."""

    keys: dp.ExactKeys

    def select(self, keys: Sequence[Key]) -> tuple[dp.Exact, ...]:
        """Return the exact values of each measure for keys that were released, in this order; 0 where one has none."""
        ...


@dataclass(frozen=True, slots=True)
class PublicGroups:
    """The exact values of each measure in all declared groups: arrays of the shape of the query, in which those of a
    histogram have one more axis, of its bins.
    """

    measures: tuple[dp.Exact, ...]


Groups = PublicGroups | PrivateGroups


class Engine(Protocol):
    """Where exact values come from.

    Guarantee: `schema` reads no row, and what it raises depends on the question, on declarations and on the schema
      alone. `run` enforces the bounds of the query, and no value of a row can make it raise.
    """

    def schema(self, relation: Relation) -> None:
        """Reach the tables and compare their columns with the declarations: `Unavailable` or `NeedsDeclaration`."""
        ...

    def fan_out(self, table: Table, columns: Sequence[str]) -> int:
        """Return how many rows of a public table are alike in some columns at most, 1 at least: free, for planning."""
        ...

    def run(self, query: BoundedQuery) -> Groups:
        """Read the rows and return the exact values. Called after the debit."""
        ...

    def close(self) -> None:
        """Give back connections, memory and files."""
        ...
