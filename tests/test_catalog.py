"""Descriptions in TOML, and which tables may share a session."""

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet import dp
from discreet.engine.catalog import TO_FILL_IN, catalog
from discreet.engine.source import Database, File, SparkTable

VISITS = """
[visits]
source = "data/visits.parquet"
unit = "patient_id"
rows_per_unit = 20
groups_per_unit = 5
rows_per_group = 3
version = "2"
[visits.columns]
ward = { category = ["north", "south", "icu"] }
code = { category = [1, 2] }
age = { integer = [0, 110] }
cost = { real = [0, 5000], step = 0.01 }
risk = { real = ["1/3", 0.7] }
weight = { bins = [0, 50.5, 100] }
urgent = { boolean = true }
day = { date = [2026-01-01, 2026-12-31] }
seen = { datetime = [2026-01-01T00:00:00, 2026-12-31T23:59:59], zone = "Europe/Zurich", step = "1m" }
came = { datetime = [2026-01-01T00:00:00, 2026-12-31T23:59:59], zone = "UTC" }
note = { text = true }

[wards]
source = "wards.csv"
public = true
[wards.columns]
ward = { category = ["north", "south", "icu"] }
"""


def load(folder: Path, text: str) -> tuple[dc.Table, ...]:
    path = folder / "visits.toml"
    path.write_text(text, "utf-8")
    return dc.load_tables(path)


class TestLoadTables:
    def test_every_type_bound_and_source(self, tmp_path: Path) -> None:
        visits, wards = load(tmp_path, VISITS)
        assert (visits.name, visits.version, visits.unit) == ("visits", "2", "patient_id")
        assert (visits.rows_per_unit, visits.groups_per_unit, visits.rows_per_group) == (20, 5, 3)
        assert visits.source == File((f"{tmp_path.resolve()}/data/visits.parquet",), "parquet")
        assert wards.public
        assert dict(visits.columns) == {
            "ward": dc.Category(["north", "south", "icu"]),
            "code": dc.Category([1, 2]),
            "age": dc.Integer(0, 110),
            "cost": dc.Real(0, 5000, step=Fraction(1, 100)),
            "risk": dc.Real(Fraction(1, 3), Fraction(7, 10)),
            "weight": dp.Bins([0, Fraction(101, 2), 100]),
            "urgent": dc.Boolean(),
            "day": dc.Date(date(2026, 1, 1), date(2026, 12, 31)),
            "seen": dc.Datetime(
                datetime(2026, 1, 1), datetime(2026, 12, 31, 23, 59, 59), zone="Europe/Zurich", step="1m"
            ),
            "came": dc.Datetime(datetime(2026, 1, 1), datetime(2026, 12, 31, 23, 59, 59), zone="UTC"),
            "note": dc.Text(),
        }
        assert list(catalog((visits, wards))) == ["visits", "wards"]

    def test_it_is_the_table_that_python_declares(self, tmp_path: Path) -> None:
        (table,) = load(tmp_path, '[t]\nsource = "a.csv"\n[t.columns]\nx = { real = [0.1, 0.30000000000000004] }')
        x = dc.Real("0.1", "0.30000000000000004")
        assert table.fingerprint == dc.Table("b.csv", name="t", columns={"x": x}).fingerprint

    def test_sources_elsewhere(self, tmp_path: Path) -> None:
        columns = "[t.columns]\nx = { text = true }\n"
        (server,) = load(tmp_path, f'[t]\nsource = "postgresql://host/base"\ntable = "clinic.visits"\n{columns}')
        assert server.source == Database("postgresql://host/base", "clinic.visits")
        (absolute,) = load(tmp_path, f'[t]\nsource = "/data/x.csv"\n{columns}')
        assert absolute.source == File(("/data/x.csv",), "csv")
        (tmp_path / "1.csv").touch()
        (pattern,) = load(tmp_path, f'[t]\nsource = "*.csv"\n{columns}')
        assert pattern.source == File((f"{tmp_path.resolve()}/1.csv",), "csv")

    def test_a_table_of_spark_needs_its_session(self, tmp_path: Path) -> None:
        text = '[t]\nsource = "spark"\ntable = "db.visits"\n[t.columns]\nx = { text = true }'
        with pytest.raises(dc.NeedsDeclaration, match=r"load_tables\(path, spark=session\)"):
            load(tmp_path, text)
        session = type("SparkSession", (), {"__module__": "pyspark.sql.session"})()
        (table,) = dc.load_tables(tmp_path / "visits.toml", spark=session)
        assert isinstance(table.source, SparkTable)
        assert table.source.session is session

    def test_a_file_that_cannot_be_read_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "bytes.toml").write_bytes(b"\xff")
        for name in ("no.toml", "bytes.toml", ".", "a\0b"):
            with pytest.raises(dc.Unavailable, match="cannot be read as UTF-8 text"):
                dc.load_tables(tmp_path / name)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "rows_per_unit = 20",
                "row_per_unit = 20",
                r"\[visits\] in visits.toml: 'row_per_unit' .*'rows_per_unit'\?",
            ),
            ("{ boolean = true }", "{ bool = true }", r"urgent: 'bool' means nothing here; did you mean 'boolean'\?"),
            ("step = 0.01", "steps = 0.01", r"\[visits\] in visits.toml: cost: 'steps' .*'step'\?"),
            ("[0, 110] }", "[0, 110], step = 1 }", "age: 'step' means nothing here; did you mean 'integer'"),
            ("[0, 110] }", "[0, 110], text = true }", "age: a column has one type of category, integer"),
            ("{ integer = [0, 110] }", "{ step = 1 }", "age: a column has one type of .*; here are 0"),
            ("{ integer = [0, 110] }", "{}", "age: a column has a type"),
            ("{ integer = [0, 110] }", '"integer"', "age: a column has a type"),
            ("integer = [0, 110]", "integer = [0]", "age: a range has two ends"),
            ("integer = [0, 110]", "integer = 110", "age: a range has two ends"),
            ("integer = [0, 110]", "integer = [0, 1.5]", "age: Integer takes whole numbers"),
            ("real = [0, 5000]", "real = [0, inf]", "cost: upper is a finite number"),
            ("[0, 50.5, 100]", "[0, 1e400]", "weight: Bins takes edges that are floats"),
            ("[0, 50.5, 100]", "[0, 1e300]", "weight.* has a number beyond 10\\^100"),
            ("text = true", "text = false", "note: this type has no facts: write text = true"),
            ("[1, 2]", "[1, 1]", "code: Category takes at least one value, each once"),
            ("[1, 2]", "[0.5]", "code: Category takes a list of strings"),
            (', zone = "UTC"', "", 'came: add zone = "Europe/Zurich"'),
            ("[2026-01-01, 2026-12-31]", '["2026-01-01", "2026-12-31"]', r"day: Date takes datetime\.date values"),
            ("2026-01-01T00:00:00, ", "2026-01-01T00:00:00Z, ", "seen: Datetime takes naive datetimes"),
            ('source = "data/visits.parquet"', "source = 3", r'\[visits\] .*: add source = "visits.parquet"'),
            ("[visits.columns]", "[visits.column]", "'column' means nothing here; did you mean 'columns'"),
            ('version = "2"', "version = 2", "version is a short text"),
            ("rows_per_unit = 20", "", r"unit='patient_id': add rows_per_unit="),
            ("public = true", "public = true\nunit = 'a'", r"\[wards\] in visits.toml: a public table protects nobody"),
            ("[visits]", "[my-visits]", "give it a name of letters"),
            ("[wards]", "[visits]", "visits.toml is no TOML: .*line 2"),
            ("\n[visits]", "budget = 1\n[visits]", r"describes tables under their names: write \[visits\]"),
        ],
    )
    def test_what_is_wrong_is_refused_where_it_stands(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        assert old in VISITS
        with pytest.raises(dc.Refused, match=message):
            load(tmp_path, VISITS.replace(old, new, 1).replace("[visits.columns]", f"[{_header(new)}.columns]", 1))

    @pytest.mark.parametrize("text", ["", "# nothing", "a = " + "[" * 100_000, "a = " + "9" * 100_000])
    def test_a_description_without_tables_is_refused(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(dc.Refused, match=r"describes tables under their names|is no TOML"):
            load(tmp_path, text)

    def test_a_draft_is_refused_with_its_line(self, tmp_path: Path) -> None:
        text = VISITS.replace("[0, 110]", f'["{TO_FILL_IN}", 110]')
        with pytest.raises(dc.NeedsDeclaration, match=r"visits.toml, line 12, is not filled in: age = .*from someone"):
            load(tmp_path, f'# "{TO_FILL_IN}"{text}')
        assert len(load(tmp_path, f'# "{TO_FILL_IN}"{VISITS}')) == 2


def _header(new: str) -> str:
    return new.strip("[]") if new == "[my-visits]" else "visits"


class TestCatalog:
    """All private tables have one unit, so that whoever is protected in one of them is protected in all together."""

    COLUMNS = {"x": dc.Text()}  # noqa: RUF012
    FRAME = pl.DataFrame({"x": ["a"], "who": [1], "other": [1]})

    def table(self, name: str, unit: str | None = None, *, public: bool = False) -> dc.Table:
        rows = None if unit is None else 2
        return dc.Table(self.FRAME, columns=self.COLUMNS, name=name, unit=unit, rows_per_unit=rows, public=public)

    def test_one_private_table_and_public_ones(self) -> None:
        one = self.table("a")
        assert catalog(one) == {"a": one}
        assert list(catalog([one, self.table("b", public=True), self.table("c", public=True)])) == ["a", "b", "c"]

    def test_private_tables_share_a_unit(self) -> None:
        assert list(catalog([self.table("a", "who"), self.table("b", "who")])) == ["a", "b"]
        with pytest.raises(dc.NotSupported, match="unit of table 'a' is 'who' and that of 'b' is 'other'"):
            catalog([self.table("a", "who"), self.table("b", "other")])
        for tables in ([self.table("a", "who"), self.table("b")], [self.table("b"), self.table("a")]):
            with pytest.raises(dc.NotSupported, match=r"every row of table 'b' is its own unit.*Declare unit="):
                catalog(tables)

    def test_names_are_distinct(self) -> None:
        with pytest.raises(dc.InvalidParameter, match="two tables are called 'A'"):
            catalog([self.table("a"), self.table("A", public=True)])

    def test_someone_is_protected(self) -> None:
        for tables in ([], [self.table("a", public=True)]):
            with pytest.raises(dc.InvalidParameter, match="a session protects someone"):
                catalog(tables)

    @pytest.mark.parametrize("tables", ["visits", 3, None, [3]])
    def test_a_table_is_a_table(self, tables: list[dc.Table]) -> None:
        with pytest.raises(dc.InvalidParameter, match=r"a session has tables, made by dc\.Table"):
            catalog(tables)
