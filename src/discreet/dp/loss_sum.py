"""The sum of losses that were fixed in advance: each question about it is answered by the tightest theorem.

Equal currencies add exactly. Otherwise a step with a delta is a mixture: with that chance everything is lost. Where no
delta strikes, the least is taken of: the sum of epsilons; the sum of Renyi curves; and the law of the privacy loss
itself, where the worst release of every part is known. `composition.py` has each theorem by its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Approximate, Bound, BoundedRange, Loss, NonPrivate, Pure, Zcdp
from discreet.dp.numeric_composition import MOST_EPSILON, LossLaw, below
from discreet.dp.pure_composition import Responses
from discreet.dp.reals import ball, upper
from discreet.dp.renyi import delta_of_renyi, epsilon_of_renyi
from discreet.errors import InvalidParameter

_ZERO = Fraction(0)
_FEW_OUTCOMES = 4096  # of pure releases: as quick by enumeration, which is exact, as by numbers


@dataclass(frozen=True, slots=True)
class LossSum(Loss):
    """Several losses fixed in advance, equal ones counted together."""

    parts: tuple[tuple[int, Loss], ...]

    def delta_bound(self, epsilon: Fraction) -> Bound:
        """Return the least of the theorems that apply: sums of epsilons and of deltas, and Renyi curves."""
        pure, lost, rest = self._split()
        law, found = self._kept_law(), list[Bound]()
        if isinstance(law, Responses):
            found.append(law.delta(epsilon))
        elif law is not None:
            found.append(Fraction(law.delta(epsilon=below(epsilon))))
        if law is None or self._has_range():
            found.append(delta_of_renyi(self._kept_renyi, epsilon))
        if not rest:
            found.append(Pure(pure).delta_bound(epsilon))
        elif len(rest) == 1 and epsilon >= pure:
            found.append(rest[0].delta_bound(epsilon - pure))
        return lost + (1 - lost) * Fraction(min(found))

    def epsilon_bound(self, delta: Fraction) -> Bound:
        """Return the least of the theorems that apply."""
        pure, lost, rest = self._split()
        if delta < lost:
            return math.inf
        kept = (delta - lost) / (1 - lost)
        law, found = self._kept_law(), list[Bound]()
        if isinstance(law, Responses):
            found += [law.epsilon(kept)] if kept else []
        elif law is not None and below(kept) > 0:
            found.append(_exactly(law.epsilon(delta=below(kept))))
        if law is None or self._has_range():
            found.append(epsilon_of_renyi(self._kept_renyi, kept))
        if not rest:
            found.append(Pure(pure).epsilon_bound(kept))
        elif len(rest) == 1:
            found.append(pure + rest[0].epsilon_bound(kept))
        return min(found, default=math.inf)

    def _has_range(self) -> bool:
        """Return whether a part has a Renyi curve below that of its worst pure release."""
        return any(isinstance(part, BoundedRange) for _, part in self.parts)

    def law(self) -> LossLaw | None:
        """Return the law of the privacy loss of the worst such releases; None where a part does not say which it is."""
        known = self._worst()
        return None if known is None else LossLaw(*known, lost=self._split()[1])

    def _kept_law(self) -> LossLaw | Responses | None:
        """Return that law given that no delta strikes: exactly, where it has few values."""
        known = self._worst()
        if known is None:
            return None
        exact = Responses(known[0])
        return exact if not known[1] and exact.outcomes <= _FEW_OUTCOMES else LossLaw(*known)

    def _worst(self) -> tuple[tuple[tuple[int, Fraction], ...], Fraction] | None:
        """Return the pure and the normal releases that are the worst of these losses, where these are known."""
        epsilons: list[tuple[int, Fraction]] = []
        mu_squared = _ZERO
        for count, part in self.parts:
            match part:
                case Pure(epsilon) | BoundedRange(epsilon) | Approximate(epsilon, _):
                    epsilons.append((count, epsilon))
                case GaussianLoss(mu_squared_of_part):
                    mu_squared += count * mu_squared_of_part
                case _:
                    return None
        if max((e for _, e in epsilons), default=_ZERO) > MOST_EPSILON or mu_squared > MOST_EPSILON:
            return None
        return tuple((count, e) for count, e in epsilons if e), mu_squared

    def renyi(self, order: Fraction) -> Bound:
        """Return the sum of the curves."""
        return sum((count * part.renyi(order) for count, part in self.parts), start=_ZERO)

    def rho_bound(self) -> Bound:
        """Return the sum of rho."""
        return sum((count * part.rho_bound() for count, part in self.parts), start=_ZERO)

    @property
    def instead(self) -> str:
        """What to use where a budget cannot admit one of the parts at any price."""
        return next((part.instead for _, part in self.parts if part.instead), "")

    def group(self, k: int) -> Loss:
        """Return the composition of the groups."""
        return summed([(count, part.group(k)) for count, part in self.parts])

    def _split(self) -> tuple[Fraction, Fraction, list[Loss]]:
        """Return the sum of epsilons, the chance that some delta strikes, and the parts that have neither."""
        pure, deltas, rest = _ZERO, list[tuple[int, Fraction]](), list[Loss]()
        for count, part in self.parts:
            match part:
                case Pure(epsilon) | BoundedRange(epsilon):
                    pure += count * epsilon
                case Approximate(epsilon, delta):
                    pure += count * epsilon
                    deltas.append((count, delta))
                case _:
                    rest += [part] * min(count, 2)
        return pure, _any_of(deltas), rest

    def _kept_renyi(self, order: Fraction) -> Bound:
        """Return the Renyi curve given that no delta strikes: each step is a mixture of anything and a pure part."""
        return sum(
            (
                count * (Pure(part.base_epsilon) if isinstance(part, Approximate) else part).renyi(order)
                for count, part in self.parts
            ),
            start=_ZERO,
        )


def _any_of(deltas: list[tuple[int, Fraction]]) -> Fraction:
    """Return a rational at least the chance that one of independent events occurs, exact for a single one."""
    total = sum((count * delta for count, delta in deltas), start=_ZERO)
    if sum(count for count, _ in deltas) <= 1:
        return total
    kept = [(count, 1 - delta) for count, delta in deltas]
    some = upper(lambda: -sum((count * ball(k).log() for count, k in kept), start=ball(0)).expm1())
    return min(total, some, Fraction(1))


def summed(parts: Iterable[tuple[int, Loss]]) -> Loss:
    """Return the composition of losses fixed in advance, with equal currencies merged where that loses nothing."""
    counts: dict[Loss, int] = {}
    rho, mu_squared, none = _ZERO, _ZERO, Pure(_ZERO)
    for times, whole in parts:
        if not isinstance(whole, Loss):
            raise InvalidParameter("only a dp.Loss is composed; the Charge that a PrivacyFilter keeps is not one.")
        for inner, part in whole.parts if isinstance(whole, LossSum) else ((1, whole),):
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
    return merged[0][1] if len(merged) == 1 and merged[0][0] == 1 else LossSum(tuple(merged))


def _exactly(value: float) -> Bound:
    return Fraction(value) if math.isfinite(value) else value
