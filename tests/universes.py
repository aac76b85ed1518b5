"""Universes with a column of every kind, and places of one column: for the tests of encoding."""

from datetime import date, timedelta

from discreet import dp

DAY = date(2026, 1, 1)
UNIVERSE = dp.Universe(
    {
        "ward": dp.Category(["north", "south", "icu"]),
        "grade": dp.Category([3, 5, 9]),
        "age": dp.Integer(18, 21),
        "seen": dp.Boolean(),
        "cost": dp.Bins([0, "0.1", 10, 100]),
        "day": dp.Date(DAY, DAY + timedelta(days=2)),
    }
)
EXTRA = dp.Universe(
    {
        "ward": dp.Category(["north", "south", "icu"], other="elsewhere", null="unknown"),
        "grade": dp.Category([3, 5, 9], null=-1),
        "age": dp.Integer(18, 21, other=0, null="no age"),
        "seen": dp.Boolean(null="not asked"),
        "cost": dp.Bins([0, "0.1", 10, 100], other=-1),
        "day": dp.Date(DAY, DAY + timedelta(days=2), null=date(1900, 1, 1)),
    }
)


def places(universe: dp.Universe, name: str, values: object) -> list[int]:
    """The places of a column on its own."""
    return dp.Universe({name: universe.columns[name]}).codes({name: values}).tolist()
