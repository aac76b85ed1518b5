"""CO-01: composition that claims too little. Every theorem, on random releases, against two independent accountants.

The first is the exact law in balls of 256 bits (`tests/compositions.py`), the second dp-accounting's optimistic
estimate, which is rounded down.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from discreet import dp
from discreet.dp.loss import Pure
from discreet.errors import InvalidParameter, NotSupported
from tests.accounting import log_uniform
from tests.broken import composition as broken
from tests.compositions import Curve, Releases, random_releases, real
from tests.sizes import sized

Compose = Callable[[Sequence[dp.Loss]], Curve]
ORDERS = [Fraction(3, 2), 2, 3, 5, 8, 16, 32, 64, 256]
SEED = 11


def optimal(losses: Sequence[dp.Loss]) -> Curve:
    return _Optimal([loss.epsilon_bound(Fraction(0)) for loss in losses])


class _Optimal:
    def __init__(self, epsilons: Sequence[Fraction | float]) -> None:
        self.epsilons = [e for e in epsilons if isinstance(e, Fraction)]
        if len(self.epsilons) < len(epsilons):
            raise NotSupported("not pure")

    def delta(self, *, epsilon: Fraction) -> float:
        return dp.composition.optimal_delta(self.epsilons, epsilon=epsilon)

    def epsilon(self, *, delta: Fraction) -> float:
        return dp.composition.optimal(self.epsilons, delta=delta)


def advanced(losses: Sequence[dp.Loss]) -> Curve:
    """Where all losses are equal and pure; the theorem's slack is 1e-9."""
    one, *others = losses
    if not isinstance(one, Pure) or any(other != one for other in others):
        raise NotSupported("not equal")
    return dp.composition.advanced(epsilon=one.pure_epsilon, count=len(losses), slack="1e-9")


THEOREMS: dict[str, Compose] = {
    "compose": dp.compose,
    "numeric": dp.composition.numeric,
    "basic": dp.composition.basic,
    "optimal": optimal,
    "advanced": advanced,
    "zcdp": dp.composition.zcdp,
    "rdp": lambda losses: dp.composition.rdp(losses, orders=ORDERS),
    "gaussian": dp.composition.gaussian,
}
TWINS = [
    broken.forgotten_counts,
    broken.forgotten_deltas,
    broken.rho_of_a_selection,
    broken.largest_only,
    broken.nearest_grid,
]


def check_never_below(compose: Compose, *, count: int) -> None:
    """Both conversions of random releases; a theorem that does not apply to them says so."""
    source, applied = random.Random(SEED), 0
    for _ in range(count):
        releases = random_releases(source)
        delta = log_uniform(source, 1e-15, 0.1)
        try:
            found = compose(releases.losses)
            epsilon = found.epsilon(delta=delta)
            claimed = found.delta(epsilon=Fraction(repr(epsilon)) / 2) if epsilon < float("inf") else 1.0
        except (NotSupported, InvalidParameter):
            continue
        applied += 1
        if epsilon < float("inf"):
            assert not releases.delta(epsilon) > real(delta), (releases, delta, epsilon)
            truth = releases.delta(Fraction(repr(epsilon)) / 2)
            assert not real(claimed) < truth, (releases, epsilon / 2, claimed, truth)
    assert applied


@pytest.mark.parametrize("name", THEOREMS)
def test_no_theorem_claims_less_than_the_exact_law(name: str) -> None:
    check_never_below(THEOREMS[name], count=sized(40, 10_000))


@pytest.mark.parametrize("twin", TWINS)
def test_a_composition_that_forgets_something_is_seen(twin: Compose) -> None:
    with pytest.raises(AssertionError):
        check_never_below(twin, count=40)


def check_against_dp_accounting(compose: Compose, *, count: int) -> None:
    source = random.Random(SEED)
    for _ in range(count):
        drawn = random_releases(source, least=1e-2)
        releases = Releases(drawn.pure, drawn.unit / 5, drawn.mu / 5)
        theirs, found = optimistic(releases), compose(releases.losses)
        for delta in (1e-3, 1e-8):
            least = theirs.get_epsilon_for_delta(delta)
            assert found.epsilon(delta=Fraction(repr(delta))) >= least * (1 - 1e-9), (releases, delta, least)


def optimistic(releases: Releases):  # type: ignore[no-untyped-def]
    """Their lower estimate of the law of the loss; randomised response is their discrete Laplace of sensitivity 1."""
    from dp_accounting.pld import privacy_loss_distribution as theirs

    down = {"pessimistic_estimate": False, "value_discretization_interval": 1e-3, "use_connect_dots": False}
    parts = [
        theirs.from_discrete_laplace_mechanism(float(k * releases.unit), **down).self_compose(times)
        for times, k in releases.pure
    ]
    if releases.mu:
        parts.append(theirs.from_gaussian_mechanism(float(1 / releases.mu), **down))
    return functools.reduce(lambda one, two: one.compose(two), parts)


@pytest.mark.parametrize(("name", "full"), [("compose", 10_000), ("numeric", 1_000)])
def test_nor_less_than_dp_accounting_s_lower_estimate(name: str, full: int) -> None:
    check_against_dp_accounting(THEOREMS[name], count=sized(15, full))


@pytest.mark.parametrize("twin", [broken.forgotten_counts, broken.largest_only])
def test_that_accountant_sees_it_too(twin: Compose) -> None:
    with pytest.raises(AssertionError):
        check_against_dp_accounting(twin, count=15)
