"""CO-02: choose each epsilon by the answers so far, against a theorem whose losses were fixed in advance.

The adversary asks randomised responses of one or of a few units and sees every answer, so it knows the loss so far. Its
best strategy is found by recursion over all states, exactly: how likely it ends up with more than it may know.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Protocol

import pytest

from discreet import dp
from tests.broken import composition as broken
from tests.sizes import sized

UNIT = Fraction(1, 10)
EPSILON, DELTA = Fraction(1), Fraction(1, 100)
CHOICES = [(1, 3), (1, 5), (1, 2, 4)] + sized(0, 1) * [(1, 2, 3, 4, 6)]

Counts = tuple[int, ...]


class Session(Protocol):
    def admit(self, loss: dp.Loss) -> bool: ...


def asked(make: Callable[[], Session], choices: Counts, counts: Counts) -> bool:
    """Whether a session admits so many losses of each size, one after the other."""
    session = make()
    losses = [dp.Loss.pure(epsilon=k * UNIT) for k, count in zip(choices, counts, strict=True) for _ in range(count)]
    return all(session.admit(loss) for loss in losses)


def best_delta(make: Callable[[], Session], choices: Counts) -> float:
    """The greatest delta at EPSILON of an analyst who chooses by the answers: E(1 - e^(epsilon - loss))+ at the end."""
    admitted = cache(lambda counts: asked(make, choices, counts))

    @cache
    def worth(counts: Counts, loss: int) -> float:
        best = max(0.0, -math.expm1(float(EPSILON - loss * UNIT)))
        for i, k in enumerate(choices):
            more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
            if admitted(more):
                truth = 1 / (1 + math.exp(-float(k * UNIT)))
                best = max(best, truth * worth(more, loss + k) + (1 - truth) * worth(more, loss - k))
        return best

    return worth((0,) * len(choices), 0)


def check_choosing_gains_nothing(make: Callable[[], Session], choices: Counts) -> None:
    assert best_delta(make, choices) <= DELTA


@pytest.mark.parametrize("choices", CHOICES)
def test_a_filter_keeps_its_promise_to_an_adversary_that_sees_every_answer(choices: Counts) -> None:
    check_choosing_gains_nothing(lambda: dp.PrivacyFilter(dp.Budget(epsilon=EPSILON, delta=DELTA)), choices)


@pytest.mark.parametrize("choices", CHOICES)
def test_the_best_theorem_for_fixed_losses_does_not(choices: Counts) -> None:
    """Whatever was asked is (1, 0.01)-DP, taken as if it had been fixed: and yet the promise is broken."""
    with pytest.raises(AssertionError):
        check_choosing_gains_nothing(lambda: broken.Odometer(EPSILON, DELTA), choices)
    assert best_delta(lambda: broken.Odometer(EPSILON, DELTA), choices) > 1.2 * float(DELTA)


def test_the_filter_refuses_what_the_adversary_would_ask_next() -> None:
    """Along the path that breaks the odometer, answer by answer."""
    odometer, session = broken.Odometer(EPSILON, DELTA), dp.PrivacyFilter(dp.Budget(epsilon=EPSILON, delta=DELTA))
    one = dp.Loss.pure(epsilon=UNIT)
    admitted = [(odometer.admit(one), session.admit(one)) for _ in range(40)]
    fits = [sum(column) for column in zip(*admitted, strict=True)]
    assert fits[1] < fits[0] < 40
    assert session.spent.amount <= session.budget.cap.amount


def reported(count: int) -> float:
    """What a running total would show after so many answers: their epsilon, as if all had been fixed."""
    return (count * dp.Loss.pure(epsilon=UNIT)).epsilon(delta=DELTA) if count else 0.0


def chance_to_catch(show: Callable[[int], float], *, steps: int) -> float:
    """The greatest E(1 - e^(shown - loss))+ of an analyst who stops when the loss is above the number on show."""
    shown = [show(count) for count in range(steps + 1)]
    truth = 1 / (1 + math.exp(-float(UNIT)))
    worth: dict[int, float] = {}
    for count in range(steps, -1, -1):
        now = {}
        for loss in range(-count, count + 1, 2):
            stop = max(0.0, -math.expm1(shown[count] - loss * float(UNIT)))
            go = truth * worth[loss + 1] + (1 - truth) * worth[loss - 1] if worth else 0.0
            now[loss] = max(stop, go)
        worth = now
    return worth[0]


def test_a_running_epsilon_is_outrun_by_whoever_chooses_when_to_stop() -> None:
    """Each number on show is right for its own count. The analyst who stops at the right moment has far more than that:
    this is why a session shows the share of its budget that is spent, which is a charge, and no epsilon of the answers.
    """
    assert chance_to_catch(reported, steps=100) > 1.5 * float(DELTA)
    session = dp.PrivacyFilter(dp.Budget(epsilon=EPSILON, delta=DELTA))
    assert not hasattr(session, "epsilon")
    assert not hasattr(session.spent, "epsilon")
    constant = float(session.budget.epsilon or 0)
    fits = sum(session.admit(dp.Loss.pure(epsilon=UNIT)) for _ in range(1_000))
    assert chance_to_catch(lambda _: constant, steps=fits) <= DELTA
