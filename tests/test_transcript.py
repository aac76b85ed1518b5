"""States of a construction: complete, resumed under the same law, and refused where anything does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import dp, release
from discreet.errors import InvalidParameter
from discreet.release import transcript
from tests.construction_adversary import SMALL, table
from tests.construction_loops import (
    LOSSES,
    MANY,
    QUERIES,
    REPLACE,
    certified_updates,
    construction,
    histogram,
    scripted,
)
from tests.sizes import sized

F = Fraction
DATA = table(SMALL, MANY, 1)


def made(**changed: Any) -> release.IterativeConstruction:
    return construction(certified_updates()[0], dp.Loss.pure(epsilon=60), **changed)


def finished() -> tuple[release.IterativeConstruction, release.Run, list[bytes]]:
    """A run, and its state after every round."""
    one, states = made(), list[bytes]()
    run = one.run(DATA, sensitivity=histogram(REPLACE), progress=lambda so_far: states.append(so_far.state()))
    assert len(states) == len(run.transcript) >= 3
    return one, run, states


def test_a_state_holds_everything_that_was_released() -> None:
    one, run, states = finished()
    for number, state in enumerate(states, start=1):
        again = made().restored(state)  # by another object with the same public parameters
        assert again.transcript == run.transcript[:number]
        assert again.state() == state
        assert again.finished is (number == len(states))
        assert again.certified_error == (one.certified_error if again.finished else None)
    assert np.array_equal(again.structure.answers(QUERIES), run.structure.answers(QUERIES))


def test_progress_is_told_the_same_as_the_transcript() -> None:
    one, seen = made(), list[int]()
    run = one.run(DATA, sensitivity=histogram(REPLACE), progress=lambda so_far: seen.append(len(so_far.transcript)))
    assert seen == list(range(1, len(run.transcript) + 1))


@pytest.mark.parametrize("keep", range(3))
def test_resuming_goes_on_under_the_same_law(monkeypatch: pytest.MonkeyPatch, keep: int) -> None:
    """With the same random bits from there on, the rounds after a state are those of the run that went on."""
    from discreet.dp import randomness

    one, first, _ = finished()
    begun = release.Run(one, one.update.start(), ())
    for entry in first.transcript[:keep]:
        begun = one._after(begun, entry.number, entry.query, entry.value)
    monkeypatch.setattr(randomness, "system", lambda: randomness._SeededStream(17))
    whole = one._go(begun, lambda: one._private(DATA), None, None)
    resumed = made().resume(begun.state(), DATA, sensitivity=histogram(REPLACE))
    assert resumed.state() == whole.state()
    assert resumed.transcript[:keep] == first.transcript[:keep]


def test_a_finished_run_looks_at_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one, run, states = finished()

    def fails(*_: Any) -> None:
        raise AssertionError("the table was looked at")

    monkeypatch.setattr(release.ExponentialDistinguisher, "truth", fails)
    assert one.resume(states[-1], DATA, sensitivity=histogram(REPLACE)).state() == run.state()


class TestRefusals:
    @pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.9, 0.999])
    def test_truncated(self, keep: float) -> None:
        one, _, states = finished()
        with pytest.raises(InvalidParameter, match="no state"):
            one.restored(states[-1][: int(len(states[-1]) * keep)])

    def test_any_damaged_byte(self) -> None:
        one, _, states = finished()
        state = states[1]
        source = np.random.default_rng(3)
        for place in source.permutation(len(state))[: sized(60, 2000)]:
            other = bytes([b"0123456789abcdef x"[int(source.integers(18))]])
            damaged = state[:place] + other + state[place + 1 :]
            if damaged != state:
                with pytest.raises(InvalidParameter, match="no state"):
                    one.restored(damaged)

    @pytest.mark.parametrize(
        "change",
        [
            lambda content: content["rounds"][0].__setitem__(0, 10**6),
            lambda content: content["rounds"][0].__setitem__(0, -1),
            lambda content: content["rounds"][0].__setitem__(0, True),
            lambda content: content["rounds"][0].__setitem__(1, "00"),
            lambda content: content["rounds"][0].__setitem__(2, "nan"),
            lambda content: content["rounds"][0].__setitem__(2, "1/0"),
            lambda content: content["rounds"][0].__setitem__(2, "1e999999999"),
            lambda content: content["rounds"][0].__setitem__(2, 3),
            lambda content: content["rounds"][0].__setitem__(3, not content["rounds"][0][3]),
            lambda content: content["rounds"][0].append(1),
            lambda content: content["rounds"].extend([content["rounds"][-1]] * 1000),
            lambda content: content.__setitem__("rounds", {"abcd": 1}),
            lambda content: content.__setitem__("rounds", 7),
            lambda content: content.__setitem__("version", 2),
            lambda content: content.__setitem__("kind", "discreet.dp.ThresholdTest"),
            lambda content: content.__delitem__("construction"),
        ],
    )
    def test_wrong_content_with_the_right_sum(self, change: Callable[[Any], None]) -> None:
        one, _, states = finished()
        content = json.loads(states[-1])
        del content["sum"]
        change(content)
        forged = json.dumps(content | {"sum": transcript._sum(content)}).encode()
        with pytest.raises(InvalidParameter, match="no state"):
            one.restored(forged)

    @pytest.mark.parametrize("state", [b"", b"{}", b"[]", b"null", b"7", b"\xff", b"[" * 200_000, None, 3, "{}"])
    def test_what_is_no_state(self, state: Any) -> None:
        with pytest.raises(InvalidParameter, match="no state"):
            made().restored(state)

    @pytest.mark.parametrize(
        "other",
        [
            lambda: made(failure_probability=F(1, 10)),
            lambda: made(kind=release.NoisyMaxDistinguisher),
            lambda: made(sensitivity=histogram(REPLACE, 2)),
            lambda: made(calibration=release.Calibration.NOTES),
            lambda: construction(certified_updates()[1], dp.Loss.pure(epsilon=60)),
            lambda: construction(certified_updates()[2], dp.Loss.pure(epsilon=60)),
            lambda: construction(certified_updates()[3], dp.Loss.pure(epsilon=60)),
            lambda: construction(certified_updates()[0], dp.Loss.pure(epsilon=61)),
            lambda: construction(certified_updates()[0], LOSSES[2][0]),
        ],
    )
    def test_of_another_construction(self, other: Callable[[], release.IterativeConstruction]) -> None:
        _, _, states = finished()
        with pytest.raises(InvalidParameter, match="no state"):
            other().restored(states[-1])

    def test_of_another_workload_that_begins_alike(self) -> None:
        """It has as many queries and the first is the same: what was certified of the others was said of others."""
        first, second, third = (release.where(SMALL, two=[value]) for value in (0, 1, 2))
        one, other = made(workload=release.Workload([first, second])), made(workload=release.Workload([first, third]))
        run = scripted(one, lambda _: 0, lambda _: F(MANY, 4))
        assert run.finished
        assert not run.transcript[-1].updated
        with pytest.raises(InvalidParameter, match="no state"):
            other.restored(run.state())
        assert one.restored(run.state()).finished

    def test_of_another_universe_or_prior(self) -> None:
        """The same sizes with other values, and the same bound from another guess."""
        named = dp.Universe({"one": dp.Category(["a", "b"]), "two": 4})
        guess = np.arange(1.0, 9)

        def like(universe: dp.Universe, prior: Any) -> release.IterativeConstruction:
            return release.IterativeConstruction(
                universe, QUERIES, loss=dp.Loss.pure(epsilon=60), failure_probability=F(1, 20),
                update=release.MultiplicativeWeights(universe, rows=MANY, prior=prior),
                distinguisher=release.ExponentialDistinguisher(QUERIES, sensitivity=histogram(REPLACE)),
            )  # fmt: skip

        priors = [release.Prior(g, uniform_share=F(1, 2)) for g in (guess, guess[::-1].copy())]
        assert priors[0].potential == priors[1].potential
        state = release.Run(like(SMALL, priors[0]), like(SMALL, priors[0]).update.start(), ()).state()
        assert like(SMALL, priors[0]).restored(state).transcript == ()
        for other in (like(SMALL, priors[1]), like(named, priors[0])):
            with pytest.raises(InvalidParameter, match="no state"):
                other.restored(state)


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "from tests.test_transcript import made; from tests.construction_loops import *;"
        "print(made()._fingerprint, *(construction(u)._fingerprint for u in certified_updates()))"
    )
    here = [made()._fingerprint, *(construction(update)._fingerprint for update in certified_updates())]
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert there == here
    assert len(set(here)) == len(here)
