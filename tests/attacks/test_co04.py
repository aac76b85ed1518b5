"""CO-04: interleave interactive streams on one budget. Whatever the order, they cost exactly their sum.

A stream is a generator that does one step of its conversation at each turn. Another kind of interactive object is
attacked by adding its stream to STREAMS.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded
from tests.broken import composition as broken
from tests.broken import sparse_vectors as sparse_twins
from tests.sizes import sized

F = Fraction
Turns = Iterator[None]
Stream = Callable[[Any], Turns]
Make = Callable[[dp.Budget], Any]

PURE = dp.Budget(epsilon=10)
BUDGETS = {"pure": PURE, "with delta": dp.Budget(epsilon=1, delta="1e-9"), "rho": dp.Budget(rho=10)}


def loss_of(budget: dp.Budget, share: str) -> dp.Loss:
    """A loss in the currency of the budget."""
    return dp.Loss.pure(epsilon=share) if budget.is_pure else dp.Loss.zcdp(rho=F(share) / 1000)


def one_question_at_a_time(session: Any) -> Turns:
    for share in ("0.1", "0.3", "0.07"):
        permit = session.reserve(loss_of(session.budget, share))
        yield
        permit.take(loss_of(session.budget, share))
        yield


def an_open_permit(session: Any) -> Turns:
    """All is reserved when it opens; every answer is taken from that."""
    permit = session.reserve(loss_of(session.budget, "0.6"))
    yield
    for _ in range(3):
        permit.take(loss_of(session.budget, "0.2"))
        yield


def settled_on_hits(session: Any) -> Turns:
    """As a threshold test: reserved for three hits, hit once, settled."""
    permit = session.reserve(loss_of(session.budget, "0.9"), settlement=dp.Settlement.ON_HITS)
    yield
    permit.take(loss_of(session.budget, "0.3"))
    yield
    session.settle(permit)


STREAMS: dict[str, tuple[Stream, str]] = {  # and what each costs in the end
    "questions": (one_question_at_a_time, "0.47"),
    "open permit": (an_open_permit, "0.6"),
    "settled": (settled_on_hits, "0.3"),
}
PAIRS = list(itertools.combinations_with_replacement(STREAMS, 2))


def length(stream: Stream) -> int:
    return 1 + sum(1 for _ in stream(dp.PrivacyFilter(PURE)))


def interleavings(one: int, two: int) -> Iterator[tuple[int, ...]]:
    """Every order of so many turns of two streams."""
    for places in itertools.combinations(range(one + two), one):
        yield tuple(0 if i in places else 1 for i in range(one + two))


def run(session: Any, streams: list[Stream], order: tuple[int, ...]) -> dp.Charge:
    opened = [stream(session) for stream in streams]
    for turn in order:
        next(opened[turn], None)
    return session.spent  # type: ignore[no-any-return]


def check_interleaved(make: Make, budget: dp.Budget, names: tuple[str, str], *, most: int) -> None:
    """Every order leaves the ledger as doing one after the other does: at exactly the sum of what each costs."""
    streams = [STREAMS[name][0] for name in names]
    lengths = [length(stream) for stream in streams]
    total = sum((budget.charge(loss_of(budget, STREAMS[name][1])) or dp.Charge() for name in names), start=dp.Charge())
    sequential = run(make(budget), streams, (0,) * lengths[0] + (1,) * lengths[1])
    assert sequential == total
    orders = list(interleavings(*lengths))
    random.Random(1).shuffle(orders)
    for order in orders[:most]:
        assert run(make(budget), streams, order) == sequential, order


@pytest.mark.parametrize("currency", BUDGETS)
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_interleaved_streams_cost_exactly_their_sum(names: tuple[str, str], currency: str) -> None:
    check_interleaved(dp.PrivacyFilter, BUDGETS[currency], names, most=sized(200, 10_000))


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_a_session_that_writes_back_what_it_saw_is_seen(names: tuple[str, str]) -> None:
    with pytest.raises(AssertionError):
        check_interleaved(broken.SnapshotSession, PURE, names, most=200)


ONE = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
MECHANISMS: dict[str, Any] = {
    "above threshold": dp.AboveThreshold(threshold=0, sensitivity=ONE, epsilon=F(1, 10)),
    "sparse": dp.Sparse(threshold=0, cutoff=3, sensitivity=ONE, epsilon=F(2, 10), delta=0),
    "numeric": dp.NumericSparse(threshold=0, cutoff=2, sensitivity=ONE, epsilon=F(3, 10), delta="1e-6"),
    "standard": dp.SparseVector(threshold=0, cutoff=2, sensitivity=ONE, epsilon=F(1, 4)),
    "release": dp.Laplace(sensitivity=ONE, epsilon=F(1, 7)),
}


def conversation(mechanism: Any) -> Stream:
    """A watch is opened, misses, hits and halts; a release is one question."""

    def stream(session: Any) -> Turns:
        permit = session.reserve(mechanism.loss)
        yield
        if isinstance(mechanism, dp.Laplace):
            mechanism.open(dp.Exact(3, sensitivity=ONE, unit="row"), permit)
            return
        watch = mechanism.opened(permit)
        yield
        for value in (-(10**6), 10**6):
            watch.ask(dp.Exact(value, sensitivity=ONE, unit="row"))
            yield

    return stream


def check_watches(make: Make, budget: dp.Budget, names: tuple[str, str], *, most: int) -> None:
    streams = [conversation(MECHANISMS[name]) for name in names]
    total = sum((budget.charge(MECHANISMS[name].loss) or dp.Charge() for name in names), start=dp.Charge())
    orders = list(interleavings(*(length(stream) for stream in streams)))
    random.Random(2).shuffle(orders)
    for order in orders[:most]:
        assert run(make(budget), streams, order) == total, order


@pytest.mark.parametrize("currency", BUDGETS)
@pytest.mark.parametrize("names", [*itertools.combinations_with_replacement(MECHANISMS, 2)], ids="-".join)
def test_watches_and_releases_interleaved_cost_exactly_their_sum(names: tuple[str, str], currency: str) -> None:
    check_watches(dp.PrivacyFilter, BUDGETS[currency], names, most=sized(10, 200))


def test_a_session_that_keeps_the_last_reservation_only_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_watches(sparse_twins.LastReservationOnly, PURE, ("sparse", "release"), most=50)


def check_threads(make: Make, *, rounds: int) -> None:
    """Eight threads, each with a stream of its own; what fits is admitted, and not a unit more."""
    for _ in range(rounds):
        session, ready = make(dp.Budget(epsilon=2)), threading.Barrier(8)

        def converse(i: int, session: Any = session, ready: threading.Barrier = ready) -> Fraction:
            stream, cost = list(STREAMS.values())[i % len(STREAMS)]
            ready.wait(timeout=30)
            try:
                for _ in stream(session):
                    time.sleep(0)  # every other thread may take its turn
            except BudgetExceeded:
                return F(0)
            return F(cost)

        with ThreadPoolExecutor(8) as pool:
            finished = sum(pool.map(converse, range(8)))
        assert finished <= session.spent.amount <= 2


def test_streams_on_threads_never_exceed_the_budget() -> None:
    check_threads(dp.PrivacyFilter, rounds=sized(30, 1_000))


def test_a_session_that_races_is_seen() -> None:
    with pytest.raises(AssertionError):
        check_threads(broken.SnapshotSession, rounds=3)


def test_a_stream_cannot_spend_what_another_has_reserved() -> None:
    session = dp.PrivacyFilter(dp.Budget(epsilon=1))
    one = session.reserve(dp.Loss.pure(epsilon="0.7"))
    two = session.reserve(dp.Loss.pure(epsilon="0.3"))
    for permit, too_much in ((one, "0.8"), (two, "0.4")):
        with pytest.raises(BudgetExceeded):
            permit.take(dp.Loss.pure(epsilon=too_much))
    with pytest.raises(BudgetExceeded):
        session.reserve(dp.Loss.pure(epsilon="1e-12"))
    two.take(dp.Loss.pure(epsilon="0.3"))
    one.take(dp.Loss.pure(epsilon="0.7"))
    assert session.spent.amount == 1
