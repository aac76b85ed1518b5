"""What an iterative construction has released, round by round: all that its model is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from hashlib import sha256

import numpy as np

from discreet.dp.rational import rational
from discreet.errors import InvalidParameter
from discreet.release.query import LinearQuery
from discreet.release.workload import Workload

_KIND, _VERSION = "discreet.release.IterativeConstruction", 1
_NO_STATE = "this is no state of this construction; resume what run.state() returned, with the same public parameters."


@dataclass(frozen=True, slots=True)
class Round:
    """One round: the query chosen, its released value, the model's answer, and whether the model was updated.

    Everything in it is public.
    """

    number: int
    query: LinearQuery
    value: Fraction
    estimate: float
    updated: bool


def digest(fact: object) -> bytes:
    """Return what tells public facts apart, the same in every process: equal for parameters that are equal."""
    match fact:
        case LinearQuery():
            return fact.key
        case np.ndarray():
            return sha256(repr((fact.dtype.str, fact.shape)).encode() + np.ascontiguousarray(fact).tobytes()).digest()
        case Workload():
            parts: Iterable[object] = (*fact.families, fact._places())
        case Mapping():
            parts = fact.items()
        case tuple():
            parts = fact
        case _ if is_dataclass(fact):
            parts = [getattr(fact, one.name) for one in fields(fact) if one.compare]
        case _:
            return sha256(repr(fact).encode()).digest()
    return sha256(type(fact).__name__.encode() + b"".join(map(digest, parts))).digest()


def to_bytes(rounds: Sequence[Round], fingerprint: str) -> bytes:
    """Return rounds as versioned bytes, with what tells the construction that they belong to, and a sum of all."""
    listed = [[r.number, r.query.key.hex(), str(r.value), r.updated] for r in rounds]
    content = {"kind": _KIND, "version": _VERSION, "construction": fingerprint, "rounds": listed}
    return json.dumps(content | {"sum": _sum(content)}, sort_keys=True).encode()


def from_bytes(state: bytes, fingerprint: str) -> list[tuple[int, str, Fraction, bool]]:
    """Return the number, the query's key, the value and the decision of each round, or refuse what is no state."""
    try:
        content = json.loads(state)
        told = content["kind"], content["version"], content["construction"]
        if told != (_KIND, _VERSION, fingerprint) or content.pop("sum") != _sum(content):
            raise InvalidParameter(_NO_STATE)
        return [_entry(*entry) for entry in content["rounds"]]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidParameter(_NO_STATE) from None


def _sum(content: Mapping[str, object]) -> str:
    """Return a check against bytes that were damaged. It keeps nobody out: a state is public, and no secret."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _entry(number: object, key: object, value: object, updated: object) -> tuple[int, str, Fraction, bool]:
    if type(number) is not int or not isinstance(key, str) or not isinstance(value, str) or type(updated) is not bool:
        raise TypeError
    return number, key, rational(value, "state"), updated


def refused() -> InvalidParameter:
    """Return what is said of a state that does not fit."""
    return InvalidParameter(_NO_STATE)
