"""Random questions about random tables, with pairs of neighbours: what the recorder and the engines are tried on.

case = make(seed)                  # schemas, rows, a typed plan, and the bounds that the question asks for
case.query(neighbours)             # bounded, or None where it is refused
case.pairs(rng, neighbours)        # neighbours of its tables: a unit gone, from anywhere, or other rows for it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

import pyarrow as pa

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.plan import (
    Distinct,
    Histogram,
    Join,
    Key,
    Measure,
    Plan,
    Present,
    Relation,
    Rows,
    Total,
    Units,
)
from discreet.errors import Refused
from tests.plan_expressions import Expressions, arithmetic, number, start_of
from tests.plan_schemas import Field, Row, Schema, fields
from tests.reference_expressions import read

Rows_ = tuple[list[Row], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A question with tables to ask it about."""

    seed: int
    schemas: tuple[Schema, ...]
    rows: Rows_
    plan: Plan
    groups_per_unit: int | None = None
    rows_per_group: int | None = None

    def query(self, neighbours: dp.Neighbours) -> BoundedQuery | None:
        """The bounded query; None where it is refused, which is in words."""
        asked = {"groups_per_unit": self.groups_per_unit, "rows_per_group": self.rows_per_group}
        try:
            return bound(self.plan, neighbours=neighbours, **asked)
        except Refused:
            return None

    def over(self, rows: Rows_) -> Plan:
        """The plan with tables that hold these rows."""
        tables = tuple(s.table(s.arrow(part)) for s, part in zip(self.schemas, rows, strict=True))
        return replace(self.plan, relation=replace(self.plan.relation, scans=tables))

    @property
    def private(self) -> list[int]:
        """The scans that hold people."""
        return [scan for scan, schema in enumerate(self.schemas) if not schema.public]

    def units(self) -> list[object]:
        """Everyone who has a row, the owner of the first row first."""
        if self.schemas[0].unit is None:
            return list(range(len(self.rows[0])))
        return list(dict.fromkeys(row["u"] for scan in self.private for row in self.rows[scan] if row["u"] is not None))

    def without(self, unit: object, instead: Rows_ | None = None) -> Rows_:
        """The tables without the rows of a unit, or with others of its own in their place."""
        found = []
        for scan, part in enumerate(self.rows):
            if self.schemas[scan].public:
                kept = part
            elif self.schemas[scan].unit is None:
                kept = [row for number, row in enumerate(part) if number != unit]
            else:
                kept = [row for row in part if row["u"] != unit]
            found.append(kept + (instead[scan] if instead else []))
        return tuple(found)

    def pairs(self, rng: Random, neighbours: dp.Neighbours, *, most: int) -> Iterator[Rows_]:
        """Neighbours of the tables: without a unit (the first one always), or with other rows for it."""
        everyone = self.units()
        for unit in everyone[:1] + rng.sample(everyone[1:], min(most - 1, len(everyone) - 1) if everyone else 0):
            if neighbours is dp.Neighbours.ADD_REMOVE:
                yield self.without(unit)
            else:
                owner = None if self.schemas[0].unit is None else unit
                yield self.without(unit, rows_of(rng, self.schemas, owner, self.rows))


def make(seed: int) -> Case:
    """A case that depends on the seed alone."""
    rng = Random(seed)
    schemas, joins, public = tables(rng)
    rows = population(rng, schemas, public)
    # Plans are made over declarations; the frames are empty.
    scans = tuple(schema.table(schema.arrow([])) for schema in schemas)
    columns = tuple(field.at(scan) for scan, schema in enumerate(schemas) for field in schema.fields)
    made = Expressions(rng, columns)
    private = schemas[0].name == "keyed"
    keys = public_keys(made) if not private or rng.random() < 0.3 else ()
    if private:
        texts = [column for column in made.of(ex.Free) if not schemas[column.scan].public]
        found: ex.Expression = rng.choice(texts)
        if rng.random() < 0.2:
            found = ex.Coalesce((found, ex.Constant("none", ex.FREE)), ex.FREE)
        keys = (*keys, Key(found, None, None))
    where = made.truth(2) if rng.random() < 0.6 else None
    measures = tuple(measure(made, schemas[0]) for _ in range(rng.randint(1, 4)))
    plan = Plan(Relation(scans, joins), where, keys, measures, ())
    asked = schemas[0].unit is not None and rng.random() < 0.4
    m, k = (
        min((getattr(schema, bound) for schema in schemas if getattr(schema, bound)), default=3)
        for bound in ("groups_per_unit", "rows_per_group")
    )
    each = rng.randint(1, k) if asked and rng.random() < 0.7 else None
    return Case(seed, schemas, rows, plan, rng.randint(1, m) if asked else None, each)


def tables(rng: Random) -> tuple[tuple[Schema, ...], tuple[Join, ...], dict[int, list[Row]]]:
    """A private table, sometimes with a public one on its key, or another private one on the unit, or both."""
    private_keys = rng.random() < 0.25
    unit = rng.choice((None, pa.int64(), pa.string())) if rng.random() < 0.9 else None
    name = "keyed" if private_keys else "visits"

    def schema(name: str, prefix: str) -> Schema:
        made = fields(rng, prefix, private_keys=private_keys and name == "keyed")
        if unit is None:
            return Schema(name, made)
        m, k = (rng.choice((None, None, rng.randint(1, 3))) for _ in range(2))
        return Schema(name, made, unit, rng.choice((1, 2, 3, 3, 5, 20)), m, k)

    schemas, joins, public = [schema(name, "a")], [], {}
    if unit is not None and rng.random() < 0.2:
        schemas.append(schema("more", "b"))
        joins.append(Join(1, rng.choice(("inner", "left")), True, (), 1))
    if rng.random() < 0.3:
        scan, left = len(schemas), schemas[0].fields[0]
        own = Field("p0", left.domain, left.stored, left.make)
        other = Schema("wards", (own, *fields(rng, "q", private_keys=False)), public=True)
        rows = [other.row(rng) for _ in range(rng.randint(1, 6))]
        for row in rows[1:]:
            row["p0"] = rng.choice((row["p0"], rows[0]["p0"]))
        if private_keys:  # one partner at most, since a row counts once in a private key
            rows = rows[:1]
        schemas.append(other)
        found = [value for row in rows if (value := read(row["p0"], own.domain)) is not None]
        fan = max(map(found.count, found), default=1)
        joins.append(Join(scan, rng.choice(("inner", "left")), False, ((left.at(0), own.at(scan)),), fan))
        public[scan] = rows
    return tuple(schemas), tuple(joins), public


def rows_of(rng: Random, schemas: tuple[Schema, ...], unit: object, others: Rows_) -> Rows_:
    """Rows of one unit: one, a few, or many; all alike, all different, or those of somebody else."""
    found: list[list[Row]] = []
    for scan, schema in enumerate(schemas):
        if schema.public:
            found.append([])
            continue
        count = 1 if schema.unit is None else rng.choice((0, 1, 1, 2, 3, 5, 8, 30))
        if scan and schema.unit is not None:
            count = min(count, 4)
        alike = rng.random() < 0.3
        first = schema.row(rng, unit)
        made = [first if alike else schema.row(rng, unit) for _ in range(count)]
        if others[scan] and rng.random() < 0.2:
            made = [rng.choice(others[scan]) | ({"u": unit} if schema.unit else {}) for _ in range(count)]
        found.append(made)
    return tuple(found)


def population(rng: Random, schemas: tuple[Schema, ...], public: dict[int, list[Row]]) -> Rows_:
    """Rows of up to six units, in any order, some of nobody."""
    found: list[list[Row]] = [list(public.get(scan, [])) for scan in range(len(schemas))]
    for place in range(rng.randint(0, 6)):
        unit: object = place - 1
        if schemas[0].unit == pa.string():
            unit = ("", "7", "7 ", "Ada", "ada", "é")[place]
        for part, more in zip(found, rows_of(rng, schemas, unit, tuple(found)), strict=True):
            part += more
    if schemas[0].unit is not None:
        found[0] += [schemas[0].row(rng) for _ in range(rng.choice((0, 3)))]
    for part in found:
        rng.shuffle(part)
    return tuple(found)


def public_keys(made: Expressions) -> tuple[Key, ...]:
    rng = made.rng
    found: list[Key] = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        key = public_key(made)
        if key is not None and len(key.codes or ()) <= 60:
            found.append(key)
    return tuple(found)


def public_key(made: Expressions) -> Key | None:
    """A declared column, bins, a date part, the start of a month, a truth value, or a number of few values."""
    rng = made.rng
    match rng.randint(0, 6):
        case 0:
            return key_of(made.truth(1))
        case 1:
            part = made.part()
            return None if part is None or getattr(part, "part", "") == "year" else key_of(part)
        case 2:
            start = made.truncated()
            return None if start is None or not isinstance(start.kind, ex.Day) else key_of(start)
        case 3:
            binned = made.binned()
            return None if binned is None else key_of(binned)
        case 4:
            return key_of(made.number(1))
        case _:
            leaves = made.of(ex.Coded, ex.Truth, ex.Number, ex.Day)
            return key_of(rng.choice(leaves)) if leaves else None


def key_of(expression: ex.Expression) -> Key | None:
    match expression.kind:
        case ex.Coded(domain):
            return Key(expression, domain.values, range(domain.declared))
        case ex.Truth():
            return Key(expression, (False, True), range(2))
        case ex.Day(low, high):
            codes = range(low, high + 1)
            if isinstance(expression, ex.Truncated) and len(codes) < 2000:  # in an order and with gaps
                codes = [code for code in codes if start_of(expression.unit, code, ex.Day(code, code)) == code]  # type: ignore[assignment]
            days = [date(1970, 1, 1) + timedelta(days=code) for code in codes] if len(codes) <= 60 else []
            return Key(expression, days, codes) if days else None
        case ex.Number(_, low, high):
            codes = range(low, high + 1)
            return Key(expression, tuple(map(float, codes)), codes) if len(codes) <= 60 else None
    return None


def measure(made: Expressions, first: Schema) -> Measure:
    rng = made.rng
    anything = rng.choice((*made.columns, made.number(1), made.truth(1)))
    match rng.randint(0, 8):
        case 0 | 1:
            return Rows()
        case 2:
            return Present(anything)
        case 3 if first.unit is not None:
            return Units()
        case 4:
            return Distinct(anything)
        case 5:
            return histogram(made)
        case _:
            return Total(made.number(2))


def histogram(made: Expressions) -> Measure:
    """Counts in bins, of which the expression is the place."""
    leaves = [column for column in made.of(ex.Coded, ex.Number) if isinstance(column.domain, dp.Bins | dp.Integer)]
    if not leaves:
        return Rows()
    column = made.rng.choice(leaves)
    assert isinstance(column.domain, dp.Bins | dp.Integer)
    if isinstance(column.domain, dp.Bins):
        return Histogram(column, column.domain)
    return Histogram(arithmetic("-", column, number(column.domain.lower)), column.domain)
