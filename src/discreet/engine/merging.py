"""Values of several expressions as one: CASE, COALESCE, NULLIF, LEAST and GREATEST, and what kind they share.

Numbers meet on a common grid, and their ranges are united. Places in public lists meet in one list: that of the first,
with the values of the others, and constants, added at its end. Texts that are all constant make a list of their own, in
the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from discreet import dp
from discreet.engine.dates import as_instant, day_from, instant_from
from discreet.engine.expression import (
    FREE,
    Case,
    Coalesce,
    Coded,
    Constant,
    Day,
    Expression,
    Extreme,
    Free,
    Instant,
    Kind,
    Lookup,
    Number,
    Truth,
)
from discreet.engine.kinds import NULL, as_number, described, is_null, is_number, is_text, never_null, worth
from discreet.engine.numbers import extreme, extreme_range, on_one_grid
from discreet.engine.refusals import refusal
from discreet.engine.syntax import Position


def merged(operands: Sequence[Expression], at: Position | None) -> tuple[list[Expression], Kind]:
    """Return operands as integers of one kind, and that kind. NULL among them is given it, too."""
    real = [x for x in operands if not is_null(x)]
    if not real:
        raise refusal("all values are NULL", at, "write at least one that is not")
    one_kind = iter(_of_one_kind(real, at))
    result = [x if is_null(x) else next(one_kind) for x in operands]
    kind = _united([x.kind for x in result if not is_null(x)])
    return [Constant(None, kind) if is_null(x) else x for x in result], kind


def _of_one_kind(real: Sequence[Expression], at: Position | None) -> list[Expression]:
    if any(isinstance(x.kind, Coded) for x in real):
        return _codes(real, at)
    if any(isinstance(x.kind, Day | Instant) for x in real):
        return _dates(real, at)
    if all(isinstance(x.kind, Number) for x in real):
        return on_one_grid(real, at)
    if all(isinstance(x.kind, Truth) for x in real):
        return list(real)
    if all(is_text(x) for x in real):
        labels = tuple(dict.fromkeys(str(x.value) for x in real if is_text(x)))
        return _placed(real, _category(labels), at)
    if all(isinstance(x.kind, Free) for x in real):
        return [free_text(x, at) if isinstance(x, Constant) else x for x in real]
    different = next(x for x in real if type(x.kind) is not type(real[0].kind))
    raise refusal(
        f"{described(real[0])} and {described(different)} are no values of one column", at, "write one kind of them"
    )


def _united(kinds: Sequence[Kind]) -> Kind:
    first = kinds[0]
    if isinstance(first, Number | Day | Instant):
        ranges = [(kind.low, kind.high) for kind in kinds if isinstance(kind, Number | Day | Instant)]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        match first:
            case Number():
                return Number(first.step, low, high)
            case Day():
                return Day(low, high)
            case Instant():
                return Instant(low, high, next((k.zone for k in kinds if isinstance(k, Instant) and k.zone), ""))
    if isinstance(first, Coded):  # the longest list has all values of the others, in the same places
        return max((kind for kind in kinds if isinstance(kind, Coded)), key=lambda kind: kind.domain.declared)
    return first


def _dates(real: Sequence[Expression], at: Position | None) -> list[Expression]:
    timed = any(isinstance(x.kind, Instant) for x in real)
    found: list[Expression] = []
    for x in real:
        if isinstance(x, Constant) and isinstance(x.value, str):
            x = instant_from(x.value, at) if timed else day_from(x.value, at)
        if timed and isinstance(x, Constant) and isinstance(x.kind, Day):
            x = as_instant(x)
        if not isinstance(x.kind, Instant if timed else Day):
            raise refusal(
                f"a {'timestamp' if timed else 'date'} and {described(x)} are no values of one column",
                at,
                "write dates, for instance CAST(x AS DATE)",
            )
        found.append(x)
    zones = {x.kind.zone for x in found if isinstance(x.kind, Instant)} - {""}
    if len(zones) > 1:
        raise refusal(
            "timestamps of two time zones are no values of one column", at, "declare both columns in one zone"
        )
    return found


@lru_cache(maxsize=256)
def _category(values: tuple[str | int, ...]) -> dp.Category:
    return dp.Category(values)


@lru_cache(maxsize=256)
def _extended(domain: dp.Category, more: tuple[str | int, ...]) -> dp.Category:
    return dp.Category((*domain.values, *more))


def _codes(real: Sequence[Expression], at: Position | None) -> list[Expression]:
    """Return places in one list."""
    first = next(x.kind.domain for x in real if isinstance(x.kind, Coded))
    if isinstance(first, dp.Bins):
        if any(not isinstance(x.kind, Coded) or x.kind.domain != first for x in real):
            raise refusal("a bin is mixed with other values", at, "use the number itself, or the same bins")
        return list(real)
    whole = isinstance(first.values[0], int)
    if whole and any(isinstance(x.kind, Number) and not (is_number(x) and worth(x).denominator == 1) for x in real):
        return on_one_grid([as_number(x, at, "this") for x in real], at)
    more: dict[str | int, None] = {}
    for x in real:
        for value in _values(x, first, at):
            if isinstance(value, int) is not whole:
                raise refusal(
                    f"{described(x)} is no value of a category of {'whole numbers' if whole else 'texts'}", at, _KIND
                )
            if first.index(value) < 0:
                more[value] = None
    return _placed(real, _extended(first, tuple(more)) if more else first, at)


_KIND = "write values of the same kind"


def _values(x: Expression, first: dp.Category, at: Position | None) -> Sequence[str | int]:
    if isinstance(x.kind, Coded):
        if isinstance(x.kind.domain, dp.Bins):
            raise refusal("a bin is mixed with other values", at, "use the number itself")
        return () if x.kind.domain is first else x.kind.domain.values
    if is_text(x):
        return (str(x.value),)
    if is_number(x) and worth(x).denominator == 1:
        return (int(worth(x)),)
    raise refusal(f"a category and {described(x)} are no values of one column", at, _KIND)


def _placed(real: Sequence[Expression], domain: dp.Category, at: Position | None) -> list[Expression]:
    kind = Coded(domain)
    found: list[Expression] = []
    for x in real:
        if not isinstance(x.kind, Coded):
            [value] = _values(x, domain, at)
            found.append(Constant(domain.index(value), kind))
            continue
        own = x.kind.domain
        if own is domain:
            found.append(x)
            continue
        if own.values == domain.values[: own.declared]:  # the list was made longer, and places stay what they are
            found.append(x)
        elif isinstance(own, dp.Category):
            found.append(looked_up(x, places_in(own, domain), kind))
    return found


@lru_cache(maxsize=64)
def places_in(one: dp.Category, other: dp.Category) -> tuple[int | None, ...]:
    """Return for each value of one list its place in another; None where it is not there."""
    places = map(other.index, one.values)
    return tuple(None if place < 0 else place for place in places)


def looked_up(x: Expression, places: tuple[int | None, ...], kind: Kind) -> Expression:
    """Return what a public list has at the place that x is."""
    if isinstance(x, Constant):
        return Constant(places[int(x.value or 0)], kind)
    return Lookup(x, places, kind)


def same_codes(x: Expression, y: Expression, at: Position | None) -> tuple[Expression, Expression]:
    """Return two places in public lists as places in one list."""
    if x.kind == y.kind:
        return x, y
    one, other = _codes((x, y), at)
    return one, other


def free_text(constant: Constant, at: Position | None) -> Constant:
    """Return a constant that is compared with private texts, if every engine can hold it."""
    text = str(constant.value)
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise refusal(
            "this text is no text of every engine", at, "leave out what is no Unicode character, and the zero byte"
        )
    return Constant(text, FREE)


def case(
    branches: Sequence[tuple[Expression, Expression]], otherwise: Expression | None, at: Position | None
) -> Expression:
    """Return CASE: branches that are never taken are left out."""
    kept: list[tuple[Expression, Expression]] = []
    last = NULL if otherwise is None else otherwise
    for condition, value in branches:
        if not isinstance(condition.kind, Truth) and not is_null(condition):
            raise refusal(f"WHEN takes a condition, not {described(condition)}", at, "compare it with something")
        if not isinstance(condition, Constant):
            kept.append((condition, value))
        elif condition.value is True:
            last = value
            break
    if not kept:
        return last
    values, kind = merged([value for _, value in kept] + [last], at)
    if isinstance(kind, Free):
        raise refusal("CASE makes no private text", at, "group by the Text column itself, or write constant texts only")
    conditions = [condition for condition, _ in kept]
    return Case(tuple(zip(conditions, values[:-1], strict=True)), values[-1], kind)


def coalesce(operands: Sequence[Expression], at: Position | None) -> Expression:
    """Return the first operand that is not NULL."""
    kept: list[Expression] = []
    for x in operands:
        if not is_null(x):
            kept.append(x)
            if never_null(x):
                break
    if not kept:
        return NULL
    if len(kept) == 1:
        return kept[0]
    values, kind = merged(kept, at)
    return Coalesce(tuple(values), kind)


def null_if(x: Expression, equal: Expression, at: Position | None) -> Expression:
    """Return x, but NULL where the condition holds."""
    if isinstance(x.kind, Free):
        raise refusal("NULLIF makes no private text", at, "leave out such rows with WHERE")
    if isinstance(equal, Constant):
        return Constant(None, x.kind) if equal.value is True else x
    return Case(((equal, Constant(None, x.kind)),), x, x.kind)


def extreme_of(
    operator: Literal["least", "greatest"], operands: Sequence[Expression], at: Position | None
) -> Expression:
    """Return the least or greatest of the operands that are not NULL."""
    if any(isinstance(x.kind, Day | Instant) for x in operands if not is_null(x)):
        values = _dates([x for x in operands if not is_null(x)], at)
        kept = [x for _, x in sorted({repr(x): x for x in values}.items())]
        kind = _united([x.kind for x in kept])
        assert isinstance(kind, Day | Instant)
        ranges = [(x.kind.low, x.kind.high, never_null(x)) for x in kept if isinstance(x.kind, Day | Instant)]
        low, high = extreme_range(operator, ranges)
        narrow = Day(low, high) if isinstance(kind, Day) else Instant(low, high, kind.zone)
        return kept[0] if len(kept) == 1 else Extreme(operator, tuple(kept), narrow)
    return extreme(operator, [as_number(x, at, operator.upper()) for x in operands], at)
