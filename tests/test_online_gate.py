"""The gates of an online mechanism: exact laws of their answers, for numbers that move by more than 1 too."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.logistic import chance
from discreet.dp.randomness import system
from discreet.dp.reals import bounds
from discreet.release import online_gate
from discreet.release.online_gate import LogisticGate, SparseGate
from tests.broken import measurements as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.streams import Answers, Scales, Values, check_pure, extreme_cases
from tests.threshold_truth import HitChance, check_hits_pay, price

F = Fraction
SLOPE, THRESHOLD = F(1, 50), 541
ADD = dp.Neighbours.ADD_REMOVE


def hit_of(gate: LogisticGate) -> HitChance:
    """The chance of the coin that the gate flips for a number so far above its threshold, from its certified ball."""

    def hit(excess: int) -> mpf:
        flipped: list[tuple[int, Fraction]] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(online_gate, "coin", lambda stream, steps, slope: flipped.append((steps, slope)))
            gate.is_above(THRESHOLD + excess, system())
        ((steps, slope),) = flipped
        low, high = bounds(lambda: chance(steps, slope))
        return real((low + high) / 2)

    return hit


@pytest.mark.parametrize("apart", [1, 2, 7])
def test_a_hit_pays_for_all_coins(apart: int) -> None:
    """Guarantee: for whole numbers that move by at most `apart`, a hit costs eta(a, slope) / (a - 1) at the order a of
    a budget and a miss nothing, as of `dp.ThresholdTest`.
    """

    def cost(order: mpf) -> mpf:
        return price(order, real(SLOPE)) / (order - 1)

    gate = LogisticGate(threshold=THRESHOLD, slope=SLOPE, apart=apart)
    for order in (F(3, 2), F(4), F(349, 10)):
        claimed = real(F(gate.loss_of_hit.renyi(order)))
        assert cost(real(order)) <= claimed <= cost(real(order)) * (1 + mpf(10) ** -12)
    check_hits_pay(hit_of(gate), cost, orders=(1.5, 4.0, 34.9), move=apart)
    if apart > 1:
        twin = broken.SlopeNotDivided(threshold=THRESHOLD, slope=SLOPE, apart=apart)
        with pytest.raises(AssertionError):
            check_hits_pay(hit_of(twin), cost, orders=(4.0,), move=apart)


def cases(apart: int, hits: int, epsilon: Fraction) -> Iterator[tuple[Values, Values, Answers, int]]:
    """The worst streams there are, of numbers that move by so much."""
    low = int(100 * hits / epsilon)
    for one, other, answers, threshold in extreme_cases(hits, misses=(30,), thresholds=(0, 9), low=low):
        yield tuple(apart * v for v in one), tuple(apart * v for v in other), answers, threshold


@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("apart", [1, 2])
def test_a_hidden_threshold_pays_for_all_answers(hits: int, apart: int) -> None:
    """Guarantee: `epsilon`-DP for all questions together, as `dp.SparseVector`."""

    def check(make: type[SparseGate], *, tight: bool) -> None:
        far, epsilon = dp.Sensitivity(l1=apart, neighbours=ADD), F(1, 2)
        gate = make(threshold=0, epsilon=epsilon, hits=hits, sensitivity=far)
        assert gate.loss_of_hit == dp.Loss.pure(epsilon=0)
        check_pure(Scales.of(gate._watch).chance, epsilon, cases(apart, hits, epsilon), tight=tight)

    check(SparseGate, tight=True)
    if apart > 1:
        with pytest.raises(AssertionError):
            check(broken.SparseGateOfCounts, tight=False)


def test_the_watch_sees_the_number_and_the_threshold_and_ends_after_its_hits() -> None:
    gate = SparseGate(threshold=10**9, epsilon=F(1), hits=2, sensitivity=dp.Sensitivity(l1=1, neighbours=ADD))
    assert gate._watch.threshold == 10**9
    assert [gate.is_above(value, system()) for value in (0, 2 * 10**9, 10**9 - 10**6)] == [False, True, False]
    assert not gate.halted
    assert gate.is_above(10**9 + 10**6, system())
    assert gate.halted
    assert mp.isfinite(gate.bar(F(1, 100)))
