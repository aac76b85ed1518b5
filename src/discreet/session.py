"""THE MAIN PATH: plan -> bound -> choose -> reserve -> run -> release -> answer.

Read `_ask` and `_buy` first: every private answer of discreet comes out of them, and their order is the promise. What
needs only public facts comes before the debit and is free; what reads a row comes after it and has been paid for.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Mapping
from fractions import Fraction
from os import PathLike, getpid
from typing import Any

from discreet import dp
from discreet.answer import Answer, Cost, Quote
from discreet.dp.rational import Number, float_down
from discreet.engine.backend import Engine
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.builder import Query, table_query
from discreet.engine.catalog import catalog
from discreet.engine.derive import derived
from discreet.engine.description import Description
from discreet.engine.dummy import dummy
from discreet.engine.engines import engine_for
from discreet.engine.expected import Explanation, check_shown, errors_after, errors_before, explained
from discreet.engine.parser import parse
from discreet.engine.price import Price, checked
from discreet.engine.purchase import Purchase, choose
from discreet.engine.released import Release, opened
from discreet.engine.resolve import plan_of
from discreet.engine.syntax import Select
from discreet.engine.table import Table
from discreet.errors import BudgetExceeded, Failed, InvalidParameter, NotSupported
from discreet.ledger import Entry, Ledger, ledger_at

Offer = Number | None  # a question makes one offer; None is not made
Bound = int | None  # None is the one that the table declares


class Session:
    """Tables, the ledger that holds their budget, and the questions of one analyst.

    Guarantee: everything that all sessions on one ledger show is together what the budget promises, for its epsilon
      and delta or its rho, under adding or removing all rows of one unit, for an analyst who chooses each question by
      the answers before it. The debit is durable before a row is read, and is not refunded. A refusal, a quote and
      `Unavailable` are free and depend on the question, on public facts and on released answers. The caller must
      ensure that no other ledger is kept for the same people.
    Source: Rogers, Roth, Ullman, Vadhan, 2016, and Feldman, Zrnic, 2021 (the filter); the mechanisms name their own.

    >>> import discreet as dc
    >>> session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())
    >>> session.quote("SELECT COUNT(*) FROM census", epsilon=0.1).cost.share
    Fraction(1, 10)
    """

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
        self._turns: dict[tuple[int, str], threading.Lock] = {}
        self._suspended = False

    def sql(
        self,
        text: str,
        *,
        epsilon: Offer = None,
        within: Offer = None,
        rho: Offer = None,
        loss: dp.Loss | None = None,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Answer:
        """Ask a question at a price, `epsilon=`, `rho=` or `loss=`, or for an error of each number, `within=`."""
        price = Price(epsilon=epsilon, within=within, rho=rho, loss=loss)
        return self._ask(self._bounded(parse(text), parameters, groups_per_unit, rows_per_group), price)

    def quote(
        self,
        text: str,
        *,
        epsilon: Offer = None,
        within: Offer = None,
        rho: Offer = None,
        loss: dp.Loss | None = None,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Quote:
        """Return what `sql` with the same arguments would cost, and its error. It reads no row and is free."""
        price = Price(epsilon=epsilon, within=within, rho=rho, loss=loss)
        return self._quoted(self._bounded(parse(text), parameters, groups_per_unit, rows_per_group), price)

    def table(self, name: str) -> Query:
        """Return a question about a table, to be put together step by step in Python, and asked with `.ask(...)`."""
        return table_query(self, self._named(name).name)

    def ask_select(self, select: Select, **offer: Any) -> Answer:
        """Ask what was put together in Python; the offer has the names that `sql` has."""
        return self._ask(*self._offered(select, **offer))

    def quote_select(self, select: Select, **offer: Any) -> Quote:
        """Return what `ask_select` with the same arguments would cost."""
        return self._quoted(*self._offered(select, **offer))

    def explain(
        self,
        text: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Explanation:
        """Return how a question would be bounded: what is protected, which rows count, how far one unit moves it."""
        return explained(self._bounded(parse(text), parameters, groups_per_unit, rows_per_group))

    def _offered(
        self,
        select: Select,
        *,
        epsilon: Offer = None,
        within: Offer = None,
        rho: Offer = None,
        loss: dp.Loss | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> tuple[BoundedQuery, Price]:
        price = Price(epsilon=epsilon, within=within, rho=rho, loss=loss)
        return self._bounded(select, None, groups_per_unit, rows_per_group), price

    def _bounded(
        self, select: Select, parameters: Mapping[str, Any] | None = None, groups: Bound = None, rows: Bound = None
    ) -> BoundedQuery:
        """Return what is counted, with its sensitivity, or a refusal that says what to change."""
        plan = plan_of(select, self._tables, parameters=parameters, fan_out=self._engine.fan_out)
        added = dp.Neighbours.ADD_REMOVE  # the product protects all rows of one unit, added or removed
        return bound(plan, neighbours=added, groups_per_unit=groups, rows_per_group=rows)

    def _ask(self, query: BoundedQuery, price: Price) -> Answer:
        purchase = choose(price, query, self._ledger.budget)  # mechanisms that know their own loss and accuracy
        check_shown(query, purchase)  # on zeros, so that nothing of it can fail once it is paid for
        with self._turns.setdefault((getpid(), query.question), threading.Lock()):
            release = self._stored(query, purchase)  # the same question is the same release, and free
            route, charge = "cache", dp.Charge()
            if release is None:
                self._engine.schema(query.plan.relation)  # reads no row: Unavailable is free
                release = self._buy(query, purchase)
                route, charge = "direct", purchase.charge
        shown = derived(query, release)  # of released numbers alone
        relation = f"protects {query.unit}, added or removed"
        return Answer(shown.columns, shown.errors, relation, route, self._ledger.budget.share(charge))

    def _buy(self, query: BoundedQuery, purchase: Purchase) -> Release:
        if self._suspended:
            raise NotSupported(
                "this session is suspended after a failure; the curator finds the cause and opens another."
            )
        key = uuid.uuid4().hex
        permit = self._reserve(query, purchase, key)  # the durable debit, before any row is read
        shown, stopped = None, False
        try:
            groups = self._engine.run(query)  # an Exact for each measure: cannot be printed, compared, pickled
            release = opened(groups, purchase, query, permit)  # the only way out
            self._ledger.record(key, release.to_bytes())  # stored, then shown
            shown = release
        except KeyboardInterrupt:
            stopped = True
        except Exception:  # noqa: BLE001  whatever it is, it could depend on a row: nothing of it is shown
            self._suspended = True
        if stopped:
            raise KeyboardInterrupt  # another one, because the frames of the first hold rows
        if shown is None:
            raise Failed
        return shown

    def _reserve(self, query: BoundedQuery, purchase: Purchase, key: str) -> dp.Permit:
        try:
            held = self._ledger.reserve(purchase.loss, key=key, question=query.question, analyst=self._analyst)
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{error} {self._instead()}") from None
        if not isinstance(held, dp.Permit):
            raise Failed  # a fresh key cannot have an answer
        return held

    def _stored(self, query: BoundedQuery, purchase: Purchase) -> Release | None:
        """Return the best stored release, the first of equals, unless the price would buy a better one."""
        stored = [Release.from_bytes(data, query) for data in self._ledger.answers(query.question)]
        good = [release for release in stored if release.is_as_good_as(purchase)]
        return max(good, key=lambda release: release.amount, default=None)

    def _quoted(self, query: BoundedQuery, price: Price) -> Quote:
        purchase, budget = choose(price, query, self._ledger.budget), self._ledger.budget
        errors = errors_before(query, purchase)
        if (stored := self._stored(query, purchase)) is not None:
            advice = "This question is answered already: asking it again is free."
            return Quote(Cost(Fraction(0), dp.Loss.pure(epsilon=0), None), errors_after(query, stored), "cache", advice)
        left, cost = budget.cap - self._ledger.spent, purchase.charge
        accounts = ((left.amount, cost.amount), (left.delta, cost.delta))
        fits = min(int(rest / each) for rest, each in accounts if each)
        advice = "Twice the price is about half the error." if fits else f"It does not fit. {self._instead()}"
        return Quote(Cost(budget.share(cost), purchase.loss, fits), errors, "direct", advice)

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

    def close(self) -> None:
        """Give back the engine's connections, memory and files; the ledger needs no closing."""
        self._engine.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _instead(self) -> str:
        budget = self._ledger.budget
        name, whole = ("rho", budget.rho) if budget.epsilon is None else ("epsilon", budget.epsilon)
        assert whole is not None
        left = float_down(self.remaining * whole)
        smaller = f"Ask with {name}={left!r} or less, or" if left > 0 else "Nothing is left, but you can"
        return f"{smaller} ask again what was answered: that is free."

    def __repr__(self) -> str:
        return f"Session on {', '.join(map(repr, self._tables))} for {self._analyst!r}, {self._ledger!r}"
