"""What an engine has to do for a session: say whether a table can be reached, then run one bounded query."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from discreet import dp
from discreet.engine.bound import BoundedQuery


class Source(Protocol):
    """A table that was reached for one query."""

    def run(self) -> dp.Exact:
        """Read the rows and return the exact counts, in the shape of the query. Called once, after the debit."""
        ...


class Backend(Protocol):
    """An engine.

    Guarantee: `reach` reads no row: it raises `Unavailable` or `NeedsDeclaration` from the schema alone. No value
      of a row can make `run` raise.
    """

    def reach(self, query: BoundedQuery) -> AbstractContextManager[Source]:
        """Open a fresh connection to the table of a query, with its schema checked."""
        ...
