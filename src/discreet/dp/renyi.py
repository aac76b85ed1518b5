"""From a Renyi curve to (epsilon, delta) and back, at the best order.

delta <= exp((a - 1)(R(a) - epsilon)) (1 - 1/a)^a / (a - 1) at every order a > 1 (Canonne, Kamath, Steinke, 2020,
Proposition 12). Any order gives a valid bound, so the search for the best one may use floats; the bound at the order
found is then computed with certainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.dp.reals import ball, lower, upper

if TYPE_CHECKING:
    from flint import arb

Curve = Callable[[Fraction], "Fraction | float"]

_GRID = [x / 2 for x in range(-14, 61)]  # ln(a - 1): orders from 1.0009 to 1e13
_GOLDEN = (math.sqrt(5) - 1) / 2


def _order(x: float) -> Fraction:
    return 1 + Fraction(f"{math.exp(x):.5e}")


def best_order(objective: Callable[[Fraction], float]) -> Fraction:
    """Return an order, with six digits of a - 1, near a minimum of the objective."""
    _, place = min((objective(_order(x)), i) for i, x in enumerate(_GRID))
    low, high = _GRID[max(place - 1, 0)], _GRID[min(place + 1, len(_GRID) - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(_order(left)), objective(_order(right))
    while high - low > 1e-5:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = objective(_order(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = objective(_order(right))
    candidates = [_order(left), _order(right), _order(_GRID[place])]
    return min(candidates, key=objective)


def _float(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _overhead(order: Fraction) -> float:
    a = float(order)
    return a * math.log1p(-1 / a) - math.log(a - 1)


def overhead(order: Fraction) -> arb:
    """Return the ball around ln[(1 - 1/a)^a / (a - 1)]."""
    return ball(order) * (1 - 1 / ball(order)).log() - ball(order - 1).log()


def delta_of_renyi(curve: Curve, epsilon: Fraction) -> Fraction:
    """Return a rational at least the delta that the best order proves at this epsilon."""

    wanted = _float(epsilon)

    def objective(order: Fraction) -> float:
        return float(order - 1) * (_float(curve(order)) - wanted) + _overhead(order)

    order = best_order(objective)
    value = curve(order)
    if not isinstance(value, Fraction):
        return Fraction(1)
    exponent = (order - 1) * (value - epsilon)  # exact: a float here could be off by more than all of it
    if exponent + Fraction(_overhead(order)) >= 0:
        return Fraction(1)
    if exponent < -(2**20):  # the overhead is never above 0
        return Fraction(1, 2**4096)
    return min(Fraction(1), upper(lambda: (ball(exponent) + overhead(order)).exp()))


def epsilon_of_renyi(curve: Curve, delta: Fraction) -> Fraction | float:
    """Return a rational at least the epsilon that the best order proves at this delta."""
    if delta <= 0:
        return math.inf
    log_delta = float(upper(lambda: ball(delta).log()))

    def objective(order: Fraction) -> float:
        return _float(curve(order)) + (_overhead(order) - log_delta) / float(order - 1)

    order = best_order(objective)
    value = curve(order)
    if not isinstance(value, Fraction):
        return math.inf
    return max(Fraction(0), value + upper(lambda: (overhead(order) - ball(delta).log()) / ball(order - 1)))


def allowed_renyi(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return a rational at most R*(a), the Renyi divergence of this order that still implies (epsilon, delta).

    Guarantee: D_a <= R* implies (epsilon, delta)-DP. Negative where the order is too low for this delta.
    """
    return epsilon + lower(lambda: (ball(delta).log() - overhead(order)) / ball(order - 1))


def session_order(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return the order a with the largest R*(a)/a, to three digits of a - 1, and R* there, rounded down.

    It is the order at which a sum of zCDP charges may grow longest before (epsilon, delta) is reached.
    """
    log_delta, e = float(upper(lambda: ball(delta).log())), _float(epsilon)

    def objective(order: Fraction) -> float:
        a = float(order)
        return -(e + (log_delta - _overhead(order)) / (a - 1)) / a

    order = 1 + Fraction(f"{float(best_order(objective) - 1):.2e}")
    return order, allowed_renyi(epsilon, delta, order)
