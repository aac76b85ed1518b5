"""Tables: what is declared, what is refused, and what the fingerprint has in it."""

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.declared import MOST_PER_UNIT, grid_of
from discreet.engine.source import File

SEX = dc.Category(["Female", "Male"])
COLUMNS = {"sex": SEX, "age": dc.Integer(0, 110)}
FRAME = pd.DataFrame({"sex": ["Male", "Female", None], "age": [1, 2, 3], "who": ["a", "a", "b"]})
DAY, LATER = datetime(2026, 1, 1), datetime(2026, 2, 1)


class TestDeclarations:
    def test_a_file_gives_its_name(self) -> None:
        assert dc.Table("some/visits.parquet", columns=COLUMNS).name == "visits"
        assert dc.Table(Path("visits.CSV"), columns=COLUMNS, name="v").name == "v"

    def test_a_frame_and_a_pattern_need_a_name(self) -> None:
        for source in (FRAME, "visits/*.parquet"):
            with pytest.raises(dc.InvalidParameter, match='add name="visits"'):
                dc.Table(source, columns=COLUMNS)

    @pytest.mark.parametrize("name", ["", "my visits", "a;b", '"', "1a", "x" * 64, 3])
    def test_a_name_can_stand_in_from(self, name: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="letters, digits and _"):
            dc.Table(FRAME, columns=COLUMNS, name=name)

    def test_unknown_options_are_refused(self) -> None:
        with pytest.raises(TypeError):
            dc.Table(FRAME, columns=COLUMNS, name="t", rows_per_units=3)  # type: ignore[call-arg]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({}, "a table declares its columns"),
            ({"sex": ["Female", "Male"]}, "write for instance dc.Category"),
            ({"sex": SEX, "SEX": SEX}, "SQL names ignore case"),
            ({"": SEX}, "printable characters"),
            ({"a\n": SEX}, "printable characters"),
            ({3: SEX}, "printable characters"),
            ({"sex": dc.Category(["a"], other="rest")}, "cells with other= or null="),
            ({"sex": dp.Bins([0, 1], null="none")}, "cells with other= or null="),
        ],
    )
    def test_a_wrong_declaration_says_what_to_write(self, columns: dict[str, dc.Category], message: str) -> None:
        with pytest.raises(dc.Refused, match=message):
            dc.Table(FRAME, columns=columns, name="t")

    @pytest.mark.parametrize("version", ["", "a\nb", 2])
    def test_a_version_is_a_short_text(self, version: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="version is a short text"):
            dc.Table(FRAME, columns=COLUMNS, name="t", version=version)

    def test_columns_are_found_without_case_and_the_rest_is_invisible(self) -> None:
        table = dc.Table(FRAME, columns=COLUMNS, name="t", unit="who", rows_per_unit=2)
        assert table.column("SEX") == "sex"
        with pytest.raises(dc.NeedsDeclaration, match=r"declares no column 'who'; it declares sex, age\."):
            table.column("who")

    def test_a_misspelt_column_of_a_wide_table_gets_a_short_message(self) -> None:
        table = dc.Table("x.parquet", columns={f"column_{i}": SEX for i in range(1_000)})
        with pytest.raises(dc.NeedsDeclaration, match=r"column_0, .* and more\. Use one") as caught:
            table.column("colunm_0")
        assert len(str(caught.value)) < 1_000

    @pytest.mark.parametrize("text", ["\ud800", "a\0b"])
    def test_a_category_that_is_no_text_is_refused_before_it_could_fail_a_question(self, text: str) -> None:
        with pytest.raises(dc.InvalidParameter, match="column 'sex' declares a value that is no Unicode text"):
            dc.Table("x.parquet", columns={"sex": dc.Category(["Male", text])})

    def test_all_column_types_may_be_declared(self) -> None:
        columns = {"a": dc.Real(0, 1), "b": dc.Date(date(2026, 1, 1), date(2026, 2, 1)), "c": dc.Text()}
        columns |= {"d": dp.Bins([0, 1, 5]), "e": dc.Datetime(DAY, LATER, zone="UTC"), "f": dc.Boolean()}
        assert set(dc.Table("x.parquet", columns=columns).columns) == set("abcdef")


class TestGrids:
    @pytest.mark.parametrize(
        "domain",
        [
            dc.Integer(0, 2**53 + 1),
            dc.Integer(-(2**53) - 1, 0),
            dc.Real(0, 2, step=Fraction(1, 2**40)),
            dc.Real(2**53, 2**53 + 2, step=1),
            dc.Real(0, 10**101, step=10**99),
            dc.Real(0, 10**90, step=10**101),
            dc.Real(0, "1e-99", step="1e-101"),
            dc.Real("1e-101", 1),
            dp.Bins([0, "1e-101", 1]),
            dp.Bins([0, 1, 10**101]),
            dc.Category([2**62]),
            dc.Datetime(DAY, LATER, zone="UTC", step="24856d"),
        ],
        ids=repr,
    )
    def test_what_an_engine_might_round_is_refused(self, domain: dc.Real) -> None:
        with pytest.raises(dc.InvalidParameter, match="column 'x'"):
            dc.Table("x.parquet", columns={"x": domain})

    @pytest.mark.parametrize(
        "domain",
        [
            dc.Integer(-(2**53), 2**53),
            dc.Real(0, 1, step=Fraction(1, 2**40)),
            dc.Real(2**53 - 2, 2**53 - 1, step=1),
            dc.Real(0, 10**100, step=10**99),
            dp.Bins([-(10**100), "-1e-100", 0, "1e-100"]),
            dc.Category([2**62 - 1, -(2**62) + 1]),
            dc.Datetime(DAY, LATER, zone="UTC", step="24855d"),
        ],
        ids=repr,
    )
    def test_what_is_exact_is_accepted(self, domain: dc.Real) -> None:
        assert dc.Table("x.parquet", columns={"x": domain}).columns["x"] is domain

    def test_the_grid_of_a_real_column_is_where_its_bounds_are_rounded_to(self) -> None:
        assert grid_of(dc.Real(0, 5_000, step=0.01)) == (0, 500_000)
        assert grid_of(dc.Real("0.26", "0.74", step="0.5")) == (1, 1)
        assert grid_of(dc.Real("0.25", "0.75", step="0.5")) == (0, 2)  # a tie goes up for a value, outward for a bound
        assert grid_of(dc.Real(3, 4, step=10)) == (0, 0)
        assert grid_of(dc.Real(-7, -5, step=2)) == (-4, -2)


class TestUnits:
    """What is protected is all rows of one unit, the owner of what stands in the column `unit`: how that is said."""

    def test_a_unit_has_bounds(self) -> None:
        table = _units(rows_per_unit=20, groups_per_unit=5, rows_per_group=4)
        assert (table.unit, table.rows_per_unit, table.groups_per_unit, table.rows_per_group) == ("who", 20, 5, 4)
        assert not table.public

    def test_without_bounds_on_rows_the_line_to_add_is_named(self) -> None:
        with pytest.raises(dc.NeedsDeclaration, match=r"unit='who': add rows_per_unit=.*rows_per_unit=20"):
            _units()

    @pytest.mark.parametrize("bounds", [{"groups_per_unit": 1}, {"rows_per_group": 1}, {"rows_per_unit": 2}], ids=str)
    def test_bounds_without_a_unit_are_refused(self, bounds: dict[str, int]) -> None:
        with pytest.raises(dc.NeedsDeclaration, match=rf"{next(iter(bounds))}= bounds the rows of a unit: add unit="):
            dc.Table(FRAME, columns=COLUMNS, name="t", **bounds)  # type: ignore[arg-type]

    def test_one_row_per_unit_without_a_unit_says_what_holds_anyway(self) -> None:
        table = dc.Table(FRAME, columns=COLUMNS, name="t", rows_per_unit=1)
        assert table.rows_per_unit is None
        assert table.fingerprint == dc.Table(FRAME, columns=COLUMNS, name="t").fingerprint

    @pytest.mark.parametrize("name", ["rows_per_unit", "groups_per_unit", "rows_per_group"])
    @pytest.mark.parametrize("value", [0, -1, True, 1.0, "3", float("nan"), MOST_PER_UNIT + 1], ids=repr)
    def test_a_bound_is_a_whole_number(self, name: str, value: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match=rf"{name} is a whole number from 1 to 1,048,576"):
            _units(**{"rows_per_unit": 3, name: value})

    @pytest.mark.parametrize("unit", ["", "a\n", 3, ["who"]])
    def test_a_unit_is_the_name_of_a_column(self, unit: Any) -> None:
        with pytest.raises(dc.InvalidParameter, match="printable characters"):
            dc.Table(FRAME, columns=COLUMNS, name="t", unit=unit, rows_per_unit=1)

    def test_a_unit_may_be_a_declared_column_in_the_same_letters(self) -> None:
        columns = {"who": dc.Text(), **COLUMNS}
        assert dc.Table(FRAME, columns=columns, name="t", unit="who", rows_per_unit=1).column("WHO") == "who"
        with pytest.raises(dc.InvalidParameter, match="the unit 'Who' and the column 'who' differ in case"):
            dc.Table(FRAME, columns=columns, name="t", unit="Who", rows_per_unit=1)

    def test_a_public_table_protects_nobody(self) -> None:
        assert dc.Table(FRAME, columns=COLUMNS, name="t", public=True).public
        for wrong in ({"unit": "who", "rows_per_unit": 1}, {"unit": "who"}, {"rows_per_unit": 1}):
            with pytest.raises(dc.InvalidParameter, match="a public table protects nobody: leave out unit="):
                dc.Table(FRAME, columns=COLUMNS, name="t", public=True, **wrong)  # type: ignore[arg-type]
        with pytest.raises(dc.InvalidParameter, match="public is True or False"):
            dc.Table(FRAME, columns=COLUMNS, name="t", public="no")  # type: ignore[arg-type]


def _units(**bounds: int) -> dc.Table:
    return dc.Table(FRAME, columns=COLUMNS, name="t", unit="who", **bounds)  # type: ignore[arg-type]


class TestDescription:
    def test_it_says_what_is_protected(self) -> None:
        text = repr(dc.Table(FRAME, columns=COLUMNS, name="t", version="7"))
        assert text.startswith(
            "table t, version 7; every row is its own unit; declared columns:\n  sex  Category(['Female',"
        )
        text = repr(_units(rows_per_unit=20, groups_per_unit=5, rows_per_group=4))
        assert "all of whose rows are protected; at most 20 rows of one who count, in at most 5 groups" in text
        assert "it protects nobody" in repr(dc.Table(FRAME, columns=COLUMNS, name="t", public=True))

    def test_a_named_index_is_noted(self) -> None:
        assert "note" not in repr(dc.Table(FRAME, columns=COLUMNS, name="t"))
        indexed = FRAME.set_index(["who"])
        text = repr(dc.Table(indexed, columns=COLUMNS, name="t"))
        assert "note: the index of the frame (who) is ignored; reset_index() makes it a column" in text

    def test_every_type_is_spelled_as_it_is_written(self) -> None:
        columns = {
            "a": dc.Real(0, 1, step=0.01),
            "b": dp.Bins([0, "0.5", Fraction(2, 3)]),
            "c": dc.Datetime(DAY, LATER, zone="UTC", step="5m"),
            "d": dc.Date(DAY.date(), LATER.date()),
            "e": dc.Integer(0, 9),
            "f": dc.Boolean(),
            "g": dc.Text(),
            "h": dc.Category(range(100)),
        }
        lines = repr(dc.Table("x.parquet", columns=columns)).splitlines()[1:]
        assert [line.split(maxsplit=1)[1] for line in lines[:-1]] == [
            "Real(0, 1, step=0.01)",
            "Bins([0, 0.5, '2/3'])",
            'Datetime(2026-01-01 00:00:00, 2026-02-01 00:00:00, zone="UTC", step="5m")',
            "Date(2026-01-01, 2026-02-01)",
            "Integer(0, 9)",
            "Boolean()",
            "Text()",
        ]
        assert lines[-1].endswith("...")
        assert len(lines[-1]) < 120

    def test_it_is_plain_data_without_a_digit_lost(self) -> None:
        table = dc.Table("x.parquet", columns={"a": dc.Real(0, 1, step=Fraction(1, 3))}, unit="who", rows_per_unit=2)
        assert table.description.to_dict() == {
            "name": "x",
            "version": "1",
            "public": False,
            "unit": "who",
            "rows_per_unit": 2,
            "groups_per_unit": None,
            "rows_per_group": None,
            "origin": "declared",
            "columns": {"a": {"real": [0, 1], "step": "1/3"}},
        }


class TestFingerprint:
    def test_it_has_everything_that_is_declared(self) -> None:
        base: dict[str, Any] = {"name": "t", "unit": "who", "rows_per_unit": 20, "columns": {"x": dc.Integer(0, 1)}}
        changes: list[dict[str, Any]] = [
            {},
            {"name": "T"},
            {"version": "2"},
            {"unit": "x"},
            {"unit": None, "rows_per_unit": None},
            {"unit": None, "rows_per_unit": None, "public": True},
            {"rows_per_unit": 21},
            {"groups_per_unit": 20},
            {"rows_per_group": 20},
            {"columns": {"X": dc.Integer(0, 1)}},
            {"columns": {"x": dc.Integer(0, 1), "y": dc.Integer(0, 1)}},
        ]
        domains: list[Any] = [dc.Integer(0, 2), dc.Category([0, 1]), dc.Category([1, 0]), dc.Category(["0", "1"])]
        domains += [dc.Real(0, 1), dc.Real(0, 1, step=0.5), dp.Bins([0, 1]), dc.Boolean(), dc.Text()]
        domains += [dc.Date(DAY.date(), LATER.date()), dc.Datetime(DAY, LATER, zone="UTC")]
        domains += [dc.Datetime(DAY, LATER, zone="Europe/Zurich"), dc.Datetime(DAY, LATER, zone="UTC", step="60s")]
        changes += [{"columns": {"x": domain}} for domain in domains]
        found = {dc.Table("a.parquet", **{**base, **change}).fingerprint for change in changes}
        assert len(found) == len(changes)
        assert all(len(digest) == 64 for digest in found)

    def test_it_has_nothing_else(self) -> None:
        one = dc.Table("a.parquet", columns=COLUMNS, name="t")
        other = dc.Table(FRAME, columns=dict(reversed(COLUMNS.items())), name="t")
        assert one.fingerprint == other.fingerprint  # where the rows are, and in what order columns are written


def test_the_census_ships_with_the_package() -> None:
    import pyarrow.parquet as pq

    table = dc.census()
    assert isinstance(table.source, File)
    rows = pq.read_table(table.source.paths[0], columns=list(table.columns))
    assert rows.num_rows == 48_842
    for column, domain in table.columns.items():  # the declarations cover the file, but were not made from it
        assert {value for value in rows[column].to_pylist() if value is not None} <= set(domain.values), column  # type: ignore[union-attr]
