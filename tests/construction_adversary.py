"""An adversary for update rules, and tables for it to work on: it picks the worst query, and the worst value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import dp, release
from tests.closed_forms import mp, mpf

F = Fraction
SMALL = dp.Universe({"one": 2, "two": 4})
ROWS = 1000
NOTES, FOURFOLD = release.Step.NOTES, release.Step.FOURFOLD


def ceil_of(value: mpf) -> int:
    return int(mp.ceil(value))


def table(universe: dp.Universe, rows: int, seed: int, *, concentration: float = 0.3) -> np.ndarray:
    """So many rows, spread over the cells at random; the smaller the concentration, the fewer cells hold them."""
    source = np.random.default_rng(seed)
    return source.multinomial(rows, source.dirichlet(np.full(universe.size, concentration))).astype(np.int64)


def true_answer(query: release.LinearQuery, histogram: np.ndarray) -> Fraction:
    """Q(D), summed cell by cell: nothing of ours but the weights."""
    cells = np.broadcast_to(
        query.weights().reshape([n if a in query.axes else 1 for a, n in enumerate(query.shape)]), query.shape
    )
    return Fraction(sum(int(w) * int(c) for w, c in zip(cells.ravel(), histogram, strict=True)), query.scale)


def subsets(universe: dp.Universe, count: int, seed: int) -> release.Workload:
    """Random sets of cells, and some random weights in [0, 1]."""
    source = np.random.default_rng(seed)
    names = list(universe.columns)
    sets = [release.predicate(universe, source.integers(0, 2, universe.shape), names) for _ in range(count)]
    weighted = [
        release.predicate(universe, source.integers(0, 9, universe.shape) / 8, names) for _ in range(count // 4)
    ]
    return release.Workload([*sets, *weighted])


def below(limit: Fraction) -> list[Fraction]:
    """Errors that are less than a limit: both ends, nearly, and between."""
    most = limit * Fraction(999, 1000)
    return [-most, most, -most / 2, most / 2, Fraction(0)]


def updates_made(
    update: release.DatabaseUpdate[Any],
    workload: release.Workload,
    histogram: np.ndarray,
    *,
    level: Fraction,
    noise: Fraction,
    errors: list[Fraction],
    most: int,
    worst: Callable[[Any, Any], float] | None = None,
    stop: Fraction | None = None,
) -> int:
    """How many updates the adversary gets, up to `most`, by the query of the greatest error among those it may pick.

    Values are off by one of `errors`, and by the one after which `worst(before, after)` is greatest; the first of them
    if no judge is given. With `stop` the value has to be so far from the model's answer, as in the loop.
    """
    queries = list(workload)
    truth = [true_answer(query, histogram) for query in queries]
    state, made = update.start(), 0
    while made < most:
        answers = [Fraction(float(a)) for a in state.answers(workload)]
        gaps = [abs(t - a) for t, a in zip(truth, answers, strict=True)]
        candidates = sorted(range(len(queries)), key=lambda i: -gaps[i])
        moves = list(_moves(queries, truth, answers, gaps, candidates, level, errors, stop))
        if not moves:
            return made
        nexts = [update.updated(state, query, value, level=level, noise=noise) for query, value in moves]
        state = nexts[0] if worst is None else max(nexts, key=lambda after: worst(state, after))
        made += 1
    return made


def _moves(
    queries: list[release.LinearQuery],
    truth: list[Fraction],
    answers: list[Fraction],
    gaps: list[Fraction],
    candidates: list[int],
    level: Fraction,
    errors: list[Fraction],
    stop: Fraction | None,
) -> Iterator[tuple[release.LinearQuery, Fraction]]:
    for i in candidates:
        if gaps[i] < level:
            return
        for error in errors:
            value = truth[i] + error
            if stop is None or abs(value - answers[i]) >= stop:
                yield queries[i], value


def relative_entropy(histogram: np.ndarray, state: Any) -> float:
    share = histogram / histogram.sum()
    inside = share > 0
    return float((share[inside] * (np.log(share[inside]) - state.logs.ravel()[inside])).sum())


def every_update(workload: release.Workload, level: Fraction) -> list[tuple[Any, Fraction, list[Fraction]]]:
    """Each rule with its noise and the errors that its bound allows."""
    small, large = level / 5, level * F(4, 5)
    near, far = below(small), below(large)
    parts = (SMALL, workload)
    return [
        (release.MultiplicativeWeights(SMALL, rows=ROWS), large, below(level)),
        (release.MultiplicativeWeights(SMALL, rows=ROWS, step=NOTES), large, below(level)),
        (release.EntropyProjection(SMALL, rows=ROWS), F(0), [F(0)]),
        (release.ShortenedProjection(SMALL, rows=ROWS), small, [*near, small, -small]),
        (release.FriezeKannan(*parts, square_bound=ROWS**2), large, below(level)),
        (release.KaczmarzProjection(*parts, square_bound=ROWS**2), large, [*far, large, -large]),
    ]
