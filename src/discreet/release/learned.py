"""What a model was learned from, as its file holds it, and back: no part of a file is believed before a look at it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.dp.gaussian import short_up
from discreet.dp.gaussian_curve import GaussianLoss
from discreet.dp.loss import Loss, Zcdp
from discreet.dp.universe import Universe
from discreet.errors import NotSupported
from discreet.release.factored import FactoredModel
from discreet.release.mixture_fit import Found
from discreet.release.query import Array
from discreet.release.synthesized import Distance, SynthesizedModel

Axes: TypeAlias = tuple[int, ...]
Json: TypeAlias = dict[str, Any]
Reals: TypeAlias = NDArray[np.float64]

_MOST_DIGITS = 1 << 16  # of a loss: to reduce a longer fraction takes long


def of_synthesized(model: SynthesizedModel) -> Json:
    """Return what a dense model was learned from."""
    distances = {axes: (one.value, one.sigma) for axes, one in model.distances.items()}
    return {
        "loss": _written(model.loss), "reason": model.reason, "interrupted": bool(model.interrupted),
        "missed": _listed({axes: (value,) for axes, value in model.missed.items()}), "distances": _listed(distances),
    }  # fmt: skip


def synthesized(universe: Universe, cells: Reals, told: Json) -> SynthesizedModel:
    """Return the dense model of cells and of what `of_synthesized` returned."""
    distances = {axes: Distance(value, sigma) for axes, (value, sigma) in _sets(told["distances"], universe).items()}
    missed = {axes: value for axes, (value,) in _sets(told["missed"], universe).items()}
    _look(type(told["reason"]) is str and type(told["interrupted"]) is bool)
    _look(all(one.sigma > 0 for one in distances.values()) and min(missed.values(), default=0.0) >= 0)
    return SynthesizedModel(
        universe, cells, loss=_read(told["loss"]), reason=told["reason"], missed=missed,
        interrupted=told["interrupted"], distances=distances,
    )  # fmt: skip


def of_factored(model: FactoredModel) -> Json:
    """Return what a mixture was learned from, but for the arrays."""
    missed = _listed({axes: (value,) for axes, value in model.missed.items()})
    return {
        "loss": _written(model.loss), "misfit": float(model.misfit), "missed": missed, "interrupted": model.interrupted,
    }  # fmt: skip


def factored(universe: Universe, arrays: Mapping[str, Array], told: Json) -> FactoredModel:
    """Return the mixture of arrays and of what `of_factored` returned."""
    ends, misfit, grids = np.cumsum(universe.shape)[:-1], told["misfit"], arrays["grids"]
    missed = {axes: value for axes, (value,) in _sets(told["missed"], universe).items()}
    _look(type(told["interrupted"]) is bool and type(misfit) is float and misfit >= 0)
    _look(min(missed.values(), default=0.0) >= 0)
    _look(grids.ndim == 2 and len(grids) > 0 and grids.dtype == np.int64 and bool(np.isfinite(arrays["columns"]).all()))
    _look(all(len(axes) <= len(grids) and all((axis,) in missed for axis in axes) for axes in missed))
    levels = [tuple(np.split(grid, ends)) for grid in grids]
    columns = np.split(arrays["columns"], ends)
    for grid in (*levels, columns):
        _look(tuple(len(part) for part in grid) == universe.shape)
    for numbers in (np.unique(groups) for grid in levels for groups in grid):  # without a gap
        _look(np.array_equal(numbers, np.arange(len(numbers))))
    _look(all(shares.dtype == np.float64 and shares.min() > 0 for shares in columns))
    found = Found(arrays["weights"], np.split(arrays["shares"], ends, axis=1), misfit)
    return FactoredModel(
        universe, float(arrays["rows"]), found, loss=_read(told["loss"]), missed=missed,
        interrupted=told["interrupted"], grids=levels, columns=columns,
    )  # fmt: skip


def _written(loss: Loss) -> Json:
    """Return a loss as a plan states it; one that has too many digits is rounded up."""
    match loss:
        case GaussianLoss(square):
            return {"gaussian": _hexadecimal(square)}
        case Zcdp(rho):
            return {"zcdp": _hexadecimal(rho)}
        case _:
            raise NotSupported("a model is saved with the loss of a plan that made it: that is Gaussian, or zCDP.")


def _read(told: Json) -> Loss:
    ((kind, (above, below)),) = told.items()
    _look(len(above) <= _MOST_DIGITS and len(below) <= _MOST_DIGITS)
    denominator = int(below, 16)
    _look(denominator > 0)
    return {"gaussian": GaussianLoss, "zcdp": Zcdp}[kind](Fraction(int(above, 16), denominator))


def _hexadecimal(value: Fraction) -> list[str]:
    """Return two whole numbers in hexadecimal digits, which are read in no more time than they are long."""
    digits = [f"{value.numerator:x}", f"{value.denominator:x}"]
    return digits if max(len(part) for part in digits) <= _MOST_DIGITS else _hexadecimal(short_up(value))


def _listed(sets: Mapping[Axes, tuple[float, ...]]) -> list[Any]:
    return [[list(axes), [float(number) for number in numbers]] for axes, numbers in sets.items()]


def _sets(listed: Any, universe: Universe) -> dict[Axes, list[float]]:
    """Return finite numbers for each set of columns."""
    found = {}
    for axes, numbers in listed:
        _look(all(type(axis) is int and 0 <= axis < len(universe.shape) for axis in axes))
        _look(axes == sorted(set(axes)) and all(type(number) is float and math.isfinite(number) for number in numbers))
        found[tuple(axes)] = numbers
    return found


def _look(fits: bool) -> None:
    if not fits:
        raise ValueError("a part of the file is not what was written")
