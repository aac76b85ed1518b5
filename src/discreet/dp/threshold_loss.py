"""What a hit of a logistic threshold test costs, and what a stream with a hidden threshold costs as a whole.

One question whose log odds differ by s between the two tables has, for the likelihood ratio L of its answer,
  E'[L^a exp(-eta_s 1{hit})] <= 1,  eta_s = -a s - ln(1 - a (1 - exp(-s))),  wherever a (1 - exp(-s)) < 1,
so that in Renyi divergence of order a misses are free and a hit costs eta / (a - 1). `docs/proofs/threshold-test.md`
has the proof. For |s| <= e the worst is s = e, the branch that has a limit; for -e <= s <= 0 it is s = -e, which has
none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.dp.loss import Bound, BoundedRange, Loss, Pure
from discreet.dp.rational import positive_integer
from discreet.dp.reals import ball, upper
from discreet.dp.renyi import delta_of_renyi, epsilon_of_renyi

if TYPE_CHECKING:
    from flint import arb

INSTEAD = (
    "A hit of the logistic threshold test has a Renyi divergence below its order limit, and neither epsilon nor rho: "
    "it needs a budget of epsilon and delta whose order a has a (1 - exp(-slope)) < 1. A smaller slope may fit; for "
    "other budgets, and for few hits, use dp.SparseVector or dp.LogisticSparseVector."
)


def charge(order: Fraction, shift: Fraction) -> arb:
    """Return the ball around eta_s = -a s - ln(1 - a (1 - exp(-s))), for the precision in force."""
    return -ball(order * shift) - (1 + ball(order) * ball(-shift).expm1()).log()


def below_limit(order: Fraction, slope: Fraction) -> bool:
    """Return whether a (1 - exp(-e)) < 1, with certainty: whether a hit has a Renyi divergence of this order.

    >>> below_limit(Fraction(20), Fraction("0.0512")), below_limit(Fraction(20), Fraction("0.0513"))
    (True, False)
    """
    if slope > 1 << 10:  # then a would be below 1 + exp(-1024)
        return False
    return upper(lambda: -ball(order) * ball(-slope).expm1()) < 1


@lru_cache(maxsize=256)  # a session asks for the price of the same hit at every question
def _renyi(order: Fraction, shift: Fraction) -> Bound:
    """Return eta_s / (a - 1), rounded up; infinity from the order limit on."""
    if shift == 0:
        return Fraction(0)
    if shift > 0 and not below_limit(order, shift):
        return math.inf
    return upper(lambda: charge(order, shift)) / (order - 1)


@dataclass(frozen=True, slots=True)
class ThresholdHit(Loss):
    """One hit of a logistic threshold test, however many misses surround it; `cutoff * hit` is that of a whole test.

    Guarantee: for a slope, and a number of hits, that are fixed in advance, the Renyi divergence of order a of all
      answers is at most hits * eta(a, slope) / (a - 1), at every order a with a (1 - exp(-slope)) < 1. There is no
      epsilon without a delta, and no zCDP: misses are unbounded in number, and above the limit the divergence is
      infinite. Chosen along the way, slopes are a matter for a filter, which keeps one order.
    Source: `docs/proofs/threshold-test.md`; the idea is that of Cohen, Lyu, "The target charging technique", 2023.

    >>> ThresholdHit(Fraction(1, 50)).renyi(Fraction(20)) < Fraction("0.0056")
    True
    """

    slope: Fraction

    def renyi(self, order: Fraction) -> Bound:
        """Return eta(a, e) / (a - 1); infinity from the order limit on."""
        return _renyi(order, self.slope)

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the best order's delta."""
        return delta_of_renyi(self.renyi, epsilon)

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the best order's epsilon; infinite without a delta."""
        return epsilon_of_renyi(self.renyi, delta) if self.slope else Fraction(0)

    @property
    def instead(self) -> str:
        """What to use where a budget cannot admit a hit at any price."""
        return INSTEAD

    def group(self, k: int) -> Loss:
        """Return that of k times the slope: k units move a value k times as far."""
        return ThresholdHit(positive_integer(k, "k") * self.slope)


@dataclass(frozen=True, slots=True)
class HiddenThresholdLoss(BoundedRange):
    """A hidden threshold and `hits` logistic hits around it: an epsilon, a rho, and a Renyi curve at every order.

    Guarantee: for the threshold's epsilon t and the hits' h, fixed in advance: (t + hits h)-DP;
      (t^2 + hits h^2) / 2 - zCDP; and Renyi divergence of order a at most that of randomised response at t, plus
      hits [a h - ln(1 + a (exp(h) - 1))] / (a - 1).
    Source: `docs/proofs/threshold-test.md`; Lyu, Su, Li, 2017 (that one threshold serves all hits).

    >>> HiddenThresholdLoss.of(threshold=Fraction(1, 10), hit=Fraction(1, 100), hits=90).epsilon(delta=0)
    1.0
    """

    threshold: Fraction
    hit: Fraction
    hits: Fraction

    @classmethod
    def of(cls, *, threshold: Fraction, hit: Fraction, hits: int) -> HiddenThresholdLoss:
        """Return the loss of a threshold and so many hits."""
        return cls(threshold + hits * hit, threshold, hit, Fraction(hits))

    def renyi(self, order: Fraction) -> Bound:
        """Return the sum of both curves."""
        hit = min(self.hit, order * self.hit**2 / 2)
        if self.hit * order < 1 << 16:
            hit = Fraction(min(hit, _renyi(order, -self.hit)))
        return Pure(self.threshold).renyi(order) + self.hits * hit

    def rho_bound(self) -> Bound:
        """Return (t^2 + hits h^2) / 2: d eta / dh is at most a (a - 1) h."""
        return (self.threshold**2 + self.hits * self.hit**2) / 2

    def group(self, k: int) -> Loss:
        """Return that of k times both epsilons."""
        count = positive_integer(k, "k")
        return HiddenThresholdLoss(count * self.range_epsilon, count * self.threshold, count * self.hit, self.hits)
