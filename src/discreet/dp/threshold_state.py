"""What a logistic threshold test writes down: public parameters and the number of hits, as versioned bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from discreet.dp.neighbours import Neighbours
from discreet.dp.rational import rational
from discreet.dp.sensitivity import Sensitivity
from discreet.errors import InvalidParameter

_KIND, _VERSION = "discreet.dp.ThresholdTest", 1
_NO_STATE = "this is no state of a ThresholdTest, or one of another version; resume what state() returned."


@dataclass(frozen=True, slots=True)
class ThresholdState:
    """Everything a threshold test needs to go on; nothing in it depends on a row but through published answers."""

    threshold: Fraction
    slope: Fraction
    step: Fraction
    sensitivity: Sensitivity
    cutoff: int | None
    hits: int

    def to_bytes(self) -> bytes:
        """Return the state as versioned bytes."""
        s = self.sensitivity
        content = {
            "kind": _KIND,
            "version": _VERSION,
            "threshold": str(self.threshold),
            "slope": str(self.slope),
            "step": str(self.step),
            "l1": None if s.l1 is None else str(s.l1),
            "l2": str(s.l2),
            "linf": str(s.linf),
            "neighbours": s.neighbours.name,
            "cutoff": self.cutoff,
            "hits": self.hits,
        }
        return json.dumps(content, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, state: bytes) -> ThresholdState:
        """Return the state that was written, or refuse what is not one of this version."""
        try:
            content: dict[str, str | int | None] = json.loads(state)
            if content["kind"] != _KIND or content["version"] != _VERSION:
                raise InvalidParameter(_NO_STATE)
            one = None if content["l1"] is None else _exact(content["l1"])
            two, most = _exact(content["l2"]), _exact(content["linf"])
            related = Neighbours[str(content["neighbours"])]
            cutoff = None if content["cutoff"] is None else _count(content["cutoff"])
            return cls(
                threshold=_exact(content["threshold"]),
                slope=_exact(content["slope"]),
                step=_exact(content["step"]),
                sensitivity=Sensitivity(l1=one, l2=two, linf=most, neighbours=related),
                cutoff=cutoff,
                hits=_count(content["hits"]),
            )
        except (KeyError, TypeError, ValueError):
            raise InvalidParameter(_NO_STATE) from None


def _exact(value: str | int | None) -> Fraction:
    if not isinstance(value, str):
        raise TypeError
    return rational(value, "state")


def _count(value: str | int | None) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value
