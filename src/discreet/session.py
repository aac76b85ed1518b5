"""THE MAIN PATH: plan -> bound -> choose -> reserve -> run -> release -> answer.

Read `_ask` and `_buy` first: every private answer of discreet comes out of them, and their order is the promise. What
needs only public facts comes before the debit and is free; what reads a row comes after it and has been paid for.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from os import getpid
from typing import Any

from discreet import dp
from discreet.answer import Answer, Quote, percent
from discreet.dp.rational import Number
from discreet.engine.averaging import mean_of
from discreet.engine.bound import BoundedQuery
from discreet.engine.builder import Query, table_query
from discreet.engine.derive import derived
from discreet.engine.price import Price
from discreet.engine.promise import LOOK, MOST
from discreet.engine.purchase import Purchase
from discreet.engine.released import Release, best_of, opened
from discreet.errors import BudgetExceeded, Failed, NotSupported, Refused
from discreet.facts import facts_of
from discreet.planning import Bound, Planning, Question
from discreet.steps import reached

Offer = Number | None  # a question makes one offer; None is not made
Errors = Number | Mapping[str, Number] | None  # one for all numbers, or one for each by its name


class Session(Planning):
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

    def sql(
        self,
        question: Question,
        *,
        epsilon: Offer = None,
        rho: Offer = None,
        loss: dp.Loss | None = None,
        within: Errors = None,
        relative: Offer = None,
        confidence: Number = 0.95,
        joint: bool = False,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Answer:
        """Ask at a price, `epsilon=`, `rho=` or `loss=`, or for errors, `within=` or `relative=`."""
        price = Price(
            epsilon=epsilon, rho=rho, loss=loss, within=within, relative=relative, confidence=confidence, joint=joint
        )
        return self._ask(self._bounded(question, parameters, groups_per_unit, rows_per_group), price)

    ask = sql  # of a plan, or of a tree of the builder

    def quote(
        self,
        question: Question,
        *,
        epsilon: Offer = None,
        rho: Offer = None,
        loss: dp.Loss | None = None,
        within: Errors = None,
        relative: Offer = None,
        confidence: Number = 0.95,
        joint: bool = False,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Quote:
        """Return what `sql` with the same arguments would cost, and its error. It reads no row and is free."""
        price = Price(
            epsilon=epsilon, rho=rho, loss=loss, within=within, relative=relative, confidence=confidence, joint=joint
        )
        return self._quoted(self._bounded(question, parameters, groups_per_unit, rows_per_group), price)

    def table(self, name: str) -> Query:
        """Return a question about a table, to be put together step by step in Python, and asked with `.ask(...)`."""
        return table_query(self, self._named(name).name)

    def _ask(self, query: BoundedQuery, price: Price) -> Answer:
        reached("ask: after the question was bounded")
        if not self._needs_look(query, price):
            return self._answered(query, price)
        look = self._answered(query, self._look())  # a question at a price like any other
        try:
            answer = self._answered(query, price, most=MOST - LOOK)
        except Refused as refusal:  # by what the look has released
            spent = f"{percent(look.charged)} of the budget was spent on a first look, whose answer is free from now on"
            raise type(refusal)(f"{spent}; then {refusal}") from None
        return replace(answer, charged=look.charged + answer.charged)

    def _answered(self, query: BoundedQuery, price: Price, *, most: Fraction | None = None) -> Answer:
        with self._turns.setdefault((getpid(), query.question), threading.Lock()):
            stored = self._stored(query)
            reached("ask: after the ledger was searched")
            purchase = self._choose(query, price, stored)
            reached("ask: after the mechanisms were chosen")
            release = best_of([one for one in stored if one.is_as_good_as(purchase)])
            route, bought = "cache", None  # the same question is the same release, and free
            if release is None:
                self._check_most(purchase, most)
                self._reach(query.plan.relation)
                reached("ask: after the source was reached")
                before, bought = None if query.is_private else best_of(stored), purchase
                route, release = "combined" if before else "direct", self._buy(query, purchase, before)
        reached("ask: before the answer is derived")
        shown = derived(query, release)  # of released numbers alone
        reached("ask: after the answer was derived")
        budget, relation = self._ledger.budget, f"protects {query.unit}, added or removed"
        charged = budget.share(bought.charge if bought else dp.Charge())
        facts = facts_of(query, release, budget, bought=bought)
        return Answer(shown.columns, shown.errors, relation, route, charged, facts)

    def _buy(self, query: BoundedQuery, purchase: Purchase, before: Release | None) -> Release:
        if self._suspended:
            raise NotSupported(
                "this session is suspended after a failure; the curator finds the cause and opens another."
            )
        key = uuid.uuid4().hex
        permit = self._reserve(query, purchase, key)  # the durable debit, before any row is read
        shown, stopped = None, None
        try:
            reached("buy: before a row is read")
            groups = self._engine.run(query)  # an Exact for each measure: cannot be printed, compared, pickled
            reached("buy: after the rows were read")
            fresh = opened(groups, purchase, query, permit)  # the only way out
            reached("buy: after the release")
            data = mean_of(before, fresh, query).to_bytes()
            release = Release.from_bytes(data, query)  # what is shown is what is stored, to the byte
            reached("buy: before the release is stored")
            self._ledger.record(key, data)  # stored, then shown
            shown = release
            reached("buy: after the release was stored")
        except Exception:  # noqa: BLE001  whatever it is, it could depend on a row: nothing of it is shown
            self._suspended, shown = True, None
        except BaseException as stop:  # noqa: BLE001  an interrupt, or an exit
            stopped = type(stop)
        if stopped is not None:
            raise stopped  # another one, because the frames of the first hold rows
        if shown is None:
            raise Failed
        return shown

    def _reserve(self, query: BoundedQuery, purchase: Purchase, key: str) -> dp.Permit:
        reached("buy: before the debit")
        try:
            held = self._ledger.reserve(purchase.loss, key=key, question=query.question, analyst=self._analyst)
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{error} {self._instead()}") from None
        if not isinstance(held, dp.Permit):
            raise Failed  # a fresh key cannot have an answer
        reached("buy: after the debit")
        return held
