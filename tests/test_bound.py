"""How far one unit moves a question, by formulas written independently; which form bounds it; and what is refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet import dp
from discreet.dp.rational import sqrt_up
from discreet.engine import expression as ex
from discreet.engine.bound import MAX_CELLS, BoundedMeasure, BoundedQuery, Bounds, bound, rows_of
from discreet.engine.plan import (
    Distinct,
    Histogram,
    Join,
    Key,
    Measure,
    Output,
    Plan,
    Present,
    Relation,
    Released,
    Rows,
    Total,
    Units,
)
from discreet.engine.table import Table
from discreet.errors import InvalidParameter, NeedsDeclaration, NotSupported

ADD, REPLACE = dp.Neighbours.ADD_REMOVE, dp.Neighbours.REPLACE
S = 2**20  # the weight of one row
WARD, AGE = dp.Category(["n", "s", "w"]), dp.Integer(-10, 40)
COLUMNS = {"ward": WARD, "age": AGE, "note": dp.Text()}
EMPTY = pa.table(
    {"ward": pa.array([], pa.string()), "age": pa.array([], pa.int64()), "note": pa.array([], pa.string())}
)


def table(unit: bool = True, *, name: str = "visits", version: str = "1", **bounds: int) -> Table:
    rows = EMPTY.append_column("u", pa.array([], pa.int64()))
    columns = {**COLUMNS}
    if not unit:
        return Table(rows, columns=columns, name=name, version=version)
    return Table(rows, columns=columns, name=name, version=version, unit="u", **({"rows_per_unit": 6} | bounds))


def age(scan: int = 0) -> ex.Column:
    return ex.Column(scan, "age", AGE, ex.Number(Fraction(1), -10, 40))


BY_WARD = Key(ex.Column(0, "ward", WARD, ex.Coded(WARD)), WARD.values, range(3))
BY_NOTE = Key(ex.Column(0, "note", dp.Text(), ex.FREE), None, None)


def plan(*measures: Measure, keys: tuple[Key, ...] = (BY_WARD,), of: Table | None = None) -> Plan:
    return Plan(Relation((of or table(),)), None, keys, measures or (Rows(),), ())


def norms(measure: BoundedMeasure) -> tuple[Fraction | None, Fraction, Fraction]:
    return measure.sensitivity.l1, measure.sensitivity.l2, measure.sensitivity.linf


def test_the_greatest_norms_of_rows_in_groups() -> None:
    """Against all vectors of whole numbers: at most `groups` entries of at most `rows_each`, and `rows` in all."""
    for rows, groups, each in itertools.product(range(1, 8), range(1, 5), range(1, 8)):
        vectors = [v for v in itertools.product(range(each + 1), repeat=groups) if sum(v) <= rows]
        l1, l2, linf = Bounds(rows, groups, each).greatest()
        assert l1 == max(map(sum, vectors))
        squares = max(sum(x * x for x in v) for v in vectors)
        assert squares <= l2**2 <= squares * (1 + Fraction(1, 2**70))
        assert linf == max(map(max, vectors))


FORMS = [
    ({"unit": False}, {}, "rows", Bounds(1, 1, 1), False),
    ({}, {}, "weighted", Bounds(6, 3, 6), True),
    ({"rows_per_unit": 1}, {}, "groups", Bounds(1, 1, 1), True),
    ({"groups_per_unit": 2, "rows_per_group": 2}, {}, "groups", Bounds(4, 2, 2), True),
    ({"groups_per_unit": 3, "rows_per_group": 2}, {}, "groups", Bounds(6, 3, 2), False),
    ({"groups_per_unit": 9, "rows_per_group": 9}, {}, "weighted", Bounds(6, 3, 6), True),
    ({"groups_per_unit": 1}, {}, "groups", Bounds(6, 1, 6), True),
    ({}, {"groups_per_unit": 2, "rows_per_group": 4}, "groups", Bounds(8, 2, 4), True),
    ({}, {"groups_per_unit": 2, "rows_per_group": 5}, "weighted", Bounds(6, 3, 6), True),  # 5 sqrt(2) > 6
    ({"groups_per_unit": 2}, {"groups_per_unit": 1}, "groups", Bounds(6, 1, 6), True),
]


@pytest.mark.parametrize(("declared", "asked", "form", "bounds", "weighs"), FORMS)
def test_the_form_with_the_least_l2_is_chosen(
    declared: dict[str, int], asked: dict[str, int], form: str, bounds: Bounds, weighs: bool
) -> None:
    query = bound(plan(of=table(**declared)), neighbours=ADD, **asked)  # type: ignore[arg-type]
    assert (query.form, query.bounds, query.weighs) == (form, bounds, weighs)


def test_the_form_of_what_needs_units_or_private_keys() -> None:
    assert bound(plan(Units()), neighbours=ADD).form == "groups"
    assert bound(plan(Rows(), Units()), neighbours=ADD).bounds == Bounds(18, 3, 6)
    assert bound(plan(keys=()), neighbours=ADD).bounds == Bounds(6, 1, 6)
    private = bound(plan(keys=(BY_NOTE,)), neighbours=ADD, groups_per_unit=2, rows_per_group=4)
    assert (private.form, private.bounds, private.weighs) == ("sampled", Bounds(6, 2, 4), False)
    assert private.is_private
    assert bound(plan(keys=(BY_NOTE, BY_WARD)), neighbours=ADD).bounds == Bounds(6, 6, 6)
    assert bound(plan(keys=(BY_NOTE,), of=table(False)), neighbours=ADD).form == "rows"


def query_of(measure: Measure, neighbours: dp.Neighbours, form: str) -> BoundedQuery:
    declared: dict[str, object] = {
        "rows": {"unit": False},
        "weighted": {},
        "groups": {"groups_per_unit": 2, "rows_per_group": 2},
        "sampled": {"groups_per_unit": 3, "rows_per_group": 4},
    }[form]
    keys = (BY_NOTE,) if form == "sampled" else (BY_WARD,)
    query = bound(plan(measure, keys=keys, of=table(**declared)), neighbours=neighbours)  # type: ignore[arg-type]
    assert query.form == form
    return query


ROOT = {n: sqrt_up(Fraction(n)) for n in (2, 3, 8, 20)}
CLOSED = [  # form, measure, scale, (l1, l2, linf) and cells under ADD_REMOVE, in units of the scale; by hand
    ("rows", Rows(), 1, (1, 1, 1), 1),
    ("rows", Total(age()), 1, (40, 40, 40), 1),
    ("rows", Distinct(age()), 1, (1, 1, 1), 1),
    ("rows", Histogram(age(), AGE), 1, (1, 1, 1), 1),
    ("weighted", Rows(), S, (6, 6, 6), 3),
    ("weighted", Present(age()), S, (6, 6, 6), 3),
    ("weighted", Total(age()), 2**22, (240, 240, 240), 3),  # 6 * 40 has 8 bits of 30
    ("weighted", Distinct(age()), 1, (6, 6, 6), 3),
    ("weighted", Histogram(age(), AGE), S, (6, 6, 6), 153),
    ("groups", Rows(), S, (4, 2 * ROOT[2], 2), 3),
    ("groups", Units(), S, (2, ROOT[2], 1), 3),
    ("groups", Total(age()), 2**23, (160, 80 * ROOT[2], 80), 3),
    ("groups", Distinct(age()), 1, (4, 4, 4), 3),
    ("groups", Histogram(age(), AGE), S, (4, 4, 4), 153),
    ("sampled", Rows(), 1, (6, ROOT[20], 4), 3),  # 4 in one group and 2 in another
    ("sampled", Units(), 1, (3, ROOT[3], 1), 3),
    ("sampled", Total(age()), 2**22, (240, 40 * ROOT[20], 160), 3),
    ("sampled", Distinct(age()), 1, (6, 6, 6), 6),
]


@pytest.mark.parametrize(("form", "measure", "scale", "expected", "cells"), CLOSED)
def test_closed_forms(
    form: str, measure: Measure, scale: int, expected: tuple[Fraction, Fraction, Fraction], cells: int
) -> None:
    found = query_of(measure, ADD, form).measures[0]
    assert found.scale == scale
    assert found.step == Fraction(1, scale)
    assert found.cells_moved == cells
    l1, l2, linf = norms(found)
    assert (l1, linf) == (expected[0] * scale, expected[2] * scale)
    assert math.isclose(l2, expected[1] * scale, rel_tol=1e-15)
    if isinstance(measure, Histogram):
        assert found.rows == l1


@pytest.mark.parametrize(("form", "measure", "scale", "expected", "cells"), CLOSED)
def test_closed_forms_of_a_replaced_unit(
    form: str, measure: Measure, scale: int, expected: tuple[Fraction, Fraction, Fraction], cells: int
) -> None:
    """l1 doubles, and l2 of what has two signs; of one sign l2^2 doubles. A cell moves from one end to the other, and
    no more cells than there are move by no more than that."""
    found = query_of(measure, REPLACE, form).measures[0]
    signed = isinstance(measure, Total)
    linf = Fraction(expected[2]) * (Fraction(50, 40) if signed else 1)
    all_cells = 10**9 if form == "sampled" else 153 if isinstance(measure, Histogram) else 3
    l1, l2, most = norms(found)
    assert most == linf * scale
    assert l1 == min(2 * expected[0], all_cells * linf) * scale
    doubled = min(expected[1] * (2 if signed else math.sqrt(2)), math.sqrt(all_cells) * float(linf))
    assert math.isclose(l2, doubled * scale, rel_tol=1e-12)
    assert found.cells_moved <= min(2 * cells, all_cells)


def test_one_cell_moves_by_the_spread() -> None:
    """Without GROUP BY a replaced row moves a count by 1, and a sum by hi - lo."""
    query = bound(plan(Rows(), Total(age()), keys=(), of=table(False)), neighbours=REPLACE)
    assert [norms(measure) for measure in query.measures] == [(1, 1, 1), (50, 50, 50)]


def test_joins_multiply_rows() -> None:
    """R by the fan-out of public tables, and by the R of another private table; none is less than 1."""
    wards = Table(EMPTY.select(["ward"]), columns={"ward": WARD}, name="wards", public=True)
    pair = ((ex.Column(0, "ward", WARD, ex.Coded(WARD)), ex.Column(1, "ward", WARD, ex.Coded(WARD))),)
    for fan, most in ((4, 4), (1, 1), (0, 1)):
        public = Join(1, "left", False, pair, fan)
        assert rows_of(Relation((table(), wards), (public,))) == 6 * most
        assert rows_of(Relation((table(False), wards), (public,))) is None
        rows = bound(replace(plan(), relation=Relation((table(False), wards), (public,))), neighbours=ADD)
        assert (rows.form, rows.bounds) == ("rows", Bounds(most, min(most, 3), most))
    by_unit = Join(1, "inner", True, (), 1)
    both = Relation((table(), table(name="drugs", rows_per_unit=5)), (by_unit,))
    assert rows_of(both) == 30
    assert bound(replace(plan(), relation=both), neighbours=ADD).unit == "all rows of one u in visits and drugs"
    private = replace(
        plan(keys=(BY_NOTE,)), relation=Relation((table(False), wards), (Join(1, "left", False, pair, 2),))
    )
    with pytest.raises(NotSupported, match="more than once"):
        bound(private, neighbours=ADD)


def test_what_a_query_says_of_itself() -> None:
    query = bound(plan(keys=(BY_WARD, BY_WARD)), neighbours=ADD)
    assert (query.shape, query.cells, query.is_private) == ((3, 3), 9, False)
    assert query.unit == "all rows of one u in visits"
    assert bound(plan(of=table(False)), neighbours=ADD).unit == "one row of visits"


def test_refusals() -> None:
    def refused(error: type[Exception], match: str, made: Plan, **asked: object) -> None:
        with pytest.raises(error, match=match):
            bound(made, neighbours=ADD, **asked)  # type: ignore[arg-type]

    wide = Key(age(), range(MAX_CELLS + 1), range(MAX_CELLS + 1))
    refused(NotSupported, "1,000,001 groups and 1,000,000 are allowed", plan(keys=(wide,)))
    refused(NotSupported, "more than 10\\^18", plan(keys=(wide,) * 4))
    refused(NotSupported, "quantiles of too many groups", plan(Histogram(age(), dp.Integer(0, 10**8))))
    for wrong in (0, -1, True, 1.5, "2"):
        refused(InvalidParameter, "groups_per_unit= is a whole number", plan(), groups_per_unit=wrong)
        refused(InvalidParameter, "rows_per_group= is a whole number", plan(), rows_per_group=wrong)
    tight = table(groups_per_unit=2, rows_per_group=2)
    refused(InvalidParameter, "groups_per_unit=3 is more than the 2", plan(of=tight), groups_per_unit=3)
    refused(InvalidParameter, "rows_per_group=3 is more than the 2", plan(of=tight), rows_per_group=3)
    refused(InvalidParameter, "every row is its own unit", plan(of=table(False)), groups_per_unit=1)
    far = ex.Column(0, "age", AGE, ex.Number(Fraction(1), 0, 2**58))
    refused(NotSupported, "does not fit 62 bits", plan(Total(far)))
    assert bound(plan(Total(far), of=table(rows_per_unit=1)), neighbours=ADD).measures[0].sensitivity.l1 == 2**58


def test_one_digest_for_all_questions_with_the_same_numbers() -> None:
    """Names, order, HAVING and LIMIT are not part of it; tables, versions, domains, bounds and neighbours are."""
    same = bound(plan(), neighbours=ADD).question
    shown = replace(plan(), outputs=(Output("n", Released(0)),), limit=3, having=Released(0))
    assert bound(shown, neighbours=ADD).question == same
    assert bound(plan(of=table()), neighbours=ADD).question == same  # another object, the same declaration
    assert same.startswith("visits/1 COUNT(*) by ward #")  # what whoever reads the ledger looks for
    narrow = Table(
        EMPTY.append_column("u", pa.array([], pa.int64())),
        columns={**COLUMNS, "ward": dp.Category(["n", "s", "x"])},
        name="visits",
        unit="u",
        rows_per_unit=6,
    )
    assert len({narrow.fingerprint, table().fingerprint}) == 2
    codes = replace(BY_WARD, values=("n", "w"), codes=(0, 2))
    others = [
        bound(plan(of=table(version="2")), neighbours=ADD),
        bound(plan(of=table(name="other")), neighbours=ADD),
        bound(plan(of=table(rows_per_unit=7)), neighbours=ADD),
        bound(plan(of=narrow), neighbours=ADD),
        bound(plan(), neighbours=REPLACE),
        bound(plan(), neighbours=ADD, groups_per_unit=1),
        bound(plan(keys=()), neighbours=ADD),
        bound(plan(keys=(codes,)), neighbours=ADD),
        bound(plan(keys=(replace(codes, codes=(0, 1)),)), neighbours=ADD),
        bound(plan(Units()), neighbours=ADD),
        bound(replace(plan(), where=ex.IsNull(age())), neighbours=ADD),
        bound(replace(plan(), where=ex.Not(ex.IsNull(age()))), neighbours=ADD),
    ]
    assert len({same, *(query.question for query in others)}) == len(others) + 1


def test_a_table_without_its_bound_is_refused() -> None:
    second = table(name="more")
    object.__setattr__(second, "rows_per_unit", None)
    relation = Relation((table(), second), (Join(1, "inner", True, (), 1),))
    with pytest.raises(NeedsDeclaration, match="rows_per_unit="):
        bound(replace(plan(), relation=relation), neighbours=ADD)
