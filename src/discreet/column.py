"""Arithmetic on answers: every result carries its error along.

A released number is an interval that holds the true one with some confidence. A sum, difference, product or quotient
is the interval of all results that the operands' intervals allow (`engine/interval.py`), its ends rounded outwards. It
holds the true result when every released number in it is within its error at once. By the union bound, which asks
nothing about how they depend on each other, the chances to be off add up: two numbers at 95 % give a result at 90 %.
A number that stands in a formula twice is one event, and counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from discreet.dp.grid import Reals
from discreet.dp.rational import float_down, float_up, rational
from discreet.engine import interval
from discreet.engine.interval import Numeric
from discreet.errors import InvalidParameter, NotSupported

if TYPE_CHECKING:
    from discreet.answer import Answer

Cells: TypeAlias = tuple[int | float | None, ...]

_EXACT = 2**53  # up to here every whole number is a float
_NOT_A_NUMBER = (
    "an answer is an interval, not a number: compare .value, or .low and .high, which hold the true number at the "
    "confidence that is stated."
)


class Arithmetic:
    """What can be added, subtracted, multiplied and divided, with numbers and with each other, and not compared."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy numbers leave arithmetic to us

    def _column(self) -> Column:
        raise NotImplementedError

    def __add__(self, other: object) -> Column:
        return _combined(interval.add, "+", self, other)

    def __radd__(self, other: object) -> Column:
        return _combined(interval.add, "+", other, self)

    def __sub__(self, other: object) -> Column:
        return _combined(interval.subtract, "-", self, other)

    def __rsub__(self, other: object) -> Column:
        return _combined(interval.subtract, "-", other, self)

    def __mul__(self, other: object) -> Column:
        return _combined(interval.multiply, "*", self, other)

    def __rmul__(self, other: object) -> Column:
        return _combined(interval.multiply, "*", other, self)

    def __truediv__(self, other: object) -> Column:
        return _combined(interval.divide, "/", self, other)

    def __rtruediv__(self, other: object) -> Column:
        return _combined(interval.divide, "/", other, self)

    def __neg__(self) -> Column:
        return 0 - self

    def __lt__(self, other: object) -> NoReturn:
        raise NotSupported(_NOT_A_NUMBER)

    __le__ = __gt__ = __ge__ = __lt__


@dataclass(frozen=True, slots=True)
class Event:
    """Released numbers, each of which is within its error but for `failure`; the same ones are one event."""

    values: Sequence[Any]
    failure: Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column(Arithmetic):
    """The numbers of a column of an answer, or what was computed of some: each with the interval of the true one.

    Guarantee: post-processing of released numbers, which costs nothing. Each true number is between `low` and `high`
      with probability `confidence`, each for itself, if every answer in it keeps what it says of its errors.
    Source: the union bound, and interval arithmetic: Moore, "Interval analysis", 1966.

    >>> from fractions import Fraction
    >>> from discreet import Answer
    >>> facts = dict(relation="protects a patient", route="direct", charged=Fraction(0))
    >>> women, all_people = (Answer({"n": (n,)}, {"n": 3}, **facts) for n in (40, 80))
    >>> women / all_people
    n / n = 0.5000 ± 0.0585, at 90 %
    >>> 100 - women
    100 - n = 60 ± 3, at 95 %
    """

    label: str
    _numbers: Numeric
    _events: tuple[Event, ...]
    _beside: Answer | None  # whose keys name the rows; None for one number

    def _column(self) -> Column:
        return self

    @property
    def rows(self) -> int:
        """How many numbers it has."""
        return len(self._numbers.value)

    @property
    def confidence(self) -> Fraction:
        """How sure it is of each interval."""
        return 1 - sum((event.failure for event in self._events), start=Fraction(0))

    @property
    def values(self) -> Cells:
        """The numbers, to a thousandth of their errors; None for NULL."""
        return self._shown()[0]

    @property
    def errors(self) -> Cells:
        """How far off each may be; None where that is not known."""
        return self._shown()[1]

    @property
    def lows(self) -> tuple[float | None, ...]:
        """The lower ends of the intervals; None for NULL, and -inf where there is none."""
        return self._ends(self._numbers.low)

    @property
    def highs(self) -> tuple[float | None, ...]:
        """The upper ends of the intervals."""
        return self._ends(self._numbers.high)

    def _ends(self, ends: Reals) -> tuple[float | None, ...]:
        pairs = zip(ends.tolist(), self._numbers.null.tolist(), strict=True)
        return tuple(None if null else end for end, null in pairs)

    @property
    def value(self) -> int | float | None:
        """The number, if it is one."""
        return self.values[self._only()]

    @property
    def error(self) -> int | float | None:
        """How far off it may be."""
        return self.errors[self._only()]

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""
        return self.lows[self._only()]

    @property
    def high(self) -> float | None:
        """The upper end of its interval."""
        return self.highs[self._only()]

    def _only(self) -> int:
        if self.rows != 1:
            raise NotSupported("this column is not one number; use .values, .errors, .lows and .highs.")
        return 0

    def _shown(self) -> tuple[Cells, Cells]:
        from discreet.engine.cells import legibly

        shown: tuple[Any, Any] = legibly(self._numbers, np.arange(self.rows))
        return shown

    def answer(self, name: str) -> Answer:
        """Return it as an answer, under a name and beside the keys of its rows.

        >>> from discreet import Answer
        >>> beds = Answer({"ward": ("a", "b"), "n": (40, 60)}, {"n": 3}, "protects a patient", "direct", Fraction(0))
        >>> print((beds["n"] / 100).answer("share"))
        ward            share
        a     0.4000 ± 0.0301
        b     0.6000 ± 0.0301
        ± at 95 %, each number for itself · post-processed: share = n / 100 · post-processing, free · protects a patient
        """
        from discreet.answer import Answer

        if not isinstance(name, str) or not name or (self._beside is not None and name in self._beside.keys):
            raise InvalidParameter(f'give it a name that no key of its rows has, such as "share", not {name!r:.60}.')
        keys = {} if self._beside is None else self._beside.keys
        relation = "of public numbers" if self._beside is None else self._beside.relation
        return Answer(
            columns={**keys, name: self.values},
            errors={name: self.errors},
            relation=relation,
            route="post-processing",
            charged=Fraction(0),
            confidence=self.confidence,
            processing=(f"{name} = {self.label}",),
        )

    def __eq__(self, other: object) -> NoReturn:
        raise NotSupported(_NOT_A_NUMBER)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        from discreet.answer_display import measured, percent

        shown = [measured(value, error) for value, error in zip(self.values[:24], self.errors[:24], strict=True)]
        more = [f"... {self.rows - 24:,} more"] if self.rows > 24 else []
        return f"{self.label} = {', '.join([*shown, *more])}, at {percent(self.confidence)}"


def column_of(answer: Answer, name: str) -> Column:
    """Return a column of an answer: its numbers with their errors, or numbers of a key, which are known."""
    if name not in answer.columns:
        raise InvalidParameter(
            f"this answer has no column {name!r:.60}; it has {', '.join(map(repr, answer.columns))}."
        )
    values = answer.columns[name]
    null = np.array([value is None for value in values], dtype=bool)
    known = [0 if value is None else value for value in values]
    if not set(map(type, known)) <= {int, float}:
        raise NotSupported(f"column {name!r:.60} holds no numbers, so there is no arithmetic on it.")
    value = np.array(known, dtype=np.float64)
    if name in answer.errors:
        errors = np.array([np.inf if error is None else error for error in answer.errors_of(name)], dtype=np.float64)
        events: tuple[Event, ...] = (Event(values, 1 - answer.confidence),)
    else:
        errors, events = np.zeros(value.shape), ()
    whole = all(isinstance(each, int) for each in known)
    return Column(name, _outward(Numeric(value, value - errors, value + errors, null, whole)), events, answer)


def _outward(numbers: Numeric) -> Numeric:
    """Return intervals whose ends rounding did not move inwards; whole ends that floats hold are as they are."""

    def moved(ends: Reals, to: float) -> Reals:
        return np.where(numbers.whole & (abs(ends) < _EXACT), ends, np.nextafter(ends, to))

    whole = numbers.whole and bool((abs(numbers.value) < _EXACT).all())
    return replace(numbers, low=moved(numbers.low, -np.inf), high=moved(numbers.high, np.inf), whole=whole)


def _combined(function: Callable[[Numeric, Numeric], Numeric], sign: str, left: object, right: object) -> Column:
    a, b = _operand(left), _operand(right)
    beside = _same_rows(a, b)
    events = list(a._events)
    events += [event for event in b._events if all(event.values is not other.values for other in events)]
    if sum((event.failure for event in events), start=Fraction(0)) >= 1:
        raise NotSupported(
            "each number may be off by more than its error now and then, and with so many of them nothing is sure of "
            "the result; ask one question for it."
        )
    with np.errstate(all="ignore"):  # what is not finite becomes NULL
        found = _outward(function(a._numbers, b._numbers))
    return Column(f"{_inside(a.label)} {sign} {_inside(b.label)}", found, tuple(events), beside)


def _inside(label: str) -> str:
    """Return the label of an operand, in brackets where it is a formula."""
    return f"({label})" if " " in label else label


def _operand(value: object) -> Column:
    if isinstance(value, Arithmetic):
        return value._column()
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal | np.integer | np.floating):
        raise InvalidParameter(f"arithmetic on answers takes numbers and answers, not {type(value).__name__}.")
    plain = value.item() if isinstance(value, np.integer | np.floating) else value
    number = rational(plain, "number")
    ends = (float_down(number), float_up(number))
    nearest, low, high = (np.array([part]) for part in (float(number), *ends))
    whole = number.denominator == 1 and abs(number) < _EXACT
    return Column(str(plain), Numeric(nearest, low, high, np.zeros(1, dtype=bool), whole), (), None)


def _same_rows(a: Column, b: Column) -> Answer | None:
    """Return the answer whose keys name the rows of the result: one number goes with every row."""
    if a._beside is None or b._beside is None or a._beside is b._beside:
        return a._beside or b._beside
    alone = [column.rows == 1 and not column._beside.keys for column in (a, b) if column._beside is not None]
    if not any(alone) and _listed(a._beside) != _listed(b._beside):
        raise NotSupported(
            "the rows of the two answers have different keys; ask for the same groups in the same order."
        )
    return b._beside if alone[0] else a._beside


def _listed(answer: Answer) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in answer.keys.items()}
