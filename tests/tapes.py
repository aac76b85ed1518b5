"""The code of a watch against its pseudo-code: run on every tape of noise of a small law, with nothing left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp import stream as module
from discreet.dp.hidden_threshold import HiddenThreshold
from discreet.dp.randomness import Stream
from discreet.dp.samplers import Sampler
from tests.streams import Answers, Values, plain

Run = Callable[[HiddenThreshold, Values], Answers]
Found = dict[Answers, Fraction]

NOISE = (-1, 0, 2)


class RanOut(Exception):
    """The tape is shorter than what was drawn from it."""


class Tape(Sampler):
    """A sampler that hands out what it is told to."""

    scale = Fraction(1)

    def __init__(self, noise: Sequence[int]) -> None:
        self.left = list(noise)

    def draw(self, stream: Stream, count: int) -> np.ndarray:
        drawn, self.left = self.left[:count], self.left[count:]
        if len(drawn) < count:
            raise RanOut
        return np.array(drawn, dtype=np.int64)

    def added_to(self, value: int, stream: Stream) -> int:
        return value + int(self.draw(stream, 1)[0])


def on_tape(watch: HiddenThreshold, noise: Sequence[int]) -> HiddenThreshold:
    """The watch as if just opened, with all its noise read from one tape, in the order in which it is drawn."""
    tape = Tape(noise)
    watch._threshold_noise = watch._query_noise = tape
    if isinstance(watch, dp.NumericSparse):
        watch._value_noise = tape
    watch._begin(None)
    return watch


def one_by_one(watch: HiddenThreshold, values: Values) -> Answers:
    answers: list[object] = []
    for value in values:
        if watch.halted:
            break
        answers.append(plain(watch.ask(value)))
    return tuple(answers)


def many_at_once(watch: HiddenThreshold, values: Values) -> Answers:
    """The whole vector again and again, each time from where the last answers ended."""
    answers: list[object] = []
    while len(answers) < len(values) and not watch.halted:
        answers += [plain(answer) for answer in watch.ask_many(np.array(values), start=len(answers))]
    return tuple(answers)


def enumerated(watch: HiddenThreshold, run: Run, values: Values) -> Found:
    """The exact law of the answers, where all noise is uniform on a few integers: a longer tape where one runs out."""
    found: Found = {}
    tapes: list[tuple[int, ...]] = [()]
    while tapes:
        tape = tapes.pop()
        try:
            answers = run(on_tape(watch, tape), values)
        except RanOut:
            tapes += [(*tape, noise) for noise in NOISE]
        else:
            found[answers] = found.get(answers, Fraction(0)) + Fraction(1, len(NOISE) ** len(tape))
    return found


def textbook(values: Values, *, threshold: int, cutoff: int, redraw: bool, answer: str = "whether") -> Found:
    """The law of the answers by the pseudo-code, as a tree in which each draw branches.

    A hit is answered by True, by its `gap`, or by its `value` with fresh noise.
    """
    found: Found = {}

    def go(place: int, count: int, noisy: int, answers: Answers, chance: Fraction) -> None:
        if place == len(values) or count == cutoff:
            found[answers] = found.get(answers, Fraction(0)) + chance
            return
        for nu in NOISE:
            above, share = values[place] + nu - noisy, chance / len(NOISE)
            if above < 0:
                go(place + 1, count, noisy, (*answers, False), share)
                continue
            fresh = NOISE if answer == "value" else (0,)
            again = NOISE if redraw and count + 1 < cutoff else (noisy - threshold,)
            for told in fresh:
                shown = {"whether": True, "gap": above, "value": values[place] + told}[answer]
                for rho in again:
                    chance_here = share / (len(fresh) * len(again))
                    go(place + 1, count + 1, threshold + rho, (*answers, shown), chance_here)

    for rho in NOISE:
        go(0, 0, threshold + rho, (), Fraction(1, len(NOISE)))
    return found


def check_code(
    watch: HiddenThreshold,
    monkeypatch: pytest.MonkeyPatch,
    *,
    cutoff: int,
    redraw: bool,
    answer: str = "whether",
    count: int = 4,
    chunks: Sequence[tuple[int, int]] = ((1, 1), (1, 2), (2, 2), (8, 4)),
) -> None:
    """One by one and in chunks of one, two and more, the law of the answers is that of the pseudo-code."""
    threshold = int(watch.threshold)
    values = [threshold + excess for excess in (0, 1, -1, 2)][:count]
    wanted = textbook(values, threshold=threshold, cutoff=cutoff, redraw=redraw, answer=answer)
    assert sum(wanted.values()) == 1
    assert enumerated(watch, one_by_one, values) == wanted
    for first, growth in chunks:
        monkeypatch.setattr(module, "FIRST", first)
        monkeypatch.setattr(module, "GROWTH", growth)
        assert enumerated(watch, many_at_once, values) == wanted
