"""What every online mechanism does with a question: look up, test, measure; and with its price: take it first.

The price of the next hit, a test and a measurement, is taken and written down before the coin of any question is
flipped. So a hit is never reported, nor measured, that was not paid for, whatever breaks in between; and what is
written down after a crash counts it as spent. Misses are free and write nothing.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Self, final

from discreet.dp import randomness
from discreet.dp.budget import Charge
from discreet.dp.loss import Loss
from discreet.dp.private import Exact, Permit
from discreet.dp.randomness import Stream
from discreet.dp.rational import Number, probability, rational
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.universe import Universe
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from discreet.release import online_state
from discreet.release.database_update import dense
from discreet.release.families import Family
from discreet.release.model import DenseModel
from discreet.release.online_gate import Gate, SparseGate
from discreet.release.online_plan import Purse
from discreet.release.online_state import Journal, Json, Save
from discreet.release.online_truth import Truth, single
from discreet.release.query import Array, LinearQuery
from discreet.release.reply import Reply, Route
from discreet.release.rows import moved, whole_histogram
from discreet.release.threads import one_thread
from discreet.release.workload import Workload

_ZERO = Fraction(0)
_REMEMBERED = 1 << 18  # replies that are kept until something is learned

Progress = Callable[[int, int], None]


class Online(ABC):
    """Answers an adaptively chosen stream of linear queries from a model that it learns where it is wrong."""

    universe: Universe
    sensitivity: Sensitivity
    confidence: Fraction
    purse: Purse
    model: DenseModel

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = single

    def _open(
        self, universe: Universe, histogram: Array | Exact, sensitivity: Sensitivity | None, loss: Loss | None,
        permit: Permit | None, confidence: Number, journal: Journal | None, save: Save | None, before: Json | None,
    ) -> None:  # fmt: skip
        """Check what was given, take hold of the table and of the right to spend; `before` is a state to go on from."""
        self._spent_before = _ZERO if before is None else rational(before["spent"], "state")
        self.universe, self.confidence = dense(universe), probability(confidence, "confidence")
        if isinstance(histogram, Exact):
            if sensitivity is not None or loss is not None or not isinstance(permit, Permit):
                raise InvalidParameter(
                    "an Exact is opened with permit= alone: it carries its sensitivity and its loss."
                )
            self.sensitivity, cells = histogram.sensitivity, histogram._value
            amount = permit.left if before is None else rational(before["amount"], "state")
            self.purse, self._permit = Purse(permit._budget, amount), permit
        else:
            if sensitivity is None or loss is None or permit is not None:
                raise InvalidParameter("a plain histogram needs sensitivity= and loss=; a permit is for an Exact.")
            self.sensitivity, cells = sensitivity, histogram
            self.purse = Purse.of(loss)
            self._permit = self.purse.permit(self._spent_before)
        self._promise = self.purse.costing(self.purse.amount) if loss is None else loss
        moved(self.sensitivity)
        self._left_at_start = self._permit.left
        self._truth = Truth(whole_histogram(cells, self.universe.size), self.universe.shape)
        self._journal, self._save = journal, save
        self._process, self._lock = os.getpid(), threading.Lock()
        self._answered: dict[bytes, Reply] = {}
        self._test: Charge | None = None
        self._measurement: Charge | None = None
        self._gate: Gate | None = None
        self._closed = False

    @abstractmethod
    def _known(self, query: LinearQuery) -> tuple[float, float] | None:
        """Return an answer that needs no test, and its error; None if there is none."""

    @abstractmethod
    def _bypassed(self, query: LinearQuery) -> bool:
        """Whether public facts say that the model cannot know a query, and that it is to be measured."""

    @abstractmethod
    def _measured(self, query: LinearQuery, stream: Stream) -> tuple[float, float | None]:
        """Measure around a query, which is paid for; learn from it; return the answer and its error."""

    @property
    @abstractmethod
    def _prices(self) -> tuple[Loss, Loss]:
        """The loss of a hit and of a measurement."""

    @abstractmethod
    def _content(self) -> Json:
        """Return what the state holds beside what was spent."""

    @property
    @abstractmethod
    def _fingerprint(self) -> str:
        """What tells a state of this mechanism from those of others."""

    @abstractmethod
    def _error(self, query: LinearQuery, estimate: float, *, tested: bool) -> float | None:
        """Return the error that can be claimed for an answer of the model."""

    def ask(self, query: LinearQuery) -> Reply:
        """Return the answer to one question, which may depend on all earlier answers."""
        self._check_process()
        self._check(query)
        with self._lock:
            return self._ask(query, randomness.system())

    def ask_many(self, queries: Iterable[LinearQuery] | Family, *, progress: Progress | None = None) -> list[Reply]:
        """Return the answers to many questions, in order; the law is that of asking them one by one.

        A workload, a family or a list. `progress` is called with how many were answered, and how many there are.
        """
        self._check_process()
        listed = list(queries)
        for query in listed:
            self._check(query)
        if isinstance(queries, Workload):
            with self._lock:
                self._truth.prepare(queries.cliques)
        replies: list[Reply] = []
        for query in listed:
            with self._lock:
                replies.append(self._ask(query, randomness.system()))
            if progress is not None and (len(replies) % 1000 == 0 or len(replies) == len(listed)):
                progress(len(replies), len(listed))
        return replies

    def _ask(self, query: LinearQuery, stream: Stream) -> Reply:
        self._check_open()
        repeated = self._answered.get(query.key)
        if repeated is not None:
            return repeated
        known = self._known(query)
        if known is not None:
            return self._reply(query, *known, Route.SPAN, _ZERO)
        try:
            return self._drawn(query, stream)
        except BaseException:  # it may tell of a hit, and what is held next is not on the disk: nothing more is drawn
            self._closed = True
            raise

    def _drawn(self, query: LinearQuery, stream: Stream) -> Reply:
        """Return the answer of the model, tested where that can be paid for, or of a measurement."""
        if self._measurement is not None and self._bypassed(query):
            return self._learned(query, Route.BYPASS, self._measurement, stream)
        estimate = self.model.answer(query)
        if self._gate is None or self._test is None or self._measurement is None:
            return self._reply(query, estimate, self._error(query, estimate, tested=False), Route.EXHAUSTED, _ZERO)
        if self._gate.is_above(self._truth.distance(query, estimate), stream):
            return self._learned(query, Route.MEASURED, self._measurement + self._test, stream)
        return self._reply(query, estimate, self._error(query, estimate, tested=True), Route.MODEL, _ZERO)

    @one_thread()
    def _learned(self, query: LinearQuery, route: Route, price: Charge, stream: Stream) -> Reply:
        """Use up the price that is held, hold the next one, measure, write all of it down, and only then answer."""
        if route is Route.MEASURED:
            self._test = None
        self._measurement = None
        self._hold()
        value, error = self._measured(query, stream)
        self._answered.clear()
        self._write()
        return self._reply(query, value, error, route, price.amount / self.purse.amount)

    def _reply(self, query: LinearQuery, value: float, error: float | None, route: Route, charged: Fraction) -> Reply:
        if len(self._answered) >= _REMEMBERED:
            self._answered.clear()  # what is asked again is then tested again
        self._answered[query.key] = Reply(value, error, Route.REPEATED, _ZERO, self.confidence)
        return Reply(value, error, route, charged, self.confidence)

    def _hold(self) -> None:
        """Take the price of the next measurement and of the next hit, if they are to be had."""
        hit, measurement = self._prices
        halted = self._gate is None or (isinstance(self._gate, SparseGate) and self._gate.halted)
        with suppress(BudgetExceeded):  # others may spend from the same permit at any moment: ask by taking
            if self._measurement is None:
                self._measurement = self._permit.take(measurement)
        with suppress(BudgetExceeded):
            if self._test is None and not halted:
                self._test = self._permit.take(hit)

    def _write(self) -> None:
        if self._journal is None and self._save is None:
            return
        state = self._state()
        try:
            if self._journal is not None:
                self._journal.save(state)
            if self._save is not None:
                self._save(state)
        except BaseException:  # what is on the disk no longer covers what would be spent: nothing more is answered
            self._closed = True
            raise

    def _state(self) -> bytes:
        spent = self._spent_before + self._left_at_start - self._permit.left
        content = {"amount": str(self.purse.amount), "closed": self._closed, **self._content()}
        return online_state.to_bytes(self._fingerprint, spent, content)

    def state(self) -> bytes:
        """Return everything that `resume` needs, all of it public. What is held for the next hit counts as spent."""
        with self._lock:
            return self._state()

    @final
    def close(self) -> bytes:
        """Answer no more; give back the price of a hit that did not come, and return the last state.

        Guarantee: a miss costs nothing, so what was held for a hit is free again once no more coins can be flipped.
        """
        self._check_process()
        with self._lock:
            try:
                if not self._closed:
                    self._closed = True  # first of all: what is given back is never used again, whatever breaks here
                    held, self._test, self._measurement = (self._test, self._measurement), None, None
                    for charge in held:
                        if charge is not None:
                            self._permit._give_back(charge)
                    self._write()
            finally:
                if self._journal is not None:
                    self._journal.close()
            return self._state()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def loss(self) -> Loss:
        """The loss of everything that is ever shown; for a permit, of what it held."""
        return self._promise

    @property
    def spent(self) -> Fraction:
        """The share of the budget that was spent; what is held for the next hit is not."""
        held = sum((c.amount for c in (self._test, self._measurement) if c is not None), start=_ZERO)
        return (self._spent_before + self._left_at_start - self._permit.left - held) / self.purse.amount

    @property
    def exhausted(self) -> bool:
        """Whether no test can be paid for any more: then it answers from what it knows."""
        return self._gate is None or self._test is None or self._measurement is None

    def _check(self, query: object) -> None:
        if not isinstance(query, LinearQuery):
            raise InvalidParameter(
                f"ask takes one linear query, as release.where(...) makes it; got a {type(query).__name__}. Workloads "
                "and lists go to ask_many."
            )
        if query.shape != self.universe.shape:
            raise InvalidParameter("the query is about another universe; make it with this one.")

    def _check_open(self) -> None:
        if self._closed:
            raise NotSupported("this online mechanism was closed; resume its state.")

    def _check_process(self) -> None:
        if os.getpid() != self._process:  # the parent still has its copy, and both would spend the same budget
            raise NotSupported("this online mechanism was opened in another process; resume its state in one of them.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.universe.size} cells, spent={float(self.spent):.2%})"
