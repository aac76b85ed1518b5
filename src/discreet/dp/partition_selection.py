"""Private group keys: which groups may be named at all, when the list of groups is itself private.

A key is named with a probability that grows with the number of its units, and is 0 where there are none. One unit that
nobody shares a key with would betray itself by it: that is what delta pays for.

**What one unit moves.** A unit is in at most m groups (`groups`), so when it comes or goes at most m counts move by 1
each: l1 = m, l2 = sqrt(m), linf = 1. When it is replaced, at most m fall by 1 and at most m rise by 1: 2m counts move.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.dp import randomness
from discreet.dp.exact_keys import Counts, ExactKeys, Key, Keyed, Keys
from discreet.dp.law import smallest
from discreet.dp.loss import Approximate, Loss, Pure
from discreet.dp.loss_sum import summed
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Closed, Permit
from discreet.dp.randomness import Stream
from discreet.dp.rational import Number, positive, positive_integer, probability, sqrt_up
from discreet.dp.reals import ball, lower, upper
from discreet.dp.sensitivity import Sensitivity
from discreet.dp.smooth_exact import relation
from discreet.errors import InvalidParameter

Named = TypeVar("Named", list[Key], dict[Key, int])

_MOST_COUNTS = 1 << 18  # below which a key is not yet sure to be named: the table of chances has as many entries
_MOST_EPSILON = 1 << 12  # of one key, as computed: a smaller one is a safe one


class KeyRelease(ABC, Generic[Named]):
    """What all releases of private keys share: how many of them one unit is in, and the two doors."""

    groups: int
    neighbours: Neighbours
    delta: Fraction

    @property
    def sensitivity(self) -> Sensitivity:
        """That of the counts of distinct units, over all keys together."""
        return counts_of_units(self.groups, self.neighbours)

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of one release, of all keys and whatever is told of them. Its delta comes out of `delta_add`."""

    @abstractmethod
    def keep_bounds(self, count: int) -> tuple[Fraction, Fraction]:
        """Return rationals around the probability that a key with so many units is named."""

    @abstractmethod
    def _release(self, keyed: Keyed, stream: Stream) -> Named:
        """Return what is told of the keys that are named, sorted by key."""

    def keep_probability(self, count: int) -> float:
        """Return the probability that a key with so many units is named, to the nearest float."""
        low, high = self.keep_bounds(count)
        return float((low + high) / 2)

    def sure_count(self, *, failure_probability: Number) -> int:
        """Return the least number of units at which a key is left out with at most this probability."""
        share = probability(failure_probability, "failure_probability")
        return smallest(lambda count: self.keep_bounds(count)[0] >= 1 - share)

    def release(self, keys: Keys, counts: Counts) -> Named:
        """Return what may be told of plain keys with plain numbers of distinct units, sorted by key.

        A key without units is never named. Whoever calls this has the keys already, and accounts for `loss`.
        """
        if isinstance(keys, Closed) or isinstance(counts, Closed):
            raise InvalidParameter("private keys are released by open(exact, permit), not by release.")
        return self._release(Keyed.of(keys, counts), randomness.system())

    def open(self, exact: ExactKeys, permit: Permit) -> Named:
        """Release private keys: the loss is taken from the permit first, then the keys are read.

        Guarantee: the output has the loss that was taken; keys of which a unit is in more than `groups`, or under
          another relation, are refused before anything is taken.
        """
        if not isinstance(exact, ExactKeys) or not isinstance(permit, Permit):
            raise InvalidParameter("open takes an ExactKeys and a Permit; for plain keys use release(keys, counts).")
        if exact.neighbours is not self.neighbours or exact.groups > self.groups:
            raise InvalidParameter(
                f"these keys are for another relation, or a unit is in more than {self.groups} of them: make the "
                "mechanism with groups=exact.groups and neighbours=exact.neighbours."
            )
        permit.take(self.loss)
        return self._release(exact._keyed, randomness.system())


def counts_of_units(groups: int, neighbours: Neighbours) -> Sensitivity:
    """Return the sensitivity of numbers of distinct units in groups, of which a unit is in at most so many."""
    return Sensitivity.marginals(count=positive_integer(groups, "groups"), neighbours=relation(neighbours))


def epsilon_of_a_key(sensitivity: Sensitivity, epsilon: Number | None, rho: Number | None) -> Fraction:
    """Return the epsilon of one count that moves by 1, of all those that one unit moves: in equal parts."""
    assert sensitivity.l1 is not None
    match epsilon, rho:
        case e, None if e is not None:
            return positive(e, "epsilon") / sensitivity.l1
        case None, r if r is not None:
            return 1 / sqrt_up(sensitivity.l1 / (2 * positive(r, "rho")))
        case _:
            raise InvalidParameter("private keys take exactly one of epsilon= and rho=, and always a delta=.")


@dataclass(frozen=True, slots=True)
class PartitionSelection(KeyRelease[list[Key]]):
    """Name keys, and nothing else, each with the greatest probability that (epsilon, delta)-DP lets it have.

    With e and d the epsilon and delta of one key, a key of n units is named with probability pi(n): pi(0) = 0 and
    pi(n + 1) = min(exp(e) pi(n) + d, 1 - exp(-e) (1 - pi(n) - d), 1). Each step is taken from the rounded one before it
    and is rounded down, so both inequalities hold for the numbers that are drawn.

    Guarantee: (epsilon, delta)-DP for `neighbours`, and more exactly the K counts that one unit moves (m, or 2m under
      REPLACE) each cost at most (e, d), with e = epsilon / K and 1 - (1 - d)^K = delta. With `rho` in place of epsilon,
      K e^2 / 2 = rho. The caller must ensure that a unit is counted at most once in a key, and in at most `groups`.
    Source: Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", 2022, Theorem 1;
      Kairouz, Oh, Viswanath, 2015, Theorem 3.3 (an (e, d) step is lost with d, and otherwise randomised response).

    >>> from discreet import dp
    >>> chosen = PartitionSelection(groups=1, neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, delta=1e-9)
    >>> chosen.release(["north", "south", "nobody"], [500, 400, 0])
    ['north', 'south']
    >>> chosen.keep_probability(1), chosen.sure_count(failure_probability=0.05)
    (1e-09, 23)
    """

    groups: int
    neighbours: Neighbours
    delta: Fraction
    each: Fraction

    def __init__(
        self,
        *,
        groups: int,
        neighbours: Neighbours,
        delta: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        moved = counts_of_units(groups, neighbours)
        for name, part in (
            ("groups", positive_integer(groups, "groups")),
            ("neighbours", neighbours),
            ("delta", probability(delta, "delta")),
            ("each", epsilon_of_a_key(moved, epsilon, rho)),
        ):
            object.__setattr__(self, name, part)
        _chances(self.each, self.delta_of_a_key)  # refuses what cannot be tabled

    @property
    def _moved(self) -> int:
        assert self.sensitivity.l1 is not None
        return int(self.sensitivity.l1)

    @property
    def delta_of_a_key(self) -> Fraction:
        """The delta of one key: all that one unit moves have 1 - (1 - d)^K <= delta together."""
        if self._moved == 1:
            return self.delta
        return lower(lambda: -(((-ball(self.delta)).log1p()) / self._moved).expm1())

    @property
    def loss(self) -> Loss:
        """The loss of one list: with probability delta everything, otherwise K randomised responses."""
        return summed([(1, Approximate(Fraction(0), self.delta)), (self._moved, Pure(self.each))])

    def chance(self, count: int) -> Fraction:
        """Return the probability that a key with so many units is named, exactly as it is drawn."""
        chances = _chances(self.each, self.delta_of_a_key)
        return chances.of(_units(count))

    def keep_bounds(self, count: int) -> tuple[Fraction, Fraction]:
        """Return the probability twice: it is a rational."""
        return self.chance(count), self.chance(count)

    def _release(self, keyed: Keyed, stream: Stream) -> list[Key]:
        kept = _chances(self.each, self.delta_of_a_key).draw(keyed.counts, stream)
        return keyed.sorted(kept)[0]


class Chances:
    """The probabilities pi(0) = 0, pi(1), ... as whole multiples of 2^-bits, up to the first that is 1.

    Guarantee: pi(n + 1) <= exp(e) pi(n) + d and 1 - pi(n) <= exp(e) (1 - pi(n + 1)) + d hold exactly, and `draw` names
      a key of n units with probability pi(n), exactly.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        self.bits = 128 + max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
        one, e = 1 << self.bits, min(epsilon, Fraction(_MOST_EPSILON))
        grow = math.floor(lower(lambda: ball(e).exp(), self.bits) * one)
        shrink = math.ceil(upper(lambda: ball(-e).exp(), self.bits) * one)
        share = math.floor(delta * one)
        found = [0]
        while found[-1] < one:
            last = found[-1]
            rising = (grow * last >> self.bits) + share  # a shift rounds down
            falling = one + (-shrink * max(0, one - last - share) >> self.bits)
            found.append(min(rising, falling, one))
            if len(found) > _MOST_COUNTS:
                raise InvalidParameter(
                    "with so little epsilon for a key a quarter of a million units are not sure to name it: ask for "
                    "more, or use dp.NoisyKeys."
                )
        self.numerators = found
        low = self.bits - 64
        self._tops = np.array([n >> low for n in found[:-1]], dtype=np.uint64)

    def of(self, count: int) -> Fraction:
        """Return pi(count)."""
        return Fraction(self.numerators[min(count, len(self.numerators) - 1)], 1 << self.bits)

    def draw(self, counts: NDArray[np.int64], stream: Stream) -> NDArray[np.bool_]:
        """Return which keys are named: each has a uniform number of its own, of which 64 bits nearly always do."""
        last = len(self.numerators) - 1
        place = np.minimum(counts, last - 1)
        words, tops = stream.words(counts.size, 64), self._tops[place]
        kept: NDArray[np.bool_] = words < tops
        low = self.bits - 64
        for i in np.flatnonzero(words == tops):
            kept[i] = stream.integer(low) < self.numerators[place[i]] & ((1 << low) - 1)
        words.fill(0)
        kept |= counts >= last
        return kept


@lru_cache(maxsize=8)
def _chances(epsilon: Fraction, delta: Fraction) -> Chances:
    return Chances(epsilon, delta)


def _units(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InvalidParameter("count is a whole number of units of at least 0.")
    return int(count)
