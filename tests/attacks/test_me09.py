"""ME-09: an online mechanism that learns from what it did not release, or for free, or takes a 0 for no answer."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import release
from discreet.release import interactive, online_plan
from discreet.release.online_fit import Knowledge
from discreet.release.online_measure import GaussianInstrument
from discreet.release.reply import Route
from tests.broken import online as broken
from tests.online_tapes import OTHER, SMALL, Tape, check_public, opened, questions, reading


def check_learned(make: type[release.Interactive]) -> None:
    """All that is learned is what the instrument released, each once, and in that order."""
    released: list[object] = []
    learned: list[object] = []
    prior, measure, learn = GaussianInstrument.prior, GaussianInstrument.measure, Knowledge.learn

    def of_prior(self: GaussianInstrument, *given: object) -> object:
        found = prior(self, *given)  # type: ignore[arg-type]
        released.extend(one for part in found for one in part)
        return found

    def of_measure(self: GaussianInstrument, *given: object) -> object:
        found = measure(self, *given)  # type: ignore[arg-type]
        released.extend(found)
        return found

    def kept(self: Knowledge, parts: list[object], **more: object) -> None:
        listed = list(parts)
        learned.extend(listed)
        learn(self, listed, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched, reading(Tape([True, False, True])):
        patched.setattr(GaussianInstrument, "prior", of_prior)
        patched.setattr(GaussianInstrument, "measure", of_measure)
        patched.setattr(Knowledge, "learn", kept)
        online = opened(make, OTHER)
        for query in questions():
            online.ask(query)
    assert [id(one) for one in learned] == [id(one) for one in released]
    assert len(released) > 3


def test_it_learns_from_released_values_alone() -> None:
    check_learned(release.Interactive)
    with pytest.raises(AssertionError):
        check_learned(broken.LearnsTheTruth)


@pytest.mark.parametrize(
    "twin", [broken.StepOfPrivateRows, broken.StartsFromPrivatePrior, broken.StopsByPrivateNorm, broken.ErrorOfTheTruth]
)
def test_no_rate_prior_stop_or_error_comes_from_private_numbers(twin: type[release.Interactive]) -> None:
    check_public(release.Interactive)
    with pytest.raises(AssertionError):
        check_public(twin)


def check_hits_are_charged(make: type[release.Interactive]) -> None:
    """Each hit takes the price of a test and of a measurement from the budget, and hits end when it is gone."""
    with pytest.MonkeyPatch.context() as patched, reading(Tape([True] * 99)):
        patched.setattr(interactive, "_FINE", 0.0)
        patched.setattr(online_plan, "_BYPASSES", 0)
        online = opened(make, OTHER)
        purse = online.purse
        gate = online._gate
        assert gate is not None
        price = (purse.charge(gate.loss_of_hit) + purse.charge(online.plan.loss_of_measurement)) / purse.amount
        hits = 0
        for first in range(2):
            for second in range(3):
                for third in range(4):
                    before = online.spent
                    reply = online.ask(release.where(SMALL, one=first, two=second, three=third))
                    hits += reply.route is Route.MEASURED
                    assert online.spent - before == reply.charged == (price if reply.route is Route.MEASURED else 0)
        assert hits == online.plan.hits
        assert online.exhausted
        assert online.spent <= 1


def test_every_hit_is_charged_and_their_number_is_limited() -> None:
    check_hits_are_charged(release.Interactive)
    with pytest.raises(AssertionError):
        check_hits_are_charged(broken.MissesCostNothingAndHitsNeither)


def test_easy_questions_change_nothing() -> None:
    with pytest.MonkeyPatch.context() as patched, reading(Tape([])):
        patched.setattr(interactive, "_FINE", 0.0)
        patched.setattr(online_plan, "_BYPASSES", 0)
        online = opened(table=OTHER)
        cells, state = online.model.cells.copy(), online.state()
        for query in questions():
            assert online.ask(query).route in (Route.MODEL, Route.REPEATED)
        assert np.array_equal(online.model.cells, cells)
        assert online.state() == state


def check_zero(make: type[release.Interactive]) -> None:
    """A released 0 answers its question, now and again, like any other number."""
    with pytest.MonkeyPatch.context() as patched, reading(Tape([True] * 9, scale=0.0)) as tape:
        patched.setattr(interactive, "_FINE", 0.0)
        patched.setattr(interactive, "_APART", -1.0)  # so that a hit is answered by what was released
        patched.setattr(online_plan, "_BYPASSES", 0)
        online = opened(make, OTHER)
        query = release.where(SMALL, one=1, two=2, three=3)
        first = online.ask(query)
        assert (first.value, first.route, first.certified) == (0, Route.MEASURED, True)
        drawn, spent = len(tape.released), online.spent
        again = online.ask(query)
        assert (again.value, again.charged) == (0, 0)
        assert (len(tape.released), online.spent) == (drawn, spent)


def test_zero_is_an_answer() -> None:
    check_zero(release.Interactive)
    with pytest.raises(AssertionError):
        check_zero(broken.ZeroIsNoAnswer)
