"""`logistic_sparse_vector`: one hidden threshold, owed when it is drawn; hits paid one by one, in every currency."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import dp
from discreet.dp.logistic_sparse_vector import balanced
from discreet.dp.loss import Pure
from discreet.dp.randomness import system
from discreet.dp.threshold_loss import HiddenThresholdLoss
from discreet.errors import BudgetExceeded, InvalidParameter, NotSupported
from tests.broken import threshold_tests as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import laplace_mass, real
from tests.sizes import sized
from tests.statistics import chi_square
from tests.threshold_objects import BUDGET, FAR, ONE, THREE
from tests.threshold_truth import chance

F = Fraction
PURE = dp.Budget(epsilon=1)
Maker = Callable[..., dp.LogisticSparseVector]


def watch(make: Maker = dp.LogisticSparseVector, **more: object) -> dp.LogisticSparseVector:
    return make(**({"threshold": 0, "sensitivity": ONE, "threshold_epsilon": F(1, 2), "hit_epsilon": F(1, 4)} | more))


# Its law. `test_proof_hidden_threshold.py` sums its outcomes on both of two neighbours.


def first_hit_law(values: list[int], t: Fraction, h: Fraction, moved: int) -> list[float]:
    """The place of the first hit, or of none (last), every noise of the threshold summed."""
    found = [mpf(0)] * (len(values) + 1)
    for noise in range(-150, 151):
        left = laplace_mass(F(moved) / t, noise)
        for place, value in enumerate(values):
            p = chance(value - noise, h / (2 * moved))
            found[place] += left * p
            left *= 1 - p
        found[-1] += left
    return [float(p) for p in found]


@pytest.mark.parametrize("sensitivity", [ONE, THREE], ids=["1", "3"])
def test_the_place_of_the_first_hit_has_its_law(sensitivity: dp.Sensitivity) -> None:
    """Answer True with probability 1 / (1 + exp(-h (f - T - R) / (2 D))), with R drawn once: Laplace of scale D / t."""
    moved, t, h, n = int(sensitivity.linf), F(1), F(2), sized(2_500, 30_000)
    values = [moved * v for v in (-2, 0, -1, 1, -1)]
    law = first_hit_law(values, t, h, moved)
    likely = [law[0], law[1], law[2] + law[3], law[4] + law[5]]
    cells = np.array([0, 1, 2, 2, 3, 3])

    def drawn(make: Maker, many: bool) -> Callable[[int], np.ndarray]:
        def places(n: int) -> np.ndarray:
            found = []
            for _ in range(n):
                asked = watch(make, sensitivity=sensitivity, threshold_epsilon=t, hit_epsilon=h, cutoff=1)
                if many:
                    answers = asked.ask_many(values)
                    found.append(answers.size - 1 if answers.any() else len(values))
                else:
                    found.append(next((i for i, v in enumerate(values) if asked.ask(v)), len(values)))
            return np.array(found)

        return places

    check = chi_square(lambda draws: cells[draws], likely, n)
    check.run(drawn(dp.LogisticSparseVector, True), wrong={"no noise on it": drawn(broken.KnownThreshold, True)})
    check.run(drawn(dp.LogisticSparseVector, False), wrong={"redrawn": drawn(broken.RedrawnThreshold, False)})


def test_scales_are_those_of_the_claim() -> None:
    """with `threshold_epsilon` t and `hit_epsilon` h, D = sensitivity.linf, and c hits: (t + c h)-DP; the values'
    noise has scale 2 D / h, the threshold's D / t."""
    asked = watch(sensitivity=THREE, cutoff=7)
    assert (asked._scale, 1 / asked._slope) == (6, 24)
    assert asked.loss == HiddenThresholdLoss.of(threshold=F(1, 2), hit=F(1, 4), hits=7)
    assert asked.loss.epsilon(delta=0) == 2.25
    on_grid = watch(threshold="0.3", cutoff=1, step="0.25")
    assert on_grid._scale == 10  # one unit is 4 steps, and snapping adds one
    assert on_grid.ask(float(FAR))


@pytest.mark.parametrize(
    "loss", [dp.Loss.pure(epsilon=1), dp.Loss.zcdp(rho="0.01"), dp.Loss.approximate(epsilon=1, delta="1e-9")], ids=repr
)
@pytest.mark.parametrize("hits", [1, 40])
def test_a_loss_is_used_up(loss: dp.Loss, hits: int) -> None:
    t, h = balanced(loss, hits)

    def fits(factor: Fraction) -> bool:
        whole = HiddenThresholdLoss.of(threshold=t * factor, hit=h * factor, hits=hits)
        if isinstance(loss, Pure):
            return whole.epsilon_bound(F(0)) <= 1
        if loss == dp.Loss.zcdp(rho="0.01"):
            return whole.rho_bound() <= F(1, 100)
        return whole.epsilon_bound(F(1, 10**9)) <= 1

    assert fits(F(1))
    assert not fits(1 + F(1, 2**14))


@pytest.mark.parametrize("loss", [dp.Loss.pure(epsilon=1), dp.Loss.zcdp(rho="0.01")], ids=["pure", "zcdp"])
@pytest.mark.parametrize("hits", [2, 100])
def test_the_shares_leave_the_least_variance(loss: dp.Loss, hits: int) -> None:
    """1 / t^2 + (2 / h)^2 is least among all pairs that use the loss up."""

    def variance(t: float) -> float:
        h = (1 - t) / hits if isinstance(loss, Pure) else np.sqrt((0.02 - t * t) / hits)
        return float(1 / t**2 + 4 / h**2)

    t, h = (float(x) for x in balanced(loss, hits))
    assert abs(variance(t) / (1 / t**2 + 4 / h**2) - 1) < 1e-5
    assert variance(t) < min(variance(t * factor) for factor in (0.8, 0.97, 1.03, 1.2))


# What it pays.


@pytest.mark.parametrize("budget", [PURE, BUDGET, dp.Budget(rho="0.5")], ids=["pure", "both", "rho"])
def test_the_threshold_is_owed_at_once_and_a_hit_when_it_is_reported(budget: dp.Budget) -> None:
    session = dp.PrivacyFilter(budget)
    asked = watch(account=session, threshold_epsilon="0.1", hit_epsilon="0.05")
    drawn, each = budget.charge(asked.threshold_loss), budget.charge(asked.hit_loss)
    assert drawn is not None
    assert each is not None
    assert session.spent == drawn
    most = int((budget.cap.amount - drawn.amount) / each.amount)
    assert asked.hits_left == most
    for _ in range(5):
        assert not asked.ask(-FAR)
    assert session.spent == drawn
    for reported in range(1, 4):
        assert asked.ask(FAR)
        assert 0 <= session.spent.amount - drawn.amount - reported * each.amount <= F(1, 10**38)
    assert isinstance(asked.ask_value(FAR), int)
    while not asked.halted:
        assert asked.ask_many([-FAR, FAR]).any()
    assert asked._hits == most
    with pytest.raises(BudgetExceeded):
        asked.ask(FAR)
    with pytest.raises(BudgetExceeded):
        watch(account=session)
    assert session._open == {}


def test_a_permit_pays_for_the_threshold_before_it_is_drawn() -> None:
    session, closed = dp.PrivacyFilter(PURE), watch(threshold_epsilon="0.2", hit_epsilon="0.1")
    with pytest.raises(BudgetExceeded):
        closed.opened(session.reserve(dp.Loss.pure(epsilon="0.1")))
    permit = session.reserve(dp.Loss.pure(epsilon="0.4"), settlement=dp.Settlement.ON_HITS)
    asked = closed.opened(permit)
    assert permit.left == F(1, 5)
    assert asked.hits_left == 2
    assert not asked.ask(dp.Exact(-FAR, sensitivity=ONE, unit="row"))
    assert asked.ask(dp.Exact(FAR, sensitivity=ONE, unit="row"))
    assert permit.left == F(1, 10)
    session.settle(permit)
    assert session.spent.amount == F(1, 10) + F(3, 10)
    with pytest.raises(NotSupported, match="pay"):
        closed.ask(5)


def test_the_threshold_of_a_template_is_not_that_of_what_it_opens() -> None:
    session = dp.PrivacyFilter(dp.Budget(epsilon=1000))
    closed = watch(threshold_epsilon="0.001")
    permits = [session.reserve(dp.Loss.pure(epsilon=1)) for _ in range(6)]
    assert len({closed._rho, *(closed.opened(permit)._rho for permit in permits)}) > 3


# How accurate it is.


def test_answers_and_values_are_within_alpha() -> None:
    """Then every hit has f >= T - alpha, every miss f < T + alpha: the failure rate is below beta, and near it."""
    beta, questions, runs = F(1, 5), 60, sized(1_500, 20_000)
    options = {"threshold_epsilon": F(1, 3), "hit_epsilon": F(1, 5), "cutoff": 10**9}
    alpha = float(watch(**options).accuracy(failure_probability=beta, questions=questions))
    closed = 3 * mp.log(2 / real(beta)) + 10 * mp.log(4 * questions / real(beta))
    assert abs(alpha - float(closed)) < 2
    edge = np.where(np.arange(questions) % 2, int(np.ceil(alpha)), -int(np.ceil(alpha)))

    def failures(distance: float) -> int:
        places = np.sign(edge) * int(np.ceil(distance))
        return sum(((watch(**options)._margins(places, system()) >= 0) != (edge > 0)).any() for _ in range(runs))

    assert failures(alpha) <= float(beta) * runs
    assert failures(0.6 * alpha) > float(beta) * runs
    far = [watch(**options).ask_value(FAR) for _ in range(200)]
    assert sum(abs(value - FAR) > alpha + 1 for value in far if value is not None) <= 20


def test_alpha_both_ways() -> None:
    asked = {"failure_probability": F(1, 20), "questions": 1000}
    for sensitivity, step in ((ONE, 1), (THREE, "0.25")):
        made = dp.LogisticSparseVector.for_accuracy(
            alpha=500, threshold=F(1, 3), sensitivity=sensitivity, cutoff=20, step=step, **asked
        )
        assert made.accuracy(**asked) <= 500
        more = {"threshold_epsilon": made.threshold_epsilon * F(99, 100), "hit_epsilon": made.hit_epsilon * F(99, 100)}
        assert watch(threshold=F(1, 3), sensitivity=sensitivity, step=step, **more).accuracy(**asked) > 500
        assert made.hits_left == 20


# What it keeps to itself.


def test_the_threshold_is_never_shown_copied_or_stored() -> None:
    asked = watch(cutoff=3)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="secret"):
            duplicate(asked)
    assert not hasattr(asked, "state")
    asked._rho = 123456789
    assert "123456789" not in repr(asked)


def test_refusals() -> None:
    loss = dp.Loss.pure(epsilon=1)
    none = {"threshold_epsilon": None, "hit_epsilon": None}
    wrong: list[dict[str, object]] = [
        *({"hit_epsilon": value} for value in (None, -1, float("nan"), 1000)),
        *({"threshold_epsilon": value} for value in (None, 0, 1000)),
        *({**none, **more} for more in ({}, {"loss": loss}, {"loss": 1, "cutoff": 2})),
        *({"loss": loss}, {"cutoff": 0}, {"sensitivity": 1}),
    ]
    for more in wrong:
        with pytest.raises(InvalidParameter):
            watch(**more)
    with pytest.raises(NotSupported, match="promise"):
        balanced(dp.Loss.gaussian(mu=1), 3)
    with pytest.raises(NotSupported, match="threshold_loss"):
        _ = watch().loss
