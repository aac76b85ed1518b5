"""The loop of an iterative construction with its two private functions in the hands of an adversary, or of a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import dp, release
from tests.construction_adversary import FOURFOLD, NOTES, SMALL, subsets, true_answer

F = Fraction
ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
MANY = 20_000
ONE_IN_TWENTY = F(1, 20)
QUERIES = subsets(SMALL, 12, seed=5)
DISTINGUISHERS = [
    release.ExponentialDistinguisher,
    release.NoisyMaxDistinguisher,
    release.PermuteAndFlipDistinguisher,
]
LOSSES = [
    (dp.Loss.pure(epsilon=10), release.Calibration.BEST),
    (dp.Loss.pure(epsilon=10), release.Calibration.NOTES),
    (dp.Loss.approximate(epsilon=10, delta=F(1, 10**9)), release.Calibration.BEST),
    (dp.Loss.approximate(epsilon=10, delta=F(1, 10**9)), release.Calibration.NOTES),
    (dp.Loss.zcdp(rho=2), release.Calibration.BEST),
]


def histogram(neighbours: dp.Neighbours, rows: int = 1) -> dp.Sensitivity:
    """That of a histogram with units of so many rows, which may all be in one cell."""
    one = dp.Sensitivity.histogram(neighbours=neighbours)
    return dp.Sensitivity(l1=one.l1 * rows, l2=one.l1 * rows, linf=rows, neighbours=neighbours)


def certified_updates(workload: release.Workload = QUERIES) -> list[release.DatabaseUpdate[Any]]:
    """Every rule whose bound covers noise, with public facts about tables of `MANY` rows."""
    guess = release.Prior(np.arange(1.0, 9), uniform_share=F(1, 2))
    return [
        release.MultiplicativeWeights(SMALL, rows=MANY, step=FOURFOLD),
        release.MultiplicativeWeights(SMALL, rows=MANY, step=NOTES),
        release.MultiplicativeWeights(SMALL, rows=release.Rows(MANY - 40, error=50), prior=guess),
        release.ShortenedProjection(SMALL, rows=MANY),
        release.ShortenedProjection(SMALL, rows=release.Rows(MANY + 40, error=50)),
        release.FriezeKannan(SMALL, workload, square_bound=MANY**2),
        release.KaczmarzProjection(SMALL, workload, square_bound=MANY**2),
    ]


def construction(
    update: release.DatabaseUpdate[Any],
    loss: dp.Loss = LOSSES[0][0],
    calibration: release.Calibration = release.Calibration.BEST,
    *,
    kind: Any = release.ExponentialDistinguisher,
    workload: release.Workload = QUERIES,
    sensitivity: dp.Sensitivity | None = None,
    failure_probability: Fraction = ONE_IN_TWENTY,
) -> release.IterativeConstruction:
    distinguisher = kind(workload, sensitivity=histogram(REPLACE) if sensitivity is None else sensitivity)
    return release.IterativeConstruction(
        SMALL, workload, update=update, distinguisher=distinguisher, loss=loss,
        failure_probability=failure_probability, calibration=calibration,
    )  # fmt: skip


def errors(model: Any, workload: Any, table: np.ndarray) -> list[Fraction]:
    """|Q(D) - Q(S)| of every query, the truth summed cell by cell."""
    return [abs(true_answer(query, table) - F(model.answer(query))) for query in workload]


def scripted(
    made: release.IterativeConstruction, select: Callable[[Any], int], measure: Callable[[Any], Fraction]
) -> release.Run:
    """Our loop, with other private functions."""
    return made._go(release.Run(made, made.update.start(), ()), lambda: (select, measure), None, None)


def attacked(made: release.IterativeConstruction, table: np.ndarray, *, choice: str, sign: str) -> release.Run:
    """Our loop, where each choice is within `slack` of the worst and each value is `noise` off, as one likes.

    The choice has the least or the greatest error of those that are allowed. The value lies on the side of the model's
    answer, so that the loop stops too soon; or beyond the truth, so that it goes too far; or on either side in turn.
    """
    queries, plan, turns = list(made.workload), made.plan, iter(range(10**9))
    truth = [true_answer(query, table) for query in queries]
    state: list[Any] = []

    def select(learned: Any) -> int:
        state[:] = [learned]
        gaps = [abs(t - F(learned.answer(query))) for t, query in zip(truth, queries, strict=True)]
        allowed = [i for i, gap in enumerate(gaps) if gap >= max(gaps) - plan.slack]
        return (min if choice == "least" else max)(allowed, key=lambda i: gaps[i])

    def measure(query: Any) -> Fraction:
        exact = true_answer(query, table)
        side = 1 if exact > F(state[0].answer(query)) else -1
        back = {"near": -side, "beyond": side, "turns": 1 - 2 * (next(turns) % 2)}[sign]
        return exact + back * plan.noise

    return scripted(made, select, measure)


def attacks() -> Iterator[dict[str, str]]:
    return ({"choice": c, "sign": s} for c in ("least", "greatest") for s in ("near", "beyond", "turns"))
