"""Statistical checks, with a named significance and size, that have to show their power where they are used.

A `Check` runs on the right law only together with wrong laws that it has to reject at the same size: a check that was
never seen to fail says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

ALPHA = 1e-6
"""The chance that a check rejects a law that is right."""

FEWEST = 100
"""The fewest draws expected in a cell: with less, the chi-square law is no guide at a significance of 1e-6."""

Draws = NDArray[np.int64]
Draw = Callable[[int], Draws]


class NoPower(AssertionError):
    """The check accepted a wrong law, or was given none: what it says of the right one is worth nothing."""


@dataclass(frozen=True, slots=True)
class Check:
    """A test of `n` draws that reports how surprising they are under the right law."""

    p_value: Callable[[Draws], float]
    n: int
    alpha: float = ALPHA

    def rejects(self, draw: Draw) -> bool:
        return self.p_value(draw(self.n)) < self.alpha

    def run(self, right: Draw, *, wrong: Mapping[str, Draw]) -> None:
        """Accept the right law, after every wrong one was rejected."""
        if not wrong:
            raise NoPower("a check needs at least one wrong law that it has to reject")
        accepted = [name for name, draw in wrong.items() if not self.rejects(draw)]
        if accepted:
            raise NoPower(f"{self.n} draws cannot tell the right law from: {', '.join(accepted)}")
        assert not self.rejects(right), "the right law is rejected"


def chi_square(label: Callable[[Draws], Draws], probabilities: Sequence[float], n: int) -> Check:
    """Pearson's test of `n` draws sorted into cells 0, 1, ... of these exact probabilities."""
    chances = np.asarray(probabilities, dtype=np.float64)
    if abs(chances.sum() - 1) > 1e-9:
        raise ValueError(f"the probabilities of the cells add up to {chances.sum()!r}")

    def p_value(draws: Draws) -> float:
        found = np.asarray(label(draws))
        counts = np.bincount(found.astype(np.int64), minlength=chances.size)
        expected = found.size * chances
        if expected.min() < FEWEST:
            raise ValueError(f"a cell expects {expected.min():.3g} draws; put cells together")
        if counts.size > chances.size:
            return 0.0  # an outcome that is impossible
        return float(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), chances.size - 1))

    return Check(p_value, n)


def binned(below: Callable[[int], float], edges: Sequence[int], n: int) -> Check:
    """Pearson's test on cells [edge, next edge), with `below(k)` = P(outcome < k); cells expecting few are merged."""
    kept, chances, last = [], [], 0.0
    for edge in sorted(set(edges)):
        here = below(edge)
        if (here - last) * n >= 2 * FEWEST and (1 - here) * n >= 2 * FEWEST:
            kept.append(edge)
            chances.append(here - last)
            last = here
    if not kept:
        raise ValueError("no cell expects enough draws")
    cuts = np.array(kept, dtype=np.int64)
    return chi_square(lambda draws: cuts.searchsorted(draws, "right"), [*chances, 1 - last], n)


def share(event: Callable[[Draws], NDArray[np.bool_]], chance: float, n: int) -> Check:
    """The exact binomial test that an event of this probability happens as often as it should."""

    def p_value(draws: Draws) -> float:
        happened = event(draws)
        return float(stats.binomtest(int(happened.sum()), happened.size, chance).pvalue)

    return Check(p_value, n)


def pairs(label: Callable[[Draws], Draws], probabilities: Sequence[float], n: int, *, lag: int) -> Check:
    """Pearson's test that values `lag` apart are independent, on pairs that have no value in common."""
    chances = np.asarray(probabilities, dtype=np.float64)
    places = np.arange(n - lag)
    first = places[(places // lag) % 2 == 0]

    def cell(draws: Draws) -> Draws:
        found = np.asarray(label(draws), dtype=np.int64)
        return np.asarray(chances.size * found[first] + found[first + lag])

    return chi_square(cell, np.outer(chances, chances).ravel().tolist(), n)


def clopper_pearson(successes: int, n: int, *, confidence: float) -> tuple[float, float]:
    """The interval for a probability that covers it at least this often (Clopper and Pearson, 1934)."""
    miss = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(stats.beta.ppf(miss, successes, n - successes + 1))
    high = 1.0 if successes == n else float(stats.beta.isf(miss, successes + 1, n - successes))
    return low, high


def ratio_is_at_most(one: int, other: int, n: int, *, epsilon: float, confidence: float) -> bool:
    """Whether `one` and `other` successes out of n are compatible with probabilities p <= exp(epsilon) p'."""
    each = 1 - (1 - confidence) / 2
    return (
        clopper_pearson(one, n, confidence=each)[0] <= np.exp(epsilon) * clopper_pearson(other, n, confidence=each)[1]
    )


def time_and_size(draw_one: Callable[[], int], n: int) -> float:
    """The correlation between the size of a draw and the time it took, without the slowest hundredth of the draws.

    The slowest draws are those that the operating system interrupted; they carry no news of the noise and would
    drown what there is.
    """
    sizes, times = np.empty(n), np.empty(n)
    for i in range(n):
        start = time.perf_counter_ns()
        value = draw_one()
        times[i] = time.perf_counter_ns() - start
        sizes[i] = abs(value)
    usual = times <= np.quantile(times, 0.99)
    return float(np.corrcoef(sizes[usual], times[usual])[0, 1])
