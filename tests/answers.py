"""Answers to look at: a small table, one number, and one with days, instants, truth values and NULL."""

from datetime import date, datetime
from fractions import Fraction

from discreet.answer import Answer


def answer(**changes: object) -> Answer:
    fields: dict[str, object] = {
        "columns": {"sex": ("f", "f", "m", "m"), "ok": (False, True, False, True), "n": (10, -3, 20_000, 0)},
        "errors": {"n": 30},
        "relation": "protects one row of t, added or removed",
        "route": "direct",
        "charged": Fraction(1, 10),
    }
    return Answer(**(fields | changes))  # type: ignore[arg-type]


SINGLE = answer(columns={"n": (7,)})
MIXED = answer(
    columns={
        "day": (date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)),
        "hour": (datetime(2026, 1, 1, 5), None, datetime(2026, 1, 1, 6)),
        "large": (True, None, False),
        "n": (10, 12_345, 9),
        "age": (48.25, None, 50.5),
    },
    errors={"n": 30, "age": (1.5, None, None)},
)
