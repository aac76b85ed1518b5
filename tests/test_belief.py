"""`belief`: thinning makes independent measurements, and the errors that a fit admits to are those that it has."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from discreet.release import belief
from discreet.release.belief import Believer
from discreet.release.effects import Effects
from discreet.release.max_entropy import Fit
from tests.broken import synthesis as broken
from tests.sizes import sized

SHAPE = (3, 3, 3, 3)
EFFECTS = Effects(SHAPE, list(itertools.combinations(range(4), 3)))
COUNT = int(EFFECTS.sizes.sum())
SIGMA = 300.0


def table() -> np.ndarray:
    """A table in which columns depend on each other."""
    theta = np.zeros(SHAPE)
    for axis in range(3):
        theta += 1.5 * np.eye(3).reshape([3 if a in (axis, axis + 1) else 1 for a in range(4)])
    return 20_000 * np.exp(theta - 0.3 * np.arange(3)).reshape(-1) / np.exp(theta - 0.3 * np.arange(3)).sum()


TRUTH = EFFECTS.forward(table())


def believer(cls: type[Believer] = Believer) -> Believer:
    rows = float(TRUTH[0])
    return cls(EFFECTS, np.full(COUNT, SIGMA**2), np.ones(COUNT), rows, lambda done, steps: None)


@dataclass(frozen=True, slots=True, eq=False)
class Seen(Believer):
    """Keeps the two measurements that it is given, and fits nothing."""

    def predicting(self, one: np.ndarray, other: np.ndarray, *, walked: int = 0) -> tuple[int, Fit]:
        raise Stopped(one, other)


class Stopped(Exception):
    """Carries the two measurements out."""


def correlation(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return float(np.corrcoef(one, other)[0, 1])


def test_thinning_splits_noise_into_two_independent_parts() -> None:
    """Covariance v - a v / a = 0; six standard errors of a correlation of n pairs, against one that is far off."""
    source, n = np.random.default_rng(1), sized(400, 4000)
    right, wrong = [], []
    for _ in range(n):
        noise, normal = source.normal(size=(2, COUNT))
        with pytest.raises(Stopped) as stopped:
            believer(Seen).believe(TRUTH + SIGMA * noise, partial(np.copy, normal))
        one, other = stopped.value.args
        right.append((one - TRUTH, other - TRUTH))
        one, other = broken.same_noise_twice(SIGMA * noise, SIGMA * normal, belief.THINNED)
        wrong.append((one, other))
    bound = 6 / math.sqrt(n * COUNT)
    assert abs(correlation(right)) < bound
    assert abs(correlation(wrong)) > 10 * bound


def test_the_errors_admitted_are_those_made_and_not_those_of_a_fit_that_looks_at_itself() -> None:
    """Stein's estimate of risk, over all effects and many draws; the twin leaves out what of the noise is followed."""
    source = np.random.default_rng(2)
    made, admitted, blind, alone = [], [], [], []
    for _ in range(sized(8, 60)):
        measured = TRUTH + source.normal(scale=SIGMA, size=COUNT)
        measured[0] = TRUTH[0]
        found = believer().believe(measured, partial(source.normal, size=COUNT))
        fitted = found.fit.statistics
        made.append(float(np.sum((fitted - TRUTH)[1:] ** 2)))
        each = np.array([found.missed[part] for part in EFFECTS.sets])[EFFECTS.owner]
        admitted.append(float(each[1:].sum()))
        blind.append(broken.risk_without_what_is_followed(fitted, measured, np.full(COUNT, SIGMA**2)))
        alone.append(SIGMA**2 * (COUNT - 1))
    assert 0.8 < np.mean(admitted) / np.mean(made) < 1.8
    assert np.mean(blind) < 0.5 * np.mean(made)
    assert np.mean(made) < 0.8 * np.mean(alone)  # and believing helps


def test_what_is_nothing_but_noise_is_hardly_believed() -> None:
    source = np.random.default_rng(3)
    steps = []
    for truth in (TRUTH, EFFECTS.forward(np.full(3**4, TRUTH[0] / 3**4))):
        one, other = (truth + source.normal(scale=30, size=COUNT) for _ in range(2))
        steps.append(believer().predicting(one, other)[0])
    assert steps[0] > steps[1]


def test_an_interrupt_keeps_the_latest_table() -> None:
    def at_the_third(done: int, steps: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    who = Believer(EFFECTS, np.full(COUNT, SIGMA**2), np.ones(COUNT), float(TRUTH[0]), at_the_third)
    found = who.believe(TRUTH, partial(np.zeros, COUNT))
    assert found.interrupted
    assert not found.missed
    assert math.isclose(float(found.fit.cells.sum()), TRUTH[0], rel_tol=1e-5)


def split(steps: int) -> belief.Split:
    return belief.Split(steps, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("steps", list(itertools.product(range(1, 4), repeat=3)))
def test_the_middle_of_three_splits_counts_and_no_more_are_made_than_it_needs(steps: tuple[int, ...]) -> None:
    tried: list[belief.Split] = []
    while belief.agreed(tried) is None:
        tried.append(split(steps[len(tried)]))
    found = belief.agreed(tried)
    assert found is not None
    assert found.steps == sorted(steps)[1]
    assert len(tried) == (2 if steps[0] == steps[1] else 3)
