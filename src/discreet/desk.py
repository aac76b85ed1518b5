"""What a session is opened with: tables, a ledger, an engine and an analyst; and what it says of them for free."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from os import PathLike, getpid
from typing import Any, Generic, Self, TypeVar

from discreet import dp
from discreet.dp.rational import float_down
from discreet.engine.backend import Engine
from discreet.engine.bound import BoundedQuery
from discreet.engine.catalog import catalog
from discreet.engine.description import Description
from discreet.engine.dummy import dummy
from discreet.engine.engines import engine_for
from discreet.engine.plan import Plan, Relation
from discreet.engine.price import checked
from discreet.engine.purchase import Purchase
from discreet.engine.source import File
from discreet.engine.table import Table
from discreet.errors import InvalidParameter
from discreet.ledger import Entry, Ledger, ledger_at
from discreet.ledger.sources import Sources

Kept = TypeVar("Kept")

_RECENT = 64  # questions that are kept planned and priced


class Desk:
    """Tables, the ledger that holds their budget, the engine where their rows are, and who asks."""

    def __init__(
        self,
        tables: Table | Iterable[Table],
        *,
        ledger: str | PathLike[str] | Ledger,
        budget: dp.Budget | None = None,  # None is the one on record; a new ledger has none and refuses
        analyst: str = "curator",
    ) -> None:
        self._tables = catalog(tables)
        if not isinstance(analyst, str) or not analyst.isprintable() or not 0 < len(analyst) <= 200:
            raise InvalidParameter(f'analyst is a short name such as "ana", not {analyst!r:.60}.')
        if budget is not None:
            checked(budget)
        owner = next(table for table in self._tables.values() if not table.public)
        self._analyst, self._ledger = analyst, ledger if isinstance(ledger, Ledger) else ledger_at(ledger)
        self._engine: Engine = engine_for(tuple(self._tables.values()))  # opened by the first question
        self._ledger.bind(dataset=owner.name, budget=budget, version=owner.version)
        checked(self._ledger.budget)
        self._planned, self._chosen = Recent[BoundedQuery](_RECENT), Recent[tuple[BoundedQuery, Purchase]](_RECENT)
        self._turns: dict[tuple[int, str], threading.Lock] = {}  # of those who ask the same question at once
        self._suspended = False  # by a failure after a debit

    @property
    def spent(self) -> Fraction:
        """The share of the budget that is spent, by all sessions on this ledger."""
        return self._ledger.budget.share(self._ledger.spent)

    @property
    def remaining(self) -> Fraction:
        """The share of the budget that is left."""
        return 1 - self.spent

    def history(self) -> list[Entry]:
        """Return every line of the ledger, oldest first."""
        return self._ledger.history()

    @property
    def tables(self) -> tuple[str, ...]:
        """The names that may stand in FROM."""
        return tuple(self._tables)

    def describe(self, name: str) -> Description:
        """Return the public facts about a table."""
        return self._named(name).description

    def dummy(self, name: str, *, rows: int = 100) -> Any:
        """Return made-up rows of a table as a frame, drawn from its public facts and from no row of it."""
        return dummy(self._named(name), rows)

    def _named(self, name: str) -> Table:
        if name not in self._tables:
            raise InvalidParameter(f"there is no table {name!r:.60}; there is {', '.join(map(repr, self._tables))}.")
        return self._tables[name]

    def _check(self, plan: Plan) -> None:
        """Refuse a plan over tables that are not those of the session."""
        if any(self._tables.get(table.name) is not table for table in plan.relation.scans):
            raise InvalidParameter("a plan is over the tables of its session: make it from them.")

    def _reach(self, relation: Relation) -> None:
        """Refuse tables that cannot be reached or do not fit, and files that changed within their version."""
        self._engine.schema(relation)  # reads no row: Unavailable is free
        place = self._ledger.path
        for table in relation.scans:
            if place is not None and isinstance(table.source, File):
                Sources.beside(place).check(table.name, table.version, table.source.paths)

    def _instead(self) -> str:
        budget = self._ledger.budget
        name, whole = ("rho", budget.rho) if budget.epsilon is None else ("epsilon", budget.epsilon)
        assert whole is not None
        left = float_down(self.remaining * whole)
        smaller = f"Ask with {name}={left!r} or less, or" if left > 0 else "Nothing is left, but you can"
        return f"{smaller} ask again what was answered: that is free."

    def close(self) -> None:
        """Give back the engine's connections, memory and files; the ledger needs no closing."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Session on {', '.join(map(repr, self._tables))} for {self._analyst!r}, {self._ledger!r}"


class Recent(Generic[Kept]):
    """What was made last, by what it was made from: facts that are public, and the same whenever they are made."""

    def __init__(self, most: int) -> None:
        self._most, self._made = most, OrderedDict[Hashable, Kept]()
        self._locks: dict[int, threading.Lock] = {}  # by process: one that was held at a fork is never given back

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return what is kept under a key, or make it; a key that cannot be hashed is made each time."""
        try:
            hash(key)
        except TypeError:
            return make()
        lock = self._locks.setdefault(getpid(), threading.Lock())
        with lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]
        made = make()
        with lock:
            self._made[key] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
        return made


def typed(value: object) -> Hashable:
    """Return a key that tells 1 from True, and what is equal and written otherwise; of a list, one without a hash."""
    return (type(value), repr(value), value)
