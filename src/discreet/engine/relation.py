"""The rows that a question is about, as SQL: tables with their columns read into integers, and joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engine.dialect import Dialect, Held, Origin
from discreet.engine.emit import Bindings, Writer, columns_of
from discreet.engine.expression import Column, Expression, Free, Truth
from discreet.engine.plan import Join, Key, Plan, Relation
from discreet.engine.reading import read

_LISTED = 1000  # integers in a list of an IN; more are joined


@dataclass(slots=True)
class Rows:
    """A SELECT that is being written, and its writer."""

    text: str
    writer: Writer


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT for an engine, with its bound parameters and the lists that it reads from memory.

    Its columns are g0, g1, ... for the keys, `bin` where there is one, m0, m1, ... for the measures of these numbers
    (or two for each, as the totals of the dialect are), and `units` where keys are private.
    """

    text: str
    measures: tuple[int, ...]
    parameters: Mapping[str, object] = field(repr=False)
    lists: Mapping[str, object] = field(repr=False)
    bins: int | None = None
    codes: str | None = (
        None  # a SELECT of `code`, the number of the cell and bin of each row, which may be counted instead
    )


def needed(plan: Plan, values: Iterable[Expression]) -> dict[int, dict[str, Column]]:
    """Return the columns that a plan reads where these values are measured, for each scan."""
    found: dict[int, dict[str, Column]] = {scan: {} for scan in range(len(plan.relation.scans))}
    for part in (*plan.relation.joins, *plan.keys, *values, plan.where):
        for column in columns_of(part):
            found[column.scan][column.name] = column
    return found


def joined_columns(relation: Relation) -> dict[int, dict[str, Column]]:
    """Return the columns that only the joins read."""
    found: dict[int, dict[str, Column]] = {scan: {} for scan in range(len(relation.scans))}
    for column in columns_of(relation.joins):
        found[column.scan][column.name] = column
    return found


def rows_of(
    relation: Relation,
    columns: Mapping[int, Mapping[str, Column]],
    origins: Sequence[Origin],
    dialect: Dialect,
    bindings: Bindings,
) -> Rows:
    """Return the joined rows: `u0` is the unit, and the writer knows the names of the columns."""
    names = {
        (scan, name): f"c{scan}_{place}"
        for scan, read_here in columns.items()
        for place, name in enumerate(sorted(read_here))
    }
    writer = Writer(dialect, names, bindings)
    text = _scan(0, relation, columns[0], origins[0], writer)
    for join in relation.joins:
        right = _scan(join.scan, relation, columns[join.scan], origins[join.scan], writer)
        text = _joined(text, right, join, writer)
    return Rows(text, writer)


def _scan(scan: int, relation: Relation, columns: Mapping[str, Column], origin: Origin, writer: Writer) -> str:
    """Return one table: what is read is renamed first, so that no name of the source can be one of ours."""
    dialect, table = writer.dialect, relation.scans[scan]
    writer.bindings.parameters.update(origin.parameters)
    raw, outputs, where = [], [], ""
    if origin.unit is not None and not table.public:
        raw.append(f"{dialect.unit(origin.unit)} AS u{scan}")
        outputs.append(f"u{scan}")
        where = f" WHERE {origin.unit.sql} IS NOT NULL"
    if origin.weight is not None:
        raw.append(f"{origin.weight} AS w")
        outputs.append("w")
    for name, column in columns.items():
        held, called = origin.columns[name], writer.names[scan, name]
        raw.append(f"{held.sql} AS raw_{called}")
        known = Held(f"raw_{called}", held.form, held.type)
        outputs.append(f"{read(column.domain, known, writer)} AS {called}")
    listed = ", ".join(raw) or f"1 AS one{scan}"
    rows = writer.layered(f"SELECT {listed} FROM {origin.rows} AS s{where}")
    return f"SELECT {', '.join(outputs) or f'one{scan}'} FROM ({rows}) AS r"


def _joined(left: str, right: str, join: Join, writer: Writer) -> str:
    kind = {"inner": "JOIN", "left": "LEFT JOIN"}[join.kind]
    if join.by_unit:
        return f"SELECT * FROM ({left}) AS a {kind} ({right}) AS b ON a.u0 = b.u{join.scan}"
    left, mine = with_columns(left, [pair[0] for pair in join.on], writer)
    right, theirs = with_columns(right, [pair[1] for pair in join.on], writer)
    on = " AND ".join(
        f"{_equal(f'a.{one}', pair[0], writer)} = {_equal(f'b.{other}', pair[1], writer)}"
        for one, other, pair in zip(mine, theirs, join.on, strict=True)
    )
    return f"SELECT * FROM ({left}) AS a {kind} ({right}) AS b ON {on}"


def _equal(name: str, expression: Expression, writer: Writer) -> str:
    return writer.dialect.compared(name) if isinstance(expression.kind, Free) else name


def with_columns(rows: str, expressions: Iterable[Expression], writer: Writer) -> tuple[str, list[str]]:
    """Return rows with a column for each expression, and the names of these columns."""
    written = [writer.sql(expression) for expression in expressions]
    names = [writer.name("k") for _ in written]
    added = ", ".join(f"{value} AS {name}" for value, name in zip(written, names, strict=True))
    return f"SELECT r.*, {added} FROM ({writer.layered(rows)}) AS r", names


def grouped_rows(
    rows: Rows, plan: Plan, values: Mapping[str, Expression], *, has_unit: bool, weight: str | None
) -> str:
    """Return the rows after WHERE that are in a declared group: u, w, g0, g1, ... and a column for each value."""
    writer = rows.writer
    where = "" if plan.where is None else f" WHERE {writer.sql(plan.where)}"
    outputs = ["u0 AS u"] if has_unit else []
    outputs += [f"{weight} AS w"] if weight else []
    outputs += [f"{_key_sql(key, writer)} AS g{place}" for place, key in enumerate(plan.keys)]
    outputs += [f"{writer.sql(expression)} AS {name}" for name, expression in values.items()]
    text = f"SELECT {', '.join(outputs) or '1 AS one'} FROM ({writer.layered(rows.text)}) AS r{where}"
    if not plan.keys:
        return text
    inside = " AND ".join(_is_declared(f"g{place}", key, writer) for place, key in enumerate(plan.keys))
    kept = [*(["u"] if has_unit else []), *(["w"] if weight else [])]
    kept += [_narrow(f"g{place}", key, writer.dialect) for place, key in enumerate(plan.keys)]
    return f"SELECT {', '.join([*kept, *values])} FROM ({writer.layered(text)}) AS r WHERE {inside}"


def _key_sql(key: Key, writer: Writer) -> str:
    if isinstance(key.expression.kind, Truth):
        name = writer.named(key.expression)
        return f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"
    return writer.sql(key.expression)


def _is_declared(name: str, key: Key, writer: Writer) -> str:
    """Return whether an integer is one of the codes of a key; a free text only has to be there."""
    codes = key.codes
    if codes is None:
        return f"{name} IS NOT NULL"
    low, high = min(codes), max(codes)
    step = (high - low) // (len(codes) - 1) if len(codes) > 1 else 1
    between = f"{name} BETWEEN {low} AND {high}"
    if step and list(codes) in (list(range(low, high + 1, step)), list(range(high, low - 1, -step))):
        return between if step == 1 else f"{between} AND {writer.dialect.remainder(f'({name} - {low})', str(step))} = 0"
    if len(codes) <= _LISTED:
        return f"{name} IN ({', '.join(str(int(code)) for code in codes)})"
    return f"{writer.placed(name, [int(code) for code in codes], range(len(codes)))} IS NOT NULL"


def _narrow(name: str, key: Key, dialect: Dialect) -> str:
    if key.codes is None:
        return name
    return f"{dialect.narrow(name, min(key.codes), max(key.codes))} AS {name}"
