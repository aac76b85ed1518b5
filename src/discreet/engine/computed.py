"""Functions of released columns, by the names of `syntax.py`, with the NULLs and the three-valued logic of SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.dp.grid import Reals
from discreet.engine import interval
from discreet.engine.interval import Numeric, Plain, Truths
from discreet.errors import NotSupported

Column = Numeric | Plain

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_OF_TWO: dict[str, Callable[[Numeric, Numeric], Numeric]] = {
    "add": interval.add,
    "sub": interval.subtract,
    "mul": interval.multiply,
    "div": interval.divide,
    "mod": interval.remainder,
    "power": interval.power,
}


def _root(x: Reals) -> Reals:
    return np.sqrt(x)


def _logarithm(x: Reals) -> Reals:
    return np.log(np.where(x > 0, x, np.nan))


_INCREASING: dict[str, tuple[Callable[[Reals], Reals], bool]] = {
    "floor": (np.floor, True),
    "ceil": (np.ceil, True),
    "trunc": (np.trunc, True),
    "sign": (np.sign, True),
    "sqrt": (_root, False),
    "ln": (_logarithm, False),
    "exp": (np.exp, False),
}


def applied(function: str, columns: list[Column]) -> Column:
    """Return a function of columns of one length. What it has no meaning for is refused, by its name."""
    with np.errstate(all="ignore"):  # what is not finite becomes NULL
        found = _applied(function, columns)
    if found is None:
        kinds = ", ".join("a number" if isinstance(column, Numeric) else "no number" for column in columns)
        raise NotSupported(f"{function.upper()} of {kinds} cannot be computed from released values; select its parts.")
    return found


def _applied(function: str, columns: list[Column]) -> Column | None:
    numbers = [column for column in columns if isinstance(column, Numeric)]
    if len(numbers) == len(columns) and (found := _of_numbers(function, numbers)) is not None:
        return found
    match function, columns:
        case (("eq" | "ne" | "lt" | "le" | "gt" | "ge"), [a, b]):
            return _compared(function, a, b)
        case (("and" | "or"), _):
            return _logical(function, columns)
        case "not", [a]:
            return Plain(~_truths(a), a.null, _noisy(a))
        case "is_null", [a]:
            return Plain(a.null.copy(), np.zeros_like(a.null), _noisy(a))
        case (("is_true" | "is_false"), [a]):
            return Plain((_truths(a) == (function == "is_true")) & ~a.null, np.zeros_like(a.null), _noisy(a))
        case "is_not_distinct", [a, b]:
            same = _compared("eq", a, b)
            value = np.where(a.null | b.null, a.null & b.null, same.value)
            return Plain(value, np.zeros_like(a.null), same.noisy)
        case "in", [a, *others]:
            return _logical("or", [_compared("eq", a, other) for other in others])
        case "between", [a, low, high]:
            return _logical("and", [_compared("ge", a, low), _compared("le", a, high)])
        case "like", [a, b]:
            return _like(a, b)
        case "nullif", [a, b]:
            return _nullif(a, b)
        case "coalesce", _:
            return _coalesced(columns)
        case "case", _:
            return _case(columns)
        case _:
            return None


def _of_numbers(function: str, numbers: list[Numeric]) -> Numeric | None:
    match function, numbers:
        case (("add" | "sub" | "mul" | "div" | "mod" | "power"), [a, b]):
            return _OF_TWO[function](a, b)
        case "intdiv", [a, b]:
            return interval.monotone(np.trunc, interval.divide(a, b), whole=True)
        case (("floor" | "ceil" | "trunc" | "sign" | "sqrt" | "ln" | "exp"), [a]):
            increasing, whole = _INCREASING[function]
            return interval.monotone(increasing, a, whole=whole)
        case (("round" | "cast_integer"), [a]):
            return interval.rounded(a, 0)
        case "round", [a, digits] if digits.value.size == 0 or bool((digits.low == digits.high).all()):
            return interval.rounded(a, int(digits.value[0]) if digits.value.size else 0)
        case "cast_real", [a]:
            return Numeric(a.value, a.low, a.high, a.null)
        case "neg", [a]:
            return interval.negative(a)
        case "abs", [a]:
            return interval.absolute(a)
        case (("least" | "greatest"), [_, *_]):
            return interval.extreme(np.fmin if function == "least" else np.fmax, numbers)
        case _:
            return None


def _noisy(column: Column) -> bool:
    return column.noisy if isinstance(column, Plain) else bool((column.low != column.high).any())


def _truths(column: Column) -> Truths:
    """Return which are true; NULL is not."""
    if isinstance(column, Numeric) or (column.value.dtype != bool and not column.null.all()):
        raise NotSupported("a condition is expected where a value stands; compare it, for instance n > 100.")
    return np.asarray(column.value, dtype=bool) & ~column.null


def _compared(function: str, a: Column, b: Column) -> Plain:
    null = a.null | b.null
    value = np.zeros(null.shape, dtype=bool)
    rows = np.flatnonzero(~null)
    try:
        value[rows] = _COMPARED[function](a.value[rows], b.value[rows]).astype(bool)
    except TypeError:
        raise NotSupported("two values of different kinds cannot be compared; cast one of them.") from None
    return Plain(value, null, _noisy(a) or _noisy(b))


def _logical(function: str, columns: list[Any]) -> Plain:
    """AND and OR: NULL only where what is known does not decide."""
    decides = function == "or"
    decided = np.logical_or.reduce([(_truths(column) == decides) & ~column.null for column in columns])
    null = np.logical_or.reduce([column.null for column in columns]) & ~decided
    value = decided if decides else ~decided & ~null
    return Plain(value, null, any(map(_noisy, columns)))


def _like(a: Column, b: Column) -> Plain:
    null = a.null | b.null
    value = np.zeros(null.shape, dtype=bool)
    for row in np.flatnonzero(~null).tolist():
        parts = [".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in str(b.value[row])]
        value[row] = re.fullmatch("".join(parts), str(a.value[row]), re.DOTALL) is not None
    return Plain(value, null, _noisy(a) or _noisy(b))


def _nullif(a: Column, b: Column) -> Column:
    same = _compared("eq", a, b)
    null = a.null | (same.value & ~same.null)
    return Numeric(a.value, a.low, a.high, null, a.whole) if isinstance(a, Numeric) else Plain(a.value, null, a.noisy)


def _case(columns: list[Column]) -> Column:
    """CASE of condition, value, ..., otherwise: from the last branch to the first."""
    found = columns[-1]
    for place in range(len(columns) - 3, -1, -2):
        condition, value = columns[place], columns[place + 1]
        found = _chosen(_truths(condition), value, found, sure=not _noisy(condition))
    return found


def _coalesced(columns: list[Column]) -> Column:
    found = columns[-1]
    for column in reversed(columns[:-1]):
        sure = not (_noisy(column) and bool(column.null.any()))
        found = _chosen(~column.null, column, found, sure=sure)
    return found


def _chosen(first: Truths, a: Column, b: Column, *, sure: bool) -> Column:
    """Return a where `first`, and b elsewhere; a column of NULL fits every other."""
    if isinstance(a, Plain) and a.null.all() and isinstance(b, Numeric):
        a = Numeric(b.value, b.low, b.high, np.ones_like(b.null), b.whole)
    if isinstance(b, Plain) and b.null.all() and isinstance(a, Numeric):
        b = Numeric(a.value, a.low, a.high, np.ones_like(a.null), a.whole)
    if isinstance(a, Numeric) and isinstance(b, Numeric):
        return interval.chosen(first, a, b, sure=sure)
    if isinstance(a, Numeric) or isinstance(b, Numeric):
        raise NotSupported("the branches of a CASE or COALESCE are all numbers, or none is; write it so.")
    null = np.where(first, a.null, b.null)
    value = np.where(first, a.value, b.value)
    if a.value.dtype == bool or b.value.dtype == bool:
        value = np.where(null, False, value).astype(bool)
    return Plain(value, null, a.noisy or b.noisy or not sure)
