"""Private group keys with the number of units in each: closed, because a key alone can tell who is in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.grid import is_real, numbers
from discreet.dp.inversion import Integers
from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Closed
from discreet.dp.rational import positive_integer
from discreet.dp.smooth_exact import relation
from discreet.errors import InvalidParameter

Key: TypeAlias = str | int | tuple[str | int, ...]
Array = NDArray[np.str_] | NDArray[np.int64]
Keys = Sequence[str] | Sequence[int] | Sequence[Key] | Array
Counts = Sequence[int] | Integers

_MOST = 1 << 62  # counts above it are that: no table has as many units
_UNFIT = "keys are all text, all whole numbers, or all tuples of the same kinds of these, and no key comes twice."


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Keyed:
    """Different keys in any order, and how many units each has. It does not print."""

    keys: Array | list[Key]
    counts: Integers

    @classmethod
    def of(cls, keys: Keys, counts: Counts) -> Keyed:
        """Return keys with their counts, or refuse what cannot be sorted or counted, in words that name none."""
        listed = keys if isinstance(keys, np.ndarray) and keys.dtype.kind in "iuU" and keys.ndim == 1 else _list(keys)
        if _has_repeats(listed):
            raise InvalidParameter(_UNFIT)
        found = numbers(counts)
        if found.shape != (len(listed),) or (found.size and (is_real(found) or found.min() < 0)):
            raise InvalidParameter("counts has a whole number of units of at least 0 for each key.")
        return cls(listed, np.minimum(found, _MOST).astype(np.int64))

    def sorted(self, kept: NDArray[np.bool_]) -> tuple[list[Key], NDArray[np.intp]]:
        """Return the keys that are kept, sorted, and where they stood: an order that the table has no part in."""
        places, keys = np.flatnonzero(kept), self.keys
        if isinstance(keys, list):
            ranked = sorted(places.tolist(), key=keys.__getitem__)
            return [keys[i] for i in ranked], np.array(ranked, dtype=np.intp)
        places = places[np.argsort(keys[places])]
        return keys[places].tolist(), places

    def __repr__(self) -> str:
        return "Keyed()"


def _list(keys: Keys) -> list[Key]:
    listed = getattr(keys, "tolist", None)  # arrays of objects, and the columns of data frames
    plain = listed() if callable(listed) else keys
    if isinstance(plain, str) or not isinstance(plain, Sequence):
        raise InvalidParameter(_UNFIT)
    kinds = set(map(_kind, plain))
    if len(kinds) > 1 or None in kinds:
        raise InvalidParameter(_UNFIT)
    return list(plain)


def _kind(key: object) -> object:
    """Return what has to be the same for two keys to be in an order; None for what is no key."""
    if type(key) in (str, int):
        return type(key)
    if isinstance(key, tuple) and key and all(type(part) in (str, int) for part in key):
        return tuple(map(type, key))
    return None


def _has_repeats(listed: Array | list[Key]) -> bool:
    if isinstance(listed, list) or listed.dtype.kind == "U":
        return len(set(listed if isinstance(listed, list) else listed.tolist())) < len(listed)
    ranked = np.sort(listed)
    return bool((ranked[1:] == ranked[:-1]).any())


class ExactKeys(Closed):
    """Private group keys and their numbers of distinct units, where a unit is in at most `groups` of them.

    Guarantee: nothing but `open` of `PartitionSelection` or `NoisyKeys`, with a permit, lets a key, a count or the
      number of keys out of it. Its makers must ensure that a unit is counted at most once in a key, in at most `groups`
      keys, and that which these are depends on that unit's own rows alone.

    >>> from discreet import dp
    >>> dp.ExactKeys(["rare", "flu"], [1, 900], groups=2, neighbours=dp.Neighbours.ADD_REMOVE, unit="patient")
    ExactKeys(unit='patient')
    """

    __slots__ = ("_keyed", "groups", "neighbours", "unit")

    _keyed: Keyed
    groups: int
    neighbours: Neighbours
    unit: str

    def __init__(self, keys: Keys, counts: Counts, *, groups: int, neighbours: Neighbours, unit: str) -> None:
        for name, part in (
            ("groups", positive_integer(groups, "groups")),
            ("neighbours", relation(neighbours)),
            ("unit", unit),
            ("_keyed", Keyed.of(keys, counts)),
        ):
            object.__setattr__(self, name, part)

    @classmethod
    def of(cls, counts: Mapping[str, int], *, groups: int, neighbours: Neighbours, unit: str) -> ExactKeys:
        """Return the private keys of a mapping from key to count."""
        return cls(list(counts), list(counts.values()), groups=groups, neighbours=neighbours, unit=unit)

    def __repr__(self) -> str:
        return f"ExactKeys(unit={self.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:  # what browses an object by its names does not come upon the keys
        return ["groups", "neighbours", "unit"]
