"""Wrong constructions that one would really write. Each must fail the check that ours passes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import dp, release


@dataclass(frozen=True)
class CertifiedProjection:
    """The plain projection, with its bound claimed for values that are off."""

    projection: release.EntropyProjection

    def start(self) -> Any:
        return self.projection.start()

    def updated(self, state: Any, query: release.LinearQuery, value: Fraction, **facts: Fraction) -> Any:
        return self.projection.updated(state, query, value, **facts)

    def bound(self, alpha: Fraction, *, noise: Fraction = Fraction(0)) -> int:
        return self.projection.bound(alpha)


def scores_in_floats(workload: release.Workload, histogram: np.ndarray, model: release.Structure) -> list[float]:
    """|Q(D) - Q(S)| in floats."""
    truth = workload.answers(release.Marginals(histogram, workload.shape)).astype(np.float64)
    return list(np.abs(truth - model.answers(workload)))


def printed_rule(plan: release.Plan, alpha: Fraction) -> release.Plan:
    """The rule of Theorem 5 as printed: noise alpha / 4, stop below 3 alpha / 4, slack alpha / 2; alpha is claimed."""
    parts = plan.epsilon_of_choice, plan.measurement, plan.loss_of_choice
    return release.Plan(plan.updates, alpha / 2, alpha / 4, 3 * alpha / 4, alpha / 2, *parts)


@dataclass(frozen=True, eq=False)
class UpdatesOnTheTruth(release.DatabaseUpdate[Any]):
    """An update that takes the true answer, since it is at hand, in place of the released one."""

    rule: Any
    table: np.ndarray

    def updated(self, state: Any, query: release.LinearQuery, value: Fraction, **facts: Fraction) -> Any:
        truth = release.Cells(self.table.astype(float), query.shape).answer(query)
        return self.rule.updated(state, query, Fraction(truth), **facts)

    universe = property(lambda self: self.rule.universe)  # type: ignore[assignment]
    tolerates = property(lambda self: self.rule.tolerates)  # type: ignore[assignment]
    known_rows = property(lambda self: self.rule.known_rows)  # type: ignore[assignment]
    known_workload = property(lambda self: self.rule.known_workload)  # type: ignore[assignment]
    first_error = property(lambda self: self.rule.first_error)  # type: ignore[assignment]
    settled = property(lambda self: self.rule.settled)  # type: ignore[assignment]

    def start(self) -> Any:
        return self.rule.start()

    def bound(self, alpha: Any, *, noise: Any = 0) -> int:
        return self.rule.bound(alpha, noise=noise)

    def level(self, updates: int, *, noise: Fraction) -> Fraction:
        return self.rule.level(updates, noise=noise)


def with_private_rows(table: np.ndarray) -> release.DatabaseUpdate[Any]:
    """Learning rate, thresholds and bound from the number of rows, which is private where rows come and go."""
    size = table.size
    return release.MultiplicativeWeights(_universe(size), rows=release.Rows(int(table.sum()), error=1))


def with_a_private_prior(table: np.ndarray) -> release.DatabaseUpdate[Any]:
    """A first model that knows which cells are empty, and a bound from its relative entropy."""
    prior = release.Prior(np.where(table > 0, 1.0, 0.01), uniform_share=Fraction(1, 10))
    return release.MultiplicativeWeights(_universe(table.size), rows=release.Rows(1000, error=20), prior=prior)


def with_a_private_norm(table: np.ndarray, workload: release.Workload) -> release.DatabaseUpdate[Any]:
    """Step and bound from |h|, which is private."""
    return release.FriezeKannan(_universe(table.size), workload, square_bound=int((table**2).sum()))


def _universe(size: int) -> dp.Universe:
    return dp.Universe({"one": 2, "two": size // 2})


def with_a_private_stop(made: release.IterativeConstruction, table: np.ndarray) -> release.IterativeConstruction:
    """It stops below a share of the true number of rows."""
    plan = made.plan
    stop = max(plan.stop, Fraction(int(table.sum()), 3))
    parts = plan.slack, plan.epsilon_of_choice, plan.measurement, plan.loss_of_choice
    object.__setattr__(made, "plan", release.Plan(plan.updates, plan.level, plan.noise, stop, *parts))
    return made


def open_that_reads_first(made: release.IterativeConstruction, exact: dp.Exact, permit: dp.Permit) -> release.Run:
    """The table is read, to be ready, and then each round is paid for."""
    seen = made._private(exact._value)  # type: ignore[arg-type]
    return made._go(release.Run(made, made.update.start(), ()), lambda: seen, permit, None)


def open_that_charges_at_the_end(
    made: release.IterativeConstruction, exact: dp.Exact, permit: dp.Permit
) -> release.Run:
    """What was used is taken when it is known how much it was."""
    run = made.run(exact._value, sensitivity=exact.sensitivity)  # type: ignore[arg-type]
    for _ in run.transcript:
        permit.take(made.plan.loss_of_round)
    return run


def interval_without_ties(gaps: np.ndarray, one: int, other: int) -> bool:
    """Keep a pair if its gaps are in order, and forget those that tie."""
    return bool(gaps[one] > gaps[other])


def interval_by_place(gaps: np.ndarray, one: int, other: int) -> bool:
    """Keep a pair if its places are in order: then exp(G_j - G_i) is drawn, without the absolute value."""
    return one > other
