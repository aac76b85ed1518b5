"""Which rows of a unit count, and how much, as SQL: what every statement of a query has in common."""

from __future__ import annotations

from discreet.engine.emit import Bindings
from discreet.engine.parts import Parts


def weighed_rows(parts: Parts, base: str, bindings: Bindings) -> str:
    """Return what stands after FROM for the rows with w, the weight that a row of their unit has."""
    if parts.origins[0].weight is not None:
        return f"({base}) AS b"
    return f"({base}) AS b JOIN ({parts.weights(bindings)}) AS h ON b.u = h.u"


def numbers_of_groups(groups: str) -> str:
    """Return the units with the number n of their groups."""
    return f"SELECT u, COUNT(*) AS n FROM {groups} GROUP BY u"


def hashed_order(parts: Parts, bindings: Bindings, *columns: str) -> str:
    """Return what the secret makes of a unit, its groups and more columns."""
    name = f"p{len(bindings.parameters)}"
    bindings.parameters[name] = parts.secret
    return parts.dialect.hashed(["u", *parts.keys, *columns], parts.dialect.parameter(name))


def ranks(parts: Parts, groups: str, bindings: Bindings) -> str:
    """Return rows of units and groups with `o`, the secret order, and `rg`, the rank of a group in its unit."""
    hashed = f"SELECT *, {hashed_order(parts, bindings)} AS o FROM {groups}"
    window = f"(PARTITION BY u ORDER BY o{parts.compared_order})"
    return f"SELECT *, ROW_NUMBER() OVER {window} AS rg FROM ({hashed}) AS a"


def chosen(parts: Parts, ranked: str) -> str:
    """Return ranked rows with `kept`, and with n, how many rows of the unit count in the group."""
    bounds = parts.query.bounds
    here, first = f"LEAST(c, {parts.each})", f"rg <= {parts.groups}"
    if parts.groups * parts.each <= bounds.rows:
        return f"SELECT *, {first} AS kept, {here} AS n FROM {ranked}"
    window = "(PARTITION BY u ORDER BY rg ROWS UNBOUNDED PRECEDING)"
    before = f"{parts.dialect.big(f'SUM({here}) OVER {window}')} - {here}"
    left = f"LEAST(GREATEST({parts.rows} - before, 0), {here})"
    kept = f"({first} AND before < {parts.rows})"
    return f"SELECT *, {kept} AS kept, {left} AS n FROM (SELECT *, {before} AS before FROM {ranked}) AS o"
