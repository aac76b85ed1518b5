"""Numbers as their writer meant them: exact rationals in, floats that never round the wrong way out."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.errors import InvalidParameter

Number = int | float | str | Decimal | Fraction

_MOST_BITS = 1 << 13  # beyond it no privacy parameter means anything, and arithmetic gets slow


def rational(value: Number, name: str) -> Fraction:
    """Return the rational that the user wrote: a float means the decimal it prints as.

    >>> rational(0.1, "epsilon")
    Fraction(1, 10)
    >>> rational("1e-9", "delta")
    Fraction(1, 1000000000)
    """
    if isinstance(value, bool):
        raise InvalidParameter(f"{name} is a number, not {value!r}; write for instance {name}=1.")
    if isinstance(value, Fraction) and type(value) is not Fraction:
        raise InvalidParameter(
            f"{name} is public, and a {type(value).__name__} is a private number: it fits no parameter."
        )
    if isinstance(value, Fraction | int):
        whole = Fraction(value)
        if max(whole.numerator.bit_length(), whole.denominator.bit_length()) > _MOST_BITS:
            raise InvalidParameter(f"{name} has too many digits; write a number of at most a thousand.")
        return whole
    if not isinstance(value, float | str | Decimal):
        item = getattr(value, "item", None)  # a NumPy scalar is the Python number that it holds
        plain = item() if callable(item) and getattr(value, "shape", None) == () else None
        if not isinstance(plain, int | float) or isinstance(plain, bool):
            raise InvalidParameter(f"{name} is a number, not a {type(value).__name__}.")
        value = plain
    try:
        text = float.__repr__(value) if isinstance(value, float) else str(value)
        if len(text) > 400:
            raise ValueError
        if "/" in text:
            return Fraction(text)
        decimal = Decimal(text)
        if not decimal.is_finite() or abs(decimal.adjusted()) > 400:
            raise ValueError
        return Fraction(decimal)
    except (ValueError, InvalidOperation, ZeroDivisionError):
        raise InvalidParameter(f"{name} is a finite number, not {str(value)[:40]!r}.") from None


def written(value: Fraction) -> str:
    """Return what a user would write for this rational, exactly.

    >>> written(Fraction(1, 10**9)), written(Fraction(2)), written(Fraction(1, 3))
    ('1e-09', '2', "'1/3'")
    """
    if value.denominator == 1:
        return str(value)
    nearest = repr(float_up(value))
    return nearest if Fraction(nearest) == value else repr(str(value))


def positive(value: Number, name: str) -> Fraction:
    """Return the rational that the user wrote, refused unless it is above zero."""
    number = rational(value, name)
    if number <= 0:
        raise InvalidParameter(f"{name} is above 0; got {value!r:.60}.")
    return number


def non_negative(value: Number, name: str) -> Fraction:
    """Return the rational that the user wrote, refused if it is below zero."""
    number = rational(value, name)
    if number < 0:
        raise InvalidParameter(f"{name} is at least 0; got {value!r:.60}.")
    return number


def probability(value: Number, name: str) -> Fraction:
    """Return the rational that the user wrote, refused unless it lies strictly between zero and one."""
    number = rational(value, name)
    if not 0 < number < 1:
        raise InvalidParameter(f"{name} lies strictly between 0 and 1; got {value!r:.60}.")
    return number


def positive_integer(value: int, name: str) -> int:
    """Return a whole number of at least one, refused otherwise."""
    number = rational(value, name)
    if number.denominator != 1 or number < 1:
        raise InvalidParameter(f"{name} is a whole number of at least 1; got {value!r:.60}.")
    return int(number)


def float_up(value: Fraction) -> float:
    """Return the least float whose printed decimal is at least `value`.

    >>> float_up(Fraction(3, 10)), float_up(Fraction(1, 3))
    (0.3, 0.33333333333333337)
    """
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -1.7976931348623157e308
    while math.isfinite(nearest) and Fraction(repr(nearest)) < value:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def float_down(value: Fraction) -> float:
    """Return the greatest float whose printed decimal is at most `value`."""
    return -float_up(-value)


def quantise_up(value: Fraction, digits: int = 40) -> Fraction:
    """Round up to a multiple of 10^-digits, so that long sums keep small denominators."""
    unit = 10**digits
    return Fraction(-((-value.numerator * unit) // value.denominator), unit)


def sqrt_up(value: Fraction, bits: int = 80) -> Fraction:
    """Return a rational at least the square root of `value`, and exact where the root is rational."""
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom)
    shift = max(0, 2 * bits - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    scaled = -((-value.numerator << shift) // value.denominator)
    return Fraction(math.isqrt(scaled - 1) + 1, 1 << (shift // 2))
