"""THE MAIN PATH: plan -> choose -> reserve -> run -> release -> answer.

Read `_ask` and `_buy` first: every private answer of discreet comes out of them, and their order is the promise. What
needs only public facts comes before the debit and is free; what reads a row comes after it and has been paid for.
"""

from __future__ import annotations

import threading
import uuid
from fractions import Fraction
from os import PathLike, getpid

import numpy as np

from discreet import dp
from discreet.answer import Answer, Cost, Quote
from discreet.dp.rational import Number, float_down
from discreet.engine.backend import Backend, Source
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.duckdb import DuckDB
from discreet.engine.plan import Plan
from discreet.engine.price import Price, error_of, pure
from discreet.engine.sql import read_sql
from discreet.engine.table import COUNT, Description, Table
from discreet.errors import BudgetExceeded, Failed, InvalidParameter, NotSupported
from discreet.ledger import Entry, Ledger, file_ledger

Offer = Number | None  # a question makes one offer; None is not made


class Session:
    """A table, the ledger that holds its budget, and the questions of one analyst.

    Guarantee: everything that all sessions on one ledger show is together epsilon-DP for the budget's epsilon, under
      adding or removing one row, for an analyst who chooses each question by the answers before it. The debit is
      durable before a row is read, and is not refunded. A refusal, a quote and `Unavailable` are free and depend on
      the question, on public facts and on released answers. The caller must ensure that no other ledger is kept for
      the same people.
    Source: Rogers, Roth, Ullman, Vadhan, 2016 (the filter); Ghosh, Roughgarden, Sundararajan, 2012 (the noise).

    >>> import discreet as dc
    >>> session = dc.Session(dc.census(), budget=dc.Budget(epsilon=1), ledger=dc.memory_ledger())
    >>> session.quote("SELECT COUNT(*) FROM census", epsilon=0.1).cost.share
    Fraction(1, 10)
    """

    def __init__(
        self,
        table: Table,
        *,
        ledger: str | PathLike[str] | Ledger,
        budget: dp.Budget | None = None,  # None is the one on record; a new ledger has none and refuses
        analyst: str = "curator",
    ) -> None:
        if not isinstance(table, Table):
            raise InvalidParameter(
                f"a session has one dc.Table here, not a {type(table).__name__}: write dc.Table(source, columns=...); "
                "each table has a session and a ledger of its own."
            )
        if not isinstance(analyst, str) or not analyst.isprintable() or not 0 < len(analyst) <= 200:
            raise InvalidParameter(f'analyst is a short name such as "ana", not {analyst!r:.60}.')
        if budget is not None:
            pure(budget)
        self._table, self._analyst = table, analyst
        self._ledger = ledger if isinstance(ledger, Ledger) else file_ledger(ledger)
        self._ledger.bind(dataset=table.name, budget=budget)
        pure(self._ledger.budget)
        self._backend: Backend = DuckDB()
        self._turns: dict[tuple[int, str], threading.Lock] = {}
        self._suspended = False

    def sql(
        self, text: str, *, epsilon: Offer = None, within: Offer = None, rho: Offer = None, loss: dp.Loss | None = None
    ) -> Answer:
        """Ask a question at a price, `epsilon=`, or for an error, `within=`: of each number, at 95 %."""
        plan = read_sql(text, {self._table.name: self._table})
        return self._ask(plan, Price(epsilon=epsilon, within=within, rho=rho, loss=loss))

    def _ask(self, plan: Plan, price: Price) -> Answer:
        query = bound(plan, self._table)  # what is counted, with its sensitivity, or a refusal that says what to change
        mechanism = price.choose(query.sensitivity, self._ledger.budget)  # knows its own loss and accuracy
        with self._turns.setdefault((getpid(), query.question), threading.Lock()):
            answer = self._stored(query, mechanism)  # the same question is the same answer, and free
            if answer is None:
                with self._backend.reach(query) as source:  # reads the schema and no row: Unavailable is free
                    answer = self._buy(query, mechanism, source)
        return answer.arranged(plan.renamed(COUNT))

    def _buy(self, query: BoundedQuery, mechanism: dp.Laplace, source: Source) -> Answer:
        if self._suspended:
            raise NotSupported(
                "this session is suspended after a failure; the curator finds the cause and opens another."
            )
        key, error, keys = uuid.uuid4().hex, error_of(mechanism), query.keys_of_cells()  # all that is public, before
        permit = self._reserve(query, mechanism, key)  # the durable debit, before any row is read
        shown, stopped = None, False
        try:
            exact = source.run()  # an Exact: cannot be printed, compared, pickled
            counts = np.asarray(mechanism.open(exact, permit), dtype=np.int64)  # the only way out
            answer = Answer(
                columns={**keys, COUNT: tuple(counts.reshape(-1).tolist())},
                errors={COUNT: error},
                epsilon=mechanism.epsilon,
                relation=f"protects one row of {self._table.name}, added or removed",
                route="direct",
                charged=self._ledger.budget.share(permit.reserved),
            )
            self._ledger.record(key, answer.to_bytes())  # stored, then shown
            shown = answer
        except KeyboardInterrupt:
            stopped = True
        except Exception:  # noqa: BLE001  whatever it is, it could depend on a row: nothing of it is shown
            self._suspended = True
        if stopped:
            raise KeyboardInterrupt  # another one, because the frames of the first hold rows
        if shown is None:
            raise Failed
        return shown

    def _reserve(self, query: BoundedQuery, mechanism: dp.Laplace, key: str) -> dp.Permit:
        try:
            held = self._ledger.reserve(mechanism.loss, key=key, question=query.question, analyst=self._analyst)
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{error} {self._instead()}") from None
        if not isinstance(held, dp.Permit):
            raise Failed  # a fresh key cannot have an answer
        return held

    def _stored(self, query: BoundedQuery, mechanism: dp.Laplace) -> Answer | None:
        """Return the best stored answer, the first of equals, unless the price would buy a better one."""
        stored = [Answer.from_bytes(data) for data in self._ledger.answers(query.question)]
        best = max(stored, key=lambda answer: answer.epsilon, default=None)
        return best if best is not None and best.epsilon >= mechanism.epsilon else None

    def quote(
        self, text: str, *, epsilon: Offer = None, within: Offer = None, rho: Offer = None, loss: dp.Loss | None = None
    ) -> Quote:
        """Return what `sql` with the same arguments would cost, and its error. It reads no row and is free."""
        plan = read_sql(text, {self._table.name: self._table})
        query, whole = bound(plan, self._table), self._ledger.budget.cap.amount
        price = Price(epsilon=epsilon, within=within, rho=rho, loss=loss)
        mechanism = price.choose(query.sensitivity, self._ledger.budget)
        stored = self._stored(query, mechanism)
        if stored is not None:
            cost, route, error = Cost(Fraction(0), dp.Loss.pure(epsilon=0), None), "cache", stored.errors[COUNT]
            advice = "This question is answered already: asking it again is free."
        else:
            fits = int(self.remaining * whole / mechanism.epsilon)
            cost, route, error = Cost(mechanism.epsilon / whole, mechanism.loss, fits), "direct", error_of(mechanism)
            advice = "Twice the price halves the error." if fits else f"It does not fit. {self._instead()}"
        return Quote(cost, dict.fromkeys(plan.counts, error), route, advice)

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
        return (self._table.name,)

    def describe(self, name: str) -> Description:
        """Return the public facts about a table."""
        if name != self._table.name:
            raise InvalidParameter(f"there is no table {name!r:.60}; there is {self._table.name!r}.")
        return self._table.description

    def _instead(self) -> str:
        left = float_down(self.remaining * self._ledger.budget.cap.amount)
        smaller = f"Ask with epsilon={left!r} or less, or" if left > 0 else "Nothing is left, but you can"
        return f"{smaller} ask again what was answered: that is free."

    def __repr__(self) -> str:
        return f"Session on {self._table.name!r} for {self._analyst!r}, {self._ledger!r}"
