"""The statement that a board reads: complete, exact, and inert in a spreadsheet and in a browser."""

import csv
import io
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from discreet import dp
from discreet.ledger import Ledger, memory_ledger, statement


@pytest.fixture
def ledger() -> Ledger:
    made = memory_ledger()
    made.bind(dataset="t", budget=dp.Budget(epsilon=1))
    made.grant("=cmd()", dp.Budget(epsilon=0.5))
    for number, question in enumerate(("plain", "<script>alert(1)</script>", 'a,b\n"c"', "x" * 500)):
        made.reserve(dp.Loss.pure(epsilon=0.1), key=str(number), question=question, analyst="=cmd()")
    return made


def test_csv_has_every_entry_whole_and_adds_up(ledger: Ledger) -> None:
    rows = list(csv.DictReader(io.StringIO(statement.as_csv(ledger))))
    history = ledger.history()
    assert [row["hash"] for row in rows] == [entry.hash for entry in history]
    assert [row["what"] for row in rows] == [entry.body for entry in history]
    total = sum(Fraction(row["share"].removesuffix(" %")) for row in rows)
    assert total == 40 == Fraction(rows[-1]["share_so_far"].removesuffix(" %"))


def test_no_cell_is_a_formula(ledger: Ledger) -> None:
    """WS-11: names and questions are the analysts' own words."""
    rows = list(csv.reader(io.StringIO(statement.as_csv(ledger))))
    assert not any(cell[:1] in set("=+-@\t\r") for row in rows for cell in row)
    assert any(cell == "'=cmd()" for row in rows for cell in row)


def test_a_page_holds_no_tag_of_a_question(ledger: Ledger) -> None:
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    page = statement.as_html(ledger)
    Reader().feed(page)
    assert "script" not in tags
    assert tags.count("tr") == 1 + len(ledger.history())
    assert "spent: 40 %" in page


def test_a_terminal_gets_one_line_an_entry(ledger: Ledger) -> None:
    text = statement.as_text(ledger)
    assert "left: 60 %" in text
    assert max(map(len, text.splitlines())) < 200
