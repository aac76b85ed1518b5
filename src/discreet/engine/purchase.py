"""What a question buys: a mechanism for its private keys, if it has any, and one for each measure.

| part            | budget in epsilon        | budget with a delta, or in rho                       |
|-----------------|--------------------------|------------------------------------------------------|
| counts and sums | Laplace noise            | Laplace or normal noise, whichever has the less error |
| a histogram     | a tree of Laplace noise  | a tree of normal noise                               |
| private keys    | refused                  | the rule that names the smallest groups              |

The names of keys take an even part of what is offered; the measures share the rest by need (`need.py`). Losses add up:
epsilons in a budget in epsilon, and otherwise the charges in the currency of the budget. A question for an error,
`within=` or `relative=`, buys for each measure the least that has it (`promise.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias, TypeVar

from discreet import dp
from discreet.dp.loss_sum import summed
from discreet.dp.partition_choice import best_partition_selection
from discreet.dp.quantile_tree import Ordered
from discreet.dp.rational import quantise_up
from discreet.dp.samplers import GREATEST_SCALE, LEAST_SCALE
from discreet.dp.tree_choice import best_branching
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.combined import Law
from discreet.engine.need import shares
from discreet.engine.plan import Histogram
from discreet.engine.price import FAILURE, Price
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

Measuring: TypeAlias = dp.Laplace | dp.Gaussian | dp.QuantileTree
Naming: TypeAlias = dp.PartitionSelection | dp.NoisyKeys
Made = TypeVar("Made")

_BITS = 48  # of a scale that is searched for


@dataclass(frozen=True, slots=True)
class Purchase:
    """The mechanisms of a question.

    Guarantee: releasing the keys and then every measure, each by its mechanism, has at most `loss`. Its charge is the
      sum of the charges of the parts, and where a price was offered at most that price.
    """

    naming: Naming | None
    mechanisms: tuple[Measuring, ...]
    loss: dp.Loss
    charge: dp.Charge


def choose(price: Price, query: BoundedQuery, budget: dp.Budget) -> Purchase:
    """Return what a price buys, from public facts alone."""
    naming: Naming | None = None
    if not query.measures and not query.is_private:
        raise NotSupported("nothing is measured: select an aggregate, for instance COUNT(*).")
    amount = price.amount(budget)
    rest = amount
    if query.is_private:
        share = amount / (len(query.measures) + 1)
        naming, rest = _naming(share, amount / budget.cap.amount, query, budget), amount - share
    parts = shares(query, normal=not budget.is_pure) if query.measures else ()
    pairs = zip(parts, query.measures, strict=True)
    return purchased(naming, tuple(_mechanism(rest * part, measure, budget) for part, measure in pairs), budget)


def purchased(naming: Naming | None, mechanisms: tuple[Measuring, ...], budget: dp.Budget) -> Purchase:
    """Return mechanisms with their loss and charge."""
    parts = [*([naming.loss] if naming else []), *(mechanism.loss for mechanism in mechanisms)]
    if budget.is_pure:
        loss = dp.Loss.pure(epsilon=sum((_epsilon(part) for part in parts), start=Fraction(0)))
    else:
        loss = summed((1, part) for part in parts)
    charge = budget.charge(loss)
    if charge is None:
        raise NotSupported(f"this budget sells no such question. {budget.instead}")
    return Purchase(naming, mechanisms, loss, charge)


def _epsilon(loss: dp.Loss) -> Fraction:
    epsilon = loss.epsilon_bound(Fraction(0))
    assert isinstance(epsilon, Fraction)
    return epsilon


def _mechanism(share: Fraction, measure: BoundedMeasure, budget: dp.Budget) -> Measuring:
    """Return the mechanism that a share of the price buys for a measure."""
    rho = share / _order(budget)
    if isinstance(measure.measure, Histogram):
        bins = measure.measure.bins
        if bins.declared < 2:
            raise NotSupported("a quantile of a column that can hold one value only is that value.")
        arms = best_branching(bins.declared, normal=not budget.is_pure)
        epsilon, of_normal = (share, None) if budget.is_pure else (None, rho)
        return _drawn(lambda: tree(measure, bins, arms, epsilon=epsilon, rho=of_normal))
    moved = measure.sensitivity
    if budget.is_pure:
        return _drawn(lambda: dp.Laplace(sensitivity=moved, epsilon=share))
    normal = _drawn(lambda: dp.Gaussian(sensitivity=moved, rho=rho))
    laplace = _laplace(share, measure, budget)
    return normal if laplace is None or steps_off(normal, FAILURE) <= steps_off(laplace, FAILURE) else laplace


def steps_off(noise: Law, failure: Fraction) -> Fraction:
    """Return how many steps noise may be off, but for this probability."""
    return noise.accuracy(failure_probability=failure)


def tree(
    measure: BoundedMeasure, bins: Ordered, branching: int, *, epsilon: Fraction | None, rho: Fraction | None
) -> dp.QuantileTree:
    """Return the tree of a histogram at one of two prices."""
    neighbours = measure.sensitivity.neighbours
    return dp.QuantileTree(
        bins=bins, rows=measure.rows, neighbours=neighbours, branching=branching, epsilon=epsilon, rho=rho
    )


def _drawn(make: Callable[[], Made]) -> Made:
    """Return a mechanism, or say what to change where its noise cannot be drawn."""
    try:
        return make()
    except InvalidParameter:
        raise InvalidParameter(
            "noise at this price cannot be drawn: a scale lies between 1/45 and 2^52 steps of what is summed. Offer "
            "more if the price is small, less if it is large; or declare a coarser step, or tighter bounds."
        ) from None


def _order(budget: dp.Budget) -> Fraction:
    """Return what a rho of 1 is charged."""
    charge = None if budget.is_pure else budget.charge(dp.Loss.zcdp(rho=1))
    return Fraction(1) if charge is None else charge.amount


def _laplace(share: Fraction, measure: BoundedMeasure, budget: dp.Budget) -> dp.Laplace | None:
    """Return Laplace noise of this charge, or None where normal noise is nearer for sure: at all but high prices.

    Floats look for it; its charge is then compared exactly.
    """
    moved, order = measure.sensitivity, _order(budget)
    assert moved.l1 is not None
    a, most = float(order), float(share)
    low, high = 0.0, 2.0 * most + 4.0 * math.sqrt(most)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _charge(middle, a, budget.rho is not None) <= most else (low, middle)
    if not low or float(moved.l1) * math.log(20) / low > 2 + 2 * float(moved.l2) * math.sqrt(a / (2 * most)):
        return None
    epsilon = Fraction(math.floor(low * (1 - 1e-9) * 2**_BITS), 2**_BITS)
    if epsilon <= 0:
        return None
    charge = budget.charge(dp.Loss.pure(epsilon=epsilon))
    if charge is None or charge.amount > share or not LEAST_SCALE <= moved.l1 / epsilon <= GREATEST_SCALE:
        return None
    return dp.Laplace(sensitivity=moved, epsilon=epsilon)


def _charge(epsilon: float, order: float, in_rho: bool) -> float:
    """Return about what a budget charges for a pure epsilon."""
    if in_rho:
        return epsilon**2 / 2
    top = order * epsilon
    if order <= 1 or top > 500:
        return epsilon
    spread = math.log((math.exp(top) + math.exp((1 - order) * epsilon)) / (1 + math.exp(epsilon)))
    return min(epsilon, order * epsilon**2 / 2, spread / (order - 1))


def _naming(share: Fraction, part: Fraction, query: BoundedQuery, budget: dp.Budget) -> Naming:
    """Return the rule that names private keys for a share of the price, and the same part of `delta_add`."""
    if not budget.delta_add:
        raise NeedsDeclaration(
            "private keys need a budget with delta and delta_add: dc.Budget(epsilon=1, delta=1e-9, delta_add=5e-10). "
            "Or group by columns whose values are declared."
        )
    delta = -quantise_up(-budget.delta_add * min(part, Fraction(1)))
    return _best_naming(query.bounds.groups, query.neighbours, delta, share / _order(budget))


@lru_cache(maxsize=32)
def _best_naming(groups: int, neighbours: dp.Neighbours, delta: Fraction, rho: Fraction) -> Naming:
    try:
        choice = best_partition_selection(groups=groups, neighbours=neighbours, delta=delta, rho=rho, counts=False)
    except InvalidParameter:
        raise InvalidParameter(
            f"this price is too small to name keys of which one person is in {groups:,}: offer more, or ask with "
            "fewer groups_per_unit=."
        ) from None
    return choice.best.mechanism
