"""Checks that the sparse vector family passes and its broken twins do not.

The law of a stream of answers is a sum over the noise of the threshold, in closed form: `Scales.chance`. It is held
against the loss (`check_pure`); `tests/tapes.py` holds the code against the same pseudo-code. Probabilities come with a
certified remainder, so the inequalities need no slack.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet import dp
from discreet.dp.hidden_threshold import HiddenThreshold
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_below, laplace_mass, real

Values = Sequence[int]
Answers = tuple[object, ...]
"""One answer after the other: False, True, or a number where a hit is answered by one."""
Bounds = tuple[mpf, mpf]
Law = Callable[[Values, Answers, int], Bounds]
"""Bounds of the probability of these answers to these values, at a threshold."""

Counted = dict[tuple[int, bool, object], int]

TIGHT = mpf(10) ** -6
REST = mpf(10) ** -12


@lru_cache(maxsize=1 << 16)
def below(scale: Fraction, k: int) -> mpf:
    return laplace_below(scale, k)


@lru_cache(maxsize=1 << 16)
def mass(scale: Fraction, k: int) -> mpf:
    return laplace_mass(scale, k)


@dataclass(frozen=True, slots=True)
class Scales:
    """A sparse vector algorithm by its noise: what one would read off its pseudo-code.

    `threshold` and `query` are scales of discrete Laplace noise, None for no noise. With `redraw` every hit gets a
    fresh threshold. `value` is the scale of fresh noise on the value of a hit; `compared` says that a hit is answered
    by what was compared with the threshold, `gap` by how far it was above.
    """

    threshold: Fraction | None
    query: Fraction | None
    redraw: bool = False
    value: Fraction | None = None
    compared: bool = False
    gap: bool = False

    @classmethod
    def of(cls, watch: HiddenThreshold) -> Scales:
        """What an object of ours draws from."""
        value = watch._value_noise.scale if isinstance(watch, dp.NumericSparse) else None
        redraw = isinstance(watch, dp.AboveThreshold | dp.Sparse | dp.NumericSparse)
        gap = isinstance(watch, dp.SparseVector) and watch.gap
        return cls(watch._threshold_noise.scale, watch._query_noise.scale, redraw=redraw, value=value, gap=gap)

    def chance(self, values: Values, answers: Answers, threshold: int) -> Bounds:
        """Bounds of the probability of these answers."""
        parts = list(_runs(answers)) if self.redraw else [slice(0, len(answers))]
        low, high = mpf(1), mpf(1)
        for part in parts:
            one = self._run(tuple(a - threshold for a in values[part]), answers[part], threshold)
            low, high = low * one[0], high * one[1]
        return low, high

    def _run(self, excesses: tuple[int, ...], answers: Answers, threshold: int) -> Bounds:
        """The sum over the noise z of one threshold."""
        counted: Counted = {}
        for excess, answer in zip(excesses, answers, strict=True):
            key = (excess, answer is False, answer)  # False is not the number 0
            counted[key] = counted.get(key, 0) + 1

        def given(z: int) -> mpf:
            product = mpf(1)
            for (excess, _, answer), times in counted.items():
                product *= self._one(excess, answer, z, threshold) ** times
            return product

        if self.threshold is None:
            exact = given(0)
            return exact, exact
        total, reach, done = mpf(0), 32, -1
        while True:
            sizes = range(done + 1, reach)
            total += mp.fsum(mass(self.threshold, z) * given(z) for size in sizes for z in {size, -size})
            rest = below(self.threshold, 1 - reach) * self._beyond(counted, reach)
            if rest <= total * REST or total == rest == 0:
                return total, total + rest
            done, reach = reach - 1, 2 * reach

    def _beyond(self, counted: Counted, reach: int) -> mpf:
        """A bound for both tails: hits get less likely with the noise of the threshold, and misses more."""
        hits = misses = mpf(1)
        for (excess, _, answer), times in counted.items():
            if answer is False:
                misses *= self._below(-reach - excess) ** times
            elif answer is True:
                hits *= self._at_least(reach - excess) ** times
        return hits + misses

    def _one(self, excess: int, answer: object, z: int, threshold: int) -> mpf:
        """The probability of one answer, given the noise of the threshold."""
        if answer is False:
            return self._below(z - excess)
        if self.gap:
            return self._mass(answer - excess + z)  # type: ignore[operator]
        if self.compared:
            above = answer - threshold  # type: ignore[operator]
            return self._mass(above - excess) if above >= z else mpf(0)
        told = mass(self.value, answer - threshold - excess) if self.value is not None else 1  # type: ignore[operator]
        return self._at_least(z - excess) * told

    def _below(self, k: int) -> mpf:
        """P(nu < k)."""
        return mpf(k > 0) if self.query is None else below(self.query, k)

    def _at_least(self, k: int) -> mpf:
        """P(nu >= k), which is P(nu < 1 - k)."""
        return mpf(k <= 0) if self.query is None else below(self.query, 1 - k)

    def _mass(self, k: int) -> mpf:
        return mpf(k == 0) if self.query is None else mass(self.query, k)


def _runs(answers: Answers) -> Iterator[slice]:
    """The parts between hits, each with the hit that ends it."""
    start = 0
    for place, answer in enumerate(answers):
        if answer is not False:
            yield slice(start, place + 1)
            start = place + 1
    if start < len(answers):
        yield slice(start, len(answers))


def outcomes(count: int, cutoff: int | None) -> Iterator[Answers]:
    """Everything that can be answered to so many values, by True and False."""
    for answers in itertools.product((False, True), repeat=count):
        if cutoff is None or sum(answers) <= cutoff:
            last = [place for place, answer in enumerate(answers) if answer][cutoff - 1 :] if cutoff else []
            if not last or last[0] == count - 1:
                yield answers


def worst_ratio(law: Law, cases: Iterable[tuple[Values, Values, Answers, int]]) -> Bounds:
    """Bounds of the greatest log ratio over values, neighbouring values, answers and threshold, in both orders."""
    low = high = mpf(0)
    for one, other, answers, threshold in cases:
        p, q = law(one, answers, threshold), law(other, answers, threshold)
        for above, under in ((p, q), (q, p)):
            if above[0] > 0:
                low = max(low, mp.log(above[0] / under[1]) if under[1] > 0 else mp.inf)
                high = max(high, mp.log(above[1] / under[0]) if under[0] > 0 else mp.inf)
    return low, high


def check_pure(
    law: Law, epsilon: Fraction, cases: Iterable[tuple[Values, Values, Answers, int]], *, tight: bool
) -> None:
    """The greatest log ratio is at most epsilon; and equal to it to 1e-6, where the theorem is tight."""
    low, high = worst_ratio(law, cases)
    assert low <= real(epsilon), f"log ratio {mp.nstr(low, 8)} above {epsilon}"
    assert not tight or high >= real(epsilon) - TIGHT, f"log ratio {mp.nstr(high, 8)} does not reach {epsilon}"


def extreme_cases(
    cutoff: int, *, misses: Iterable[int], thresholds: Iterable[int], low: int, together: bool = False
) -> Iterator[tuple[Values, Values, Answers, int]]:
    """Misses of values that rise from 0 to 1, then hits of values that fall from -low: the worst there is.

    `together` keeps to neighbours whose values all move in one direction: the values that hit do not move.
    """
    for count, threshold in itertools.product(misses, thresholds):
        answers = (False,) * count + (True,) * cutoff
        last = -low if together else -low - 1
        yield (0,) * count + (-low,) * cutoff, (1,) * count + (last,) * cutoff, answers, threshold


def extreme_runs(cutoff: int, *, misses: int, low: int) -> Iterator[tuple[Values, Values, Answers, int]]:
    """The same where every hit has a threshold of its own."""
    answers = ((False,) * misses + (True,)) * cutoff
    yield ((0,) * misses + (-low,)) * cutoff, ((1,) * misses + (-low - 1,)) * cutoff, answers, 0


def small_cases(
    count: int, cutoff: int | None, *, together: bool = False
) -> Iterator[tuple[Values, Values, Answers, int]]:
    """Every answer to a few small values, between all neighbours."""
    for one in itertools.product((-1, 0, 2), repeat=count):
        for moves in itertools.product((-1, 0, 1), repeat=count):
            if together and min(moves) < 0 < max(moves):
                continue
            other = tuple(a + b for a, b in zip(one, moves, strict=True))
            for answers in outcomes(count, cutoff):
                yield one, other, answers, 1


def accuracy_failures(
    make: Callable[[], HiddenThreshold], alpha: Fraction, *, questions: int, cutoff: int, n: int
) -> int:
    """How many of n watches break what is promised within alpha, on the stream that is hardest on them.

    All values lie as near as the promise lets them: cutoff - 1 of them, and the last, have to hit, the others must not.
    The threshold is 0.
    """
    near = int(alpha) + 1
    values = np.full(questions, -near)
    hits = np.linspace(0, questions - 1, cutoff + 1).astype(int)[1:]
    values[hits] = near
    failures = 0
    for _ in range(n):
        watch, start = make(), 0
        for hit in hits:
            answers = watch.ask_many(values[: hit + 1], start=start)
            start += len(answers)
            if start <= hit or plain(answers[-1]) is False:
                failures += 1
                break
    return failures


def plain(answer: object) -> object:
    """True, False or a number: None is False, a gap is its number."""
    if isinstance(answer, dp.Gap):
        return answer.margin
    return False if answer is None else (bool(answer) if isinstance(answer, bool | np.bool_) else answer)
