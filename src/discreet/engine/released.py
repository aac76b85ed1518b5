"""What was released of a question: noisy integers, trees and named keys, and their bytes in the ledger.

It is what every wording of the question has in common. Whatever is shown is computed from it (`derive.py`), is free,
and depends on nothing else but public facts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet import dp
from discreet.dp.exact_keys import Key
from discreet.dp.grid import Reals
from discreet.dp.inversion import Integers
from discreet.dp.quantile_trees import open_trees
from discreet.engine.backend import Groups, PublicGroups
from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.combined import Averaged, Law, Noise
from discreet.engine.plan import Histogram
from discreet.engine.price import FAILURE
from discreet.engine.purchase import Measuring, Purchase, steps_off, tree
from discreet.errors import NotSupported
from discreet.steps import reached

_FORMAT = 3


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """One noisy integer for every group; each stands for so many `step`."""

    values: Integers
    step: Fraction
    noise: Law

    def error(self, failure_probability: Fraction) -> Fraction:
        """Return how far off each number may be, but for this probability."""
        return steps_off(self.noise, failure_probability) * self.step


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """One noisy number of rows for every group and bin, of one tree for each group."""

    counts: Reals
    tree: dp.QuantileTree


Part: TypeAlias = Numbers | Bins


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Everything that was released of a question, in the order of its groups and measures.

    Guarantee: the output of the mechanisms of a purchase, and nothing else.
    """

    keys: tuple[Key, ...] | None  # None: all declared groups
    parts: tuple[Part, ...]
    amount: Fraction  # that was charged for all that it is made of, in the currency of the budget

    @property
    def groups(self) -> int:
        """How many groups it has."""
        if self.keys is not None:
            return len(self.keys)
        part = self.parts[0]
        return len(part.values) if isinstance(part, Numbers) else len(part.counts)

    def is_as_good_as(self, purchase: Purchase) -> bool:
        """Return whether every part of it is at least as accurate as what would be bought."""
        if purchase.naming is not None and self.amount < purchase.charge.amount:
            return False
        pairs = zip(self.parts, purchase.mechanisms, strict=True)
        return all(_scale(part) <= _scale_of(mechanism) for part, mechanism in pairs)

    @staticmethod
    def blank(query: BoundedQuery, purchase: Purchase) -> Release:
        """Return one group of zeros with the noise of a purchase: it shows whether everything can be derived."""
        key = tuple("" if key.is_private else 0 for key in query.plan.keys)
        parts: list[Part] = []
        for of, mechanism in zip(query.measures, purchase.mechanisms, strict=True):
            if isinstance(mechanism, dp.QuantileTree):
                parts.append(Bins(np.zeros((1, mechanism.branching**mechanism.levels)), mechanism))
            else:
                parts.append(Numbers(np.zeros(1, dtype=np.int64), of.step, mechanism))
        return Release((key,) if key else None, tuple(parts), Fraction(0))

    def to_bytes(self) -> bytes:
        """Return it as canonical JSON."""
        fields = {
            "format": _FORMAT,
            "amount": str(self.amount),
            "keys": None if self.keys is None else [list(key) if isinstance(key, tuple) else key for key in self.keys],
            "parts": [_written(part) for part in self.parts],
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @staticmethod
    def from_bytes(data: bytes, query: BoundedQuery) -> Release:
        """Return what was stored of this question."""
        fields = json.loads(data)
        if fields.get("format") != _FORMAT:
            raise NotSupported("this answer was stored by another version of discreet; read it with that one.")
        keys = fields["keys"]
        named = None if keys is None else tuple(tuple(key) if isinstance(key, list) else key for key in keys)
        parts = tuple(_read(part, of) for part, of in zip(fields["parts"], query.measures, strict=True))
        return Release(named, parts, Fraction(fields["amount"]))


def best_of(releases: Sequence[Release]) -> Release | None:
    """Return the release that most was paid for, the first of equals; None of none."""
    return max(releases, key=lambda release: release.amount, default=None)


def opened(groups: Groups, purchase: Purchase, query: BoundedQuery, permit: dp.Permit) -> Release:
    """Release what an engine found: the only place of the engine where a private value is opened.

    Guarantee: each mechanism takes its own loss from the permit before it reads; keys are named first, and values are
      asked for those that were named alone.
    """
    keys: tuple[Key, ...] | None = None
    if isinstance(groups, PublicGroups):
        exacts = groups.measures
    else:
        assert purchase.naming is not None
        keys = tuple(purchase.naming.open(groups.keys, permit))
        reached("release: after the keys were named")
        exacts = groups.select(keys)
    pairs = zip(exacts, purchase.mechanisms, query.measures, strict=True)
    parts = tuple(_opened(exact, mechanism, of, permit) for exact, mechanism, of in pairs)
    return Release(keys, parts, permit.reserved.amount)


def _opened(exact: dp.Exact, mechanism: Measuring, of: BoundedMeasure, permit: dp.Permit) -> Part:
    if isinstance(mechanism, dp.QuantileTree):
        opened: Part = Bins(open_trees(mechanism, exact, permit), mechanism)
    else:
        values = np.asarray(mechanism.open(exact, permit), dtype=np.int64).reshape(-1)
        opened = Numbers(values, of.step, mechanism)
    reached("release: after a measure was opened")
    return opened


def _scale(part: Part) -> Fraction:
    return _scale_of(part.noise if isinstance(part, Numbers) else part.tree)


def _scale_of(mechanism: Law | dp.QuantileTree) -> Fraction:
    """Return what says which of two releases of one measure is the more accurate."""
    if isinstance(mechanism, dp.QuantileTree):
        mechanism = mechanism.noise
    return steps_off(mechanism, FAILURE)


def _written(part: Part) -> Mapping[str, Any]:
    if isinstance(part, Bins):
        noise = part.tree.noise
        price = ["epsilon", noise.epsilon] if isinstance(noise, dp.Laplace) else ["rho", noise.loss.rho_bound()]
        return {"tree": part.tree.branching, "price": list(map(str, price)), "counts": part.counts.tolist()}
    return {"noise": _laws(part.noise), "values": part.values.tolist()}


def _laws(noise: Law) -> list[list[str]]:
    """Return each draw that a number is averaged from: its law, its scale and its weight."""
    draws = noise.draws if isinstance(noise, Averaged) else ((noise, Fraction(1)),)
    return [[*_law(draw), str(weight)] for draw, weight in draws]


def _law(noise: Noise) -> tuple[str, str]:
    return ("laplace", str(noise.scale)) if isinstance(noise, dp.Laplace) else ("normal", str(noise.sigma))


def _read(part: Mapping[str, Any], of: BoundedMeasure) -> Part:
    if isinstance(of.measure, Histogram):
        currency, price = part["price"][0], Fraction(part["price"][1])
        epsilon, rho = (price, None) if currency == "epsilon" else (None, price)
        grown = tree(of, of.measure.bins, part["tree"], epsilon=epsilon, rho=rho)
        return Bins(np.array(part["counts"], dtype=np.float64).reshape(-1, grown.branching**grown.levels), grown)
    draws = tuple((_drawn(law, scale, of), Fraction(weight)) for law, scale, weight in part["noise"])
    noise = draws[0][0] if len(draws) == 1 else Averaged(draws)
    return Numbers(np.array(part["values"], dtype=np.int64), of.step, noise)


def _drawn(law: str, scale: str, of: BoundedMeasure) -> Noise:
    if law == "laplace":
        return dp.Laplace(sensitivity=of.sensitivity, scale=Fraction(scale))
    return dp.Gaussian(sensitivity=of.sensitivity, sigma=Fraction(scale))
