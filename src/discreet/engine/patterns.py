"""LIKE with a constant pattern: decided in public for each declared value, or a prefix of a private text."""

from __future__ import annotations

import re
from functools import lru_cache

from discreet import dp
from discreet.engine.compare import UNKNOWN, compare
from discreet.engine.expression import Coded, Comparison, Constant, Expression, Free, Member, Prefix
from discreet.engine.kinds import described, is_null, is_text, truth
from discreet.engine.merging import free_text
from discreet.engine.refusals import refusal
from discreet.engine.syntax import Position


def like(x: Expression, pattern: Expression, at: Position | None) -> Expression:
    """Return x LIKE pattern, in which % is any text and _ any one character."""
    if is_null(x) or is_null(pattern):
        return UNKNOWN
    if not is_text(pattern):
        raise refusal("the pattern of LIKE is a constant text", at, "write for instance LIKE 'A%'")
    wanted = str(pattern.value)
    if (
        isinstance(x.kind, Coded)
        and isinstance(x.kind.domain, dp.Category)
        and isinstance(x.kind.domain.values[0], str)
    ):
        places = _places(x.kind.domain, wanted)
        if isinstance(x, Constant):
            return truth(x.value in places)
        if len(places) > 1:
            return Member(x, places)
        return Comparison("=", x, Constant(places[0] if places else -1, x.kind))
    if isinstance(x.kind, Free):
        return truth(matches(wanted, str(x.value))) if isinstance(x, Constant) else _prefix(x, wanted, at)
    raise refusal(f"LIKE takes a text, not {described(x)}", at, "compare it with = or <")


def _prefix(x: Expression, wanted: str, at: Position | None) -> Expression:
    start = wanted.rstrip("%")
    if "%" in start or "_" in start:
        raise refusal(
            "of a Text column only the beginning can be compared",
            at,
            "write a pattern with one % at its end, or declare the column as a dc.Category",
        )
    if start == wanted:
        return compare("=", x, Constant(wanted, x.kind), at)
    text = str(free_text(Constant(start, x.kind), at).value)
    return Prefix(x, text)


@lru_cache(maxsize=256)
def _places(domain: dp.Category, pattern: str) -> tuple[int, ...]:
    test = _Matcher(pattern)
    return tuple(place for place, value in enumerate(domain.values) if test(str(value)))


def matches(pattern: str, text: str) -> bool:
    """Return whether a text is like a pattern.

    >>> matches("a%_c", "abc"), matches("a%_c", "ac")
    (True, False)
    """
    return _Matcher(pattern)(text)


class _Matcher:
    """What % leaves between is found from left to right, each part where it first occurs: nothing is tried twice."""

    def __init__(self, pattern: str) -> None:
        self._whole = "%" not in pattern
        parts = [
            re.compile("".join("." if sign == "_" else re.escape(sign) for sign in part), re.DOTALL)
            for part in pattern.split("%")
        ]
        self._first, self._middle, self._last = parts[0], [part for part in parts[1:-1] if part.pattern], parts[-1]
        self._tail = len(pattern.rpartition("%")[2])

    def __call__(self, text: str) -> bool:
        if self._whole:
            return self._first.fullmatch(text) is not None
        found = self._first.match(text)
        for part in self._middle:
            if found is None:
                return False
            found = part.search(text, found.end())
        end = len(text) - self._tail
        return found is not None and found.end() <= end and self._last.fullmatch(text, end) is not None
