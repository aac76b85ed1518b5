"""Single values of a table: whether one is missing, and what whole number or day it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np

Value: TypeAlias = str | int | float | bool | date
"""What a declared value is, or the name of a cell."""

Item = TypeVar("Item")

MOST_DIGITS = 400  # of a Decimal; beyond any number that a column declares


def in_order(values: Sequence[Item]) -> tuple[Item, ...] | None:
    """Return what a list, another sequence or an array of one axis holds; None for a text and for what has no order."""
    plain: object = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values
    return tuple(plain) if isinstance(plain, Sequence) and not isinstance(plain, str | bytes) else None


def is_missing(value: object) -> bool:
    """Return whether a value stands for no value: None, NaN, NaT, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def whole(value: object) -> int | None:
    """Return a number without a fractional part as an int; anything else, a bool or a duration included, as None."""
    if isinstance(value, bool | np.timedelta64):  # a NumPy duration is an integer by its class
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Decimal):
        exact = value.is_finite() and value.adjusted() < MOST_DIGITS and value == value.to_integral_value()
        return int(value) if exact else None
    if isinstance(value, float | np.floating):
        return int(value) if np.isfinite(value) and value == np.floor(value) else None
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else None


def day_of(value: object) -> date | None:
    """Return a day, or the day that a midnight in no time zone begins, as a date; anything else as None."""
    if isinstance(value, np.datetime64):
        if np.isnat(value) or value != value.astype("M8[D]"):
            return None
        item = value.astype("M8[D]").item()
        return item if isinstance(item, date) else None
    if isinstance(value, datetime):
        midnight = value.tzinfo is None and value == datetime(value.year, value.month, value.day)
        return date(value.year, value.month, value.day) if midnight else None
    return value if isinstance(value, date) else None
