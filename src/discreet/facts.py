"""What an answer knows beside its numbers: from the question, the mechanisms that were used, and the budget."""

from __future__ import annotations

from discreet import dp
from discreet.answer import Facts
from discreet.engine.bound import BoundedQuery
from discreet.engine.combined import Averaged
from discreet.engine.plan import Distinct, MeanOf, Present, Released, Rows, SpreadOf, Units
from discreet.engine.purchase import Purchase
from discreet.engine.released import Numbers, Release


def facts_of(query: BoundedQuery, release: Release, budget: dp.Budget, *, bought: Purchase | None) -> Facts:
    """Return the facts of an answer; `bought` is the purchase that made the release, None if it was stored before."""
    counts, quotients = set(), set()
    for output in query.plan.outputs:
        match output.formula:
            case Released(measure):
                if isinstance(query.measures[measure].measure, Rows | Present | Units | Distinct):
                    counts.add(output.name)
            case MeanOf() | SpreadOf():
                quotients.add(output.name)
    return Facts(
        used=tuple(dict.fromkeys([*_mechanisms(release, bought), query.form, _filter(budget)])),
        counts=frozenset(counts),
        quotients=frozenset(quotients),
        names_keys=query.is_private,
    )


def _mechanisms(release: Release, bought: Purchase | None) -> list[str]:
    """Return the names of the mechanisms that made a release, those that named its keys first."""
    found: list[str] = []
    if release.keys is not None and bought is not None:
        found.append(type(bought.naming).__name__)
    elif release.keys is not None:  # its bytes do not say which of the two it was
        found += ["PartitionSelection", "NoisyKeys"]
    for part in release.parts:
        if isinstance(part, Numbers) and isinstance(part.noise, Averaged):
            found += ["Averaged", *(type(noise).__name__ for noise, _ in part.noise.draws)]
        elif isinstance(part, Numbers):
            found.append(type(part.noise).__name__)
        else:
            found += ["QuantileTree", type(part.tree.noise).__name__]
    return found


def _filter(budget: dp.Budget) -> str:
    """Return the theorem by which the losses of adaptive questions add up."""
    if budget.is_pure:
        return "pure filter"
    return "zCDP filter" if budget.rho is not None else "Renyi filter"
