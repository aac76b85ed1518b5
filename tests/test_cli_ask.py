"""`query`, `quote` and `explain`: where a question comes from, and every format of its answer, read back."""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyarrow import parquet

import discreet as dc
from discreet.commands.answers import as_bytes, as_csv, as_json, as_text
from discreet.commands.ask import value_of
from tests.commands import ASK, COUNT, WARDS, Ran, folder_with_ledger, run

DAYS = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return folder_with_ledger(tmp_path, monkeypatch)


def query(*arguments: str, **options: bool) -> Ran:
    return run("query", *ASK, *arguments, **options)


def spent() -> float:
    shown = run("ledger", "show", "visits.ledger", "--json")
    found: float = shown.json["spent"]
    return found


class TestFormats:
    def test_a_table_is_for_people(self) -> None:
        ran = query("--epsilon", "0.1", WARDS)
        assert (ran.code, ran.err) == (0, "")
        header, *rows, note = ran.text.splitlines()
        assert header.split() == ["ward", "n"]
        assert [row.split()[0] for row in rows] == ["north", "south", "icu"]
        assert all(" ± " in row for row in rows)
        assert "at 95 %" in note
        assert "10 % of the budget" in note

    def test_the_price_is_the_decimal_that_was_written(self) -> None:
        for number in range(10):
            assert query("--epsilon", "0.1", f"{COUNT} WHERE cost < {number + 1}").code == 0
        assert spent() == 1.0
        assert query("--epsilon", "0.1", f"{COUNT} WHERE cost < 99").code == 3

    def test_csv_json_and_parquet_are_read_back_and_are_one_answer(self, folder: Path) -> None:
        csv = query("--epsilon", "0.1", "--format", "csv", DAYS)
        from_csv = pd.read_csv(io.BytesIO(csv.out))
        found = query("--epsilon", "0.1", "--json", DAYS)
        from_json = pd.DataFrame(found.json["rows"], columns=found.json["columns"])
        assert found.json["charged"] == 0
        assert found.json["route"] == "cache"
        assert found.json["protects"] == "all rows of one who in visits, added or removed"
        written = query("--epsilon", "0.1", "--output", "days.parquet", DAYS)
        assert written.out == b""
        from_parquet = parquet.read_table(folder / "days.parquet").to_pandas()
        assert [str(day) for day in from_parquet["day"]] == ["2026-01-01", "2026-01-02", "2026-01-03"]
        from_parquet["day"] = from_parquet["day"].astype(str)
        for frame in (from_csv, from_json, from_parquet):
            assert list(frame.columns) == ["day", "n", "n_error"]
            pd.testing.assert_frame_equal(frame, from_csv, check_dtype=False)
        for ran in (csv, found, written):
            assert ran.err.startswith("± at 95 %")
            assert ran.err.count("\n") == 1

    def test_errors_can_be_left_out(self, folder: Path) -> None:
        query("--epsilon", "0.1", DAYS)
        for form in ("csv", "json", "parquet", "table"):
            assert query("--epsilon", "0.1", "--no-errors", "--format", form, "--output", "out", DAYS).code == 0
            data = (folder / "out").read_bytes()
            assert b"n_error" not in data
            if form == "table":
                rows = data.decode().splitlines()[1:-1]
                assert not any("±" in row for row in rows)

    def test_the_ending_of_a_file_is_its_format(self, folder: Path) -> None:
        query("--epsilon", "0.1", DAYS, "--output", "a.csv")
        assert len(pd.read_csv(folder / "a.csv")) == 3
        query("--epsilon", "0.1", DAYS, "--output", "a.json")
        assert json.loads((folder / "a.json").read_text())["columns"] == ["day", "n", "n_error"]
        query("--epsilon", "0.1", DAYS, "--output", "a.csv", "--format", "json")
        assert json.loads((folder / "a.csv").read_text())["rows"]
        query("--epsilon", "0.1", DAYS, "--output", "a.txt")
        assert (folder / "a.txt").read_text().splitlines()[0].split() == ["day", "n"]

    def test_what_has_no_number_is_null_in_every_format(self) -> None:
        answer = dc.Answer(
            {"ok": (True, None), "n": (float("nan"), 2.5)}, {"n": (float("inf"), None)}, "protects t", "direct", 0
        )  # type: ignore[arg-type]
        assert as_json(answer, errors=True)["rows"] == [[True, None, None], [None, 2.5, None]]
        assert as_csv(answer, errors=True).splitlines()[1:] == ["true,,", ",2.5,"]
        assert "2.5 ± ?" in as_text(answer, errors=True)
        assert len(parquet.read_table(io.BytesIO(as_bytes(answer, "parquet", errors=True)))) == 2

    def test_signs_that_a_terminal_would_obey_are_shown(self) -> None:
        hostile = "a\x1b[31m\n\u202eb"
        answer = dc.Answer({"ward": (hostile,), "n": (3,)}, {"n": 1}, "protects t", "direct", 0)  # type: ignore[arg-type]
        assert as_text(answer, errors=True).splitlines()[1].split() == [r"a\x1b[31m\n\u202eb", "3", "±", "1"]
        assert hostile in as_csv(answer, errors=True)  # a file holds what is there, and
        toml = Path("visits.toml").read_text().replace('"icu"', r'"i\u001b[31mu"')
        Path("visits.toml").write_text(toml)
        for form in ("table", "csv", "json"):  # a terminal is never sent it
            ran = query("--epsilon", "0.1", "--format", form, WARDS, terminal=True)
            assert ran.code == 0
            assert b"\x1b" not in ran.out
            assert "31mu" in ran.text
        assert b"i\x1b[31mu" in query("--epsilon", "0.1", "--format", "csv", WARDS).out


class TestQuestions:
    def test_a_question_comes_from_a_file_or_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("q.sql").write_text(COUNT)
        first = query("--epsilon", "0.1", "--json", COUNT).json["rows"]
        assert query("--epsilon", "0.1", "--json", "--file", "q.sql").json["rows"] == first
        for dash in (("-",), ("--file", "-")):
            monkeypatch.setattr("sys.stdin", io.StringIO(COUNT))
            assert query("--epsilon", "0.1", "--json", *dash).json["rows"] == first

    @pytest.mark.parametrize("arguments", [(), (COUNT, "--file", "q.sql"), ("-", "--file", "-")])
    def test_there_is_one_question(self, arguments: tuple[str, ...]) -> None:
        ran = query("--epsilon", "0.1", *arguments)
        assert ran.code == 2
        assert "give one question" in ran.err

    @pytest.mark.parametrize("content", [None, b"\xff\xfe"])
    def test_a_file_that_cannot_be_read_is_unavailable(self, content: bytes | None) -> None:
        if content is not None:
            Path("q.sql").write_bytes(content)
        ran = query("--epsilon", "0.1", "--file", "q.sql")
        assert ran.code == 4
        assert "'q.sql' cannot be read" in ran.err

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("60", 60),
            ("-1.50", "-1.50"),
            ("1e3", "1e3"),
            (".5", ".5"),
            ("'60'", "60"),
            ("'true'", "true"),
            ("TRUE", True),
            ("false", False),
            ("null", None),
            ("north", "north"),
            ("2026-01-01", "2026-01-01"),
            ("nan", "nan"),
            ("", ""),
            ("'", "'"),
        ],
    )
    def test_a_value_is_a_number_where_it_looks_like_one(self, text: str, value: Any) -> None:
        found = value_of(text)
        assert found == (type(found)(value) if value is not None and found is not None else value)

    def test_parameters_fill_named_places(self) -> None:
        text = f"{COUNT} WHERE ward = $ward AND cost > $least AND day < $day"
        values = ["--parameter", "ward=north", "--parameter", "least=10.5", "--parameter", "day=2026-01-03"]
        asked = query("--epsilon", "0.1", "--json", text, *values)
        written = f"{COUNT} WHERE ward = 'north' AND cost > 10.5 AND day < DATE '2026-01-03'"
        again = query("--epsilon", "0.1", "--json", written)
        assert asked.json["rows"] == again.json["rows"]
        assert again.json["charged"] == 0

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (["--parameter", "ward"], "write a name and a value"),
            (["--parameter", "a=1", "--parameter", "a=2"], "is given twice"),
            (["--parameter", "a=1"], "which the question does not use"),
            (["--parameter", "a=" + "1" * 401], "at most 400 digits"),
            (["--groups-per-unit", "0"], "at least 1"),
        ],
    )
    def test_what_fits_no_question_is_refused_for_free(self, values: list[str], message: str) -> None:
        ran = query("--epsilon", "0.1", COUNT, *values)
        assert ran.code == 1
        assert message in ran.err
        assert ran.err.count("\n") == 1
        assert spent() == 0

    def test_an_error_can_be_asked_for(self) -> None:
        quoted = run("quote", *ASK, "--within", "50", "--json", COUNT).json
        assert quoted["errors"]["n"] <= 50
        ran = query("--within", "50", "--json", COUNT).json
        assert ran["rows"][0][1] <= 50
        assert ran["charged"] == pytest.approx(quoted["cost"]["share"])

    def test_bounds_can_be_tightened(self) -> None:
        wide = run("quote", *ASK, "--epsilon", "0.1", "--json", WARDS).json["errors"]["n"]
        tight = run(
            "quote", *ASK, "--epsilon", "0.1", "--json", "--rows-per-group", "1", "--groups-per-unit", "1", WARDS
        )
        assert tight.json["errors"]["n"] < wide


class TestQuoteAndExplain:
    def test_a_quote_is_free_and_is_the_price(self) -> None:
        ran = run("quote", *ASK, "--epsilon", "0.25", WARDS)
        assert ran.code == 0
        assert ran.text.startswith("25 % of the budget")
        as_data = run("quote", *ASK, "--epsilon", "0.25", "--json", WARDS).json
        assert as_data["cost"]["share"] == 0.25
        assert as_data["cost"]["fits"] == 4
        assert set(as_data["errors"]) == {"n"}
        assert spent() == 0
        assert query("--epsilon", "0.25", "--json", WARDS).json["charged"] == as_data["cost"]["share"]

    def test_an_explanation_needs_no_ledger(self) -> None:
        ran = run("explain", "--tables", "visits.toml", WARDS)
        assert ran.code == 0
        assert "all rows of one who in visits" in ran.text
        as_data = run("explain", "--tables", "visits.toml", "--json", WARDS).json
        assert as_data["measures"][0].startswith("number of rows: one unit moves")
        assert run("explain", "--tables", "visits.toml", f"{COUNT} WHERE ward = $w", "--parameter", "w=icu").code == 0
