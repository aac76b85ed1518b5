"""States of the online mechanism: durable before an answer leaves, whatever breaks; resumed with what is left."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.private import Exact
from discreet.errors import InvalidParameter, NotSupported
from discreet.release import interactive, online_fit, online_state
from discreet.release.reply import Route
from tests.broken import online as broken
from tests.online_tapes import CELLS, LOSS, ONE, OTHER, SMALL, Tape, opened, questions, reading

F = Fraction
Make = Callable[..., release.Interactive]
HITS = (True, False, True, True)


class Crash(BaseException):
    """The process is gone."""


class Disk:
    """Keeps the latest state; crashes before or after the n-th write reaches it."""

    def __init__(self, crash: int | None = None, *, before: bool = True) -> None:
        self.state: bytes | None = None
        self.writes, self.crash, self.before = 0, crash, before

    def save(self, state: bytes) -> None:
        self.writes += 1
        if self.writes == self.crash and self.before:
            raise Crash
        self.state = state
        if self.writes == self.crash:
            raise Crash

    @property
    def spent(self) -> Fraction:
        return F(0) if self.state is None else F(json.loads(self.state)["spent"])


@pytest.fixture
def every_question_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interactive, "_FINE", 0.0)


def check_crashes(make: Make, writes: int = 5) -> None:
    """Whatever was drawn when it crashed, at every write, the disk has it as spent; and so has an answer that left."""
    disk = Disk()
    with reading(Tape(HITS)):
        online = opened(make, OTHER, save=disk.save)
        for query in questions():
            online.ask(query)
    if make is release.Interactive:
        assert disk.writes >= writes
    count = disk.writes
    for crash in range(1, count + 1):
        for before in (True, False):
            disk, tape, charged = Disk(crash, before=before), Tape(HITS), F(0)
            with reading(tape):
                online = None
                try:
                    online = opened(make, OTHER, save=disk.save)
                    charged = online.spent
                    for query in questions():
                        charged += online.ask(query).charged
                        _on_disk(disk, online, charged)
                except Crash:
                    pass
            assert disk.spent >= _price(make, tape), f"write {crash}: something was drawn that is not on the disk"


def _on_disk(disk: Disk, online: release.Interactive, charged: Fraction) -> None:
    assert disk.spent >= charged * online.purse.amount, "an answer left before its charge was on the disk"
    held = sum((c.amount for c in (online._test, online._measurement) if c is not None), start=F(0))
    assert disk.spent >= charged * online.purse.amount + held, "the next hit is not on the disk"


def _price(make: Make, tape: Tape) -> Fraction:
    """What everything costs that was drawn from a tape."""
    with reading(Tape([])):
        online = opened()
    purse, plan = online.purse, online.plan
    gate = plan.gate()
    assert gate is not None
    hits = sum(tape.hits[: len(tape.compared)])
    releases = max(0, len(tape.released) - 1)
    prior = purse.charge(plan.loss_of_prior) if tape.released else F(0)
    return prior + hits * purse.charge(gate.loss_of_hit) + releases * purse.charge(plan.loss_of_measurement)


@pytest.mark.usefixtures("every_question_is_tested")
def test_a_crash_at_any_write_leaves_on_the_disk_what_was_spent() -> None:
    check_crashes(release.Interactive)


@pytest.mark.usefixtures("every_question_is_tested")
@pytest.mark.parametrize("twin", [broken.ReadsBeforeItIsWritten, broken.HoldsNothing, broken.AnswersFirst])
def test_what_is_written_too_late_or_too_little_is_seen(twin: Make) -> None:
    with pytest.raises(AssertionError):
        check_crashes(twin)


def check_resumed(make: type[release.Interactive]) -> None:
    """What goes on from any state spends, with what was spent before, no more than the budget."""
    disk, states = Disk(), list[bytes]()
    with reading(Tape([True] * 99)):
        online = opened(make, OTHER, save=states.append)
        for query in questions():
            online.ask(query)
        for state in states[1:]:
            before = F(json.loads(state)["spent"])
            again = make.resume(state, SMALL, OTHER, sensitivity=CELLS, loss=LOSS, questions=1000, save=disk.save)
            assert before + again._permit.left + _held(again) <= again.purse.amount
            for query in questions():
                again.ask(query)
            assert disk.spent <= again.purse.amount


def _held(online: release.Interactive) -> Fraction:
    return sum((c.amount for c in (online._test, online._measurement) if c is not None), start=F(0))


def test_a_resumed_one_has_what_is_left_and_nothing_more() -> None:
    check_resumed(release.Interactive)
    with pytest.raises(AssertionError):
        check_resumed(broken.CounterReset)


def test_a_resumed_one_knows_what_was_learned() -> None:
    with reading(Tape(HITS)):
        online = opened(table=OTHER)
        online.ask_many(questions())
        again = release.Interactive.resume(online.state(), SMALL, OTHER, sensitivity=CELLS, loss=LOSS, questions=1000)
    assert np.allclose(again.model.cells, online.model.cells, rtol=1e-4, atol=1e-3)
    for query in questions():
        assert again.model.answer(query) == pytest.approx(online.model.answer(query), abs=0.05)
    assert again.spent < 1


def test_a_query_that_was_measured_by_itself_is_kept_too() -> None:
    online = opened(table=100 * ONE, questions=9)
    first = online.ask(questions()[0])
    again = release.Interactive.resume(online.state(), SMALL, 100 * ONE, sensitivity=CELLS, loss=LOSS, questions=9)
    reply = again.ask(questions()[0])
    assert reply.route is Route.SPAN
    assert reply.value == pytest.approx(first.value, abs=1)


def check_closing(make: Make) -> None:
    """After misses all but the prior is free again, and no coin is flipped any more."""
    account = dp.PrivacyFilter(dp.Budget(epsilon=1, delta="1e-9"))
    permit = account.reserve(dp.Loss.zcdp(rho=account.budget.cap.amount / account.budget.order))
    exact, whole = Exact(OTHER, sensitivity=CELLS, unit="row"), permit.left
    with reading(Tape([])) as tape:
        online = make(SMALL, exact, questions=1000, permit=permit)
        held = whole - permit.left
        routes = [online.ask(query).route for query in questions()]
        assert len(tape.compared) == routes.count(Route.MODEL) > 0
        assert Route.MEASURED not in routes
        bypassed = routes.count(Route.BYPASS) * online.purse.charge(online.plan.loss_of_measurement)
        prior = online.purse.charge(online.plan.loss_of_prior)
        assert held > prior
        assert whole - permit.left == held + bypassed
        state = online.close()
        assert whole - permit.left == F(json.loads(state)["spent"]) == prior + bypassed
        flipped = len(tape.compared)
        for query in questions():
            with pytest.raises(NotSupported):
                online.ask(query)
        assert len(tape.compared) == flipped
        assert online.close() == state


def test_closing_gives_back_what_a_hit_would_have_cost() -> None:
    """Guarantee: a miss costs nothing, so what was held for a hit is free again once no more coins can be flipped."""
    check_closing(release.Interactive)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_closing(broken.GivesBackAndGoesOn)


def test_a_closed_one_is_resumed_with_what_was_spent() -> None:
    online = opened()
    spent = online.spent
    state = online.close()
    assert F(json.loads(state)["spent"]) == spent * online.purse.amount
    again = release.Interactive.resume(state, SMALL, ONE, sensitivity=CELLS, loss=LOSS, questions=1000)
    assert again.spent == spent


def test_a_hidden_threshold_is_not_stored_and_its_hits_do_not_come_back() -> None:
    online = opened(loss=dp.Loss.zcdp(rho=1))
    again = release.Interactive.resume(
        online.state(), SMALL, ONE, sensitivity=CELLS, loss=dp.Loss.zcdp(rho=1), questions=1000
    )
    assert again._gate is None
    assert again.exhausted


def test_what_cannot_be_written_stops_it() -> None:
    for twin, stops in ((release.Interactive, True), (broken.GoesOnAfterAFailedWrite, False)):
        full = False

        def save(state: bytes) -> None:
            if full:  # noqa: B023
                raise OSError(28, "no space left on device")

        online = opened(twin, OTHER, save=save)
        full = True
        with reading(Tape([True] * 9)):
            failures = 0
            for query in questions():
                try:
                    online.ask(query)
                except NotSupported:
                    assert failures == 1
                    break
                except OSError:
                    failures += 1
            else:
                assert not stops
                continue
        assert stops


def hits_seen_beyond_the_disk(make: Make, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many hits somebody sees, who breaks off every fit that follows one, more than the disk has as spent."""

    def broken_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    disk, seen = Disk(), 0
    with reading(Tape([True] * 9)):
        online = opened(make, OTHER, save=disk.save, questions=1000)
        online._bypasses = 0
        assert online._measurement is not None
        assert online._test is not None
        price = online._measurement.amount + online._test.amount
        before = disk.spent - price
        with monkeypatch.context() as patched:
            patched.setattr(online_fit, "fit", broken_off)
            online._fine = 0.0  # every question is tested
            for query in questions():
                try:
                    online.ask(query)
                except KeyboardInterrupt:
                    seen += 1
                except NotSupported:
                    break
    return seen - int((disk.spent - before) / price)


def test_a_measurement_that_is_broken_off_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hits_seen_beyond_the_disk(release.Interactive, monkeypatch) == 0
    assert hits_seen_beyond_the_disk(broken.GoesOnAfterAnInterrupt, monkeypatch) > 0


def test_what_was_released_before_a_fit_was_broken_off_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    online = opened(table=OTHER, journal=tmp_path / "online")
    query = questions()[0]
    with monkeypatch.context() as patched:
        patched.setattr(online_fit, "fit", broken_off)
        with pytest.raises(KeyboardInterrupt):
            online.ask(query)
    assert online.close() == online.state()
    online_state.Journal(tmp_path / "online").close()  # it was let go
    again = release.Interactive.resume(online.state(), SMALL, OTHER, sensitivity=CELLS, loss=LOSS, questions=1000)
    assert again.knowledge.covers(query.axes)
    assert again.ask(query).route is Route.SPAN


def test_what_is_given_back_is_never_used_again() -> None:
    """Whatever breaks while it is closed, no coin falls after something was given back."""
    online = opened(table=OTHER)

    class Broken(dp.Permit):
        __slots__ = ()

        def _give_back(self, charge: object) -> None:
            super()._give_back(charge)  # type: ignore[arg-type]
            raise KeyboardInterrupt

    online._permit = Broken._mint(online._permit._budget, online._permit._left)
    with pytest.raises(KeyboardInterrupt):
        online.close()
    with pytest.raises(NotSupported):
        online.ask(questions()[0])


def accepted(state: bytes) -> int:
    """How many states that lost a bit, or their end, are taken for one that says something else."""
    whole = online_state.from_bytes(state)
    damaged = [state[:i] + bytes([state[i] ^ 1]) + state[i + 1 :] for i in range(len(state))]
    damaged += [state[:i] for i in range(len(state))]
    count = 0
    for one in damaged:
        try:
            count += online_state.from_bytes(one) != whole  # a last digit may not change the number that is read
        except InvalidParameter:
            continue
    return count


def test_a_state_that_lost_a_bit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of what was spent could bring back the budget."""
    state = opened().state()
    assert accepted(state) == 0
    monkeypatch.setattr(online_state, "sha256", lambda _: hashlib.sha256(b""))  # a digest of nothing sees nothing
    assert accepted(opened().state()) > 100


def test_a_permit_that_others_empty_at_the_last_moment_leaves_the_answer_that_was_paid() -> None:
    online = opened(table=OTHER)

    class Raced(dp.Permit):
        __slots__ = ()

        def take(self, loss: dp.Loss) -> Any:
            self.close()  # somebody else was faster
            return super().take(loss)

    online._permit = Raced._mint(online._permit._budget, online._permit._left)
    reply = online.ask(questions()[0])
    assert (reply.route, online.exhausted) == (Route.BYPASS, True)
    assert online.ask(questions()[6]).route is Route.SPAN
    assert not online._closed


def test_states_of_others_and_damaged_ones_are_refused() -> None:
    online = opened()
    state = online.state()
    given: dict[str, Any] = {"sensitivity": CELLS, "loss": LOSS, "questions": 1000}
    for wrong in (b"", b"{}", b"\xff", state[:-20], state.replace(b'"version": 1', b'"version": 9'), b"[1, 2]"):
        with pytest.raises(InvalidParameter):
            release.Interactive.resume(wrong, SMALL, ONE, **given)
    content = online_state.from_bytes(state)
    for changed in ({"version": 9}, {"spent": "-1"}, {"spent": None}, {"amount": "1/0"}, {"made": "by another"}):
        with pytest.raises(InvalidParameter):
            release.Interactive.resume(online_state.to_bytes("", F(0), {**content, **changed}), SMALL, ONE, **given)
    for missing in ("bypasses", "knowledge", "amount", "touched"):
        less = {name: part for name, part in content.items() if name != missing}
        with pytest.raises(InvalidParameter):
            release.Interactive.resume(online_state.to_bytes("", F(0), less), SMALL, ONE, **given)
    for changed in ({"questions": 999}, {"loss": dp.Loss.approximate(epsilon=2, delta="1e-9")}):
        with pytest.raises(InvalidParameter):
            release.Interactive.resume(state, SMALL, ONE, **{**given, **changed})
    begun = Disk(1, before=False)
    with pytest.raises(Crash):
        opened(save=begun.save)
    assert begun.state is not None
    with pytest.raises(InvalidParameter):
        release.Interactive.resume(begun.state, SMALL, ONE, **given)


def test_a_journal_is_held_by_one_and_resumed_if_it_is_there(tmp_path: Path) -> None:
    file = tmp_path / "online"
    online = opened(journal=file)
    with pytest.raises(NotSupported, match="another process"):
        opened(journal=file)
    online.ask_many(questions())
    spent = online.spent
    online.close()
    again = opened(journal=file)
    assert again.spent == spent
    assert online_state.from_bytes(file.read_bytes())["knowledge"]
    again.close()


def test_a_journal_by_another_name_is_the_same_journal(tmp_path: Path) -> None:
    file, other = tmp_path / "online", tmp_path / "other"
    opened(journal=file).close()
    other.symlink_to(file)
    online = opened(journal=file)
    with pytest.raises(NotSupported, match="another process"):
        opened(journal=other)
    online.close()
    opened(journal=other).close()
    assert other.is_symlink()


def test_a_journal_is_let_go_when_nothing_was_made(tmp_path: Path) -> None:
    file = tmp_path / "online"
    with pytest.raises(InvalidParameter) as kept:
        opened(journal=file, questions=0)
    assert kept.value.__traceback__ is not None  # as an interactive shell keeps it, with all that it refers to
    opened(journal=file).close()
    with pytest.raises(InvalidParameter) as kept:
        opened(journal=file, questions=7)
    assert kept.value.__traceback__ is not None
    opened(journal=file).close()


CHILD = """
import os, signal, sys
import numpy as np
from discreet import dp, release
from discreet.release import interactive, online_gate, online_state
universe = dp.Universe({"one": 2, "two": 3, "three": 4})
point, place, journal = int(sys.argv[1]), sys.argv[2], sys.argv[3]
online_gate.coin = lambda stream, steps, slope: True
interactive._FINE = 0.0  # every question is tested, and is a hit
writes = 0
real = online_state.Journal.save
def save(self, state):
    global writes
    writes += 1
    if writes == point and place == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, state)
    if writes == point and place == "after":
        os.kill(os.getpid(), signal.SIGKILL)
online_state.Journal.save = save
online = release.Interactive(universe, np.arange(24) * 10,
    sensitivity=dp.Sensitivity.histogram(neighbours=dp.Neighbours.ADD_REMOVE),
    loss=dp.Loss.approximate(epsilon=1, delta="1e-9"), questions=1000, journal=journal)
for one in range(2):
    for two in range(3):
        reply = online.ask(release.where(universe, one=one, two=two, three=[one, two]))
        print(reply.charged, flush=True)
print("done", flush=True)
"""


@pytest.mark.parametrize(
    ("point", "place"), [(1, "before"), (1, "after"), (2, "before"), (3, "before"), (3, "after"), (5, "before")]
)
def test_a_killed_process_has_written_every_charge_that_was_answered(point: int, place: str, tmp_path: Path) -> None:
    journal = tmp_path / "online"
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(point), place, str(journal)],
        capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    answered = [F(line) for line in ran.stdout.split()]
    assert len(answered) == max(0, point - 3)
    if not journal.exists():
        assert (point, place) == (1, "before")
        return
    content = online_state.from_bytes(journal.read_bytes())
    spent, amount = F(content["spent"]), F(content["amount"])
    with reading(Tape([])):
        plan = opened().plan
    prior = plan.purse.charge(plan.loss_of_prior)
    assert spent >= prior + sum(answered) * amount
    if content["knowledge"]:
        online = opened(journal=journal)
        assert online._permit.left + _held(online) <= amount - spent
        online.close()
    else:
        with pytest.raises(InvalidParameter):
            opened(journal=journal)
