"""The instruments of an online mechanism: what all that is drawn costs, by the worst pair of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp, release
from discreet.dp.randomness import system
from discreet.release.effects import MeasuredEffects
from discreet.release.marginals import Marginals
from discreet.release.online_fit import Knowledge
from discreet.release.online_measure import GaussianInstrument, Instrument, LaplaceInstrument
from discreet.release.online_plan import OnlinePlan, Purse
from discreet.release.online_truth import Truth
from tests.broken import measurements as broken
from tests.online_tapes import LOSS, ONE, SMALL

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
PURE = dp.Loss.pure(epsilon=1)
SEVERAL = dp.Sensitivity(l1=3, l2=3, neighbours=ADD)
SENSITIVITIES = [dp.Sensitivity.histogram(neighbours=ADD), dp.Sensitivity.histogram(neighbours=REPLACE), SEVERAL]
ASKED = [
    release.where(SMALL, two=2), release.where(SMALL, one=1, three=[0, 3]), release.where(SMALL, one=0, two=1, three=2),
    release.weighted(SMALL, "three", [0, "0.25", "0.5", 1]),
]  # fmt: skip
Draws = list[tuple[object, np.ndarray]]
Run = Callable[[Truth], object]


def plan_of(loss: dp.Loss, sensitivity: dp.Sensitivity) -> OnlinePlan:
    return OnlinePlan.of(Purse.of(loss), SMALL.shape, sensitivity, questions=1000)


def neighbours_of(sensitivity: dp.Sensitivity) -> list[np.ndarray]:
    """Tables one unit away: all its rows in one cell, which moves the marginals furthest."""
    unit = np.eye(SMALL.size, dtype=np.int64)
    if sensitivity.neighbours is REPLACE:
        return [ONE - unit[7] + one for one in unit if one[7] == 0]
    return [ONE + int(sensitivity.l1) * one for one in unit]


def drawn(run: Run, table: np.ndarray) -> Draws:
    """What noise was added to, with the noise."""
    seen: Draws = []
    with pytest.MonkeyPatch.context() as patched:
        for kind in (MeasuredEffects, dp.Gaussian, dp.Laplace):
            release_of = kind._release

            def spy(self: object, values: object, stream: object, kept: object = release_of) -> object:
                seen.append((self, np.asarray(values)))
                return kept(self, values, stream)  # type: ignore[operator]

            patched.setattr(kind, "_release", spy)
        run(Truth(table, SMALL.shape))
    return seen


def cost(noise: object, gap: np.ndarray) -> float:
    """mu^2 of normal noise, epsilon of Laplace noise, for values that are so far apart."""
    if isinstance(noise, dp.Laplace):
        return float(np.abs(gap).sum() / noise.scale)
    if isinstance(noise, dp.Gaussian):
        return float(np.sum(gap.astype(float) ** 2)) / float(noise.sigma) ** 2
    assert isinstance(noise, MeasuredEffects)
    moved = noise.effects.of_marginals(Marginals(gap.reshape(-1), noise.effects.shape)) ** 2
    sigmas = np.array([float(sigma) for sigma in noise.sigmas])[noise.effects.owner]
    return float(np.sum(np.divide(moved, sigmas**2, out=np.zeros_like(moved), where=sigmas > 0)))


def dearest(run: Run, sensitivity: dp.Sensitivity) -> float:
    """What the worst neighbour makes all of it cost, to the digits of floats."""
    here, worst = drawn(run, ONE), 0.0
    for other in neighbours_of(sensitivity):
        there = drawn(run, other)
        assert [str(noise) for noise, _ in here] == [str(noise) for noise, _ in there]
        worst = max(worst, sum(cost(noise, a - b) for (noise, a), (_, b) in zip(here, there, strict=True)))
    return worst * (1 - 1e-12)


def check(make: Callable[[OnlinePlan], Instrument], loss: dp.Loss, sensitivity: dp.Sensitivity) -> None:
    """The prior and every measurement cost at most what the plan says, and at least a part of it."""
    plan = plan_of(loss, sensitivity)
    instrument, knowledge = make(plan), Knowledge(SMALL)
    prior = dearest(lambda truth: instrument.prior(truth, system()), sensitivity)
    stated = plan.noise_of_singles + plan.noise_of_pairs
    assert 0.5 * stated < prior <= stated
    for part in instrument.prior(Truth(ONE, SMALL.shape), system()):
        knowledge.learn(part)
    for query in ASKED:
        for run in (
            lambda truth, query=query: instrument.measure(query, truth, knowledge, system()),
            lambda truth, query=query: instrument._around(query.axes, truth, knowledge, system()),
            lambda truth, query=query: instrument._itself(query, truth, system()),
        ):
            assert 0.2 * plan.noise < dearest(run, sensitivity) <= plan.noise
        knowledge.learn(instrument.measure(query, Truth(ONE, SMALL.shape), knowledge, system()))


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_normal_noise_costs_what_the_plan_says(sensitivity: dp.Sensitivity) -> None:
    """Guarantee: the prior is Gaussian with mu^2 = `noise_of_singles` + `noise_of_pairs`, every later measurement with
    mu^2 = `noise`, at most.
    """
    check(GaussianInstrument, LOSS, sensitivity)
    with pytest.raises(AssertionError):
        check(broken.EachEffectWithTheWhole, LOSS, sensitivity)


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_laplace_noise_costs_what_the_plan_says(sensitivity: dp.Sensitivity) -> None:
    """Guarantee: the prior is `noise_of_singles`-DP, every later measurement `noise`-DP."""
    check(LaplaceInstrument, PURE, sensitivity)
    with pytest.raises(AssertionError):
        check(broken.ColumnsThatMoveApart, PURE, sensitivity)


def test_the_instrument_is_that_of_the_currency() -> None:
    for loss, kind in ((LOSS, GaussianInstrument), (dp.Loss.zcdp(rho=Fraction(1, 10)), GaussianInstrument)):
        assert isinstance(Instrument.of(plan_of(loss, SENSITIVITIES[0])), kind)
    assert isinstance(Instrument.of(plan_of(PURE, SENSITIVITIES[0])), LaplaceInstrument)
