"""What every engine has to agree on: how columns are read, what expressions are, whom a unit is. By hand-made rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet import dp
from discreet.engine import expression as ex
from discreet.engine.backend import PublicGroups
from discreet.engine.bound import BoundedQuery, bound
from discreet.engine.plan import Distinct, Histogram, Join, Key, Measure, Plan, Present, Relation, Rows, Total, Units
from tests.conformance import Place, duckdb_place, postgres_place, spark_place
from tests.engine_values import TEXTS, check_read, columns, schema
from tests.plan_schemas import Field, Row, Schema
from tests.reference import Oracle, dense, exact
from tests.running import opened


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Where rows are put: one test, every engine. A server is only started for the tests that need it."""
    match request.param:
        case "duckdb":
            yield duckdb_place()
        case "postgres":
            yield postgres_place(request.getfixturevalue("postgres"))
        case _:
            yield spark_place(request.getfixturevalue("spark"))


def test_every_column_type_is_read_into_the_same_integers(place: Place) -> None:
    made, rows = schema(columns())
    read = [field.at(0) for field in made.fields]
    assert check_read(place, made, rows, read) > 1_000


PARTS = ["year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute"]


def test_parts_and_starts_of_days_and_seconds(place: Place) -> None:
    made, rows = schema([each for each in columns() if isinstance(each[0], dp.Date | dp.Datetime)][::4])
    wide = ex.Number(Fraction(1), -(2**40), 2**40)
    asked: list[ex.Expression] = []
    for of in made.fields[1:]:
        moment = of.at(0)
        asked += [ex.Part(part, moment, wide) for part in PARTS]  # type: ignore[arg-type]
        asked += [ex.Truncated(unit, moment, moment.kind) for unit in UNITS]  # type: ignore[arg-type]
        if isinstance(moment.kind, ex.Instant):
            asked.append(ex.AsDay(moment, ex.Day(-(10**6), 10**7)))
    assert check_read(place, made, rows, asked) > 1_000


def constant(value: int | None) -> ex.Constant:
    return ex.Constant(value, ex.Number(Fraction(1), -(2**40), 2**40))


def test_division_comparison_and_logic(place: Place) -> None:
    """Cut toward zero; by zero NULL; three-valued, with every pair of values."""
    number, truth = dp.Integer(-7, 7), dp.Boolean()
    values = [-7, -3, -1, 0, 1, 2, 7, None]
    pairs = [(left, right) for left in values for right in values]
    made, rows = schema(
        [
            (number, pa.int64(), [left for left, _ in pairs]),
            (number, pa.int64(), [right for _, right in pairs]),
            (truth, pa.bool_(), [(True, False, None)[n % 3] for n in range(len(pairs))]),
            (truth, pa.bool_(), [(True, False, None)[n // 3 % 3] for n in range(len(pairs))]),
        ]
    )
    left, right, one, other = (of.at(0) for of in made.fields[1:])
    wide = ex.Number(Fraction(1), -100, 100)
    few = ex.Member(left, (1, 2))
    asked: list[ex.Expression] = [ex.Arithmetic(op, left, right, wide) for op in ("+", "-", "*", "//", "%")]  # type: ignore[arg-type]
    asked += [ex.Comparison(op, left, right) for op in ("=", "<>", "<", "<=", ">", ">=")]  # type: ignore[arg-type]
    asked += [ex.Comparison(op, one, other) for op in ("=", "<>")]  # type: ignore[arg-type]
    asked += [ex.Logical(op, (one, other)) for op in ("and", "or")]  # type: ignore[arg-type]
    asked += [ex.Not(one), ex.IsNull(left), few, ex.Not(few), ex.Member(left, ())]
    asked += [ex.Extreme(op, (left, right), wide) for op in ("least", "greatest")]  # type: ignore[arg-type]
    asked += [ex.Coalesce((left, right, constant(5)), wide)]
    asked += [ex.Case(((one, left), (other, right)), constant(None), wide)]
    asked += [ex.Arithmetic("//", left, constant(0), wide), ex.Arithmetic("%", constant(7), constant(0), wide)]
    assert check_read(place, made, rows, asked) > 1_000


def field(name: str, domain: dp.domain.Column, kind: pa.DataType) -> Field:
    return Field(name, domain, kind, lambda _: None)


WARD = field("ward", dp.Category(["north", "south", "icu"]), pa.string())
COST = field("cost", dp.Real(-10, 50, step="0.5"), pa.float64())
NOTE = field("note", dp.Text(), pa.string())
PEOPLE = ["", " ", "a", "A", "a ", "\u00e4", "a\u0308", "1", "01", "1.0", "NULL", "\N{GRINNING FACE}"]
MEASURES: tuple[Measure, ...] = (Rows(), Units(), Present(COST.at(0)), Total(COST.at(0)))


def visits(**bounds: int) -> Schema:
    return Schema("visits", (WARD, COST, NOTE), pa.string(), **bounds)


def rows() -> list[Row]:
    """People with one to twelve visits, and 40 visits of nobody, of which nothing may be seen."""
    made: list[Row] = []
    for number, person in enumerate([*PEOPLE, None]):
        for visit in range(number + 1 if person is not None else 40):
            ward = ("north", "south", "icu", "North", None)[(number + visit) % 5]
            cost = (7.25, -10.0, None, 50.0, 51.0, float("nan"))[visit % 6]
            made.append({"u": person, "ward": ward, "cost": cost, "note": TEXTS[visit % 9]})
    return made


def key(of: Field, scan: int = 0) -> Key:
    domain = of.domain
    assert isinstance(domain, dp.Category)
    return Key(of.at(scan), domain.values, range(domain.declared))


BY_NOTE = Key(NOTE.at(0), None, None)


def asked(place: Place, made: Schema, held: list[Row], *measures: Measure, keys: tuple[Key, ...] = ()) -> BoundedQuery:
    plan = Plan(Relation((place.table(made, held),)), None, keys, measures, ())
    return bound(plan, neighbours=dp.Neighbours.ADD_REMOVE)


def check(place: Place, query: BoundedQuery, tables: list[list[Row]]) -> BoundedQuery:
    """What an engine returns is what the oracle returns, cell by cell."""
    groups = place.run(query)
    if query.is_private:
        assert opened(query, groups) == Oracle(query).run(tables)
        return query
    assert isinstance(groups, PublicGroups)
    expected = dense(query, exact(query, tables))
    for n, (here, there) in enumerate(zip(groups.measures, expected, strict=True)):
        np.testing.assert_array_equal(np.asarray(here._value), there, err_msg=f"{place.name}, measure {n}")
    return query


@pytest.mark.parametrize(
    "bounds", [{"rows_per_unit": 3}, {"rows_per_unit": 12, "groups_per_unit": 2, "rows_per_group": 2}]
)
def test_units_are_compared_byte_by_byte_and_nobody_is_left_out(place: Place, bounds: dict[str, int]) -> None:
    """A weight for each of twelve people; an id that is missing, empty, or ends with a blank."""
    histogram = Histogram(ex.Lookup(WARD.at(0), (0, 1, 2), ex.Number(Fraction(1), 0, 2)), dp.Integer(0, 2))
    measures = (*(MEASURES if "rows_per_group" in bounds else (MEASURES[0], *MEASURES[2:])), histogram)
    check(place, asked(place, visits(**bounds), rows(), *measures, keys=(key(WARD),)), [rows()])


def test_everyone_counts_once(place: Place) -> None:
    query = check(place, asked(place, visits(rows_per_unit=1), rows(), Units()), [rows()])
    groups = place.run(query)
    assert isinstance(groups, PublicGroups)
    assert np.asarray(groups.measures[0]._value).tolist() == len(PEOPLE) * query.measures[0].scale


def test_private_keys_and_different_values(place: Place) -> None:
    """With bounds that nobody reaches nothing depends on a secret."""
    keys = (key(WARD), BY_NOTE)
    check(place, asked(place, visits(rows_per_unit=99), rows(), *MEASURES, Distinct(COST.at(0)), keys=keys), [rows()])


def test_a_secret_decides_whose_groups_count(place: Place) -> None:
    """One group of each unit: as many units in all as there are, and no group that is empty."""
    made = visits(rows_per_unit=12, groups_per_unit=1)
    query = asked(place, made, rows(), Units(), Rows(), keys=(BY_NOTE,))
    found = opened(query, place.run(query))
    assert sum(found.units.values()) == sum(found.measures[0].values()) == len(PEOPLE)
    assert min(found.units.values()) >= 1


@pytest.mark.parametrize("bounds", [{}, {"groups_per_unit": 1, "rows_per_group": 1}])
def test_sums_beyond_64_bits(place: Place, bounds: dict[str, int]) -> None:
    """Of one unit, of whose 100 numbers 2 count, and of all units, whose sum is cut to 62 bits."""
    big = field("big", dp.Integer(-(2**29), 2**29), pa.int64())
    made = Schema("large", (WARD, big), pa.int64(), rows_per_unit=2, **bounds)
    product = ex.Arithmetic("*", big.at(0), big.at(0), ex.Number(Fraction(1), -(2**58), 2**58))
    held: list[Row] = [{"u": n // 100, "ward": "north", "big": 2**29 - n % 3} for n in range(6000)]
    held += [{"u": n, "ward": "south", "big": -(2**29) + n} for n in range(3)]
    check(place, asked(place, made, held, Total(product), Total(big.at(0)), Rows(), keys=(key(WARD),)), [held])


def test_empty_tables_have_every_cell(place: Place) -> None:
    check(place, asked(place, visits(rows_per_unit=2), [], *MEASURES, keys=(key(WARD),)), [[]])
    unowned = [row | {"u": None} for row in rows()]
    query = check(place, asked(place, visits(rows_per_unit=2), unowned, Rows(), keys=(BY_NOTE,)), [unowned])
    assert opened(query, place.run(query)).units == {}


def test_joins(place: Place) -> None:
    """With another private table on the unit, and with a public one on its key: what has no partner, and several."""
    stays = Schema("stays", (replace(COST, name="bill"),), pa.string(), rows_per_unit=2)
    own = field("name", WARD.domain, pa.string())
    wards = Schema("wards", (own, field("beds", dp.Integer(0, 99), pa.int32())), public=True)
    bills: list[Row] = [{"u": person, "bill": 2.5 * n} for n, person in enumerate(["a", "A", "a", None, "", "x", "a"])]
    beds: list[Row] = [{"name": name, "beds": n} for n, name in enumerate(["north", "icu", "icu", None, "North"])]
    schemas, tables = (visits(rows_per_unit=3), stays, wards), [rows(), bills, beds]
    scans = tuple(place.table(made, held) for made, held in zip(schemas, tables, strict=True))
    joins = (Join(1, "inner", True, (), 1), Join(2, "left", False, ((WARD.at(0), own.at(2)),), 2))
    measures = (Rows(), Total(stays.fields[0].at(1)), Total(wards.fields[1].at(2)), Present(own.at(2)))
    plan = Plan(Relation(scans, joins), None, (key(WARD),), measures, ())
    check(place, bound(plan, neighbours=dp.Neighbours.ADD_REMOVE), tables)
    with place.engine(scans) as engine:
        assert engine.fan_out(scans[2], ("name",)) == 2  # type: ignore[attr-defined]
