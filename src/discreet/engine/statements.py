"""Bounded queries as SQL: all measures that add up in one statement, and one more for each of the others.

The bounds are enforced as `bound.py` says: a unit's rows are put together first, by unit and group, so that what one
unit adds is a function of its own rows; only then are units summed. A weight and its quotient are cut toward zero, and
whatever one unit adds stays below 2^62.

**Why groups are chosen with FILTER.** `WHERE rg <= m` means the same, and DuckDB then sorts and joins once more, at
five times the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from discreet.engine.bound import BoundedMeasure, BoundedQuery
from discreet.engine.dialect import Dialect, Origin
from discreet.engine.emit import Bindings
from discreet.engine.expression import Expression, Number
from discreet.engine.other_statements import distinct, histogram
from discreet.engine.parts import Parts, is_wide
from discreet.engine.plan import Distinct, Histogram, Present, Rows, Total, Units
from discreet.engine.relation import Statement
from discreet.engine.units import chosen, numbers_of_groups, ranks, weighed_rows

Plain: TypeAlias = dict[int, BoundedMeasure]
Names: TypeAlias = Mapping[Expression, str]


def statements(
    query: BoundedQuery,
    origins: Sequence[Origin],
    dialect: Dialect,
    *,
    secret: object,
    counted: str | None = None,
    united: tuple[str, Mapping[Expression, str]] | None = None,
) -> tuple[Statement, ...]:
    """Return the statements of a query over tables as an engine reaches them.

    `secret` decides, with a unit and its own rows, which of them count where some are chosen. `counted` is what stands
    after FROM for the units (u) and their numbers of rows (n), and `united` for what `unit_rows` returns, with the
    names of its values, where these were made before.
    """
    table, names = united if united is not None else (None, None)
    parts = Parts(query, origins, dialect, secret, counted, table, names)
    made = []
    if query.is_private or plain_measures(query):
        made.append(additive(parts))
    for place, bounded in enumerate(query.measures):
        if isinstance(bounded.measure, Histogram):
            made.append(histogram(parts, place, bounded.measure))
        elif isinstance(bounded.measure, Distinct):
            made.append(distinct(parts, place, bounded.measure))
    return tuple(made)


def plain_measures(query: BoundedQuery) -> Plain:
    """Return the measures that are sums over units, by their numbers."""
    every = enumerate(query.measures)
    return {place: bounded for place, bounded in every if not isinstance(bounded.measure, Distinct | Histogram)}


def additive(parts: Parts) -> Statement:
    """Return the one statement of all measures that are sums over units."""
    plain, bindings = plain_measures(parts.query), Bindings()
    write = {"rows": _rows, "weighted": _weighted, "groups": _groups, "sampled": _sampled}[parts.query.form]
    text = (write if parts.has_unit else _rows)(parts, plain, bindings)
    return Statement(text, tuple(plain), bindings.parameters, bindings.lists)


def unit_rows(
    query: BoundedQuery, origins: Sequence[Origin], dialect: Dialect, *, secret: object, values: Sequence[Expression]
) -> tuple[Statement, Mapping[Expression, str]]:
    """Return what can be kept of a query in the forms `groups` and `sampled`: rows of units and groups, with ranks
    where these are sampled; and the names of the values in them.
    """
    parts, bindings = Parts(query, origins, dialect, secret), Bindings()
    text, names = _united(parts, values, bindings)
    if query.form == "sampled":
        text = ranks(parts, f"({text}) AS a", bindings)
    return Statement(text, (), bindings.parameters, bindings.lists), names


def values_of(query: BoundedQuery) -> tuple[Expression, ...]:
    """Return every expression that is counted or summed, once."""
    measures = (each.measure for each in plain_measures(query).values())
    return tuple(dict.fromkeys(each.expression for each in measures if isinstance(each, Present | Total)))


def _grouped(parts: Parts, outputs: Sequence[str], rows: str, *, having: str = "") -> str:
    by = f" GROUP BY {', '.join(parts.keys)}" if parts.keys else ""
    return f"SELECT {', '.join([*parts.keys, *outputs])} FROM {rows}{by}{having}"


def _base(parts: Parts, values: Sequence[Expression], bindings: Bindings) -> tuple[str, Names]:
    names = {expression: f"x{place}" for place, expression in enumerate(values)}
    return parts.base({name: expression for expression, name in names.items()}, bindings), names


def _rows(parts: Parts, plain: Plain, bindings: Bindings) -> str:
    """Every row counts, since a row is a unit."""
    base, names = _base(parts, values_of(parts.query), bindings)
    outputs: list[str] = []
    for place, bounded in plain.items():
        match bounded.measure:
            case Present(expression):
                outputs.append(f"COUNT({names[expression]}) AS m{place}")
            case Total(expression):
                outputs += parts.dialect.totals(names[expression], f"m{place}")
            case _:
                outputs.append(f"COUNT(*) AS m{place}")
    if parts.query.is_private:
        outputs.append("COUNT(*) AS units")
    return _grouped(parts, outputs, f"({base}) AS b")


def _weighted(parts: Parts, plain: Plain, bindings: Bindings) -> str:
    """Each row of a unit with n > R rows counts R / n."""
    base, names = _base(parts, values_of(parts.query), bindings)
    outputs = list[str]()
    for place, bounded in plain.items():
        match bounded.measure:
            case Total(expression):
                assert isinstance(expression.kind, Number)
                value = parts.weighted(names[expression], bounded.scale, expression.kind)
            case Present(expression):
                value = f"CASE WHEN {names[expression]} IS NOT NULL THEN w END"
            case _:
                value = "w"
        outputs += parts.dialect.totals(value, f"m{place}")
    return _grouped(parts, outputs, weighed_rows(parts, base, bindings))


def _united(parts: Parts, values: Sequence[Expression], bindings: Bindings) -> tuple[str, Names]:
    """Return one row for each unit and group: c rows, of each value v that are there, and their sum s."""
    if parts.united is not None and parts.names is not None:
        return f"SELECT * FROM {parts.united} AS s", parts.names
    base, names = _base(parts, values, bindings)
    outputs = ["COUNT(*) AS c"]
    for expression, name in names.items():
        outputs.append(f"COUNT({name}) AS v{name}")
        if isinstance(expression.kind, Number):
            outputs.append(f"{parts.dialect.own_sum(name, wide=is_wide(expression.kind))} AS s{name}")
    rows = parts.dialect.gathered(base, f"u{parts.order}")
    return f"SELECT u{parts.order}, {', '.join(outputs)} FROM ({rows}) AS b GROUP BY u{parts.order}", names


def _groups(parts: Parts, plain: Plain, bindings: Bindings) -> str:
    """k rows of a unit in a group count, and each of its n groups counts min(1, m / n)."""
    united, names = _united(parts, values_of(parts.query), bindings)
    text = f"WITH a AS {parts.dialect.materialized} ({united})"
    cells = ", ".join(f"{_cut(parts, bounded, names, str(parts.each))} AS y{place}" for place, bounded in plain.items())
    rows = f"(SELECT u{parts.order}, {cells} FROM a) AS y"
    outputs = list[str]()
    if not parts.query.weighs:
        for place in plain:
            outputs += parts.dialect.totals(f"y{place}", f"m{place}")
        return f"{text} {_grouped(parts, outputs, rows)}"
    for place, bounded in plain.items():
        part = parts.shared(f"y{place}", str(parts.groups), "n", _most(bounded, parts) * parts.groups)
        outputs += parts.dialect.totals(f"CASE WHEN n <= {parts.groups} THEN y{place} ELSE {part} END", f"m{place}")
    if parts.dialect.windows:
        weighed = f"(SELECT u{parts.order}, {cells}, COUNT(*) OVER (PARTITION BY u) AS n FROM a) AS y"
    else:
        weighed = f"{rows} JOIN ({numbers_of_groups('a')}) AS h ON y.u = h.u"
    return f"{text} {_grouped(parts, outputs, weighed)}"


def _cut(parts: Parts, bounded: BoundedMeasure, names: Names, limit: str) -> str:
    """Return what a unit adds to a group of which at most `limit` of its rows count."""
    scale = "" if bounded.scale == 1 else f" * {bounded.scale}"
    match bounded.measure:
        case Rows():
            return f"LEAST(c, {limit}){scale}"
        case Present(expression):
            return f"LEAST(v{names[expression]}, {limit}){scale}"
        case Units():
            return parts.dialect.big(str(bounded.scale))
        case Total(expression):
            assert isinstance(expression.kind, Number)
            name = names[expression]
            return parts.cut_sum(f"s{name}", f"v{name}", limit, bounded.scale, expression.kind)
        case Distinct() | Histogram():
            raise AssertionError(bounded.measure)
        case _:
            assert_never(bounded.measure)


def _most(bounded: BoundedMeasure, parts: Parts) -> int:
    """Return the greatest magnitude of what a unit adds to a group."""
    match bounded.measure:
        case Total(expression):
            assert isinstance(expression.kind, Number)
            return expression.kind.most * bounded.scale * parts.each
        case Units():
            return bounded.scale
        case _:
            return bounded.scale * parts.each


def _sampled(parts: Parts, plain: Plain, bindings: Bindings) -> str:
    """m groups of a unit count, by a secret order, and of its rows in them R in that order, k in each."""
    united, names = _united(parts, values_of(parts.query), bindings)
    ranked = united if parts.united is not None else ranks(parts, f"({united}) AS a", bindings)
    outputs: list[str] = []
    for place, bounded in plain.items():
        if isinstance(bounded.measure, Units):
            outputs.append(f"COUNT(*) FILTER (WHERE kept) AS m{place}")
        else:
            outputs += parts.dialect.totals(f"y{place}", f"m{place}", "kept")
    cells = "".join(f", {_cut(parts, bounded, names, 'n')} AS y{place}" for place, bounded in plain.items())
    z = chosen(parts, f"({ranked}) AS o")
    rows = f"(SELECT u{parts.order}, kept{cells} FROM ({z}) AS z) AS y"
    counted = "COUNT(*) FILTER (WHERE kept)"
    return _grouped(parts, [*outputs, f"{counted} AS units"], rows, having=f" HAVING {counted} > 0")
