"""How far off a sum of Laplace noises is: further than normal noise of the same variance, and no further than this."""

from __future__ import annotations

import math

_INFLECTION = math.sqrt(3)  # t over the root of the variance at which 2 P(N > t / sqrt(V)), as a function of V, turns


def chance_beyond(t: float) -> float:
    """Return a bound on the chance that a sum of Laplace noises is more than t standard deviations from 0.

    Guarantee: it bounds every weighted sum of independent Laplace noises, however many there are, and is above the
      chance of a single one by a tenth at most from t = 2 standard deviations on.
      Proof. Laplace noise of variance 1 is sqrt(E) N with E exponential, N normal. So the sum is sqrt(V) N, with V a
      weighted mean of exponentials. With g(v) = 2 P(N > t / sqrt(v)), the chance is E g(V). g is convex up to
      v = t^2 / 3 and concave beyond; its tangent there continues it to a convex h >= g. A mean of exponentials is
      below one of them in convex order, so E g(V) <= E h(V) <= E h(E), and E h(E) is the integral below: up to the
      inflection that of an inverse normal law, beyond it that of a line.
    Source: ours; the mixture is Andrews, Mallows, "Scale mixtures of normal distributions", 1974.

    >>> round(chance_beyond(2.17), 3), round(math.exp(-math.sqrt(2) * 2.17), 3)
    (0.049, 0.046)
    """
    root, place = math.sqrt(2) * t, math.sqrt(2) * t / 3
    below = math.exp(-root) * _tail(_INFLECTION * (1 - place))
    below += math.exp(root) * _tail(_INFLECTION * (1 + place)) if root < 700 else 0.0
    slope = _INFLECTION**3 * math.exp(-(_INFLECTION**2) / 2) / math.sqrt(2 * math.pi) / t**2
    return min(1.0, below + slope * math.exp(-(t**2) / 3))


def deviations(chance: float) -> float:
    """Return t such that no sum of Laplace noises is beyond t standard deviations, but for this chance.

    >>> round(deviations(0.05), 2), round(deviations(0.001), 2)
    (2.16, 4.88)
    """
    low, high = 0.0, 2 + 2 * math.log(1 / chance)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if chance_beyond(middle) > chance else (low, middle)
    return high


def _tail(x: float) -> float:
    """Return P(N > x)."""
    return math.erfc(x / math.sqrt(2)) / 2
