"""A private value closed together with its smooth bound, and the exact numbers that both are made of."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.dp.neighbours import Neighbours
from discreet.dp.private import Closed
from discreet.dp.rational import Number, positive
from discreet.errors import InvalidParameter

Real = int | float | Fraction
"""A number of the data: a float is the binary number that it holds."""


def real(value: Real, name: str) -> Fraction:
    """Return the exact number that a value of the data is, refused if it is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise InvalidParameter(f"{name} is a number: an int, a float or a Fraction.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"{name} is finite: replace missing values and clamp to public bounds first.")
    return Fraction(value)


@runtime_checkable
class Smooth(Protocol):
    """A bound that says with which beta and for which relation it is smooth, as those of `dp.smooth_sensitivity` do."""

    beta: Fraction
    neighbours: Neighbours


def smooth_bound(value: Real) -> Fraction:
    """Return a smooth bound as it was given, refused if it is below 0."""
    bound = real(value, "smooth_sensitivity")
    if bound < 0:
        raise InvalidParameter("smooth_sensitivity is at least 0.")
    return bound


def check_smooth(bound: object, *, beta: Fraction, neighbours: Neighbours) -> None:
    """Refuse a bound that says it is smooth for another relation, or only with a greater beta."""
    if isinstance(bound, Smooth) and (bound.neighbours is not neighbours or bound.beta > beta):
        raise InvalidParameter(
            "the smooth bound is of another relation, or of a greater beta than this was made for; make it from them."
        )


def relation(neighbours: Neighbours) -> Neighbours:
    """Return the relation, or refuse what is none."""
    if not isinstance(neighbours, Neighbours):
        raise InvalidParameter("neighbours is dp.Neighbours.ADD_REMOVE or dp.Neighbours.REPLACE.")
    return neighbours


class SmoothExact(Closed):
    """A private value, and a smooth bound of its local sensitivity that is as private as the value.

    Guarantee: nothing but `open` of `SmoothNoise` or `ScaleBound`, with a permit, lets anything out of it. Its makers
      must ensure that between neighbours of this relation the value moves by at most the smaller of the two bounds,
      and the bound by a factor of at most exp(beta).

    >>> from discreet import dp
    >>> SmoothExact(31, smooth_sensitivity=2, beta="0.1", neighbours=dp.Neighbours.REPLACE, unit="row")
    SmoothExact(unit='row')
    """

    __slots__ = ("_smooth", "_value", "beta", "neighbours", "unit")

    _value: Fraction
    _smooth: Fraction
    beta: Fraction
    neighbours: Neighbours
    unit: str

    def __init__(
        self, value: Real, *, smooth_sensitivity: Real, beta: Number, neighbours: Neighbours, unit: str
    ) -> None:
        for name, part in (
            ("_value", real(value, "value")),
            ("_smooth", smooth_bound(smooth_sensitivity)),
            ("beta", positive(beta, "beta")),
            ("neighbours", relation(neighbours)),
            ("unit", unit),
        ):
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        return f"SmoothExact(unit={self.unit!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:  # what browses an object by its names does not come upon the value
        return ["beta", "neighbours", "unit"]
