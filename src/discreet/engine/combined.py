"""The noise of the weighted mean of independent releases of one number, and how far off it may be.

Weights go by inverse variance, so the mean has the least variance there is, 1 / (sum of 1 / V_i); they add up to 1 and
are public. It is rounded to whole steps, half a step at most.

* **Normal noise.** A draw is a normal number N_i rounded to the grid, within 1/2 of it; so the sum of w_i Z_i is within
  (sum of w_i) / 2 of a normal number of variance sum of w_i^2 sigma_i^2.
* **Laplace noise.** With U uniform on (-1/2, 1/2), Z_i + U has a density that falls away from 0 in steps, and
  P(|Z_i + U| > x) <= exp(-x / b) for b = 1 / (2 tanh(1 / (2 b_i))) <= b_i + 1 / (12 b_i): the left side is linear
  between half steps, q^a (1 - 2 tanh(1 / (2 b_i)) (x - a)) around a whole a with q = exp(-1 / b_i), and so below
  exp(-a / b) exp(-(x - a) / b). So Z_i + U is more peaked than a Laplace number of
  scale b, and by Birnbaum's theorem the weighted sum is more peaked than that of such numbers. With scales
  beta_i = w_i b, all different, that sum is above x in magnitude with probability
  sum of A_i exp(-x / beta_i), A_i = product over j of beta_i^2 / (beta_i^2 - beta_j^2). It is evaluated in balls.

Draws of the two laws are not averaged: with half of the probability for each, the mean would be no better for sure.

Source: Birnbaum, "On random variables with comparable peakedness", 1948 (symmetric densities that fall from 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from discreet import dp
from discreet.dp.rational import sqrt_up
from discreet.dp.reals import ball, precision
from discreet.dp.tree_estimates import variance_of

if TYPE_CHECKING:
    from flint import arb

Noise: TypeAlias = dp.Laplace | dp.Gaussian

MOST_DRAWS = 8  # that are averaged: more would make a row of the ledger longer, and a number hardly better
PARTS = 1 << 16  # a weight is a whole number of these parts
_APART = 1 + Fraction(1, 1 << 20)  # scales are made to differ by so much, upwards
_BITS = 512  # MOST_DRAWS scales so near to each other lose 2^140 in the sum


@dataclass(frozen=True, slots=True)
class Averaged:
    """The noise of a weighted mean of independent draws of one law; the weights add up to 1.

    Guarantee: no privacy; it is post-processing of releases that were paid for one by one. What it says of an error
      holds for prices that were not chosen by the noise of the releases before.
    """

    draws: tuple[tuple[Noise, Fraction], ...]

    def accuracy(self, *, failure_probability: Fraction) -> Fraction:
        """Return how many steps the rounded mean is off at most, but for this probability."""
        return _accuracy(self, failure_probability)

    @property
    def variance(self) -> float:
        """That of the mean, before it is rounded."""
        return sum(float(weight) ** 2 * variance_of(noise) for noise, weight in self.draws)


Law: TypeAlias = dp.Laplace | dp.Gaussian | Averaged


def averaged(before: Law, fresh: Noise) -> tuple[Averaged, int] | None:
    """Return the law of the mean of a release and a fresh one, and the weight of the old in parts of 2^16.

    None where the mean is no better for sure than the better of the two alone.
    """
    draws = before.draws if isinstance(before, Averaged) else ((before, Fraction(1)),)
    if len(draws) >= MOST_DRAWS or type(draws[0][0]) is not type(fresh):
        return None
    old = before.variance if isinstance(before, Averaged) else variance_of(before)
    new = variance_of(fresh)
    weight = round(PARTS * new / (old + new))
    if not 0 < weight < PARTS:
        return None
    part = Fraction(weight, PARTS)
    law = Averaged((*((noise, part * share) for noise, share in draws), (fresh, 1 - part)))
    chance = Fraction(1, 20)
    alone = min(each.accuracy(failure_probability=chance) for each in (before, fresh))
    return (law, weight) if law.accuracy(failure_probability=chance) < alone else None


@lru_cache(maxsize=256)
def _accuracy(law: Averaged, failure: Fraction) -> Fraction:
    normal = [(noise.sigma, weight) for noise, weight in law.draws if isinstance(noise, dp.Gaussian)]
    laplace = [(noise.scale, weight) for noise, weight in law.draws if isinstance(noise, dp.Laplace)]
    if normal:
        spread = sqrt_up(sum((weight**2 * sigma**2 for sigma, weight in normal), start=Fraction(0)))
        off = _beyond(lambda x: _normal_tail(x, spread), spread, failure)
    else:
        scales = _apart(sorted(weight * (scale + 1 / (12 * scale)) for scale, weight in laplace))
        off = _beyond(lambda x: _laplace_tail(x, scales), scales[-1], failure)
    # 1/2 for the grid of the draws, whose weights add up to 1, and 1/2 for that of the mean
    return Fraction(math.floor(off + 1))


def _apart(scales: list[Fraction]) -> tuple[Fraction, ...]:
    """Return scales that differ, none of them smaller than it was: a greater one is less peaked."""
    found = [scales[0]]
    for scale in scales[1:]:
        found.append(max(scale, found[-1] * _APART))
    return tuple(found)


def _beyond(tail: Callable[[Fraction], arb], scale: Fraction, failure: Fraction) -> Fraction:
    """Return about the least x with tail(x) <= failure, from above: a multiple of 2^-10 of the scale."""
    low, high = 0, 1 << 10
    with precision(_BITS):
        most = ball(failure)
        while not tail(high * scale / 1024) < most:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if tail(middle * scale / 1024) < most else (middle, high)
    return high * scale / 1024


def _normal_tail(x: Fraction, sigma: Fraction) -> arb:
    """Return P(|N| > x)."""
    return (ball(x / sigma) / ball(2).sqrt()).erfc()


def _laplace_tail(x: Fraction, scales: tuple[Fraction, ...]) -> arb:
    """Return P(|sum of Laplace numbers of these scales| > x)."""
    tail = ball(0)
    for scale in scales:
        factor = Fraction(1)
        for other in scales:
            if other != scale:
                factor *= scale**2 / (scale**2 - other**2)
        tail += ball(factor) * ball(-x / scale).exp()
    return tail
