"""Constants: those that are written, and the named ones that `parameters=` gives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from discreet.dp.rational import rational
from discreet.engine.dates import day, instant
from discreet.engine.expression import FREE, Constant
from discreet.engine.kinds import NULL, number, truth
from discreet.engine.refusals import invalid, shown
from discreet.engine.syntax import Parameter
from discreet.errors import InvalidParameter


def constant(value: object, name: str) -> Constant:
    """Return a public value as a constant; a float means the decimal that it prints as."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, str):
        return Constant(value, FREE)
    if isinstance(value, datetime):
        if value.tzinfo is not None or value.microsecond:
            raise InvalidParameter(
                f"{name} is a timestamp with a zone or parts of a second; write a naive one, in the zone of the column."
            )
        return instant(value)
    if isinstance(value, date):
        return day(value)
    if isinstance(value, int | float | Decimal | Fraction) or hasattr(value, "item"):
        return number(rational(value, name))  # type: ignore[arg-type]  # which refuses the rest
    raise InvalidParameter(f"{name} is a number, a text, a truth value or a date, not a {type(value).__name__:.60}.")


class Parameters:
    """The values of named places in a question, and which of them were used."""

    def __init__(self, given: Mapping[str, object] | None) -> None:
        if given is not None and not isinstance(given, Mapping):
            raise InvalidParameter('parameters= is a dict of names and values: parameters={"age": 60}.')
        self._given = dict(given or {})
        self._used: set[str] = set()

    def value(self, parameter: Parameter) -> Constant:
        """Return what a named place holds."""
        name = parameter.name
        if name not in self._given:
            raise invalid(f"${name[:60]} has no value", parameter.at, f'add parameters={{"{name[:60]}": ...}}')
        self._used.add(name)
        return constant(self._given[name], f"parameter {shown(name)}")

    def check(self) -> None:
        """Refuse a value that no place asked for."""
        for name in self._given:
            if name not in self._used:
                raise InvalidParameter(f"parameters= has {shown(name)}, which the question does not use; leave it out.")
