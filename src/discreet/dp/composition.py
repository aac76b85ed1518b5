"""How losses that were fixed in advance add up.

Equal currencies add exactly; unequal ones take the least of the theorems that apply: the sum of epsilons and deltas,
and the sum of Renyi curves with the deltas beside it. For losses chosen along the way these prove nothing: see
`filter.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Bound, Loss, NonPrivate, Pure, Zcdp
from discreet.dp.renyi import delta_of_renyi, epsilon_of_renyi

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Composition(Loss):
    """Several losses fixed in advance, equal ones counted together."""

    parts: tuple[tuple[int, Loss], ...]

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the least of the theorems that apply: sums of epsilons and of deltas, and Renyi curves."""
        pure, added, rest = self._split()
        found = [delta_of_renyi(self._renyi_without_delta, epsilon)]
        if not rest:
            found.append(Fraction(Pure(pure).delta_bound(epsilon)))
        elif len(rest) == 1 and epsilon >= pure:
            found.append(Fraction(rest[0].delta_bound(epsilon - pure)))
        return min(found) + added

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the least of the theorems that apply."""
        pure, added, rest = self._split()
        if delta < added:
            return math.inf
        found = [epsilon_of_renyi(self._renyi_without_delta, delta - added)]
        if not rest:
            found.append(Pure(pure).epsilon_bound(delta - added))
        elif len(rest) == 1:
            found.append(pure + rest[0].epsilon_bound(delta - added))
        return min(found)

    def renyi(self, order: Fraction) -> Bound:
        """Return the sum of the curves."""
        return sum((count * part.renyi(order) for count, part in self.parts), start=_ZERO)

    def rho_bound(self) -> Bound:
        """Return the sum of rho."""
        return sum((count * part.rho_bound() for count, part in self.parts), start=_ZERO)

    def group(self, k: int) -> Loss:
        """Return the composition of the groups."""
        return composed([(count, part.group(k)) for count, part in self.parts])

    def _split(self) -> tuple[Fraction, Fraction, list[Loss]]:
        """Return the sum of epsilons, the sum of deltas, and the parts that have neither."""
        pure, added, rest = _ZERO, _ZERO, []
        for count, part in self.parts:
            match part:
                case Pure(epsilon):
                    pure += count * epsilon
                case Approximate(epsilon, delta):
                    pure, added = pure + count * epsilon, added + count * delta
                case _:
                    rest += [part] * min(count, 2)
        return pure, added, rest

    def _renyi_without_delta(self, order: Fraction) -> Bound:
        """Return the Renyi curve given that no delta strikes: each step is a mixture of anything and a pure part."""
        return sum(
            (
                count * (Pure(part.base_epsilon) if isinstance(part, Approximate) else part).renyi(order)
                for count, part in self.parts
            ),
            start=_ZERO,
        )


def composed(parts: Iterable[tuple[int, Loss]]) -> Loss:
    """Return the composition of losses fixed in advance, with equal currencies merged where that loses nothing."""
    counts: dict[Loss, int] = {}
    rho, mu_squared, none = _ZERO, _ZERO, Pure(_ZERO)
    for times, whole in parts:
        for inner, part in whole.parts if isinstance(whole, Composition) else ((1, whole),):
            count = times * inner
            match part:
                case NonPrivate():
                    return part
                case Zcdp():
                    rho += count * part.rho
                case GaussianLoss():
                    mu_squared += count * part.mu_squared
                case _ if part != none:
                    counts[part] = counts.get(part, 0) + count
                case _:
                    pass
    merged: list[tuple[int, Loss]] = [(count, part) for part, count in counts.items()]
    merged += [(1, Zcdp(rho))] if rho else []
    merged += [(1, GaussianLoss(mu_squared))] if mu_squared else []
    merged.sort(key=repr)
    if not merged:
        return none
    return merged[0][1] if len(merged) == 1 and merged[0][0] == 1 else Composition(tuple(merged))
