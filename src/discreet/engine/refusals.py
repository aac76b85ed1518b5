"""How a question is refused: what was asked and where, then what to write instead."""

from __future__ import annotations

from fractions import Fraction

from discreet.engine.syntax import Position
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

_SHOWN = 60  # characters of what was written that a message repeats


def located(at: Position | None) -> str:
    """Return where something stands, as a message says it."""
    return "" if at is None else f" (line {at.line}, column {at.column})"


def refusal(what: str, at: Position | None, instead: str) -> NotSupported:
    """Return the refusal of a part of a question."""
    return NotSupported(_text(what, at, instead))


def undeclared(what: str, at: Position | None, instead: str) -> NeedsDeclaration:
    """Return the refusal of a part of a question that lacks a public fact."""
    return NeedsDeclaration(_text(what, at, instead))


def invalid(what: str, at: Position | None, instead: str) -> InvalidParameter:
    """Return the refusal of a constant, or a parameter, that fits no such place."""
    return InvalidParameter(_text(what, at, instead))


def _text(what: str, at: Position | None, instead: str) -> str:
    return f"{what}{located(at)}; {instead}."


def shown(name: object) -> str:
    """Return what was written, cut to a length that a message can hold."""
    text = "a long number" if isinstance(name, int) and abs(name) > 10**_SHOWN else repr(name)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def amount(value: Fraction | int) -> str:
    """Return a public number as a message shows it."""
    number = Fraction(value)
    if number.denominator == 1 and abs(number) < 10**15:
        return f"{int(number):,}"
    digits = number.numerator.bit_length() - number.denominator.bit_length()
    return f"{float(number):.3g}" if abs(digits) < 1000 else f"about 2^{digits}"
