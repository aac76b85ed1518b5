"""Which way to name private keys names the smallest groups: told from public facts, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.neighbours import Neighbours
from discreet.dp.noisy_keys import NoisyKeys
from discreet.dp.partition_selection import PartitionSelection
from discreet.dp.rational import Number, probability
from discreet.errors import InvalidParameter

_WHY = {
    "optimal": "no rule for a single key keeps more at its epsilon and delta, and no number is told",
    "laplace": "one unit moves few counts, so that noise in proportion to their number is the least",
    "gaussian": "one unit moves many counts, and normal noise grows only with the square root of their number",
}


@dataclass(frozen=True, slots=True)
class PartitionOffer:
    """One way to name keys, and from how many units on a key is named all but surely."""

    method: str
    mechanism: PartitionSelection | NoisyKeys
    sure_count: int

    @property
    def reason(self) -> str:
        """Why it would be the best."""
        return _WHY[self.method]


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    """All offers, that which names the smallest groups first; prints as a table with the reason."""

    failure_probability: Fraction
    offers: tuple[PartitionOffer, ...]

    @property
    def best(self) -> PartitionOffer:
        """The offer that names the smallest groups."""
        return self.offers[0]

    def __str__(self) -> str:
        head = f"a key is named with probability {float(1 - self.failure_probability):g} from so many units on"
        lines = [f"{offer.method:<12}{offer.sure_count:>8}" for offer in self.offers]
        return "\n".join([head, *lines, f"{self.best.method}: {self.best.reason}"])


def best_partition_selection(
    *,
    groups: int,
    neighbours: Neighbours,
    delta: Number,
    epsilon: Number | None = None,
    rho: Number | None = None,
    counts: bool,
    failure_probability: Number = Fraction(1, 20),
) -> PartitionChoice:
    """Return the offers for one price; `counts` says whether numbers of units are wanted beside the keys.

    >>> from discreet import dp
    >>> facts = dict(neighbours=dp.Neighbours.ADD_REMOVE, epsilon=1, delta=1e-9)
    >>> [best_partition_selection(groups=m, counts=True, **facts).best.method for m in (1, 2, 10)]
    ['laplace', 'laplace', 'gaussian']
    >>> print(best_partition_selection(groups=1, counts=False, **facts))
    a key is named with probability 0.95 from so many units on
    optimal           23
    laplace           24
    gaussian          44
    optimal: no rule for a single key keeps more at its epsilon and delta, and no number is told
    """
    share = probability(failure_probability, "failure_probability")
    if not isinstance(counts, bool):
        raise InvalidParameter("counts says whether numbers are wanted beside the keys: True or False.")
    price = {"groups": groups, "neighbours": neighbours, "delta": delta, "epsilon": epsilon, "rho": rho}
    ways: dict[str, PartitionSelection | NoisyKeys] = {} if counts else {"optimal": PartitionSelection(**price)}  # type: ignore[arg-type]
    ways["laplace"] = NoisyKeys(noise="laplace", **price)  # type: ignore[arg-type]
    ways["gaussian"] = NoisyKeys(noise="gaussian", **price)  # type: ignore[arg-type]
    offers = [PartitionOffer(name, way, way.sure_count(failure_probability=share)) for name, way in ways.items()]
    return PartitionChoice(share, tuple(sorted(offers, key=lambda offer: offer.sure_count)))
