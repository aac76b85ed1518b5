"""`composition.compose`: the tightest of the theorems, for losses that were fixed in advance and for no others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Approximate, BoundedRange, NonPrivate, Pure
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import check_upper, exact, mp, mpf, precise
from tests.closed_forms import gaussian_delta, response_delta

F = Fraction
composition = dp.composition
response_delta = precise(response_delta)


def pure(*epsilons: object) -> list[dp.Loss]:
    return [dp.Loss.pure(epsilon=e) for e in epsilons]  # type: ignore[arg-type]


TOLERANCE = 1 + 3e-4  # the grid of `numeric`, where nothing exact applies

MIXES = {
    "equal pure": pure(*["0.1"] * 60),
    "many equal pure": pure(*["0.01"] * 4_200),
    "mixed pure": pure("0.1", "0.2", "0.35", "0.8", "1.3", "0.05"),
    "two pure": pure(2, 3),
    "approximate": [dp.Loss.approximate(epsilon="0.1", delta="1e-8")] * 20,
    "Gaussian": [dp.Loss.gaussian(mu="0.1")] * 20,
    "pure and Gaussian": [*pure(*["0.1"] * 20), dp.Loss.gaussian(mu="0.3")],
    "zCDP": [dp.Loss.zcdp(rho="0.01")] * 20,
    "pure and zCDP": [*pure("0.3"), dp.Loss.zcdp(rho="0.01")],
    "selections": [
        dp.Exponential(sensitivity=dp.Sensitivity.counting(neighbours=dp.Neighbours.REPLACE), epsilon=1).loss
    ]
    * 20,
}


def theorems(losses: list[dp.Loss], delta: Fraction) -> dict[str, float]:
    """Every theorem that applies to these losses, and what it proves at this delta."""
    alike = {(type(loss), repr(loss)) for loss in losses}
    tried: dict[str, Callable[[], float]] = {
        "basic": lambda: composition.basic(losses).epsilon(delta=delta),
        "zcdp": lambda: composition.zcdp(losses).epsilon(delta=delta),
        "rdp": lambda: composition.rdp(losses, orders=[F(3, 2), 2, 4, 8, 16, 32, 64]).epsilon(delta=delta),
        "gaussian": lambda: composition.gaussian(losses).epsilon(delta=delta),
        "numeric": lambda: composition.numeric(losses).epsilon(delta=delta),
    }
    if all(isinstance(loss, Pure) for loss in losses):
        epsilons = [loss.epsilon_bound(F(0)) for loss in losses]
        tried["optimal"] = lambda: composition.optimal(epsilons, delta=delta)  # type: ignore[arg-type]
        if len(alike) == 1:
            asked = {"epsilon": epsilons[0], "count": len(losses), "slack": delta}
            tried["advanced"] = lambda: composition.advanced(**asked).epsilon(delta=delta)  # type: ignore[arg-type]
    found = {}
    for name, prove in tried.items():
        try:
            found[name] = prove()
        except NotSupported:
            continue
    return found


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_compose_is_the_tightest_of_them(name: str, delta: str) -> None:
    losses = MIXES[name]
    proved = theorems(losses, F(delta))
    assert len(proved) >= 2
    here = dp.compose(losses).epsilon(delta=delta)
    tightest = min(proved, key=lambda theorem: proved[theorem])
    assert here <= proved[tightest] * TOLERANCE, (tightest, proved, here)
    if tightest == "optimal" and len(set(map(repr, losses))) * len(losses) < 4_000:
        assert here == proved["optimal"]


def test_the_tightest_theorem_is_not_always_the_same() -> None:
    """Which is best depends on the losses: a rule that always took the same one would be loose somewhere."""
    best = {
        name: min(found, key=found.__getitem__)
        for name, found in ((name, theorems(losses, F("1e-6"))) for name, losses in MIXES.items())
    }
    assert {"optimal", "gaussian", "numeric", "zcdp"} <= set(best.values()), best


class TestCompose:
    def test_nothing_costs_nothing(self) -> None:
        assert dp.compose([]) == dp.Loss.pure(epsilon=0)

    def test_one_loss_is_itself(self) -> None:
        for loss in (*pure("0.3"), dp.Loss.gaussian(mu=1), dp.Loss.zcdp(rho=1), dp.Loss.nonprivate()):
            assert dp.compose([loss]) == loss
        assert isinstance(dp.compose([*pure(1), dp.Loss.nonprivate()]), NonPrivate)

    @pytest.mark.parametrize("junk", [dp.Charge(), 0.1, None, "0.1", dp.Budget(epsilon=1)], ids=repr)
    def test_what_a_filter_keeps_is_no_loss(self, junk: object) -> None:
        """Guarantee: valid for mechanisms chosen adaptively whose losses were not; a sequence of losses that depends
        on answers is a matter for `PrivacyFilter`.
        """
        for compose in (dp.compose, composition.numeric, composition.basic):
            with pytest.raises(InvalidParameter):
                compose([junk, dp.Loss.pure(epsilon=1)])  # type: ignore[list-item]

    def test_an_adaptive_session_has_no_loss_to_compose(self) -> None:
        """What it has spent is a Charge: no epsilon, no delta, no curve, and it does not add to a Loss."""
        session = dp.PrivacyFilter(dp.Budget(epsilon=1, delta="1e-6"))
        assert session.admit(dp.Loss.pure(epsilon="0.1"))
        assert isinstance(session.spent, dp.Charge)
        assert not isinstance(session.spent, dp.Loss)
        for part in (session, session.spent):
            assert not any(hasattr(part, name) for name in ("epsilon", "epsilon_bound", "delta_bound", "renyi", "loss"))
        with pytest.raises(TypeError):
            dp.Loss.pure(epsilon=1) + session.spent  # type: ignore[operator]
        with pytest.raises((TypeError, AttributeError)):
            session.spent + dp.Loss.pure(epsilon=1)  # type: ignore[operator]
        with pytest.raises(InvalidParameter):
            dp.compose([session.spent])  # type: ignore[list-item]


@precise
def choice_delta(whole: mpf, high: mpf, count: int, epsilon: mpf) -> mpf:
    """The exact delta of `count` choices of two, each with a log ratio of `high` or of `high - whole`."""
    rare = (1 - mp.exp(high - whole)) / (mp.exp(high) - mp.exp(high - whole))  # of the first, under the other table
    likely = rare * mp.exp(high)
    total = mpf(0)
    for i in range(count + 1):
        loss = count * high - (count - i) * whole
        if loss > epsilon:
            chance = mp.binomial(count, i) * likely**i * (1 - likely) ** (count - i)
            total += chance * (1 - mp.exp(epsilon - loss))
    return total


def check_selections(cost: Callable[[int], dp.Loss]) -> None:
    """Choices whose log ratio ranges over an interval of length 1, wherever it lies."""
    for count, place in itertools.product((1, 5, 40), ("0.1", "0.3", "0.5", "0.7", "0.95")):
        for share in ("0", "0.1", "0.3", "0.6"):
            truth = choice_delta(mpf(1), mpf(place), count, mpf(share) * count)
            assert exact(cost(count).delta(epsilon=F(share) * count)) >= truth, (count, place, share)


class TestSelections:
    def test_choices_of_a_bounded_range_are_not_below_any_instance(self) -> None:
        choice = BoundedRange(F(1))
        check_selections(lambda count: dp.compose([choice] * count))
        assert dp.compose([choice] * 40).epsilon(delta="1e-6") < dp.compose(pure(*[1] * 40)).epsilon(delta="1e-6") / 1.5

    def test_half_of_the_range_is_not_enough(self) -> None:
        """A range of 1 is not from -1/2 to 1/2: its place depends on the tables."""
        with pytest.raises(AssertionError):
            check_selections(lambda count: dp.compose(pure(*["0.5"] * count)))

    def test_choices_beside_other_releases(self) -> None:
        choice, others = BoundedRange(F(1, 2)), [dp.Loss.gaussian(mu="0.3"), *pure("0.2")]
        whole = dp.compose([choice, *others])
        worst = dp.compose([dp.Loss.pure(epsilon="0.5"), *others])
        for delta in ("1e-3", "1e-9"):
            assert dp.compose(others).epsilon(delta=delta) < whole.epsilon(delta=delta) <= worst.epsilon(delta=delta)


class TestGroupsAndPostProcessing:
    def test_a_group_of_k_towards_a_sum_is_the_sum_towards_the_group(self) -> None:
        losses = [*pure("0.1", "0.2"), dp.Loss.gaussian(mu="0.3"), dp.Loss.zcdp(rho="0.01")]
        for k in (1, 2, 5):
            assert dp.compose(losses).group(k) == dp.compose([loss.group(k) for loss in losses])
        assert dp.compose(pure("0.1", "0.2")).group(3).epsilon(delta=0) == 0.9

    def test_a_chain_of_neighbours_is_within_the_group_s_bound(self) -> None:
        """k steps of randomised response: the worst pair k apart has the loss k epsilon, and the group says so."""
        for k in (1, 2, 4):
            group = dp.Loss.pure(epsilon="0.4").group(k)
            for epsilon in ("0.1", "0.8", "1.5"):
                check_upper(
                    group.delta(epsilon=epsilon), response_delta(mpf(epsilon), k * mpf("0.4"), 1), within="1e-12"
                )
            normal = dp.Loss.gaussian(mu="0.4").group(k)
            check_upper(normal.delta(epsilon=1), gaussian_delta(mpf(1), k * mpf("0.4")), within="1e-12")

    def test_the_delta_of_a_group_grows_as_a_geometric_sum(self) -> None:
        group = dp.Loss.approximate(epsilon="0.5", delta="1e-6").group(3)
        assert isinstance(group, Approximate)
        assert group.base_epsilon == F(3, 2)
        truth = mpf("1e-6") * sum(mp.exp(mpf(i) / 2) for i in range(3))
        check_upper(group.base_delta, truth, within="1e-12")

    def test_post_processing_costs_nothing(self) -> None:
        """Guarantee: the loss of the mechanism, whatever the function does. The caller must ensure that the function
        looks at its argument, at public facts and at nothing else.
        """
        one = dp.Sensitivity.counting(neighbours=dp.Neighbours.ADD_REMOVE)
        laplace = dp.Laplace(sensitivity=one, epsilon="0.5")
        for function in (lambda n: max(n, 0), lambda n: n * 0, lambda n: n % 2):
            after = laplace.then(function)
            assert after.loss == laplace.loss
            assert after.then(str).loss == laplace.loss  # type: ignore[arg-type]
        parity = laplace.then(lambda n: n % 2)
        law = [laplace.law(value) for value in (0, 1)]
        odd = [sum(law[v].probability(z) for z in range(-199, 201, 2)) for v in (0, 1)]
        assert abs(math.log(float(odd[0]) / float(odd[1]))) <= 0.5
        assert parity.release(3) in (0, 1)
