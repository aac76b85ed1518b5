"""Where numbers live: integers as they are, real numbers on a public grid of steps of a power of two.

The step depends on the sensitivity, the scale of the noise and the number of values, all public, and never on a value.
A value is snapped to the grid before noise is added, and the noise is calibrated to the sensitivity after snapping:
each of `count` values moves by at most half a step, so a difference grows by at most one step in each coordinate.
"""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.dp.inversion import Integers
from discreet.dp.rational import Number, positive, rational
from discreet.dp.samplers import CHUNK, Sampler
from discreet.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.dp.randomness import Stream

Reals = NDArray[np.float64]

_FINENESS = 20  # snapping adds at most 2^-20 of the sensitivity, unless that would need more than
_MOST_STEPS = 48  # 2^48 steps in one scale of the noise
_SAFE = 1 << 62  # sums of two integers below it fit 64 bits


def numbers(values: ArrayLike) -> Integers | Reals:
    """Return values as an array of integers or of finite floats, or refuse them by name.

    In an array whose type somebody chose they are as they are. In a list, integers alone are clamped to 64 bits, and
    integers among real numbers to +-2^53, up to which floats hold every one: the types in a list decide, and no value.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidParameter("release refuses masked values: fill or drop them first.")
    array = values if isinstance(values, np.ndarray) else _of_a_list(values)
    whole = array.dtype.kind == "O" and all(isinstance(v, int) and not isinstance(v, bool) for v in array.ravel())
    if whole or array.dtype.kind in "iu":
        return cast(Integers, array)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:  # a wider float would be rounded before it is snapped
        raise InvalidParameter(f"release takes integers or real numbers, not {array.dtype}; convert them first.")
    if np.isnan(array).any():
        raise InvalidParameter("release refuses NaN: replace or drop missing values first.")
    if np.isinf(array).any():
        raise InvalidParameter("release refuses infinity: clamp values to public bounds first.")
    return array.astype(np.float64)


def _of_a_list(values: ArrayLike) -> Integers | Reals:
    """Return the array of a list by the types in it alone: NumPy looks at integers, and rounds some to floats."""
    array: Integers | Reals | None = None
    with suppress(ValueError):
        array = np.asarray(values)
    if array is None:
        raise InvalidParameter("release takes integers or real numbers in rows of one length.")
    if array.dtype.kind not in "fuO":
        return array
    listed = np.asarray(values, dtype=object)
    types = set(map(type, listed.ravel()))
    whole = {kind for kind in types if issubclass(kind, int | np.integer | np.bool_)}
    if not whole:
        return array
    if whole == types:
        clamped = [min(max(int(value), -(2**63)), 2**63 - 1) for value in listed.ravel()]
        return np.array(clamped, np.int64).reshape(listed.shape)
    if not all(issubclass(kind, float | np.floating) for kind in types - whole):
        return listed if isinstance(values, list | tuple) else array  # a list of other things, which is refused
    real = [min(max(int(v), -(2**53)), 2**53) if type(v) in whole else v for v in listed.ravel()]
    return np.array(real).reshape(listed.shape)


def is_real(array: Integers | Reals) -> TypeGuard[Reals]:
    """Return whether an array that `numbers` returned holds real numbers."""
    return bool(array.dtype.kind == "f")


def release_integers(values: Integers, sampler: Sampler, stream: Stream) -> Integers:
    """Return integers plus noise, exactly; a sum that leaves 64 bits is clamped to them."""
    noise = sampler.draw(stream, values.size).reshape(values.shape)
    return _added(values, noise)


def _added(values: Integers, noise: Integers) -> Integers:
    total = exact_sum(values, noise)
    if total.dtype != object or values.dtype == object:
        return total
    return np.asarray(np.clip(total, -(2**63), 2**63 - 1), dtype=np.int64)


def exact_sum(one: Integers, other: Integers) -> Integers:
    """Return the sum of two arrays of integers, as Python integers where 64 bits might not hold it."""
    wide = any(array.dtype in (object, np.uint64) for array in (one, other)) or not _fits(one, other)
    if wide:
        return np.asarray(one.astype(object) + other.astype(object))
    return one.astype(np.int64) + other


def in_steps(counts: Integers, factor: int) -> Integers:
    """Return whole numbers times a factor, as Python integers where 64 bits might not hold them."""
    most = max(abs(int(counts.max())), abs(int(counts.min()))) if counts.size else 0
    return counts * factor if counts.dtype != object and most * factor < _SAFE // 2 else counts.astype(object) * factor


def _fits(*arrays: Integers) -> bool:
    return all(a.size == 0 or (int(a.min()) > -_SAFE and int(a.max()) < _SAFE) for a in arrays)


def step_for(norm: Fraction, reach: Fraction, scale: Fraction) -> Fraction:
    """Return the power of two by which values snapped to it can move at most 2^-20 further, or 2^-48 of the scale."""
    exponent = max(_floor_log2(norm / reach) - _FINENESS, _floor_log2(scale) - _MOST_STEPS)
    step = Fraction(2) ** exponent
    if reach * step > norm:
        raise InvalidParameter(
            "so many real numbers with so little epsilon cannot share a grid; release fewer at once."
        )
    return step


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def release_real(values: Reals, step: Fraction, sampler: Sampler, stream: Stream) -> Reals:
    """Return a vector of real numbers snapped to the grid, plus noise on the grid, each as the nearest float."""
    released = np.empty(values.size)
    for start in range(0, values.size, CHUNK):
        part = values[start : start + CHUNK]
        released[start : start + CHUNK] = _release_part(part, step, sampler.draw(stream, part.size))
    return released


def release_one_real(value: float, step: Fraction, sampler: Sampler, stream: Stream) -> float:
    """Return one real number as `release_real` would."""
    return _nearest_float(sampler.added_to(_snap(value, step), stream) * step)


def _release_part(values: Reals, step: Fraction, noise: Integers) -> Reals:
    exponent = _floor_log2(step)
    with np.errstate(over="ignore", under="ignore"):
        snapped = np.rint(_times_power(values, -exponent))
    if noise.dtype != object and np.all(np.abs(snapped) < _SAFE) and _fits(noise):
        return _times_power((snapped.astype(np.int64) + noise).astype(np.float64), exponent)
    # integers of any size: a float this large is itself a multiple of the step
    total = np.array([_snap(v, step) for v in values], dtype=object) + noise.astype(object)
    return np.array([_nearest_float(int(k) * step) for k in total])


def _times_power(values: Reals, exponent: int) -> Reals:
    """Return values times 2^exponent, each the nearest float: a product where the power is a float, as it is faster."""
    return np.asarray(values * 2.0**exponent if abs(exponent) <= 1022 else np.ldexp(values, exponent))


def _snap(value: float, step: Fraction) -> int:
    return round(Fraction(value) / step)


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(sys.float_info.max, 1 if value > 0 else -1)


@dataclass(frozen=True, slots=True)
class Steps:
    """The public grid of a stream of values: the integers, or the multiples of a power of two.

    Guarantee: on the integers nothing is rounded, and real numbers are refused; on any other grid a value moves by at
      most half a step when it is snapped, so that two values that are D apart are at most D + one step apart.
    """

    step: Fraction

    @classmethod
    def of(cls, step: Number) -> Steps:
        """Return the grid of this step, or of the power of two below it."""
        wanted = positive(step, "step")
        return cls(Fraction(2) ** _floor_log2(wanted))

    def apart(self, sensitivity: Fraction) -> Fraction:
        """Return how many steps apart two values can be that differ by at most `sensitivity`."""
        return sensitivity if self.step == 1 else sensitivity / self.step + 1

    def above(self, threshold: Number) -> int:
        """Return the first step at or above a public threshold."""
        return math.ceil(rational(threshold, "threshold") / self.step)

    def one(self, value: float | Fraction) -> int:
        """Return a value in steps."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int) and not isinstance(value, bool):
            return value if self.step == 1 else round(value / self.step)
        if not isinstance(value, float | Fraction):
            raise InvalidParameter(f"a value is an integer or a real number, not a {type(value).__name__}.")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidParameter(
                "NaN and infinity are no values: replace missing ones, clamp to public bounds first."
            )
        self._real_is_allowed()
        return round(Fraction(value) / self.step)

    def many(self, values: ArrayLike) -> Integers:
        """Return an array of values in steps."""
        array = numbers(values).ravel()
        if self.step == 1 and not is_real(array):
            return cast(Integers, array)
        if is_real(array):
            self._real_is_allowed()
            with np.errstate(over="ignore"):
                snapped = np.rint(_times_power(array, -_floor_log2(self.step)))
            if np.all(np.abs(snapped) < _SAFE):
                return snapped.astype(np.int64)
        return np.array([round(Fraction(value) / self.step) for value in array.tolist()], dtype=object)

    def value(self, steps: int) -> int | float:
        """Return a number of steps as a value: an integer on the integers, else the nearest float."""
        return steps if self.step == 1 else _nearest_float(steps * self.step)

    def _real_is_allowed(self) -> None:
        if self.step == 1:
            raise InvalidParameter(
                "real values need a public grid: pass step=, for instance step=0.01, which adds to the sensitivity."
            )
