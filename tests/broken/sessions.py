"""Sessions with the steps of the main path in a wrong order."""

from __future__ import annotations

from collections.abc import Callable

from discreet import dp
from discreet.engine.bound import BoundedQuery
from discreet.engine.derive import derived
from discreet.engine.purchase import Purchase
from discreet.engine.released import Release, opened
from discreet.session import Session
from discreet.steps import reached


class ShowsEarly(Session):
    """Hands each answer to whoever waits, at a step of its own."""

    show: Callable[[bytes], None]

    def _told(self, query: BoundedQuery, release: Release) -> None:
        self.show(repr(derived(query, release)).encode())


class AnswersFirst(ShowsEarly):
    """Reads, releases and shows, and then pays."""

    def _buy(self, query: BoundedQuery, purchase: Purchase, before: Release | None) -> Release:
        permit = dp.PrivacyFilter(self._ledger.budget).reserve(purchase.loss)
        self._told(query, opened(self._engine.run(query), purchase, query, permit))
        return super()._buy(query, purchase, before)


class ShowsBeforeItStores(ShowsEarly):
    """Pays first, and shows what it has not stored: asked again, it would draw and charge again."""

    def _buy(self, query: BoundedQuery, purchase: Purchase, before: Release | None) -> Release:
        permit = self._reserve(query, purchase, "key")
        release = opened(self._engine.run(query), purchase, query, permit)
        self._told(query, release)
        reached("buy: before the release is stored")
        self._ledger.record("key", release.to_bytes())
        return release


class PaysTwice(Session):
    """Debits once to ask whether it fits, and once to ask."""

    def _buy(self, query: BoundedQuery, purchase: Purchase, before: Release | None) -> Release:
        self._reserve(query, purchase, "whether it fits")
        return super()._buy(query, purchase, before)
