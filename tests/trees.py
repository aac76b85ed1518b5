"""Random expressions over rows, as trees of `syntax.py`, and random rows that they are evaluated on."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from random import Random

from discreet import dp
from discreet.engine.syntax import Call, Case, Literal, Name, Node

DOMAINS: dict[str, dp.domain.Column] = {
    "age": dp.Integer(0, 110),
    "balance": dp.Integer(-700, 300),
    "debt": dp.Integer(-90, -1),
    "cost": dp.Real(-2, 5, step="0.01"),
    "rate": dp.Real(0, 3),
    "ward": dp.Category(["north", "south", "icu"]),
    "clinic": dp.Category(["icu", "day", "north"]),
    "grade": dp.Category([3, 1, 7]),
    "old": dp.Boolean(),
    "day": dp.Date(date(2023, 11, 20), date(2026, 3, 9)),
    "visit": dp.Datetime(datetime(2023, 12, 30, 22, 15), datetime(2025, 6, 1), zone="Europe/Zurich"),
}
NUMBERS = ("age", "balance", "debt", "cost", "rate", "grade")
CONSTANTS: tuple[int | Fraction, ...] = (0, 1, 2, 3, 7, 10, -4, Fraction(1, 10), Fraction(-5, 2), 1000)
DIVISORS: tuple[int | Fraction, ...] = (2, 3, -7, Fraction(1, 4), 0)
PARTS = ("year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear")
UNITS = ("year", "quarter", "month", "week", "day")


def call(function: str, *arguments: Node) -> Call:
    return Call(function, arguments)


def number(random: Random, depth: int, *, quotients: bool = True) -> Node:
    """A number; `quotients` allows those of two columns, which are rounded."""
    if depth == 0 or random.random() < 0.15:
        if random.random() < 0.6:
            return Name(random.choice(NUMBERS))
        return Literal(random.choice(CONSTANTS))

    def of(less: int = 1) -> Node:
        return number(random, max(0, depth - less), quotients=quotients)

    kind = random.randrange(20)
    if kind < 6:
        return call(random.choice(["add", "sub", "mul"]), of(), of())
    if kind < 9:
        divisor = of() if quotients else Literal(random.choice(DIVISORS))
        return call(random.choice(["div", "intdiv", "mod"]) if quotients else "div", of(), divisor)
    if kind < 11:
        return call(random.choice(["intdiv", "mod"]), of(), of())
    if kind < 13:
        return call(random.choice(["neg", "abs", "sign", "floor", "ceil", "round", "trunc"]), of())
    if kind == 13:
        return call("round", of(), Literal(random.choice([1, 2, -1])))
    if kind == 14:
        return call(random.choice(["least", "greatest"]), of(), of(), of())
    if kind == 15:
        return call(random.choice(["coalesce", "nullif"]), of(), of())
    if kind == 16:
        otherwise = None if random.random() < 0.3 else of()
        return Case(((condition(random, depth - 1), of()), (condition(random, depth - 1), of())), otherwise)
    if kind == 17:
        return call("date_part", Literal(random.choice(PARTS)), moment(random, depth - 1))
    if kind == 18:
        return call("sub", days(random, depth - 1), days(random, depth - 1))
    return call("cast_integer", condition(random, depth - 1))


def days(random: Random, depth: int) -> Node:
    """A date."""
    if depth <= 0 or random.random() < 0.4:
        leaves: list[Node] = [Name("day"), call("date", Literal("2024-02-29")), call("cast_date", Name("visit"))]
        return random.choice(leaves)
    kind = random.randrange(4)
    if kind == 0:
        return call("date_trunc", Literal(random.choice(UNITS)), days(random, depth - 1))
    if kind == 1:
        return call(random.choice(["add", "sub"]), days(random, depth - 1), call("floor", number(random, 0)))
    if kind == 2:
        return call(random.choice(["least", "greatest", "coalesce"]), days(random, depth - 1), days(random, depth - 1))
    return Case(((condition(random, depth - 1), days(random, depth - 1)),), None)


def moment(random: Random, depth: int) -> Node:
    """A date or a timestamp."""
    if random.random() < 0.5:
        return days(random, depth)
    unit = random.choice([*UNITS, "hour", "minute"])
    return Name("visit") if random.random() < 0.5 else call("date_trunc", Literal(unit), Name("visit"))


def text(random: Random, depth: int) -> Node:
    """A text of a public list."""
    kind = random.randrange(5) if depth > 0 else 0
    if kind < 2:
        return Name(random.choice(["ward", "clinic"]))
    if kind == 2:
        return call("coalesce", text(random, depth - 1), Literal("unknown"))
    if kind == 3:
        return call("nullif", text(random, depth - 1), Literal("icu"))
    return Case(((condition(random, depth - 1), Literal("young")),), text(random, depth - 1))


def condition(random: Random, depth: int) -> Node:
    """A truth value."""
    if depth <= 0:
        return Name("old") if random.random() < 0.5 else call("gt", Name("age"), Literal(40))
    kind = random.randrange(11)
    signs = ["eq", "ne", "lt", "le", "gt", "ge"]
    if kind < 3:
        return call(random.choice(signs), number(random, depth - 1), number(random, depth - 1))
    if kind == 3:
        return call(random.choice(signs), moment(random, 0), Literal("2024-07-01"))
    if kind == 4:
        return call(random.choice(["eq", "ne"]), text(random, depth - 1), Literal(random.choice(["icu", "nowhere"])))
    if kind == 5:
        return call(random.choice(["and", "or"]), *(condition(random, depth - 1) for _ in range(3)))
    if kind == 6:
        return call(random.choice(["not", "is_true", "is_false"]), condition(random, depth - 1))
    if kind == 7:
        options = (Literal(random.choice(["icu", "day", "nowhere", None])) for _ in range(3))
        return call("in", text(random, depth - 1), *options)
    if kind == 8:
        return call("like", text(random, depth - 1), Literal(random.choice(["%o%", "i_u", "%", "x%", "_o%th", ""])))
    if kind == 9:
        return call("is_null", number(random, depth - 1))
    return call(random.choice(["is_not_distinct", "eq"]), text(random, depth - 1), text(random, depth - 1))


def row(random: Random) -> dict[str, int | bool | None]:
    """What each column is read into: any integer of its range, the ends often, and NULL at times."""
    from discreet.engine.expression import Coded, Day, Instant, Number
    from discreet.engine.kinds import kind_of

    found: dict[str, int | bool | None] = {}
    for name, domain in DOMAINS.items():
        match kind_of(domain):
            case Number(_, low, high) | Day(low, high) | Instant(low, high):
                value: int | bool = random.choice([low, high, min(max(0, low), high), random.randint(low, high)])
            case Coded(listed):
                value = random.randrange(listed.declared)
            case _:
                value = random.random() < 0.5
        found[name] = None if random.random() < 0.15 else value
    return found
