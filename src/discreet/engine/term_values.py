"""What Python values are in a question: names, constants, and expressions that are nodes already."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import TypeAlias

from discreet.engine.syntax import Call, Literal, Name, Node
from discreet.errors import InvalidParameter

LONGEST_NAME = 200
Number: TypeAlias = int | float | Fraction | Decimal
Constant: TypeAlias = Number | str | bool | date | datetime | None


class Written:
    """Something that has a node of a question."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def node(self) -> Node:
        """What this is in a question."""
        return self._node


def name_of(name: object) -> str:
    """Return a name that a question may hold."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise InvalidParameter(f"a name is a text of 1 to {LONGEST_NAME} printable characters, not {name!r:.60}.")
    return name


def column_of(written: object) -> Node:
    """Return the node of a column by its name, or of an expression."""
    return written.node if isinstance(written, Written) else Name(name_of(written))


def condition_of(written: object) -> Node:
    """Return the node of a condition."""
    if not isinstance(written, Written):
        raise InvalidParameter(f'a condition is an expression such as dc.col("age") >= 60, not {written!r:.60}.')
    return written.node


def node_of(written: object) -> Node:
    """Return the node of a value: an expression, or a constant as it is."""
    match written:
        case Written():
            return written.node
        case str():
            if "\0" in written or any("\ud800" <= character <= "\udfff" for character in written):
                raise InvalidParameter("this text holds a character that no text has; leave it out.")
            return Literal(str(written))
        case None | bool():
            return Literal(written)
        case datetime():
            if written.tzinfo is not None or written.microsecond:
                raise InvalidParameter("a time is in whole seconds on the clock on the wall; leave out its zone.")
            return Call("timestamp", (Literal(written.isoformat(sep=" ")),))
        case date():
            return Call("date", (Literal(written.isoformat()),))
        case Integral():
            return Literal(int(written))
        case Rational():
            return Literal(Fraction(int(written.numerator), int(written.denominator)))
        case float() if math.isfinite(written):
            return Literal(Fraction(repr(float(written))))  # 0.1 is one tenth, as in SQL
        case Decimal() if written.is_finite():
            return Literal(Fraction(written))
    raise InvalidParameter(f"{written!r:.60} is no value of a question; write a number, a text, a date or None.")
