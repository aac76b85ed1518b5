"""Histograms and counts of different values as SQL: one statement each, beside the one of all sums."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engine.emit import Bindings
from discreet.engine.expression import Free
from discreet.engine.parts import Parts
from discreet.engine.plan import Distinct, Histogram
from discreet.engine.relation import Statement
from discreet.engine.units import chosen, hashed_order, numbers_of_groups, ranks, weighed_rows


def histogram(parts: Parts, place: int, measure: Histogram) -> Statement:
    """Return the statement of the numbers of rows in bins: the value `x` is the place of a bin, then called `bin`."""
    bindings = Bindings()
    base = parts.base({"x": measure.expression}, bindings)
    inside = f"x BETWEEN 0 AND {measure.bins.declared - 1}"
    scale = parts.query.measures[place].scale
    form = parts.query.form if parts.has_unit else "rows"
    write = {"rows": _rows, "weighted": _weighted, "groups": _groups, "sampled": _sampled}[form]
    text = write(parts, f"m{place}", scale, base, inside, bindings)
    codes = _codes(parts, measure.bins.declared, base, inside) if form == "rows" else None
    return Statement(text, (place,), bindings.parameters, bindings.lists, measure.bins.declared, codes)


def _codes(parts: Parts, bins: int, base: str, inside: str) -> str | None:
    """Return rows as the numbers of their cells and bins, the bin fastest; None where the codes of a key have gaps."""
    code = "0"
    for name, key in zip(parts.keys, parts.query.plan.keys, strict=True):
        if key.codes is None or list(key.codes) != list(range(key.codes[0], key.codes[0] + len(key.codes))):
            return None
        code = f"({code} * {len(key.codes)} + CAST({name} AS {parts.dialect.bigint}) - {key.codes[0]})"
    number = parts.dialect.narrow(f"{code} * {bins} + x", 0, parts.query.cells * bins)
    return f"SELECT {number} AS code FROM ({base}) AS b WHERE {inside}"


def _binned(parts: Parts, outputs: Sequence[str], rows: str, where: str) -> str:
    return f"SELECT {', '.join([*parts.keys, 'x AS bin', *outputs])} FROM {rows} WHERE {where} GROUP BY x{parts.order}"


def _rows(parts: Parts, name: str, scale: int, base: str, inside: str, bindings: Bindings) -> str:
    return _binned(parts, [f"COUNT(*) AS {name}"], f"({base}) AS b", inside)


def _weighted(parts: Parts, name: str, scale: int, base: str, inside: str, bindings: Bindings) -> str:
    return _binned(parts, parts.dialect.totals("w", name), weighed_rows(parts, base, bindings), inside)


def _by_bin(parts: Parts, base: str, inside: str) -> str:
    """Return `e`, one row for each unit, group and bin, or NULL, with cb rows; and `a`, those of a unit and group: c
    rows, cx of them in a bin.
    """
    binned = f"SELECT u{parts.order}, CASE WHEN {inside} THEN x END AS x FROM ({base}) AS b"
    each = f"SELECT u{parts.order}, x, COUNT(*) AS cb FROM ({binned}) AS b GROUP BY u{parts.order}, x"
    big = parts.dialect.big
    of_group = f"{big('SUM(cb)')} AS c, {big('SUM(CASE WHEN x IS NOT NULL THEN cb ELSE 0 END)')} AS cx"
    return (
        f"e AS {parts.dialect.materialized} ({each}), "
        f"a AS {parts.dialect.materialized} (SELECT u{parts.order}, {of_group} FROM e GROUP BY u{parts.order})"
    )


def _same(parts: Parts, left: str, right: str) -> str:
    return " AND ".join(f"{left}.{key} = {right}.{key}" for key in ["u", *parts.keys])


def _groups(parts: Parts, name: str, scale: int, base: str, inside: str, bindings: Bindings) -> str:
    limit = parts.each
    # cb is below 2^31 and so is k
    cut = parts.shared(f"(cb * {scale})", str(limit), "cx", (1 << 31) * scale * limit)
    value = f"CASE WHEN cx <= {limit} THEN cb * {scale} ELSE {cut} END AS y"
    keys = "".join(f", e.{key}" for key in parts.keys)
    rows = f"(SELECT e.u{keys}, e.x, {value} FROM e JOIN a ON {_same(parts, 'e', 'a')} WHERE e.x IS NOT NULL) AS y"
    text = f"WITH {_by_bin(parts, base, inside)}"
    if not parts.query.weighs:
        return f"{text} {_binned(parts, parts.dialect.totals('y', name), rows, 'x IS NOT NULL')}"
    part = parts.shared("y", str(parts.groups), "n", scale * limit * parts.groups)
    outputs = parts.dialect.totals(f"CASE WHEN n <= {parts.groups} THEN y ELSE {part} END", name)
    rows = f"{rows} JOIN ({numbers_of_groups('a')}) AS h ON y.u = h.u"
    return f"{text} {_binned(parts, outputs, rows, 'x IS NOT NULL')}"


def _sampled(parts: Parts, name: str, scale: int, base: str, inside: str, bindings: Bindings) -> str:
    cut = parts.shared(f"(cb * {scale})", "n", "cx", (1 << 31) * scale * parts.each)
    value = f"CASE WHEN cx <= n THEN cb * {scale} ELSE {cut} END AS y"
    keys = "".join(f", e.{key}" for key in parts.keys)
    joined = f"e JOIN z ON {_same(parts, 'e', 'z')}"
    rows = f"(SELECT e.u{keys}, e.x, z.kept, {value} FROM {joined} WHERE e.x IS NOT NULL) AS y"
    outputs = parts.dialect.totals("y", name, "kept")
    z = chosen(parts, f"({ranks(parts, 'a', bindings)}) AS o")
    text = f"WITH {_by_bin(parts, base, inside)}, z AS ({z})"
    return f"{text} {_binned(parts, outputs, rows, 'x IS NOT NULL')} HAVING COUNT(*) FILTER (WHERE kept) > 0"


def distinct(parts: Parts, place: int, measure: Distinct) -> Statement:
    """Return the statement of the numbers of different values.

    Of the different pairs of a group and a value that a unit has, as many as its rows may be count, by a secret order.
    """
    bindings = Bindings()
    base, name = parts.base({"x": measure.expression}, bindings), f"m{place}"
    by = f" GROUP BY {', '.join(parts.keys)}" if parts.keys else ""
    if parts.query.form == "rows" or not parts.has_unit:
        outputs = [*parts.keys, f"COUNT(DISTINCT x) AS {name}"]
        text = f"SELECT {', '.join(outputs)} FROM ({base}) AS b{by}"
        return Statement(text, (place,), bindings.parameters, bindings.lists)
    pairs, kept = f"SELECT u{parts.order}, x FROM b WHERE x IS NOT NULL GROUP BY u{parts.order}, x", ""
    if parts.query.form == "sampled":
        groups = f"SELECT u{parts.order}, COUNT(*) AS c FROM b GROUP BY u{parts.order}"
        ranked = ranks(parts, f"({groups}) AS a", bindings)
        kept = f", z AS ({chosen(parts, f'({ranked}) AS o')})"
        keys = "".join(f", e.{key}" for key in parts.keys)
        pairs = f"SELECT e.u{keys}, e.x FROM ({pairs}) AS e JOIN z ON {_same(parts, 'e', 'z')} WHERE z.kept"
    order = hashed_order(parts, bindings, "x")
    value = parts.dialect.compared("x") if isinstance(measure.expression.kind, Free) else "x"
    window = f"ROW_NUMBER() OVER (PARTITION BY u ORDER BY o{parts.compared_order}, {value})"
    every = f"SELECT *, {window} AS rd FROM (SELECT *, {order} AS o FROM ({pairs}) AS e) AS e"
    most = min(parts.query.bounds.greatest()[0], 1 << 62)
    counted = f"COUNT(DISTINCT x) FILTER (WHERE rd <= {most}) AS {name}"
    listed = ", ".join([*parts.keys, counted])
    text = f"WITH b AS ({base}){kept} SELECT {listed} FROM ({every}) AS o{by}"
    return Statement(text, (place,), bindings.parameters, bindings.lists)
