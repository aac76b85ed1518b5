"""`smooth_noise`, `smooth_exact`: what opens, what stays closed, what is charged, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet import dp
from discreet.errors import BudgetExceeded, InvalidParameter

F = Fraction
REPLACE = dp.Neighbours.REPLACE
ONE, EIGHTH = F(1), F(1, 8)
CANARY = 31337.03125


def noise(
    name: str, *, epsilon: Fraction = ONE, step: Fraction = EIGHTH, beta: Fraction | None = None
) -> dp.SmoothNoise:
    kind, _, exponent = name.partition("-")
    pure = kind == "polynomial"
    return dp.SmoothNoise(
        neighbours=REPLACE,
        epsilon=epsilon,
        delta=None if pure else F(1, 1000),
        noise=kind,  # type: ignore[arg-type]
        exponent=int(exponent or 4),
        beta=beta,
        step=step,
    )


def test_open_takes_the_loss_and_then_reads() -> None:
    made = noise("gaussian")
    exact = dp.SmoothExact(31, smooth_sensitivity=2, beta=made.beta, neighbours=REPLACE, unit="row")
    session = dp.PrivacyFilter(dp.Budget(epsilon=8, delta=F(1, 10), delta_add=F(15, 10_000)))
    permit = session.reserve(made.loss)
    assert isinstance(made.open(exact, permit), float)
    assert permit.left == 0
    with pytest.raises(BudgetExceeded):
        made.open(exact, permit)
    with pytest.raises(BudgetExceeded):
        session.reserve(made.loss)  # its delta is paid from delta_add, which holds one
    pure = noise("polynomial-4")
    again = dp.SmoothExact(31, smooth_sensitivity=2, beta=pure.beta, neighbours=REPLACE, unit="row")
    assert isinstance(pure.open(again, dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(pure.loss)), float)


@pytest.mark.parametrize(
    "other",
    [{"beta": F(1, 2)}, {"neighbours": dp.Neighbours.ADD_REMOVE}],
    ids=["a greater beta", "another relation"],
)
def test_a_bound_for_which_the_noise_is_not_made_is_refused_and_costs_nothing(other: dict[str, object]) -> None:
    made = noise("polynomial-4", beta=F(1, 10))
    given = {"beta": made.beta, "neighbours": REPLACE} | other
    exact = dp.SmoothExact(31, smooth_sensitivity=2, unit="row", **given)  # type: ignore[arg-type]
    permit = dp.PrivacyFilter(dp.Budget(epsilon=1)).reserve(made.loss)
    with pytest.raises(InvalidParameter):
        made.open(exact, permit)
    assert permit.left == 1


def test_a_private_value_stays_closed() -> None:
    """nothing but `open` of `SmoothNoise` or `ScaleBound`, with a permit, lets anything out of it."""
    made = noise("polynomial-4")
    exact = dp.SmoothExact(CANARY, smooth_sensitivity=2, beta=made.beta, neighbours=REPLACE, unit="row")
    for ask in (float, int, bool, hash, len, list, lambda x: x + 1, lambda x: x == x, lambda x: x < 3, round):
        with pytest.raises(TypeError):
            ask(exact)
    with pytest.raises(TypeError):
        exact._smooth = F(0)
    for wrong in (lambda: made.release(exact, 1), lambda: made.open(31, None)):  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            wrong()


class Bound(Fraction):
    """A smooth bound that says what it is."""

    beta = F(1, 10)
    neighbours = REPLACE


def test_a_bound_that_says_what_it_is_is_held_to_it() -> None:
    for made in (noise("polynomial-4", beta=F(1, 10)), noise("polynomial-4", beta=F(1, 5))):
        assert isinstance(made.release(3, Bound(2)), float)
    another = dp.SmoothNoise(neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, beta=F(1, 10), step=1)
    for wrong in (noise("polynomial-4", beta=F(1, 11)), another):
        with pytest.raises(InvalidParameter, match="another relation, or of a greater beta"):
            wrong.release(3, Bound(2))
    paid = dp.ScaleBound(neighbours=REPLACE, beta=F(1, 11), epsilon=1, step=1)
    with pytest.raises(InvalidParameter, match="another relation, or of a greater beta"):
        paid.release(Bound(2))


@pytest.mark.parametrize(
    "bound", [Bound(77), dp.smooth_sensitivity.median([5, 7], lower=0, upper=77, beta=1, neighbours=REPLACE)]
)
def test_a_private_bound_is_no_public_parameter(bound: Fraction) -> None:
    """Neither an error bar nor anything else that may be shown is made of it, by mistake or not."""
    one = dp.Sensitivity.counting(neighbours=REPLACE)
    for parameter in (
        lambda: noise("polynomial-4").accuracy(failure_probability=F(1, 20), smooth_sensitivity=bound),
        lambda: noise("polynomial-4", step=bound),
        lambda: dp.SmoothNoise(neighbours=REPLACE, epsilon=bound, step=1),
        lambda: dp.ProposeTestRelease(neighbours=REPLACE, proposal=bound, epsilon=1, delta=F(1, 10**6), step=1),
        lambda: dp.local_sensitivity.median([5, 7], lower=0, upper=77, neighbours=REPLACE).distance(proposal=bound),
        lambda: dp.Sensitivity(l1=bound, neighbours=REPLACE),
        lambda: dp.Laplace(sensitivity=one, scale=bound),
        lambda: dp.AboveThreshold(threshold=bound, sensitivity=one, epsilon=1),
    ):
        with pytest.raises(InvalidParameter, match="is public") as caught:
            parameter()
        assert str(bound.numerator) not in str(caught.value)


class TestRefusals:
    @pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, None, "x", True, 51])
    def test_epsilon(self, epsilon: object) -> None:
        with pytest.raises(InvalidParameter):
            dp.SmoothNoise(neighbours=REPLACE, epsilon=epsilon, step=1)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "given",
        [
            {"delta": 1e-6},
            {"noise": "laplace"},
            {"noise": "gaussian", "delta": 0},
            {"noise": "gaussian", "delta": 1},
            {"noise": "cauchy"},
            {"exponent": 3},
            {"beta": 0},
            {"beta": 3},
            {"step": 0},
            {"step": math.nan},
            {"neighbours": "replace"},
        ],
        ids=str,
    )
    def test_parameters(self, given: dict[str, object]) -> None:
        with pytest.raises(InvalidParameter):
            dp.SmoothNoise(**{"neighbours": REPLACE, "epsilon": 1, "step": 1} | given)  # type: ignore[arg-type]

    @pytest.mark.parametrize("value", [math.nan, math.inf, None, "3", True, 1j])
    def test_values(self, value: object) -> None:
        made = noise("polynomial-4")
        for given in ((value, 1), (1, value)):
            with pytest.raises(InvalidParameter):
                made.release(*given)  # type: ignore[arg-type]

    def test_the_classical_theorem_where_it_is_false(self) -> None:
        with pytest.raises(InvalidParameter, match="false"):
            dp.SmoothNoise.classical_laplace(neighbours=REPLACE, epsilon=15, delta=1e-6, step=1)
