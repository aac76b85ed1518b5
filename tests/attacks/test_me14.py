"""ME-14: smooth sensitivity with the wrong beta, Laplace noise called pure, the scale shown or made a grid of.

The chain: the median of rows at 0 and at the upper bound, one row from the middle. Each neighbour's smooth bound is
exp(beta) times less, so the stretch of the noise is as great as it can be, at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet import dp
from discreet.errors import InvalidParameter
from tests.broken import adaptive_noise as broken
from tests.closed_forms import mp, mpf
from tests.noise_laws import real
from tests.smooth_truth import TRUTHS, rounded_masses, told_apart

F = Fraction
REPLACE = dp.Neighbours.REPLACE
TOP, ROWS = 64, 41
REACH = 300


def local(ones: int, distance: int) -> int:
    """LS^(k) of the median of a table with `ones` rows at TOP and the others at 0: TOP within reach of the middle."""
    middle = ROWS // 2 + 1
    to_the_middle = min(abs(ones - (middle - 1)), abs(ones - middle))
    return TOP if to_the_middle <= distance else 0


def smooth(ones: int, beta: mpf) -> mpf:
    return max(mp.exp(-beta * k) * local(ones, k) for k in range(ROWS))


def chain(beta: Fraction) -> list[tuple[Fraction, mpf]]:
    """The median and its smooth bound along tables that differ by one row each."""
    return [(F(TOP if ones > ROWS // 2 else 0), smooth(ones, real(beta))) for ones in range(15, 27)]


def check(name: str, scale: Fraction, beta: Fraction, claim: dp.Loss, epsilon: Fraction) -> None:
    """The exact delta on every neighbour of the chain is at most what is claimed, in both orders."""
    laws = [
        list(rounded_masses(TRUTHS[name], real(value), real(scale) * max(bound, mpf(1)), REACH))
        for value, bound in chain(beta)
    ]
    allowed = real(F(repr(claim.delta(epsilon=epsilon))))
    for one, other in pairwise(laws):
        assert told_apart(one, other, real(epsilon)) <= allowed * (1 + mpf(10) ** -30)
        assert told_apart(other, one, real(epsilon)) <= allowed * (1 + mpf(10) ** -30)


def ours(name: str) -> dp.SmoothNoise:
    if name.startswith("polynomial"):
        return dp.SmoothNoise(neighbours=REPLACE, epsilon=1, step=1)
    return dp.SmoothNoise(neighbours=REPLACE, epsilon=1, delta=F(1, 100), noise=name, step=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["polynomial-4", "laplace", "gaussian"])
def test_ours_keeps_its_promise_along_the_chain(name: str) -> None:
    made = ours(name)
    check(name, made.scale, made.beta, made.loss, F(1))


@pytest.mark.parametrize("name", ["polynomial-4", "laplace", "gaussian"])
def test_a_bound_that_was_smoothed_with_another_beta_is_seen(name: str) -> None:
    made = ours(name)
    with pytest.raises(AssertionError):
        check(name, made.scale, made.beta * 8, made.loss, F(1))
    wrong = dp.SmoothExact(3, smooth_sensitivity=2, beta=made.beta * 8, neighbours=REPLACE, unit="row")
    permit = dp.PrivacyFilter(dp.Budget(epsilon=9, delta=F(1, 2), delta_add=F(1, 10))).reserve(made.loss)
    with pytest.raises(InvalidParameter):
        made.open(wrong, permit)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_light_tails_are_not_pure(name: str) -> None:
    made = ours(name)
    with pytest.raises(AssertionError):
        check(name, made.scale, made.beta, broken.called_pure(made), F(1))
    assert made.loss.epsilon(delta=0) == float("inf")


def test_the_local_sensitivity_itself_is_no_scale() -> None:
    """Noise in proportion to LS(D): 0 far from the middle, so the table is read off the width of the noise."""
    made = ours("polynomial-4")
    widths = [max(local(ones, 0), 1) for ones in (19, 20)]
    laws = [list(rounded_masses(TRUTHS["polynomial-4"], mpf(0), real(made.scale) * width, REACH)) for width in widths]
    assert told_apart(laws[0], laws[1], mpf(1)) > mpf("0.5")


def printed(made: dp.SmoothNoise, ask: Callable[[float, float], object]) -> set[str]:
    """What an analyst reads beside the number, for two tables."""
    return {str(ask(0.0, bound)).partition(" ")[2] for bound in (1.0, 2.0)}


def test_no_answer_shows_the_scale() -> None:
    made = ours("polynomial-4")
    assert len(printed(made, made.release)) == 1
    assert len(printed(made, broken.PrintedScale(made).answer)) == 2


def test_the_grid_of_the_outputs_does_not_show_the_scale() -> None:
    made = dp.SmoothNoise(neighbours=REPLACE, epsilon=1, step=F(1, 4))

    def finest(release: Callable[[float, float], float], bound: float) -> int:
        return max(F(release(0.3, bound)).denominator for _ in range(60))

    assert max(finest(made.release, bound) for bound in (1e-6, 1.0, 1e6)) <= 4
    twin = broken.GridOfTheScale(made)
    assert finest(twin.release, 1e-6) > finest(twin.release, 1.0) > 4
