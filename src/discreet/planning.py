"""What comes before the debit and is free: what a question means, what would be bought for it, and what is known of it.

It is a function of the question, of public facts and of answers that were released. Nothing here reads a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from discreet import dp
from discreet.answer import Cost, Quote, percent
from discreet.desk import Desk, typed
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.expected import Explanation, check_shown, errors_after, errors_before, explained
from discreet.engine.parser import parse
from discreet.engine.plan import Plan
from discreet.engine.price import Price
from discreet.engine.promise import LOOK, MOST, NeedsLook, bought_by, expected_after_look, look
from discreet.engine.purchase import Purchase
from discreet.engine.released import Release, best_of
from discreet.engine.resolve import plan_of
from discreet.engine.scans import Version, version_of
from discreet.engine.sharing import shared
from discreet.engine.syntax import Select
from discreet.errors import BudgetExceeded, Unavailable

Bound = int | None  # None is the one that the table declares
Question = str | Select | Plan  # SQL, or the tree of the builder, or what either comes to


class Planning(Desk):
    """A desk at which questions are planned, priced and looked up."""

    def explain(
        self,
        question: Question,
        *,
        parameters: Mapping[str, Any] | None = None,
        groups_per_unit: Bound = None,
        rows_per_group: Bound = None,
    ) -> Explanation:
        """Return how a question would be bounded: what is protected, which rows count, how far one unit moves it."""
        return explained(self._bounded(question, parameters, groups_per_unit, rows_per_group))

    def _bounded(
        self, question: Question, parameters: Mapping[str, Any] | None, groups: Bound, rows: Bound
    ) -> BoundedQuery:
        """Return what is counted, with its sensitivity, or a refusal that says what to change."""

        def made() -> BoundedQuery:
            plan = question if isinstance(question, Plan) else self._plan(question, parameters)
            self._check(plan)
            added = dp.Neighbours.ADD_REMOVE  # the product protects all rows of one unit, added or removed
            return bound(shared(plan), neighbours=added, groups_per_unit=groups, rows_per_group=rows)

        if type(question) is not str or not isinstance(parameters, dict | None):
            return made()
        named = tuple((name, typed(value)) for name, value in (parameters or {}).items())
        return self._planned.get((question, named, typed(groups), typed(rows), self._public_versions()), made)

    def _public_versions(self) -> tuple[Version, ...]:
        """Return of which version the public tables are: how many of their rows one row finds is part of a plan."""
        found = list[Version]()
        for table in self._tables.values():
            with suppress(Unavailable):
                found.append(version_of(table) if table.public else ())
        return tuple(found)

    def _plan(self, question: str | Select, parameters: Mapping[str, Any] | None) -> Plan:
        select = question if isinstance(question, Select) else parse(question)
        return plan_of(select, self._tables, parameters=parameters, fan_out=self._engine.fan_out)

    def _choose(self, query: BoundedQuery, price: Price, stored: Sequence[Release]) -> Purchase:
        """Return the mechanisms that a price buys: they know their own loss and accuracy."""
        budget = self._ledger.budget

        def made() -> tuple[BoundedQuery, Purchase]:
            purchase = bought_by(price, query, budget, best_of(stored))
            check_shown(query, purchase)  # on zeros, so that nothing of it can fail once it is paid for
            return query, purchase  # the query, too: as long as it is kept, nothing else has its id

        return made()[1] if price.states_error else self._chosen.get((id(query), price.key, budget), made)[1]

    def _needs_look(self, query: BoundedQuery, price: Price) -> bool:
        """Return whether what an error costs depends on the table, and nothing of it is released yet."""
        try:
            if price.states_error:
                self._choose(query, price, self._stored(query))
        except NeedsLook:
            return True
        return False

    def _look(self) -> Price:
        """Return the price of a first look, if all that may come after it fits, too."""
        if self.remaining < MOST:
            raise BudgetExceeded(
                f"with a first look this question may cost {percent(MOST)} of the budget, and "
                f"{percent(self.remaining)} is left. {self._instead()}"
            )
        return look(self._ledger.budget)

    def _check_most(self, purchase: Purchase, most: Fraction | None) -> None:
        share = self._ledger.budget.share(purchase.charge)
        if most is not None and share > most:
            raise BudgetExceeded(
                f"this error costs {percent(share)} of the budget more by what was found, and {percent(most)} was "
                "quoted. Ask for a quote again, or for a larger error."
            )

    def _stored(self, query: BoundedQuery) -> list[Release]:
        """Return every release of this question, oldest first."""
        return [Release.from_bytes(data, query) for data in self._ledger.answers(query.question)]

    def _quoted(self, query: BoundedQuery, price: Price) -> Quote:
        budget, stored = self._ledger.budget, self._stored(query)
        if self._needs_look(query, price):
            fits = int(self.remaining / MOST)
            most = Cost(MOST, look(budget, MOST).offered(budget), fits)
            advice = f"At most: a first look takes {percent(LOOK)} and says what the rest costs."
            return Quote(most, expected_after_look(price, query), "look", advice if fits else self._instead())
        purchase = self._choose(query, price, stored)
        release = best_of([one for one in stored if one.is_as_good_as(purchase)])
        if release is not None:
            advice = "This question is answered already: asking it again is free."
            return Quote(
                Cost(Fraction(0), dp.Loss.pure(epsilon=0), None), errors_after(query, release), "cache", advice
            )
        left, cost = budget.cap - self._ledger.spent, purchase.charge
        before = None if query.is_private else best_of(stored)  # names of keys are drawn anew
        accounts = ((left.amount, cost.amount), (left.delta, cost.delta))
        fits = min(int(rest / each) for rest, each in accounts if each)
        advice = "Twice the price is about half the error." if fits else f"It does not fit. {self._instead()}"
        errors = errors_before(query, purchase, before)
        return Quote(Cost(budget.share(cost), purchase.loss, fits), errors, "combined" if before else "direct", advice)
